//! The state of a run: the trials so far, and what comes next. Pure: the caller passes the time in.

mod chosen;
mod course;
mod estimate;
mod hunt;
mod length;
mod lost;
mod search;
mod seen;
mod spent;
mod told;
mod wished;

use chosen::Lengths;
use record::event::{Event, Stopped, Widest};
use record::find::Tried;
use record::id::TrialId;
use record::plan::{Cell, Goal, Plan};
use record::trial::{Outcome, TrialRecord};
use seen::Seen;
use stats::{Allowance, Contender, Hunt, Matter, Question, Resource, Survey, Terms};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A cell that fails this often is left out for the rest of the session.
const MAX_FAILURES: u32 = 2;

/// Summaries of the trials of earlier sessions.
#[derive(Debug, Clone, Default)]
pub struct Earlier {
    trials: BTreeMap<TrialId, Seen>,
    /// Trials that were cut off. They are made again, but have used up time and written bytes.
    cut_off: Vec<(TrialId, Seen)>,
    /// Rounds that others make.
    rounds: u32,
}

impl Earlier {
    /// No trials, and a run that begins with this round, from 0: the rounds before it are others' task.
    #[must_use]
    pub fn before_round(round: u32) -> Self {
        Self { rounds: round, ..Self::default() }
    }

    /// Adds a trial; the caller may drop the record's samples and output. Ignores trials of cells that aren't in the plan.
    pub fn add(&mut self, plan: &Plan, record: &TrialRecord) {
        if let Some(cell) = plan.cells.iter().find(|cell| cell.id == record.id.cell) {
            let seen = Seen::of(plan, cell, record);
            if record.cut_off {
                self.cut_off.push((record.id.clone(), seen));
            } else {
                self.trials.insert(record.id.clone(), seen);
            }
        }
    }

    /// How long the trials took, in seconds. Those of machines that share nothing ran at the same time.
    #[must_use]
    pub fn seconds(&self, plan: &Plan) -> f64 {
        self.seconds_in(plan, &spec::lanes(plan, &spec::Kernels::default()))
    }

    fn seconds_in(&self, plan: &Plan, lanes: &spec::Lanes) -> f64 {
        let targets: BTreeMap<_, &str> =
            plan.cells.iter().map(|cell| (&cell.id, cell.target.as_str())).collect();
        let all = self.trials.iter().chain(self.cut_off.iter().map(|(id, seen)| (id, seen)));
        let work = all.filter_map(|(id, seen)| Some((*targets.get(&id.cell)?, seen.seconds)));
        lanes.span(work)
    }

    /// The number of trials, without those that were cut off.
    #[must_use]
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there are no trials but those that were cut off.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }
}

/// The reason why a resumed run would make no further trial; `None` when it would make one.
#[must_use]
pub fn ended(plan: &Plan, earlier: &Earlier) -> Option<Stopped> {
    let mut ledger = Ledger::new(plan, earlier, None);
    loop {
        match ledger.next(0.0, &|_| true) {
            Next::Tell(_) => {}
            Next::Trial { .. } | Next::Wait => return None,
            Next::Ended(stopped) => return Some(stopped),
        }
    }
}

/// What a run does next.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// Make this trial.
    Trial { cell: &'a Cell, round: u32, trial_seconds: f64, tried: Option<Tried> },
    /// Wait until a trial that is under way has ended: no machine is free, or the round is over only then.
    Wait,
    /// Report this event, then ask again.
    Tell(Event),
    /// Stop: the run is over.
    Ended(Stopped),
}

/// The trials of one cell.
#[derive(Debug, Default)]
struct History {
    trials: BTreeMap<u32, Seen>,
    /// Failures in this session only: the user may have removed the cause of earlier ones.
    failures: u32,
    /// The user skipped it: it gets no more trials.
    skipped: bool,
    /// A machine that it needs is lost: it gets no more trials in this session.
    lost: bool,
}

/// The state of a run.
#[derive(Debug)]
pub(crate) struct Ledger<'a> {
    plan: &'a Plan,
    question: Option<Question>,
    groups: Vec<usize>,
    families: Vec<usize>,
    cells: Vec<History>,
    lengths: Lengths,
    /// The machines that measure at the same time.
    lanes: spec::Lanes,
    /// Seconds that the trials of earlier sessions took.
    earlier_seconds: f64,
    /// Bytes that trials of earlier sessions wrote that were cut off and are made again.
    cut_off_bytes: f64,
    /// The number of rounds that earlier sessions began. The run can't be over before that round.
    begun: u32,
    round: u32,
    queue: VecDeque<usize>,
    /// The cells whose trial is under way.
    running: BTreeSet<usize>,
    news: VecDeque<Event>,
    ended: Option<Stopped>,
    /// Whether the run ends after this round, because the user asked for it.
    last_round: bool,
}

impl<'a> Ledger<'a> {
    /// `lanes`: which machines take turns; `None`: as the plan says.
    pub(crate) fn new(plan: &'a Plan, earlier: &Earlier, lanes: Option<&spec::Lanes>) -> Self {
        let lanes = lanes.cloned().unwrap_or_else(|| spec::lanes(plan, &spec::Kernels::default()));
        let mut cells: Vec<History> = plan.cells.iter().map(|_| History::default()).collect();
        for (id, seen) in &earlier.trials {
            if let Some(place) = plan.cells.iter().position(|cell| cell.id == id.cell) {
                cells[place].trials.insert(id.round, seen.clone());
            }
        }
        let begun = earlier.trials.keys().chain(earlier.cut_off.iter().map(|(id, _)| id));
        let mut ledger = Self {
            plan,
            question: plan.measure.until.as_ref().and_then(|until| question(until.goal)),
            groups: plan.groups(),
            families: plan.families(),
            cells,
            lengths: Lengths::default(),
            earlier_seconds: earlier.seconds_in(plan, &lanes),
            lanes,
            cut_off_bytes: earlier.cut_off.iter().map(|(_, seen)| seen.written_bytes()).sum(),
            begun: begun.map(|id| id.round + 1).max().unwrap_or(0),
            round: earlier.rounds,
            queue: VecDeque::new(),
            running: BTreeSet::new(),
            news: VecDeque::new(),
            ended: None,
            last_round: false,
        };
        for (place, cell) in plan.cells.iter().enumerate() {
            ledger.cells[place].skipped = plan.skipped.contains_key(&cell.id);
        }
        ledger.begin_round();
        ledger
    }

    /// The number of trials so far, in all sessions.
    pub(crate) fn trials(&self) -> u64 {
        self.cells.iter().map(|cell| cell.trials.len() as u64).sum()
    }

    /// The place of the trial that began last, in the order of all trials.
    pub(crate) fn index(&self) -> u64 {
        self.trials() + (self.running.len() as u64).saturating_sub(1)
    }

    /// What comes next, `seconds` after this session began. `is_free` tells whether the machines of a cell do nothing now: the next
    /// trial is that of the first cell in the round's order for which they are free, so each machine keeps to that order.
    pub(crate) fn next(&mut self, seconds: f64, is_free: &dyn Fn(&Cell) -> bool) -> Next<'a> {
        loop {
            if let Some(event) = self.news.pop_front() {
                return Next::Tell(event);
            }
            if let Some(stopped) = &self.ended {
                return if self.running.is_empty() { Next::Ended(stopped.clone()) } else { Next::Wait };
            }
            self.leave_out();
            let free = self.queue.iter().position(|&place| is_free(&self.plan.cells[place]));
            let Some(place) = free.and_then(|at| self.queue.remove(at)) else {
                if !self.queue.is_empty() || !self.running.is_empty() {
                    return Next::Wait;
                }
                self.end_round(seconds);
                continue;
            };
            self.ended = self.overspent(seconds);
            if self.ended.is_none() {
                self.running.insert(place);
                let trial_seconds = self.lengths.of(self.groups[place], self.plan.measure.trial_seconds);
                let tried = self.tries(place);
                return Next::Trial {
                    cell: &self.plan.cells[place],
                    round: self.round,
                    trial_seconds,
                    tried,
                };
            }
        }
    }

    /// Whether a trial is under way.
    pub(crate) fn is_running(&self) -> bool {
        !self.running.is_empty()
    }

    /// Takes the cells out of the round that have been measured in it, or can't be measured any more.
    fn leave_out(&mut self) {
        let mut queue = std::mem::take(&mut self.queue);
        queue.retain(|&place| !self.cells[place].trials.contains_key(&self.round) && self.is_alive(place));
        self.queue = queue;
    }

    /// Adds a finished trial.
    pub(crate) fn take(&mut self, record: &TrialRecord) {
        let Some(place) = self.plan.cells.iter().position(|cell| cell.id == record.id.cell) else { return };
        self.running.remove(&place);
        let cell = &self.plan.cells[place];
        let history = &mut self.cells[place];
        let measured_before = history.trials.values().filter(|seen| seen.measured).count();
        if record.trials_before == Some(0) && measured_before > 0 {
            self.news.push_back(Event::Warning {
                text: format!(
                    "stack {} was built anew before round {}, after {measured_before} measured on the one before: what that one \
                     held in its caches is gone",
                    cell.stack.name,
                    record.id.round + 1
                ),
            });
        }
        history.trials.insert(record.id.round, Seen::of(self.plan, cell, record));
        if let Outcome::Failed(reason) = &record.outcome {
            history.failures += 1;
            let consequence =
                if history.failures >= MAX_FAILURES { "; this cell is left out from now on" } else { "" };
            self.news.push_back(Event::Warning { text: format!("a trial failed: {reason}{consequence}") });
        } else if self.plan.measure.until.is_some()
            && cell.find().is_none()
            && history.trials.len() == 2
            && history.lacks_figure()
        {
            let lacking = history.lacking(self.plan, cell);
            let text = format!(
                "{} {} has no `{lacking}` in its trials, so it doesn't decide when it is enough",
                cell.stack.name, cell.workload.name
            );
            self.news.push_back(Event::Warning { text });
        }
    }

    /// Whether a cell can still be measured.
    fn is_alive(&self, place: usize) -> bool {
        let cell = &self.cells[place];
        !cell.skipped && !cell.lost && cell.failures < MAX_FAILURES
    }

    /// Whether a cell can still be measured and has the metric that decides when to stop. A search decides for itself.
    fn decides(&self, place: usize) -> bool {
        self.is_alive(place) && !self.is_search(place) && !self.cells[place].lacks_figure()
    }

    fn begin_round(&mut self) {
        if self.round >= self.plan.measure.rounds {
            self.ended = Some(Stopped::RoundsDone { rounds: self.plan.measure.rounds });
            return;
        }
        if self.round == record::pilot::ROUNDS {
            self.choose_lengths();
        }
        let needed = self.needed(self.round);
        self.queue = spec::order(self.plan, self.round).into_iter().filter(|&place| needed[place]).collect();
    }

    /// The cells that take part in a round, by the results of the `made` rounds before it.
    fn needed(&self, made: u32) -> Vec<bool> {
        if let Some(hunt) = self.hunt(made) {
            return self.hunting(&hunt);
        }
        self.taking_part(self.survey(made, &[]).as_ref())
    }

    /// The cells that the survey needs, and the searches that go on. A cell without the deciding metric takes part as long as any
    /// needed cell does, or if no cell has that metric. Without a survey, cells beside searches take part as long as a search goes on.
    fn taking_part(&self, survey: Option<&Survey>) -> Vec<bool> {
        let places = 0..self.cells.len();
        let goes_on = match survey {
            Some(survey) => survey.needed.contains(&true) || !places.clone().any(|place| self.decides(place)),
            None => self.searches_on().unwrap_or(true),
        };
        let takes_part = |place: usize| match survey {
            _ if self.is_search(place) => self.is_alive(place) && self.tries(place).is_some(),
            Some(survey) => survey.needed[place] || (goes_on && self.is_alive(place) && !self.decides(place)),
            None => goes_on && self.is_alive(place),
        };
        places.map(takes_part).collect()
    }

    /// The cells that may be the cheapest, and the searches that go on.
    fn hunting(&self, hunt: &Hunt) -> Vec<bool> {
        let goes_on = |place: usize| match self.is_search(place) {
            true => self.is_alive(place) && self.tries(place).is_some(),
            false => hunt.needed[place],
        };
        (0..self.cells.len()).map(goes_on).collect()
    }

    /// Evaluates the first `made` rounds; `None` when the experiment asks for no precision.
    fn survey(&self, made: u32, allowances: &[Allowance]) -> Option<Survey> {
        let figures: Vec<Vec<Option<f64>>> =
            self.cells.iter().map(|cell| cell.figures(self.plan, made)).collect();
        let contenders: Vec<Contender<'_>> = figures
            .iter()
            .enumerate()
            .map(|(place, rounds)| Contender {
                group: self.groups[place],
                family: self.families[place],
                rounds,
                alive: self.decides(place),
            })
            .collect();
        let terms = Terms { confidence: self.plan.measure.confidence, trim: self.plan.measure.trim };
        self.question?.survey(terms, &contenders, allowances)
    }

    fn end_round(&mut self, seconds: f64) {
        let made = self.round + 1;
        if made >= self.begun {
            let decided = self.decide(made, seconds);
            self.ended = self.requested(made, decided.is_some()).or(decided);
        }
        if self.ended.is_none() {
            self.round = made;
            self.begin_round();
        }
    }

    /// Whether the run is over after `made` rounds, and why.
    fn decide(&mut self, made: u32, seconds: f64) -> Option<Stopped> {
        let allowances = self.allowances(made, &self.needed(made), seconds);
        if let Some(hunt) = self.hunt(made) {
            self.news.push_back(self.report_hunt(made, &hunt));
            if !self.hunting(&hunt).contains(&true) {
                return Some(self.nothing_left(made));
            }
        }
        if let Some(survey) = self.survey(made, &allowances) {
            self.news.push_back(self.report(made, &survey));
            if !self.taking_part(Some(&survey)).contains(&true) {
                return Some(self.nothing_left(made));
            }
        }
        if self.plan.measure.until.is_none() && self.searches_on() == Some(false) {
            return Some(Stopped::Enough { rounds: made });
        }
        let over = allowances.iter().filter(|a| a.rounds_left == 0).map(|a| a.resource).min()?;
        Some(match over {
            Resource::Rounds => Stopped::RoundsDone { rounds: made },
            Resource::Time => Stopped::TimeSpent,
            Resource::BytesWritten => Stopped::WrittenSpent,
            Resource::Money => Stopped::CostSpent,
        })
    }

    /// Why a run ends when no cell takes part in another round.
    fn nothing_left(&self, made: u32) -> Stopped {
        match (0..self.cells.len()).any(|place| self.decides(place) || self.is_search(place)) {
            true => Stopped::Enough { rounds: made },
            false => Stopped::RoundsDone { rounds: self.plan.measure.rounds },
        }
    }

    fn report(&self, made: u32, survey: &Survey) -> Event {
        let open: Vec<&Matter> = survey.matters.iter().filter(|m| !m.is_settled()).collect();
        let widest = open.iter().filter_map(|m| Some((m, m.width()?))).max_by(|a, b| a.1.total_cmp(&b.1));
        let id = |place: usize| self.plan.cells[place].id.clone();
        let more: Option<Vec<u32>> = open.iter().map(|m| m.more_rounds()).collect();
        Event::RoundFinished {
            rounds: made,
            most_rounds: self.plan.measure.rounds,
            asked: survey.matters.len() as u64,
            open: open.len() as u64,
            widest: widest.map(|(m, width)| Widest {
                cell: id(m.a),
                against: m.b.map(id),
                width: Some(width).filter(|w| w.is_finite()),
            }),
            more_rounds: more.and_then(|more| more.into_iter().max()),
        }
    }
}

impl History {
    /// Whether at least two trials were measured and none had the metrics that decide when to stop.
    fn lacks_figure(&self) -> bool {
        let measured = || self.trials.values().filter(|seen| seen.measured);
        let lacks = |seen: &Seen| seen.figure.is_none() || seen.wanted.iter().any(Option::is_none);
        measured().count() >= 2 && measured().all(lacks)
    }

    /// The metric that decides when to stop and that the trials lack.
    fn lacking<'p>(&self, plan: &'p Plan, cell: &'p Cell) -> &'p str {
        let wants = plan.measure.until.iter().flat_map(|until| &until.wants);
        let last = self.trials.values().rfind(|seen| seen.measured);
        let mut lacking =
            wants.zip(last.iter().flat_map(|seen| &seen.wanted)).filter(|(_, value)| value.is_none());
        lacking.next().map_or_else(|| plan.figure_name(cell), |(want, _)| &want.of)
    }

    /// The metric's value in each of the first `made` rounds.
    fn figures(&self, plan: &Plan, made: u32) -> Vec<Option<f64>> {
        let measured = self.trials.range(..made).filter(|(_, seen)| seen.measured);
        let windows = measured.map(|(&round, seen)| (round, seen.window_seconds));
        let pilots = record::pilot::left_out(&plan.measure, windows);
        let figure = |round: u32| self.trials.get(&round)?.figure.filter(|_| round >= pilots);
        (0..made).map(figure).collect()
    }
}

/// The goal for intervals; `None` if the run looks for the cheapest cell.
fn question(goal: Goal) -> Option<Question> {
    match goal {
        Goal::Interval(width) => Some(Question::Means(width)),
        Goal::Ratios(width) => Some(Question::Ratios(width)),
        Goal::Told(margin) => Some(Question::Told(margin)),
        Goal::Cheapest => None,
    }
}

#[cfg(test)]
mod tests;
