//! A node's side of a load that several machines run at the same time: it waits for the others before and after the load.

use crate::context::{MeetError, Others};
use crate::emitter::Emitter;
use crate::protocol::{Reply, Request, TrialRequest};
use crate::requests::Requests;
use record::clock::Reading;
use stack::{Journal, Machine, Volumes};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How often a waiting node looks whether it is to stop.
const LOOK: Duration = Duration::from_millis(20);

/// The other machines, reached through the controller.
pub(crate) struct Meeting<'a, W: AsFd> {
    pub(crate) out: &'a Emitter<W>,
    pub(crate) requests: &'a Requests,
    pub(crate) cancel: &'a AtomicBool,
}

impl<W: AsFd> Others for Meeting<'_, W> {
    fn meet(&self) -> Result<u64, MeetError> {
        self.out.send(&Reply::Ready);
        match self.wait()? {
            Request::Start { at_ns } => Ok(at_ns),
            _ => Err(MeetError::OutOfTurn),
        }
    }

    fn part(&self, began: Reading, ended: Reading) -> Result<(), MeetError> {
        self.out.send(&Reply::Rested { began, ended });
        match self.wait()? {
            Request::Finish => Ok(()),
            _ => Err(MeetError::OutOfTurn),
        }
    }
}

impl<W: AsFd> Meeting<'_, W> {
    /// Waits for the next request, and says what time it is as often as the controller asks.
    fn wait(&self) -> Result<Request, MeetError> {
        loop {
            match self.requests.within(LOOK) {
                Ok(Request::Clock) => self.out.send(&Reply::Clock { reading: reading() }),
                Ok(request) => return Ok(request),
                Err(RecvTimeoutError::Timeout) if self.cancel.load(Ordering::Relaxed) => {
                    return Err(MeetError::Ended);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(MeetError::Gone),
            }
        }
    }
}

/// Both clocks of this machine.
pub(crate) fn reading() -> Reading {
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let realtime_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
    Reading { monotonic_ns: observe::monotonic_ns(), realtime_ns }
}

/// Waits for a moment of CLOCK_MONOTONIC. Steps of CLOCK_REALTIME don't move it. Returns earlier when cancelled.
pub(crate) fn wait_until(at_ns: u64, cancel: &AtomicBool) {
    while !cancel.load(Ordering::Relaxed) {
        let left = at_ns.saturating_sub(observe::monotonic_ns());
        if left == 0 {
            return;
        }
        std::thread::sleep(LOOK.min(Duration::from_nanos(left)));
    }
}

/// Checks that the directories of a trial are the same on the other machines: each has made a sub-directory of its own there.
pub(crate) fn shares(
    machine: &Machine<'_>,
    journal: &Journal,
    volumes: &Volumes,
    request: &TrialRequest,
) -> Result<(), MeetError> {
    let Some(together) = &request.together else { return Ok(()) };
    for volume in request.cell.stack.all_volumes() {
        if let Some(other) = volumes.apart_from(machine, journal.run(), &volume.name, &together.others) {
            return Err(MeetError::Apart { volume: volume.name.clone(), other: other.to_owned() });
        }
    }
    Ok(())
}
