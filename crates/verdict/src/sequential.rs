//! The effect of a stop rule on a run's figures: which trials count, and how the interval of a mean is computed. docs/statistics.md, "When
//! to stop".

use record::event::Stopped;
use record::plan::{Goal, Plan};
use record::trial::TrialRecord;
use stats::{Allowance, Estimate, Question, Resource, Sought, StopRule};

/// How the intervals of a cell's means are computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Means {
    /// The confidence of every interval.
    pub(crate) confidence: f64,
    /// The share of the trials that is trimmed at each end.
    trim: Option<f64>,
    rule: Option<StopRule>,
    /// The run looked for the cheapest cell, so the means themselves decided when it ended.
    sought: Option<Sought>,
    /// The budget that ended the run in this cell's last round.
    spent: Option<Resource>,
}

impl Means {
    /// For a cell with `trials`, in order of rounds, in a run of `made` rounds.
    pub(crate) fn of(plan: &Plan, stopped: &Stopped, made: u32, trials: &[&TrialRecord]) -> Self {
        let confidence = plan.measure.confidence;
        let rule = question(plan).and_then(|question| question.rule(confidence, 1));
        let rule = rule.map(|rule| rule.trimmed(plan.measure.trim));
        let measured = || trials.iter().filter(|trial| window(trial).is_some());
        let last = measured().next_back().is_some_and(|trial| trial.id.round + 1 == made);
        Self {
            confidence,
            trim: plan.measure.trim,
            rule,
            sought: sought(plan),
            spent: spent(stopped).filter(|_| last),
        }
    }

    /// The estimate with Student's interval, or with the stop rule's interval under `measure: until`, since other metrics correlate with
    /// the rule's metric. With trimming, that of the trimmed mean.
    pub(crate) fn estimate(&self, values: &[f64]) -> Option<Estimate> {
        let confidence = self.confidence;
        if let Some(sought) = self.sought {
            return sought.mean(values);
        }
        match (self.rule, self.trim) {
            (None, None) => stats::mean_t(values, confidence),
            (None, Some(share)) => stats::trimmed_mean(values, share, confidence),
            (Some(rule), _) => rule.mean(values, &allowances(self.spent)),
        }
    }

    #[cfg(test)]
    pub(crate) fn plain(measure: &record::plan::Measure) -> Self {
        Self { confidence: measure.confidence, trim: measure.trim, rule: None, sought: None, spent: None }
    }
}

/// The stop rule's goal; `None` without `measure: until`.
pub(crate) fn question(plan: &Plan) -> Option<Question> {
    Some(match plan.measure.until.as_ref()?.goal {
        Goal::Interval(width) => Question::Means(width),
        Goal::Ratios(width) => Question::Ratios(width),
        Goal::Told(margin) => Question::Told(margin),
        Goal::Cheapest => return None,
    })
}

/// The conditions under which a run looked for the cheapest cell; `None` if it didn't.
pub(crate) fn sought(plan: &Plan) -> Option<Sought> {
    plan.measure.until.as_ref()?.cheapest_with()?;
    Some(Sought { confidence: plan.measure.confidence, trim: plan.measure.trim })
}

/// The budget that ended a run.
pub(crate) fn spent(stopped: &Stopped) -> Option<Resource> {
    match stopped {
        Stopped::RoundsDone { .. } => Some(Resource::Rounds),
        Stopped::TimeSpent => Some(Resource::Time),
        Stopped::WrittenSpent => Some(Resource::BytesWritten),
        Stopped::CostSpent => Some(Resource::Money),
        Stopped::Enough { .. }
        | Stopped::Requested { .. }
        | Stopped::Interrupted
        | Stopped::Failed { .. }
        | Stopped::Imported { .. }
        | Stopped::Queued { .. }
        | Stopped::Unfinished => None,
    }
}

/// The allowances that remain after a spent budget.
pub(crate) fn allowances(spent: Option<Resource>) -> Vec<Allowance> {
    spent.map(|resource| Allowance { resource, rounds_left: 0 }).into_iter().collect()
}

/// The number of rounds that a run began.
pub(crate) fn rounds_made(trials: &[TrialRecord]) -> u32 {
    trials.iter().map(|trial| trial.id.round + 1).max().unwrap_or(0)
}

/// A cell's trials without pilots, which only serve to choose the length of the others; failed trials stay.
pub(crate) fn without_pilots<'a>(plan: &Plan, trials: Vec<&'a TrialRecord>) -> Vec<&'a TrialRecord> {
    let windows = trials.iter().filter_map(|t| Some((t.id.round, window(t)?)));
    let pilots = record::pilot::left_out(&plan.measure, windows);
    trials.into_iter().filter(|t| t.id.round >= pilots || window(t).is_none()).collect()
}

/// The measured time of a trial, in seconds; `None` if it failed.
fn window(trial: &TrialRecord) -> Option<f64> {
    let measured = trial.outcome == record::trial::Outcome::Measured;
    trial.engine.as_ref().filter(|_| measured).map(|engine| engine.window.seconds())
}
