//! The plan: what a run will do, with all values resolved.

use crate::id::CellId;
use crate::provision::ProvisionStep;
use crate::stack::Stack;
use crate::target::{Target, TargetKind};
use crate::version::FormatVersion;
use crate::volume::Volume;
pub use crate::want::{Bound, Want};
use crate::workload::Workload;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// What a run will do. `spec` makes it, `run` follows it, `store` keeps it, `verdict` judges against it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Version of this format.
    pub format: FormatVersion,
    /// The experiment's name.
    pub experiment: String,
    /// The question that the experiment asks, if it has one.
    pub question: Option<String>,
    /// Parameters with their values, as text.
    pub parameters: BTreeMap<String, String>,
    /// All cells, in the order of the file.
    pub cells: Vec<Cell>,
    /// How to measure.
    pub measure: Measure,
    /// What the user expects.
    pub expectations: Vec<Expectation>,
    /// Groups of cells whose ratio the experiment requests.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contrasts: Vec<Contrast>,
    /// The experiment file's text, as read.
    pub source: String,
    /// Seed of every random choice of the run: order of cells, offsets.
    pub seed: u64,
    /// Prices of the volumes.
    #[serde(default)]
    pub prices: Prices,
    /// Metrics that the experiment derives from others.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// The machines that cells run on; empty: only the controller's machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Target>,
    /// Provisioning steps on the machines before anything is built, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provision: Vec<ProvisionStep>,
    /// Groups of volumes, alike and in the order of their names. In each round, [`Self::seed`] decides anew which of them stands in the
    /// place of which.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shuffled: Vec<Vec<Volume>>,
    /// The machine that has each group of [`Self::shuffled`], in their order. `None`, or no entry: the group is every machine's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shuffled_on: Vec<Option<String>>,
    /// Cells that the user skipped while the run went on, and the round, from 0, in which this happened. They get no more trials.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<CellId, u32>,
    /// Where each finished trial is copied to: `s3://BUCKET/PREFIX` or `file:///FOLDER`; `None`: nowhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copy_to: Option<String>,
}

impl Plan {
    /// A plan of these cells and nothing else, in the version that this program writes.
    #[must_use]
    pub fn new(experiment: String, cells: Vec<Cell>, measure: Measure) -> Self {
        Self {
            format: FormatVersion::RECORD,
            experiment,
            question: None,
            parameters: BTreeMap::new(),
            cells,
            measure,
            expectations: Vec::new(),
            contrasts: Vec::new(),
            source: String::new(),
            seed: 0,
            prices: Prices::default(),
            derived: Vec::new(),
            targets: Vec::new(),
            provision: Vec::new(),
            shuffled: Vec::new(),
            shuffled_on: Vec::new(),
            skipped: BTreeMap::new(),
            copy_to: None,
        }
    }

    /// Returns all volumes that a cell may stand on: its own, and those of the groups that they are drawn from. Some come twice.
    pub fn volumes_of<'p>(&'p self, cell: &'p Cell) -> impl Iterator<Item = &'p Volume> {
        let is_own = |volume: &Volume| cell.stack.volumes.iter().any(|own| own.name == volume.name);
        let groups = self.shuffled_for(&cell.target).filter(move |group| group.iter().any(is_own));
        cell.stack.all_volumes().chain(groups.flatten())
    }

    /// Returns the groups of [`Self::shuffled`] that a machine draws from.
    pub fn shuffled_for<'p>(&'p self, target: &'p str) -> impl Iterator<Item = &'p Vec<Volume>> {
        let owner = |at: usize| self.shuffled_on.get(at).and_then(Option::as_deref);
        let is_there = move |(at, _): &(usize, _)| owner(*at).is_none_or(|only| only == target);
        self.shuffled.iter().enumerate().filter(is_there).map(|(_, group)| group)
    }

    /// Returns the provisioning steps of a machine.
    pub fn provision_of<'p>(&'p self, target: &'p str) -> impl Iterator<Item = &'p ProvisionStep> {
        self.provision.iter().filter(move |step| step.target.as_deref().is_none_or(|only| only == target))
    }

    /// Returns for each cell its group of compared cells: those of one workload on one machine.
    #[must_use]
    pub fn groups(&self) -> Vec<usize> {
        let mut known: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        let mut groups = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let next = known.len();
            groups.push(*known.entry((&cell.target, &cell.workload.name)).or_insert(next));
        }
        groups
    }

    /// Returns for each cell its family: the cells of one workload, on all machines. The comparisons of a family share one error
    /// probability.
    #[must_use]
    pub fn families(&self) -> Vec<usize> {
        let mut known: BTreeMap<&str, usize> = BTreeMap::new();
        let mut families = Vec::with_capacity(self.cells.len());
        for cell in &self.cells {
            let next = known.len();
            families.push(*known.entry(&cell.workload.name).or_insert(next));
        }
        families
    }
}

impl Plan {
    /// Returns the price of a cell per hour: that of all volumes of its stack, and of its machine if that has a price. A volume without a
    /// price is part of a machine with one. `None` if neither it nor its machine has a price, or if all cost nothing.
    #[must_use]
    pub fn price_per_hour(&self, cell: &Cell) -> Option<f64> {
        let machine = self.machines_price(cell);
        let of = |name: &String| self.prices.per_hour.get(name).copied().or(machine.map(|_| 0.0));
        let volumes: Option<f64> = cell.stack.all_volumes().map(|volume| of(&volume.name)).sum();
        let total = volumes.map(|volumes| volumes + machine.unwrap_or(0.0));
        total.filter(|total| *total > 0.0 && total.is_finite())
    }

    /// Returns the price of all volumes and machines per hour. A volume that is created on several machines costs so often.
    #[must_use]
    pub fn total_price_per_hour(&self) -> f64 {
        let volumes = self.prices.per_hour.iter().map(|(name, price)| price * self.times_created(name));
        volumes.chain(self.prices.machines.values().copied()).sum()
    }

    /// On how many machines a driver creates a volume; 1 for one that no driver creates.
    fn times_created(&self, name: &str) -> f64 {
        let used: BTreeSet<&str> = self.cells.iter().flat_map(Cell::machines).collect();
        let has = |target: &&Target| match &target.kind {
            TargetKind::Created { volumes, .. } => {
                volumes.iter().any(|volume| volume.single().iter().any(|(single, _)| single == name))
            }
            _ => false,
        };
        let times = self.targets.iter().filter(|target| used.contains(target.name.as_str())).filter(has);
        times.fold(0.0, |sum: f64, _| sum + 1.0).max(1.0)
    }

    /// Returns the price per hour of the machine that a cell's stack is built on, or of all machines that load it together; `None` if
    /// none of them has a price.
    fn machines_price(&self, cell: &Cell) -> Option<f64> {
        let of = |name: &str| self.prices.machines.get(name).copied();
        match cell.workload.on.as_slice() {
            [] => of(&cell.target),
            several => several.iter().filter_map(|name| of(name)).reduce(|sum, price| sum + price),
        }
    }
}

/// Prices of the volumes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Prices {
    /// Currency, e.g. `EUR`; `None`: the experiment doesn't say.
    pub currency: Option<String>,
    /// Price per hour, by the volume's name with its index. Volumes without a price are absent.
    pub per_hour: BTreeMap<String, f64>,
    /// Price per hour of the machines that have a price, by the target's name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, f64>,
    /// Machines whose price includes that of their volumes without a price of their own, as drivers told them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub with_volumes: BTreeSet<String>,
    /// Date and source of the price list; `None`: the experiment has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<PriceListInfo>,
}

impl Prices {
    /// Whether nothing has a price.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.per_hour.is_empty() && self.machines.is_empty()
    }
}

/// Where the prices of a list come from, and until when they hold.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceListInfo {
    /// When the prices were read: a day, month or year, as YYYY-MM-DD, YYYY-MM or YYYY.
    #[serde(default)]
    pub date: Option<String>,
    /// Where they were read: a page, an offer, a contract.
    #[serde(default)]
    pub source: Option<String>,
    /// The last day, month or year in which they hold, likewise.
    #[serde(default)]
    pub valid_until: Option<String>,
}

impl PriceListInfo {
    /// Whether the prices no longer hold on this day, written as YYYY-MM-DD.
    #[must_use]
    pub fn is_past(&self, today: &str) -> bool {
        // Such dates sort as text; of today, as much counts as the other date has.
        let is_before = |last: &str| last < today.get(..last.len()).unwrap_or(today);
        self.valid_until.as_deref().is_some_and(is_before)
    }
}

/// A metric derived from others: `factor * over / under`, cell by cell.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Derived {
    /// Its name, beside those of docs/metrics.md.
    pub name: String,
    /// The expression as written, e.g. `iops / price_per_month`.
    pub expression: String,
    /// Formula by cell. Cells for which it has no meaning (no price) are absent.
    pub cells: BTreeMap<CellId, Formula>,
}

/// `factor * over / under`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Formula {
    /// Product of all constants.
    pub factor: f64,
    /// The metric in the numerator; `None`: 1.
    pub over: Option<String>,
    /// The metric in the denominator; `None`: 1.
    pub under: Option<String>,
}

/// One combination: machine x stack x workload x levels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Identity of the cell.
    pub id: CellId,
    /// Name of the machine it runs on: one of [`Plan::targets`], or `local`.
    pub target: String,
    /// The stack that is built.
    pub stack: Stack,
    /// The workload that runs on it.
    pub workload: Workload,
    /// Levels of all factors by factor name, in text as written.
    pub levels: BTreeMap<String, String>,
}

impl Cell {
    /// Returns the machine that generates the load: the one that the stack is built on, unless another one mounts the stack over NFS.
    #[must_use]
    pub fn loaded_from(&self) -> &str {
        self.stack.client().unwrap_or(&self.target)
    }

    /// Returns all machines that generate the load, in the order of [`Workload::on`]; one, unless several machines run the workload
    /// at the same time.
    #[must_use]
    pub fn loading(&self) -> Vec<&str> {
        match self.workload.on.as_slice() {
            [] => vec![self.loaded_from()],
            several => several.iter().map(String::as_str).collect(),
        }
    }

    /// Whether several machines may run the workload at the same time: then it names its machines.
    #[must_use]
    pub fn is_together(&self) -> bool {
        !self.workload.on.is_empty()
    }

    /// Whether other machines mount the stack over NFS: its `client`, or each machine of [`Workload::on`].
    #[must_use]
    pub fn is_mounted_elsewhere(&self) -> bool {
        self.stack.client().is_some() || (self.is_together() && self.stack.nfs().is_some())
    }

    /// Whether the stack is built on this machine. Unless they mount it over NFS, each machine of [`Workload::on`] builds it, since
    /// it is a directory that all of them have.
    #[must_use]
    pub fn is_built_on(&self, target: &str) -> bool {
        let by_all = !self.is_mounted_elsewhere();
        self.target == target || (by_all && self.workload.on.iter().any(|name| name == target))
    }

    /// Returns all machines that take part: those that build the stack, then those that load it; each once.
    #[must_use]
    pub fn machines(&self) -> Vec<&str> {
        let mut all = vec![self.target.as_str()];
        for machine in self.loading() {
            if !all.contains(&machine) {
                all.push(machine);
            }
        }
        all
    }
}

/// How the cells are measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Measured seconds per trial, without the ramp.
    pub trial_seconds: f64,
    /// Seconds of load before the measurement begins (ramp).
    pub ramp_seconds: f64,
    /// The most measured seconds per trial, if their length may be chosen from the observed variance; `None`: the length is fixed.
    #[serde(default)]
    pub max_trial_seconds: Option<f64>,
    /// Number of rounds, or the largest number if `until` is set.
    pub rounds: u32,
    /// Confidence of every interval, e.g. 0.95.
    pub confidence: f64,
    /// Requested relative half-width, e.g. 0.05; a wider interval gets a finding.
    pub interval: Option<f64>,
    /// The goal that ends the run; `None`: it ends after all rounds. `rounds` is the largest number of rounds.
    #[serde(default)]
    pub until: Option<Until>,
    /// Number of samples of kernel counters per second.
    pub sample_hz: f64,
    /// Time budget for the whole run, in seconds of wall-clock time.
    pub max_seconds: Option<f64>,
    /// Budget of bytes that the trials write to their devices or file systems (wear), including the layout of the data.
    #[serde(default)]
    pub max_written_bytes: Option<u64>,
    /// Budget of money: the price of all volumes for the duration of the run.
    #[serde(default)]
    pub max_cost: Option<f64>,
    /// Share of trials that is cut off at each end before means are computed, e.g. 0.1; `None`: all trials are used.
    #[serde(default)]
    pub trim: Option<f64>,
    /// The most trials that run at the same time, on different machines; `None`: one for each machine that shares nothing with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
}

impl Measure {
    /// Confidence of every interval, unless the experiment says otherwise.
    pub const CONFIDENCE: f64 = 0.95;
    /// Samples of kernel counters per second, unless the experiment says otherwise.
    pub const SAMPLE_HZ: f64 = 10.0;

    /// So many rounds of trials of one length: no goal, no budget.
    #[must_use]
    pub fn new(trial_seconds: f64, ramp_seconds: f64, rounds: u32) -> Self {
        Self {
            trial_seconds,
            ramp_seconds,
            max_trial_seconds: None,
            rounds,
            confidence: Self::CONFIDENCE,
            interval: None,
            until: None,
            sample_hz: Self::SAMPLE_HZ,
            max_seconds: None,
            max_written_bytes: None,
            max_cost: None,
            trim: None,
            at_once: None,
        }
    }
}

/// The goal that ends a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Until {
    /// The goal.
    pub goal: Goal,
    /// Metric that the goal applies to; `None`: the workload's headline metric (`bw` for blocks of 128 KiB and more, else `iops`;
    /// copies and Bonnie++ have their own).
    pub of: Option<String>,
    /// The limits that a cell must keep to be the answer to [`Goal::Cheapest`]; empty for other goals.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wants: Vec<Want>,
}

impl Until {
    /// This goal for this metric, without limits.
    #[must_use]
    pub fn new(goal: Goal, of: Option<String>) -> Self {
        Self { goal, of, wants: Vec::new() }
    }

    /// Returns the limits if the goal is the cheapest cell that keeps them.
    #[must_use]
    pub fn cheapest_with(&self) -> Option<&[Want]> {
        (self.goal == Goal::Cheapest).then_some(&self.wants)
    }
}

/// A goal for the intervals. Their confidence is [`Measure::confidence`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// Every cell's interval has at most this relative half-width.
    Interval(f64),
    /// Every ratio between two cells of one workload has an interval within ratio / (1 + x) to ratio * (1 + x).
    Ratios(f64),
    /// Every two cells of one workload are shown to differ, or to be within a factor of 1 + x of each other.
    Told(f64),
    /// For each workload one cell is shown to be the cheapest that keeps [`Until::wants`], or none is shown to keep them.
    Cheapest,
}

/// What the user changed of a run after its start: raised budgets (a `None` budget stays as planned), and skipped cells.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Raised {
    /// The largest number of rounds.
    pub rounds: Option<u32>,
    /// Seconds of wall-clock time for the whole run.
    pub max_seconds: Option<f64>,
    /// Bytes that the trials may write.
    pub max_written_bytes: Option<u64>,
    /// Money for the volumes.
    pub max_cost: Option<f64>,
    /// As [`Plan::skipped`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub skipped: BTreeMap<CellId, u32>,
}

impl Raised {
    /// Returns the budgets and the skipped cells of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        let Measure { rounds, max_seconds, max_written_bytes, max_cost, .. } = plan.measure;
        let skipped = plan.skipped.clone();
        Self { rounds: Some(rounds), max_seconds, max_written_bytes, max_cost, skipped }
    }

    /// Replaces the planned budgets with the raised ones, and adds the skipped cells.
    pub fn apply(&self, plan: &mut Plan) {
        plan.skipped.extend(self.skipped.iter().map(|(cell, round)| (cell.clone(), *round)));
        let measure = &mut plan.measure;
        measure.rounds = self.rounds.unwrap_or(measure.rounds);
        measure.max_seconds = self.max_seconds.or(measure.max_seconds);
        measure.max_written_bytes = self.max_written_bytes.or(measure.max_written_bytes);
        measure.max_cost = self.max_cost.or(measure.max_cost);
    }
}

/// A requested ratio between two groups of cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contrast {
    /// Name of the contrast.
    pub name: String,
    /// Name of the metric.
    pub of: String,
    /// Cells of the numerator; none of them is in `b`.
    pub a: Vec<CellId>,
    /// Cells of the denominator.
    pub b: Vec<CellId>,
}

/// The user's expectation for a metric.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expectation {
    /// Name of the metric, e.g. `iops`, `read_iops` (docs/metrics.md).
    pub of: String,
    /// The expression as written, e.g. `80 * n`.
    pub expression: String,
    /// Which values meet it.
    #[serde(default, skip_serializing_if = "Bound::is_within")]
    pub bound: Bound,
    /// Allowed relative deviation, e.g. 0.05; 0 for a bound on one side.
    pub within: f64,
    /// The expected value per cell; cells without an expectation are absent.
    pub values: BTreeMap<CellId, f64>,
}
