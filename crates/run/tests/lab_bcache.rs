//! What a trial records of bcache, in a kernel that has it; fio is the real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

mod support;

use diskproof_run::protocol::{Reply, Request, TrialRequest};
use record::id::{CellId, RunId, TrialId};
use record::lvm_cache::{BcacheState, CacheState};
use record::plan::{Cell, Measure};
use record::stack::{Bcache, BcacheMode, Layer, Rebuild, Stack};
use record::topology::{BlockKind, BlockNode};
use record::trial::{Outcome, TrialRecord};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;
use support::talk;

const MIB: u64 = 1 << 20;
const DATA: u64 = 16 * MIB;

fn volume(name: &str) -> Volume {
    let kind = VolumeKind::Emulate { size_bytes: 96 * MIB, limits: Limits::default() };
    Volume { name: name.to_owned(), kind }
}

fn trial(round: u32, mode: BcacheMode, rw: Rw) -> Request {
    let cell = CellId("00112233445566dd".into());
    let options = Options {
        ioengine: "libaio".into(),
        iodepth: 8,
        direct: true,
        time_based: false,
        ..Options::new(rw, 4096, DATA)
    };
    let workload = Workload {
        name: "random".into(),
        engine: EngineKind::Fio,
        ask: Ask::Options(options),
        layout: Layout::Written,
        cache: CacheStart::Cold,
        on: Vec::new(),
    };
    let bcache = Bcache {
        cache: "ssd".to_owned(),
        mode,
        block_bytes: Some(4096),
        bucket_bytes: 64 << 10,
        sequential_cutoff_bytes: Some(0),
        writeback_percent: None,
        // An emulated guest is slow at times, and its requests would bypass the cache.
        congested_read_threshold_us: Some(0),
        congested_write_threshold_us: Some(0),
    };
    let stack = Stack {
        name: "bcache".to_owned(),
        volumes: vec![volume("hdd")],
        beside: vec![volume("ssd")],
        layers: vec![Layer::Bcache(bcache)],
        rebuild: Rebuild::Trial,
    };
    Request::Trial(Box::new(TrialRequest {
        id: TrialId { cell: cell.clone(), round },
        cell: Cell { id: cell, target: "local".into(), stack, workload, levels: BTreeMap::new() },
        // The load ends when it has read or written its data once, also on a guest that is very slow.
        measure: Measure::new(500.0, 0.0, 2),
        seed: 7,
        from: None,
        live: false,
        together: None,
    }))
}

/// The states before and after a load whose devices are all seen.
fn states(record: &TrialRecord) -> [&BcacheState; 2] {
    assert_eq!(record.outcome, Outcome::Measured, "{:?}", record.engine.as_ref().map(|e| &e.raw));
    let nodes = &record.topology.nodes;
    let at = |depth: u32| -> Vec<&BlockNode> { nodes.iter().filter(|node| node.depth == depth).collect() };
    let [top] = at(0)[..] else { panic!("{nodes:?}") };
    let BlockKind::Composite { members } = &top.kind else { panic!("{nodes:?}") };
    assert!(top.name.starts_with("bcache") && members.len() == 2 && at(1).len() == 2, "{nodes:?}");
    assert_eq!(record.topology.unknown, Vec::<String>::new());
    let [cache] = record.caches.as_slice() else { panic!("{:?}", record.caches) };
    assert_eq!(cache.volume, top.name);
    let both = [&cache.before, &cache.after].map(|state| match state {
        Some(CacheState::Bcache(state)) => state,
        other => panic!("{other:?}"),
    });
    eprintln!("{both:?}");
    both
}

#[test]
fn lab_bcache_counts_what_it_serves_and_tells_what_it_keeps() {
    if !testkit::is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let state = testkit::fresh_dir("bcache");
    let open = Request::Open {
        run: RunId("bcache".into()),
        volumes: vec![volume("hdd"), volume("ssd")],
        space_bytes: BTreeMap::new(),
        needs_tools: Vec::new(),
        ends_in_seconds: None,
        shared: stack::Shared::default(),
    };
    let requests = [
        open,
        trial(0, BcacheMode::Writeback, Rw::Randread),
        trial(1, BcacheMode::Writeback, Rw::Randwrite),
        trial(2, BcacheMode::None, Rw::Randread),
        Request::Close,
    ];
    let replies = talk(&state, &requests);
    let [
        Reply::Opened { .. },
        Reply::Trial { record: read, .. },
        Reply::Trial { record: write, .. },
        Reply::Trial { record: none, .. },
        Reply::Closed,
    ] = replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    let [before, after] = states(read);
    let reads = DATA / 4096;
    let grown = |of: fn(&BcacheState) -> u64| of(after) - of(before);
    let (hits, all) = (grown(|c| c.hits), grown(|c| c.hits + c.misses + c.bypass_hits + c.bypass_misses));
    assert!(all >= reads && all <= reads + reads / 10, "{all} of {reads}");
    assert!(hits > 0, "{hits} of {reads}");
    let [_, after] = states(write);
    assert!(after.dirty_bytes > 0 && after.mode == "writeback", "{after:?}");
    let [before, after] = states(none);
    assert_eq!((after.hits, after.mode.as_str()), (before.hits, "none"));
}
