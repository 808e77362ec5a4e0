//! One machine of a trial that several load at the same time: what it said last.

use crate::agent_link::{AgentLink, on, out_of_turn, said, stopped_there};
use crate::error::{RunError, Sink};
use crate::link::Heard;
use crate::protocol::{Reply, Request, TrialRequest, Turn};
use crate::together::rates::Told;
use crate::trial::blank;
use record::clock::{ClockOffset, Reading};
use record::event::Event;
use record::printable::chain;
use record::trial::{Outcome, Part, TrialRecord};
use std::time::Instant;

/// What a machine does.
#[derive(Debug)]
pub(super) enum State {
    /// It builds and prepares.
    Preparing,
    /// It waits for the start.
    Ready,
    /// It loads, or waits for the agreed moment.
    Loading,
    /// Its load has ended; it waits for the others.
    Rested,
    /// Its trial is over.
    Done { record: Box<TrialRecord>, cancelled: bool },
    /// It refused or failed in a way that ends the run.
    Failed(RunError),
    /// The connection to it is lost.
    Lost(RunError),
}

impl State {
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Ready)
    }

    pub(super) fn is_rested(&self) -> bool {
        matches!(self, Self::Rested)
    }

    /// Whether nothing more will come of this trial.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Failed(_) | Self::Lost(_))
    }
}

/// A machine of the trial.
pub(super) struct Seat<'l> {
    pub(super) line: &'l mut AgentLink,
    pub(super) state: State,
    pub(super) clock_before: Option<ClockOffset>,
    clock_after: Option<ClockOffset>,
    agreed_ns: Option<u64>,
    load: Option<(Reading, Reading)>,
    /// What it told last of its load.
    pub(super) rates: Option<Told>,
    /// What it waits for the exporting machine to do.
    pub(super) turn: Option<Turn>,
    /// Whether it was told to end because another machine had failed.
    pub(super) abandoned: bool,
}

impl<'l> Seat<'l> {
    pub(super) fn new(line: &'l mut AgentLink) -> Self {
        Self {
            line,
            state: State::Preparing,
            clock_before: None,
            clock_after: None,
            agreed_ns: None,
            load: None,
            rates: None,
            turn: None,
            abandoned: false,
        }
    }

    pub(super) fn set_before(&mut self, clock: ClockOffset) {
        self.clock_before = Some(clock);
    }

    pub(super) fn set_after(&mut self, clock: ClockOffset) {
        self.clock_after = Some(clock);
    }

    /// Takes in what the machine said; passes its events on.
    pub(super) fn hear(&mut self, heard: Heard, sink: &mut Sink<'_>) -> Result<(), RunError> {
        let target = &self.line.target;
        self.state = match heard {
            Heard::Silence => return Ok(()),
            Heard::Said(line) => return sink(said(target, &line)).map_err(RunError::Sink),
            Heard::Reply(Reply::Event { event: event @ Event::LoadSampled { .. } }) => {
                self.rates = Some(Told { at: Instant::now(), event });
                return Ok(());
            }
            Heard::Reply(Reply::Event { event }) => {
                return sink(event.of_target(target)).map_err(RunError::Sink);
            }
            // An answer that came after the comparison had been given up.
            Heard::Reply(Reply::Clock { .. }) => return Ok(()),
            Heard::Reply(Reply::Turn { turn }) => {
                self.turn = Some(turn);
                return Ok(());
            }
            Heard::Reply(Reply::Ready) => State::Ready,
            Heard::Reply(Reply::Rested { began, ended }) => {
                self.load = Some((began, ended));
                State::Rested
            }
            Heard::Reply(Reply::Trial { record, cancelled }) => State::Done { record, cancelled },
            Heard::Reply(Reply::Failed { blame, error }) => {
                State::Failed(on(target, RunError::Node { blame, error }))
            }
            Heard::Reply(other) => State::Failed(on(target, out_of_turn(&other))),
        };
        Ok(())
    }

    /// Names the moment of the start, given by the controller's clock.
    pub(super) fn start(&mut self, at_ns: u64) {
        let ahead = self.clock_before.map_or(0, |clock| clock.ahead_ns);
        let at_ns = u64::try_from(i128::from(at_ns) + i128::from(ahead)).unwrap_or(0);
        self.agreed_ns = Some(at_ns);
        self.state = State::Loading;
        if let Err(error) = self.line.link.send(&Request::Start { at_ns }) {
            self.lost(error.into());
        }
    }

    /// Tells it what became of its turn.
    pub(super) fn go_on(&mut self, done: Result<u64, String>) {
        self.turn = None;
        if let Err(error) = self.line.link.send(&Request::GoOn { done }) {
            self.lost(error.into());
        }
    }

    pub(super) fn lost(&mut self, error: RunError) {
        self.state = State::Lost(error);
    }

    /// Whether it has ended otherwise than by a measurement.
    pub(super) fn has_failed(&self) -> bool {
        match &self.state {
            State::Done { record, cancelled } => *cancelled || record.outcome != Outcome::Measured,
            State::Failed(_) | State::Lost(_) => true,
            _ => false,
        }
    }

    /// Its part of the trial, whether it ended only because another machine had failed, and why the machine is lost, if it is.
    ///
    /// # Errors
    /// When it failed in a way that ends the run.
    pub(super) fn part(self, request: &TrialRequest) -> Result<(Part, bool, Option<RunError>), RunError> {
        let mut gone = None;
        let record = match self.state {
            // Not by the user, who stops all machines at once.
            State::Done { record, cancelled: true } => {
                // Such an agent process ends by itself.
                gone = Some(stopped_there(&self.line.target));
                let outcome =
                    Outcome::Failed("its agent process was stopped, or lost the controller".to_owned());
                Box::new(TrialRecord { outcome, ..*record })
            }
            State::Done { record, .. } if record.id != request.id => {
                failed(request, "it sent the record of another trial".to_owned())
            }
            State::Done { record, .. } => record,
            State::Failed(error) => return Err(error),
            State::Lost(error) => {
                let why = format!("the connection is lost: {}", chain(&error));
                gone = Some(on(&self.line.target, error));
                failed(request, why)
            }
            _ => failed(request, "its trial did not end".to_owned()),
        };
        let (began, ended) = self.load.unzip();
        let part = Part {
            target: self.line.target.clone(),
            clock_before: self.clock_before,
            clock_after: self.clock_after,
            agreed_ns: self.agreed_ns,
            began,
            ended,
            record,
        };
        Ok((part, self.abandoned, gone))
    }
}

fn failed(request: &TrialRequest, why: String) -> Box<TrialRecord> {
    let mut record = blank(request);
    record.outcome = Outcome::Failed(why);
    Box::new(record)
}
