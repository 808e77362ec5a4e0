//! The machine that exports what the machines of a trial mount. It does once what all of them ask for.

use super::seat::Seat;
use crate::agent_link::{AgentLink, is_asked, on, out_of_turn, stopped_there};
use crate::error::{RunError, Sink};
use crate::mounted::{CLOCKS, beside};
use crate::nfs_remote::{Route, route, turned};
use crate::protocol::{Reply, Request, TrialRequest, Turn};
use crate::serving::folder;
use record::counter::ServerClock;
use record::printable::chain;
use record::trial::{Outcome, TrialRecord};
use stack::NfsSource;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// What came of the request to build and export.
pub(super) enum Exported<'l> {
    /// It is up.
    Up(Exporter<'l>),
    /// It could not be built: the trial is over.
    Failed(Box<TrialRecord>),
    /// The user stopped it.
    Stopped,
}

/// The exporting machine.
pub(super) struct Exporter<'l> {
    line: &'l mut AgentLink,
    /// What each client mounts, in the order of the seats.
    sources: Vec<NfsSource>,
    /// Its clock against the controller's, once it counts.
    clock: Option<ServerClock>,
    /// Why what it counted is incomplete.
    failed: Option<String>,
    /// Why it can't go on.
    lost: Option<RunError>,
}

/// What the exporting machine saw.
pub(super) struct Served {
    pub(super) record: TrialRecord,
    /// Its clock against the controller's; `None`: the load never began.
    pub(super) clock: Option<ServerClock>,
}

impl<'l> Exporter<'l> {
    /// Has it build the stack and export it to all machines of the cell.
    pub(super) fn begin(
        line: &'l mut AgentLink,
        routes: &[Route],
        request: &TrialRequest,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<Exported<'l>, RunError> {
        let ways = request.cell.loading().into_iter().map(|client| route(routes, &line.target, client));
        let ways = ways.collect::<Result<Vec<_>, _>>()?;
        let clients = ways.iter().map(|way| way.seen_as.clone()).collect();
        let serve = Request::Serve { trial: Box::new(request.clone()), clients };
        let directory = match line.ask(&serve, cancel, sink)? {
            Reply::Served { directory } => directory,
            Reply::Trial { cancelled: true, .. } if is_asked(cancel) => return Ok(Exported::Stopped),
            Reply::Trial { cancelled: true, .. } => return Err(stopped_there(&line.target)),
            Reply::Trial { record, .. } => return Ok(Exported::Failed(record)),
            other => return Err(on(&line.target, out_of_turn(&other))),
        };
        let source = |(place, way): (usize, &&Route)| way.to(directory.join(folder(place)));
        let sources = ways.iter().enumerate().map(source).collect();
        Ok(Exported::Up(Self { line, sources, clock: None, failed: None, lost: None }))
    }

    /// What a client mounts.
    pub(super) fn source(&self, place: usize) -> NfsSource {
        self.sources[place].clone()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Answers the clients that wait for it. It settles and begins to count once, when all clients ask for that.
    pub(super) fn answer(
        &mut self,
        seats: &mut [Seat<'_>],
        abandoned: bool,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<(), RunError> {
        if self.lost.is_none() {
            self.lost = self.line.link.broken().map(|error| on(&self.line.target, error.into()));
        }
        let waiting = |seat: &Seat<'_>| seat.turn.is_some() && !seat.state.is_over();
        if abandoned || self.is_lost() || cancel.load(Ordering::Relaxed) {
            let why = if self.is_lost() { "it is lost" } else { "the trial has ended" };
            seats.iter_mut().filter(|seat| waiting(seat)).for_each(|seat| seat.go_on(Err(why.to_owned())));
            return Ok(());
        }
        for seat in seats.iter_mut().filter(|seat| waiting(seat)) {
            match seat.turn {
                Some(Turn::Clock) => {
                    let done = self.does(Turn::Clock, cancel, sink)?;
                    seat.go_on(done);
                }
                // It counts until the last one has ended. Nobody reads the clock of this answer.
                Some(Turn::End) => seat.go_on(Ok(0)),
                _ => {}
            }
        }
        let Some(turn) = self.wanted_by_all(seats) else { return Ok(()) };
        let begins = matches!(turn, Turn::Begin { .. });
        let done = self.does(turn, cancel, sink)?;
        if begins && done.is_ok() {
            self.compare(cancel, sink)?;
        }
        seats.iter_mut().for_each(|seat| seat.go_on(done.clone()));
        Ok(())
    }

    /// The turn that all clients wait for, with the files of all.
    fn wanted_by_all(&self, seats: &[Seat<'_>]) -> Option<Turn> {
        let mut all: Vec<PathBuf> = Vec::new();
        let mut wanted: Option<Turn> = None;
        for (place, seat) in seats.iter().enumerate() {
            let turn = seat.turn.as_ref().filter(|_| !seat.state.is_over())?;
            let (Turn::Settle { files, .. } | Turn::Begin { files }) = turn else { return None };
            let is_same = |other: &Turn| std::mem::discriminant(other) == std::mem::discriminant(turn);
            if wanted.as_ref().is_some_and(|other| !is_same(other)) {
                return None;
            }
            let folder = PathBuf::from(folder(place));
            all.extend(files.iter().map(|file: &PathBuf| folder.join::<&Path>(file)));
            wanted.get_or_insert_with(|| turn.clone());
        }
        Some(match wanted? {
            Turn::Settle { cache, .. } => Turn::Settle { files: all, cache },
            Turn::Begin { .. } => Turn::Begin { files: all },
            other => other,
        })
    }

    /// Has it do something; the answer for the clients that wait. Without an answer it is lost.
    fn does(
        &mut self,
        turn: Turn,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<Result<u64, String>, RunError> {
        match turned(self.line, turn, cancel, sink) {
            Ok(clock) => Ok(Ok(clock)),
            Err(error @ RunError::Sink(_)) => Err(error),
            Err(error) => {
                let told = chain(&error);
                if !error.is_an_answer() {
                    self.lost = Some(error);
                }
                Ok(Err(told))
            }
        }
    }

    /// Compares its clock with the controller's. The quickest answer is the most exact.
    fn compare(&mut self, cancel: &AtomicBool, sink: &mut Sink<'_>) -> Result<(), RunError> {
        for _ in 0..CLOCKS {
            let before = observe::monotonic_ns();
            if let Ok(theirs) = self.does(Turn::Clock, cancel, sink)? {
                let clock = beside(theirs, before, observe::monotonic_ns());
                let is_better = |known: &ServerClock| clock.uncertain_ns < known.uncertain_ns;
                self.clock = self.clock.filter(|known| !is_better(known)).or(Some(clock));
            }
        }
        Ok(())
    }

    /// Ends its counting; `false` if it is lost. A failure is in its record.
    pub(super) fn counted(&mut self, cancel: &AtomicBool, sink: &mut Sink<'_>) -> Result<bool, RunError> {
        self.failed = self.does(Turn::End, cancel, sink)?.err();
        Ok(!self.is_lost())
    }

    /// Has it take everything down, and returns what it saw.
    pub(super) fn end(self, cancel: &AtomicBool, sink: &mut Sink<'_>) -> Result<Served, RunError> {
        if let Some(lost) = self.lost {
            return Err(lost);
        }
        match self.line.ask(&Request::Withdraw, cancel, sink)? {
            Reply::Trial { mut record, .. } => {
                if let Some(why) = self.failed {
                    record.outcome = Outcome::Failed(why);
                }
                Ok(Served { record: *record, clock: self.clock })
            }
            other => Err(on(&self.line.target, out_of_turn(&other))),
        }
    }
}

#[cfg(test)]
mod tests;
