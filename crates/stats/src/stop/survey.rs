//! A look at all cells of a run: which goals are reached, and which cells still have to be measured.

use super::needed::{Pair, needed};
use super::rule::{Allowance, Asked, Decision, Lacking, Look, StopRule};
use crate::best::Rounds;

/// The goal for the cells of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Question {
    /// Every cell's mean has at most this relative half-width.
    Means(f64),
    /// The ratio of every two cells of a group has at most this relative half-width.
    Ratios(f64),
    /// Every two cells of a group are shown to differ, or to be within this margin of each other.
    Told(f64),
}

/// The conditions of a goal.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Confidence of every result.
    pub confidence: f64,
    /// Share of the rounds that is cut off at each end; `None`: all are used.
    pub trim: Option<f64>,
}

/// One cell of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contender<'a> {
    /// Group of the cell: the cells of one group are compared with each other.
    pub group: usize,
    /// Family of the cell: one or more groups with one common answer. All pairs of a family share the error of decisions,
    /// including pairs without a goal.
    pub family: usize,
    /// The cell's figure in every round so far.
    pub rounds: Rounds<'a>,
    /// Whether it can still be measured.
    pub alive: bool,
}

/// One subject of a goal: a cell's figure, or the ratio of two cells.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matter {
    /// Index of the cell, or of the cell in the numerator.
    pub a: usize,
    /// Index of the cell in the denominator.
    pub b: Option<usize>,
    /// Result of the look; `None` while there is no data.
    pub look: Option<Look>,
}

/// The result of a look at all cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// All subjects of the goal, in the order of the cells.
    pub matters: Vec<Matter>,
    /// For each cell, whether it takes part in the next round.
    pub needed: Vec<bool>,
}

impl Matter {
    /// Whether it has reached its goal.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.look.is_some_and(|look| matches!(look.decision, Decision::Enough(_)))
    }

    /// Returns about how many more rounds are needed; `None` when the goal is reached, or when no estimate is possible.
    #[must_use]
    pub fn more_rounds(&self) -> Option<u32> {
        match self.look?.decision {
            Decision::Enough(_) => None,
            Decision::More { rounds_estimate, .. } | Decision::Budget { rounds_estimate, .. } => {
                rounds_estimate
            }
        }
    }

    /// Returns the width of an interval that hasn't reached its goal: the relative half-width, or the smallest excluded
    /// difference; infinite if there is no bound. `None` when the goal is reached.
    #[must_use]
    pub fn width(&self) -> Option<f64> {
        let Some(look) = self.look else { return Some(f64::INFINITY) };
        let (Decision::More { lacking, .. } | Decision::Budget { lacking, .. }) = look.decision else {
            return None;
        };
        Some(match lacking {
            Lacking::Width { reached, .. } => reached,
            Lacking::Undecided { excluded, .. } => excluded,
            Lacking::Rounds { .. } if self.b.is_some() => look.interval.high / look.interval.value - 1.0,
            Lacking::Rounds { .. } => look.interval.relative_half_width(),
        })
    }
}

impl Question {
    /// Returns the rule for this goal. For decisions, `confidence` holds for all statements of a `family` together (Bonferroni);
    /// for widths, it holds for each by itself. `None` if the width or margin is not valid.
    #[must_use]
    pub fn rule(self, confidence: f64, family: usize) -> Option<StopRule> {
        match self {
            Self::Means(x) | Self::Ratios(x) => StopRule::new(Asked::HalfWidth(x), confidence),
            Self::Told(margin) => {
                let each = 1.0 - (1.0 - confidence) / crate::estimate::count(family.max(1));
                StopRule::new(Asked::Told { margin }, each)
            }
        }
    }

    /// Looks at all cells. If the cells of a subject weren't both measured in the last round, there was a look at it before, so
    /// the end of a budget doesn't make its interval a plain one. Before the rule's first look, every cell that can be measured
    /// is needed. Later, the cells that haven't reached their goal are needed, and both cells of each open comparison. `None`
    /// unless the goal is valid.
    #[must_use]
    pub fn survey(self, terms: Terms, cells: &[Contender<'_>], allowances: &[Allowance]) -> Option<Survey> {
        let rule = |family: usize| Some(self.rule(terms.confidence, family)?.trimmed(terms.trim));
        let alone = rule(1)?;
        let matters = match self {
            Self::Means(_) => (0..cells.len()).map(|a| mean_of(alone, cells, a, allowances)).collect(),
            Self::Ratios(_) | Self::Told(_) => {
                let family =
                    |a: usize| pairs_of(cells.iter().filter(|c| c.family == cells[a].family).count());
                let ratio =
                    |&(a, b): &(usize, usize)| Some(ratio_of(rule(family(a))?, cells, (a, b), allowances));
                pairs(cells).iter().map(ratio).collect::<Option<Vec<_>>>()?
            }
        };
        let needed = go_on(cells, &matters);
        Some(Survey { matters, needed })
    }
}

/// Returns the number of pairs of this many cells.
fn pairs_of(cells: usize) -> usize {
    cells * cells.saturating_sub(1) / 2
}

/// Returns all pairs within groups, in order.
fn pairs(cells: &[Contender<'_>]) -> Vec<(usize, usize)> {
    let with = |a: usize| {
        (a + 1..cells.len()).filter(move |&b| cells[a].group == cells[b].group).map(move |b| (a, b))
    };
    (0..cells.len()).flat_map(with).collect()
}

fn mean_of(rule: StopRule, cells: &[Contender<'_>], a: usize, allowances: &[Allowance]) -> Matter {
    let figures: Vec<f64> = cells[a].rounds.iter().copied().flatten().collect();
    let fresh = matches!(cells[a].rounds.last(), Some(Some(_)));
    Matter { a, b: None, look: rule.look(&figures, if fresh { allowances } else { &[] }) }
}

fn ratio_of(
    rule: StopRule,
    cells: &[Contender<'_>],
    (a, b): (usize, usize),
    allowances: &[Allowance],
) -> Matter {
    let both: Vec<Option<(f64, f64)>> =
        cells[a].rounds.iter().zip(cells[b].rounds).map(|(x, y)| Some(((*x)?, (*y)?))).collect();
    let common: Vec<(f64, f64)> = both.iter().copied().flatten().collect();
    let fresh = matches!(both.last(), Some(Some(_)));
    Matter { a, b: Some(b), look: rule.look_at_ratio(&common, if fresh { allowances } else { &[] }) }
}

fn go_on(cells: &[Contender<'_>], matters: &[Matter]) -> Vec<bool> {
    let made = cells.iter().map(|c| c.rounds.len()).max().unwrap_or(0);
    if made < StopRule::MIN_ROUNDS as usize {
        return cells.iter().map(|c| c.alive).collect();
    }
    let mut settled = vec![true; cells.len()];
    let mut open = Vec::new();
    for matter in matters {
        match matter.b {
            None => settled[matter.a] = matter.is_settled(),
            Some(b) if cells[matter.a].alive && cells[b].alive => {
                open.push(Pair { a: matter.a, b, settled: matter.is_settled() });
            }
            Some(_) => {}
        }
    }
    needed(&settled, &open).into_iter().zip(cells).map(|(n, c)| n && c.alive).collect()
}

#[cfg(test)]
mod tests {
    use super::{Contender, Question, Survey, Terms};
    use crate::{Allowance, Resource, mean_t};

    const QUIET: [f64; 6] = [100.0, 101.0, 99.0, 100.5, 99.5, 100.0];
    const NOISY: [f64; 6] = [80.0, 120.0, 95.0, 105.0, 110.0, 90.0];
    const TERMS: Terms = Terms { confidence: 0.95, trim: None };

    fn rounds(figures: &[f64]) -> Vec<Option<f64>> {
        figures.iter().copied().map(Some).collect()
    }

    fn survey(question: Question, cells: &[(usize, &[Option<f64>], bool)], over: bool) -> Survey {
        let cells: Vec<Contender<'_>> = cells
            .iter()
            .map(|&(group, rounds, alive)| Contender { group, family: group / 2, rounds, alive })
            .collect();
        let spent = [Allowance { resource: Resource::Time, rounds_left: 0 }];
        question.survey(TERMS, &cells, if over { &spent } else { &[] }).unwrap()
    }

    #[test]
    fn a_narrow_cell_drops_out_and_one_that_cannot_be_measured_is_not_waited_for() {
        let (quiet, noisy) = (rounds(&QUIET), rounds(&NOISY));
        let cells: [(usize, &[_], bool); 3] = [(0, &quiet, true), (0, &noisy, true), (0, &[None; 6], false)];
        let seen = survey(Question::Means(0.05), &cells, false);
        assert_eq!(seen.needed, [false, true, false]);
        assert_eq!(
            seen.matters.iter().map(super::Matter::is_settled).collect::<Vec<_>>(),
            [true, false, false]
        );
        assert!(seen.matters[1].more_rounds() > Some(0) && seen.matters[1].width() > Some(0.05));
        assert_eq!((seen.matters[2].look, seen.matters[2].width()), (None, Some(f64::INFINITY)));
    }

    #[test]
    fn before_the_first_look_everybody_goes_on() {
        let quiet = rounds(&QUIET[..5]);
        assert_eq!(survey(Question::Means(0.05), &[(0, &quiet, true)], false).needed, [true]);
        assert_eq!(survey(Question::Ratios(0.05), &[(0, &quiet, true)], false).needed, [true]);
        assert_eq!(survey(Question::Means(0.05), &[], false).needed, [false; 0]);
    }

    #[test]
    fn pairs_are_asked_within_groups_and_a_settled_side_of_an_open_pair_goes_on() {
        let (quiet, noisy) = (rounds(&QUIET), rounds(&NOISY));
        let cells: [(usize, &[_], bool); 4] =
            [(0, &quiet, true), (0, &quiet, true), (0, &noisy, true), (1, &noisy, true)];
        let seen = survey(Question::Ratios(0.05), &cells, false);
        let pairs: Vec<_> = seen.matters.iter().map(|m| (m.a, m.b, m.is_settled())).collect();
        assert_eq!(pairs, [(0, Some(1), true), (0, Some(2), false), (1, Some(2), false)]);
        assert_eq!(seen.needed, [true, true, true, false], "nothing is asked of the last");
    }

    #[test]
    fn a_pair_rests_on_common_rounds() {
        let quiet = rounds(&QUIET);
        let mut gaps = quiet.clone();
        gaps[2] = None;
        let seen = survey(Question::Ratios(0.05), &[(0, &quiet, true), (0, &gaps, true)], false);
        assert_eq!(seen.matters[0].look.unwrap().interval.n, 5);
        assert_eq!(seen.needed, [true, true]);
    }

    /// To show a difference among many cells takes more than for two alone.
    #[test]
    fn decisions_share_the_error_of_their_group() {
        let half: Vec<Option<f64>> = QUIET.iter().map(|x| Some(x / 1.02)).collect();
        let quiet = rounds(&QUIET);
        let reach = |n: usize| {
            let mut cells: Vec<(usize, &[_], bool)> = vec![(0, &quiet, true), (0, &half, true)];
            cells.extend((2..n).map(|_| (0_usize, &quiet[..], true)));
            survey(Question::Told(0.05), &cells, false).matters[0].look.unwrap().interval.confidence
        };
        assert!((reach(2) - 0.95).abs() < 1e-12 && (reach(4) - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
    }

    /// Two groups have one common answer: two pairs have a goal, and six are reported.
    #[test]
    fn decisions_share_the_error_of_all_that_is_told_with_them() {
        let (quiet, half) = (rounds(&QUIET), rounds(&QUIET.map(|x| x / 1.02)));
        let cells: [(usize, &[_], bool); 4] =
            [(0, &quiet, true), (0, &half, true), (1, &quiet, true), (1, &half, true)];
        let seen = survey(Question::Told(0.05), &cells, false);
        let sure: Vec<f64> = seen.matters.iter().map(|m| m.look.unwrap().interval.confidence).collect();
        assert!(sure.len() == 2 && sure.iter().all(|c| (c - (1.0 - 0.05 / 6.0)).abs() < 1e-12), "{sure:?}");
    }

    /// One outlier of twelve rounds: the rule looks at the trimmed mean, and both use the same samples.
    #[test]
    fn where_outliers_are_cut_the_trimmed_mean_is_looked_at() {
        let mut wild = [QUIET, QUIET].concat();
        wild[7] = 900.0;
        let wild = rounds(&wild);
        let cell = Contender { group: 0, family: 0, rounds: &wild, alive: true };
        let settled = |trim| {
            let seen = Question::Means(0.05).survey(Terms { trim, ..TERMS }, &[cell], &[]).unwrap();
            seen.matters[0].is_settled()
        };
        assert_eq!((settled(None), settled(Some(0.1))), (false, true));
    }

    /// There was a look at a cell before it dropped out. When the others' budget ends, its interval stays the same.
    #[test]
    fn the_end_of_a_budget_narrows_no_interval_that_was_looked_at() {
        let mut gone = rounds(&QUIET);
        let (last, plain) = (rounds(&QUIET), mean_t(&QUIET, 0.95).unwrap());
        let ended = survey(Question::Means(0.05), &[(0, &last, true)], true);
        assert_eq!(ended.matters[0].look.unwrap().interval, plain);
        gone.push(None);
        let ended = survey(Question::Means(0.05), &[(0, &gone, true)], true);
        assert!(ended.matters[0].look.unwrap().interval.half_width() > plain.half_width());
    }

    #[test]
    fn a_width_that_cannot_be_asked_for_is_no_question() {
        assert_eq!(Question::Means(0.0).survey(TERMS, &[], &[]), None);
        assert_eq!(Question::Told(0.05).survey(Terms { confidence: 1.0, ..TERMS }, &[], &[]), None);
    }
}
