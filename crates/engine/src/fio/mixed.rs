//! Blocks of several sizes. fio's histogram logs count I/Os without their sizes, so the bytes inside the measured time are the
//! counted I/Os times their mean size over the whole run. The possible error is known and reported.

use super::output::float;
use record::fio_json::{JobDirection, JobReport, Report};
use record::trial::Totals;
use record::workload::Options;

/// The two-sided 95 % quantile of a normal distribution.
const Z: f64 = 1.96;

/// A note on a trial's bytes; `None` when all blocks have one size, or the whole run was counted.
pub(super) fn bytes_note(options: &Options, report: &Report, totals: [Option<&Totals>; 3]) -> Option<String> {
    if !options.has_several_sizes() {
        return None;
    }
    let ofs: [fn(&JobReport) -> Option<&JobDirection>; 3] =
        [|job| job.read.as_ref(), |job| job.write.as_ref(), |job| job.trim.as_ref()];
    let deviation = relative_deviation(&shares(options));
    let errors = totals.into_iter().zip(ofs).filter_map(|(totals, of)| {
        let completed: u64 = report.jobs.iter().filter_map(|job| of(job)?.completed).sum();
        Some(relative_error(deviation, totals?.ios, completed))
    });
    let worst = errors.fold(0.0, f64::max);
    (worst > 0.0).then(|| {
        format!(
            "bytes are the counted I/Os times their mean size over the whole run, since fio's logs tell no sizes: within {:.2} % (95 %)",
            worst * 100.0
        )
    })
}

/// A note on offsets: with its map of written blocks, fio shortens an I/O that meets one of them, and so most of the large blocks
/// become small.
pub(super) fn offsets_note(options: &Options) -> Option<String> {
    (needs_no_map(options) && !options.norandommap).then(|| {
        "blocks have several sizes: offsets are drawn evenly (norandommap=1), since fio would cut large blocks at those already done"
            .to_owned()
    })
}

/// Whether the shares of sizes are right only without fio's map.
pub(super) fn needs_no_map(options: &Options) -> bool {
    options.has_several_sizes() && options.rw.is_random()
}

/// The standard error of the mean size of the counted I/Os, out of all completed ones, relative to the mean and times [`Z`].
fn relative_error(deviation: f64, counted: u64, completed: u64) -> f64 {
    if counted == 0 || counted >= completed {
        return 0.0;
    }
    let (counted, completed) = (float(counted), float(completed));
    Z * deviation * ((1.0 - counted / completed) / counted).sqrt()
}

/// The sizes, each with its weight.
fn shares(options: &Options) -> Vec<(f64, f64)> {
    match options.bsrange {
        Some(range) => {
            let low = range.low_bytes.max(1);
            (1..=range.high_bytes / low).map(|n| (float(n * low), 1.0)).collect()
        }
        None => options.bssplit.iter().map(|s| (float(s.bs_bytes), f64::from(s.percent))).collect(),
    }
}

/// The standard deviation divided by the mean.
fn relative_deviation(shares: &[(f64, f64)]) -> f64 {
    let all: f64 = shares.iter().map(|(_, weight)| weight).sum();
    let mean = shares.iter().map(|(size, weight)| size * weight).sum::<f64>() / all;
    let variance = shares.iter().map(|(size, weight)| (size - mean).powi(2) * weight).sum::<f64>() / all;
    variance.sqrt() / mean
}

#[cfg(test)]
mod tests {
    use super::{bytes_note, needs_no_map, offsets_note, relative_deviation, relative_error, shares};
    use record::fio_json::{JobDirection, JobReport, Report};
    use record::trial::Totals;
    use record::workload::{Options, Rw, SizeRange, SizeShare};

    fn split() -> Options {
        let share = |bs_bytes, percent| SizeShare { bs_bytes, percent };
        Options {
            bssplit: vec![share(4096, 50), share(12288, 50)],
            ..Options::new(Rw::Randread, 4096, 1 << 20)
        }
    }

    #[test]
    fn the_error_of_a_sample_of_sizes() {
        assert!((relative_deviation(&shares(&split())) - 0.5).abs() < 1e-12);
        let range = Some(SizeRange { low_bytes: 4096, high_bytes: 12288 });
        let even = Options { bssplit: Vec::new(), bsrange: range, ..split() };
        // 1, 2 and 3 blocks: mean 2, variance 2/3.
        assert!((relative_deviation(&shares(&even)) - (2.0_f64 / 3.0).sqrt() / 2.0).abs() < 1e-12);
        assert!((relative_error(0.5, 100, 200) - 1.96 * 0.5 * (0.5 / 100.0_f64).sqrt()).abs() < 1e-12);
        assert!(relative_error(0.5, 200, 200) <= 0.0 && relative_error(0.5, 0, 0) <= 0.0);
    }

    #[test]
    fn only_what_is_estimated_is_said() {
        let read = JobDirection { completed: Some(200), ..JobDirection::default() };
        let report = Report {
            jobs: vec![JobReport { read: Some(read), ..JobReport::default() }],
            ..Report::default()
        };
        let totals = |ios| Totals { ios, ..Totals::default() };
        let note = |options: &Options, ios| bytes_note(options, &report, [Some(&totals(ios)), None, None]);
        assert!(note(&split(), 100).unwrap().contains("within 6.93 %"));
        assert_eq!(note(&split(), 200), None, "all was counted");
        assert_eq!(note(&Options::new(Rw::Randread, 4096, 1 << 20), 100), None);
    }

    #[test]
    fn the_map_is_off_for_random_blocks_of_several_sizes() {
        assert!(needs_no_map(&split()) && offsets_note(&split()).is_some());
        assert!(offsets_note(&Options { norandommap: true, ..split() }).is_none());
        assert!(!needs_no_map(&Options { rw: Rw::Read, ..split() }));
    }
}
