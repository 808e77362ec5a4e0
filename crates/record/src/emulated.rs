//! The range within which figures from a lab guest's emulated disks are valid.
//!
//! The disks are files behind limits in QEMU, and QEMU keeps these limits: a stack of disks of 80 or 1000 IOPS can be measured.
//! Beyond this range the figures show the speed of QEMU, not of a disk.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The ends of the valid range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Range {
    /// The most requests per second of one disk.
    pub disk_iops: u64,
    /// The most requests per second of all disks of a guest together.
    pub guest_iops: u64,
    /// The shortest latency in microseconds.
    pub latency_us: u64,
}

/// Measured with software emulation on two busy processors: QEMU kept limits of 80 to 4000 within 4 %, the block path saturated
/// at 8,500 to 16,000, and a request took at least 0.4 ms.
pub const LAB: Range = Range { disk_iops: 2000, guest_iops: 5000, latency_us: 1000 };

/// How far above its limit of requests per second a disk may be measured, as a share of the limit: QEMU keeps limits this well.
pub const KEPT_WITHIN: f64 = 0.04;

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { disk_iops, guest_iops, latency_us } = self;
        let latency_ms = Duration::from_micros(*latency_us).as_secs_f64() * 1e3;
        write!(
            f,
            "up to {disk_iops} requests per second of one disk and {guest_iops} of all, latencies from {latency_ms} ms"
        )
    }
}

/// A lab guest that cells were measured on, and the range in which its figures are valid.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Guest {
    /// Name of the machine.
    pub target: String,
    /// The range in which figures of its emulated disks are valid.
    pub believed: Range,
    /// Whether its processor is emulated in software. If so, no figure that the processor limits is valid; `None`: not known.
    pub software: Option<bool>,
}

/// A disk or guest that is beyond the valid range.
#[derive(Debug, Clone, PartialEq)]
pub enum OutOfRange {
    /// One disk.
    Disk {
        /// Its name.
        disk: String,
        /// Its limit of requests per second; `None`: it has no limit, so it is as fast as QEMU.
        iops: Option<u64>,
        /// The highest valid rate.
        most: u64,
    },
    /// All disks of a guest together.
    Guest {
        /// Requests per second of all disks.
        iops: u64,
        /// The highest valid rate.
        most: u64,
    },
}

impl fmt::Display for OutOfRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let qemu = "a figure beyond that is QEMU's speed, not a disk's";
        match self {
            Self::Disk { disk, iops: None, most } => {
                write!(f, "{disk} has no limit of requests: up to {most} per second are credible; {qemu}")
            }
            Self::Disk { disk, iops: Some(iops), most } => {
                write!(f, "{disk} may do {iops} requests per second; up to {most} are credible; {qemu}")
            }
            Self::Guest { iops, most } => {
                write!(
                    f,
                    "all disks together may do {iops} requests per second; up to {most} are credible; {qemu}"
                )
            }
        }
    }
}

impl Range {
    /// Returns what disks with these limits of requests per second could do beyond the range.
    #[must_use]
    pub fn beyond(&self, disks: &[(&str, Option<u64>)]) -> Vec<OutOfRange> {
        let each = disks.iter().filter(|(_, iops)| iops.is_none_or(|iops| iops > self.disk_iops));
        let mut found: Vec<OutOfRange> = each
            .map(|(disk, iops)| OutOfRange::Disk {
                disk: (*disk).to_owned(),
                iops: *iops,
                most: self.disk_iops,
            })
            .collect();
        let all = disks.iter().filter_map(|(_, iops)| *iops).fold(0, u64::saturating_add);
        if all > self.guest_iops {
            found.push(OutOfRange::Guest { iops: all, most: self.guest_iops });
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::LAB;

    #[test]
    fn what_is_within_is_not_spoken_of() {
        assert!(LAB.beyond(&[("a", Some(80)), ("b", Some(2000))]).is_empty());
        assert!(LAB.beyond(&[]).is_empty());
    }

    #[test]
    fn the_range_in_words() {
        let words = "up to 2000 requests per second of one disk and 5000 of all, latencies from 1 ms";
        assert_eq!(LAB.to_string(), words);
    }

    #[test]
    fn each_disk_and_all_of_them_have_an_end() {
        let told = |disks: &[(&str, Option<u64>)]| -> Vec<String> {
            LAB.beyond(disks).iter().map(ToString::to_string).collect()
        };
        let one = told(&[("a", Some(2001))]);
        assert!(one[0].starts_with("a may do 2001 requests per second; up to 2000 are credible"), "{one:?}");
        assert!(told(&[("ssd", None)])[0].starts_with("ssd has no limit of requests: up to 2000"));
        let many = told(&[("a", Some(2000)), ("b", Some(2000)), ("c", Some(2000))]);
        assert!(many.len() == 1 && many[0].starts_with("all disks together may do 6000"), "{many:?}");
    }
}
