//! Metrics of one trial: each sums up the engine's output in one number. docs/metrics.md describes them.

use crate::bonnie::{Bonnie, Figure};
use crate::copy::{Copied, Extents};
use crate::latency::{Latencies, LatencyHistogram};
use crate::lvm_cache::Flushed;
use crate::plan::{Cell, Formula, Plan};
use crate::trial::{EngineOutput, GeneratorCost, Phase, Totals, TrialRecord};
use crate::workload::{Ask, Workload};
use std::collections::BTreeMap;

mod job;
mod registry;

pub use registry::{
    JOB_SECONDS, Known, METRICS, MONEY, MetricInfo, MetricOf, PRICE_PER_JOB, Resolution, Side, info,
};

/// Percentiles by the suffix of their metric. A percentile is only given when at least one I/O lies beyond it.
const PERCENTILES: [(&str, f64); 3] = [("p50", 0.50), ("p99", 0.99), ("p999", 0.999)];

/// From this block size on, in bytes, bandwidth says more than I/Os per second.
pub const LARGE_BLOCK: u64 = 128 << 10;

impl EngineOutput {
    /// Returns all metrics by name, each in the unit of docs/metrics.md; metrics that this trial doesn't have are absent.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        if let Some(bonnie) = &self.bonnie {
            return self.with_cpu(of_bonnie(bonnie));
        }
        if let Some(copied) = &self.copied {
            return self.with_cpu(of_copy(copied, self));
        }
        let mut values = of_sides(&self.read, &self.write, &self.trim);
        if values.is_empty() {
            return values;
        }
        for (what, latencies) in [("sync", &self.sync), ("durable", &self.durable)] {
            values.extend(latencies.iter().flat_map(|latencies| of_latencies(what, latencies)));
        }
        // Counts come first: what is computed from them can be checked.
        let given = self.given.iter().filter(|(name, _)| !values.contains_key(*name));
        let given: Vec<(String, f64)> = given.map(|(name, value)| (name.clone(), *value)).collect();
        values.extend(given);
        self.with_cpu(values)
    }

    /// Adds the CPU cost of generating the load.
    fn with_cpu(&self, mut values: BTreeMap<String, f64>) -> BTreeMap<String, f64> {
        if let (Some(user), Some(system)) = (self.cpu_user_share, self.cpu_system_share) {
            values.insert("engine_cpu".to_owned(), user + system);
        }
        values.extend(self.generator.iter().flat_map(|cost| of_generator(cost, self.window.seconds())));
        values.retain(|_, v| v.is_finite());
        values
    }

    /// Returns the metrics whose tests ended too quickly: they have no value, but are not absent.
    pub fn too_fast(&self) -> impl Iterator<Item = &str> {
        let figures = self.bonnie.iter().flat_map(|bonnie| &bonnie.figures);
        figures.filter(|(_, figure)| **figure == Figure::TooFast).map(|(name, _)| name.as_str())
    }
}

impl Phase {
    /// Returns the rates and latencies of this phase by name, each in the unit of docs/metrics.md.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let mut values = of_sides(&self.read, &self.write, &self.trim);
        values.retain(|_, v| v.is_finite());
        values
    }
}

/// Rates and latencies of the directions that did any I/O.
fn of_sides(read: &Option<Totals>, write: &Option<Totals>, trim: &Option<Totals>) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    let active: Vec<(&str, &Totals)> = [("read", read), ("write", write), ("trim", trim)]
        .into_iter()
        .filter_map(|(side, totals)| Some((side, totals.as_ref().filter(|t| t.ios > 0)?)))
        .collect();
    if active.is_empty() {
        return values;
    }
    values.insert("iops".to_owned(), active.iter().map(|(_, t)| t.iops).sum());
    values.insert("bw".to_owned(), active.iter().map(|(_, t)| t.bytes_per_second).sum());
    for (side, totals) in active {
        values.insert(format!("{side}_iops"), totals.iops);
        values.insert(format!("{side}_bw"), totals.bytes_per_second);
        if let Some(mean_ns) = totals.latency_mean_ns.or_else(|| mean_ns(&totals.latency)) {
            values.insert(format!("{side}_lat_mean"), mean_ns / 1e3);
        }
        values.extend(percentiles(side, &totals.latency));
    }
    values
}

impl TrialRecord {
    /// Returns all metrics by name: those of the engine, and those of the flush of caches. Empty if no engine ran.
    #[must_use]
    pub fn metrics(&self) -> BTreeMap<String, f64> {
        let Some(engine) = &self.engine else { return BTreeMap::new() };
        let mut values = engine.metrics();
        values.extend(of_flushes(self.caches.iter().filter_map(|cache| cache.flushed.as_ref())));
        values
    }
}

impl Workload {
    /// Returns the metric that the workload is judged by: `bw` for blocks of 128 KiB and more, else `iops`; copies and Bonnie++
    /// have their own.
    #[must_use]
    pub fn headline(&self) -> &'static str {
        match &self.ask {
            Ask::Options(options) if options.bs_bytes >= LARGE_BLOCK => "bw",
            Ask::Copy(_) => "files_per_second",
            Ask::Bonnie(ask) if ask.size_bytes > 0 => "block_output_bw",
            Ask::Bonnie(_) => "seq_create",
            _ => "iops",
        }
    }
}

impl Formula {
    /// Returns the derived figure of a trial; `None` when the trial lacks one of the metrics, or when the figure isn't finite.
    #[must_use]
    pub fn value(&self, metrics: &BTreeMap<String, f64>) -> Option<f64> {
        let of = |name: &Option<String>| name.as_ref().map_or(Some(1.0), |n| metrics.get(n).copied());
        Some(self.factor * of(&self.over)? / of(&self.under)?).filter(|v| v.is_finite())
    }
}

impl Plan {
    /// Returns all metrics of a trial of a cell: its own ([`TrialRecord::metrics`]), and where the work ends by itself the time and the
    /// price of the whole job.
    #[must_use]
    pub fn metrics(&self, cell: &Cell, trial: &TrialRecord) -> BTreeMap<String, f64> {
        let mut values = trial.metrics();
        if let Some(seconds) = job::seconds(self, cell, trial) {
            values.entry(JOB_SECONDS.to_owned()).or_insert(seconds);
        }
        let price = values.get(JOB_SECONDS).zip(self.price_per_hour(cell));
        if let Some(price) = price.map(|(seconds, per_hour)| seconds / 3600.0 * per_hour) {
            values.insert(PRICE_PER_JOB.to_owned(), price);
        }
        values
    }

    /// Returns the name of the figure that the stop rule uses in this cell.
    #[must_use]
    pub fn figure_name<'a>(&'a self, cell: &'a Cell) -> &'a str {
        let asked = self.measure.until.as_ref().and_then(|until| until.of.as_deref());
        asked.unwrap_or_else(|| cell.workload.headline())
    }

    /// Returns the figure of one trial that the stop rule uses: `until.of` (a metric or a derived one), or else the workload's
    /// headline metric. `None` when this trial doesn't have it.
    #[must_use]
    pub fn figure(&self, cell: &Cell, trial: &TrialRecord) -> Option<f64> {
        self.value_of(self.figure_name(cell), cell, &self.metrics(cell, trial))
    }

    /// Returns the figures of one trial that the limits of [`crate::plan::Until::wants`] are about, in their order. A figure is `None`
    /// when this trial doesn't have it.
    #[must_use]
    pub fn wanted(&self, cell: &Cell, trial: &TrialRecord) -> Vec<Option<f64>> {
        let wants = self.measure.until.iter().flat_map(|until| &until.wants);
        let metrics = self.metrics(cell, trial);
        wants.map(|want| self.value_of(&want.of, cell, &metrics)).collect()
    }

    /// Returns a metric or a derived one, from the metrics of a trial.
    fn value_of(&self, name: &str, cell: &Cell, metrics: &BTreeMap<String, f64>) -> Option<f64> {
        metrics.get(name).copied().or_else(|| {
            let derived = self.derived.iter().find(|d| d.name == name)?;
            derived.cells.get(&cell.id)?.value(metrics)
        })
    }
}

/// Returns the percentiles of a histogram that at least one I/O lies beyond.
fn percentiles(what: &str, latency: &LatencyHistogram) -> impl Iterator<Item = (String, f64)> {
    PERCENTILES
        .into_iter()
        .filter_map(move |(suffix, q)| Some((format!("{what}_lat_{suffix}"), percentile_us(latency, q)?)))
}

/// Returns the metrics of syncs, or of the times until writes are durable.
#[expect(clippy::cast_precision_loss, reason = "latencies stay far below 2^53")]
fn of_latencies(what: &str, latencies: &Latencies) -> Vec<(String, f64)> {
    if latencies.count == 0 {
        return Vec::new();
    }
    let mean = latencies.mean_ns.or_else(|| mean_ns(&latencies.histogram));
    let longest = latencies.max_ns.map(|ns| ns as f64);
    let known = [("mean", mean), ("max", longest)];
    let known = known.into_iter().filter_map(|(of, ns)| Some((format!("{what}_lat_{of}"), ns? / 1e3)));
    known.chain(percentiles(what, &latencies.histogram)).collect()
}

/// Returns the metrics of Bonnie++; tests that ended too quickly have no value.
fn of_bonnie(bonnie: &Bonnie) -> BTreeMap<String, f64> {
    let value = |figure: &Figure| match figure {
        Figure::Value(value) => Some(*value),
        Figure::TooFast => None,
    };
    bonnie.figures.iter().filter_map(|(name, figure)| Some((name.clone(), value(figure)?))).collect()
}

/// Returns the metrics of a copy.
#[expect(clippy::cast_precision_loss, reason = "counts and bytes stay far below 2^53")]
fn of_copy(copied: &Copied, engine: &EngineOutput) -> BTreeMap<String, f64> {
    let seconds = engine.window.seconds();
    let files = copied.files as f64;
    let ratio = |extents: Extents| extents.uncompressed_bytes as f64 / extents.disk_bytes as f64;
    let allocated = copied.allocated_bytes.map(|bytes| bytes as f64);
    let all = [
        (JOB_SECONDS, Some(seconds)),
        ("sync_seconds", Some(copied.sync_seconds)),
        ("files_per_second", Some(files / seconds)),
        ("bw", Some(copied.logical_bytes as f64 / seconds)),
        ("logical_bytes", Some(copied.logical_bytes as f64)),
        ("allocated_bytes", allocated),
        ("space_per_file", allocated.map(|bytes| bytes / files)),
        ("compress_ratio", copied.extents.map(ratio)),
    ];
    all.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the dirty bytes that caches had to write to their origins, and how long this took, over all caches.
#[expect(clippy::cast_precision_loss, reason = "bytes stay far below 2^53")]
fn of_flushes<'f>(all: impl Iterator<Item = &'f Flushed>) -> Vec<(String, f64)> {
    let all: Vec<&Flushed> = all.collect();
    if all.is_empty() {
        return Vec::new();
    }
    let owed: Option<u64> = all.iter().map(|flushed| flushed.owed_bytes).sum();
    let seconds: f64 = all.iter().map(|flushed| flushed.seconds).sum();
    let told = [("flush_seconds", Some(seconds)), ("owed_bytes", owed.map(|bytes| bytes as f64))];
    told.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Returns the cost of generating the load, as far as the engine reports it.
fn of_generator(cost: &GeneratorCost, seconds: f64) -> impl Iterator<Item = (String, f64)> {
    let busiest = cost.busiest_thread_seconds.filter(|_| seconds > 0.0).map(|busy| busy / seconds);
    [
        ("engine_cpu_per_io", cost.cpu_ns_per_io),
        ("engine_instructions_per_io", cost.user_instructions_per_io),
        ("engine_busiest_thread", busiest),
    ]
    .into_iter()
    .filter_map(|(name, value)| Some((name.to_owned(), value?)))
}

#[expect(clippy::cast_precision_loss, reason = "counts and latencies stay far below 2^53")]
fn mean_ns(histogram: &LatencyHistogram) -> Option<f64> {
    let count = histogram.count();
    let sum: f64 = histogram.bins_ns.iter().map(|(&ns, &n)| ns as f64 * n as f64).sum();
    (count > 0).then(|| sum / count as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts and latencies stay far below 2^53")]
fn percentile_us(histogram: &LatencyHistogram, q: f64) -> Option<f64> {
    let beyond = histogram.count() as f64 * (1.0 - q);
    (beyond >= 1.0 - 1e-9).then(|| histogram.percentile_ns(q).map(|ns| ns as f64 / 1e3)).flatten()
}

#[cfg(test)]
mod tests {
    use super::{Bonnie, Copied, Extents, Figure, Formula, Latencies, LatencyHistogram};
    use crate::trial::{EngineOutput, Totals, Window};
    use crate::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
    use std::collections::BTreeMap;

    fn totals(ios: u64, bs: u64) -> Totals {
        Totals {
            ios,
            bytes: ios * bs,
            seconds: 20.0,
            iops: ios as f64 / 20.0,
            bytes_per_second: (ios * bs) as f64 / 20.0,
            latency: LatencyHistogram { bins_ns: BTreeMap::from([(1_000_000, ios)]) },
            latency_mean_ns: None,
        }
    }

    fn engine(read: Option<Totals>, write: Option<Totals>, trim: Option<Totals>) -> EngineOutput {
        EngineOutput {
            read,
            write,
            trim,
            ..EngineOutput::new("native-0.1.0".to_owned(), Window { start_ns: 0, end_ns: 20_000_000_000 })
        }
    }

    #[test]
    fn names_and_values_of_a_mix() {
        let m = engine(Some(totals(1600, 16384)), Some(totals(1580, 16384)), None).metrics();
        assert_eq!((m["iops"], m["read_iops"], m["write_iops"]), (159.0, 80.0, 79.0));
        assert_eq!(m["bw"], 159.0 * 16384.0);
        assert_eq!((m["read_lat_p50"], m["read_lat_mean"]), (1000.0, 1000.0));
        assert!(m.contains_key("write_lat_p999"));
    }

    #[test]
    fn trims_are_a_direction_too() {
        let m = engine(None, None, Some(totals(2000, 65536))).metrics();
        assert_eq!((m["iops"], m["trim_iops"], m["trim_bw"]), (100.0, 100.0, 100.0 * 65536.0));
        assert_eq!(m["trim_lat_p999"], 1000.0);
        assert!(!m.keys().any(|name| name.starts_with("read_") || name.starts_with("write_")));
    }

    #[test]
    fn no_percentile_without_an_io_beyond_it() {
        let m = engine(Some(totals(999, 4096)), None, None).metrics();
        assert!(m.contains_key("read_lat_p99") && !m.contains_key("read_lat_p999"));
        assert!(engine(Some(totals(1000, 4096)), None, None).metrics().contains_key("read_lat_p999"));
        assert!(engine(Some(Totals::default()), None, None).metrics().is_empty());
    }

    #[test]
    fn syncs_and_durable_writes_are_told_as_far_as_they_are_known() {
        let mut engine = engine(None, Some(totals(1000, 4096)), None);
        assert!(!engine.metrics().keys().any(|name| name.starts_with("sync") || name.starts_with("durable")));
        engine.sync = Some(Latencies {
            count: 1000,
            mean_ns: Some(170_500.0),
            max_ns: Some(2_000_001),
            histogram: LatencyHistogram { bins_ns: BTreeMap::from([(170_000, 999), (2_000_000, 1)]) },
        });
        engine.durable = Some(Latencies { count: 1000, mean_ns: Some(185_000.0), ..Latencies::default() });
        let m = engine.metrics();
        let of = |name: &str| m.get(name).copied();
        assert_eq!([of("sync_lat_mean"), of("sync_lat_p50")], [Some(170.5), Some(170.0)]);
        assert_eq!([of("sync_lat_p999"), of("sync_lat_max")], [Some(170.0), Some(2000.001)]);
        assert_eq!(
            [of("durable_lat_mean"), of("durable_lat_p99"), of("durable_lat_max")],
            [Some(185.0), None, None]
        );
        engine.sync = Some(Latencies::default());
        assert_eq!(engine.metrics().get("sync_lat_mean"), None, "no sync ended in the measured time");
    }

    #[test]
    fn a_copy_is_told_in_its_own_metrics() {
        let copied = Copied {
            files: 1000,
            logical_bytes: 8_000_000,
            allocated_bytes: Some(10_000_000),
            extents: Some(Extents { uncompressed_bytes: 8_000_000, disk_bytes: 3_200_000 }),
            sync_seconds: 4.0,
            ..Copied::default()
        };
        let mut engine = engine(None, Some(totals(1000, 8000)), None);
        engine.copied = Some(copied);
        let m = engine.metrics();
        let of = |name: &str| m.get(name).copied();
        assert_eq!([of("seconds"), of("sync_seconds")], [Some(20.0), Some(4.0)]);
        assert_eq!([of("files_per_second"), of("bw")], [Some(50.0), Some(400_000.0)]);
        assert_eq!([of("compress_ratio"), of("space_per_file")], [Some(2.5), Some(10_000.0)]);
        assert_eq!((of("iops"), of("write_lat_mean")), (None, None), "a file is no I/O");
        engine.copied = engine.copied.map(|c| Copied { allocated_bytes: None, extents: None, ..c });
        let names = engine.metrics();
        assert!(!names.contains_key("compress_ratio") && !names.contains_key("allocated_bytes"));
    }

    #[test]
    fn what_was_too_fast_has_no_value_and_is_not_absent() {
        let figures = [("seeks", Figure::Value(120.0)), ("seq_stat", Figure::TooFast)];
        let figures = figures.map(|(name, figure)| (name.to_owned(), figure));
        let mut engine = engine(None, None, None);
        engine.bonnie = Some(Bonnie { figures: BTreeMap::from(figures), ..Bonnie::default() });
        assert_eq!(engine.metrics(), BTreeMap::from([("seeks".to_owned(), 120.0)]));
        assert_eq!(engine.too_fast().collect::<Vec<_>>(), ["seq_stat"]);
    }

    #[test]
    fn a_derived_figure_needs_what_it_is_derived_from() {
        let metrics = BTreeMap::from([("iops".to_owned(), 300.0), ("bw".to_owned(), 0.0)]);
        let of = |over: Option<&str>, under: Option<&str>| {
            let (over, under) = (over.map(str::to_owned), under.map(str::to_owned));
            Formula { factor: 0.5, over, under }.value(&metrics)
        };
        assert_eq!(of(Some("iops"), None), Some(150.0));
        assert_eq!(of(None, Some("iops")), Some(0.5 / 300.0));
        assert_eq!((of(Some("trim_iops"), None), of(Some("iops"), Some("bw"))), (None, None));
    }

    #[test]
    fn large_blocks_are_judged_by_bandwidth() {
        let of = |bs| {
            Workload {
                name: "w".to_owned(),
                engine: EngineKind::Native,
                ask: Ask::Options(Options::new(Rw::Read, bs, 1 << 20)),
                layout: Layout::Written,
                cache: CacheStart::Cold,
                on: Vec::new(),
            }
            .headline()
        };
        assert_eq!((of(128 << 10), of(64 << 10)), ("bw", "iops"));
    }
}
