//! Options that fio 3.33 can't perform, or performs differently from its documentation: refused by name before anything is laid
//! out. Each was found by running fio. `spec` refuses them in the plan; the device or file system under test adds its own.

use super::verify;
use device::Place;
use record::workload::{Layout, Options};

/// Why fio can't perform a workload's options correctly on this device or file system; `None` when it can.
pub(super) fn refusal(options: &Options, layout: Layout, place: &Place) -> Option<String> {
    let why = trims(options, place)
        .or_else(|| spec::fio_lacks(options, layout))
        .or_else(|| verify::refusal(options))?;
    Some(format!("{why}; use engine: native"))
}

fn trims(options: &Options, place: &Place) -> Option<String> {
    let rw = options.rw;
    (rw.trims() && matches!(place, Place::Directory(_))).then(|| {
        format!("rw: {} on files: fio trims block devices only, and ends at once without an error", rw.name())
    })
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use device::Place;
    use record::workload::{Layout, Options, RateProcess, Rw, SizeRange, SizeShare};
    use std::path::PathBuf;

    fn why(options: &Options) -> Option<String> {
        refusal(options, Layout::Written, &Place::Directory(PathBuf::from("/m")))
    }

    fn reads() -> Options {
        Options::new(Rw::Randread, 4096, 1 << 20)
    }

    fn split(second: u64) -> Vec<SizeShare> {
        [4096, second].map(|bs_bytes| SizeShare { bs_bytes, percent: 50 }).into()
    }

    #[test]
    fn what_fio_does_otherwise_is_refused_by_name() {
        let range = |low_bytes, high_bytes| Some(SizeRange { low_bytes, high_bytes });
        let mixed = || Options { bssplit: split(8192), ..reads() };
        let poisson = RateProcess::Poisson;
        for (name, options) in [
            ("rw: randtrim", Options::new(Rw::Randtrim, 4096, 1 << 20)),
            ("the range's end", Options { bsrange: range(4096, 10240), ..reads() }),
            ("multiples of the smallest", Options { bssplit: split(6144), ..reads() }),
            (
                "`rate` and `rate_iops`",
                Options { rate_iops: Some(1), rate_bytes_per_second: Some(1), ..reads() },
            ),
            ("`rate_iops`", Options { rate_iops: Some(1), ..mixed() }),
            ("`rate` with", Options { rate_bytes_per_second: Some(1), rate_process: poisson, ..mixed() }),
            ("verify", Options { verify: Some("sha512".into()), ..reads() }),
            ("thinktime_spin", Options { thinktime_us: 1000, thinktime_spin_us: 200, ..reads() }),
        ] {
            let text = why(&options).unwrap();
            assert!(text.contains(name) && text.ends_with("; use engine: native"), "{text}");
        }
        let device = Place::Block(PathBuf::from("/dev/x"));
        let trims = |rw| refusal(&Options::new(rw, 4096, 1 << 20), Layout::Written, &device);
        assert!(trims(Rw::Randtrimwrite).unwrap().contains("only trims"));
        assert_eq!((trims(Rw::Trim), trims(Rw::Randtrim), trims(Rw::Trimwrite)), (None, None, None));
    }

    #[test]
    fn what_fio_does_as_meant_passes() {
        let range = Some(SizeRange { low_bytes: 4096, high_bytes: 12288 });
        for options in [
            reads(),
            Options { bsrange: range, ..reads() },
            Options { bssplit: split(8192), rate_bytes_per_second: Some(1), ..reads() },
            Options {
                bssplit: split(8192),
                rate_iops: Some(1),
                rate_process: RateProcess::Poisson,
                ..reads()
            },
            Options { verify: Some("crc32c".into()), ..reads() },
        ] {
            assert_eq!(why(&options), None);
        }
    }
}
