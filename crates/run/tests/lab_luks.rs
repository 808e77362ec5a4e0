//! What a trial records of an encrypted device, in a kernel that has dm-crypt; fio is the real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

mod support;

use diskproof_run::protocol::{Reply, Request, TrialRequest};
use record::id::{CellId, RunId, TrialId};
use record::plan::{Cell, Measure};
use record::stack::{Filesystem, FsKind, Layer, Luks, Rebuild, Stack};
use record::topology::{BlockKind, BlockNode};
use record::trial::{Outcome, TrialRecord};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;
use support::talk;

const MIB: u64 = 1 << 20;

fn volume() -> Volume {
    let kind = VolumeKind::Emulate { size_bytes: 96 * MIB, limits: Limits::default() };
    Volume { name: "vol".to_owned(), kind }
}

fn stack(no_workqueues: bool) -> Stack {
    let luks = Luks {
        cipher: Luks::CIPHER.to_owned(),
        key_bits: 512,
        sector_bytes: 4096,
        no_read_workqueue: no_workqueues,
        no_write_workqueue: no_workqueues,
    };
    let ext4 = Filesystem { kind: FsKind::Ext4, mkfs_options: vec![], mount_options: vec![], stripe: None };
    Stack {
        name: "luks".to_owned(),
        volumes: vec![volume()],
        beside: vec![],
        layers: vec![Layer::Luks(luks), Layer::Filesystem(ext4)],
        rebuild: Rebuild::Trial,
    }
}

fn trial(round: u32, stack: Stack) -> Request {
    let cell = CellId("00112233445566dd".into());
    let options = Options {
        ioengine: "libaio".into(),
        iodepth: 8,
        direct: true,
        verify: Some("crc32c".into()),
        time_based: false,
        ..Options::new(Rw::Randwrite, 4096, 16 * MIB)
    };
    let workload = Workload {
        name: "randwrite".into(),
        engine: EngineKind::Fio,
        ask: Ask::Options(options),
        layout: Layout::Written,
        cache: CacheStart::Cold,
        on: Vec::new(),
    };
    // It ends when all is written; a guest that shares its processors takes a while.
    let measure = Measure::new(300.0, 0.0, 2);
    Request::Trial(Box::new(TrialRequest {
        id: TrialId { cell: cell.clone(), round },
        cell: Cell { id: cell, target: "local".into(), stack, workload, levels: BTreeMap::new() },
        measure,
        seed: 7,
        from: None,
        live: false,
        together: None,
    }))
}

fn check(record: &TrialRecord) {
    assert_eq!(record.outcome, Outcome::Measured, "{:?}", record.engine.as_ref().map(|e| &e.raw));
    let write = record.engine.as_ref().unwrap().write.as_ref().unwrap();
    assert_eq!(write.bytes, 16 * MIB);
    // the mapping is the ground's own device, and the volume lies below it
    let nodes = &record.topology.nodes;
    let at = |depth: u32| -> Vec<&BlockNode> { nodes.iter().filter(|node| node.depth == depth).collect() };
    let (ground, below) = (at(0), at(1));
    let ([mapping], [volume]) = (ground.as_slice(), below.as_slice()) else { panic!("{nodes:?}") };
    assert!(matches!(&mapping.kind, BlockKind::Composite { members } if *members == [volume.name.clone()]));
    assert!(mapping.name.starts_with("dm-") && volume.name.starts_with("loop"), "{nodes:?}");
    assert_eq!(record.topology.unknown, Vec::<String>::new());
    let (first, last) = (record.evidence.samples.first().unwrap(), record.evidence.samples.last().unwrap());
    for node in [mapping, volume] {
        let written = last.block[&node.name].write_bytes - first.block[&node.name].write_bytes;
        eprintln!("{}: {written} bytes written", node.name);
        assert!(written >= 15 * MIB, "{}: {written}", node.name);
    }
    let ran = |word: &str| record.built.iter().any(|argv| argv.iter().any(|arg| arg == word));
    assert!(ran("luksFormat") && ran("open"), "{:?}", record.built);
}

#[test]
fn lab_luks_a_trial_is_measured_and_its_devices_are_seen() {
    if !testkit::is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = testkit::exclusive();
    let state = testkit::fresh_dir("luks");
    let open = Request::Open {
        run: RunId("luks".into()),
        volumes: vec![volume()],
        space_bytes: BTreeMap::new(),
        needs_tools: Vec::new(),
        ends_in_seconds: None,
        shared: stack::Shared::default(),
    };
    let replies = talk(&state, &[open, trial(0, stack(true)), trial(1, stack(false)), Request::Close]);
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
