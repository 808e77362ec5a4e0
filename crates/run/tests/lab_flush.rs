//! An LVM cache that is attached after the layout and flushed after the load, on request of a controller. Needs a kernel with
//! device-mapper; uses the real fio.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

mod support;

use diskproof_run::protocol::{Reply, Request, TrialRequest};
use record::id::{CellId, RunId, TrialId};
use record::lvm::{Attach, CacheForm, CacheKind, CacheMode, Detach, Lvm, LvmCache, LvmLayout};
use record::lvm_cache::CacheState;
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

fn volume(name: &str, mib: u64) -> Volume {
    let kind = VolumeKind::Emulate { size_bytes: mib * MIB, limits: Limits::default() };
    Volume { name: name.to_owned(), kind }
}

fn stack(form: CacheForm) -> Stack {
    let cache = LvmCache {
        volumes: vec!["ssd".to_owned()],
        tag: None,
        form,
        attach: Attach::LaidOut,
        detach: Detach::Flush,
    };
    let lvm = Lvm { layout: LvmLayout::Linear, size_bytes: None, tag: None, cache: Some(cache), thin: None };
    let ext4 = Filesystem { kind: FsKind::Ext4, mkfs_options: vec![], mount_options: vec![], stripe: None };
    Stack {
        name: "cached".to_owned(),
        volumes: vec![volume("hdd", 64)],
        beside: vec![volume("ssd", 48)],
        layers: vec![Layer::Lvm(lvm), Layer::Filesystem(ext4)],
        rebuild: Rebuild::Trial,
    }
}

fn trial(round: u32, form: CacheForm) -> Request {
    let cell = CellId("00112233445566cc".into());
    let options = Options {
        ioengine: "libaio".into(),
        iodepth: 8,
        direct: true,
        time_based: false,
        verify: Some("crc32c".into()),
        ..Options::new(Rw::Randwrite, 4096, DATA)
    };
    let workload = Workload {
        name: "randwrite".into(),
        engine: EngineKind::Fio,
        ask: Ask::Options(options),
        layout: Layout::Written,
        cache: CacheStart::Cold,
        on: Vec::new(),
    };
    let measure = Measure::new(30.0, 0.0, 1);
    Request::Trial(Box::new(TrialRequest {
        id: TrialId { cell: cell.clone(), round },
        cell: Cell {
            id: cell,
            target: "local".into(),
            stack: stack(form),
            workload,
            levels: BTreeMap::new(),
        },
        measure,
        seed: 7,
        from: None,
        live: false,
        together: None,
    }))
}

fn check(record: &TrialRecord) {
    assert_eq!(record.outcome, Outcome::Measured, "{:?}", record.engine.as_ref().map(|e| &e.raw));
    let steps: Vec<&str> = record.steps.iter().map(|step| step.step.name()).collect();
    assert_eq!(steps, ["build", "prepare", "attach", "settle", "measure", "flush", "undo"]);
    let cache = &record.caches[0];
    let flushed = cache.flushed.as_ref().unwrap();
    eprintln!("{cache:?}");
    // dm-cache itself decides what it caches, and writes back when it is idle.
    let least = if matches!(cache.after, Some(CacheState::Writecache(_))) { DATA / 2 } else { 0 };
    assert!(flushed.owed_bytes.is_some_and(|bytes| bytes >= least), "{flushed:?}");
    assert_eq!(flushed.compared_bytes, Some(DATA));
    match cache.before.as_ref().unwrap() {
        CacheState::Cache(before) => assert!(before.used_blocks < 64, "nothing of the data: {before:?}"),
        CacheState::Writecache(before) => {
            assert!(before.blocks - before.free_blocks < 256, "nothing of the data: {before:?}");
        }
        CacheState::Bcache(_) => panic!("LVM has no bcache: {cache:?}"),
    }
    let named = |node: &BlockNode| node.name.starts_with("loop");
    let loops = record.topology.nodes.iter().filter(|node| named(node)).count();
    assert_eq!(loops, 2, "origin and cache: {:?}", record.topology);
    assert!(record.built.iter().any(|argv| argv.iter().any(|arg| arg == "--cachevol")), "{:?}", record.built);
}

#[test]
fn lab_a_cache_is_attached_to_laid_out_data_and_flushed_after_the_load() {
    if !testkit::is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let state = testkit::fresh_dir("flush");
    let open = Request::Open {
        run: RunId("flush".into()),
        volumes: vec![volume("hdd", 64), volume("ssd", 48)],
        space_bytes: BTreeMap::new(),
        needs_tools: Vec::new(),
        ends_in_seconds: None,
        shared: stack::Shared::default(),
    };
    let writeback = CacheForm::Cache {
        kind: CacheKind::Cachevol,
        mode: CacheMode::Writeback,
        chunk_bytes: Some(64 << 10),
        policy: None,
    };
    let replies = talk(&state, &[open, trial(0, writeback), trial(1, CacheForm::Writecache), Request::Close]);
    let [
        Reply::Opened { .. },
        Reply::Trial { record: one, .. },
        Reply::Trial { record: two, .. },
        Reply::Closed,
    ] = replies.as_slice()
    else {
        panic!("{replies:?}")
    };
    check(one);
    check(two);
}
