//! A machine's clock against the controller's.
//!
//! The machine is asked for its time several times. The answer was given between our two readings, so the midpoint is wrong by half
//! of the round trip at most, whatever the ways there and back take. The quickest exchange counts (Cristian 1989).

use super::seat::Seat;
use crate::error::{RunError, Sink};
use crate::link::Heard;
use crate::meeting::reading;
use crate::protocol::{Reply, Request};
use record::clock::{ClockOffset, Reading};
use std::time::{Duration, Instant};

/// The number of exchanges with each machine.
const EXCHANGES: usize = 12;
/// How long an answer may take. Then the machine counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);

/// The machine's clock; `None` if its trial has ended meanwhile.
pub(super) fn compared(seat: &mut Seat<'_>, sink: &mut Sink<'_>) -> Result<Option<ClockOffset>, RunError> {
    let mut best: Option<ClockOffset> = None;
    for _ in 0..EXCHANGES {
        let Some(clock) = exchange(seat, sink)? else { return Ok(None) };
        if best.is_none_or(|best| clock.uncertain_ns < best.uncertain_ns) {
            best = Some(clock);
        }
    }
    Ok(best)
}

fn exchange(seat: &mut Seat<'_>, sink: &mut Sink<'_>) -> Result<Option<ClockOffset>, RunError> {
    let until = Instant::now() + PATIENCE;
    let before = reading();
    if let Err(error) = seat.line.link.send(&Request::Clock) {
        seat.lost(error.into());
    }
    while !seat.state.is_over() {
        match seat.line.link.wait(Duration::from_millis(50)) {
            Ok(heard) => match clocks(&heard) {
                Some(theirs) => return Ok(Some(beside(theirs, before, reading()))),
                None => seat.hear(heard, sink)?,
            },
            Err(error) => seat.lost(error.into()),
        }
        if Instant::now() > until && !seat.state.is_over() {
            seat.lost(RunError::OutOfTurn(
                "nothing for 30 s, although it was asked for its clock".to_owned(),
            ));
        }
    }
    Ok(None)
}

/// The node's clocks, if that is what was heard.
fn clocks(heard: &Heard) -> Option<Reading> {
    match heard {
        Heard::Reply(Reply::Clock { reading }) => Some(*reading),
        _ => None,
    }
}

/// The offset, from the machine's clocks between two readings of ours.
fn beside(theirs: Reading, before: Reading, after: Reading) -> ClockOffset {
    let middle = |before: u64, after: u64| before.saturating_add(after.saturating_sub(before) / 2);
    let at_ns = middle(before.monotonic_ns, after.monotonic_ns);
    let ahead = |theirs: u64, ours: u64| {
        let ahead = i128::from(theirs) - i128::from(ours);
        // Clocks differ by years at most.
        i64::try_from(ahead).unwrap_or(if ahead > 0 { i64::MAX } else { i64::MIN })
    };
    ClockOffset {
        at_ns,
        ahead_ns: ahead(theirs.monotonic_ns, at_ns),
        uncertain_ns: after.monotonic_ns.saturating_sub(before.monotonic_ns).div_ceil(2),
        wall_ahead_ns: ahead(theirs.realtime_ns, middle(before.realtime_ns, after.realtime_ns)),
    }
}

#[cfg(test)]
mod tests {
    use super::beside;
    use record::clock::{ClockOffset, Reading};

    fn at(monotonic_ns: u64, realtime_ns: u64) -> Reading {
        Reading { monotonic_ns, realtime_ns }
    }

    #[test]
    fn a_clock_is_as_sure_as_its_answer_was_quick() {
        let clock = beside(at(500, 90_000), at(100, 100_000), at(141, 100_041));
        let expected = ClockOffset { at_ns: 120, ahead_ns: 380, uncertain_ns: 21, wall_ahead_ns: -10_020 };
        assert_eq!(clock, expected);
    }

    /// Whatever the ways there and back take, the true offset is within the stated error.
    #[test]
    fn the_true_offset_is_within_the_error() {
        for (there, back) in [(0, 1000), (1000, 0), (333, 10), (1, 1), (0, 0)] {
            let truth: i64 = 7_000_000;
            let sent: u64 = 50_000;
            let theirs = u64::try_from(i64::try_from(sent + there).unwrap() + truth).unwrap();
            let clock = beside(at(theirs, 0), at(sent, 0), at(sent + there + back, 0));
            assert!(clock.ahead_ns.abs_diff(truth) <= clock.uncertain_ns, "{there} {back}: {clock:?}");
        }
    }
}
