use super::{Asked, Span, cpu_share, errors, generator, span, totals};
use record::fio_json::{JobDirection, JobReport, Report};
use record::latency::LatencyHistogram;
use record::trial::Window;

const FREE: fn(&JobReport) -> Asked = |_| Asked { seconds: None, ramp: false, final_flush: false };

fn reads(issued: u64, completed: u64, ms: u64, bin_ns: u32) -> JobDirection {
    JobDirection {
        issued: Some(issued),
        bytes: Some(completed * 4096),
        runtime_ms: Some(ms),
        completed: Some(completed),
        latency_mean_ns: Some(f64::from(bin_ns)),
        latency: LatencyHistogram { bins_ns: [(u64::from(bin_ns), completed)].into() },
        ..JobDirection::default()
    }
}

fn report(jobs: Vec<JobReport>) -> Report {
    Report { jobs, ..Report::default() }
}

fn one(d: JobDirection) -> Report {
    report(vec![JobReport { read: Some(d), ..JobReport::default() }])
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn rates_are_summed_over_each_jobs_own_time() {
    let job = |d| JobReport { read: Some(d), group: Some(0), ..JobReport::default() };
    let r = report(vec![job(reads(90, 100, 1000, 10)), job(reads(300, 300, 2000, 30))]);
    let t = totals(&r, &FREE, |j| j.read.as_ref()).unwrap();
    assert_eq!((t.ios, t.bytes), (400, 400 * 4096));
    assert!(near(t.iops, 100.0 + 150.0), "{}", t.iops);
    assert!(near(t.seconds, 2.0));
    assert_eq!(t.latency.count(), 400);
    assert!(near(t.latency_mean_ns.unwrap(), (10.0 * 100.0 + 30.0 * 300.0) / 400.0));
    assert_eq!(totals(&r, &FREE, |j| j.write.as_ref()), None);
    assert_eq!(span(&r, &FREE), Span { begin_before_end_seconds: 2.0, length_seconds: 2.0 });
}

/// The first line of the table in docs/decisions/0001: 16k reads at depth 64 from a volume limited to 80 IOPS.
#[test]
fn after_a_ramp_the_final_wait_is_left_out() {
    let r = one(JobDirection { bytes: Some(1269 * 16384), ..reads(1205, 1269, 15_802, 10) });
    let asked = |_: &JobReport| Asked { seconds: Some(15.0), ramp: true, final_flush: false };
    let t = totals(&r, &asked, |j| j.read.as_ref()).unwrap();
    assert!(near(t.iops, 1205.0 / 15.0) && near(t.seconds, 15.0), "{}", t.iops);
    assert_eq!(t.bytes, 1205 * 16384, "bytes in proportion");
    assert!(near(t.bytes_per_second, t.iops * 16384.0));
    let s = span(&r, &asked);
    assert!(near(s.begin_before_end_seconds, 15.802) && near(s.length_seconds, 15.0));
}

#[test]
fn the_final_wait_counts_without_a_ramp_and_with_a_flush() {
    let r = one(reads(800, 864, 10_702, 10));
    for asked in [
        Asked { seconds: Some(10.0), ramp: false, final_flush: false },
        Asked { seconds: Some(10.0), ramp: true, final_flush: true },
        Asked { seconds: Some(20.0), ramp: true, final_flush: false },
    ] {
        let t = totals(&r, &|_| asked, |j| j.read.as_ref()).unwrap();
        assert!(near(t.iops, 864.0 / 10.702), "{asked:?}: {}", t.iops);
        assert_eq!(t.bytes, 864 * 4096);
        assert!(near(span(&r, &|_| asked).length_seconds, 10.702));
    }
}

#[test]
fn groups_run_one_after_the_other() {
    let job =
        |group, ms| JobReport { read: Some(reads(1, 1, ms, 1)), group: Some(group), ..JobReport::default() };
    let r = report(vec![job(0, 1000), job(0, 1500), job(1, 2000)]);
    assert!(near(span(&r, &FREE).length_seconds, 3.5));
}

#[test]
fn without_latencies_the_issued_count_is_all_there_is() {
    let r = one(JobDirection { completed: Some(0), ..reads(7, 7, 1000, 1) });
    assert_eq!(totals(&r, &FREE, |j| j.read.as_ref()).unwrap().ios, 7);
}

#[test]
fn errors_are_named_and_placed() {
    let fatal = JobReport { name: Some("job0".into()), error: Some(28), ..JobReport::default() };
    let survived = JobReport {
        name: Some("job1".into()),
        error: Some(0),
        total_errors: Some(3),
        first_error: Some(5),
        ..JobReport::default()
    };
    let fine =
        JobReport { error: Some(0), total_errors: Some(0), first_error: Some(0), ..JobReport::default() };
    let e = errors(&report(vec![fatal, survived, fine]));
    assert_eq!(e.len(), 2);
    assert_eq!((e[0].errno.as_str(), e[0].count, e[0].place.as_deref()), ("ENOSPC", 1, Some("job0")));
    assert_eq!((e[1].errno.as_str(), e[1].count, e[1].place.as_deref()), ("EIO", 3, Some("job1")));
}

#[test]
fn cpu_is_summed() {
    let job = |cpu| JobReport { user_cpu_percent: cpu, ..JobReport::default() };
    let share = cpu_share(&report(vec![job(Some(50.0)), job(Some(75.0)), job(None)]), |j| j.user_cpu_percent);
    assert!(near(share.unwrap(), 1.25));
    assert_eq!(cpu_share(&report(vec![job(None)]), |j| j.user_cpu_percent), None);
}

#[test]
fn the_cost_is_what_fio_tells_over_the_measured_time() {
    let job = |group| JobReport {
        user_cpu_percent: Some(10.0),
        system_cpu_percent: Some(40.0),
        group: Some(group),
        ..JobReport::default()
    };
    let window = Window { start_ns: 5_000_000_000, end_ns: 25_000_000_000 };
    let cost = generator(&report(vec![job(0), job(0)]), window, 2_000_000).unwrap();
    assert!(near(cost.user_seconds, 4.0) && near(cost.system_seconds, 16.0));
    assert!(near(cost.cpu_ns_per_io.unwrap(), 10_000.0));
    assert_eq!((cost.busiest_thread_seconds, cost.peak_memory_bytes), (None, None), "fio doesn't tell");
    assert_eq!(generator(&report(vec![job(0), job(1)]), window, 1), None, "one after the other");
    assert_eq!(generator(&report(vec![JobReport::default()]), window, 1), None);
}
