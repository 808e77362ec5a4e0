//! Comparisons of runs with known truth.

use super::gate::{Rules, gate};
use super::judged::{Judged, Usual, Wanted};
use super::margins::Margins;
use super::{between, other_machine, within};
use crate::run_tests::{cell, run_with};
use record::comparison::{Absence, Comparison, DifferenceOf, Passage};
use record::finding::Severity;
use record::id::RunId;
use record::judged::{Relation, RunView};
use record::plan::{Cell, Plan};
use record::trial::{Outcome, TrialRecord};
use record::workload::{Ask, EngineKind};

type Cells = Vec<(Cell, Vec<TrialRecord>)>;

pub(super) struct Made {
    pub(super) plan: Plan,
    pub(super) view: RunView,
}

impl Made {
    pub(super) fn of(name: &str, cells: &Cells) -> Self {
        Self::with(name, cells, |_| ())
    }

    fn with(name: &str, cells: &Cells, change: impl FnOnce(&mut Plan)) -> Self {
        let mut kept = None;
        let mut view = run_with(cells, |plan| {
            change(plan);
            kept = Some(plan.clone());
        });
        view.run = RunId(name.to_owned());
        view.environment.kernel = Some("6.1.0".to_owned());
        view.environment.cpu_model = Some("Example CPU".to_owned());
        view.environment.cpus = Some(2);
        Self { plan: kept.unwrap(), view }
    }

    pub(super) fn judged(&self) -> Judged<'_> {
        Judged { plan: &self.plan, view: &self.view }
    }
}

fn two(name: &str, a: &[u64], b: &[u64]) -> Made {
    Made::of(name, &vec![cell("a", a), cell("b", b)])
}

fn rates() -> Wanted {
    Wanted { metrics: vec!["iops".to_owned()], usual: Usual::Gated, ..Wanted::default() }
}

fn gated(run: &Made, baseline: &Made) -> Comparison {
    gate(&run.judged(), &baseline.judged(), &rates(), &Rules::default())
}

const STEADY: [u64; 5] = [2000, 2010, 1990, 2005, 1995];
const HALF: [u64; 5] = [1000, 1004, 996, 1002, 998];

fn times(factor: f64, rounds: [u64; 5]) -> [u64; 5] {
    rounds.map(|x| crate::testing::whole(x as f64 * factor))
}

#[test]
fn a_run_against_itself_is_the_same_and_passes() {
    let (old, new) = (two("old", &STEADY, &HALF), two("new", &STEADY, &HALF));
    let comparison = gated(&new, &old);
    assert_eq!(comparison.lines.len(), 2);
    for line in &comparison.lines {
        assert_eq!((line.relation, line.gate), (Relation::NotApart, Some(Passage::Pass)), "{}", line.text);
        assert_eq!(line.metric, "iops");
        assert!(line.text.contains("can't be told apart; a difference above"), "{}", line.text);
    }
    assert_eq!(comparison.gate.unwrap().passage, Passage::Pass);
    assert!(!comparison.paired && comparison.left_out.is_empty());
    let [time] = &comparison.differences[..] else { panic!("{:?}", comparison.differences) };
    assert_eq!((time.of, time.severity), (DifferenceOf::Course, Severity::Note));
}

#[test]
fn a_real_regression_is_one_and_a_small_one_is_within_the_margin() {
    let old = two("old", &STEADY, &HALF);
    let worse = gated(&two("new", &times(0.9, STEADY), &HALF), &old);
    assert_eq!(worse.gate.as_ref().unwrap().passage, Passage::Regression, "{worse:?}");
    assert_eq!(worse.lines[0].gate, Some(Passage::Regression));
    assert_eq!(worse.lines[1].gate, Some(Passage::Pass));
    assert!(worse.lines[0].text.starts_with("a is 0.90x the baseline (0.8"), "{}", worse.lines[0].text);
    let slightly = gated(&two("new", &times(0.98, STEADY), &HALF), &old);
    assert_eq!(slightly.lines[0].relation, Relation::Apart);
    assert_eq!(slightly.gate.unwrap().passage, Passage::Pass);
    let better = gated(&two("new", &times(1.5, STEADY), &HALF), &old);
    assert_eq!(better.gate.unwrap().passage, Passage::Pass);
}

#[test]
fn latencies_regress_upwards() {
    let (old, mut new) = (two("old", &STEADY, &HALF), two("new", &STEADY, &HALF));
    for cell in &mut new.view.cells {
        let p99 = cell.metrics.get_mut("read_lat_p99").unwrap();
        p99.values.iter_mut().for_each(|v| *v *= 1.3);
    }
    let wanted = Wanted { metrics: vec!["read_lat_p99".to_owned()], ..Wanted::default() };
    let rules = Rules::default();
    let comparison = gate(&new.judged(), &old.judged(), &wanted, &rules);
    assert!(comparison.lines.iter().all(|l| l.lower_is_better && l.gate == Some(Passage::Regression)));
    let mut margins = Margins::default();
    margins.set("p99", 0.4, &[]).unwrap();
    let wide = gate(&new.judged(), &old.judged(), &wanted, &Rules { margins, ..Rules::default() });
    assert!(wide.lines.iter().all(|l| l.gate == Some(Passage::Pass) && l.margin == Some(0.4)));
    let turned = gate(&old.judged(), &new.judged(), &wanted, &rules);
    assert_eq!(turned.gate.unwrap().passage, Passage::Pass);
}

#[test]
fn what_is_open_says_how_many_rounds_would_decide() {
    let old = two("old", &STEADY, &HALF);
    let noisy = two("new", &[2000, 2200, 1750, 2100, 1800], &HALF);
    let comparison = gated(&noisy, &old);
    let line = &comparison.lines[0];
    assert_eq!(line.gate, Some(Passage::Undecided));
    assert!(line.more_rounds.is_some_and(|n| n > 1), "{line:?}");
    let gate = comparison.gate.as_ref().unwrap();
    assert_eq!(gate.passage, Passage::Undecided);
    assert!(gate.text.contains("the rounds can't exclude twice that for 1 of them; about"), "{}", gate.text);
    assert!(gate.text.contains("more rounds in each run would decide"), "{}", gate.text);
    let once = gated(&two("new", &[2000], &[1000]), &old);
    assert_eq!(once.gate.unwrap().passage, Passage::Undecided);
}

#[test]
fn cells_that_only_one_has_are_named_and_those_that_failed_leave_it_undecided() {
    let old = Made::of("old", &vec![cell("a", &STEADY), cell("gone", &HALF)]);
    let new = Made::of("new", &vec![cell("a", &STEADY), cell("added", &HALF)]);
    let comparison = gated(&new, &old);
    let names: Vec<_> =
        comparison.left_out.iter().map(|l| (l.run.0.as_str(), l.cell.stack.as_str(), l.why)).collect();
    assert_eq!(names, [("new", "added", Absence::Alone), ("old", "gone", Absence::Alone)]);
    let lacking = comparison.gate.unwrap();
    assert_eq!((lacking.passage, lacking.missing), (Passage::Undecided, 1), "{}", lacking.text);
    assert!(lacking.text.starts_with("the run lacks 1 cell or figure of the baseline (--allow-missing"));
    let rules = Rules { allows_missing: true, ..Rules::default() };
    let allowed = gate(&new.judged(), &old.judged(), &rates(), &rules).gate.unwrap();
    assert_eq!((allowed.passage, allowed.missing), (Passage::Pass, 1), "{}", allowed.text);
    let grown =
        gated(&Made::of("new", &vec![cell("a", &STEADY), cell("gone", &HALF), cell("b", &HALF)]), &old);
    assert_eq!(grown.gate.unwrap().passage, Passage::Pass, "a new cell is no loss");

    let (failed, mut trials) = cell("b", &HALF);
    for trial in &mut trials {
        (trial.outcome, trial.engine) = (Outcome::Failed("gone".to_owned()), None);
    }
    let broken = Made::of("new", &vec![cell("a", &STEADY), (failed, trials)]);
    let comparison = gated(&broken, &two("old", &STEADY, &HALF));
    assert_eq!(comparison.left_out[0].why, Absence::NotMeasured);
    assert_eq!(comparison.left_out.len(), 1);
    assert_eq!(comparison.gate.unwrap().passage, Passage::Undecided);
}

/// Adds the CPU cost of an I/O to all cells of a run.
fn with_cpu(mut made: Made) -> Made {
    for cell in &mut made.view.cells {
        let mut cpu = cell.metrics["iops"].clone();
        cpu.unit = "ns".to_owned();
        cpu.values.iter_mut().for_each(|v| *v *= 2.0);
        cell.metrics.insert("engine_cpu_per_io".to_owned(), cpu);
    }
    made
}

#[test]
fn rate_tail_and_cpu_of_every_cell_are_judged_where_they_are_resolved() {
    const MANY: [u64; 5] = [1600, 1608, 1592, 1604, 1596];
    let usual = Wanted { usual: Usual::Gated, ..Wanted::default() };
    let rules = Rules::default();
    let (old, new) = (with_cpu(two("old", &STEADY, &MANY)), with_cpu(two("new", &STEADY, &MANY)));
    let all = gate(&new.judged(), &old.judged(), &usual, &rules);
    let metrics: Vec<&str> = all.lines.iter().map(|l| l.metric.as_str()).collect();
    assert_eq!(metrics, ["iops", "read_lat_p99", "engine_cpu_per_io"].repeat(2));
    assert_eq!(all.lines[2].margin, Some(0.10));
    assert!(all.left_out.is_empty() && all.gate.is_some_and(|g| g.passage == Passage::Pass));

    // 2,000 I/Os in a trial: twenty lie beyond the 99th percentile; of 900, nine.
    let (mut short, few) = (with_cpu(two("new", &STEADY, &MANY)), [900, 902, 898, 901, 899]);
    short.view.cells[1] = with_cpu(two("new", &STEADY, &few)).view.cells.remove(1);
    let mut old_too = with_cpu(two("old", &STEADY, &few));
    let unresolved = gate(&short.judged(), &old_too.judged(), &usual, &rules);
    assert_eq!(unresolved.lines.len(), 5);
    assert_eq!(unresolved.left_out[0].why, Absence::Unresolved);
    assert!(unresolved.left_out[0].text.contains("its read lat p99 isn't judged: fewer than ten I/Os"));
    let passes = unresolved.gate.unwrap();
    assert_eq!((passes.passage, passes.missing), (Passage::Pass, 0), "{}", passes.text);

    // A figure that the baseline has, and this run hasn't.
    old_too = with_cpu(two("old", &STEADY, &MANY));
    let bare = gate(&two("new", &STEADY, &MANY).judged(), &old_too.judged(), &usual, &rules);
    assert_eq!(bare.gate.as_ref().map(|g| (g.passage, g.missing)), Some((Passage::Undecided, 2)));
    assert!(bare.left_out[0].text.contains("it has no engine cpu per io, and the baseline has"));
    let turned = gate(&old_too.judged(), &two("new", &STEADY, &MANY).judged(), &usual, &rules);
    assert_eq!(turned.gate.unwrap().passage, Passage::Pass);
}

/// The same run, as one of writes of which each has its own sync; without the time until they are durable if `known` is false.
fn with_writes(mut made: Made, known: bool) -> Made {
    for cell in &mut made.view.cells {
        for (from, to) in [("read_iops", "write_iops"), ("read_lat_p99", "write_lat_p99")] {
            let metric = cell.metrics.remove(from).unwrap();
            cell.metrics.insert(to.to_owned(), metric);
        }
        if known {
            let p99 = cell.metrics["write_lat_p99"].clone();
            cell.metrics.insert("durable_lat_p99".to_owned(), p99);
        }
    }
    made
}

/// A write's own latency ends before the data are safe: a gate on it passes where commits take twice as long.
#[test]
fn what_a_commit_waits_for_is_judged_where_both_runs_know_it() {
    let wanted = Wanted { usual: Usual::Gated, ..Wanted::default() };
    let gated = |new: &Made, old: &Made| gate(&new.judged(), &old.judged(), &wanted, &Rules::default());
    let names = |comparison: &Comparison| -> Vec<String> {
        let tails = comparison.lines.iter().filter(|line| line.metric.ends_with("p99"));
        tails.map(|line| line.metric.clone()).collect()
    };
    let make = |name: &str, known| with_writes(two(name, &STEADY, &times(0.8, STEADY)), known);
    let same = gated(&make("new", true), &make("old", true));
    assert_eq!(names(&same), ["durable_lat_p99"; 2]);
    let mut slow = make("new", true);
    for cell in &mut slow.view.cells {
        let durable = cell.metrics.get_mut("durable_lat_p99").unwrap();
        durable.values.iter_mut().for_each(|value| *value *= 2.0);
    }
    let worse = gated(&slow, &make("old", true));
    let of_durable = worse.lines.iter().filter(|line| line.metric == "durable_lat_p99");
    assert!(of_durable.map(|line| line.gate).all(|gate| gate == Some(Passage::Regression)), "{worse:?}");
    // An older baseline knows the writes alone.
    let older = gated(&make("new", true), &make("old", false));
    assert_eq!(names(&older), ["write_lat_p99"; 2]);
    // A run that has lost the figure doesn't pass.
    let lost = gated(&make("new", false), &make("old", true));
    assert!(lost.left_out.iter().any(|left| left.text.contains("it has no durable lat p99")), "{lost:?}");
    assert_ne!(lost.gate.unwrap().passage, Passage::Pass);
}

#[test]
fn void_cells_are_left_out() {
    let (hole, mut trials) = cell("b", &HALF);
    trials.iter_mut().for_each(|t| t.topology.fs_type = Some("tmpfs".to_owned()));
    let cells = vec![cell("a", &STEADY), (hole, trials)];
    let new = Made::of("new", &cells);
    let comparison = between(&new.judged(), &two("old", &STEADY, &HALF).judged(), &rates());
    assert_eq!((comparison.lines.len(), comparison.left_out[0].why), (1, Absence::Void));
    assert_eq!(gated(&new, &two("old", &STEADY, &HALF)).gate.unwrap().passage, Passage::Undecided);
    assert_eq!(
        gated(&new, &Made::of("old", &cells)).gate.unwrap().passage,
        Passage::Pass,
        "it was void before, too"
    );
}

#[test]
fn an_edited_experiment_is_matched_by_names() {
    let (mut renumbered, mut trials) = cell("a", &STEADY);
    renumbered.id.0 = "another-id".to_owned();
    trials.iter_mut().for_each(|t| t.id.cell = renumbered.id.clone());
    let new = Made::of("new", &vec![(renumbered, trials)]);
    let comparison = between(&new.judged(), &two("old", &STEADY, &HALF).judged(), &rates());
    assert_eq!(comparison.lines.len(), 1);
    assert_eq!(comparison.left_out.len(), 1, "b: {:?}", comparison.left_out);
}

#[test]
fn runs_that_were_provisioned_otherwise_are_not_comparable() {
    let step = |path: &str, digest: &str, applied_unix_ms| record::provision::Provisioned {
        by: record::provision::Provisioner::Shell,
        path: path.to_owned(),
        digest: digest.to_owned(),
        tool: None,
        applied_unix_ms,
        skipped: false,
        runs: Vec::new(),
        error: None,
    };
    let (mut old, mut new) = (two("old", &STEADY, &HALF), two("new", &STEADY, &HALF));
    old.view.environment.provision = vec![step("tune.sh", "aa", 1)];
    // again after a reboot between two sessions
    new.view.environment.provision = vec![step("tune.sh", "aa", 1), step("tune.sh", "aa", 2)];
    let comparison = between(&new.judged(), &old.judged(), &rates());
    assert!(!other_machine(&comparison), "{:?}", comparison.differences);

    for (now, shown) in [(vec![step("tune.sh", "bb", 1)], "shell tune.sh (bb)"), (Vec::new(), "none")] {
        new.view.environment.provision = now;
        let comparison = between(&new.judged(), &old.judged(), &rates());
        assert!(other_machine(&comparison));
        let found = comparison.differences.iter().find(|d| d.what == "provision").unwrap();
        assert_eq!(found.severity, Severity::Void);
        assert_eq!(
            found.text,
            format!(
                "environment differs: provision is {shown}, in the baseline shell tune.sh (aa): the machine was set up differently"
            )
        );
    }
}

#[test]
fn another_machine_is_said_to_be_one() {
    let (old, mut new) = (two("old", &STEADY, &HALF), two("new", &STEADY, &HALF));
    new.view.environment.kernel = Some("6.12.0".to_owned());
    let kernel = between(&new.judged(), &old.judged(), &rates());
    let first = &kernel.differences[0];
    assert_eq!((first.what.as_str(), first.severity), ("kernel", Severity::Caveat));
    assert_eq!((first.before.as_deref(), first.after.as_deref()), (Some("6.1.0"), Some("6.12.0")));
    assert!(!other_machine(&kernel));
    new.view.environment.cpu_model = Some("Other CPU".to_owned());
    let machine = between(&new.judged(), &old.judged(), &rates());
    assert!(other_machine(&machine), "{:?}", machine.differences);
    new.view.environment.cpu_model = None;
    let unknown = between(&new.judged(), &old.judged(), &rates());
    assert!(!other_machine(&unknown), "unknown accuses nobody");
    assert!(unknown.differences.iter().any(|d| d.what == "CPU model" && d.severity == Severity::Note));
}

#[test]
fn another_question_is_not_compared() {
    let old = two("old", &STEADY, &HALF);
    let mut edited = vec![cell("a", &STEADY), cell("b", &HALF)];
    for (cell, _) in &mut edited {
        if let Ask::Options(options) = &mut cell.workload.ask {
            options.iodepth = 1;
        }
    }
    let comparison = between(&Made::of("new", &edited).judged(), &old.judged(), &rates());
    assert!(comparison.lines.is_empty());
    let depth = &comparison.differences[0];
    assert_eq!((depth.what.as_str(), depth.severity, depth.cell.as_ref()), ("iodepth", Severity::Void, None));
    assert_eq!(depth.text, "iodepth is 1, in the baseline 64: the workload is a different one (in 2 cells)");
    assert!(comparison.left_out.iter().all(|l| l.why == Absence::NotComparable));
    let nothing = gated(&Made::of("new", &edited), &old);
    assert_eq!(nothing.gate.unwrap().passage, Passage::Undecided);
}

#[test]
fn how_it_was_measured_and_by_whom_are_caveats() {
    let old = two("old", &STEADY, &HALF);
    let mut by_native = vec![cell("a", &STEADY), cell("b", &HALF)];
    for (cell, trials) in &mut by_native {
        cell.workload.engine = EngineKind::Native;
        for trial in trials {
            trial.engine.as_mut().unwrap().engine = "native-0.1.0".to_owned();
        }
    }
    let new = Made::with("new", &by_native, |plan| plan.measure.trial_seconds = 5.0);
    let comparison = between(&new.judged(), &old.judged(), &rates());
    let caveats: Vec<&str> = comparison
        .differences
        .iter()
        .filter(|d| d.severity == Severity::Caveat)
        .map(|d| d.what.as_str())
        .collect();
    assert_eq!(caveats, ["measure.trial_seconds", "engine"]);
    assert_eq!(comparison.lines.len(), 2);
}

#[test]
fn cells_of_one_run_are_compared_in_pairs_of_one_workload() {
    let run = Made::of("r", &vec![cell("a", &STEADY), cell("b", &HALF), cell("c", &STEADY)]);
    let all = within(&run.judged(), &Wanted::default());
    let places: Vec<_> = all
        .lines
        .iter()
        .map(|l| (l.a.stack.as_str(), l.b.stack.as_str(), l.metric.as_str(), l.relation))
        .collect();
    use Relation::{Apart, NotApart};
    assert_eq!(
        places,
        [
            ("a", "b", "iops", Apart),
            ("a", "b", "read_lat_p99", NotApart),
            ("a", "c", "iops", NotApart),
            ("a", "c", "read_lat_p99", NotApart),
            ("b", "c", "iops", Apart),
            ("b", "c", "read_lat_p99", NotApart),
        ]
    );
    assert!(all.paired && all.baseline.is_none() && all.differences.is_empty());
    let named = Wanted {
        stacks: vec!["c".to_owned(), "b".to_owned()],
        metrics: vec!["read_bw".to_owned()],
        ..Wanted::default()
    };
    let some = within(&run.judged(), &named);
    assert_eq!(some.lines.len(), 1);
    assert_eq!(some.lines[0].text, "c is 2.00x b (2.00 to 2.00)");
    let alone = within(&run.judged(), &Wanted { stacks: vec!["a".to_owned()], ..Wanted::default() });
    assert_eq!((alone.lines.len(), alone.left_out[0].why), (0, Absence::Alone));
}

#[test]
fn along_a_factor_only_cells_that_differ_in_it_alone_are_compared() {
    let made = |stack: &str, depth: &str, rounds: &[u64]| {
        let (mut cell, trials) = cell(&format!("{stack}-{depth}"), rounds);
        cell.stack.name = stack.to_owned();
        cell.workload.name = format!("randread-{depth}");
        cell.levels = [("depth".to_owned(), depth.to_owned())].into();
        (cell, trials)
    };
    let cells = vec![
        made("ext4", "1", &HALF),
        made("ext4", "8", &STEADY),
        made("xfs", "1", &HALF),
        made("xfs", "8", &STEADY),
    ];
    let run = Made::of("r", &cells);
    let along = |factor: &str| {
        let wanted = Wanted { along: Some(factor.to_owned()), ..rates() };
        let lines = within(&run.judged(), &wanted).lines;
        lines.into_iter().map(|line| line.text).collect::<Vec<_>>()
    };
    let depths = along("depth");
    assert_eq!(depths.len(), 2, "{depths:?}");
    assert!(depths[0].starts_with("ext4 randread-1 is 0.50"), "{depths:?}");
    assert!(depths[1].starts_with("xfs randread-1 is 0.50"), "{depths:?}");
    let stacks = along("stack");
    assert_eq!(stacks.len(), 2);
    assert!(stacks.iter().all(|text| text.starts_with("ext4 and xfs can't be told apart")), "{stacks:?}");
    let factors = super::factors_of(&run.judged());
    assert!(["depth", "stack", "workload"].iter().all(|name| factors.contains(*name)), "{factors:?}");
}
