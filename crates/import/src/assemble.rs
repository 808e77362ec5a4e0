//! Makes a plan and its trials of what the files hold.

use crate::error::ReadError;
use crate::fio::logs;
use crate::measured::{Found, Measured};
use crate::naming::{Names, names};
use record::id::{CellId, LOCAL, TrialId};
use record::imported::Imported;
use record::plan::{Cell, Measure, Plan};
use record::stack::{Rebuild, Stack};
use record::topology::Topology;
use record::trial::TrialRecord;
use record::workload::{CacheStart, Layout, Workload};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};

/// What the user says about the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct About {
    /// Name of the experiment.
    pub experiment: String,
    /// Name of the one stack that all files are of; `None`: folders and devices tell.
    pub stack: Option<String>,
    /// Type of the file system, e.g. `btrfs`; `None`: not known.
    pub filesystem: Option<String>,
    /// Memory of the machine that measured, in bytes; `None`: not known.
    pub memory_bytes: Option<u64>,
}

/// A run made of files.
#[derive(Debug, Clone, PartialEq)]
pub struct Assembled {
    /// Its plan: what the files say was measured.
    pub plan: Plan,
    /// Its trials, by cell and round.
    pub trials: Vec<TrialRecord>,
    /// Number of files that are in it.
    pub files: u64,
    /// What was assumed or left out, with the file.
    pub notes: Vec<(String, String)>,
    /// Files that add nothing to any trial, with the reason.
    pub left: Vec<(String, ReadError)>,
}

/// Makes a run of what files hold, in the order of the files.
///
/// Trials of the same job with the same options on the same stack are the rounds of one cell, in the order of their time.
#[must_use]
pub fn assemble(found: Vec<Found>, about: &About) -> Assembled {
    let read = found.len();
    let mut measured = Vec::new();
    let mut logs = Vec::new();
    for found in found {
        match found {
            Found::Trials(trials) => measured.extend(trials),
            Found::Log(log) => logs.push(log),
        }
    }
    let left = logs::join(logs, &mut measured);
    let files = u64::try_from(read.saturating_sub(left.len())).unwrap_or(u64::MAX);
    let notes = notes(&measured);
    let names = names(&measured, about.stack.as_deref());
    let mut cells: Vec<Cell> = Vec::new();
    let mut places: BTreeMap<CellId, usize> = BTreeMap::new();
    let mut by_cell: Vec<Vec<Measured>> = Vec::new();
    for (one, names) in measured.into_iter().zip(names) {
        let id = id(&one, &names.stack);
        let place = *places.entry(id.clone()).or_insert_with(|| {
            cells.push(cell(id, names, &one));
            by_cell.push(Vec::new());
            cells.len() - 1
        });
        by_cell[place].push(one);
    }
    let rounds = by_cell.iter().map(Vec::len).max().unwrap_or(0);
    let seconds = by_cell.iter().flatten().map(|one| one.output.window.seconds()).collect();
    let sources: BTreeSet<&str> = by_cell.iter().flatten().map(|one| one.file.as_str()).collect();
    let source = sources.into_iter().map(|file| format!("# imported from {file}\n")).collect();
    let measure = Measure::new(median(seconds), 0.0, u32::try_from(rounds).unwrap_or(u32::MAX));
    let mut trials = Vec::new();
    for (cell, mut of_cell) in cells.iter().zip(by_cell) {
        of_cell.sort_by_key(|one| one.started_unix_ms);
        trials.extend((0..).zip(of_cell).map(|(round, one)| trial(cell, round, one, about)));
    }
    let plan = Plan { source, ..Plan::new(about.experiment.clone(), cells, measure) };
    Assembled { plan, trials, files, notes, left }
}

/// The notes of all trials, each once for its file.
fn notes(measured: &[Measured]) -> Vec<(String, String)> {
    let all = measured.iter().flat_map(|one| one.notes.iter().map(|note| (one.file.clone(), note.clone())));
    all.collect::<BTreeSet<_>>().into_iter().collect()
}

/// The identity of a cell: the same for the same job on the same stack in any import.
fn id(one: &Measured, stack: &str) -> CellId {
    let mut hash = Sha256::new();
    let mut add = |text: &str| {
        hash.update(u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        hash.update(text.as_bytes());
    };
    ["imported", one.format, LOCAL, stack, &one.job].into_iter().for_each(&mut add);
    one.options.iter().flat_map(|(name, value)| [name, value]).for_each(|text| add(text));
    CellId(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn cell(id: CellId, names: Names, one: &Measured) -> Cell {
    Cell {
        id,
        target: LOCAL.to_owned(),
        stack: Stack {
            name: names.stack,
            volumes: Vec::new(),
            beside: Vec::new(),
            layers: Vec::new(),
            rebuild: Rebuild::Trial,
        },
        workload: Workload {
            name: names.workload,
            engine: one.engine,
            ask: one.ask.clone(),
            layout: Layout::Written,
            cache: CacheStart::Keep,
            on: Vec::new(),
        },
        levels: names.levels,
    }
}

fn trial(cell: &Cell, round: u32, mut one: Measured, about: &About) -> TrialRecord {
    if let Some(bonnie) = &mut one.output.bonnie {
        bonnie.memory_bytes = about.memory_bytes;
    }
    let id = TrialId { cell: cell.id.clone(), round };
    let imported = Imported { file: one.file, format: one.format.to_owned() };
    let topology = Topology { fs_type: about.filesystem.clone(), ..Topology::default() };
    TrialRecord {
        imported: Some(imported),
        topology,
        engine: Some(one.output),
        ..TrialRecord::new(id, 0, one.started_unix_ms, one.outcome)
    }
}

/// The median length of a trial, at least a second: Bonnie++ doesn't tell it.
fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied().unwrap_or(0.0).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::{About, Assembled, assemble};
    use crate::format::read;
    use crate::source::Source;

    fn document(options: &str, iops: u64, ended: u64) -> String {
        format!(
            r#"{{ "fio version" : "fio-3.36", "timestamp" : {ended}, "jobs" : [ {{ "jobname" : "a", "groupid" : 0, "error" : 0,
            "job options" : {{ "rw" : "randread", {options} }},
            "read" : {{ "io_bytes" : 4096000, "io_kbytes" : 4000, "iops" : {iops}.0, "runtime" : 10000, "total_ios" : 1000 }} }} ] }}"#
        )
    }

    fn of(files: &[(&str, &str, String)], stack: Option<&str>) -> Assembled {
        let found = files.iter().map(|(folder, name, text)| {
            let folders = folder.split('/').filter(|f| !f.is_empty()).map(str::to_owned).collect();
            let path = format!("{folder}/{name}");
            read(Source { path, folders, text: text.clone(), modified_unix_ms: 0 }).unwrap()
        });
        let found = found.collect();
        assemble(
            found,
            &About { experiment: "x".to_owned(), stack: stack.map(str::to_owned), ..About::default() },
        )
    }

    #[test]
    fn the_same_job_with_the_same_options_again_is_another_round() {
        let run = of(
            &[
                ("", "late.json", document(r#""iodepth" : "4""#, 300, 900)),
                ("", "early.json", document(r#""iodepth" : "4", "filename" : "/x""#, 100, 100)),
                ("", "other.json", document(r#""iodepth" : "8""#, 500, 500)),
            ],
            Some("s"),
        );
        assert_eq!(
            (run.plan.cells.len(), run.trials.len(), run.plan.measure.rounds, run.files),
            (2, 3, 2, 3)
        );
        let iops: Vec<_> =
            run.trials.iter().map(|t| (t.id.round, t.engine.as_ref().unwrap().metrics()["iops"])).collect();
        assert_eq!(iops, [(0, 100.0), (1, 300.0), (0, 500.0)], "in the order of their time");
        assert_eq!(run.plan.cells[0].workload.name, "a iodepth=4");
        assert_eq!(run.trials[0].imported.as_ref().unwrap().file, "/early.json");
    }

    #[test]
    fn a_cell_has_the_same_id_whatever_else_is_imported() {
        let file = |folder: &'static str| (folder, "a.json", document(r#""iodepth" : "4""#, 300, 900));
        let ids = |run: &Assembled| run.plan.cells.iter().map(|cell| cell.id.0.clone()).collect::<Vec<_>>();
        let alone = of(&[file("before")], None);
        let beside = of(&[file("after"), ("after", "b.json", document(r#""iodepth" : "8""#, 1, 1))], None);
        assert_eq!(ids(&alone)[0], ids(&beside)[0]);
        assert_ne!(ids(&beside)[0], ids(&beside)[1]);
        assert_eq!(ids(&alone)[0].len(), 16);
        assert_ne!(ids(&alone), ids(&of(&[file("before")], Some("other"))));
    }

    #[test]
    fn the_logs_of_a_job_give_its_trial_a_series() {
        let log = |text: &str| text.to_owned();
        let run = of(
            &[
                (
                    "d",
                    "a.json",
                    document(r#""write_iops_log" : "/tmp/a", "write_bw_log" : "/tmp/a""#, 100, 10),
                ),
                ("d", "a_iops.1.log", log("1000, 100, 0, 0\n2000, 50, 0, 0\n3000, 150, 0, 0\n")),
                ("d", "a_bw.1.log", log("1000, 400, 0, 0\n2000, 200, 0, 0\n3000, 600, 0, 0\n")),
                ("d", "b_bw.1.log", log("1000, 400, 0, 0\n")),
            ],
            None,
        );
        assert_eq!((run.trials.len(), run.files, run.left.len()), (1, 3, 1));
        let engine = run.trials[0].engine.as_ref().unwrap();
        assert_eq!(engine.series.as_ref().unwrap().read_ios, [100, 50, 150]);
        assert_eq!(engine.metrics()["iops"], 100.0, "the document's figures stay");
    }
}
