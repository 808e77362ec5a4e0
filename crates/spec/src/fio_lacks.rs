//! Options that fio 3.33 silently performs differently from its documentation. They are refused, each with an alternative.
//! Measured; see docs/engine.md.

use crate::fields::Fields;
use crate::problems::Problems;
use crate::{block_sizes, together};
use record::workload::{Layout, Options, RateProcess, Rw};

/// Refuses, by name, options that fio gets wrong.
pub(crate) fn check(options: &Options, fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<()> {
    let Some((name, what)) = lack(options) else { return Some(()) };
    let span = fields.key(name).or_else(|| fields.key("engine")).map(|key| key.span).unwrap_or_default();
    problems.add(span, what).help("use `engine: native`");
    None
}

/// Returns why no trial by fio means what these options say, including what no engine can do, as a sentence. `None`: fio performs
/// them, unless the device or file system under test is in the way.
#[must_use]
pub fn fio_lacks(options: &Options, layout: Layout) -> Option<String> {
    match together::clash(options, layout) {
        Err(clash) => Some(clash.message),
        Ok(()) => lack(options).map(|(_, what)| what.to_owned()),
    }
}

fn lack(options: &Options) -> Option<(&'static str, &'static str)> {
    let mixed = options.has_several_sizes();
    let poisson = options.rate_process == RateProcess::Poisson;
    if options.rw == Rw::Randtrimwrite {
        return Some(("rw", "fio does not write with `rw: randtrimwrite`: it only trims"));
    }
    if options.rate_of_all && options.rate_iops.is_some() {
        return Some((
            "rate_iops",
            "fio applies `rate_iops` to each direction of a mix, not to both together",
        ));
    }
    if mixed && options.rate_iops.is_some() && !poisson {
        return Some((
            "rate_iops",
            "fio does not keep `rate_iops` with blocks of several sizes: it counts bytes",
        ));
    }
    if mixed && options.rate_bytes_per_second.is_some() && poisson {
        let what = "fio does not keep `rate` with `rate_process: poisson` and blocks of several sizes";
        return Some(("rate", what));
    }
    let uneven = |size: &u64| !size.is_multiple_of(options.bs_bytes.max(1));
    if block_sizes::all(options).iter().any(uneven) {
        return Some((
            "bssplit",
            "fio does not place blocks of sizes that aren't multiples of the smallest one",
        ));
    }
    if options.thinktime_us > 0 && options.thinktime_spin_us > 0 {
        // https://github.com/axboe/fio/issues/1588
        let what = "fio before 3.36 pauses until the end of the trial if the processor is taken away from it during `thinktime_spin`";
        return Some(("thinktime_spin", what));
    }
    if options.fio_flushes_each_pass() {
        let what = "fio flushes after each pass of `rw: write` over several files, or over a `size` that is no multiple of the block size, not \
                    once at the end: `end_fsync: 1` (the default of buffered writes) would mean something else by each engine; `end_fsync: 0` leaves it out";
        return Some(("end_fsync", what));
    }
    if options.verify.is_some() && [options.size_bytes, options.offset_bytes].iter().any(uneven) {
        let what = "fio does not verify a `size` or `offset` that is no multiple of the block size";
        return Some(("verify", what));
    }
    None
}
