//! All cells of a run at once: one look at what is asked, and who still has to be measured.

use super::needed::{Pair, needed};
use super::rule::{Allowance, Asked, Decision, Lacking, Look, StopRule};
use crate::best::Rounds;

/// What is asked of the cells of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Question {
    /// Every cell's mean, to this relative half-width.
    Means(f64),
    /// The ratio of every two cells of a group, to this relative half-width.
    Ratios(f64),
    /// Every two cells of a group told apart, or shown to be within this margin of each other.
    Told(f64),
}

/// How it is asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Terms {
    /// Confidence of every answer.
    pub confidence: f64,
    /// Share of the rounds that is cut off at each end; `None`: all are kept.
    pub trim: Option<f64>,
}

/// One cell of a run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Contender<'a> {
    /// Cells of one group are compared with each other.
    pub group: usize,
    /// Cells of one family, of one or more groups, are answered for together: their pairs share the error of decisions, whether asked for or not.
    pub family: usize,
    /// Its figure in every round made so far.
    pub rounds: Rounds<'a>,
    /// Whether it can still be measured.
    pub alive: bool,
}

/// One thing that is asked: a cell's figure, or the ratio of two.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Matter {
    /// Index of the cell, or of the one above the line.
    pub a: usize,
    /// Index of the cell below the line.
    pub b: Option<usize>,
    /// What there is to see; `None` while there is nothing to look at.
    pub look: Option<Look>,
}

/// What a look at all cells showed.
#[derive(Debug, Clone, PartialEq)]
pub struct Survey {
    /// All that is asked, in the order of the cells.
    pub matters: Vec<Matter>,
    /// For each cell, whether it takes part in the next round.
    pub needed: Vec<bool>,
}

impl Matter {
    /// Whether the question is answered.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.look.is_some_and(|look| matches!(look.decision, Decision::Enough(_)))
    }

    /// About how many more rounds it will take; `None` when it is settled, or nobody can tell.
    #[must_use]
    pub fn more_rounds(&self) -> Option<u32> {
        match self.look?.decision {
            Decision::Enough(_) => None,
            Decision::More { rounds_estimate, .. } | Decision::Budget { rounds_estimate, .. } => {
                rounds_estimate
            }
        }
    }

    /// How wide the interval is that isn't settled yet: the relative half-width, or the difference that isn't excluded; infinite where nothing
    /// bounds it. `None` when it is settled.
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
    /// The rule that answers it, at `confidence` for each of `family` statements together (Bonferroni) where they are decisions; widths
    /// hold for each by itself. `None` unless it is a width or margin that can be asked for.
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

    /// Looks at all cells. A matter whose cells weren't both measured in the last round has been looked at before, so the end of a budget
    /// doesn't make its interval a plain one. Before the rule's first look every cell that can be measured is needed; afterwards those that aren't
    /// settled, and both sides of each comparison that isn't. `None` unless the question can be asked.
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

/// Pairs of so many cells.
fn pairs_of(cells: usize) -> usize {
    cells * cells.saturating_sub(1) / 2
}

/// All pairs of one group, in order.
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

    /// Two told apart among many need more than two alone.
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

    /// Two groups are answered for together: two pairs are asked for, six are told of.
    #[test]
    fn decisions_share_the_error_of_all_that_is_told_with_them() {
        let (quiet, half) = (rounds(&QUIET), rounds(&QUIET.map(|x| x / 1.02)));
        let cells: [(usize, &[_], bool); 4] =
            [(0, &quiet, true), (0, &half, true), (1, &quiet, true), (1, &half, true)];
        let seen = survey(Question::Told(0.05), &cells, false);
        let sure: Vec<f64> = seen.matters.iter().map(|m| m.look.unwrap().interval.confidence).collect();
        assert!(sure.len() == 2 && sure.iter().all(|c| (c - (1.0 - 0.05 / 6.0)).abs() < 1e-12), "{sure:?}");
    }

    /// One wild round of twelve: what is looked at is the trimmed mean, and both are of the same samples.
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

    /// A cell that dropped out at the first look was looked at; when the others' budget ends, its interval stays what it was.
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
