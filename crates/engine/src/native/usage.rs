//! What this process has used.

/// CPU time of all its threads, the kernel's helpers included, and memory.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Usage {
    pub(crate) user_seconds: f64,
    pub(crate) system_seconds: f64,
    pub(crate) peak_memory_bytes: u64,
}

impl Usage {
    /// Until now.
    #[expect(unsafe_code, reason = "getrusage isn't to be had otherwise")]
    pub(crate) fn now() -> Self {
        // SAFETY: a struct of integers, for which all zeros are a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the pointer is to a live struct of the type the call fills.
        unsafe { libc::getrusage(libc::RUSAGE_SELF, &raw mut usage) };
        Self {
            user_seconds: seconds(usage.ru_utime),
            system_seconds: seconds(usage.ru_stime),
            // In KiB on Linux.
            peak_memory_bytes: u64::try_from(usage.ru_maxrss).unwrap_or(0) * 1024,
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
        let before = Usage::now();
        let mut x = 1_u64;
        while Usage::now().user_seconds + Usage::now().system_seconds
            <= before.user_seconds + before.system_seconds
        {
            (0..1000).for_each(|i| x = std::hint::black_box(x.wrapping_mul(3) + i));
        }
        assert!(Usage::now().peak_memory_bytes > 1 << 20);
    }
}
