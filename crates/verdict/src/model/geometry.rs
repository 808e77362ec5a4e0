//! The layout of a stack's data over its members, and the number of device I/Os per request.

/// The layout of a stack's data over its members. It describes the kernel's stripes and mirrors: btrfs, LVM, md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// The number of devices.
    pub(crate) members: u32,
    /// The bytes on one member before the next one is used; `None`: not striped.
    pub(crate) chunk_bytes: Option<u64>,
    /// The number of copies of each byte.
    pub(crate) copies: u32,
    /// Which members serve reads.
    pub(crate) reads: Reads,
    /// Whether a request's adjacent chunks on one member count as one I/O against its limit. The kernel merges chunks after a cgroup
    /// has counted them and before a disk gets them. Seen on Linux 6.1 with LVM over 3 disks of 80 IOPS and chunks of 16 KiB: requests
    /// of 64 KiB ran at 79.8 a second (unmerged: 60), requests of 256 KiB at 79.9 (unmerged: 15).
    pub(crate) joined: bool,
}

/// The copy from which a read is served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// All copies evenly, whichever is free: md. Also if there is one copy.
    Spread,
    /// The copy depends on the id of the reading thread: btrfs (`read_policy` is `pid`).
    ByThread,
}

impl Geometry {
    /// A single device.
    pub(crate) const PLAIN: Self =
        Self { members: 1, chunk_bytes: None, copies: 1, reads: Reads::Spread, joined: false };

    /// The device I/Os of one copy of a request, which are the chunks that it touches: the mean over requests that begin at `base` plus any
    /// multiple of `step`, all equally often.
    ///
    /// A request of `bytes` = q·chunk + t + 1 that begins r bytes into a chunk touches q + 1 chunks, and one more if r + t ≥ chunk; r takes
    /// all values that are congruent to `base` modulo gcd(step, chunk). If chunks are joined, there are at most as many I/Os as members.
    pub(crate) fn chunks_touched(&self, bytes: u64, step: u64, base: u64) -> f64 {
        let Some(chunk) = self.chunk_bytes.filter(|&c| c > 0 && bytes > 0) else { return 1.0 };
        let (whole, rest) = ((bytes - 1) / chunk, (bytes - 1) % chunk);
        let stride = gcd(step, chunk).max(1);
        let (first, places) = (base % stride, chunk / stride);
        let below = (chunk - rest).saturating_sub(first).div_ceil(stride).min(places);
        let most = if self.joined { u64::from(self.columns()) } else { u64::MAX };
        let (few, many) = (float((whole + 1).min(most)), float((whole + 2).min(most)));
        few + (many - few) * float(places - below) / float(places)
    }

    /// Whether every request touches all members equally often.
    pub(crate) fn covers_all(&self, bytes: u64, step: u64, base: u64) -> bool {
        let Some(chunk) = self.chunk_bytes else { return self.columns() == 1 };
        let row = chunk.saturating_mul(self.columns().into());
        row > 0 && bytes.is_multiple_of(row) && step.is_multiple_of(chunk) && base.is_multiple_of(chunk)
    }

    /// The number of members with different data.
    pub(crate) fn columns(&self) -> u32 {
        (self.members / self.copies.max(1)).max(1)
    }
}

pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[expect(clippy::cast_precision_loss, reason = "sizes and counts stay far below 2^53")]
pub(crate) fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::{Geometry, Reads};

    fn stripe(members: u32, chunk: u64) -> Geometry {
        Geometry { members, chunk_bytes: Some(chunk), copies: 1, reads: Reads::Spread, joined: false }
    }

    /// The same by counting at every place.
    fn counted(chunk: u64, bytes: u64, step: u64, base: u64) -> f64 {
        let touched = |o: u64| (o + bytes - 1) / chunk - o / chunk + 1;
        (0..chunk).map(|i| touched(base + i * step)).sum::<u64>() as f64 / chunk as f64
    }

    #[test]
    fn chunks_are_counted_as_one_by_one() {
        for chunk in [1, 2, 3, 7, 8, 12, 16] {
            for bytes in 1..40 {
                for step in 1..20 {
                    for base in [0, 1, 5, 13] {
                        let (fast, slow) = (
                            stripe(3, chunk).chunks_touched(bytes, step, base),
                            counted(chunk, bytes, step, base),
                        );
                        assert!(
                            (fast - slow).abs() < 1e-12,
                            "{chunk} {bytes} {step} {base}: {fast}, not {slow}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn block_against_chunk() {
        let of = |bs: u64, base: u64| stripe(3, 16 << 10).chunks_touched(bs << 10, bs << 10, base);
        assert_eq!([4, 16, 32, 64].map(|bs| of(bs, 0)), [1.0, 1.0, 2.0, 4.0]);
        assert_eq!([4, 16, 64].map(|bs| of(bs, 4096)), [1.0, 2.0, 5.0], "shifted by 4 KiB");
        assert_eq!(of(24, 0), 2.0, "24 KiB in 16 KiB chunks: two, at either place");
        assert_eq!(Geometry::PLAIN.chunks_touched(1 << 20, 1 << 20, 0), 1.0);
    }

    #[test]
    fn joined_chunks_are_no_more_than_members() {
        let joined = Geometry { joined: true, ..stripe(3, 16 << 10) };
        let of = |bs: u64, base: u64| joined.chunks_touched(bs << 10, bs << 10, base);
        assert_eq!([4, 16, 32, 64, 256].map(|bs| of(bs, 0)), [1.0, 1.0, 2.0, 3.0, 3.0]);
        assert_eq!([16, 32, 64].map(|bs| of(bs, 4096)), [2.0, 3.0, 3.0]);
        // 24 KiB: two chunks at either place; with one member they are one I/O
        assert_eq!(Geometry { members: 1, ..joined }.chunks_touched(24 << 10, 24 << 10, 0), 1.0);
    }

    #[test]
    fn whole_rows_load_all_members_alike() {
        let g = stripe(3, 16);
        assert!(g.covers_all(48, 48, 0) && g.covers_all(96, 16, 16));
        assert!(!g.covers_all(32, 32, 0) && !g.covers_all(48, 48, 4));
        assert!(Geometry { members: 2, copies: 2, ..Geometry::PLAIN }.covers_all(4096, 4096, 0));
    }
}
