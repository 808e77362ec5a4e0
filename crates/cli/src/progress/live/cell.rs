//! What the view knows of one cell.

use record::event::Event;
use record::finding::{Claim, Finding};
use record::id::CellId;
use record::judged::Metric;
use record::metric::info;
use record::plan::{Cell, Goal, Plan};
use record::printable::printable;
use record::trial::{Outcome, TrialRecord};
use report::{margin, percent, single, so_far};
use verdict::attribute;

/// A cell.
pub(super) struct CellState {
    pub(super) id: CellId,
    /// Stack and workload.
    pub(super) name: String,
    /// The layers of its stack, in words.
    pub(super) layers: Vec<String>,
    /// The levels of its factors.
    pub(super) levels: Vec<String>,
    /// The metric that it is judged by.
    metric: String,
    /// The relative half-width that its own interval should have.
    asked: Option<f64>,
    /// The figure over its trials, with the interval of the stop rule.
    estimate: Option<Metric>,
    /// The trials of this session, the oldest first.
    pub(super) trials: Vec<TrialState>,
    pub(super) findings: Vec<Finding>,
    /// The user has skipped it; the run will heed that before its next trial.
    pub(super) is_to_be_skipped: bool,
    /// The round in which it was skipped.
    pub(super) skipped: Option<u32>,
}

/// A finished trial.
pub(super) struct TrialState {
    pub(super) round: u32,
    /// The figure that the cell is judged by.
    value: Option<f64>,
    /// The 99th percentile of the latency in microseconds: of the reads, or else of the writes.
    p99_us: Option<f64>,
    /// The share of the bytes that came from or went to the devices; `None` when no engine ran.
    device: Option<f64>,
    failed: Option<String>,
}

impl CellState {
    pub(super) fn new(cell: &Cell, plan: &Plan) -> Self {
        let asked = match plan.measure.until.as_ref().map(|until| until.goal) {
            Some(Goal::Interval(width)) => Some(width),
            Some(Goal::Ratios(_) | Goal::Told(_) | Goal::Cheapest) => None,
            None => plan.measure.interval,
        };
        Self {
            id: cell.id.clone(),
            name: printable(&format!("{} {}", cell.stack.name, cell.workload.name)).into_owned(),
            layers: cell.stack.layers_in_words(),
            levels: cell.levels.iter().map(|(factor, level)| format!("{factor}={level}")).collect(),
            metric: plan.figure_name(cell).to_owned(),
            asked,
            estimate: None,
            trials: Vec::new(),
            findings: Vec::new(),
            is_to_be_skipped: false,
            skipped: plan.skipped.get(&cell.id).copied(),
        }
    }

    pub(super) fn estimated(&mut self, event: &Event) {
        if let Event::CellEstimated { unit, estimate, low, high, confidence, trials, .. } = event {
            self.estimate = Some(Metric {
                low: Some(*low),
                high: Some(*high),
                ..figure(*estimate, unit, *confidence, *trials)
            });
        }
    }

    pub(super) fn finished(&mut self, record: &TrialRecord, plan: &Plan) {
        let Some(cell) = plan.cells.iter().find(|cell| cell.id == record.id.cell) else { return };
        let performed = cell.of_trial(record);
        let metrics = record.metrics();
        let first = |names: [&str; 2]| names.into_iter().find_map(|name| metrics.get(name).copied());
        self.trials.push(TrialState {
            round: record.id.round,
            value: plan.figure(cell, record),
            p99_us: first(["read_lat_p99", "write_lat_p99"]),
            device: attribute::trial(record, &performed).map(|shares| shares.both.device),
            failed: match &record.outcome {
                Outcome::Failed(why) => Some(printable(why).into_owned()),
                Outcome::Measured => None,
            },
        });
    }

    /// Keeps a finding of a trial; whether the cell had none of the same claim before.
    pub(super) fn is_news(&mut self, finding: &Finding) -> bool {
        let same = |kept: &Finding, claim: Claim| kept.claim == claim;
        let known = self.findings.iter().any(|kept| same(kept, finding.claim));
        if !known {
            self.findings.push(finding.clone());
        }
        !known
    }

    /// The number of trials that count.
    pub(super) fn count(&self) -> String {
        let here = self.trials.iter().filter(|trial| trial.failed.is_none()).count();
        let all = self.estimate.as_ref().map_or(0, |estimate| estimate.n as usize);
        here.max(all).to_string()
    }

    /// The figure over the trials so far: `1,240 IOPS`.
    pub(super) fn figure(&self) -> String {
        if let Some(estimate) = &self.estimate {
            return single(estimate.estimate, &estimate.unit);
        }
        let last = self.trials.iter().rev().find_map(|trial| trial.value);
        last.map_or_else(String::new, |value| single(value, self.unit()))
    }

    /// The half-width of its interval: `±6.1 %`; `±?` after one trial. A cell that takes no part any more says so here, where each size of
    /// terminal has room.
    pub(super) fn interval(&self) -> String {
        match self.width() {
            _ if self.skipped.is_some() || self.is_to_be_skipped => "skipped".to_owned(),
            None if self.trials.iter().all(|trial| trial.failed.is_some()) && !self.trials.is_empty() => {
                "failed".to_owned()
            }
            // From 10 % on, a decimal place says nothing.
            Some(width) if (0.1..10.0).contains(&width) => format!("±{:.0} %", width * 100.0),
            Some(width) if width < 0.1 => format!("±{}", margin(width)),
            Some(_) => "±…".to_owned(),
            None if self.trials.iter().any(|trial| trial.value.is_some()) => "±?".to_owned(),
            None => String::new(),
        }
    }

    /// The half-width that is asked for.
    pub(super) fn asked(&self) -> String {
        self.asked.map_or_else(String::new, |asked| format!("±{}", margin(asked)))
    }

    /// Whether its interval is as narrow as asked; `None` if the experiment asks for no width, or if there is no interval yet.
    pub(super) fn is_as_asked(&self) -> Option<bool> {
        Some(self.width()? <= self.asked?)
    }

    fn width(&self) -> Option<f64> {
        let estimate = self.estimate.as_ref().filter(|estimate| estimate.estimate != 0.0)?;
        // The lower end is cut off at 0.
        Some((estimate.high? - estimate.estimate) / estimate.estimate.abs())
    }

    /// The 99th percentile of the latency in its last trial.
    pub(super) fn p99(&self) -> String {
        let last = self.trials.last().and_then(|trial| trial.p99_us);
        last.map_or_else(String::new, |p99| single(p99, "us"))
    }

    /// The share of the devices in its last trial.
    pub(super) fn device(&self) -> String {
        self.trials.last().and_then(|trial| trial.device).map_or_else(String::new, percent)
    }

    /// Its state in a word.
    pub(super) fn word(&self, is_current: bool) -> String {
        let failed = self.trials.iter().filter(|trial| trial.failed.is_some()).count();
        match self.is_as_asked() {
            _ if self.skipped.is_some() => "skipped".to_owned(),
            _ if self.is_to_be_skipped => "to be skipped".to_owned(),
            _ if failed > 0 => format!("{failed} failed"),
            _ if is_current => "now".to_owned(),
            Some(true) => "as asked".to_owned(),
            Some(false) => "too wide".to_owned(),
            None => String::new(),
        }
    }

    /// The figure with its interval, in words.
    pub(super) fn in_words(&self) -> Option<String> {
        let estimate = self.estimate.as_ref()?;
        let asked = self.asked.map(|asked| format!(", asked ±{}", margin(asked))).unwrap_or_default();
        Some(format!("{} {} after {} trials{asked}", self.metric, so_far(estimate), estimate.n))
    }

    /// A trial in words: `round 3: 1,240 IOPS, p99 9.4 ms, 98 % from or to the devices`.
    pub(super) fn trial_in_words(&self, trial: &TrialState) -> String {
        let begin = format!("round {}: ", trial.round + 1);
        if let Some(why) = &trial.failed {
            return format!("{begin}failed: {why}");
        }
        let parts = [
            trial.value.map(|value| single(value, self.unit())),
            trial.p99_us.map(|p99| format!("p99 {}", single(p99, "us"))),
            trial.device.map(|share| format!("{} from or to the devices", percent(share))),
        ];
        begin + &parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn unit(&self) -> &str {
        self.estimate.as_ref().map_or_else(|| info(&self.metric).map_or("1", |m| m.unit), |e| e.unit.as_str())
    }
}

/// A figure without an interval.
fn figure(estimate: f64, unit: &str, confidence: f64, n: u32) -> Metric {
    Metric {
        estimate,
        low: None,
        high: None,
        confidence,
        n,
        unit: unit.to_owned(),
        values: Vec::new(),
        median: None,
        trimmed: None,
    }
}
