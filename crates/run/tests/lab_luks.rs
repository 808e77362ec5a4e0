//! What a trial records of an encrypted device, in a kernel that has dm-crypt; fio is the real one.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up what it needs has failed")]

use diskproof_run::node::serve;
use diskproof_run::protocol::{Reply, Request, TrialRequest};
use record::id::{CellId, RunId, TrialId};
use record::plan::{Cell, Measure};
use record::stack::{Filesystem, FsKind, Layer, Luks, Rebuild, Stack};
use record::topology::{BlockKind, BlockNode};
use record::trial::{Outcome, TrialRecord};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

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
    };
    let measure = Measure {
        trial_seconds: 30.0,
        ramp_seconds: 0.0,
        rounds: 2,
        confidence: 0.95,
        interval: None,
        sample_hz: 10.0,
        max_seconds: None,
        until: None,
        max_trial_seconds: None,
        max_written_bytes: None,
        max_cost: None,
        trim: None,
    };
    Request::Trial(Box::new(TrialRequest {
        id: TrialId { cell: cell.clone(), round },
        cell: Cell { id: cell, target: "local".into(), stack, workload, levels: BTreeMap::new() },
        measure,
        seed: 7,
        from: None,
    }))
}

/// Asks one request after the other, each when the one before is answered.
fn talk(state: &Path, requests: &[Request]) -> Vec<Reply> {
    let (input, mut ask) = std::io::pipe().unwrap();
    let (hear, output) = std::io::pipe().unwrap();
    let state = state.to_path_buf();
    let node = std::thread::spawn(move || serve(BufReader::new(input), output, &state));
    let mut heard = BufReader::new(hear).lines();
    let mut answers = Vec::new();
    for request in requests {
        writeln!(ask, "{}", serde_json::to_string(request).unwrap()).unwrap();
        let replies = heard.by_ref().map(|reply| serde_json::from_str(&reply.unwrap()).unwrap());
        answers.extend(replies.filter(|reply| !matches!(reply, Reply::Event { .. })).take(1));
    }
    drop(ask);
    node.join().unwrap().unwrap();
    answers
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
