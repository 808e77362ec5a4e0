//! The rate of limited members together.

use super::geometry::Geometry;
use super::load::Load;
use record::volume::LimitName;

/// A limit; infinite if there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Rate {
    pub(crate) ios: f64,
    pub(crate) bytes: f64,
}

impl Rate {
    pub(crate) const UNLIMITED: Self = Self { ios: f64::INFINITY, bytes: f64::INFINITY };

    fn divided(self, by: f64) -> Self {
        Self { ios: self.ios / by, bytes: self.bytes / by }
    }

    fn lower(self, other: Self) -> Self {
        Self { ios: self.ios.min(other.ios), bytes: self.bytes.min(other.bytes) }
    }
}

/// The limits of one member: per direction (the kernel's throttle), or for both together (QEMU's `iops-total`, most providers).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Member {
    pub(crate) read: Rate,
    pub(crate) write: Rate,
    pub(crate) both: Rate,
}

impl Member {
    /// The lowest limit of each kind: data lies evenly, so the slowest member limits all.
    pub(crate) fn slowest(members: impl IntoIterator<Item = Self>) -> Self {
        let unlimited = Self { read: Rate::UNLIMITED, write: Rate::UNLIMITED, both: Rate::UNLIMITED };
        members.into_iter().fold(unlimited, |a, b| Self {
            read: a.read.lower(b.read),
            write: a.write.lower(b.write),
            both: a.both.lower(b.both),
        })
    }

    /// The part of each of `sharers` members that share these limits.
    pub(crate) fn divided(self, sharers: u32) -> Self {
        let by = f64::from(sharers.max(1));
        Self { read: self.read.divided(by), write: self.write.divided(by), both: self.both.divided(by) }
    }
}

/// The mean demand of one request on each member.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Demand {
    pub(crate) read_ios: f64,
    pub(crate) write_ios: f64,
    pub(crate) read_bytes: f64,
    pub(crate) write_bytes: f64,
}

impl Demand {
    /// The demand, if `readers` members serve reads. All members serve writes, as often as there are copies.
    pub(crate) fn of(geometry: &Geometry, load: &Load, readers: u32) -> Self {
        let (touched, bytes) = (load.chunks_touched(geometry), load.mean_bytes());
        let read = load.read_share / f64::from(readers.max(1));
        let write = (1.0 - load.read_share) * f64::from(geometry.copies) / f64::from(geometry.members.max(1));
        Self {
            read_ios: touched * read,
            write_ios: touched * write,
            read_bytes: bytes * read,
            write_bytes: bytes * write,
        }
    }
}

/// The limit that binds a stack.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Binding {
    /// Requests per second if every member reaches its limit.
    pub(crate) requests_per_second: f64,
    pub(crate) name: LimitName,
    /// The limit, in its own unit.
    pub(crate) limit: f64,
    /// A request's demand on a member, in I/Os or bytes.
    pub(crate) demand: f64,
    /// The number of directions, of two, with about the same bound.
    pub(crate) directions: u32,
}

/// If the bounds of two directions differ by at most this factor, both count.
const ABOUT: f64 = 1.25;

/// The lowest ratio of limit over demand; `None` without limits.
pub(crate) fn binding(member: &Member, demand: &Demand) -> Option<Binding> {
    let both_ios = demand.read_ios + demand.write_ios;
    let both_bytes = demand.read_bytes + demand.write_bytes;
    let all = [
        (LimitName::ReadIops, member.read.ios, demand.read_ios),
        (LimitName::ReadBps, member.read.bytes, demand.read_bytes),
        (LimitName::WriteIops, member.write.ios, demand.write_ios),
        (LimitName::WriteBps, member.write.bytes, demand.write_bytes),
        (LimitName::TotalIops, member.both.ios, both_ios),
        (LimitName::TotalBps, member.both.bytes, both_bytes),
    ];
    let allowed = |(_, limit, demand): &(LimitName, f64, f64)| {
        if *demand > 0.0 { limit / demand } else { f64::INFINITY }
    };
    let (name, limit, demand) = all.into_iter().min_by(|a, b| allowed(a).total_cmp(&allowed(b)))?;
    let requests_per_second = allowed(&(name, limit, demand));
    if !requests_per_second.is_finite() {
        return None;
    }
    let near = |names: [LimitName; 2]| {
        all.iter().any(|l| names.contains(&l.0) && allowed(l) <= requests_per_second * ABOUT)
    };
    let reads = near([LimitName::ReadIops, LimitName::ReadBps]);
    let directions = u32::from(reads) + u32::from(near([LimitName::WriteIops, LimitName::WriteBps]));
    Some(Binding { requests_per_second, name, limit, demand, directions: directions.max(1) })
}
