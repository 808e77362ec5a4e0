//! Blocks and their descriptors.

use super::error::QueueError;
use super::packed::Packed;
use super::unfit::unfit;
use record::id::{CellId, RunId};
use record::plan::{Cell, Plan};
use record::printable::printable;
use run::Earlier;
use run::controller::targets_of;
use serde::de::Error as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Most bytes of a descriptor, with the end of its line.
pub const DESCRIPTOR_BYTES: usize = 4096;
/// Most bytes of an id; a run's has 20, and a block's at most 22 more.
const ID_BYTES: usize = 64;
/// The format of a descriptor.
const FORMAT: &str = "diskproof.block/1.0";

/// A block: every cell of one machine once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Descriptor {
    /// `diskproof.block/1.0`.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The block's id: the run, the machine's place in the plan and the round, e.g. `20261126-131500-3f9a.0.7`.
    pub block: String,
    /// The round, from 0. The order of its cells and the seeds of its trials follow from it and from [`Self::seed`].
    pub round: u32,
    /// The target whose cells it measures; `local` is the machine that does the block.
    pub target: String,
    /// The plan's seed.
    pub seed: u64,
    /// SHA-256 of the plan's JSON, in hexadecimal.
    pub plan_digest: String,
    /// The plan's JSON, compressed by zstd, in Base64; `None`: it is too large, and the submitter has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
    /// Where the results go; `None`: whoever does the block says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Submitter>,
}

/// Where the submitter's store is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitter {
    /// The machine, as the workers' ssh takes it.
    pub ssh: String,
    /// Path of diskproof there.
    pub program: String,
    /// Path of the results file there.
    pub store: String,
}

/// What descriptors of all formats have.
#[derive(Deserialize)]
struct Format {
    format: String,
}

/// Whether a text may be the id of a run or block: these become names of files.
fn is_id(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    (1..=ID_BYTES).contains(&text.len()) && !text.starts_with(['.', '-']) && text.chars().all(is_plain)
}

impl Descriptor {
    /// Reads a descriptor.
    ///
    /// # Errors
    /// It isn't one, or it has another format, or its ids can't be file names.
    pub fn read(line: &str) -> Result<Self, QueueError> {
        // The format first: a block of another version may have other fields.
        let Format { format } = serde_json::from_str(line.trim()).map_err(QueueError::NotADescriptor)?;
        if format != FORMAT {
            return Err(QueueError::OtherFormat { found: format, ours: FORMAT });
        }
        let read: Self = serde_json::from_str(line.trim()).map_err(QueueError::NotADescriptor)?;
        for id in [&read.run.0, &read.block] {
            if !is_id(id) {
                let why = format!("`{}` is no id of a run or block", printable(id));
                return Err(QueueError::NotADescriptor(serde_json::Error::custom(why)));
            }
        }
        Ok(read)
    }

    /// Writes it on one line, without its end.
    ///
    /// # Errors
    /// It can't be written as JSON.
    pub fn line(&self) -> Result<String, QueueError> {
        serde_json::to_string(self).map_err(|source| QueueError::Pack(source.into()))
    }

    /// The plan in it.
    ///
    /// # Errors
    /// There is none, or it is damaged.
    pub fn plan(&self) -> Result<Plan, QueueError> {
        let text = self.plan.clone().ok_or(QueueError::NoPlan)?;
        Packed { digest: self.plan_digest.clone(), text }.unpack()
    }
}

/// Cuts a run into blocks: those that lack a trial, round by round.
///
/// # Errors
/// The plan can't be cut, or it doesn't fit into a descriptor and `to` is `None`.
pub fn blocks(
    run: &RunId,
    plan: &Plan,
    to: Option<&Submitter>,
    is_done: impl Fn(&Cell, u32) -> bool,
) -> Result<Vec<Descriptor>, QueueError> {
    unfit(plan)?;
    let packed = Packed::of(plan)?;
    let targets = targets_of(plan);
    let mut blocks = Vec::new();
    for round in 0..plan.measure.rounds {
        for (place, target) in targets.iter().enumerate() {
            let mut cells = plan.cells.iter().filter(|cell| cell.target == *target).peekable();
            if cells.peek().is_none() || cells.all(|cell| is_done(cell, round)) {
                continue;
            }
            let block = Descriptor {
                format: FORMAT.to_owned(),
                run: run.clone(),
                block: format!("{run}.{place}.{round}"),
                round,
                target: (*target).to_owned(),
                seed: plan.seed,
                plan_digest: packed.digest.clone(),
                plan: None,
                to: to.cloned(),
            };
            blocks.push(with_plan(block, &packed)?);
        }
    }
    Ok(blocks)
}

/// Puts the plan into a descriptor if there is room.
fn with_plan(block: Descriptor, packed: &Packed) -> Result<Descriptor, QueueError> {
    let full = Descriptor { plan: Some(packed.text.clone()), ..block };
    let bytes = full.line()?.len() + 1;
    if bytes <= DESCRIPTOR_BYTES {
        return Ok(full);
    }
    let room = DESCRIPTOR_BYTES.saturating_sub(bytes - packed.text.len());
    if full.to.is_none() || bytes - packed.text.len() > DESCRIPTOR_BYTES {
        return Err(QueueError::TooLarge { bytes: packed.text.len(), room });
    }
    Ok(Descriptor { plan: None, ..full })
}

/// The part of a plan that a block measures, without the cells that are done already; `None` when all are.
///
/// # Errors
/// The plan has no such block.
pub fn part(
    plan: &Plan,
    block: &Descriptor,
    done: &BTreeSet<CellId>,
) -> Result<Option<(Plan, Earlier)>, QueueError> {
    let mut part = plan.clone();
    part.cells.retain(|cell| cell.target == block.target);
    if part.cells.is_empty() || block.round >= plan.measure.rounds {
        return Err(QueueError::NoSuchBlock {
            run: block.run.0.clone(),
            block: block.block.clone(),
            rounds: plan.measure.rounds,
            target: block.target.clone(),
        });
    }
    part.measure.rounds = block.round + 1;
    let is_left = |cell: &Cell| !done.contains(&cell.id) && !plan.skipped.contains_key(&cell.id);
    if !part.cells.iter().any(is_left) {
        return Ok(None);
    }
    // A skipped cell keeps its place in the order of the others.
    part.skipped.extend(done.iter().map(|cell| (cell.clone(), block.round)));
    Ok(Some((part, Earlier::before_round(block.round))))
}

#[cfg(test)]
mod tests {
    use super::{DESCRIPTOR_BYTES, Descriptor, Submitter, blocks, part};
    use crate::queue::error::QueueError;
    use record::id::RunId;
    use record::plan::{Plan, Until};
    use std::collections::BTreeSet;
    use std::path::Path;

    fn plan(cells: usize, rounds: u32) -> Plan {
        let text = format!(
            "experiment: demo\nvolumes: {{ vol: {{ emulate: {{ size: 1g }} }} }}\nstacks: {{ raw: {{ on: vol }} }}\n\
             workloads:\n  read-{{i}}: {{ with: {{ i: [{}] }}, rw: read, size: 64m }}\nmeasure: {{ rounds: {rounds} }}\n",
            (0..cells).map(|i| i.to_string()).collect::<Vec<_>>().join(", ")
        );
        spec::parse(&text, "demo.yaml", Path::new("/"), &Default::default()).unwrap().plan
    }

    fn run() -> RunId {
        RunId("20261126-131500-3f9a".to_owned())
    }

    fn submitter() -> Submitter {
        Submitter { ssh: "me@here".to_owned(), program: "/p".to_owned(), store: "/s".to_owned() }
    }

    #[test]
    fn a_block_is_a_round_and_its_descriptor_is_small_and_has_the_plan() {
        let plan = plan(2, 3);
        let blocks = blocks(&run(), &plan, None, |_, _| false).unwrap();
        let ids: Vec<&str> = blocks.iter().map(|block| block.block.as_str()).collect();
        assert_eq!(ids, ["20261126-131500-3f9a.0.0", "20261126-131500-3f9a.0.1", "20261126-131500-3f9a.0.2"]);
        for block in &blocks {
            let line = block.line().unwrap();
            assert!(line.len() < DESCRIPTOR_BYTES && !line.contains('\n'), "{}", line.len());
            let read = Descriptor::read(&line).unwrap();
            assert_eq!(read, *block);
            assert_eq!(read.plan().unwrap(), plan);
        }
    }

    #[test]
    fn only_what_is_missing_is_a_block_and_only_what_is_missing_is_measured() {
        let plan = plan(2, 2);
        let first = plan.cells[0].id.clone();
        let all = blocks(&run(), &plan, None, |cell, round| round == 0 || cell.id == first).unwrap();
        assert_eq!(all.len(), 1);
        let block = &all[0];
        assert_eq!(block.round, 1);
        let (left, _) = part(&plan, block, &BTreeSet::from([first.clone()])).unwrap().unwrap();
        assert_eq!((left.measure.rounds, left.skipped.keys().next()), (2, Some(&first)));
        assert_eq!(spec::order(&left, 1), spec::order(&plan, 1), "the order is that of the whole run");
        let everything = plan.cells.iter().map(|cell| cell.id.clone()).collect();
        assert!(part(&plan, block, &everything).unwrap().is_none());
        let beyond = Descriptor { round: 2, ..block.clone() };
        assert!(matches!(part(&plan, &beyond, &BTreeSet::new()), Err(QueueError::NoSuchBlock { .. })));
    }

    #[test]
    fn a_large_plan_stays_with_the_submitter_if_there_is_one() {
        let mut plan = plan(2, 1);
        // Text that hardly compresses.
        plan.source = (0..2000_u64).map(|i| format!("{:x}", i.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let refused = blocks(&run(), &plan, None, |_, _| false).unwrap_err();
        assert!(refused.to_string().contains("--to DEST"), "{refused}");
        let all = blocks(&run(), &plan, Some(&submitter()), |_, _| false).unwrap();
        assert_eq!(all[0].plan, None);
        assert!(matches!(all[0].plan(), Err(QueueError::NoPlan)));
    }

    #[test]
    fn a_plan_that_was_changed_on_its_way_is_refused() {
        let all = blocks(&run(), &plan(2, 1), None, |_, _| false).unwrap();
        let others = blocks(&run(), &plan(3, 1), None, |_, _| false).unwrap();
        let changed = Descriptor { plan: others[0].plan.clone(), ..all[0].clone() };
        assert!(matches!(changed.plan(), Err(QueueError::OtherPlan { .. })));
        let torn = Descriptor { plan: Some("AAAA".to_owned()), ..all[0].clone() };
        assert!(matches!(torn.plan(), Err(QueueError::DamagedPlan { .. })));
        let line = all[0].line().unwrap().replace("block/1.0", "block/2.0");
        assert!(matches!(Descriptor::read(&line), Err(QueueError::OtherFormat { .. })));
        assert!(matches!(Descriptor::read("hello"), Err(QueueError::NotADescriptor(_))));
        let newer = r#"{"format":"diskproof.block/2.0","what":"it has other fields"}"#;
        assert!(matches!(Descriptor::read(newer), Err(QueueError::OtherFormat { .. })));
    }

    #[test]
    fn an_id_that_would_be_a_path_is_refused() {
        let all = blocks(&run(), &plan(2, 1), None, |_, _| false).unwrap();
        for id in ["", "../../etc/x", "/x", ".x", "-x", "a b", "a\n", "é", &"a".repeat(65)] {
            let with = |block: Descriptor| Descriptor::read(&block.line().unwrap());
            let by_run = with(Descriptor { run: RunId(id.to_owned()), ..all[0].clone() });
            let by_block = with(Descriptor { block: id.to_owned(), ..all[0].clone() });
            for read in [by_run, by_block] {
                assert!(matches!(read, Err(QueueError::NotADescriptor(_))), "{id}");
            }
        }
    }

    #[test]
    fn only_what_is_wrong_for_every_worker_takes_a_block_out_of_the_queue() {
        let wrong = Descriptor::read("hello").unwrap_err();
        assert!(wrong.is_wrong_everywhere());
        let version = Descriptor::read(r#"{"format":"diskproof.block/2.0"}"#).unwrap_err();
        for here in [version, QueueError::NoPlan] {
            assert!(!here.is_wrong_everywhere(), "{here}");
        }
    }

    #[test]
    fn what_needs_other_blocks_can_not_be_cut() {
        let mut plan = plan(1, 3);
        plan.measure.until = Some(Until::new(record::plan::Goal::Interval(0.05), None));
        plan.measure.max_seconds = Some(60.0);
        let refused = blocks(&run(), &plan, None, |_, _| false).unwrap_err().to_string();
        assert!(refused.contains("`measure: until`") && refused.contains("budget `time`"), "{refused}");
    }
}
