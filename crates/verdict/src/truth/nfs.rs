//! NFS on one machine or two: the bytes that the client fetched, those that the devices delivered, and the difference.

use super::{assert_served, claims, judged};
use crate::attribute::attribute;
use crate::facts::Facts;
use crate::testing::{GIB, MIB, Truth};
use crate::usage::queue::{device_busy, device_queue};
use record::counter::{Memory, Sample, ServerClock, ServerCounters};
use record::extents::Residency;
use record::finding::{Claim, Served, Severity};
use record::nfs::{Nfs, NfsCounters};
use record::stack::Layer;
use record::topology::Exported;
use record::workload::Rw;

/// 10 GiB requested through an export of one file system.
fn mounted(rw: Rw, direct: bool, export: &[&str], each: fn(&mut Sample, f64)) -> Truth {
    let layer = Layer::Nfs(Nfs {
        version: None,
        export: export.iter().map(|word| (*word).to_owned()).collect(),
        rsize_bytes: None,
        wsize_bytes: None,
        mount_options: vec![],
        client: None,
    });
    let mut t = Truth::new(rw, 65536, direct, layer, 1);
    t.trial.topology.exported = Some(Exported { fs_type: Some("xfs".to_owned()), mount_options: None });
    t.file(20 * GIB, |_| {});
    t.cached(0, 0);
    let writes = matches!(rw, Rw::Randwrite);
    t.asked(if writes { 0 } else { 10 * GIB }, if writes { 10 * GIB } else { 0 });
    t.each = each;
    t
}

fn moved(sample: &mut Sample, done: f64, read: u64, written: u64) {
    let grown = |total: u64| 1000 + crate::testing::whole(total as f64 * done);
    sample.nfs = Some(NfsCounters {
        server_read_bytes: grown(read),
        server_write_bytes: grown(written),
        ..NfsCounters::default()
    });
}

#[test]
fn reads_that_devices_delivered_are_theirs() {
    let mut t = mounted(Rw::Randread, true, &[], |s, done| moved(s, done, 10 * GIB, 0));
    t.device_read = 10 * GIB;
    let (shares, found) = judged(&t);
    assert_served(shares.read.unwrap(), Served { device: 1.0, ..Served::default() });
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn both_caches_are_told_apart() {
    // 8 of 10 GiB were fetched from the server, 5 of these from its devices
    let mut t = mounted(Rw::Randread, false, &[], |s, done| moved(s, done, 8 * GIB, 0));
    t.device_read = 5 * GIB;
    let held = |bytes| {
        vec![Residency {
            path: "/m/data".into(),
            size_bytes: 20 * GIB,
            cached_bytes: bytes,
            dirty_bytes: None,
        }]
    };
    (t.trial.server_before, t.trial.server_after) = (held(0), held(300 * MIB));
    let (shares, found) = judged(&t);
    let wanted = Served { device: 0.5, page_cache: 0.2, other_cache: 0.3, ..Served::default() };
    assert_served(shares.read.unwrap(), wanted);
    let server = found.iter().find(|f| f.claim == Claim::ServedFromOtherCache).unwrap();
    assert_eq!(server.severity, Severity::Caveat);
    assert!(server.text.contains("NFS server's memory") && server.text.contains("300"), "{}", server.text);
    assert!(found.iter().any(|f| f.claim == Claim::ServedFromPageCache));
}

#[test]
fn an_asynchronous_export_is_never_durable() {
    let of = |export: &[&str], on_device: u64| {
        let mut t = mounted(Rw::Randwrite, true, export, |s, done| moved(s, done, 0, 10 * GIB));
        t.device_write = on_device;
        let (shares, found) = judged(&t);
        let text = found.into_iter().find(|f| f.claim == Claim::NotDurable).map(|f| (f.severity, f.text));
        (shares.write.unwrap(), text)
    };
    let (shares, said) = of(&["async"], 3 * GIB);
    assert_served(shares, Served { device: 0.3, other_cache: 0.7, ..Served::default() });
    let (severity, text) = said.unwrap();
    assert_eq!(severity, Severity::Caveat, "it is what was asked for");
    assert!(text.contains("The export is async") && text.contains("70 %"), "{text}");
    assert!(of(&["async"], 10 * GIB).1.is_some(), "also where all happened to be on the device");
    assert!(of(&[], 10 * GIB).1.is_none());
}

#[test]
fn without_the_clients_counters_nothing_is_made_up() {
    let mut t = mounted(Rw::Randread, true, &[], |_, _| {});
    t.device_read = 4 * GIB;
    let (shares, _) = judged(&t);
    assert!(shares.read.unwrap().unknown > 0.5, "{shares:?}");
    assert!(claims(&t).contains(&Claim::SourceUnknown));
}

/// The devices' counters are in samples of the server, between those of the client, with a clock that may be 3 ms off.
#[test]
fn devices_of_another_node_are_counted_like_ones_own() {
    let of = |device: u64, fetched: fn(&mut Sample, f64)| {
        let mut t = mounted(Rw::Randread, true, &[], fetched);
        let Layer::Nfs(layer) = &mut t.cell.stack.layers[0] else { panic!("{:?}", t.cell.stack) };
        layer.client = Some("other".to_owned());
        t.device_read = device;
        let mut trial = t.record();
        trial.evidence.server_clock = Some(ServerClock { ahead_ns: 0, uncertain_ns: 3_000_000 });
        for node in &mut trial.topology.nodes {
            node.name = format!("server:{}", node.name);
        }
        let theirs: Vec<Sample> = trial.evidence.samples.iter_mut().map(apart).collect();
        trial.evidence.samples.extend(theirs);
        trial.evidence.samples.sort_by_key(|sample| sample.monotonic_ns);
        (t, trial)
    };
    let (t, trial) = of(10 * GIB, |s, done| moved(s, done, 10 * GIB, 0));
    let facts = Facts::of(&trial, &t.cell).unwrap();
    assert_served(attribute(&facts).read.unwrap(), Served { device: 1.0, ..Served::default() });
    assert!(device_queue(&facts).is_some() && device_busy(&facts).is_some());
    let whole = (facts.span.whole().seconds(), t.record());
    let own = Facts::of(&whole.1, &t.cell).unwrap().span.whole().seconds();
    assert!((whole.0 - own).abs() < 1e-9, "the load's time is told by the client's own samples");
    assert!((facts.server_memory_total().unwrap() - crate::span::float(7 * GIB)).abs() < 1.0);
    let (t, trial) = of(4 * GIB, |s, done| moved(s, done, 10 * GIB, 0));
    let shares = attribute(&Facts::of(&trial, &t.cell).unwrap()).read.unwrap();
    assert_served(shares, Served { device: 0.4, other_cache: 0.6, ..Served::default() });
}

/// Moves the server's part of a sample into its own one, 5 ms later.
fn apart(client: &mut Sample) -> Sample {
    let block = std::mem::take(&mut client.block);
    let memory = Some(Memory { total_bytes: Some(7 * GIB), ..Memory::default() });
    Sample {
        monotonic_ns: client.monotonic_ns + 5_000_000,
        block: block.into_iter().map(|(name, counters)| (format!("server:{name}"), counters)).collect(),
        server: Some(ServerCounters { memory, ..ServerCounters::default() }),
        ..Sample::default()
    }
}
