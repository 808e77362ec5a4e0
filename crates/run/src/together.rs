//! A trial on several machines that load the same directory at the same time.
//!
//! The controller has each of them prepare its own data. When all are ready, it compares their clocks with its own and names one
//! moment at which they begin. If one of them fails, the others end their load at once, and the trial is no measurement.

mod clock;
mod joined;
mod seat;

use crate::agent_link::AgentLink;
use crate::error::{RunError, Sink};
use crate::made::Made;
use crate::protocol::{Request, Together, TrialRequest};
use record::clock::ClockOffset;
use record::plan::Plan;
use record::volume::VolumeKind;
use seat::{Seat, State};
use stack::Shared;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The least time between the agreement on the start and the start itself. An engine whose program is slow to start starts it meanwhile.
const LEAD: Duration = Duration::from_millis(500);
/// How long one machine is listened to before the next.
const TURN: Duration = Duration::from_millis(10);

/// The directories that this machine shares with others in the plan's cells.
pub(crate) fn shared(plan: &Plan, target: &str) -> Shared {
    let together = plan.cells.iter().filter(|cell| cell.is_together() && cell.is_built_on(target));
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
    request: &TrialRequest,
    cancel: &AtomicBool,
    sink: &mut Sink<'_>,
) -> Result<Made, RunError> {
    let mut seats = seated(lines, request)?;
    for (place, seat) in (0_u64..).zip(&mut seats) {
        let asked = Request::Trial(Box::new(share_of(request, place, &seat.line.target)));
        if let Err(error) = seat.line.link.send(&asked) {
            seat.lost(error.into());
        }
    }
    let mut crew = Crew { seats, cancel, sink, abandoned: false };
    if crew.until(State::is_ready)? && crew.compare(Seat::set_before)? {
        crew.start();
        if crew.until(State::is_rested)? && crew.compare(Seat::set_after)? {
            crew.send_all(&Request::Finish);
        }
    }
    crew.end()?;
    if crew.cancelled() {
        return Ok(Made { record: None, lost: None });
    }
    let mut lost: Option<RunError> = None;
    let mut parts = Vec::new();
    for seat in crew.seats {
        let (part, is_abandoned, gone) = seat.part(request)?;
        lost = match (lost, gone) {
            (Some(first), Some(second)) => Some(first.and(second)),
            (first, second) => first.or(second),
        };
        parts.push((part, is_abandoned));
    }
    Ok(Made { record: Some(joined::joined(request, parts)), lost })
}

/// The connections to the machines of the cell, in its order.
fn seated<'l>(lines: &'l mut [AgentLink], request: &TrialRequest) -> Result<Vec<Seat<'l>>, RunError> {
    let machines = request.cell.loading();
    let place = |name: &str| machines.iter().position(|machine| *machine == name);
    let mut seats: Vec<(usize, Seat<'l>)> =
        lines.iter_mut().filter_map(|line| Some((place(&line.target)?, Seat::new(line)))).collect();
    seats.sort_by_key(|(place, _)| *place);
    let missing = machines.iter().find(|name| !seats.iter().any(|(_, seat)| seat.line.target == **name));
    match missing {
        Some(name) => Err(RunError::NoNode((*name).to_owned())),
        None => Ok(seats.into_iter().map(|(_, seat)| seat).collect()),
    }
}

/// The request for one machine: its own seed, so that no two machines do the same I/O or write the same data.
fn share_of(request: &TrialRequest, place: u64, target: &str) -> TrialRequest {
    let others = request.cell.loading().into_iter().filter(|name| *name != target).map(str::to_owned);
    TrialRequest {
        // The golden ratio in 64 bits spreads the places over all bits; the first machine keeps the trial's seed.
        seed: request.seed ^ place.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        // The rate of one machine is not that of the trial.
        live: false,
        together: Some(Together { others: others.collect() }),
        ..request.clone()
    }
}

/// The machines of a trial.
struct Crew<'l, 's, 'k> {
    seats: Vec<Seat<'l>>,
    cancel: &'l AtomicBool,
    sink: &'s mut Sink<'k>,
    /// Whether the trial was ended because a machine failed.
    abandoned: bool,
}

impl<'l> Crew<'l, '_, '_> {
    /// Listens until all machines have reached a state; `false` if one of them has ended before, or the user stopped the trial.
    fn until(&mut self, reached: fn(&State) -> bool) -> Result<bool, RunError> {
        loop {
            if self.cancelled() || self.seats.iter().any(|seat| seat.state.is_over()) {
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
        Ok(())
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
            let failed = self.seats.iter().any(|seat| seat.has_failed());
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
