use super::{Counted, Times, count, log_path};
use record::fio_json::{JobDirection, JobReport, Report};
use record::latency::LatencyHistogram;
use record::printable::chain;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

/// Bin 126 is 126 ns, bin 10 is 10 ns.
fn row(time_ms: u64, direction: u64, at_10: u64, at_126: u64) -> String {
    let mut counts = ["0"; 200].map(str::to_owned);
    counts[10] = at_10.to_string();
    counts[126] = at_126.to_string();
    format!("{time_ms}, {direction}, 4096, {}\n", counts.join(", "))
}

fn write_log(dir: &Path, job: usize, rows: &[(u64, u64, u64, u64)]) {
    let mut text = String::new();
    for (time, direction, low, high) in rows {
        let _ = write!(text, "{}", row(*time, *direction, *low, *high));
    }
    std::fs::write(log_path(dir, job), text).unwrap();
}

fn direction(completed: u64, runtime_ms: u64, bins: &[(u64, u64)]) -> Option<JobDirection> {
    Some(JobDirection {
        issued: Some(completed),
        bytes: Some(completed * 4096),
        runtime_ms: Some(runtime_ms),
        completed: Some(completed),
        latency: LatencyHistogram { bins_ns: bins.iter().copied().collect() },
        ..JobDirection::default()
    })
}

fn report(jobs: Vec<JobReport>) -> Report {
    Report { jobs, ..Report::default() }
}

const TIMES: Times = Times { ramp_ms: 200, trial_ms: 300, row_ms: 100, final_flush: false, agreed_ms: None };

/// The load begins at 1000; the ramp ends at 1200, the trial at 1500; the last row belongs to the final wait.
const ROWS: [(u64, u64, u64, u64); 6] =
    [(1100, 0, 9, 0), (1203, 0, 8, 1), (1301, 0, 7, 0), (1402, 0, 6, 2), (1499, 0, 5, 0), (1600, 0, 4, 0)];

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn counts_from_the_first_row_after_the_ramp_to_the_last_before_the_end() {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path(), 0, &ROWS);
    let job = JobReport { read: direction(42, 700, &[(10, 39), (126, 3)]), ..JobReport::default() };
    let Counted { read, write, series, window, .. } = count(&report(vec![job]), dir.path(), TIMES).unwrap();
    let read = read.unwrap();
    assert_eq!(write, None);
    assert_eq!(read.latency.bins_ns, BTreeMap::from([(10, 18), (126, 2)]));
    assert_eq!((read.ios, read.bytes), (20, 20 * 4096));
    assert!(near(read.seconds, 0.296) && near(read.iops, 20.0 / 0.296), "{read:?}");
    assert!(near(read.latency_mean_ns.unwrap(), (180.0 + 252.0) / 20.0));
    assert_eq!((window.start_ns, window.end_ns), (1_203_000_000, 1_499_000_000));
    let series = series.unwrap();
    assert_eq!((series.start_ns, series.step_ns), (window.start_ns, 200_000_000));
    // 7 until 1301, 8 until 1402, and one of the 5 until 1499 by 1403.
    assert_eq!((series.read_ios, series.bytes), (vec![15], vec![15 * 4096]));
}

#[test]
fn at_an_agreed_moment_the_ramp_begins_for_all_machines() {
    let dir = tempfile::tempdir().unwrap();
    write_log(dir.path(), 0, &ROWS);
    let job = || JobReport { read: direction(42, 700, &[(10, 39), (126, 3)]), ..JobReport::default() };
    // This machine's load begins at 1000.
    for (agreed_ms, start_ms, end_ms, ios) in [(900, 1100, 1301, 16), (1050, 1301, 1499, 13)] {
        let times = Times { agreed_ms: Some(agreed_ms), ..TIMES };
        let Counted { read, window, .. } = count(&report(vec![job()]), dir.path(), times).unwrap();
        assert_eq!((window.start_ns, window.end_ns), (start_ms * 1_000_000, end_ms * 1_000_000));
        assert_eq!(read.unwrap().ios, ios);
    }
}

#[test]
fn a_final_flush_belongs_to_the_time_and_all_that_was_written_to_the_count() {
    let dir = tempfile::tempdir().unwrap();
    let rows = ROWS.map(|(time, _, low, high)| (time, 1, low, high));
    write_log(dir.path(), 0, &rows);
    // 5 more completed after the last row; the flush ended 2 s after the beginning of the load.
    let job = JobReport { write: direction(47, 2000, &[(10, 44), (126, 3)]), ..JobReport::default() };
    let times = Times { final_flush: true, ..TIMES };
    let Counted { write, window, .. } = count(&report(vec![job]), dir.path(), times).unwrap();
    let write = write.unwrap();
    assert_eq!(write.latency.bins_ns, BTreeMap::from([(10, 27), (126, 2)]));
    assert!(near(write.seconds, 1.797) && near(write.iops, 29.0 / 1.797), "{write:?}");
    assert_eq!(window.end_ns, 3_000_000_000);
}

#[test]
fn jobs_and_directions_are_counted_by_their_own_rows() {
    let dir = tempfile::tempdir().unwrap();
    write_log(
        dir.path(),
        0,
        &[
            (1100, 0, 1, 0),
            (1110, 1, 1, 0),
            (1200, 0, 2, 0),
            (1210, 1, 1, 0),
            (1400, 1, 7, 0),
            (1450, 0, 3, 0),
            (1130, 2, 1, 0),
            (1230, 2, 2, 1),
            (1430, 2, 0, 5),
        ],
    );
    write_log(dir.path(), 1, &[(1120, 0, 1, 0), (1220, 0, 2, 0), (1420, 0, 4, 0)]);
    let one = JobReport {
        read: direction(6, 500, &[(10, 6)]),
        write: direction(9, 500, &[(10, 9)]),
        trim: direction(9, 500, &[(10, 3), (126, 6)]),
        ..JobReport::default()
    };
    let two = JobReport { read: direction(7, 500, &[(10, 7)]), ..JobReport::default() };
    let Counted { read, write, trim, window, .. } =
        count(&report(vec![one, two]), dir.path(), TIMES).unwrap();
    let (read, write) = (read.unwrap(), write.unwrap());
    assert_eq!((read.ios, write.ios), (3 + 4, 7));
    assert!(near(read.iops, 3.0 / 0.25 + 4.0 / 0.2), "{}", read.iops);
    assert!(near(write.iops, 7.0 / 0.19), "{}", write.iops);
    let trim = trim.unwrap();
    assert_eq!((trim.ios, trim.latency.bins_ns), (5, BTreeMap::from([(126, 5)])));
    assert_eq!(window.start_ns, (1200 + 1210 + 1230 + 1220) * 1_000_000 / 4, "the mean of all begins");
    assert_eq!(window.end_ns, (1450 + 1400 + 1430 + 1420) * 1_000_000 / 4);
}

#[test]
fn too_few_rows_are_said() {
    let dir = tempfile::tempdir().unwrap();
    let job = || JobReport {
        name: Some("job0".into()),
        read: direction(3, 500, &[(10, 3)]),
        ..JobReport::default()
    };
    let missing = chain(&count(&report(vec![job()]), dir.path(), TIMES).unwrap_err());
    assert!(missing.contains("can't be read"), "{missing}");
    for rows in [&ROWS[..0], &ROWS[..1], &ROWS[..2]] {
        write_log(dir.path(), 0, rows);
        let few = chain(&count(&report(vec![job()]), dir.path(), TIMES).unwrap_err());
        assert!(few.contains("job0 completed too few I/Os in 0.3 s"), "{few}");
    }
    // A direction that did nothing needs no rows.
    assert_eq!(count(&report(vec![JobReport::default()]), dir.path(), TIMES).unwrap().read, None);
}
