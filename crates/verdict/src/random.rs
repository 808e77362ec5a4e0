//! Property tests with random records: shares sum to 1, nothing is NaN or negative, nothing panics.

use crate::attribute;
use crate::input::Input;
use crate::judge::judge;
use crate::testing::{Truth, btrfs, filesystem, totals};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use record::counter::Sample;
use record::environment::Environment;
use record::event::Stopped;
use record::extents::{FileExtents, Residency};
use record::finding::Served;
use record::id::RunId;
use record::plan::{Measure, Plan};
use record::stack::{BtrfsProfile, FsKind};
use record::trial::{Outcome, TrialRecord};
use record::workload::{Layout, Rw};

fn rw() -> impl Strategy<Value = Rw> {
    prop_oneof![
        Just(Rw::Read),
        Just(Rw::Write),
        Just(Rw::Randread),
        Just(Rw::Randwrite),
        Just(Rw::Rw),
        Just(Rw::Randrw)
    ]
}

/// Zero, small, plausible and absurd amounts.
fn bytes() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), 1..10_000_u64, 0..1_u64 << 40, 0..1_u64 << 60]
}

fn extents() -> impl Strategy<Value = Vec<FileExtents>> {
    let one = (bytes(), bytes(), bytes(), bytes(), prop::option::of(bytes())).prop_map(
        |(size, hole, unwritten, encoded, disk)| FileExtents {
            size_bytes: size,
            hole_bytes: hole,
            unwritten_bytes: unwritten,
            encoded_bytes: encoded,
            disk_bytes: disk,
            ..FileExtents::default()
        },
    );
    prop::collection::vec(one, 0..3)
}

fn residency() -> impl Strategy<Value = Vec<Residency>> {
    let one = (bytes(), bytes(), prop::option::of(bytes())).prop_map(|(size, cached, dirty)| Residency {
        size_bytes: size,
        cached_bytes: cached,
        dirty_bytes: dirty,
        ..Residency::default()
    });
    prop::collection::vec(one, 0..3)
}

/// The parts of a random record, in four tuples, since a strategy for one tuple takes no more.
type Ground = (Rw, u64, bool, u8, u32, String);
type Moved = (u64, u64, u64, u64, Option<u64>, Option<u64>);
type Looked = (Vec<FileExtents>, Vec<FileExtents>, Vec<Residency>, Vec<Residency>);
type Broken = (u64, u64, u64, u8, u64, Option<u32>);

fn build(ground: Ground, moved: Moved, looked: Looked, broken: Broken) -> (Truth, TrialRecord) {
    let (rw, bs, direct, fs, devices, distribution) = ground;
    let layer = match fs {
        0 => btrfs(BtrfsProfile::Raid1),
        1 => btrfs(BtrfsProfile::Raid0),
        2 => filesystem(FsKind::Ext4),
        _ => filesystem(FsKind::Xfs),
    };
    let mut truth = Truth::new(rw, bs, direct, layer, devices);
    truth.options().random_distribution = distribution;
    truth.cell.workload.layout = if fs == 3 { Layout::Hole } else { Layout::Written };
    let (read, write, device_read, device_write, own_read, own_write) = moved;
    let engine = truth.trial.engine.as_mut().unwrap();
    engine.read = (read > 0).then(|| totals(read / bs, bs));
    engine.write = (write > 0).then(|| totals(write / bs, bs));
    (truth.device_read, truth.device_write) = (device_read, device_write);
    (truth.own_read, truth.own_write) = (own_read, own_write);
    let (start, length, keep, hide, hz, fs_type) = broken;
    if hide & 32 != 0 {
        truth.emulated(devices);
    }
    let other = truth.other("dd", own_read.unwrap_or(0), device_write / 2);
    other.on_ground = (hide & 64 != 0).then_some(true);
    other.cpu_ticks = own_write;
    (truth.others_cpu, truth.kernel_cpu) =
        (own_read.map(|b| b as f64 / 1e4), own_write.map(|b| b as f64 / 1e4));
    truth.machine_busy = if hide & 128 == 0 { 0.2 } else { 1.0 };
    let mut record = truth.record();
    (record.files_before, record.files_after, record.cache_before, record.cache_after) = looked;
    let window = &mut record.engine.as_mut().unwrap().window;
    (window.start_ns, window.end_ns) = (start, start.saturating_add(length));
    record.evidence.ticks_per_second = hz;
    record.evidence.samples.retain(|s| (s.monotonic_ns / 100_000_000) % (keep + 1) == 0);
    record.evidence.samples.iter_mut().for_each(|s| forget(s, hide));
    match fs_type {
        Some(0) => record.topology.fs_type = None,
        Some(1) => record.topology.fs_type = Some("tmpfs".to_owned()),
        _ => {}
    }
    (truth, record)
}

fn forget(sample: &mut Sample, hide: u8) {
    if hide & 1 != 0 {
        sample.block.pop_first();
    }
    if hide & 2 != 0 {
        sample.engine = None;
    }
    if hide & 4 != 0 {
        sample.memory = None;
    }
    if hide & 8 != 0 {
        sample.cpu = None;
    }
    if hide & 16 != 0 {
        sample.cgroup_io.clear();
    }
}

fn assert_sound(served: Served) {
    let shares = [served.device, served.page_cache, served.hole, served.other, served.unknown];
    assert!(shares.iter().all(|s| (0.0..=1.0 + 1e-9).contains(s)), "{served:?}");
    assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9, "{served:?}");
}

fn plan(truth: &Truth) -> Plan {
    Plan {
        seed: 0,
        ..Plan::new(
            "any".to_owned(),
            vec![truth.cell.clone()],
            Measure { interval: Some(0.05), ..Measure::new(20.0, 0.0, 3) },
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]
    #[test]
    fn any_record_is_judged_soundly(
        ground in (rw(), prop_oneof![Just(512_u64), Just(4096), Just(1 << 20)], any::<bool>(), 0..4_u8, 0..4_u32,
            prop_oneof![Just("random".to_owned()), Just("zipf:1.1".to_owned())]),
        moved in (bytes(), bytes(), bytes(), bytes(), prop::option::of(bytes()), prop::option::of(bytes())),
        looked in (extents(), extents(), residency(), residency()),
        broken in (prop_oneof![Just(100_000_000_000_u64), any::<u64>()], prop_oneof![Just(20_000_000_000_u64), Just(0), any::<u64>()],
            0..30_u64, any::<u8>(), prop_oneof![Just(100_u64), Just(0)], prop::option::of(0..3_u32)),
    ) {
        let (truth, record) = build(ground, moved, looked, broken);
        let shares = attribute::trial(&record, &truth.cell).unwrap();
        assert_sound(shares.both);
        shares.read.into_iter().chain(shares.write).for_each(assert_sound);

        let mut failed = record.clone();
        failed.id.round = 1;
        failed.outcome = Outcome::Failed("no reason".to_owned());
        let view = judge(&Input {
            run: &RunId("r".to_owned()),
            plan: &plan(&truth),
            environment: &Environment::default(),
            volumes: &[],
            trials: &[record, failed],
            stopped: &Stopped::Unfinished,
        });
        let json = serde_json::to_string(&view).unwrap();
        // An infinity or a NaN would be null in JSON, which can't be read as a number.
        assert!(serde_json::from_str::<record::judged::RunView>(&json).is_ok());
        assert!(view.findings.iter().all(|f| f.evidence.values().all(|v| v.is_finite()) && !f.text.contains("NaN")));
        assert_eq!(view.cells[0].trials.failed, 1);
        view.cells[0].served.into_iter().for_each(assert_sound);
    }
}
