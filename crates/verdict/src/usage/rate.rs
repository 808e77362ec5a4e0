//! The requested and the measured rate.

use crate::facts::Facts;
use crate::span::float;
use record::trial::Totals;
use record::workload::{Options, RateProcess};

/// From this share on, a requested rate is reached; the rest is the error of the window's ends.
const RATE_MET: f64 = 0.98;

/// The measured and the requested rate of all jobs on all machines together, in I/Os or bytes per second; `None` if no rate was requested. fio
/// limits each direction to the rate; a search of a mix limits both together.
pub(crate) fn rates(facts: &Facts<'_>) -> Option<(f64, f64, &'static str)> {
    let jobs = facts.all_options();
    // A job without a rate runs as fast as it can.
    let of_all = |rate: fn(&Options) -> Option<u64>| {
        let each = jobs.iter().map(|o| Some(float(rate(o)?) * f64::from(o.numjobs) * directions(o)));
        let asked = each.sum::<Option<f64>>().filter(|asked| *asked > 0.0);
        asked.map(|asked| asked * facts.machines())
    };
    let by_bytes = || {
        let made: f64 = totals(facts).map(|t| t.bytes_per_second).sum();
        Some((made, of_all(|o| o.rate_bytes_per_second)?, "B/s"))
    };
    of_all(|o| o.rate_iops).map(|asked| (made_iops(facts), asked, "1/s")).or_else(by_bytes)
}

fn directions(options: &Options) -> f64 {
    if options.rate_of_all {
        return 1.0;
    }
    let asked = [options.rw.reads(), options.rw.writes(), options.rw.trims()];
    asked.into_iter().map(|does| f64::from(u8::from(does))).sum()
}

/// Whether the requested rate was reached. The number of random arrivals varies by chance, so two standard deviations fewer are
/// accepted.
pub(crate) fn is_made(facts: &Facts<'_>) -> bool {
    let ios: f64 = totals(facts).map(|t| float(t.ios)).sum();
    let random = facts.all_options().iter().any(|o| o.rate_process == RateProcess::Poisson);
    let chance = if random && ios > 0.0 { 2.0 / ios.sqrt() } else { 0.0 };
    rates(facts).is_some_and(|(made, asked, _)| made >= (RATE_MET - chance) * asked)
}

pub(crate) fn totals<'a>(facts: &Facts<'a>) -> impl Iterator<Item = &'a Totals> {
    let engine = facts.engine;
    [engine.read.as_ref(), engine.write.as_ref(), engine.trim.as_ref()].into_iter().flatten()
}

pub(crate) fn made_iops(facts: &Facts<'_>) -> f64 {
    totals(facts).map(|t| t.iops).sum()
}
