//! Views for tests.

use crate::{markdown, result, terminal};
use record::emulated::{Guest, LAB};
use record::environment::Environment;
use record::event::Stopped;
use record::finding::{Claim, Finding, Served, Severity};
use record::id::{CellId, RunId};
use record::judged::{
    Answer, Asked, CellView, ExpectationView, Limit, LimitKind, Metric, ModelSource, ModelView, RUN_FORMAT,
    RunView, Status, TrialCount,
};
use record::plan::{Bound, Measure};
use record::volume::{LimitName, VerifiedLimit, VolumeFacts};
use record::workload::{CacheStart, Layout, Rw};
use std::collections::BTreeMap;

/// A run's page for a terminal without colours.
pub(crate) fn page(view: &RunView, width: usize) -> String {
    terminal(&result(view), width, false)
}

/// A model that expects this of a figure.
pub(crate) fn model(of: &str, expected: f64) -> ModelView {
    ModelView {
        of: of.to_owned(),
        expected,
        at_least: expected,
        at_most: expected,
        from: ModelSource::Provisioned,
        device_ios_per_request: Some(1.0),
        ratio: None,
        steps: vec![],
        reason: None,
    }
}

/// A run's page in Markdown.
pub(crate) fn list(view: &RunView) -> String {
    markdown(&result(view))
}

pub(crate) fn metric(estimate: f64, half: Option<f64>, unit: &str) -> Metric {
    Metric {
        median: None,
        trimmed: None,
        estimate,
        low: half.map(|h| estimate - h),
        high: half.map(|h| estimate + h),
        confidence: 0.95,
        n: if half.is_some() { 3 } else { 1 },
        unit: unit.to_owned(),
        values: vec![estimate; if half.is_some() { 3 } else { 1 }],
    }
}

pub(crate) fn cell(id: &str, stack: &str, workload: &str, rw: Rw, bs: u64) -> CellView {
    let device = Served { device: 1.0, ..Served::default() };
    CellView {
        limited_by: None,
        model: None,
        leaves: Vec::new(),
        phases: Vec::new(),
        together: None,
        id: CellId(id.to_owned()),
        target: "local".to_owned(),
        stack: stack.to_owned(),
        workload: workload.to_owned(),
        levels: BTreeMap::new(),
        asked: Some(Asked {
            rw,
            bs_bytes: bs,
            iodepth: 64,
            numjobs: 1,
            size_bytes: 256 << 20,
            direct: true,
            layout: Layout::Written,
            cache: CacheStart::Cold,
        }),
        options: BTreeMap::new(),
        layers: Vec::new(),
        trials: TrialCount { done: 3, failed: 0, cut_off: 0, planned: 3 },
        void: false,
        rounds: Vec::new(),
        paired_rounds: Vec::new(),
        metrics: BTreeMap::new(),
        too_fast: BTreeMap::new(),
        served: Some(device),
        served_read: rw.reads().then_some(device),
        served_write: rw.writes().then_some(device),
        verified: None,
        engines: ["native-0.1.0".to_owned()].into(),
    }
}

/// A cell's limit.
pub(crate) fn limit(by: LimitKind, shown: bool) -> Option<Limit> {
    let (evidence, against) = (BTreeMap::new(), BTreeMap::new());
    Some(Limit { by, shown, evidence, against, text: "As the counters say.".to_owned() })
}

/// Adds a direction: its rate with half-width, and its p99 in us.
pub(crate) fn side(cell: &mut CellView, side: &str, iops: (f64, Option<f64>), p99_us: f64) {
    let bs = cell.asked.as_ref().map_or(4096.0, |a| a.bs_bytes as f64);
    let (value, half) = iops;
    cell.metrics.insert(format!("{side}_iops"), metric(value, half, "1/s"));
    cell.metrics.insert(format!("{side}_bw"), metric(value * bs, half.map(|h| h * bs), "B/s"));
    cell.metrics.insert(format!("{side}_lat_p99"), metric(p99_us, half.map(|_| p99_us * 0.01), "us"));
    let total: f64 = ["read_iops", "write_iops", "trim_iops"]
        .iter()
        .filter_map(|n| cell.metrics.get(*n))
        .map(|m| m.estimate)
        .sum();
    cell.metrics.insert("iops".to_owned(), metric(total, half, "1/s"));
    cell.metrics.insert("bw".to_owned(), metric(total * bs, half.map(|h| h * bs), "B/s"));
}

pub(crate) fn run(experiment: &str, question: &str, cells: Vec<CellView>) -> RunView {
    RunView {
        choice: None,
        reached: None,
        prices: record::plan::Prices::default(),
        fronts: vec![],
        format: RUN_FORMAT.to_owned(),
        run: RunId("20261121-201455-3f9a".to_owned()),
        experiment: experiment.to_owned(),
        tags: vec![],
        question: Some(question.to_owned()),
        parameters: BTreeMap::new(),
        seed: 7,
        measure: Measure::new(20.0, 2.0, 3),
        cells,
        findings: vec![],
        expectations: vec![],
        answers: vec![],
        contrasts: vec![],
        sweeps: vec![],
        effects: vec![],
        searches: vec![],
        stopped: Stopped::RoundsDone { rounds: 3 },
        environment: Environment {
            diskproof: "0.1.0".to_owned(),
            kernel: Some("6.18.1".to_owned()),
            cpu_model: Some("Example CPU".to_owned()),
            cpus: Some(2),
            memory_bytes: Some(23 << 30),
            virtualization: Some("kvm".to_owned()),
            distribution: Some("Debian GNU/Linux 12 (bookworm)".to_owned()),
            tools: BTreeMap::from([("fio".to_owned(), "fio-3.33".to_owned())]),
            ..Environment::default()
        },
        emulated: vec![],
        volumes: vec![],
        judged_by: "diskproof 0.1.0, judge 1".to_owned(),
    }
}

pub(crate) fn expectation(
    cell: &str,
    of: &str,
    expected: f64,
    status: Status,
    text: &str,
) -> ExpectationView {
    ExpectationView {
        cell: CellId(cell.to_owned()),
        of: of.to_owned(),
        expression: "80 * n".to_owned(),
        expected,
        bound: Bound::Within,
        within: 0.05,
        estimate: None,
        low: None,
        high: None,
        status,
        text: text.to_owned(),
    }
}

pub(crate) fn finding(cell: &str, claim: Claim, severity: Severity, text: &str, remedy: &str) -> Finding {
    Finding {
        claim,
        severity,
        cell: CellId(cell.to_owned()),
        trials: 3,
        rounds: Vec::new(),
        evidence: BTreeMap::from([("read_asked_bytes".to_owned(), 1e9)]),
        text: text.to_owned(),
        remedy: remedy.to_owned(),
    }
}

/// A run that reads an unlimited disk of a lab guest.
pub(crate) fn guest() -> RunView {
    let mut fast = cell("fast", "raw", "randread-4k", Rw::Randread, 4096);
    fast.target = "vm".to_owned();
    side(&mut fast, "read", (8120.0, Some(310.0)), 990.0);
    let mut view = run("unlimited", "How fast is a disk of a guest?", vec![fast]);
    view.emulated = vec![Guest { target: "vm".to_owned(), believed: LAB, software: Some(true) }];
    view.findings = vec![finding(
        "fast",
        Claim::BeyondEmulation,
        Severity::Caveat,
        "Emulated disks of the lab guest: vdb made 8,120 requests per second; only up to 2,000 is credible.",
        "Give every disk a limit.",
    )];
    view
}

/// btrfs raid0 over one to four volumes of 80 IOPS: random reads and a mix.
pub(crate) fn striped() -> RunView {
    let mut cells = Vec::new();
    let mut expectations = Vec::new();
    for (workload, rw) in [("randread-16k", Rw::Randread), ("randrw-16k", Rw::Randrw)] {
        for n in 1..=4_u32 {
            let id = format!("{workload}-{n}");
            let mut c = cell(&id, &format!("btrfs-raid0-{n}"), workload, rw, 16 << 10);
            c.levels.insert("n".to_owned(), n.to_string());
            c.limited_by = limit(LimitKind::Throttle, n < 4);
            let rate = 80.0 * f64::from(n);
            let p99 = 1_600_000.0 / f64::from(n);
            if rw == Rw::Randread {
                side(&mut c, "read", (rate * 1.002, Some(0.43 * f64::from(n))), p99);
                expectations.push(expectation(&id, "read_iops", rate, Status::Met, ""));
            } else {
                side(&mut c, "read", (rate * 0.99, Some(1.9)), p99);
                side(&mut c, "write", (rate * 1.01, Some(2.4)), p99 * 0.9);
                c.served_write = Some(Served { device: 1.0, ..Served::default() });
                expectations.push(expectation(&id, "read_iops", rate, Status::Met, ""));
                let status = if n == 4 { Status::Undecided } else { Status::Met };
                let text = "write_iops: expected 320 IOPS (80 * n) within 5 %, measured 323 IOPS (321 to 326): the interval \
                            crosses the bound of the tolerance; more rounds would decide";
                expectations.push(expectation(&id, "write_iops", rate, status, text));
            }
            cells.push(c);
        }
    }
    let mut view = run(
        "striped-volumes",
        "How many IOPS does a stripe of N provisioned volumes deliver, by block size?",
        cells,
    );
    view.expectations = expectations;
    view.answers = ["randread-16k", "randrw-16k"]
        .map(|workload| Answer {
            comparisons: Vec::new(),
            workload: workload.to_owned(),
            metric: "iops".to_owned(),
            best: CellId(format!("{workload}-4")),
            tied: vec![],
            text: "btrfs-raid0-4 is 1.33x btrfs-raid0-3 (1.32 to 1.35), the next best; btrfs-raid0-4: 321 IOPS (319 to 322 IOPS)"
                .to_owned(),
        })
        .to_vec();
    view.volumes = (0..4_u32)
        .map(|i| VolumeFacts {
            burst: None,
            name: format!("vol[{i}]"),
            target: "local".to_owned(),
            device: Some(format!("/dev/loop{i}").into()),
            size_bytes: 1 << 30,
            identity: None,
            verified: [LimitName::ReadIops, LimitName::WriteIops]
                .map(|limit| VerifiedLimit {
                    limit,
                    asked: 80.0,
                    measured: 80.0 + f64::from(i) / 10.0,
                    seconds: 3.0,
                })
                .to_vec(),
            backing_fs: Some("ext4".to_owned()),
            loop_direct_io: Some(true),
            host_limits: None,
        })
        .collect();
    view
}

/// A database's log on two file systems: native knows each durable write, fio only their mean; and reads, which sync nothing.
pub(crate) fn durable() -> RunView {
    let waits = |cell: &mut CellView, what: &str, mean: f64, p99: Option<f64>| {
        cell.metrics.insert(format!("{what}_lat_mean"), metric(mean, Some(mean * 0.02), "us"));
        cell.metrics.extend(p99.map(|p99| (format!("{what}_lat_p99"), metric(p99, Some(p99 * 0.02), "us"))));
    };
    let mut cells = Vec::new();
    for (id, stack, workload) in
        [("a", "ext4", "commit"), ("b", "xfs", "commit"), ("c", "ext4", "commit-fio"), ("d", "ext4", "dsync")]
    {
        let mut cell = cell(id, stack, workload, Rw::Write, 4096);
        side(&mut cell, "write", (5_400.0, Some(110.0)), 14.0);
        cells.push(cell);
    }
    waits(&mut cells[0], "sync", 170.0, Some(290.0));
    waits(&mut cells[0], "durable", 185.0, Some(310.0));
    waits(&mut cells[1], "sync", 1_210.0, Some(2_900.0));
    waits(&mut cells[1], "durable", 1_230.0, Some(2_950.0));
    waits(&mut cells[2], "sync", 172.0, Some(300.0));
    waits(&mut cells[2], "durable", 188.0, None);
    waits(&mut cells[3], "durable", 180.0, Some(14.0));
    let mut reads = cell("e", "ext4", "randread", Rw::Randread, 4096);
    side(&mut reads, "read", (9_000.0, Some(90.0)), 130.0);
    cells.push(reads);
    let mut view = run("database-log", "How long does a commit take?", cells);
    view.expectations = vec![ExpectationView {
        bound: Bound::AtMost,
        ..expectation("a", "durable_lat_mean", 2_000.0, Status::Met, "")
    }];
    view
}

/// Field case 1: unwritten, written, compressible and buffered data.
pub(crate) fn trap() -> RunView {
    let mut cells = Vec::new();
    let shares = |c: &mut CellView, s: Served| {
        (c.served, c.served_read) = (Some(s), Some(s));
    };
    let mut hole = cell("c1", "btrfs-zstd", "randread-unwritten", Rw::Randread, 4096);
    side(&mut hole, "read", (570_830.0, Some(912.0)), 180.0);
    shares(&mut hole, Served { device: 0.002, hole: 0.998, ..Served::default() });
    hole.void = true;
    hole.limited_by = limit(LimitKind::Memory, true);
    cells.push(hole);
    let mut written = cell("c2", "btrfs-zstd", "randread-written", Rw::Randread, 4096);
    side(&mut written, "read", (1_240.0, Some(31.0)), 81_000.0);
    written.limited_by = limit(LimitKind::Unknown, false);
    shares(&mut written, Served { device: 0.41, other: 0.59, ..Served::default() });
    cells.push(written);
    let mut cached = cell("c3", "btrfs-zstd", "read-buffered", Rw::Read, 1 << 20);
    side(&mut cached, "read", (2_345.0, Some(160.0)), 900.0);
    shares(&mut cached, Served { device: 0.03, page_cache: 0.9, other: 0.07, ..Served::default() });
    cached.void = true;
    cells.push(cached);
    let mut failed = cell("c4", "btrfs-zstd", "randread-missing", Rw::Randread, 4096);
    failed.trials = TrialCount { done: 0, failed: 3, cut_off: 0, planned: 3 };
    (failed.served, failed.served_read, failed.void) = (None, None, true);
    cells.push(failed);
    let mut one = cell("c5", "btrfs-zstd", "randread-once", Rw::Randread, 4096);
    side(&mut one, "read", (1_251.7, None), 80_000.0);
    one.trials = TrialCount { done: 1, failed: 0, cut_off: 0, planned: 3 };
    cells.push(one);
    let mut view = run("compression-trap", "What does a compressing file system make of a read test?", cells);
    view.findings = vec![
        finding(
            "c1",
            Claim::ServedFromHoles,
            Severity::Void,
            "99.8 % of the bytes read came from unwritten extents, where there is nothing to read: 46.7 GiB were asked for, the devices delivered 96 MiB.",
            "Write the file before reading it: layout: written (the default).",
        ),
        finding(
            "c3",
            Claim::ServedFromPageCache,
            Severity::Void,
            "90 % of the bytes read came from the page cache: 45.8 GiB were asked for, the devices delivered 1.4 GiB; the cache held 0 B of the data before the trial and 256 MiB after it.",
            "The cache was cold at first and filled during the trial; use direct: 1, or a size of 46 GiB or more (twice memory).",
        ),
        finding(
            "c4",
            Claim::TrialsFailed,
            Severity::Void,
            "3 trials failed; the last one, in round 3: mkfs.btrfs: not enough space",
            "Fix the cause, then `diskproof resume` runs the missing trials.",
        ),
        finding(
            "c2",
            Claim::Compressed,
            Severity::Caveat,
            "The file system compresses: 256 MiB of data take 105 MiB on the devices (2.4:1), so the devices moved less than was asked for.",
            "The figure holds for data like this only (buffer_compress_percentage: 60 is set); set it to the percentage by which \
             your own data compresses, or to 0 for the devices' own speed.",
        ),
        finding(
            "c3",
            Claim::Compressed,
            Severity::Caveat,
            "The file system compresses: 256 MiB of data take 105 MiB on the devices (2.4:1), so the devices moved less than was asked for.",
            "The figure holds for data like this only (buffer_compress_percentage: 60 is set); set it to the percentage by which \
             your own data compresses, or to 0 for the devices' own speed.",
        ),
        finding(
            "c1",
            Claim::EngineCpuBound,
            Severity::Caveat,
            "The load generator was the limit, not the storage: its busiest thread ran 99 % of the measured time, while the devices held 3.1 of 64 I/Os on average. The storage may do more.",
            "Use more jobs than numjobs: 1 (this machine has 2 CPUs) or larger blocks than bs: 4 KiB.",
        ),
    ];
    view
}
