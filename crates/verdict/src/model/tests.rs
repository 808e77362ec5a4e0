//! Known cases for the pure functions, and whole runs.

use super::geometry::{Geometry, Reads};
use super::load::Load;
use super::provisioned::expected;
use super::rates::{Member, Rate};
use super::stacking::Stacking;
use crate::input::Input;
use crate::judge::judge;
use crate::testing::{GIB, Truth, btrfs, filesystem};
use record::environment::Environment;
use record::event::Stopped;
use record::finding::{Claim, Finding, Severity};
use record::id::{CellId, RunId};
use record::judged::{CellView, ModelSource, RunView};
use record::lvm::{Discards, Lvm, LvmLayout, Thin};
use record::md::{Md, MdLevel};
use record::plan::{Cell, Measure, Plan};
use record::stack::{BtrfsProfile, FsKind, Layer, Luks, Rebuild, Stack};
use record::trial::TrialRecord;
use record::volume::{HostBurst, HostLimits, LimitName, Limits, Volume, VolumeFacts, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, SizeShare, Workload};

fn load(rw: Rw, bs: u64, change: impl Fn(&mut Options)) -> Load {
    let mut options = Options { direct: true, iodepth: 64, ..Options::new(rw, bs, 1 << 30) };
    change(&mut options);
    Load::of(&Workload {
        name: "w".to_owned(),
        engine: EngineKind::Fio,
        ask: Ask::Options(options),
        layout: Layout::Written,
        cache: CacheStart::Cold,
        on: Vec::new(),
    })
    .unwrap()
}

fn stripe(members: u32, chunk: u64) -> Stacking {
    let geometry =
        Geometry { members, chunk_bytes: Some(chunk), copies: 1, reads: Reads::Spread, joined: false };
    Stacking { geometry, doubt: None }
}

fn mirror(members: u32, reads: Reads) -> Stacking {
    Stacking {
        geometry: Geometry { members, chunk_bytes: None, copies: 2, reads, joined: false },
        doubt: None,
    }
}

fn shared(ios: f64) -> Member {
    Member { read: Rate::UNLIMITED, write: Rate::UNLIMITED, both: Rate { ios, bytes: f64::INFINITY } }
}

fn per_direction(ios: f64) -> Member {
    let rate = Rate { ios, bytes: f64::INFINITY };
    Member { read: rate, write: rate, both: Rate::UNLIMITED }
}

/// FIELD-CASES 5: three volumes of 80 IOPS, LVM `-i3 -I16`, randrw 50/50 of 16k at depth 64: measured 122 + 119, expected 240.
#[test]
fn a_stripe_of_three_provisioned_volumes() {
    let mix = |bs: u64| load(Rw::Randrw, bs << 10, |_| {});
    let most = |bs| expected(&shared(80.0), &stripe(3, 16 << 10), &mix(bs), true).unwrap();
    let at_16k = most(16);
    assert_eq!((at_16k.at_most, at_16k.ios_per_request), (240.0, 1.0));
    assert!(
        (at_16k.expected - 237.0).abs() < 1.5,
        "all three are busy 98.6 % of the time: {}",
        at_16k.expected
    );
    assert!((122.0 + 119.0) / at_16k.expected < 1.05 && (122.0 + 119.0) / at_16k.expected > 0.95);
    let saved_up = expected(&shared(80.0), &stripe(3, 16 << 10), &mix(16), false).unwrap();
    assert_eq!(saved_up.expected, 240.0, "where what isn't used can be used later");
    // "larger than the stripe chunk and one request costs several device I/Os, so three times is not always reached"
    assert_eq!([4, 32, 64, 48].map(|bs| most(bs).at_most), [240.0, 120.0, 60.0, 80.0]);
    assert_eq!([4, 32, 64].map(|bs| most(bs).ios_per_request), [1.0, 2.0, 4.0]);
    assert_eq!(most(48).expected, 80.0, "each request is on all three: none waits for another");
}

/// LAB: md raid1 over two volumes of 80 IOPS for both directions together, 50/50: 102 measured, about 107 expected.
#[test]
fn a_mirror_with_limits_on_both_directions_together() {
    let mix = load(Rw::Randrw, 16 << 10, |_| {});
    let forecast = expected(&shared(80.0), &mirror(2, Reads::Spread), &mix, true).unwrap();
    assert!((forecast.at_most - 160.0 / 1.5).abs() < 1e-9, "{}", forecast.at_most);
    assert_eq!(forecast.ios_per_request, 1.5);
}

#[test]
fn a_mirror_with_limits_per_direction() {
    let of = |rw, reads, jobs| {
        let load = load(rw, 4096, |o| o.numjobs = jobs);
        let f = expected(&per_direction(100.0), &mirror(2, reads), &load, true).unwrap();
        (f.at_least, f.expected, f.at_most)
    };
    assert_eq!(of(Rw::Randread, Reads::Spread, 1), (200.0, 200.0, 200.0));
    assert_eq!(of(Rw::Randread, Reads::ByThread, 1), (100.0, 200.0, 200.0), "from one copy, or from both");
    assert_eq!(of(Rw::Randwrite, Reads::ByThread, 1), (100.0, 100.0, 100.0), "every write goes to both");
}

#[test]
fn a_mix_is_held_back_by_the_direction_that_is_asked_more_of() {
    let of = |percent| {
        let load = load(Rw::Randrw, 4096, |o| o.rwmixread = percent);
        expected(&per_direction(100.0), &Stacking { geometry: Geometry::PLAIN, doubt: None }, &load, true)
            .unwrap()
    };
    assert_eq!([50, 80, 100].map(|p| of(p).at_most), [200.0, 125.0, 100.0]);
    assert_eq!(of(80).expected, 125.0);
    assert!(
        (of(50).expected / 200.0 - 0.99).abs() < 0.01,
        "either direction may be out of work: {}",
        of(50).expected
    );
}

#[test]
fn bytes_and_ios_are_limited_together() {
    let member = |ios, bytes| {
        let rate = Rate { ios, bytes };
        Member { read: rate, write: rate, both: Rate::UNLIMITED }
    };
    let plain = Stacking { geometry: Geometry::PLAIN, doubt: None };
    let of =
        |bs: u64, m| expected(&m, &plain, &load(Rw::Randread, bs << 10, |_| {}), true).map(|f| f.expected);
    let mib = f64::from(1 << 20);
    assert_eq!(of(4, member(100.0, 10.0 * mib)), Some(100.0));
    assert_eq!(of(256, member(100.0, 10.0 * mib)), Some(40.0));
    assert_eq!(
        of(1024, member(100.0, 10.0 * mib)),
        Some(10.0),
        "however the kernel splits 1 MiB, bytes are the limit"
    );
    assert_eq!(of(1024, member(100.0, f64::INFINITY)), None, "1 MiB may count as one or as more");
    assert_eq!(of(512, member(100.0, f64::INFINITY)), Some(100.0));
}

#[test]
fn what_is_in_flight_counts() {
    let of = |depth, jobs| {
        let load = load(Rw::Randread, 4096, |o| (o.iodepth, o.numjobs) = (depth, jobs));
        expected(&per_direction(100.0), &stripe(3, 64 << 10), &load, true).unwrap()
    };
    assert!(of(1, 1).expected < of(4, 1).expected && of(4, 1).expected < of(64, 1).expected);
    assert_eq!(of(4, 1), of(1, 4));
    assert!(of(64, 1).expected > 295.0 && of(64, 1).at_most == 300.0);
    assert!(of(1, 1).at_least > 230.0 && of(1, 1).at_least < of(1, 1).expected);
    // At depth 1, a member that takes 10 ms for an I/O by itself needs another model.
    assert!((super::occupancy::busy(1.0, 3.0) * 80.0 - 80.0).abs() < 1e-9);
}

#[test]
fn sequential_streams_may_lie_on_fewer_volumes() {
    let of = |bs: u64, depth| {
        let load = load(Rw::Read, bs << 10, |o| o.iodepth = depth);
        let f = expected(&per_direction(100.0), &stripe(3, 64 << 10), &load, true).unwrap();
        (f.at_least, f.expected)
    };
    assert_eq!(of(64, 3), (300.0, 300.0));
    assert_eq!(of(16, 12), (300.0, 300.0));
    assert_eq!(of(16, 4), (0.0, 300.0));
    assert_eq!(of(192, 1), (100.0, 100.0));
}

#[test]
fn a_rate_that_is_asked_for_is_no_more_than_that() {
    let of = |rate| {
        let load = load(Rw::Randread, 4096, |o| (o.rate_iops, o.numjobs) = (Some(rate), 2));
        expected(&per_direction(100.0), &Stacking { geometry: Geometry::PLAIN, doubt: None }, &load, true)
            .unwrap()
    };
    assert_eq!((of(20).expected, of(20).at_most), (40.0, 40.0));
    assert_eq!(of(200).expected, 100.0);
}

#[test]
fn block_sizes_are_averaged() {
    let split = |o: &mut Options| {
        o.bssplit =
            vec![SizeShare { bs_bytes: 4096, percent: 60 }, SizeShare { bs_bytes: 65536, percent: 40 }];
    };
    let load = load(Rw::Randread, 4096, split);
    // 64k that begin at any multiple of 4 KiB: 2 chunks of 64 KiB, except at one place in 16.
    let touched = load.chunks_touched(&stripe(2, 64 << 10).geometry);
    assert!((touched - (0.6 + 0.4 * (2.0 - 1.0 / 16.0))).abs() < 1e-12, "{touched}");
}

#[test]
fn there_is_no_model_where_requests_are_no_device_ios() {
    let none = |change: &dyn Fn(&mut Options), layout| {
        let mut options = Options { direct: true, iodepth: 64, ..Options::new(Rw::Randwrite, 4096, 1 << 30) };
        change(&mut options);
        let ask = Ask::Options(options);
        Load::of(&Workload {
            name: "w".to_owned(),
            engine: EngineKind::Native,
            ask,
            layout,
            cache: CacheStart::Cold,
            on: Vec::new(),
        })
        .is_none()
    };
    assert!(!none(&|_| {}, Layout::Written));
    assert!(none(&|_| {}, Layout::Hole) && none(&|o| o.direct = false, Layout::Written));
    assert!(none(&|o| o.fsync = 1, Layout::Written) && none(&|o| o.thinktime_us = 5, Layout::Written));
    assert!(none(&|o| o.rw = Rw::Trimwrite, Layout::Written));
    assert!(none(&|o| o.random_distribution = "zipf:1.1".to_owned(), Layout::Written));
}

/// What dm-crypt makes of it: other bytes in the same places. Requests beyond 128 KiB it may split, by the kernel's version.
#[test]
fn encryption_adds_no_requests() {
    let luks = || {
        Layer::Luks(Luks {
            cipher: Luks::CIPHER.to_owned(),
            key_bits: 512,
            sector_bytes: 4096,
            no_read_workqueue: false,
            no_write_workqueue: false,
        })
    };
    let ext4 = || filesystem(FsKind::Ext4);
    let md = || {
        let (chunk_bytes, layout, resync) = (Some(64 << 10), None, None);
        Layer::Md(Md { level: MdLevel::Raid0, chunk_bytes, layout, bitmap: false, resync })
    };
    let of = |layers: Vec<Layer>, count: usize, bs: u64| {
        let (name, volumes, rebuild) = ("s".to_owned(), limited(count), Rebuild::Trial);
        let stack = Stack { name, volumes, beside: Vec::new(), layers, rebuild };
        Stacking::of(&stack, &load(Rw::Randrw, bs, |_| {}))
    };
    for bs in [4 << 10, 128 << 10] {
        for (encrypted, plain, count) in [
            (vec![luks()], vec![], 1),
            (vec![luks(), ext4()], vec![ext4()], 1),
            (vec![md(), luks(), ext4()], vec![md(), ext4()], 3),
        ] {
            let stacking = of(encrypted.clone(), count, bs);
            assert!(stacking.is_some(), "{encrypted:?}");
            assert_eq!(stacking, of(plain, count, bs), "{encrypted:?}");
        }
    }
    assert!(of(vec![ext4()], 1, 256 << 10).is_some());
    assert_eq!(of(vec![luks(), ext4()], 1, 256 << 10), None);
    assert_eq!(of(vec![luks(), ext4()], 2, 4096), None, "it stands on one device");
}

/// A thin pool puts chunks where there is room when they are first written.
#[test]
fn a_thin_pool_has_no_model() {
    let of = |thin| {
        let lvm = Lvm { layout: LvmLayout::Linear, size_bytes: None, tag: None, cache: None, thin };
        let layers = vec![Layer::Lvm(lvm), filesystem(FsKind::Ext4)];
        let (name, volumes, rebuild) = ("s".to_owned(), limited(1), Rebuild::Trial);
        let stack = Stack { name, volumes, beside: Vec::new(), layers, rebuild };
        Stacking::of(&stack, &load(Rw::Randrw, 4096, |_| {}))
    };
    assert!(of(None).is_some());
    let (chunk_bytes, metadata_bytes, virtual_bytes) = (None, None, None);
    let discards = Discards::Passdown;
    assert_eq!(of(Some(Thin { chunk_bytes, zero: true, discards, metadata_bytes, virtual_bytes })), None);
}

/// A cell of random reads over `volumes`, with its reads in each round of 20 s.
fn cell(
    name: &str,
    volumes: &[Volume],
    layer: Layer,
    bs: u64,
    depth: u32,
    ios: &[u64],
) -> (Cell, Vec<TrialRecord>) {
    let truth = |n: u64| {
        let mut t = Truth::new(Rw::Randread, bs, true, layer.clone(), u32::try_from(volumes.len()).unwrap());
        t.options().iodepth = depth;
        (t.cell.stack.volumes, t.cell.stack.name) = (volumes.to_vec(), name.to_owned());
        t.cell.id = CellId(name.to_owned());
        t.asked(n * bs, 0);
        t.device_read = n * bs;
        t
    };
    let record = |(round, n): (u32, &u64)| {
        let mut record = truth(*n).record();
        record.id.cell = CellId(name.to_owned());
        record.id.round = round;
        record
    };
    (truth(1).cell, (0..).zip(ios).map(record).collect())
}

fn limited(count: usize) -> Vec<Volume> {
    let limits = Limits { read_iops: Some(100), write_iops: Some(100), ..Limits::default() };
    let kind = VolumeKind::Emulate { size_bytes: GIB, limits };
    (0..count).map(|i| Volume { name: format!("vol[{i}]"), kind: kind.clone() }).collect()
}

fn disks(count: usize) -> Vec<Volume> {
    let disk = |i| Volume { name: format!("disk[{i}]"), kind: VolumeKind::Disk { id: format!("nvme-{i}") } };
    (0..count).map(disk).collect()
}

fn run(cells: &[(Cell, Vec<TrialRecord>)]) -> RunView {
    let plan = Plan {
        seed: 1,
        ..Plan::new(
            "test".to_owned(),
            cells.iter().map(|(c, _)| c.clone()).collect(),
            Measure::new(20.0, 2.0, 3),
        )
    };
    let trials: Vec<TrialRecord> = cells.iter().flat_map(|(_, t)| t.clone()).collect();
    judge(&Input {
        run: &RunId("r".to_owned()),
        plan: &plan,
        environment: &Environment::default(),
        volumes: &[],
        trials: &trials,
        stopped: &Stopped::RoundsDone { rounds: 3 },
    })
}

fn off_model<'a>(view: &'a RunView, cell: &str) -> Option<&'a Finding> {
    view.findings
        .iter()
        .find(|f| f.cell.0 == cell && matches!(f.claim, Claim::BelowModel | Claim::AboveModel))
}

fn of<'a>(view: &'a RunView, cell: &str) -> &'a CellView {
    view.cells.iter().find(|c| c.id.0 == cell).unwrap()
}

#[test]
fn a_run_tells_expected_measured_and_ratio() {
    let raid0 = btrfs(BtrfsProfile::Raid0);
    let view = run(&[
        cell("good", &limited(3), raid0.clone(), 16384, 64, &[5900, 5950, 5880]),
        cell("slow", &limited(3), raid0.clone(), 16384, 64, &[3900, 3950, 3880]),
        cell("fast", &limited(3), raid0.clone(), 16384, 64, &[8900, 8950, 8880]),
        cell("four", &limited(1), raid0.clone(), 65536, 4, &[2000, 1990, 2010]),
        cell("once", &limited(3), raid0, 16384, 64, &[3900]),
    ]);
    let good = of(&view, "good").model.as_ref().unwrap();
    assert_eq!((good.of.as_str(), good.from, good.at_most), ("iops", ModelSource::Provisioned, 300.0));
    assert!(good.expected > 295.0 && (good.ratio.unwrap().ratio - 1.0).abs() < 0.02, "{good:?}");
    assert_eq!(good.ratio.unwrap().n, 3);
    assert!(good.steps.iter().any(|s| s.contains("limited to read_iops 100")), "{:?}", good.steps);
    assert_eq!(off_model(&view, "good"), None);
    let slow = off_model(&view, "slow").unwrap();
    assert_eq!((slow.claim, slow.severity), (Claim::BelowModel, Severity::Caveat));
    assert!(slow.text.contains("191 to 200 IOPS"), "{}", slow.text);
    assert_eq!(off_model(&view, "fast").unwrap().claim, Claim::AboveModel);
    assert_eq!((off_model(&view, "four"), of(&view, "four").model.as_ref().unwrap().expected), (None, 100.0));
    let once = of(&view, "once").model.as_ref().unwrap();
    assert!(
        once.ratio.unwrap().low.is_none() && off_model(&view, "once").is_none(),
        "one trial proves nothing"
    );
}

#[test]
fn the_reason_is_what_another_finding_says() {
    let (planned, mut trials) =
        cell("holes", &limited(1), filesystem(FsKind::Ext4), 4096, 64, &[90_000, 90_100, 90_050]);
    for trial in &mut trials {
        for sample in &mut trial.evidence.samples {
            sample.block.values_mut().for_each(|b| b.read_bytes = 0);
        }
        for file in trial.files_before.iter_mut().chain(&mut trial.files_after) {
            (file.written_bytes, file.unwritten_bytes) = (0, file.size_bytes);
        }
    }
    let view = run(&[(planned, trials)]);
    let above = off_model(&view, "holes").unwrap().clone();
    assert_eq!((above.claim, above.severity), (Claim::AboveModel, Severity::Note));
    let holes = view.findings.iter().find(|f| f.claim == Claim::ServedFromHoles).unwrap();
    assert_eq!(view.cells[0].model.as_ref().unwrap().reason.as_ref(), Some(&holes.text));
}

#[test]
fn disks_are_judged_by_one_of_them() {
    let (raid0, single) = (btrfs(BtrfsProfile::Raid0), btrfs(BtrfsProfile::Single));
    let all = disks(3);
    let view = run(&[
        cell("three", &all, raid0.clone(), 4096, 16, &[58_000, 59_000, 57_500]),
        cell("one", &all[1..2], single.clone(), 4096, 16, &[20_000, 20_200, 19_900]),
        cell("alone", &all[..1], single, 4096, 1, &[2_000, 2_010, 1_990]),
        cell("cached", &all, raid0, 4096, 16, &[98_000, 99_000, 97_500]),
    ]);
    let three = of(&view, "three").model.as_ref().unwrap();
    assert_eq!((three.from, three.at_least), (ModelSource::Measured, 0.0));
    assert!((three.expected - 1600.0).abs() < 1.0, "16 in flight of 10 ms each: {three:?}");
    assert!(off_model(&view, "one").is_none());
    assert_eq!(off_model(&view, "cached").unwrap().claim, Claim::AboveModel);
    assert!(of(&view, "alone").model.is_none(), "nothing to compare it with");
}

/// The kernel counts whole I/Os per slice, so the model expects the rounded limit and not the requested one.
#[test]
fn an_emulated_volume_gives_what_the_kernel_makes_of_its_limit() {
    let limits = Limits { read_iops: Some(1005), write_iops: Some(1005), ..Limits::default() };
    let forecast = |kind| {
        let volumes = [Volume { name: "v".to_owned(), kind }];
        super::provisioned::forecast(&volumes, &[], &stripe(1, 16 << 10), &load(Rw::Randread, 4096, |_| {}))
    };
    let emulated = forecast(VolumeKind::Emulate { size_bytes: GIB, limits }).unwrap();
    assert_eq!(emulated.at_most, 1000.0);
    let (id, burst) = ("d".to_owned(), None);
    let guest = VolumeKind::Guest { id, size_bytes: GIB, limits, burst, changes: Vec::new() };
    assert_eq!(forecast(guest).unwrap().at_most, 1005.0, "QEMU keeps it");
}

/// The host of a guest limits the guest's disks. Disks of one group share a limit; what isn't firm is no limit to the model.
#[test]
fn a_disk_of_a_guest_gives_what_its_host_grants() {
    let forecast = |all: &[HostLimits]| {
        let (mut volumes, mut found) = (Vec::new(), Vec::new());
        for (at, limits) in all.iter().enumerate() {
            let name = format!("v{at}");
            let kind = VolumeKind::Created {
                volume: name.clone(),
                size_bytes: Some(GIB),
                limits: Limits::default(),
            };
            volumes.push(Volume { name: name.clone(), kind });
            found.push(VolumeFacts {
                name,
                target: "web".to_owned(),
                device: None,
                size_bytes: GIB,
                identity: None,
                verified: Vec::new(),
                burst: None,
                backing_fs: None,
                loop_direct_io: None,
                host_limits: Some(limits.clone()),
            });
        }
        let found: Vec<&VolumeFacts> = found.iter().collect();
        let members = u32::try_from(all.len()).unwrap();
        let load = load(Rw::Randread, 4096, |_| {});
        super::provisioned::forecast(&volumes, &found, &stripe(members, 16 << 10), &load).map(|f| f.at_most)
    };
    let limits = Limits { total_iops: Some(80), ..Limits::default() };
    let own = HostLimits { limits, ..HostLimits::default() };
    assert_eq!(forecast(std::slice::from_ref(&own)), Some(80.0));
    assert_eq!(forecast(&[own.clone(), own.clone()]), Some(160.0));
    let grouped = HostLimits { group: Some("g".to_owned()), ..own.clone() };
    assert_eq!(forecast(&[grouped.clone(), grouped]), Some(80.0));
    let burst = HostBurst { limit: LimitName::TotalIops, rate: 400, seconds: 10 };
    assert_eq!(forecast(&[HostLimits { bursts: vec![burst], ..own.clone() }]), None);
    assert_eq!(forecast(&[HostLimits { io_bytes: Some(4096), ..own }]), None);
    assert_eq!(forecast(&[HostLimits::default()]), None);
}
