//! Judges one cell: metrics, shares and findings from its trials.

use crate::attribute::Attribution;
use crate::course::{self, CellRounds};
use crate::derived;
use crate::detect;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::input::Input;
use crate::scene::Scene;
use crate::sequential::Means;
use crate::span::number;
use crate::together::{self, Look};
use crate::usage::rate::made_iops;
use crate::{blocks, emulated, leaves, limit, metrics, phases, provision, search};
use record::event::Stopped;
use record::finding::{Claim, Finding, Served, Severity};
use record::fio_option;
use record::judged::{Asked, CellView, Limit, SearchView, TrialCount};
use record::metric::PRICE_PER_JOB;
use record::plan::Cell;
use record::trial::{Outcome, TrialRecord};
use record::volume::VolumeFacts;
use record::workload::{Ask, Workload};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A judged cell.
pub(crate) struct CellJudgement {
    pub(crate) view: CellView,
    pub(crate) findings: Vec<Finding>,
    pub(crate) rounds: CellRounds,
    pub(crate) search: Option<SearchView>,
}

/// Judges a cell by its trials, in order of rounds.
pub(crate) fn judge(cell: &Cell, trials: &[&TrialRecord], input: &Input<'_>, means: &Means) -> CellJudgement {
    let plan = input.plan;
    let (measured, failed): (Vec<&TrialRecord>, Vec<&TrialRecord>) =
        trials.iter().partition(|t| t.outcome == Outcome::Measured && t.engine.is_some());
    let search = search::of(cell, &measured, plan.measure.confidence);
    // What a search did far from its answer says nothing about the answer.
    let counted = measured.iter().filter(|t| search.as_ref().is_none_or(|search| search::is_near(search, t)));
    let performed: Vec<(&TrialRecord, Cow<'_, Cell>)> = counted.map(|t| (*t, performed(cell, t))).collect();
    let seen: Vec<SeenTrial<'_>> = performed.iter().filter_map(|(t, cell)| SeenTrial::of(t, cell)).collect();
    let facts: Vec<Facts<'_>> = seen.iter().map(|trial| trial.facts).collect();
    let shares: Vec<Attribution> = seen.iter().map(|trial| trial.shares).collect();
    let values: Vec<BTreeMap<String, f64>> = facts.iter().map(|f| plan.metrics(cell, f.trial)).collect();
    let mut metrics = match &search {
        Some(search) => search::metrics(cell, search),
        None => metrics::over_trials(&values, means),
    };
    if let (Some(price), Some(currency)) = (metrics.get_mut(PRICE_PER_JOB), &plan.prices.currency) {
        price.unit.clone_from(currency);
    }
    let derived = derived::of(plan, cell, &metrics, number(facts.len()));
    metrics.extend(derived);

    let (seen, limits) = look_at(cell, &seen, input);
    let of_round = |Seen { rounds, round, strongest }| {
        strongest.of_round(round, number(rounds.len()), facts.len()).in_rounds(cell, rounds)
    };
    let mut findings = each_claim_once(seen.into_values().map(of_round));
    findings.extend(detect::wrong_content(cell, trials));
    findings.extend(detect::failed(cell, &failed, measured.len()));
    findings.extend(detect::skipped(cell, plan, measured.len()));
    // The trials of a search are no repetitions.
    let repeated: &[Facts<'_>] = if search.is_some() { &[] } else { &facts };
    findings.extend(course::within(cell, repeated, &plan.measure));
    findings.extend(detect::too_wide(cell, &metrics, &plan.measure));
    findings.extend(blocks::findings(cell, &measured));
    findings.extend(provision::findings(cell, number(measured.len()), input));

    let rounds = CellRounds::of(plan, cell, repeated, &shares, &metrics);
    let view = CellView {
        limited_by: limit::over_trials(limits),
        model: None,
        leaves: if each_has_devices(cell) { Vec::new() } else { leaves::of_cell(&facts) },
        phases: phases::of_cell(&facts, means),
        together: together::of_cell(cell, &measured, cell.workload.headline(), means),
        id: cell.id.clone(),
        target: cell.target.clone(),
        stack: cell.stack.name.clone(),
        workload: cell.workload.name.clone(),
        levels: cell.levels.clone(),
        asked: asked(&cell.workload),
        options: match &cell.workload.ask {
            Ask::Options(options) => fio_option::differing(options),
            _ => BTreeMap::new(),
        },
        layers: cell.stack.layers_in_words(),
        trials: TrialCount {
            done: number(measured.len()),
            failed: number(failed.len()),
            cut_off: 0,
            // With `measure: until`, and in a search, the planned number is the number that was needed; of imported trials none was planned.
            planned: if plan.measure.until.is_some() || search.is_some() || is_imported(input) {
                number(trials.len())
            } else {
                plan.measure.rounds
            },
        },
        rounds: repeated.iter().map(|f| f.trial.id.round).collect(),
        paired_rounds: Vec::new(),
        void: findings.iter().any(|f| f.severity == Severity::Void && f.claim != Claim::TrialsFailed),
        metrics,
        too_fast: too_fast(&facts),
        served: mean(facts.iter().zip(&shares).map(|(f, s)| (!only_trims(f)).then_some(s.both))),
        served_read: mean(shares.iter().map(|s| s.read)),
        served_write: mean(shares.iter().map(|s| s.write)),
        verified: detect::checked(trials),
        engines: trials.iter().filter_map(|t| Some(t.engine.as_ref()?.engine.clone())).collect(),
    };
    CellJudgement { view, findings, rounds, search }
}

/// Whether the devices of a cell are different ones on each of several machines, so that no list is the cell's.
fn each_has_devices(cell: &Cell) -> bool {
    cell.is_together() && !cell.is_mounted_elsewhere()
}

/// A trial: its sums, and what each machine that loaded saw.
struct SeenTrial<'a> {
    facts: Facts<'a>,
    shares: Attribution,
    looks: Vec<Look<'a>>,
}

impl<'a> SeenTrial<'a> {
    fn of(trial: &'a TrialRecord, cell: &'a Cell) -> Option<Self> {
        let looks = together::looks(trial, cell)?;
        Some(Self { facts: Facts::of(trial, cell)?, shares: together::shares(&looks)?, looks })
    }
}

/// All detections in the trials, and the limit of each with its rate: that of the slowest machine.
fn look_at(
    cell: &Cell,
    trials: &[SeenTrial<'_>],
    input: &Input<'_>,
) -> (BTreeMap<usize, Seen>, Vec<(Limit, f64)>) {
    let mut seen: BTreeMap<usize, Seen> = BTreeMap::new();
    let mut limits = Vec::new();
    for trial in trials {
        let round = trial.facts.trial.id.round;
        let (mut of_machines, mut of_all) = (Vec::new(), None);
        for Look { machine, facts, shares } in &trial.looks {
            let target = machine.unwrap_or(&cell.target);
            let own: Vec<&VolumeFacts> = input
                .volumes
                .iter()
                .filter(|v| v.target == target && facts.cell.stack.all_volumes().any(|s| s.name == v.name))
                .collect();
            let scene = Scene {
                facts,
                shares,
                volumes: &own,
                machine: input.environment.of(machine.unwrap_or(cell.loaded_from())),
                believed: emulated::believed(input.plan, target),
            };
            let mut limit = limit::of_trial(&scene);
            limit.text = together::named(*machine, limit.text);
            match machine {
                Some(_) => of_machines.push((limit, made_iops(facts))),
                None => of_all = Some(limit),
            }
            for (detector, mut detected) in detect::in_trial(&scene) {
                detected.text = together::named(*machine, detected.text);
                remember(&mut seen, detector, round, detected);
            }
        }
        let slowest = of_machines.into_iter().min_by(|a, b| a.1.total_cmp(&b.1));
        let limit = together::limiting(slowest.map(|(limit, _)| limit), of_all);
        limits.extend(limit.map(|limit| (limit, made_iops(&trial.facts))));
        let of_all = [together::not_simultaneous, together::clock_stepped];
        for (detector, detect) in (detect::COUNT..).zip(of_all) {
            if let Some(detected) = detect(trial.facts.trial) {
                remember(&mut seen, detector, round, detected);
            }
        }
    }
    (seen, limits)
}

/// Whether other tools measured the run.
fn is_imported(input: &Input<'_>) -> bool {
    matches!(input.stopped, Stopped::Imported { .. })
}

/// The cell as a trial performed it.
pub(crate) fn performed<'a>(cell: &'a Cell, trial: &TrialRecord) -> Cow<'a, Cell> {
    let mut own = match cell.find() {
        Some(_) => Cow::Owned(cell.of_trial(trial)),
        None => Cow::Borrowed(cell),
    };
    if !trial.drawn.is_empty() {
        // The volumes of a group are alike, so only their names differ.
        for (volume, name) in own.to_mut().stack.volumes.iter_mut().zip(&trial.drawn) {
            volume.name.clone_from(name);
        }
    }
    own
}

/// The number of trials in which each metric was too fast to be measured.
fn too_fast(facts: &[Facts<'_>]) -> BTreeMap<String, u32> {
    let mut trials: BTreeMap<String, u32> = BTreeMap::new();
    for name in facts.iter().flat_map(|facts| facts.engine.too_fast()) {
        *trials.entry(name.to_owned()).or_default() += 1;
    }
    trials
}

/// Whether a trial has only trims, which move no bytes and can't be attributed.
fn only_trims(facts: &Facts<'_>) -> bool {
    facts.trim_ios > 0.0 && facts.read.ios + facts.write.ios <= 0.0
}

/// The same detection in several trials of a cell.
struct Seen {
    /// The rounds of all detections.
    rounds: Vec<u32>,
    /// The round of the strongest detection.
    round: u32,
    strongest: Detected,
}

fn remember(seen: &mut BTreeMap<usize, Seen>, detector: usize, round: u32, detected: Detected) {
    match seen.get_mut(&detector) {
        None => {
            seen.insert(detector, Seen { rounds: vec![round], round, strongest: detected });
        }
        Some(kept) => {
            // Several machines may show the same in one round.
            if kept.rounds.last() != Some(&round) {
                kept.rounds.push(round);
            }
            let strength = |detected: &Detected| (detected.severity, detected.strength);
            if strength(&detected) > strength(&kept.strongest) {
                (kept.round, kept.strongest) = (round, detected);
            }
        }
    }
}

/// Merges findings of the same claim, the worse one first, since programs look findings up by their claim.
fn each_claim_once(all: impl Iterator<Item = Finding>) -> Vec<Finding> {
    let mut once: Vec<Finding> = Vec::new();
    for finding in all {
        match once.iter_mut().find(|kept| kept.claim == finding.claim) {
            None => once.push(finding),
            Some(kept) if finding.severity > kept.severity => {
                let lesser = std::mem::replace(kept, finding);
                add(kept, lesser);
            }
            Some(kept) => add(kept, finding),
        }
    }
    once
}

/// Adds another finding of the same claim; a figure of the same name gets a number.
pub(crate) fn add(kept: &mut Finding, more: Finding) {
    kept.trials = kept.trials.max(more.trials);
    kept.rounds.extend(more.rounds);
    kept.rounds.sort_unstable();
    kept.rounds.dedup();
    kept.text = format!("{} {}", kept.text, more.text);
    if kept.remedy != more.remedy {
        kept.remedy = format!("{} {}", kept.remedy, more.remedy);
    }
    for (name, value) in more.evidence {
        let free = match kept.evidence.get(&name) {
            Some(same) if (same - value).abs() <= f64::EPSILON * value.abs() => continue,
            Some(_) => format!("{name}_2"),
            None => name,
        };
        kept.evidence.insert(free, value);
    }
}

/// The unweighted mean over trials: each trial is one observation of the cell.
fn mean(shares: impl Iterator<Item = Option<Served>>) -> Option<Served> {
    let mut sum = Served::default();
    let mut n = 0.0;
    for s in shares.flatten() {
        sum.device += s.device;
        sum.page_cache += s.page_cache;
        sum.hole += s.hole;
        sum.other += s.other;
        sum.unknown += s.unknown;
        sum.other_cache += s.other_cache;
        n += 1.0;
    }
    (n > 0.0).then(|| Served {
        device: sum.device / n,
        page_cache: sum.page_cache / n,
        hole: sum.hole / n,
        other: sum.other / n,
        unknown: sum.unknown / n,
        other_cache: sum.other_cache / n,
    })
}

fn asked(workload: &Workload) -> Option<Asked> {
    match &workload.ask {
        Ask::Options(o) => Some(Asked {
            rw: o.rw,
            bs_bytes: o.bs_bytes,
            iodepth: o.iodepth,
            numjobs: o.numjobs,
            size_bytes: o.size_bytes,
            direct: o.direct,
            layout: workload.layout,
            cache: workload.cache,
        }),
        Ask::JobFile { .. } | Ask::Copy(_) | Ask::Bonnie(_) => None,
    }
}
