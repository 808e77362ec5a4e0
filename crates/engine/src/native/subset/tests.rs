use super::{Other, issue, nanoseconds, of_options, other};
use crate::native::arrival::Rate;
use crate::native::sizes::Sizes;
use crate::native::task::{Issue, JobTask, Place, Tolerance};
use crate::native::think::Pause;
use record::workload::{Options, RateProcess, Rw, SizeRange, SyncMode};

fn plain(rw: Rw) -> Options {
    Options { iodepth: 4, direct: true, ..Options::new(rw, 4096, 1 << 20) }
}

fn with(entries: &[(&str, &str)]) -> Options {
    Options {
        other: entries.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        ..plain(Rw::Randread)
    }
}

fn translated(options: &Options) -> Result<JobTask, String> {
    let place = Place {
        number: 0,
        path: std::path::PathBuf::new(),
        offset_bytes: 0,
        size_bytes: 1 << 20,
        block_device: false,
    };
    of_options("job0", options, vec![place])
}

#[test]
fn what_native_lacks_is_refused_by_name() {
    for (name, value) in [
        ("zonesize", "1m"),
        ("thinktime_spin", "10"),
        ("continue_on_error", "sometimes"),
        ("rate_process", "bursty"),
        ("fixedbufs", "0"),
        ("hipri", "x"),
    ] {
        let refusal = other(&with(&[(name, value)])).unwrap_err();
        assert!(refusal.contains(name) && refusal.contains("engine: fio"), "{refusal}");
    }
    for ioengine in ["libaio", "mmap", "posixaio"] {
        assert!(issue(ioengine).unwrap_err().contains(ioengine));
    }
    assert_eq!(issue("psync"), Ok(Issue::Threads));
    let zoned = |text: &str| Options { random_distribution: text.into(), ..plain(Rw::Randread) };
    let refused = [
        (Options { rate_iops: Some(100), ..plain(Rw::Randrw) }, "rate_iops"),
        (Options { rate_bytes_per_second: Some(100), ..plain(Rw::Trimwrite) }, "rate"),
        (Options { rate_iops: Some(1), rate_bytes_per_second: Some(1), ..plain(Rw::Read) }, "rate_iops"),
        (Options { iodepth: 40_000, ..plain(Rw::Read) }, "iodepth"),
        (zoned("zoned:50/10:60/90"), "random_distribution"),
        (zoned("zoned_abs:50/1m:50/1g"), "random_distribution"),
        (Options { direct: false, ..with(&[("hipri", "1")]) }, "hipri"),
        (Options { rw: Rw::Trim, ..with(&[("hipri", "1")]) }, "hipri"),
        (Options { ioengine: "psync".into(), ..with(&[("sqthread_poll", "1")]) }, "sqthread_poll"),
    ];
    for (options, name) in refused {
        let refusal = translated(&options).unwrap_err();
        assert!(refusal.contains(name), "{refusal}");
    }
}

#[test]
fn what_native_knows_is_taken() {
    let all = [("continue_on_error", "all"), ("hipri", "1"), ("sqthread_poll", "0"), ("fixedbufs", "1")];
    let everything = Tolerance { read: true, write: true, verify: true };
    let expected = Other { continue_on_error: everything, hipri: true, sqthread_poll: false };
    assert_eq!(other(&with(&all)), Ok(expected));
    assert_eq!(other(&with(&[])), Ok(Other::default()));
    let reads = other(&with(&[("continue_on_error", "read")])).unwrap().continue_on_error;
    assert_eq!(reads, Tolerance { read: true, ..Tolerance::default() });
    let job = translated(&Options {
        bsrange: Some(SizeRange { low_bytes: 4096, high_bytes: 8192 }),
        rate_bytes_per_second: Some(1 << 20),
        rate_process: RateProcess::Poisson,
        thinktime_us: 7,
        thinktime_blocks: 3,
        sync: SyncMode::Dsync,
        time_based: false,
        ..plain(Rw::Randwrite)
    })
    .unwrap();
    assert_eq!(job.sizes, Sizes::Range { low: 4096, high: 8192 });
    assert_eq!(job.rate, Some(Rate { per_second: 1 << 20, bytes: true, poisson: true }));
    assert_eq!(job.pause, Some(Pause { pause_ns: 7000, blocks: 3 }));
    assert!(job.once && job.sync == SyncMode::Dsync);
}

#[test]
fn seconds_become_nanoseconds() {
    assert_eq!(nanoseconds(1.5), 1_500_000_000);
    assert_eq!(nanoseconds(-1.0), 0);
    assert_eq!(nanoseconds(f64::NAN), 0);
}
