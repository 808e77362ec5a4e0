//! A trial on several machines that load the same directory at the same time.
//!
//! The controller has each of them prepare its own data. When all are ready, it compares their clocks with its own and names one
//! moment at which they begin. If one of them fails, the others end their load at once, and the trial is no measurement.
//!
//! The directory may be a file system that another machine builds and exports, and that they mount. That machine settles and begins
//! to count when all of them ask for it.

mod clock;
mod exporter;
mod joined;
mod rates;
mod seat;

use crate::agent_link::AgentLink;
use crate::error::{RunError, Sink};
use crate::made::Made;
use crate::nfs_remote::Route;
use crate::protocol::{Request, Together, TrialRequest};
use exporter::{Exported, Exporter};
use rates::Rates;
use record::clock::ClockOffset;
use record::plan::Plan;
use record::printable::chain;
use record::trial::Outcome;
use record::volume::VolumeKind;
use seat::{Seat, State};
use stack::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The least time between the agreement on the start and the start itself. An engine whose program is slow to start starts it meanwhile.
const LEAD: Duration = Duration::from_millis(500);
/// How long one machine is listened to before the next.
const TURN: Duration = Duration::from_millis(10);

/// The directories that this machine shares with others in the plan's cells.
pub(crate) fn shared(plan: &Plan, target: &str) -> Shared {
    let together = plan
        .cells
        .iter()
        .filter(|cell| cell.is_together() && !cell.is_mounted_elsewhere() && cell.is_built_on(target));
    let directories = together
        .flat_map(|cell| cell.stack.all_volumes())
        .filter(|volume| matches!(volume.kind, VolumeKind::Directory { .. }));
    Shared { target: target.to_owned(), volumes: directories.map(|volume| volume.name.clone()).collect() }
}

/// Performs one trial. A machine that fails, or is lost, makes a failed trial that names it.
///
/// # Errors
/// When the plan's machine has no connection at all, a machine can't undo what it built, or the event sink fails.
pub(crate) fn trial(
    lines: &mut [AgentLink],
    routes: &[Route],
    request: &TrialRequest,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Made, RunError> {
    let (mut seats, server) = seated(lines, request)?;
    let exporter = match server.map(|line| Exporter::begin(line, routes, request, cancel, sink)) {
        None => None,
        Some(begun) => match begun? {
            Exported::Up(exporter) => Some(exporter),
            Exported::Failed(record) => return Ok(Made { record: Some(*record), lost: None }),
            Exported::Stopped => return Ok(Made { record: None, lost: None }),
        },
    };
    for (place, seat) in seats.iter_mut().enumerate() {
        let mut asked = share_of(request, place, &seat.line.target);
        asked.from = exporter.as_ref().map(|exporter| exporter.source(place));
        if let Err(error) = seat.line.link.send(&Request::Trial(Box::new(asked))) {
            seat.lost(error.into());
        }
    }
    let rates = Rates::new(&request.id.cell);
    let mut crew = Crew { seats, exporter, cancel, sink, rates, abandoned: false };
    if crew.until(State::is_ready)? && crew.compare(Seat::set_before)? {
        crew.start();
        if crew.until(State::is_rested)? && crew.counted()? && crew.compare(Seat::set_after)? {
            crew.send_all(&Request::Finish);
        }
    }
    crew.end()?;
    let Crew { seats, exporter, sink, .. } = crew;
    let (served, mut lost) = match exporter.map(|exporter| exporter.end(cancel, sink)).transpose() {
        Ok(served) => (served, None),
        Err(error) if error.is_an_answer() || matches!(error, RunError::Sink(_)) => return Err(error),
        Err(error) => (None, Some(error)),
    };
    let without_server = lost.as_ref().map(|error| chain(error));
    if cancel.load(Ordering::Relaxed) {
        return Ok(Made { record: None, lost });
    }
    let mut parts = Vec::new();
    for seat in seats {
        let (part, is_abandoned, gone) = match seat.part(request) {
            Ok(told) => told,
            Err(error) => {
                return Err(match lost {
                    Some(first) => first.and(error),
                    None => error,
                });
            }
        };
        lost = match (lost, gone) {
            (Some(first), Some(second)) => Some(first.and(second)),
            (first, second) => first.or(second),
        };
        parts.push((part, is_abandoned));
    }
    let mut record = joined::joined(request, parts, served);
    if let Some(why) = without_server {
        record.outcome = Outcome::Failed(why);
    }
    Ok(Made { record: Some(record), lost })
}

/// The connections to the machines of the cell, in its order, and the one to the machine that exports what they mount.
fn seated<'l>(
    lines: &'l mut [AgentLink],
    request: &TrialRequest,
) -> Result<(Vec<Seat<'l>>, Option<&'l mut AgentLink>), RunError> {
    let machines = request.cell.loading();
    let server = request.cell.is_mounted_elsewhere().then_some(request.cell.target.as_str());
    let place = |name: &str| machines.iter().position(|machine| *machine == name);
    let mut seats: Vec<(usize, Seat<'l>)> = Vec::new();
    let mut serving = None;
    for line in lines {
        match place(&line.target) {
            Some(place) => seats.push((place, Seat::new(line))),
            None if server == Some(line.target.as_str()) => serving = Some(line),
            None => {}
        }
    }
    seats.sort_by_key(|(place, _)| *place);
    let missing = machines.iter().find(|name| !seats.iter().any(|(_, seat)| seat.line.target == **name));
    match missing.copied().or(server.filter(|_| serving.is_none())) {
        Some(name) => Err(RunError::NoNode(name.to_owned())),
        None => Ok((seats.into_iter().map(|(_, seat)| seat).collect(), serving)),
    }
}

/// The request for one machine: its own seed, so that no two machines do the same I/O or write the same data.
fn share_of(request: &TrialRequest, place: usize, target: &str) -> TrialRequest {
    let place = u64::try_from(place).unwrap_or(u64::MAX);
    let others = request.cell.loading().into_iter().filter(|name| *name != target).map(str::to_owned);
    TrialRequest {
        // The golden ratio in 64 bits spreads the places over all bits; the first machine keeps the trial's seed.
        seed: request.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        together: Some(Together { others: others.collect() }),
        ..request.clone()
    }
}

/// The machines of a trial.
struct Crew<'l, 's, 'k> {
    seats: Vec<Seat<'l>>,
    /// The machine that exports what they mount, if there is one.
    exporter: Option<Exporter<'l>>,
    cancel: &'l AtomicBool,
    sink: &'s mut Sink<'k>,
    rates: Rates,
    /// Whether the trial was ended because a machine failed.
    abandoned: bool,
}

impl<'l> Crew<'l, '_, '_> {
    /// Listens until all machines have reached a state; `false` if one of them has ended before, or the user stopped the trial.
    fn until(&mut self, reached: fn(&State) -> bool) -> Result<bool, RunError> {
        loop {
            let is_lost = self.exporter.as_ref().is_some_and(Exporter::is_lost);
            if is_lost || self.cancelled() || self.seats.iter().any(|seat| seat.state.is_over()) {
                return Ok(false);
            }
            if self.seats.iter().all(|seat| reached(&seat.state)) {
                return Ok(true);
            }
            self.listen()?;
        }
    }

    /// Listens to each machine that has not ended, in turns.
    fn listen(&mut self) -> Result<(), RunError> {
        for seat in self.seats.iter_mut().filter(|seat| !seat.state.is_over()) {
            if let Err(error) = seat.line.tell_if(self.cancel.load(Ordering::Relaxed)) {
                seat.lost(error.into());
                continue;
            }
            match seat.line.link.wait(TURN) {
                Ok(heard) => seat.hear(heard, self.sink)?,
                Err(error) => seat.lost(error.into()),
            }
        }
        let told = self.seats.iter().map(|seat| seat.rates.as_ref());
        if let Some(event) = self.rates.sum(told, Instant::now()) {
            (self.sink)(event).map_err(RunError::Sink)?;
        }
        self.answer()
    }

    /// Has the exporting machine do what the others ask for.
    fn answer(&mut self) -> Result<(), RunError> {
        match &mut self.exporter {
            Some(exporter) => exporter.answer(&mut self.seats, self.abandoned, self.cancel, self.sink),
            None => Ok(()),
        }
    }

    /// Ends the exporting machine's counting after the load of all; `false` if that fails.
    fn counted(&mut self) -> Result<bool, RunError> {
        match &mut self.exporter {
            Some(exporter) => exporter.counted(self.cancel, self.sink),
            None => Ok(true),
        }
    }

    /// Compares the clocks of all machines with the controller's; `false` if a machine has ended meanwhile.
    fn compare(&mut self, set: fn(&mut Seat<'l>, ClockOffset)) -> Result<bool, RunError> {
        for seat in &mut self.seats {
            match clock::compared(seat, self.sink)? {
                Some(offset) => set(seat, offset),
                None => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Names the moment of the start, each machine's on its own clock.
    fn start(&mut self) {
        let slowest = self.seats.iter().filter_map(|seat| seat.clock_before).map(|c| c.uncertain_ns).max();
        // Four round trips: time for the message itself on a slow connection.
        let lead = LEAD.max(Duration::from_nanos(slowest.unwrap_or(0).saturating_mul(8)));
        let lead = u64::try_from(lead.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = observe::monotonic_ns().saturating_add(lead);
        for seat in &mut self.seats {
            seat.start(at_ns);
        }
    }

    fn send_all(&mut self, request: &Request) {
        for seat in self.seats.iter_mut().filter(|seat| !seat.state.is_over()) {
            if let Err(error) = seat.line.link.send(request) {
                seat.lost(error.into());
            }
        }
    }

    /// Listens until all machines have ended. If one of them failed, the others end at once.
    fn end(&mut self) -> Result<(), RunError> {
        loop {
            let failed = self.seats.iter().any(|seat| seat.has_failed())
                || self.exporter.as_ref().is_some_and(Exporter::is_lost);
            if failed && !self.abandoned && !self.cancelled() {
                self.abandoned = true;
                for seat in &mut self.seats {
                    seat.abandoned = !seat.state.is_over();
                }
                self.send_all(&Request::Abandon);
            }
            if self.seats.iter().all(|seat| seat.state.is_over()) {
                return Ok(());
            }
            self.listen()?;
        }
    }

    fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests;
