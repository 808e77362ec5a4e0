//! Options that fio 3.33 can't perform, or performs differently from its documentation: refused by name before anything is laid
//! out. Each was found by running fio.

use super::verify;
use device::Place;
use record::workload::{Layout, Options, RateProcess, Rw};

/// The most sizes in one `bssplit`.
const MOST_SIZES: usize = 64;

/// Why fio can't perform a workload's options correctly on this device or file system; `None` when it can.
pub(super) fn refusal(options: &Options, layout: Layout, place: &Place) -> Option<String> {
    let why = trims(options, place)
        .or_else(|| sizes(options))
        .or_else(|| rates(options))
        .or_else(|| flushes(options))
        .or_else(|| verify::refusal(options, layout, place))?;
    Some(format!("{why}; use engine: native"))
}

fn trims(options: &Options, place: &Place) -> Option<String> {
    let rw = options.rw;
    if rw.trims() && matches!(place, Place::Directory(_)) {
        return Some(format!(
            "rw: {} on files: fio trims block devices only, and ends at once without an error",
            rw.name()
        ));
    }
    (rw == Rw::Randtrimwrite)
        .then(|| "rw: randtrimwrite: fio 3.33 trims at random places, but never writes there".to_owned())
}

fn sizes(options: &Options) -> Option<String> {
    if let Some(range) = options.bsrange
        && !range.high_bytes.is_multiple_of(range.low_bytes.max(1))
    {
        let (low, high) = (range.low_bytes, range.high_bytes);
        return Some(format!(
            "bsrange: {high} is no multiple of {low}, and fio would use blocks of {high} bytes beside the multiples"
        ));
    }
    let smallest = options.bs_bytes.max(1);
    if let Some(odd) = options.bssplit.iter().find(|share| !share.bs_bytes.is_multiple_of(smallest)) {
        let odd = odd.bs_bytes;
        return Some(format!(
            "bssplit: {odd} is no multiple of the smallest size, {smallest}, and fio would round it down"
        ));
    }
    (options.bssplit.len() > MOST_SIZES).then(|| format!("bssplit: fio takes {MOST_SIZES} sizes at most"))
}

fn rates(options: &Options) -> Option<String> {
    let poisson = options.rate_process == RateProcess::Poisson;
    match (options.rate_iops, options.rate_bytes_per_second) {
        (Some(_), Some(_)) => Some("rate with rate_iops: fio takes one of them".to_owned()),
        (Some(_), None) if is_mixed(options) && !poisson => Some(
            "rate_iops with blocks of several sizes: fio paces bytes, and does fewer I/Os than asked".to_owned(),
        ),
        (None, Some(_)) if is_mixed(options) && poisson => Some(
            "rate with rate_process: poisson and blocks of several sizes: fio takes all for the smallest, and moves more bytes than asked"
                .to_owned(),
        ),
        _ => None,
    }
}

fn flushes(options: &Options) -> Option<String> {
    options.fio_flushes_each_pass().then(|| {
        "end_fsync: sequential writes over several files, or over a size that is no multiple of the block size: fio flushes after each pass, \
         not once at the end"
            .to_owned()
    })
}

/// Whether blocks have several sizes.
pub(super) fn is_mixed(options: &Options) -> bool {
    options.bsrange.is_some_and(|range| range.low_bytes != range.high_bytes) || options.bssplit.len() > 1
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
            ("bsrange", Options { bsrange: range(4096, 10240), ..reads() }),
            ("bssplit", Options { bssplit: split(6144), ..reads() }),
            (
                "rate with rate_iops",
                Options { rate_iops: Some(1), rate_bytes_per_second: Some(1), ..reads() },
            ),
            ("rate_iops", Options { rate_iops: Some(1), ..mixed() }),
            ("rate", Options { rate_bytes_per_second: Some(1), rate_process: poisson, ..mixed() }),
            ("verify", Options { verify: Some("sha512".into()), ..reads() }),
        ] {
            let text = why(&options).unwrap();
            assert!(text.starts_with(name) && text.ends_with("; use engine: native"), "{text}");
        }
        let device = Place::Block(PathBuf::from("/dev/x"));
        let trims = |rw| refusal(&Options::new(rw, 4096, 1 << 20), Layout::Written, &device);
        assert!(trims(Rw::Randtrimwrite).unwrap().contains("never writes"));
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
