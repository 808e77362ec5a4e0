//! The options of a workload that differ from fio's defaults.

use super::keys::KEYS;
use crate::quantity::Seconds;
use crate::workload::Options;
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns what fio's job file says for these options and not for the defaults of the same pattern, with `bs`, `size`, the times
/// and the options that fio gets unchanged.
#[must_use]
pub fn differing(options: &Options) -> BTreeMap<String, String> {
    let plain = Options::new(options.rw, options.bs_bytes, options.size_bytes);
    let mut found: BTreeMap<String, String> = KEYS
        .iter()
        .filter_map(|option| {
            let key = option.key()?;
            let told = (key.told)(options)?;
            (Some(&told) != (key.told)(&plain).as_ref()).then(|| (option.name.to_owned(), told))
        })
        .collect();
    let milliseconds = |ms: u64| Seconds(Duration::from_millis(ms).as_secs_f64()).to_string();
    let places = [
        ("rw", Some(options.rw.name().to_owned())),
        ("bs", (!options.has_several_sizes()).then(|| bytes(options.bs_bytes))),
        ("size", Some(bytes(options.size_bytes))),
        ("offset", (options.offset_bytes > 0).then(|| bytes(options.offset_bytes))),
        ("nrfiles", (options.nrfiles > 1).then(|| options.nrfiles.to_string())),
        ("filename", options.filename.clone()),
        ("runtime", options.runtime_ms.map(milliseconds)),
        ("ramp_time", options.ramp_time_ms.map(milliseconds)),
        ("time_based", (!options.time_based).then(|| "0".to_owned())),
    ];
    found.extend(places.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    found.extend(options.other.clone());
    found
}

/// A size as fio writes it: `4k`, `256m`, `1000`.
fn bytes(size: u64) -> String {
    let units = [(30, "g"), (20, "m"), (10, "k")];
    let whole = units.into_iter().find(|(shift, _)| size > 0 && size.trailing_zeros() >= *shift);
    whole.map_or_else(|| size.to_string(), |(shift, unit)| format!("{}{unit}", size >> shift))
}

#[cfg(test)]
mod tests {
    use super::differing;
    use crate::workload::{Options, Rw};

    #[test]
    fn only_what_differs_is_named_and_nothing_of_it_is_lost() {
        let plain = Options::new(Rw::Randwrite, 4096, 256 << 20);
        let said = |options: &Options| {
            let all = differing(options);
            all.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(said(&plain), "bs=4k rw=randwrite size=256m");
        let options = Options {
            iodepth: 32,
            direct: true,
            fsync: 1,
            end_fsync: true,
            norandommap: true,
            random_distribution: "zipf:1.1".to_owned(),
            runtime_ms: Some(1500),
            other: [("nice".to_owned(), "5".to_owned())].into(),
            ..plain
        };
        let said = said(&options);
        for part in [
            "iodepth=32",
            "direct=1",
            "fsync=1",
            "end_fsync=1",
            "norandommap",
            "zipf:1.1",
            "nice=5",
            "runtime=",
        ] {
            assert!(said.contains(part), "{part} in {said}");
        }
    }
}
