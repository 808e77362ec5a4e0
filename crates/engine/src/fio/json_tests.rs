//! fio's output as this version prints it, and damaged.

use crate::fio::output::{self, Asked};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use record::fio_json::{JobReport, Reading, read};

const TWO_JOBS: &str = include_str!("../../tests/fixtures/fio-3.33/two-jobs.txt");
const ENOSPC: &str = include_str!("../../tests/fixtures/fio-3.33/enospc.txt");
const EIO: &str = include_str!("../../tests/fixtures/fio-3.33/eio.txt");
const SURVIVED: &str = include_str!("../../tests/fixtures/fio-3.33/survived.txt");
const STATUS: &str = include_str!("../../tests/fixtures/fio-3.33/status-interval.txt");

fn errors(reading: &Reading) -> Vec<(String, u64)> {
    let errors = output::errors(reading.report.as_ref().unwrap());
    errors.into_iter().map(|e| (e.errno, e.count)).collect()
}

#[test]
fn a_clean_run() {
    let reading = read(TWO_JOBS);
    assert_eq!((reading.documents, reading.cut_off), (1, false));
    assert!(reading.messages.is_empty(), "{:?}", reading.messages);
    let report = reading.report.unwrap();
    assert_eq!(report.version.as_deref(), Some("fio-3.33"));
    assert_eq!(report.jobs.len(), 2);
    let [first, second] = &report.jobs[..] else { panic!() };
    assert_eq!((first.name.as_deref(), first.error, first.group), (Some("job0"), Some(0), Some(0)));
    assert!(first.user_cpu_percent.is_some() && first.system_cpu_percent.is_some());
    assert!(first.write.is_some() && second.write.is_none(), "no writes is no direction, not zero writes");
    for direction in [&first.read, &first.write, &second.read].into_iter().flatten() {
        assert_eq!(direction.latency.count(), direction.completed.unwrap());
        let mean = direction.latency_mean_ns.unwrap();
        let bins = &direction.latency.bins_ns;
        let of_bins = bins.iter().map(|(ns, n)| *ns as f64 * *n as f64).sum::<f64>();
        let of_bins = of_bins / direction.completed.unwrap() as f64;
        assert!((of_bins / mean - 1.0).abs() < 0.02, "the bins' mean is fio's: {of_bins} {mean}");
    }
}

#[test]
fn merging_over_jobs_is_exact() {
    let report = read(TWO_JOBS).report.unwrap();
    let total = output::totals(&report, &|_| Asked::default(), |j| j.read.as_ref()).unwrap();
    let parts: Vec<_> = report.jobs.iter().filter_map(|j| j.read.as_ref()).collect();
    assert_eq!(total.latency.count(), parts.iter().map(|p| p.latency.count()).sum::<u64>());
    for (ns, n) in &total.latency.bins_ns {
        let of_parts: u64 = parts.iter().filter_map(|p| p.latency.bins_ns.get(ns)).sum();
        assert_eq!(*n, of_parts);
    }
}

#[test]
fn errors_before_the_document() {
    for (text, errno) in [(ENOSPC, "ENOSPC"), (EIO, "EIO")] {
        let reading = read(text);
        assert_eq!(reading.documents, 1);
        assert_eq!(errors(&reading), [(errno.to_owned(), 1)]);
        assert_eq!(reading.messages.len(), 1, "{:?}", reading.messages);
        assert!(reading.messages[0].starts_with("fio: pid="), "{:?}", reading.messages);
    }
}

#[test]
fn survived_errors_are_counted() {
    assert_eq!(errors(&read(SURVIVED)), [("ENOSPC".to_owned(), 1)]);
}

#[test]
fn the_last_of_several_documents_counts() {
    let reading = read(STATUS);
    assert_eq!(reading.documents, 3);
    let last = reading.report.unwrap().jobs[0].read.clone().unwrap();
    assert!(last.runtime_ms.unwrap() >= 1900, "{last:?}");
    let twice = read(&format!("warm\n{ENOSPC}\nbetween\n{TWO_JOBS}after\n"));
    assert_eq!((twice.documents, twice.report.unwrap().jobs.len()), (2, 2));
    assert_eq!(twice.messages.first().map(String::as_str), Some("warm"));
    assert_eq!(twice.messages.last().map(String::as_str), Some("after"));
    assert!(twice.messages.contains(&"between".to_owned()));
}

#[test]
fn a_cut_off_document_is_said_to_be_one() {
    for end in (60..TWO_JOBS.len() - 2).step_by(997) {
        let reading = read(&TWO_JOBS[..end]);
        assert!(reading.report.is_none() && reading.cut_off, "cut at {end}");
    }
    let after_a_whole_one = read(&format!("{ENOSPC}{}", &TWO_JOBS[..5000]));
    assert!(after_a_whole_one.report.is_some() && after_a_whole_one.cut_off);
    assert_eq!(read(""), Reading::default());
    assert_eq!(read("fio: no document\n").messages, ["fio: no document"]);
}

#[test]
fn what_is_no_number_is_none() {
    let text = TWO_JOBS.lines().map(|line| match line.trim().split(" : ").next() {
        Some("\"mean\"") => "\"mean\" : -nan,".to_owned(),
        Some("\"usr_cpu\"") => "\"usr_cpu\" : inf,".to_owned(),
        Some("\"io_bytes\"") => "\"io_bytes\" : 99999999999999999999999999,".to_owned(),
        _ => line.to_owned(),
    });
    let text = text.collect::<Vec<_>>().join("\n");
    assert_ne!(text, TWO_JOBS);
    let report = read(&text).report.unwrap();
    let job = &report.jobs[0];
    assert_eq!(job.user_cpu_percent, None);
    assert!(job.system_cpu_percent.is_some());
    let direction = job.read.as_ref().unwrap();
    assert_eq!((direction.bytes, direction.latency_mean_ns), (None, None));
    assert!(direction.completed.is_some());
}

#[test]
fn missing_fields_are_none() {
    let report = read("{\n\"jobs\" : [ {}, 7, { \"read\" : { \"total_ios\" : 3 } } ]\n}").report.unwrap();
    assert_eq!(report.version, None);
    assert_eq!(report.jobs.len(), 2);
    assert_eq!(report.jobs[0], JobReport::default());
    let direction = report.jobs[1].read.clone().unwrap();
    assert_eq!((direction.issued, direction.bytes, direction.runtime_ms), (Some(3), None, None));
}

#[test]
fn other_json_is_no_document() {
    let reading = read("{ \"a\" : 1 }\n[1]\n{\n");
    assert_eq!(reading.documents, 0);
    assert!(!reading.cut_off);
}

/// Pieces of damaged output.
fn pieces() -> impl Strategy<Value = String> {
    let cut = |text: &'static str| (0..text.len()).prop_map(move |at| text[..at].to_owned());
    prop_oneof![
        Just(TWO_JOBS.to_owned()),
        cut(TWO_JOBS),
        cut(EIO),
        any::<String>(),
        "(\\{\"jobs\" : \\[|\n\\{|\\}|nan,|\"bins\" : \\{\"[0-9]{1,22}\" : [0-9]{1,22}\\}|\\{\"clat_ns\" : ){0,9}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]
    #[test]
    fn garbage_never_panics(parts in prop::collection::vec(pieces(), 0..4)) {
        let reading = read(&parts.concat());
        if let Some(report) = &reading.report {
            let total = output::totals(report, &|_| Asked::default(), |j| j.read.as_ref());
            assert!(total.is_none_or(|t| t.iops.is_finite()));
            let _ = (output::errors(report), output::span(report, &|_| Asked::default()));
        }
    }

    #[test]
    fn a_flipped_byte_never_panics(at in 0..TWO_JOBS.len(), byte in 32_u8..127) {
        let mut bytes = TWO_JOBS.as_bytes().to_vec();
        bytes[at] = byte;
        let reading = read(&String::from_utf8_lossy(&bytes));
        for job in reading.report.iter().flat_map(|r| &r.jobs) {
            if let Some(direction) = &job.read {
                let _ = direction.latency.count();
            }
        }
    }
}
