//! Instructions of a thread in user mode, counted by the CPU where the kernel allows it.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{FromRawFd as _, RawFd};
use thiserror::Error;

/// The first published layout of perf_event_open(2) (PERF_ATTR_SIZE_VER0), which every kernel accepts.
#[repr(C)]
#[derive(Debug, Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const SIZE: u32 = 64;
const _: () = assert!(size_of::<Attributes>() == SIZE as usize);

const HARDWARE: u32 = 0;
const HARDWARE_INSTRUCTIONS: u64 = 1;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const READ_TIME_ENABLED: u64 = 1;
const READ_TIME_RUNNING: u64 = 2;
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// Why instructions are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum Uncounted {
    #[error("this machine's CPU offers no counter of instructions, as is usual in virtual machines")]
    NoCounter,
    #[error("the kernel forbids it (kernel.perf_event_paranoid, or the container's rules)")]
    Forbidden,
    #[error("this kernel has no performance counters")]
    NotInKernel,
    #[error("{}", io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    #[error("the CPU's counter was in use by others all the time")]
    InUse,
}

/// A counter of the calling thread; it counts from its opening.
#[derive(Debug)]
pub(crate) struct Counter(File);

/// The reading of a counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    value: u64,
    /// The time for which it was enabled, and the time for which it ran: others may share the CPU's few counters.
    enabled_ns: u64,
    running_ns: u64,
}

impl Counter {
    /// Opens a counter of this thread's instructions in user mode.
    ///
    /// # Errors
    /// When there is no such counter, or it may not be used.
    pub(crate) fn instructions() -> Result<Self, Uncounted> {
        Self::open(HARDWARE, HARDWARE_INSTRUCTIONS).map_err(|error| Uncounted::of(&error))
    }

    #[expect(unsafe_code, reason = "perf_event_open isn't to be had otherwise")]
    fn open(kind: u32, config: u64) -> io::Result<Self> {
        let attributes = Attributes {
            kind,
            size: SIZE,
            config,
            read_format: READ_TIME_ENABLED | READ_TIME_RUNNING,
            flags: EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            ..Attributes::default()
        };
        let (this_thread, any_cpu, no_group): (libc::pid_t, libc::c_int, libc::c_int) = (0, -1, -1);
        // SAFETY: the structure has the size that it contains and lives through the call, which only reads it.
        let fd = unsafe {
            libc::syscall(
                libc::SYS_perf_event_open,
                &raw const attributes,
                this_thread,
                any_cpu,
                no_group,
                CLOSE_ON_EXEC,
            )
        };
        let fd = RawFd::try_from(fd).ok().filter(|fd| *fd >= 0).ok_or_else(io::Error::last_os_error)?;
        // SAFETY: a new descriptor that nothing else owns.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    /// The count until now; `None` when the kernel doesn't return one.
    pub(crate) fn read(&self) -> Option<Count> {
        let mut bytes = [0; 24];
        let read = (&self.0).read(&mut bytes).ok()?;
        let word = |at: usize| Some(u64::from_ne_bytes(bytes.get(at..at + 8)?.try_into().ok()?));
        (read == bytes.len())
            .then(|| Some(Count { value: word(0)?, enabled_ns: word(8)?, running_ns: word(16)? }))?
    }
}

impl Count {
    /// The count since `first`, scaled up when the counter ran only part of the time; `None` when it never ran.
    #[expect(clippy::cast_precision_loss, reason = "an average; counts are far below 2^52")]
    pub(crate) fn since(self, first: Self) -> Option<f64> {
        let value = self.value.saturating_sub(first.value) as f64;
        let enabled = self.enabled_ns.saturating_sub(first.enabled_ns) as f64;
        let running = self.running_ns.saturating_sub(first.running_ns) as f64;
        (running > 0.0).then(|| value * (enabled / running).max(1.0))
    }
}

impl Uncounted {
    fn of(error: &io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => Self::NoCounter,
            Some(libc::EACCES | libc::EPERM) => Self::Forbidden,
            Some(libc::ENOSYS) => Self::NotInKernel,
            errno => Self::Errno(errno.unwrap_or(libc::EIO)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Count, Counter, Uncounted};
    use std::io;

    const SOFTWARE: u32 = 1;
    const TASK_CLOCK: u64 = 1;

    fn work(rounds: u64) {
        let mut x = 1_u64;
        (0..rounds).for_each(|i| x = std::hint::black_box(x.wrapping_mul(3) + i));
    }

    #[test]
    fn instructions_are_counted_or_it_is_said_why_not() {
        match Counter::instructions() {
            Err(why) => assert!(!why.to_string().is_empty()),
            Ok(counter) => {
                let first = counter.read().unwrap();
                work(1_000_000);
                let counted = counter.read().unwrap().since(first);
                assert!(counted.is_none_or(|n| n >= 1_000_000.0), "{counted:?}");
            }
        }
    }

    /// The kernel's own clock of a thread uses the same calls and exists on any machine, unless forbidden.
    #[test]
    fn what_the_kernel_answers_is_understood() {
        let counter = match Counter::open(SOFTWARE, TASK_CLOCK) {
            Ok(counter) => counter,
            Err(error) => return assert!(Uncounted::of(&error).to_string().contains("kernel"), "{error}"),
        };
        let first = counter.read().unwrap();
        work(3_000_000);
        let last = counter.read().unwrap();
        assert!(last.value > first.value && last.enabled_ns > first.enabled_ns, "{first:?} {last:?}");
        assert!(last.enabled_ns >= last.running_ns && last.since(first).unwrap() > 0.0, "{first:?} {last:?}");
    }

    #[test]
    fn a_shared_counter_is_scaled_up_and_one_that_never_ran_says_nothing() {
        let first = Count { value: 100, enabled_ns: 1000, running_ns: 1000 };
        let at = |value, enabled_ns, running_ns| Count { value, enabled_ns, running_ns }.since(first);
        assert_eq!(at(600, 2000, 2000), Some(500.0));
        assert_eq!(at(600, 3000, 2000), Some(1000.0));
        assert_eq!(at(100, 3000, 1000), None);
    }

    #[test]
    fn reasons_are_in_words() {
        let of = |number| Uncounted::of(&io::Error::from_raw_os_error(number)).to_string();
        assert!(of(libc::ENOENT).contains("no counter") && of(libc::EACCES).contains("paranoid"));
        assert!(of(libc::EMFILE).contains("open files"), "{}", of(libc::EMFILE));
    }
}
