//! How a stack lays data over its members, and how many device I/Os a request becomes.

/// How a stack lays data over its members. Any kernel's stripe or mirror is one of these: btrfs, LVM, md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// Devices.
    pub(crate) members: u32,
    /// Bytes on one member before the next one is used; `None`: not striped.
    pub(crate) chunk_bytes: Option<u64>,
    /// How often every byte is written.
    pub(crate) copies: u32,
    /// Who serves reads.
    pub(crate) reads: Reads,
    /// Whether a request's chunks on one member, which lie side by side there, are one I/O where it is limited: the kernel joins what it has split
    /// before a disk gets it, and after a cgroup has counted it. Seen on Linux 6.1: LVM over 3 disks of 80, chunks of 16 KiB, requests of
    /// 64 KiB: 79.8 a second (in fours it would be 60), of 256 KiB: 79.9 (15).
    pub(crate) joined: bool,
}

/// Which copy a read is served from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Whichever is free, evenly: md. Where there is one copy, that one.
    Spread,
    /// The one that the reading thread's number says: btrfs (`read_policy` of `pid`).
    ByThread,
}

impl Geometry {
    /// One device, as it is.
    pub(crate) const PLAIN: Self =
        Self { members: 1, chunk_bytes: None, copies: 1, reads: Reads::Spread, joined: false };

    /// Device I/Os of one copy of a request: the chunks it touches, on average over requests that begin at `base` plus any multiple of
    /// `step`, all equally often.
    ///
    /// A request of `bytes` = q·chunk + t + 1 that begins r bytes into a chunk touches q + 1 of them, and one more when r + t ≥ chunk; r
    /// runs over all residues of base modulo gcd(step, chunk). Where they are joined, there are no more than members.
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

    /// Members that hold different data.
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

    /// The same by looking at every place.
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
        // 24 KiB: two chunks at either place; of one member there is one
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
