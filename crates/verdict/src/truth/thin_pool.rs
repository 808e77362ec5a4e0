//! Thin pools, by what they had allocated before and after the load.

use super::judged;
use crate::detected::Detected;
use crate::testing::{MIB, Truth, filesystem};
use record::finding::{Claim, Severity};
use record::lvm::{ThinRecord, ThinState};
use record::stack::FsKind;
use record::workload::{Layout, Rw};

/// Chunks for 100 MiB, from the layout and from earlier trials.
const EARLIER: u64 = 1600;

/// Writes to 256 MiB of data, which allocate this many chunks of 64 KiB.
fn allocating(chunks: u64) -> Truth {
    let mut t = Truth::new(Rw::Randwrite, 4096, true, filesystem(FsKind::Ext4), 1);
    t.emulated(1);
    t.asked(0, 40 * MIB);
    t.device_write = 40 * MIB;
    let state = |used_chunks| {
        let (metadata_bytes, used_metadata_bytes) = (4 * MIB, used_chunks * 16);
        Some(ThinState {
            chunk_bytes: 64 << 10,
            chunks: 8000,
            used_chunks,
            metadata_bytes,
            used_metadata_bytes,
        })
    };
    let (before, after) = (state(EARLIER), state(EARLIER + chunks));
    t.trial.thin_pools = vec![ThinRecord { pool: "g-pool-tpool".to_owned(), before, after }];
    t
}

fn found(t: &Truth) -> Option<Detected> {
    judged(t).1.into_iter().find(|f| f.claim == Claim::ChunksAllocated)
}

#[test]
fn first_writes_are_told_with_their_share_of_the_data() {
    let one = found(&allocating(1024)).unwrap();
    assert_eq!(one.severity, Severity::Caveat);
    assert!(
        one.text.contains("1024 chunks of 64 KiB") && one.text.contains("25 % of the data"),
        "{}",
        one.text
    );
    assert!(one.remedy.contains("writes in place"), "{}", one.remedy);
    assert_eq!(found(&allocating(200)).unwrap().severity, Severity::Note, "a twentieth");
    assert!(found(&allocating(40)).is_none(), "the journal of a file system");
}

#[test]
fn who_asks_for_first_writes_is_told_whether_he_gets_them_alone() {
    let mut t = allocating(4096);
    t.cell.workload.layout = Layout::Unwritten;
    t.options().time_based = true;
    let mixed = found(&t).unwrap();
    assert_eq!(mixed.severity, Severity::Caveat);
    assert!(mixed.remedy.contains("time_based: 0"), "{}", mixed.remedy);
    t.options().time_based = false;
    let alone = found(&t).unwrap();
    assert_eq!(alone.severity, Severity::Note);
    assert!(alone.remedy.contains("asks for first writes"), "{}", alone.remedy);
}

#[test]
fn nothing_is_claimed_of_a_pool_that_gave_nothing_or_was_not_seen() {
    assert!(found(&allocating(0)).is_none());
    let mut t = allocating(1024);
    let pool = &mut t.trial.thin_pools[0];
    std::mem::swap(&mut pool.before, &mut pool.after);
    assert!(found(&t).is_none(), "discards freed chunks");
    t.trial.thin_pools[0].before = None;
    assert!(found(&t).is_none(), "nobody looked");
}
