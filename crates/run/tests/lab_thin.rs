//! What a trial records of a thin pool, in a kernel that has dm-thin; fio is the real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

mod support;

use diskproof_run::protocol::{Reply, Request, TrialRequest};
use record::id::{CellId, RunId, TrialId};
use record::lvm::{Discards, Lvm, LvmLayout, Thin, ThinState};
use record::plan::{Cell, Measure};
use record::stack::{Filesystem, FsKind, Layer, Rebuild, Stack};
use record::topology::BlockNode;
use record::trial::{Outcome, TrialRecord};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;
use support::talk;

const MIB: u64 = 1 << 20;
const DATA: u64 = 16 * MIB;
const CHUNK: u64 = 64 << 10;

fn volume() -> Volume {
    let kind = VolumeKind::Emulate { size_bytes: 96 * MIB, limits: Limits::default() };
    Volume { name: "vol".to_owned(), kind }
}

fn stack() -> Stack {
    let thin = Thin {
        chunk_bytes: Some(CHUNK),
        zero: true,
        discards: Discards::Passdown,
        metadata_bytes: None,
        virtual_bytes: None,
    };
    let lvm = Lvm { layout: LvmLayout::Linear, size_bytes: None, tag: None, cache: None, thin: Some(thin) };
    let ext4 = Filesystem { kind: FsKind::Ext4, mkfs_options: vec![], mount_options: vec![], stripe: None };
    Stack {
        name: "thin".to_owned(),
        volumes: vec![volume()],
        beside: vec![],
        layers: vec![Layer::Lvm(lvm), Layer::Filesystem(ext4)],
        rebuild: Rebuild::Trial,
    }
}

fn trial(round: u32, layout: Layout) -> Request {
    let cell = CellId("00112233445566ee".into());
    let options = Options {
        ioengine: "libaio".into(),
        iodepth: 8,
        direct: true,
        time_based: false,
        ..Options::new(Rw::Randwrite, 4096, DATA)
    };
    let workload = Workload {
        name: "randwrite".into(),
        engine: EngineKind::Fio,
        ask: Ask::Options(options),
        layout,
        cache: CacheStart::Cold,
        on: Vec::new(),
    };
    let measure = Measure::new(60.0, 0.0, 2);
    Request::Trial(Box::new(TrialRequest {
        id: TrialId { cell: cell.clone(), round },
        cell: Cell { id: cell, target: "local".into(), stack: stack(), workload, levels: BTreeMap::new() },
        measure,
        seed: 7,
        from: None,
        live: false,
        together: None,
    }))
}

/// The bytes of chunks that the pool allocated during the load.
fn allocated(record: &TrialRecord) -> u64 {
    assert_eq!(record.outcome, Outcome::Measured, "{:?}", record.engine.as_ref().map(|e| &e.raw));
    assert_eq!(record.engine.as_ref().unwrap().write.as_ref().unwrap().bytes, DATA);
    // the volume, the pool, its data and its metadata, the loop device, and what its file lies on
    let nodes = &record.topology.nodes;
    let depths: Vec<u32> = nodes.iter().map(|node| node.depth).collect();
    assert_eq!(depths[..5], [0, 1, 2, 2, 3], "{nodes:?}");
    let named = |node: &&BlockNode| node.name.starts_with("loop");
    assert_eq!(nodes.iter().filter(named).count(), 1, "{nodes:?}");
    assert_eq!(record.topology.unknown, Vec::<String>::new());
    let [pool] = record.thin_pools.as_slice() else { panic!("{:?}", record.thin_pools) };
    eprintln!("{pool:?}");
    assert!(pool.pool.ends_with("-pool-tpool"), "{}", pool.pool);
    let (before, after) = (pool.before.as_ref().unwrap(), pool.after.as_ref().unwrap());
    let of = |state: &ThinState| (state.chunk_bytes, state.chunks, state.metadata_bytes);
    assert_eq!(of(before), of(after));
    assert_eq!((before.chunk_bytes, before.metadata_bytes), (CHUNK, 4 * MIB));
    assert!(after.used_chunks <= after.chunks && after.used_metadata_bytes > 0);
    (after.used_chunks - before.used_chunks) * CHUNK
}

#[test]
fn lab_thin_first_writes_allocate_chunks_and_later_ones_do_not() {
    if !testkit::is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let state = testkit::fresh_dir("thin");
    let open = Request::Open {
        run: RunId("thin".into()),
        volumes: vec![volume()],
        space_bytes: BTreeMap::new(),
        needs_tools: vec!["lvm".to_owned(), "dmsetup".to_owned(), "thin_check".to_owned()],
        ends_in_seconds: None,
        shared: stack::Shared::default(),
    };
    let asked = [open, trial(0, Layout::Written), trial(1, Layout::Unwritten), Request::Close];
    let replies = talk(&state, &asked);
    let [
        Reply::Opened { .. },
        Reply::Trial { record: again, .. },
        Reply::Trial { record: first, .. },
        Reply::Closed,
    ] = replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    // the journal may reach a chunk that nothing has written to
    assert!(allocated(again) <= MIB, "{}", allocated(again));
    let new = allocated(first);
    assert!((DATA..=DATA + 4 * MIB).contains(&new), "{new}");
}
