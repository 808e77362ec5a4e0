//! The model from the volumes' limits.

use super::forecast::Forecast;
use super::geometry::{Reads, float};
use super::load::Load;
use super::occupancy::{Granted, granted};
use super::rates::{Binding, Demand, Member, Rate, binding};
use super::stacking::Stacking;
use crate::figures::{bytes, rate};
use record::judged::ModelSource;
use record::throttle::as_realised;
use record::volume::{HostLimits, LimitName, Limits, Volume, VolumeFacts, VolumeKind};

/// The kernel's throttle grants I/Os for 100 ms at a time (`throtl_slice`, HZ / 10, block/blk-throttle.c).
const SLICE_SECONDS: f64 = 0.1;

/// The largest I/O that surely counts as one. The kernel splits a larger one by its number of memory segments (128 of 4 KiB at worst)
/// before it counts; the number of parts depends on the buffer's place in memory. Seen on a limited loop device: 512 KiB count as one,
/// 768 KiB as 1 to 3, 1 MiB as 1 to 3, 2 MiB as 4.
const SURELY_ONE_IO: u64 = 512 << 10;
/// The smallest part of a split I/O.
const FINEST_SPLIT: u64 = 256 << 10;

/// The forecast; `None` if a volume has no relevant limit, or if it isn't known what counts as one I/O. `found`: the volumes as the run
/// found them on the cell's machine; none before a run.
pub(crate) fn forecast(
    volumes: &[Volume],
    found: &[&VolumeFacts],
    stacking: &Stacking,
    load: &Load,
) -> Option<Forecast> {
    let limits: Vec<Member> = volumes.iter().map(|v| limits_of(v, found)).collect::<Option<_>>()?;
    // QEMU's leaky bucket keeps a disk's unused I/Os for 100 ms; the kernel's slices don't.
    let lapse = volumes.iter().any(|v| matches!(v.kind, VolumeKind::Emulate { .. }));
    expected(&Member::slowest(limits), stacking, load, lapse)
}

/// The limits of a volume, as the kernel or QEMU rounds the requested ones. Emulated volumes have limits, and disks of a guest whose host
/// told them.
fn limits_of(volume: &Volume, found: &[&VolumeFacts]) -> Option<Member> {
    match volume.kind {
        VolumeKind::Emulate { limits, .. } if !limits.is_unlimited() => Some(member(as_realised(limits))),
        VolumeKind::Guest { limits, .. } if !limits.is_unlimited() => Some(member(limits)),
        VolumeKind::Disk { .. } | VolumeKind::Created { .. } => by_host(volume, found),
        _ => None,
    }
}

/// The limits that a host sets, if they are firm. Volumes of one group share them; the model takes them for loaded alike.
fn by_host(volume: &Volume, found: &[&VolumeFacts]) -> Option<Member> {
    let limits = |facts: &&VolumeFacts| facts.host_limits.clone().filter(|limits| !limits.is_unlimited());
    let own: HostLimits = found.iter().find(|facts| facts.name == volume.name).and_then(limits)?;
    if !LimitName::ALL.iter().all(|name| own.is_firm(*name)) {
        return None;
    }
    let shares = |facts: &&&VolumeFacts| {
        facts.host_limits.as_ref().is_some_and(|of| own.group.is_some() && of.group == own.group)
    };
    let sharers = found.iter().filter(shares).count().max(1);
    Some(member(own.limits).divided(u32::try_from(sharers).unwrap_or(u32::MAX)))
}

fn member(limits: Limits) -> Member {
    let or_none = |limit: Option<u64>| limit.map_or(f64::INFINITY, float);
    Member {
        read: Rate { ios: or_none(limits.read_iops), bytes: or_none(limits.read_bps) },
        write: Rate { ios: or_none(limits.write_iops), bytes: or_none(limits.write_bps) },
        both: Rate { ios: or_none(limits.total_iops), bytes: or_none(limits.total_bps) },
    }
}

/// The rate of members with these limits. `lapse`: unused I/Os of a slice are lost, as with the kernel's throttle; else they are saved.
pub(crate) fn expected(member: &Member, stacking: &Stacking, load: &Load, lapse: bool) -> Option<Forecast> {
    let geometry = &stacking.geometry;
    // The least and the largest number of volumes that may serve reads.
    let readers = match geometry.reads {
        Reads::Spread => (geometry.members, geometry.members),
        Reads::ByThread => (geometry.columns(), geometry.members),
    };
    let limit = |readers: u32| binding(member, &Demand::of(geometry, load, readers));
    let (fewest, most) = (limit(readers.0)?, limit(readers.1)?);
    if !counts_are_known(member, stacking, load, readers.1, &most) {
        return None;
    }
    let even = load.is_even(geometry);
    let share = share(&most, even, stacking, load, lapse);
    let certain = stacking.doubt.is_none() && even.is_some();
    let exact = certain && fewest == most;
    let mut at_most = most.requests_per_second;
    let mut expected = if exact { at_most * share.staggered } else { at_most };
    let mut at_least = if certain { fewest.requests_per_second * share.in_step } else { 0.0 };
    let mut steps = steps(stacking, load, &most);
    if exact && share.staggered < 0.995 {
        steps.push(format!(
            "with {} in flight, each on a random volume, {:.0} % of that is used: {} requests/s",
            rate(load.depth),
            share.staggered * 100.0,
            rate(expected)
        ));
    }
    if !exact {
        steps.push(format!("that is only an upper bound: {}", stacking.doubt()));
    }
    if let Some(cap) = load.cap.filter(|&cap| cap < at_most) {
        steps.push(format!("the workload asks for {} requests/s", rate(cap)));
        (expected, at_least, at_most) = (expected.min(cap), at_least.min(cap), cap);
    }
    Some(Forecast {
        from: ModelSource::Provisioned,
        expected,
        at_least,
        at_most,
        ios_per_request: ios_per_request(stacking, load),
        steps,
    })
}

/// The device I/Os of a request: one per touched chunk, or per member if chunks are joined; writes in every copy.
pub(crate) fn ios_per_request(stacking: &Stacking, load: &Load) -> f64 {
    let copies = f64::from(stacking.geometry.copies);
    load.chunks_touched(&stacking.geometry) * (load.read_share + (1.0 - load.read_share) * copies)
}

/// The share of the granted rate that the I/Os in flight use.
fn share(binding: &Binding, even: Option<bool>, stacking: &Stacking, load: &Load, lapse: bool) -> Granted {
    let full = Granted { in_step: 1.0, staggered: 1.0 };
    let places = match even {
        Some(false) => f64::from(stacking.geometry.columns() * binding.directions),
        _ => f64::from(binding.directions),
    };
    if !lapse || places <= 1.0 {
        return full;
    }
    let of_bytes = binding.name.is_of_bytes();
    let touched = load.chunks_touched(&stacking.geometry);
    let unit = if of_bytes { load.mean_bytes() / touched } else { 1.0 };
    let grants = binding.limit * SLICE_SECONDS / unit;
    let granted = granted(load.depth * touched, places, grants);
    Granted { in_step: granted.in_step / places, staggered: granted.staggered / places }
}

/// Whether the kernel's count of I/Os is known well enough: a request is one I/O, or bytes are the limit however it is split.
fn counts_are_known(
    member: &Member,
    stacking: &Stacking,
    load: &Load,
    readers: u32,
    binding_: &Binding,
) -> bool {
    let chunk = stacking.geometry.chunk_bytes.unwrap_or(u64::MAX);
    let parts = if stacking.geometry.joined { u64::from(stacking.geometry.columns()) } else { u64::MAX };
    let largest = load.largest_bytes().min(chunk.max(load.largest_bytes().div_ceil(parts)));
    if largest <= SURELY_ONE_IO {
        return true;
    }
    let times = float(largest.div_ceil(FINEST_SPLIT));
    let mut worst = Demand::of(&stacking.geometry, load, readers);
    (worst.read_ios, worst.write_ios) = (worst.read_ios * times, worst.write_ios * times);
    binding(member, &worst).is_some_and(|b| b.requests_per_second >= binding_.requests_per_second)
}

fn steps(stacking: &Stacking, load: &Load, binding: &Binding) -> Vec<String> {
    let geometry = &stacking.geometry;
    let mut steps = Vec::new();
    if let Some(chunk) = geometry.chunk_bytes {
        let touched = load.chunks_touched(geometry);
        let each = if load.sizes.len() == 1 { "each request of" } else { "an average request of" };
        let plural = if (touched - 1.0).abs() < 1e-9 { "" } else { "s" };
        let size = bytes(load.mean_bytes());
        let (touched, chunk) = (rate(touched), bytes(float(chunk)));
        steps.push(if geometry.joined {
            format!("{each} {size} is {touched} device I/O{plural}: its chunks of {chunk} on one volume are joined")
        } else {
            format!("{each} {size} touches {touched} chunk{plural} of {chunk}")
        });
    }
    if geometry.copies > 1 && load.read_share < 1.0 {
        steps.push(format!("every write goes to {} copies", geometry.copies));
    }
    let volumes = if geometry.members == 1 {
        "the volume".to_owned()
    } else {
        format!("each of {} volumes", geometry.members)
    };
    let (limit, demand) = if binding.name.is_of_bytes() {
        (format!("{}/s", bytes(binding.limit)), bytes(binding.demand))
    } else {
        (rate(binding.limit), rate(binding.demand))
    };
    let name = match binding.name {
        LimitName::TotalIops => "iops",
        LimitName::TotalBps => "bps",
        of_one_direction => of_one_direction.name(),
    };
    steps.push(format!(
        "{volumes} is limited to {name} {limit}, and a request needs {demand} of it: {} requests/s",
        rate(binding.requests_per_second)
    ));
    steps
}
