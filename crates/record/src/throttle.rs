//! The rate that the kernel's throttle makes of a limit of I/Os per second.
//!
//! block/blk-throttle.c grants I/Os for one slice at a time (`throtl_slice`, HZ / 10: a tenth of a second for every HZ that
//! kernels are built with). It counts whole I/Os: at the end of a slice, `throtl_trim_slice` subtracts `limit x slice`, rounded
//! down. The rounded-off part is lost: 84 gives 8 per slice, so 80 per second. With a limit below one I/O per slice the rounding
//! makes the rate lower or higher, depending on the slices: limits of 1 to 5 gave 4 % less, 6 gave 4.2, and 9 gave 15.7. Bytes
//! are counted in the same way, but one byte per slice is too little to matter. None of this applies to the limits of lab guests'
//! disks: QEMU enforces these.

use crate::volume::{LimitName, Limits};

/// Number of slices per second.
pub const SLICES_PER_SECOND: u64 = 10;

/// Largest relative deviation of a volume's rate from its limit.
pub const KEPT_WITHIN: f64 = 0.01;

/// Largest relative deviation that the kernel's rounding may cause: half of it, since the other half is the error of the probe.
const ROUNDED_WITHIN: f64 = KEPT_WITHIN / 2.0;

/// Returns the rate that this limit of I/Os per second gives; `None` below one I/O per slice, where the rate isn't steady.
#[must_use]
pub fn realised(iops: u64) -> Option<u64> {
    Some(iops / SLICES_PER_SECOND * SLICES_PER_SECOND).filter(|realised| *realised > 0)
}

/// Whether the kernel keeps this limit, so that a probe finds it within 1 %.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
pub fn keeps(iops: u64) -> bool {
    realised(iops).is_some_and(|realised| realised as f64 >= iops as f64 * (1.0 - ROUNDED_WITHIN))
}

/// Returns limits with the I/O rates that the kernel makes of them.
#[must_use]
pub fn as_realised(limits: Limits) -> Limits {
    let made = |iops: Option<u64>| iops.map(|iops| realised(iops).unwrap_or(iops));
    Limits { read_iops: made(limits.read_iops), write_iops: made(limits.write_iops), ..limits }
}

/// Returns why a volume can't have these limits, in words that follow its name; `None` when the kernel keeps them.
#[must_use]
pub fn refusal(limits: &Limits) -> Option<String> {
    let (name, iops) = [LimitName::ReadIops, LimitName::WriteIops]
        .into_iter()
        .find_map(|name| Some((name, name.of(limits).filter(|iops| !keeps(*iops))?)))?;
    let gives = match realised(iops) {
        Some(realised) => format!("it gives {realised}"),
        None => format!(
            "it grants less than one I/O for each of {SLICES_PER_SECOND} slices a second then, and no steady rate"
        ),
    };
    Some(format!(
        "{name} is {iops}, which is not a rate that the kernel's throttle keeps: {gives}; {}",
        nearest(iops)
    ))
}

/// Returns the nearest rates that the kernel keeps, in words.
fn nearest(iops: u64) -> String {
    let below = iops / SLICES_PER_SECOND * SLICES_PER_SECOND;
    let above = below.saturating_add(SLICES_PER_SECOND);
    if below == 0 {
        format!("the lowest that it keeps is {above}")
    } else {
        format!("the nearest that it keeps exactly are {below} and {above}")
    }
}

#[cfg(test)]
mod tests {
    use super::{as_realised, keeps, realised, refusal};
    use crate::volume::Limits;

    fn both(iops: u64) -> Limits {
        Limits { read_iops: Some(iops), write_iops: Some(iops), ..Limits::default() }
    }

    #[test]
    fn whole_ios_are_counted_per_slice() {
        for (asked, gives) in [(10, 10), (19, 10), (80, 80), (84, 80), (95, 90), (169, 160), (1005, 1000)] {
            assert_eq!(realised(asked), Some(gives), "{asked}");
        }
        for asked in 0..10 {
            assert_eq!(realised(asked), None, "{asked}");
        }
    }

    #[test]
    fn what_is_lost_matters_from_half_a_percent_on() {
        for asked in [10, 20, 30, 80, 90, 100, 1000, 1005, 2009, 2500, 2504, 16_000, u64::MAX] {
            assert!(keeps(asked), "{asked}");
        }
        for asked in [0, 1, 5, 9, 11, 15, 29, 84, 95, 169, 505, 899, 1009] {
            assert!(!keeps(asked), "{asked}");
        }
    }

    #[test]
    fn a_refusal_says_what_the_kernel_gives_and_what_it_keeps_nearby() {
        let told = refusal(&both(84)).unwrap();
        for part in ["read_iops is 84", "it gives 80", "80 and 90"] {
            assert!(told.contains(part), "{told}");
        }
        let low = refusal(&both(7)).unwrap();
        for part in ["read_iops is 7", "no steady rate", "lowest that it keeps is 10"] {
            assert!(low.contains(part), "{low}");
        }
        assert!(refusal(&both(15)).unwrap().contains("10 and 20"));
        assert!(refusal(&Limits { write_iops: Some(95), ..both(80) }).unwrap().contains("write_iops is 95"));
        assert_eq!(refusal(&both(80)), None);
    }

    #[test]
    fn bytes_and_limits_of_both_directions_are_left_as_they_are() {
        let limits = Limits {
            read_bps: Some(84),
            write_bps: Some(7),
            total_iops: Some(84),
            total_bps: Some(3),
            ..Limits::default()
        };
        assert_eq!((refusal(&limits), as_realised(limits)), (None, limits));
        assert_eq!(as_realised(both(1005)), both(1000));
    }
}
