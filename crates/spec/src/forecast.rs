//! Forecast of a plan: time, bytes written, space, privileges and tools. It is rough, and the output says so: the rates are constants.

pub(crate) mod rates;

use crate::find::FEWEST_TRIALS;
use crate::lanes::{Kernels, Lanes, lanes};
use crate::{flush, pace};
use rates::LAYOUT_BLOCK;
pub use rates::{
    Assumed, DURABLE_SECONDS, GUEST_SLOWNESS, LAYER_SECONDS, LAYOUT_RATE, TRIAL_SECONDS, UNLIMITED_RATE,
    VERIFY_SECONDS, VOLUME_SECONDS,
};
use record::plan::{Cell, Measure, Plan};
use record::stack::{Rebuild, Stack};
use record::target::{ImageFormat, LabDisk, Target, TargetKind};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::Layout;
use std::collections::BTreeMap;

/// Rounds before the stop rule checks `until` for the first time.
pub const FIRST_LOOK: u32 = 6;

/// The forecast of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// Seconds of the whole run: all rounds, or as long as the budgets allow. Machines that share nothing work at the same time.
    pub seconds: f64,
    /// Seconds to provide the volumes, once.
    pub provide_seconds: f64,
    /// Seconds of one trial of each cell, in the order of the plan's cells, with the shortest trial length.
    pub seconds_per_trial: Vec<f64>,
    /// Number of trials in all rounds.
    pub trials: u64,
    /// Bytes written to the volumes' storage in all rounds: backing files, data sets, the workloads' own writes.
    pub bytes_written: u64,
    /// What the bytes written rest on besides limits that the plan states.
    pub assumed: Assumed,
    /// All rounds, regardless of the budgets.
    pub most: Takes,
    /// The shortest run: up to the first check of `until`, to the first possible end of a search, or to the end of a budget before
    /// that; `None` without `until` and searches.
    pub least: Option<Takes>,
    /// The budget that is used up first, if one is used up before all rounds are done.
    pub spent: Option<Spent>,
    /// Most space that is used at any time, besides real disks: backing files, the files of lab guests' disks, and data in existing
    /// directories.
    pub space_bytes: u64,
    /// Whether the agent process needs root.
    pub needs_root: bool,
    /// Names of the programs that the agent process needs.
    pub needs_tools: Vec<String>,
}

/// The forecast of some rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Takes {
    /// Number of rounds that begin.
    pub rounds: u32,
    /// Number of trials.
    pub trials: u64,
    /// Seconds, including the time to provide the volumes.
    pub seconds: f64,
    /// Bytes written, including those to provide the volumes.
    pub bytes_written: u64,
    /// Price of all volumes in that time; `None`: none of them has a price.
    pub cost: Option<f64>,
}

/// A budget that is used up before all rounds are done.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// The budget.
    pub budget: Budget,
    /// Number of rounds that it covers, the last one perhaps in part.
    pub rounds: f64,
}

/// The kinds of budgets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Time.
    Time,
    /// Bytes written.
    Written,
    /// Money.
    Cost,
}

/// Forecasts a plan.
#[must_use]
pub fn forecast(plan: &Plan) -> Forecast {
    // Two names of one machine are found out when it is connected; until then, each name counts as a machine.
    let lanes = lanes(plan, &Kernels::default());
    let provided = Provided::of(plan, &lanes);
    let shortest = Course::of(plan, &lanes, &provided, plan.measure.trial_seconds);
    let longest = match plan.measure.max_trial_seconds {
        Some(seconds) => Course::of(plan, &lanes, &provided, seconds),
        None => shortest.clone(),
    };
    let rounds = plan.measure.rounds;
    let most = longest.takes(f64::from(rounds));
    let spent = longest.spent(&plan.measure).filter(|spent| spent.rounds < f64::from(rounds));
    let searches = plan.cells.iter().any(|cell| cell.find().is_some());
    let fewest = if searches { FEWEST_TRIALS } else { FIRST_LOOK };
    let least = (searches || plan.measure.until.is_some()).then(|| {
        let first_look = f64::from(rounds.min(fewest));
        let affordable = shortest.spent(&plan.measure).map_or(first_look, |spent| spent.rounds);
        match plan.measure.until.as_ref().and_then(|until| until.cheapest_with()) {
            Some(_) => Takes {
                rounds: rounds.min(fewest),
                ..shortest.takes((first_look * one_cell(plan)).min(affordable))
            },
            None => shortest.takes(first_look.min(affordable)),
        }
    });
    let lent = plan.cells.iter().filter(|cell| in_directory(&cell.stack));
    let lent = lent.map(space_bytes).max();
    Forecast {
        seconds: spent.map_or(most.seconds, |spent| longest.takes(spent.rounds).seconds),
        provide_seconds: provided.seconds,
        seconds_per_trial: shortest.seconds_per_trial,
        trials: most.trials,
        bytes_written: most.bytes_written,
        assumed: assumed(plan),
        most,
        least,
        spent,
        space_bytes: provided
            .bytes
            .saturating_add(guest_files(plan, |_, _| false).spare)
            .saturating_add(lent.unwrap_or(0)),
        needs_root: provided.needs_root,
        needs_tools: crate::tools::of(plan),
    }
}

/// The share of a round in which one cell of each workload is measured: the least that shows which cell is the cheapest.
fn one_cell(plan: &Plan) -> f64 {
    let families = plan.families().into_iter().max().map_or(0, |last| last + 1);
    float(families as u64) / float(plan.cells.len().max(1) as u64)
}

fn assumed(plan: &Plan) -> Assumed {
    let each = plan.cells.iter().map(|cell| pace::assumed(cell, &plan.measure));
    each.fold(Assumed::default(), |all, one| Assumed {
        rate: all.rate || one.rate,
        durable: all.durable || one.durable,
    })
}

/// The cost of providing the volumes, once.
struct Provided {
    seconds: f64,
    bytes: u64,
    needs_root: bool,
}

impl Provided {
    fn of<'p>(plan: &'p Plan, lanes: &Lanes) -> Self {
        let of_cell = |cell: &'p Cell| {
            plan.volumes_of(cell).map(|volume| ((cell.target.as_str(), volume.name.as_str()), volume))
        };
        let volumes: BTreeMap<(&str, &str), &Volume> = plan.cells.iter().flat_map(of_cell).collect();
        let seconds = volumes.iter().map(|((target, _), volume)| (*target, provide_seconds(volume)));
        let bytes = guest_files(plan, |_, _| false).bytes;
        let mut provided = Self { seconds: lanes.span(seconds), bytes, needs_root: false };
        for volume in volumes.values() {
            if let VolumeKind::Emulate { size_bytes, .. } = &volume.kind {
                provided.bytes = provided.bytes.saturating_add(*size_bytes);
            }
            provided.needs_root |= !matches!(volume.kind, VolumeKind::Directory { .. });
        }
        // Kernel settings need root in an existing directory, too.
        provided.needs_root |= plan.cells.iter().any(|cell| !cell.stack.layers.is_empty());
        provided
    }
}

/// The files of lab guests' disks, which a run writes on this machine before its first trial.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct GuestFiles {
    /// Size of all of them in bytes.
    pub bytes: u64,
    /// Bytes that are needed besides while they are made: a qcow2 image is made from a raw file of the same size.
    pub spare: u64,
}

/// Returns the size of the files of lab guests' disks, of the guests that the plan's cells use. `there` says of a guest's disk that its file
/// is there already.
#[must_use]
pub fn guest_files(plan: &Plan, there: impl Fn(&str, &LabDisk) -> bool) -> GuestFiles {
    let used =
        |target: &&Target| plan.cells.iter().any(|cell| cell.machines().contains(&target.name.as_str()));
    let guests = plan.targets.iter().filter(used).filter_map(|target| match &target.kind {
        TargetKind::Guest { lab, disks } => Some((lab, disks)),
        _ => None,
    });
    let there = &there;
    let disks = guests.flat_map(|(lab, disks)| disks.iter().filter(move |disk| !there(lab, disk)));
    disks.fold(GuestFiles::default(), |all, disk| GuestFiles {
        bytes: all.bytes.saturating_add(disk.size_bytes),
        spare: if disk.format == ImageFormat::Qcow2 { all.spare.max(disk.size_bytes) } else { all.spare },
    })
}

/// The rounds of a run with trials of one length.
#[derive(Clone)]
struct Course {
    seconds_per_trial: Vec<f64>,
    round_seconds: f64,
    round_bytes: f64,
    /// Seconds before the first round, including the building of persistent stacks.
    provide_seconds: f64,
    provide_bytes: u64,
    /// Price per hour.
    price: Option<f64>,
}

impl Course {
    fn of(plan: &Plan, lanes: &Lanes, provided: &Provided, trial_seconds: f64) -> Self {
        let measure = Measure { trial_seconds, ..plan.measure.clone() };
        let seconds_per_trial: Vec<f64> =
            plan.cells.iter().map(|cell| self::trial_seconds(plan, cell, &measure)).collect();
        let standing = plan.cells.iter().filter(|cell| stands(cell));
        let once_seconds =
            lanes.span(standing.clone().map(|cell| (cell.target.as_str(), build_seconds(plan, cell))));
        let once_bytes: f64 = standing.map(laid_out).sum();
        let targets = plan.cells.iter().map(|cell| cell.target.as_str());
        Self {
            round_seconds: lanes.span(targets.zip(seconds_per_trial.iter().copied())),
            round_bytes: plan.cells.iter().map(|cell| trial_bytes(cell, &measure)).sum(),
            seconds_per_trial,
            provide_seconds: provided.seconds + once_seconds,
            provide_bytes: provided.bytes.saturating_add(whole(once_bytes)),
            price: (!plan.prices.is_empty()).then(|| plan.total_price_per_hour()),
        }
    }

    fn takes(&self, rounds: f64) -> Takes {
        let cells = self.seconds_per_trial.len() as u64;
        let seconds = self.provide_seconds + self.round_seconds * rounds;
        Takes {
            rounds: u32::try_from(whole(rounds.ceil())).unwrap_or(u32::MAX),
            trials: whole((float(cells) * rounds).ceil()),
            seconds,
            bytes_written: self.provide_bytes.saturating_add(whole(self.round_bytes * rounds)),
            cost: self.price.map(|price| price * seconds / 3600.0),
        }
    }

    /// Returns the budget that is used up first, regardless of the number of rounds.
    fn spent(&self, measure: &Measure) -> Option<Spent> {
        let in_time = |seconds: f64| (seconds - self.provide_seconds).max(0.0) / self.round_seconds;
        let paid = measure.max_cost.zip(self.price).map(|(most, price)| in_time(most / price * 3600.0));
        let written = measure.max_written_bytes.map(|most| float(most) / self.round_bytes);
        let each = [
            (Budget::Time, measure.max_seconds.map(in_time)),
            (Budget::Written, written.filter(|rounds| rounds.is_finite())),
            (Budget::Cost, paid),
        ];
        each.into_iter()
            .filter_map(|(budget, rounds)| Some(Spent { budget, rounds: rounds? }))
            .min_by(|a, b| a.rounds.total_cmp(&b.rounds))
    }
}

/// Returns the seconds to provide one volume.
fn provide_seconds(volume: &Volume) -> f64 {
    let verified = |limits: &Limits| VERIFY_SECONDS * f64::from(limit_count(limits));
    VOLUME_SECONDS
        + match &volume.kind {
            VolumeKind::Guest { size_bytes, limits, .. } | VolumeKind::Emulate { size_bytes, limits } => {
                float(*size_bytes) / LAYOUT_RATE + verified(limits)
            }
            VolumeKind::Disk { .. } | VolumeKind::Created { .. } | VolumeKind::Directory { .. } => 0.0,
        }
}

fn limit_count(limits: &Limits) -> u8 {
    [
        limits.read_iops,
        limits.write_iops,
        limits.read_bps,
        limits.write_bps,
        limits.total_iops,
        limits.total_bps,
    ]
    .iter()
    .map(|l| u8::from(l.is_some()))
    .sum()
}

fn in_directory(stack: &Stack) -> bool {
    stack.volumes.iter().any(|volume| matches!(volume.kind, VolumeKind::Directory { .. }))
}

fn trial_seconds(plan: &Plan, cell: &Cell, measure: &Measure) -> f64 {
    let building = if stands(cell) { 0.0 } else { build_seconds(plan, cell) };
    let slowness = slowness(plan, cell);
    TRIAL_SECONDS * slowness + building + pace::seconds(cell, measure) + flush::seconds(cell, slowness)
}

/// Returns the factor by which the steps of a trial are slower than here.
fn slowness(plan: &Plan, cell: &Cell) -> f64 {
    let target = plan.targets.iter().find(|target| target.name == cell.target);
    let is_guest = target.is_some_and(|target| match &target.kind {
        TargetKind::Guest { .. } => true,
        TargetKind::Created { driver, .. } => driver == "lab",
        TargetKind::Local | TargetKind::Ssh { .. } => false,
    });
    if is_guest { GUEST_SLOWNESS } else { 1.0 }
}

/// Whether the volumes are limited while data is laid out, too. Volumes that diskproof emulates are limited only while a load is measured.
fn is_always_limited(stack: &Stack) -> bool {
    let is = |kind: &VolumeKind| matches!(kind, VolumeKind::Guest { .. } | VolumeKind::Created { .. });
    stack.volumes.iter().any(|volume| is(&volume.kind))
}

fn stands(cell: &Cell) -> bool {
    cell.stack.rebuild == Rebuild::Run
}

/// Returns the seconds to build the stack, take it down and lay out its data.
fn build_seconds(plan: &Plan, cell: &Cell) -> f64 {
    let layers: f64 = cell.stack.layers.iter().map(|_| LAYER_SECONDS).sum();
    let rate = if is_always_limited(&cell.stack) {
        pace::volumes_rate(&cell.stack, pace::write_limits, LAYOUT_BLOCK).min(LAYOUT_RATE)
    } else {
        LAYOUT_RATE
    };
    layers * slowness(plan, cell) + laid_out(cell) / rate.max(1.0)
}

/// Returns the bytes that are written before the trial.
fn laid_out(cell: &Cell) -> f64 {
    let each = if cell.workload.layout == Layout::Written { float(cell.workload.data_bytes()) } else { 0.0 };
    each * machines(cell)
}

/// Returns the number of machines that load a cell. Each has its own data.
fn machines(cell: &Cell) -> f64 {
    float(cell.loading().len() as u64)
}

/// Returns the bytes that a cell lays out and makes in an existing directory, from all machines that load it.
#[must_use]
pub fn space_bytes(cell: &Cell) -> u64 {
    let each = cell.workload.data_bytes().saturating_add(cell.workload.made_bytes());
    each.saturating_mul(cell.loading().len() as u64)
}

/// Returns the bytes that are written in one trial, including its preparation.
fn trial_bytes(cell: &Cell, measure: &Measure) -> f64 {
    let data = if stands(cell) { 0.0 } else { laid_out(cell) };
    data + pace::written(cell, measure) * machines(cell)
}

#[expect(clippy::cast_precision_loss, reason = "a forecast has two good digits")]
fn float(n: u64) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; a forecast has two good digits"
)]
fn whole(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests;
