//! Changes of the limits of a guest's disks during a trial, as the experiment says. They are put back at its end.

use crate::guest_disks::{HostedDisk, ThrottleError};
use record::counter::HostChange;
use record::printable::chain;
use record::volume::LimitChange;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use thiserror::Error;

/// Why limits could not be changed or put back.
#[derive(Debug, Error)]
pub(crate) enum ScheduleError {
    #[error("the changes of limits have panicked")]
    Panicked,
    #[error("the limits of {device} could not be changed")]
    NotChanged { device: String, source: ThrottleError },
    /// The limits of some disks could not be put back.
    #[error("{}", not_put_back(.0))]
    NotPutBack(Vec<ThrottleError>),
}

fn not_put_back(causes: &[ThrottleError]) -> String {
    let one = |cause: &ThrottleError| format!("limits could not be put back: {}", chain(cause.as_ref()));
    causes.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Limit changes in progress. When dropped, it puts the limits back.
#[derive(Debug)]
pub(crate) struct Schedule {
    disks: Vec<HostedDisk>,
    changing: Option<(Sender<()>, JoinHandle<Made>)>,
}

/// The changes that were made, and the first error.
type Made = (Vec<HostChange>, Option<ScheduleError>);

impl Schedule {
    /// Starts with the load. `disks` are by their names in the guest. Returns `None` when no limits are to change.
    pub(crate) fn begin(disks: &[(String, HostedDisk)]) -> Option<Self> {
        let begun = Instant::now();
        let changing: Vec<(String, HostedDisk)> = disks
            .iter()
            .filter(|(_, disk)| !disk.changes.is_empty() && disk.throttle.is_some())
            .cloned()
            .collect();
        changing.first()?;
        let mut due: Vec<(LimitChange, String, HostedDisk)> = Vec::new();
        for (name, disk) in &changing {
            due.extend(disk.changes.iter().map(|change| (*change, name.clone(), disk.clone())));
        }
        due.sort_by_key(|(change, ..)| change.after_ms);
        let (stop, stopped) = channel();
        let thread = std::thread::spawn(move || change_all(begun, due, &stopped));
        let disks = changing.into_iter().map(|(_, disk)| disk).collect();
        Some(Self { disks, changing: Some((stop, thread)) })
    }

    /// Ends the changes after the load. The changed limits stay until this is dropped or put back.
    ///
    /// # Errors
    /// What could not be changed, and why.
    pub(crate) fn end(&mut self) -> Result<Vec<HostChange>, ScheduleError> {
        let Some((stop, thread)) = self.changing.take() else { return Ok(Vec::new()) };
        drop(stop);
        let (made, failed) = thread.join().map_err(|_| ScheduleError::Panicked)?;
        failed.map_or(Ok(made), Err)
    }

    /// Puts the limits back, so that the next trial begins with the right ones.
    ///
    /// # Errors
    /// What could not be put back, and why.
    pub(crate) fn put_back(&mut self) -> Result<(), ScheduleError> {
        let _ = self.end();
        let disks = std::mem::take(&mut self.disks);
        let set = |disk: &HostedDisk| disk.throttle.as_ref()?.set(&disk.limits).err();
        let failed: Vec<ThrottleError> = disks.iter().filter_map(set).collect();
        if failed.is_empty() { Ok(()) } else { Err(ScheduleError::NotPutBack(failed)) }
    }
}

impl Drop for Schedule {
    fn drop(&mut self) {
        // A caller that wants the error has called this before.
        let _ = self.put_back();
    }
}

fn change_all(begun: Instant, due: Vec<(LimitChange, String, HostedDisk)>, stopped: &Receiver<()>) -> Made {
    let mut made = Vec::new();
    for (change, device, disk) in due {
        let left = Duration::from_millis(change.after_ms).saturating_sub(begun.elapsed());
        if !matches!(stopped.recv_timeout(left), Err(RecvTimeoutError::Timeout)) {
            break;
        }
        let set = disk.throttle.as_ref().map_or(Ok(()), |throttle| throttle.set(&change.limits));
        if let Err(source) = set {
            return (made, Some(ScheduleError::NotChanged { device, source }));
        }
        let after_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        made.push(HostChange { device, after_ms, limits: change.limits });
    }
    (made, None)
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use crate::guest_disks::{HostedDisk, Throttle, ThrottleError};
    use crate::guest_host::ThisMachine;
    use record::printable::chain;
    use record::volume::{LimitChange, Limits};
    use std::path::PathBuf;
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    /// Stores the limit that was set; refuses the value 13.
    #[derive(Debug, Default)]
    struct FakeQueue(Mutex<Vec<u64>>);

    impl Throttle for FakeQueue {
        fn now(&self) -> Option<Limits> {
            self.0.lock().unwrap().last().copied().map(total)
        }

        fn set(&self, limits: &Limits) -> Result<(), ThrottleError> {
            let iops = limits.total_iops.unwrap();
            self.0.lock().unwrap().push(iops);
            if iops == 13 { Err("no".into()) } else { Ok(()) }
        }
    }

    fn total(iops: u64) -> Limits {
        Limits { total_iops: Some(iops), ..Limits::default() }
    }

    fn disk(changes: &[(u64, u64)]) -> (Arc<FakeQueue>, Vec<(String, HostedDisk)>) {
        let kept = Arc::new(FakeQueue::default());
        let changes =
            changes.iter().map(|(after_ms, iops)| LimitChange { after_ms: *after_ms, limits: total(*iops) });
        let disk = HostedDisk {
            id: "virtio-d1".to_owned(),
            host: Arc::new(ThisMachine),
            backing: PathBuf::from("/nowhere"),
            direct_io: true,
            limits: total(400),
            changes: changes.collect(),
            throttle: Some(kept.clone()),
            host_limits: None,
            imposed: None,
        };
        (kept, vec![("vdb".to_owned(), disk)])
    }

    #[test]
    fn limits_change_in_time_and_are_put_back() {
        let (kept, disks) = disk(&[(20, 40), (60, 200), (3_600_000, 10)]);
        let mut schedule = Schedule::begin(&disks).unwrap();
        while kept.0.lock().unwrap().len() < 2 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let made = schedule.end().unwrap();
        let told: Vec<_> = made.iter().map(|c| (c.device.as_str(), c.limits.total_iops.unwrap())).collect();
        assert_eq!(told, [("vdb", 40), ("vdb", 200)], "the third is an hour away");
        assert!(made[0].after_ms >= 20 && made[1].after_ms >= 60, "{made:?}");
        assert_eq!(*kept.0.lock().unwrap(), [40, 200], "nothing is put back before it is looked at");
        schedule.put_back().unwrap();
        drop(schedule);
        assert_eq!(*kept.0.lock().unwrap(), [40, 200, 400], "once");
    }

    #[test]
    fn a_trial_that_is_given_up_has_its_limits_put_back_at_once() {
        let (kept, disks) = disk(&[(3_600_000, 10)]);
        drop(Schedule::begin(&disks).unwrap());
        assert_eq!(*kept.0.lock().unwrap(), [400]);
        assert!(Schedule::begin(&disk(&[]).1).is_none());
    }

    #[test]
    fn what_can_not_be_changed_is_said() {
        let (kept, disks) = disk(&[(1, 13), (2, 40)]);
        let mut schedule = Schedule::begin(&disks).unwrap();
        while kept.0.lock().unwrap().is_empty() {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(chain(&schedule.end().unwrap_err()), "the limits of vdb could not be changed: no");
        drop(schedule);
        assert_eq!(*kept.0.lock().unwrap(), [13, 400], "nothing after it was tried");
    }
}
