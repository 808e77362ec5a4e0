//! Three clients of known truth on one exporting machine: where the bytes came from, what limited them, and who got how much.

use super::{Look, limiting, looks, of_cell, shares};
use crate::sequential::Means;
use crate::testing::{self, GIB, SECOND, Truth};
use record::clock::ClockOffset;
use record::counter::{CpuTicks, Memory, Sample, ServerClock, ServerCounters};
use record::finding::Served;
use record::judged::{Limit, LimitKind};
use record::nfs::{Nfs, NfsCounters};
use record::plan::Cell;
use record::stack::Layer;
use record::together::{merged, mounted};
use record::topology::Exported;
use record::trial::{Part, TrialRecord};
use record::workload::{Ask, Rw};
use std::collections::BTreeMap;

const NAMES: [&str; 3] = ["a", "b", "c"];

fn truth(devices: u32) -> Truth {
    let (export, mount_options) = (Vec::new(), Vec::new());
    let layer = Layer::Nfs(Nfs {
        version: None,
        export,
        rsize_bytes: None,
        wsize_bytes: None,
        mount_options,
        client: None,
    });
    let mut truth = Truth::new(Rw::Randread, 65536, false, layer, devices);
    truth.cell.target = "nas".to_owned();
    truth.cell.workload.on = NAMES.map(str::to_owned).to_vec();
    truth
}

/// A client that requested so many bytes in 20 s, and fetched so many of them from the server.
fn client(target: &str, asked: u64, fetched: u64) -> Part {
    let mut truth = truth(0);
    truth.asked(asked, 0);
    let mut record = truth.record();
    (record.files_before, record.files_after) = (Vec::new(), Vec::new());
    for sample in &mut record.evidence.samples {
        let done = (sample.monotonic_ns.saturating_sub(100 * SECOND)).min(20 * SECOND);
        let server_read_bytes = fetched / 1000 * (done / 1_000_000) / 20 + 7;
        sample.nfs = Some(NfsCounters { server_read_bytes, ..NfsCounters::default() });
    }
    Part {
        target: target.to_owned(),
        clock_before: Some(ClockOffset::default()),
        clock_after: Some(ClockOffset::default()),
        agreed_ns: None,
        began: None,
        ended: None,
        record: Box::new(record),
    }
}

/// The trial of three clients, with (requested, fetched) for each; `device`: bytes that the server's disk read. `busy`: the share of
/// its CPUs that the server used.
fn trial(clients: [(u64, u64); 3], device: u64, queue: f64, busy: f64) -> (TrialRecord, Cell) {
    let mut truth = truth(1);
    (truth.device_read, truth.device_queue) = (device, queue);
    truth.file(30 * GIB, |_| {});
    truth.trial.topology.exported = Some(Exported { fs_type: Some("xfs".to_owned()), mount_options: None });
    let mut trial = truth.record();
    (trial.cache_before, trial.cache_after) = (Vec::new(), Vec::new());
    let parts: Vec<Part> =
        NAMES.iter().zip(clients).map(|(name, (asked, fetched))| client(name, asked, fetched)).collect();
    for node in &mut trial.topology.nodes {
        node.name = format!("server:{}", node.name);
    }
    let theirs = |sample: Sample| Sample {
        monotonic_ns: sample.monotonic_ns + 3_000_000,
        block: sample.block.into_iter().map(|(name, block)| (format!("server:{name}"), block)).collect(),
        server: Some(ServerCounters {
            cpu: Some(cpu(sample.monotonic_ns, busy)),
            memory: Some(Memory { total_bytes: Some(7 * GIB), ..Memory::default() }),
        }),
        ..Sample::default()
    };
    trial.evidence.samples = std::mem::take(&mut trial.evidence.samples).into_iter().map(theirs).collect();
    trial.evidence.samples.extend(mounted(&parts));
    trial.evidence.samples.sort_by_key(|sample| sample.monotonic_ns);
    trial.evidence.server_clock = Some(ServerClock { ahead_ns: 0, uncertain_ns: 1_000_000 });
    trial.engine = merged(&parts);
    (TrialRecord { parts, ..trial }, truth.cell)
}

fn cpu(at_ns: u64, busy: f64) -> CpuTicks {
    let all = crate::span::float(at_ns / 1_000_000);
    CpuTicks {
        system: testing::whole(all * busy),
        idle: testing::whole(all * (1.0 - busy)),
        ..CpuTicks::default()
    }
}

fn close(found: Served, wanted: Served) {
    let each = |s: Served| [s.device, s.page_cache, s.other_cache, s.unknown, s.hole, s.other];
    let near = each(found).iter().zip(each(wanted)).all(|(found, wanted)| (found - wanted).abs() < 0.03);
    assert!(near, "{found:?}, not {wanted:?}");
}

/// 12 GiB were requested. c has read half of its 6 GiB from its own cache; of the 9 GiB that the server delivered, its disk read 6.
#[test]
fn the_bytes_of_all_clients_are_followed_through_the_server() {
    let clients = [(3 * GIB, 3 * GIB), (3 * GIB, 3 * GIB), (6 * GIB, 3 * GIB)];
    let (trial, cell) = trial(clients, 6 * GIB, 4.0, 0.3);
    let looks = looks(&trial, &cell).unwrap();
    let machines: Vec<Option<&str>> = looks.iter().map(|look| look.machine).collect();
    assert_eq!(machines, [None, Some("a"), Some("b"), Some("c")]);
    let all = shares(&looks).unwrap().read.unwrap();
    close(all, Served { device: 0.5, page_cache: 0.25, other_cache: 0.25, ..Served::default() });
    close(looks[1].shares.read.unwrap(), Served { device: 1.0, ..Served::default() });
    close(looks[3].shares.read.unwrap(), Served { device: 0.5, page_cache: 0.5, ..Served::default() });
}

#[test]
fn without_the_counters_of_one_client_nothing_is_made_up() {
    let (mut trial, cell) = trial([(GIB, GIB); 3], GIB, 4.0, 0.3);
    trial.parts[1].record.evidence.samples.clear();
    trial.evidence.samples.retain(|sample| sample.server.is_some());
    let looks = looks(&trial, &cell).unwrap();
    assert!(shares(&looks).unwrap().both.unknown > 0.5, "{:?}", shares(&looks));
    assert!(looks[2].shares.both.unknown > 0.99);
}

/// Of 192 I/Os in flight the disk holds 90, fewer than half: the others wait at the server's threads.
#[test]
fn a_disk_that_is_always_busy_is_the_limit_although_ios_wait_before_it() {
    let (mut trial, mut cell) = trial([(GIB, GIB); 3], 3 * GIB, 90.0, 0.1);
    for sample in &mut trial.evidence.samples {
        sample.block.values_mut().for_each(|block| block.busy_ms = sample.monotonic_ns / 1_000_000);
    }
    let Ask::Options(options) = &mut cell.workload.ask else { panic!("options") };
    options.direct = true;
    let looks = looks(&trial, &cell).unwrap();
    let truth = truth(1);
    let of = |look: &Look<'_>| crate::limit::of_trial(&truth.scene(&look.facts, &look.shares, &[]));
    let (served, own) = (of(&looks[0]), of(&looks[1]));
    assert_eq!((served.by, own.by), (LimitKind::Device, LimitKind::Unknown), "{served:?}");
    assert_eq!(limiting(Some(own), Some(served)).unwrap().by, LimitKind::Device);
}

/// A client that is throttled gets a tenth of the others.
#[test]
fn a_throttled_client_is_the_slowest_and_said_to_be() {
    let (trial, cell) =
        trial([(5 * GIB, 5 * GIB), (GIB / 2, GIB / 2), (5 * GIB, 5 * GIB)], 10 * GIB, 4.0, 0.3);
    let view = of_cell(&cell, &[&trial], "iops", &Means::plain(&testing::measure(1))).unwrap();
    assert_eq!(view.slowest.as_deref(), Some("b"));
    assert!((view.max_over_min.unwrap() - 10.0).abs() < 0.1, "{view:?}");
    assert!(view.text.contains("b is the slowest"), "{}", view.text);
}

#[test]
fn what_the_slowest_shows_itself_comes_before_what_the_server_shows() {
    let limit = |by, shown| {
        Some(Limit { by, shown, evidence: BTreeMap::new(), against: BTreeMap::new(), text: String::new() })
    };
    let by = |own, served| limiting(own, served).map(|limit| limit.by);
    let unknown = || limit(LimitKind::Unknown, false);
    let device = || limit(LimitKind::Device, false);
    assert_eq!(by(limit(LimitKind::Network, true), device()), Some(LimitKind::Network));
    assert_eq!(by(limit(LimitKind::Generator, false), device()), Some(LimitKind::Device), "a guess");
    assert_eq!(by(limit(LimitKind::Generator, false), unknown()), Some(LimitKind::Generator));
    assert_eq!(by(unknown(), device()), Some(LimitKind::Device));
    let says = |text: &str| unknown().map(|limit| Limit { text: text.to_owned(), ..limit });
    assert_eq!(limiting(says("client"), says("server")).unwrap().text, "server", "it has the devices");
    assert_eq!(by(unknown(), None), Some(LimitKind::Unknown), "each machine has its own devices");
    assert_eq!(by(None, unknown()), Some(LimitKind::Unknown), "one machine");
}
