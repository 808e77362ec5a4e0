//! Compares figures of two cells: ratios with intervals, corrected for a whole family of comparisons.

use crate::bins;
use crate::figures::{counted, percent};
use crate::span::number;
use crate::too_few;
use record::judged::{CellView, Metric, RatioView, Relation};
use record::metric::{Resolution, info};
use record::plan::{Goal, Measure};
use record::quantity::ratios;
use stats::{
    Estimate, RatioEstimate, answers_ratio, holm, paired_ratio, paired_ratio_trimmed, unpaired_ratio,
    unpaired_ratio_trimmed,
};

/// The share of the error for comparisons in a run under a stop rule, since its end depends on the data. The stop rule itself uses 0.6
/// with a factor for autocorrelation; without that factor, 0.5 is needed (docs/statistics.md).
const SHARE_UNDER_LOOKS: f64 = 0.5;

/// The number of rounds from which on a stop rule decides.
const FIRST_LOOK: u32 = stats::StopRule::MIN_ROUNDS;

/// The number of trials from which on this goal decides.
fn first_look(goal: Goal) -> u32 {
    if goal == Goal::Cheapest { stats::Sought::LEAST_TRIALS } else { FIRST_LOOK }
}

/// The confidence of comparisons.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Level {
    /// The requested confidence, which reports show.
    pub(crate) confidence: f64,
    /// The confidence with which each interval is computed: higher under a stop rule.
    pub(crate) each: f64,
    /// The share of the rounds that is trimmed at each end.
    pub(crate) trim: Option<f64>,
}

impl Level {
    /// The level for comparisons within one run or between several; each run with the largest number of trials of a cell.
    pub(crate) fn of<'a>(runs: impl IntoIterator<Item = (&'a Measure, u32)>) -> Self {
        let mut level = Self { confidence: 0.0, each: 0.0, trim: None };
        let mut looked = false;
        for (measure, trials) in runs {
            level.confidence = level.confidence.max(measure.confidence);
            level.trim = level.trim.or(measure.trim);
            looked |= measure.until.as_ref().is_some_and(|until| trials >= first_look(until.goal));
        }
        let share = if looked { SHARE_UNDER_LOOKS } else { 1.0 };
        level.each = 1.0 - share * (1.0 - level.confidence);
        level
    }

    /// The error rate of one family of comparisons.
    pub(crate) fn error(&self) -> f64 {
        1.0 - self.each
    }
}

/// The largest number of trials of a cell.
pub(crate) fn most_trials<'a>(cells: impl IntoIterator<Item = &'a CellView>) -> u32 {
    cells.into_iter().map(|c| c.trials.done).max().unwrap_or(0)
}

/// One metric of one cell, by round from 0; an element is `None` if the round has no value. Trials of a round on another machine than most
/// of it come after the rounds, so that they are paired among themselves. `None` as a whole if the cell has no such metric, or if the
/// rounds of its values aren't known.
pub(crate) fn by_round(cell: &CellView, metric: &str) -> Option<Vec<Option<f64>>> {
    let values = &cell.metrics.get(metric)?.values;
    if values.len() != cell.rounds.len() {
        return None;
    }
    let length = cell.paired_by().iter().max().map_or(0, |last| *last as usize + 1);
    let mut rounds = vec![None; length];
    for (round, value) in cell.paired_by().iter().zip(values) {
        if let Some(place) = rounds.get_mut(*round as usize) {
            *place = Some(*value);
        }
    }
    Some(rounds)
}

/// The resolution of a rate, as a logarithm: one I/O in the shortest trial.
fn one_io(cell: &CellView, seconds: f64) -> f64 {
    let ios = cell.metrics.get("iops").and_then(|m| m.values.iter().copied().reduce(f64::min));
    ios.map(|rate| rate * seconds).filter(|ios| *ios >= 1.0).map_or(0.0, |ios| (1.0 / ios).ln_1p())
}

/// Two sets of figures for comparison.
#[derive(Debug, Clone)]
pub(crate) struct Rivals {
    /// Pairs (a, b) of the same rounds, or each side by itself.
    pub(crate) figures: Figures,
    /// The difference that the figures can't resolve, as a logarithm.
    pub(crate) resolution: f64,
    /// Rounds that all cells have, and that are no pairs since the cells ran on different machines.
    pub(crate) mixed: u32,
}

/// The figures of two cells.
#[derive(Debug, Clone)]
pub(crate) enum Figures {
    /// Pairs of the same rounds of the same run.
    Paired(Vec<(f64, f64)>),
    /// Figures of different runs.
    Apart(Vec<f64>, Vec<f64>),
    /// Answers of searches: their trials have different levels, so they can't be paired.
    Found(Estimate, Estimate),
}

impl Rivals {
    /// Pairs two cells of one run, round by round. `seconds`: the measured time of its trials. Leaves out rounds without one of the cells.
    pub(crate) fn paired(a: &CellView, b: &CellView, metric: &str, seconds: f64) -> Self {
        if let Some(found) = Self::found(a, b, metric) {
            return found;
        }
        let rounds = |cell| by_round(cell, metric).unwrap_or_default();
        let pairs: Vec<_> =
            rounds(a).into_iter().zip(rounds(b)).filter_map(|(a, b)| Some((a?, b?))).collect();
        let mixed = mixed(&[a, b], metric, pairs.len());
        let resolution = resolution(a, b, metric, (seconds, seconds));
        Self { figures: Figures::Paired(pairs), resolution, mixed }
    }

    /// Takes two cells of different runs. `seconds`: the measured times of their trials.
    pub(crate) fn apart(a: &CellView, b: &CellView, metric: &str, seconds: (f64, f64)) -> Self {
        if let Some(found) = Self::found(a, b, metric) {
            return found;
        }
        let values = |c: &CellView| c.metrics.get(metric).map(|m| m.values.clone()).unwrap_or_default();
        let resolution = resolution(a, b, metric, seconds);
        Self { figures: Figures::Apart(values(a), values(b)), resolution, mixed: 0 }
    }

    /// Takes the answers of two searches; `None` if the cells are none.
    fn found(a: &CellView, b: &CellView, metric: &str) -> Option<Self> {
        let answer = |cell: &CellView| {
            let metric = cell.metrics.get(metric).filter(|metric| metric.values.is_empty())?;
            let Metric { estimate: value, low, high, confidence, n, .. } = metric;
            Some(Estimate {
                value: *value,
                low: (*low)?,
                high: (*high)?,
                confidence: *confidence,
                n: *n as usize,
            })
        };
        Some(Self { figures: Figures::Found(answer(a)?, answer(b)?), resolution: 0.0, mixed: 0 })
    }

    /// Pairs the geometric means of two groups of cells, round by round. Leaves out rounds without one of the cells.
    pub(crate) fn groups(a: &[&CellView], b: &[&CellView], metric: &str, seconds: f64) -> Self {
        let (a_rounds, b_rounds) = (means_by_round(a, metric), means_by_round(b, metric));
        let pairs: Vec<_> = a_rounds.into_iter().zip(b_rounds).filter_map(|(a, b)| Some((a?, b?))).collect();
        let all: Vec<&CellView> = a.iter().chain(b).copied().collect();
        let mixed = mixed(&all, metric, pairs.len());
        let resolutions =
            a.iter().flat_map(|a| b.iter().map(|b| resolution(a, b, metric, (seconds, seconds))));
        Self { figures: Figures::Paired(pairs), resolution: resolutions.fold(0.0, f64::max), mixed }
    }

    fn ratio(&self, level: &Level) -> Option<RatioEstimate> {
        match (&self.figures, level.trim) {
            (Figures::Paired(pairs), Some(share)) => paired_ratio_trimmed(pairs, share, level.each),
            (Figures::Paired(pairs), None) => paired_ratio(pairs, level.each),
            (Figures::Apart(a, b), Some(share)) => unpaired_ratio_trimmed(a, b, share, level.each),
            (Figures::Apart(a, b), None) => unpaired_ratio(a, b, level.each),
            (Figures::Found(a, b), _) => answers_ratio(a, b, level.each),
        }
    }
}

/// The number of rounds that all cells have, less those that make pairs.
fn mixed(cells: &[&CellView], metric: &str, pairs: usize) -> u32 {
    if cells.iter().all(|cell| cell.paired_rounds.is_empty()) {
        return 0;
    }
    let Some(first) = cells.first() else { return 0 };
    let has = |cell: &CellView, round: &u32| cell.rounds.contains(round) && by_round(cell, metric).is_some();
    let common = first.rounds.iter().filter(|round| cells.iter().all(|cell| has(cell, round)));
    number(common.count().saturating_sub(pairs))
}

/// The geometric means over the cells, by round from 0; `None` if one of them has no figure.
fn means_by_round(cells: &[&CellView], metric: &str) -> Vec<Option<f64>> {
    let rounds: Vec<Vec<Option<f64>>> =
        cells.iter().map(|cell| by_round(cell, metric).unwrap_or_default()).collect();
    let last = rounds.iter().map(Vec::len).min().unwrap_or(0);
    let mean = |round: usize| {
        let logs: Option<Vec<f64>> = rounds.iter().map(|cell| Some((*cell.get(round)?)?.ln())).collect();
        let logs = logs?;
        Some((logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    (0..last).map(mean).collect()
}

fn resolution(a: &CellView, b: &CellView, metric: &str, seconds: (f64, f64)) -> f64 {
    let side = |cell: &CellView| cell.metrics.get(metric).map(|m| m.values.clone()).filter(|v| !v.is_empty());
    match info(metric).map(|m| m.resolution) {
        Some(Resolution::LatencyBin) => match (side(a), side(b)) {
            (Some(a), Some(b)) => bins::resolution(&a, &b),
            _ => 0.0,
        },
        Some(Resolution::OneIo) => one_io(a, seconds.0).max(one_io(b, seconds.1)),
        Some(Resolution::Exact) | None => 0.0,
    }
}

/// The result of a comparison, as a member of its family.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FamilyMember {
    /// The ratio; `None`: there is nothing to compare.
    pub(crate) estimate: Option<RatioEstimate>,
    /// As in [`Rivals`].
    pub(crate) resolution: f64,
    /// Which one is better, corrected for the whole family.
    pub(crate) relation: Relation,
    confidence: f64,
    /// Rounds that were left out, since the cells ran on different machines.
    mixed: u32,
}

/// Compares all members of a family, with Holm's adjustment over those that have figures.
pub(crate) fn family(all: &[Rivals], level: &Level) -> Vec<FamilyMember> {
    let estimates: Vec<Option<RatioEstimate>> = all.iter().map(|r| r.ratio(level)).collect();
    let p_values: Vec<f64> =
        estimates.iter().zip(all).filter_map(|(e, r)| Some(e.as_ref()?.p_beyond(r.resolution))).collect();
    let mut adjusted = holm(&p_values).into_iter();
    let tell = |(estimate, rivals): (Option<RatioEstimate>, &Rivals)| {
        let apart = |p: f64| if p <= level.error() { Relation::Apart } else { Relation::NotApart };
        let p = estimate.and_then(|_| adjusted.next());
        let relation = p.map_or(Relation::Nothing, apart);
        let Rivals { resolution, mixed, .. } = *rivals;
        FamilyMember { estimate, resolution, relation, confidence: level.confidence, mixed }
    };
    estimates.into_iter().zip(all).map(tell).collect()
}

impl FamilyMember {
    /// The same for `b` over `a`.
    pub(crate) fn turned(self) -> Self {
        Self { estimate: self.estimate.map(RatioEstimate::turned), ..self }
    }

    /// The ratio with its interval, which includes the figures' resolution.
    pub(crate) fn view(&self) -> Option<RatioView> {
        let e = self.estimate.filter(|e| e.ratio.is_finite())?;
        let bounded = e.is_bounded();
        Some(RatioView {
            ratio: e.ratio,
            low: bounded.then(|| e.low * (-self.resolution).exp()),
            high: bounded.then(|| e.high * self.resolution.exp()),
            confidence: self.confidence,
            n: u32::try_from(e.n).unwrap_or(u32::MAX),
        })
    }

    /// The difference above which the data exclude one.
    pub(crate) fn excluded(&self) -> Option<f64> {
        let view = self.view()?;
        let reach = |end: f64| end.max(1.0 / end) - 1.0;
        Some(reach(view.low?).max(reach(view.high?))).filter(|x| x.is_finite())
    }

    /// The result in words.
    pub(crate) fn text(&self, a: &str, b: &str, at: &str) -> String {
        let left_out = match self.mixed {
            0 => String::new(),
            n => format!(
                " ({} left out, in which the two ran on different machines)",
                counted(u64::from(n), "round")
            ),
        };
        self.said(a, b, at) + &left_out
    }

    fn said(&self, a: &str, b: &str, at: &str) -> String {
        let Some(view) = self.view() else {
            return format!("{a} and {b} have nothing that could be compared");
        };
        match (self.relation, self.excluded()) {
            (Relation::Apart, _) => format!("{a} is {}", times(&view, b)),
            (_, Some(excluded)) => {
                let too_few = too_few::of_ratio(&view).map(|text| format!("; {text}")).unwrap_or_default();
                format!("{a} and {b} can't be told apart{at}; {}{too_few}", exclusion(excluded))
            }
            _ => {
                format!("{a} and {b} can't be told apart by one round, which sets no bound on the difference")
            }
        }
    }
}

/// A ratio in words: `1.42x B (1.31 to 1.54)`.
pub(crate) fn times(view: &RatioView, b: &str) -> String {
    match (view.low, view.high) {
        (Some(low), Some(high)) => {
            let [ratio, low, high] = ratios([view.ratio, low, high]);
            let too_few = too_few::of_ratio(view).map(|text| format!("; {text}")).unwrap_or_default();
            format!("{ratio}x {b} ({low} to {high}{too_few})")
        }
        _ => format!("{}x {b}", ratios([view.ratio]).concat()),
    }
}

/// The largest factor in a text about an excluded difference.
const WIDEST: f64 = 100.0;

/// An excluded difference in words: `a difference above 3 % is excluded`, `a factor above 4.2 is excluded`.
pub(crate) fn exclusion(excluded: f64) -> String {
    if excluded > WIDEST {
        format!("even a factor of {WIDEST} is possible")
    } else if excluded > 1.0 {
        format!("a factor above {:.1} is excluded", 1.0 + excluded)
    } else {
        format!("a difference above {} is excluded", percent(rounded_up(excluded)))
    }
}

/// Rounds up to two digits.
pub(crate) fn rounded_up(x: f64) -> f64 {
    let unit = 10.0_f64.powf(x.max(1e-6).log10().floor() - 1.0);
    (x / unit - 1e-9).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::{FamilyMember, Figures, Level, Rivals, family};
    use record::judged::Relation;

    const LEVEL: Level = Level { confidence: 0.95, each: 0.95, trim: None };

    fn paired(pairs: &[(f64, f64)]) -> Rivals {
        Rivals { figures: Figures::Paired(pairs.to_vec()), resolution: 0.0, mixed: 0 }
    }

    fn one(rivals: Rivals) -> FamilyMember {
        family(&[rivals], &LEVEL).remove(0)
    }

    #[test]
    fn said_as_it_is() {
        let far = one(paired(&[(142.0, 100.0), (150.0, 105.0), (137.0, 98.0), (143.0, 100.0)]));
        assert_eq!(far.relation, Relation::Apart);
        assert_eq!(far.text("A", "B", ""), "A is 1.42x B (1.40 to 1.44)");
        let near = one(paired(&[(101.0, 100.0), (99.0, 100.0), (100.5, 100.0), (99.6, 100.0)]));
        let text = near.text("A", "B", " at this budget");
        assert_eq!(text, "A and B can't be told apart at this budget; a difference above 1.5 % is excluded");
        let once = one(paired(&[(200.0, 100.0)]));
        assert_eq!((once.relation, once.excluded()), (Relation::NotApart, None));
        assert!(once.text("A", "B", "").contains("by one round, which sets no bound on the difference"));
        let never = one(paired(&[]));
        assert_eq!((never.relation, never.view()), (Relation::Nothing, None));
        let zero = one(paired(&[(0.0, 1.0), (1.0, 1.0)]));
        assert_eq!(zero.relation, Relation::Nothing, "a ratio needs positive figures");
    }

    #[test]
    fn a_wide_interval_excludes_a_factor_and_not_hundreds_of_percent() {
        let wild = one(paired(&[(100.0, 100.0), (250.0, 100.0), (50.0, 100.0)]));
        assert!(wild.text("A", "B", "").contains("a factor above"), "{}", wild.text("A", "B", ""));
        let wilder = one(paired(&[(100.0, 100.0), (900.0, 100.0)]));
        let text = wilder.text("A", "B", "");
        let (told, rounds) = text.split_once("; too few rounds; about ").unwrap();
        assert!(told.ends_with("; even a factor of 100 is possible"), "{text}");
        assert!(rounds.ends_with(" more rounds to ±10 %"), "{text}");
    }

    #[test]
    fn what_the_figures_cant_resolve_is_no_difference() {
        let steady =
            |resolution| Rivals { figures: Figures::Paired(vec![(1001.0, 1000.0); 5]), resolution, mixed: 0 };
        assert_eq!(one(steady(0.0)).relation, Relation::Apart);
        let told = one(steady(0.002));
        assert_eq!(told.relation, Relation::NotApart);
        assert!(told.excluded().is_some_and(|x| x > 0.002 && x < 0.004));
    }

    #[test]
    fn a_family_asks_for_more_and_a_stop_rule_too() {
        let seen = paired(&[(1.02, 1.0), (1.035, 1.0), (1.012, 1.0), (1.04, 1.0), (1.03, 1.0)]);
        let noise = paired(&[(1.01, 1.0), (0.99, 1.0), (1.0, 1.0), (1.02, 1.0), (0.98, 1.0)]);
        assert_eq!(one(seen.clone()).relation, Relation::Apart);
        let mut all = vec![seen.clone()];
        all.extend(std::iter::repeat_n(noise, 20));
        let told = family(&all, &LEVEL);
        assert!(told.iter().all(|t| t.relation == Relation::NotApart));
        let looked = Level { each: 0.975, ..LEVEL };
        let wider = family(std::slice::from_ref(&seen), &looked).remove(0).view().unwrap();
        let plain = one(seen).view().unwrap();
        assert!(wider.low < plain.low && wider.confidence == 0.95);
    }

    #[test]
    fn runs_are_compared_unpaired_and_outliers_cut_where_asked() {
        let apart = Rivals {
            figures: Figures::Apart(vec![110.0, 111.0, 109.0], vec![100.0, 101.0, 99.0, 100.0]),
            resolution: 0.0,
            mixed: 0,
        };
        assert_eq!(one(apart).relation, Relation::Apart);
        let mut pairs = vec![(1.0, 1.0); 11];
        for (i, pair) in pairs.iter_mut().enumerate() {
            pair.0 += 0.001 * i as f64;
        }
        pairs[0].0 = 40.0;
        let trimmed = family(&[paired(&pairs)], &Level { trim: Some(0.1), ..LEVEL }).remove(0);
        assert!(trimmed.excluded().is_some_and(|x| x < 0.02), "{trimmed:?}");
        assert!(one(paired(&pairs)).excluded().is_some_and(|x| x > 1.0));
    }
}
