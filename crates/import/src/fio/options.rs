//! The options of a job as fio's JSON tells them: text by name.

use record::fio_option::{Access, Field, differing, find};
use record::job_file::{Size, seconds};
use record::workload::{Options, Rw, SizeRange, SizeShare};
use std::collections::BTreeMap;

/// Options that say where data and reports go, not what is measured: they don't tell jobs apart.
const PLACES: [&str; 18] = [
    "description",
    "directory",
    "filename",
    "filename_format",
    "group_reporting",
    "log_avg_msec",
    "log_hist_msec",
    "log_unix_epoch",
    "name",
    "new_group",
    "per_job_logs",
    "stonewall",
    "unified_rw_reporting",
    "wait_for",
    "write_bw_log",
    "write_hist_log",
    "write_iops_log",
    "write_lat_log",
];

/// The options of a job, with fio's defaults for what isn't said. What has no field, or a value that can't be read, is in `other`.
pub(super) fn options(written: &BTreeMap<String, String>) -> Options {
    // `time_based` stays as it is for diskproof: fio leaves switches of its command line out of its JSON.
    let mut read = Options::new(Rw::Read, 4096, 0);
    "psync".clone_into(&mut read.ioengine);
    for (name, value) in written.iter().filter(|(name, _)| name.as_str() != "name") {
        let (name, value) = main(name, value);
        if set(&mut read, name, &value).is_none() {
            read.other.insert(name.to_owned(), value);
        }
    }
    read
}

/// Options as text, for names and levels: equal for equal jobs. Places are left out.
pub(crate) fn texts(options: &Options) -> BTreeMap<String, String> {
    let mut texts = differing(options);
    texts.retain(|name, _| !PLACES.contains(&name.as_str()));
    for (name, value) in [
        ("iodepth", options.iodepth),
        ("numjobs", options.numjobs),
        ("direct", u8::from(options.direct).into()),
    ] {
        texts.entry(name.to_owned()).or_insert_with(|| value.to_string());
    }
    texts
}

/// The main name of an option, and the value under that name.
fn main<'n>(name: &'n str, value: &str) -> (&'n str, String) {
    let Some(Access::Alias(alias)) = find(name).map(|option| option.access) else {
        return (name, value.to_owned());
    };
    match alias.minus_from {
        None => (alias.of, value.to_owned()),
        Some(sum) => match value.parse::<u8>().ok().and_then(|value| sum.checked_sub(value)) {
            Some(rest) => (alias.of, rest.to_string()),
            None => (name, value.to_owned()),
        },
    }
}

/// Sets an option's field; `None`: it has none, or the value can't be read. Of several values (`4k,8k`: reads, writes, trims) the first counts.
fn set(options: &mut Options, name: &str, value: &str) -> Option<()> {
    let field = find(name)?.key()?.field;
    let first = value.split(',').next().unwrap_or(value).trim();
    match field {
        Field::Switch { set, .. } => set(options, first != "0"),
        Field::Percent(set) => set(options, first.parse::<u8>().ok().filter(|percent| *percent <= 100)?),
        Field::Count { set, .. } => set(options, first.parse().ok()?),
        Field::Size { set, .. } => set(options, size(first)?),
        Field::Rate { bytes, set } => {
            let limit = if bytes { size(first)? } else { first.parse().ok()? };
            set(options, (limit > 0).then_some(limit));
        }
        Field::Time { per_second, set, .. } => set(options, steps(seconds(first)?, per_second)),
        Field::Words { words, set } => {
            // an offset may follow: `rw=write:8k`
            let word = first.split(':').next().unwrap_or(first);
            let word = if name == "rw" && word == "readwrite" { "rw" } else { word };
            set(options, words.contains(&word).then_some(word)?);
        }
        Field::Name(set) => set(options, value.to_owned()),
        Field::Distribution(set) => set(options, value.to_owned()),
        Field::SizeRange(set) => set(options, range(first)?),
        Field::SizeShares(set) => set(options, shares(first)?),
    }
    Some(())
}

fn size(text: &str) -> Option<u64> {
    match Size::parse(text, None)? {
        Size::Bytes(bytes) => Some(bytes),
        Size::Percent(_) => None,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "times are not negative, and far below 2^52 steps"
)]
fn steps(seconds: f64, per_second: u32) -> u64 {
    (seconds * f64::from(per_second)).round() as u64
}

/// Parses `4k-64k`.
fn range(text: &str) -> Option<SizeRange> {
    let (low, high) = text.split_once('-')?;
    Some(SizeRange { low_bytes: size(low)?, high_bytes: size(high)? })
}

/// Parses `4k/60:64k/40`.
fn shares(text: &str) -> Option<Vec<SizeShare>> {
    let share = |part: &str| {
        let (bs, percent) = part.split_once('/')?;
        Some(SizeShare { bs_bytes: size(bs)?, percent: percent.parse().ok()? })
    };
    text.split(':').map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::{options, texts};
    use record::workload::{Rw, SyncMode};
    use std::collections::BTreeMap;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn options_have_fios_defaults_and_its_units() {
        let read = options(&map(&[
            ("rw", "randrw"),
            ("bs", "16k"),
            ("size", "4473924266"),
            ("rwmixwrite", "30"),
            ("runtime", "2m"),
            ("iodepth", "8"),
            ("sync", "dsync"),
            ("buffered", "0"),
            ("filename", "/dev/sdb"),
            ("ioengine", "libaio"),
        ]));
        assert_eq!((read.rw, read.bs_bytes, read.size_bytes), (Rw::Randrw, 16384, 4_473_924_266));
        assert_eq!((read.rwmixread, read.runtime_ms, read.iodepth), (70, Some(120_000), 8));
        assert_eq!((read.sync, read.direct, read.ioengine.as_str()), (SyncMode::Dsync, true, "libaio"));
        assert_eq!(read.filename.as_deref(), Some("/dev/sdb"));
        let bare = options(&BTreeMap::new());
        assert_eq!(
            (bare.rw, bare.bs_bytes, bare.ioengine.as_str(), bare.direct),
            (Rw::Read, 4096, "psync", false)
        );
    }

    #[test]
    fn what_has_no_field_or_no_sense_is_kept_as_text() {
        let read = options(&map(&[
            ("size", "50%"),
            ("refill_buffers", "1"),
            ("iodepth", "many"),
            ("readwrite", "readwrite"),
        ]));
        assert_eq!((read.size_bytes, read.iodepth, read.rw), (0, 1, Rw::Rw));
        assert_eq!(read.other, map(&[("size", "50%"), ("refill_buffers", "1"), ("iodepth", "many")]));
    }

    #[test]
    fn the_same_job_has_the_same_texts_wherever_its_data_lie() {
        let of = |pairs: &[(&str, &str)]| texts(&options(&map(pairs)));
        let here =
            of(&[("rw", "read"), ("blocksize", "4096"), ("filename", "/dev/sda"), ("write_bw_log", "a")]);
        assert_eq!(here, of(&[("bs", "4k"), ("directory", "/mnt"), ("group_reporting", "1")]));
        assert_ne!(here, of(&[("bs", "8k")]));
        assert_eq!(here["iodepth"], "1");
    }
}
