//! YAML to [`record::plan::Plan`]: parse, validate, expand, order, forecast. It only reads: the experiment file, and the fio job
//! files, scripts, playbooks and manifests that the file names.
//!
//! Steps: [`tree`] (bounded, every key and value with its place) -> parameters -> volumes, stacks, workloads (one per combination
//! of levels) -> cells -> derived metrics -> expectations -> plan. All errors are collected and reported together, with line,
//! column, the expected form and a remedy.

mod beside;
mod block_sizes;
mod bonnie;
mod btrfs;
mod capacity;
mod cell;
mod changes;
mod command;
mod contrast;
mod copy;
mod derive;
mod diagnostic;
mod distribution;
mod expect;
mod experiment;
mod expression;
mod factor;
mod fields;
mod filter;
mod find;
mod fio_lacks;
mod fio_option;
mod flush;
pub mod forecast;
mod formula;
mod frame;
mod fs_options;
mod jobfile;
mod knobs;
mod layer;
pub mod limits;
mod load;
mod lvm;
mod matrix;
mod md;
mod measure;
mod name;
mod native;
mod nfs;
mod nfs_remote;
mod number;
mod options;
mod order;
mod pace;
mod parameter;
mod persistent_stacks;
mod price;
mod problems;
mod provision;
mod quantity;
mod schema;
mod scope;
mod selector;
mod source;
mod stack;
mod target;
mod template;
mod together;
mod tools;
mod tree;
mod typed;
mod value;
mod vocabulary;
mod volume;
mod workload;
mod zfs;

pub use cell::on_device;
pub use copy::{CopierLack, copier_lacks};
pub use diagnostic::{Diagnostic, Diagnostics};
pub use find::FEWEST_TRIALS;
pub use fio_lacks::fio_lacks;
pub use forecast::{Forecast, forecast};
pub use load::{LoadError, Loaded, load, parse, parse_bytes};
pub use native::{Lack, batch, native_lacks};
pub use order::{order, trial_seed};
pub use parameter::Parameter;
pub use schema::schema;
pub use tools::tools_on;
pub use typed::{bytes, seconds};
