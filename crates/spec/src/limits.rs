//! Bounds that keep any input harmless. All of them are in docs/experiment-file.md.

/// Largest experiment file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 1 << 20;
/// Largest fio job file that is read, in bytes.
pub const MAX_JOB_FILE_BYTES: u64 = 256 << 10;
/// Largest script, playbook or manifest that is read, in bytes.
pub const MAX_PROVISION_BYTES: u64 = 256 << 10;
/// Most steps of `provision`.
pub const MAX_PROVISION_STEPS: usize = 32;
/// Deepest nesting of lists and maps.
pub const MAX_DEPTH: usize = 64;
/// Most values in a file, after aliases are followed.
pub const MAX_NODES: usize = 100_000;
/// Most text in a file, in bytes, after aliases are followed.
pub const MAX_ALIASED_BYTES: usize = 2 << 20;
/// Most cells of one experiment.
pub const MAX_CELLS: u128 = 100_000;
/// Rough size of the largest plan, in bytes.
pub const MAX_PLAN_BYTES: u64 = 256 << 20;
/// Most problems that are reported for one file.
pub const MAX_PROBLEMS: usize = 20;
/// Most factors of one `with`.
pub const MAX_FACTORS: usize = 8;
/// Most parameters.
pub const MAX_PARAMETERS: usize = 64;
/// Most targets.
pub const MAX_TARGETS: usize = 64;
/// Most machines of one list, with ranges expanded.
pub const MAX_MACHINES: usize = 10_000;
/// Most volumes, all entries together.
pub const MAX_VOLUMES: usize = 256;
/// Most changes of a disk's limits in a trial.
pub const MAX_CHANGES: usize = 64;
/// Most entries of `expect`, `only` and `exclude`, each.
pub const MAX_RULES: usize = 256;
/// Most entries of `derive`.
pub const MAX_DERIVED: usize = 32;
/// Most work for rules and expectations: one unit is about one byte to look at, once per cell.
pub const MAX_WORK: u128 = 100_000_000;
/// Longest value of a parameter or level that may be filled into a text, in bytes.
pub const MAX_FILLED: usize = 500;
/// Longest text after filling in, in bytes; also the longest value of a parameter of type list.
pub const MAX_TEXT: usize = 16 << 10;
/// Longest name in characters, with its levels filled in.
pub const MAX_NAME: usize = 100;
/// Longest expression, in bytes.
pub const MAX_EXPRESSION: usize = 1000;
/// Deepest nesting of parentheses in an expression.
pub const MAX_EXPRESSION_DEPTH: usize = 32;
