use super::{Other, TaskError, issue, nanoseconds, of_options, other};
use crate::native::arrival::Rate;
use crate::native::batching::Batches;
use crate::native::sizes::Sizes;
use crate::native::task::{Issue, JobTask, Place, Tolerance};
use crate::native::think::Pause;
use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};
use record::workload::{Layout, Options, RateProcess, Rw, SizeRange, SizeShare, SyncMode};

fn plain(rw: Rw) -> Options {
    Options { iodepth: 4, direct: true, ..Options::new(rw, 4096, 1 << 20) }
}

fn with(entries: &[(&str, &str)]) -> Options {
    Options {
        other: entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..plain(Rw::Randread)
    }
}

fn translated(options: &Options) -> Result<JobTask, TaskError> {
    let place = Place {
        number: 0,
        path: std::path::PathBuf::new(),
        offset_bytes: 0,
        size_bytes: 1 << 20,
        block_device: false,
    };
    of_options("job0", options, Layout::Written, vec![place])
}

#[test]
fn what_native_lacks_is_refused_by_name() {
    for (name, value) in [
        ("zonesize", "1m"),
        ("thinktime_iotime", "10"),
        ("continue_on_error", "sometimes"),
        ("rate_process", "bursty"),
        ("fixedbufs", "0"),
        ("hipri", "x"),
    ] {
        let refusal = translated(&with(&[(name, value)])).unwrap_err().to_string();
        assert!(refusal.contains(name) && refusal.contains("engine: fio"), "{refusal}");
    }
    for ioengine in ["libaio", "mmap", "posixaio"] {
        let options = Options { ioengine: ioengine.into(), ..plain(Rw::Read) };
        assert!(translated(&options).unwrap_err().to_string().contains(ioengine));
    }
    assert_eq!(issue("psync"), Ok(Issue::Threads));
    let zoned = |text: &str| Options { random_distribution: text.into(), ..plain(Rw::Randread) };
    let refused = [
        (Options { rate_iops: Some(100), ..plain(Rw::Randrw) }, "rate_iops"),
        (Options { rate_bytes_per_second: Some(100), ..plain(Rw::Trimwrite) }, "rate"),
        (Options { rate_iops: Some(1), rate_bytes_per_second: Some(1), ..plain(Rw::Read) }, "rate_iops"),
        (Options { iodepth: 40_000, ..plain(Rw::Read) }, "iodepth"),
        (zoned("zoned:50/10:60/90"), "distribution"),
        (zoned("zoned_abs:50/1m:50/1g"), "distribution"),
        (Options { direct: false, ..with(&[("hipri", "1")]) }, "hipri"),
        (Options { rw: Rw::Trim, ..with(&[("hipri", "1")]) }, "hipri"),
        (Options { ioengine: "psync".into(), ..with(&[("sqthread_poll", "1")]) }, "sqthread_poll"),
    ];
    for (options, name) in refused {
        let refusal = translated(&options).unwrap_err().to_string();
        assert!(refusal.contains(name), "{refusal}");
    }
}

#[test]
fn what_native_knows_is_taken() {
    let all = [("continue_on_error", "all"), ("hipri", "1"), ("sqthread_poll", "0"), ("fixedbufs", "1")];
    let everything = Tolerance { read: true, write: true, verify: true };
    let expected = Other { batches: None, continue_on_error: everything, hipri: true, sqthread_poll: false };
    assert_eq!(other(&with(&all)), Ok(expected));
    assert_eq!(other(&with(&[])), Ok(Other::default()));
    let reads = other(&with(&[("continue_on_error", "read")])).unwrap().continue_on_error;
    assert_eq!(reads, Tolerance { read: true, ..Tolerance::default() });
    let job = translated(&Options {
        bsrange: Some(SizeRange { low_bytes: 4096, high_bytes: 8192 }),
        rate_bytes_per_second: Some(1 << 20),
        rate_process: RateProcess::Poisson,
        thinktime_us: 7,
        thinktime_spin_us: 2,
        thinktime_blocks: 3,
        sync: SyncMode::Dsync,
        time_based: false,
        ..plain(Rw::Randwrite)
    })
    .unwrap();
    assert_eq!(job.sizes, Sizes::Range { low: 4096, high: 8192 });
    assert_eq!(job.rate, Some(Rate { per_second: 1 << 20, bytes: true, poisson: true }));
    assert_eq!(job.pause, Some(Pause { pause_ns: 7000, spin_ns: 2000, blocks: 3 }));
    assert!(job.once && job.sync == SyncMode::Dsync);
}

#[test]
fn batches_have_fios_names_and_its_defaults() {
    let batches = |other: &[(&str, &str)]| translated(&with(other)).map(|job| job.batches);
    assert_eq!(batches(&[]), Ok(None), "as the load shows");
    assert_eq!(batches(&[("iodepth_batch", "1")]), Ok(Some(Batches::FIO)));
    for (submit, least) in
        [("iodepth_batch_submit", "iodepth_batch_complete_min"), ("iodepth_batch", "iodepth_batch_complete")]
    {
        let all = [(submit, "8"), (least, "4"), ("iodepth_batch_complete_max", "12"), ("iodepth_low", "6")];
        let expected = Batches { submit: 8, complete_min: 4, complete_max: 12, low: 6 };
        assert_eq!(batches(&all), Ok(Some(expected)));
    }
    for odd in [("iodepth_batch", "many"), ("iodepth_low", "-1"), ("iodepth_batch_complete_min", "0")] {
        assert!(batches(&[odd]).unwrap_err().to_string().contains(odd.0), "{odd:?}");
    }
}

#[test]
fn seconds_become_nanoseconds() {
    assert_eq!(nanoseconds(1.5), 1_500_000_000);
    assert_eq!(nanoseconds(-1.0), 0);
    assert_eq!(nanoseconds(f64::NAN), 0);
}

const OTHER: [(&str, &str); 9] = [
    ("hipri", "1"),
    ("sqthread_poll", "1"),
    ("fixedbufs", "1"),
    ("fixedbufs", "0"),
    ("continue_on_error", "read"),
    ("continue_on_error", "all"),
    ("continue_on_error", ""),
    ("continue_on_error", "never"),
    ("zonesize", "1m"),
];

const DISTRIBUTIONS: [&str; 14] = [
    "random",
    "zipf",
    "zipf:1.2",
    "zipf:0",
    "zipf:1.2:0.5",
    "pareto:0.3",
    "pareto:1",
    "normal:20",
    "normal",
    "zoned:60/10:40/90",
    "zoned:60/10:40/80",
    "zoned:60/0:40/100",
    "zoned_abs:60/64k:40/128k",
    "zoned_abs:60/64k:30/128k",
];

/// Any workload, useful or not; shares of sizes add up to 100, as `Options` requires.
fn any_options() -> impl Strategy<Value = Options> {
    let sizes = (0_usize..3, 1_u64..5, 0_u8..=100, any::<bool>());
    let pace = (prop::option::of(1_u64..1000), prop::option::of(1_u64..1 << 20), any::<bool>(), 0_u64..3);
    let issue = (0_usize..3, 1_u32..40_000, any::<bool>(), prop::option::of(0_usize..9));
    let rest = (0_usize..10, 0_usize..14, 0_u32..2, 0_usize..3, 0_usize..6);
    (sizes, pace, issue, rest).prop_map(|(sizes, pace, issue, rest)| {
        let (mix, times, percent, odd) = sizes;
        let mut options = plain(Rw::ALL[rest.0]);
        let high_bytes = options.bs_bytes * times + u64::from(odd);
        let share = |bs_bytes, percent| SizeShare { bs_bytes, percent };
        match mix {
            1 => options.bsrange = Some(SizeRange { low_bytes: options.bs_bytes, high_bytes }),
            2 => options.bssplit = vec![share(4096, percent), share(8192, 100 - percent)],
            _ => {}
        }
        (options.rate_iops, options.rate_bytes_per_second) = (pace.0, pace.1);
        options.rate_process = if pace.2 { RateProcess::Poisson } else { RateProcess::Linear };
        options.thinktime_us = pace.3;
        options.ioengine = ["io_uring", "psync", "libaio"][issue.0].into();
        (options.iodepth, options.direct) = (issue.1, issue.2);
        let entry = issue.3.map(|n| OTHER[n]);
        options.other = entry.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        options.random_distribution = DISTRIBUTIONS[rest.1].into();
        options.fsync = rest.2;
        options.sync = [SyncMode::None, SyncMode::Dsync, SyncMode::Sync][rest.3];
        options.verify = [Some("crc32c"), Some("md5"), None, None, None, None][rest.4].map(str::to_owned);
        options
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Native performs what the plan reports as supported.
    #[test]
    fn what_a_plan_lets_through_is_performed(options in any_options()) {
        let lacks = spec::native_lacks(&options, Layout::Written);
        if lacks.is_empty() {
            let made = translated(&options);
            assert!(made.is_ok(), "{made:?}");
        }
    }
}
