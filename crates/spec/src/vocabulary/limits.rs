//! Limits of emulated volumes and of a lab's disks, and of changes of the latter.

use super::shape::{Key, Shape, key};

pub(super) const IOPS: Key =
    key("iops", Shape::Integer, "Reads per second and writes per second, each limited to this");
pub(super) const READ_IOPS: Key = key("read_iops", Shape::Integer, "Reads per second");
pub(super) const WRITE_IOPS: Key = key("write_iops", Shape::Integer, "Writes per second");
pub(super) const TOTAL_IOPS: Key = key("total_iops", Shape::Integer, "Reads and writes per second, together");
pub(super) const BPS: Key =
    key("bps", Shape::Size, "Bytes per second read and written, each limited to this");
pub(super) const READ_BPS: Key = key("read_bps", Shape::Size, "Bytes read per second");
pub(super) const WRITE_BPS: Key = key("write_bps", Shape::Size, "Bytes written per second");
pub(super) const TOTAL_BPS: Key =
    key("total_bps", Shape::Size, "Bytes read and written per second, together");
