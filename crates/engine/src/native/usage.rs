//! The resource usage of this process, or of one of its threads.

use std::ops::Sub;

/// CPU time, and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    /// The peak of the whole process.
    pub(crate) peak_memory_bytes: u64,
}

impl Usage {
    /// All threads until now, including ended ones and the kernel's helpers: io_uring's workers and its submitting thread are
    /// threads of the process (Linux 5.12 and newer).
    pub(crate) fn of_process() -> Self {
        Self::of(libc::RUSAGE_SELF)
    }

    /// Children that have ended and were reaped.
    pub(crate) fn of_children() -> Self {
        Self::of(libc::RUSAGE_CHILDREN)
    }

    /// Only the calling thread, until now.
    pub(crate) fn of_thread() -> Self {
        Self::of(libc::RUSAGE_THREAD)
    }

    #[expect(unsafe_code, reason = "getrusage isn't to be had otherwise")]
    fn of(whom: libc::c_int) -> Self {
        // SAFETY: a struct of integers, for which all zeros are a valid value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live struct of the type that the call fills.
        unsafe { libc::getrusage(whom, &raw mut usage) };
        Self {
            user_seconds: seconds(usage.ru_utime),
            system_seconds: seconds(usage.ru_stime),
            // It is in KiB on Linux.
            peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
        }
    }

    /// User and system time.
    pub(crate) fn cpu_seconds(self) -> f64 {
        self.user_seconds + self.system_seconds
    }

    /// The sum of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            user_seconds: self.user_seconds + other.user_seconds,
            system_seconds: self.system_seconds + other.system_seconds,
            peak_memory_bytes: self.peak_memory_bytes.max(other.peak_memory_bytes),
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    /// The usage since an earlier reading. The kernel splits time into user and system anew at each reading, so one of them may
    /// seem to decrease a little.
    fn sub(self, first: Self) -> Self {
        Self {
            user_seconds: (self.user_seconds - first.user_seconds).max(0.0),
            system_seconds: (self.system_seconds - first.system_seconds).max(0.0),
            peak_memory_bytes: self.peak_memory_bytes,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a process are far below 2^52")]
fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::Usage;

    #[test]
    fn work_takes_time_and_memory() {
        let (process, thread) = (Usage::of_process(), Usage::of_thread());
        let mut x = 1_u64;
        while (Usage::of_thread() - thread).cpu_seconds() <= 0.001 {
            (0..1000).for_each(|i| x = std::hint::black_box(x.wrapping_mul(3) + i));
        }
        let used = Usage::of_process() - process;
        assert!(used.cpu_seconds() > 0.0 && used.peak_memory_bytes > 1 << 20, "{used:?}");
    }

    #[test]
    fn a_thread_is_told_from_its_process() {
        let alone = std::thread::spawn(|| {
            let first = Usage::of_thread();
            let mut x = 1_u64;
            while (Usage::of_thread() - first).cpu_seconds() <= 0.02 {
                (0..1000).for_each(|i| x = std::hint::black_box(x.wrapping_mul(3) + i));
            }
        });
        let before = Usage::of_thread();
        alone.join().unwrap();
        // This thread only waited.
        assert!((Usage::of_thread() - before).cpu_seconds() < 0.02);
        assert!(Usage::of_process().cpu_seconds() >= 0.02);
    }
}
