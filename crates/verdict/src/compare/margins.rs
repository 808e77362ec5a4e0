//! How much worse a figure may be without being a regression.

use record::metric::info;
use std::collections::BTreeMap;

/// The margin of rates, latencies and other figures: 5 %.
const USUAL: f64 = 0.05;
/// The margin of CPU figures: 10 %. The clock of the processor and other work on it move them more than the storage does.
const OF_CPU: f64 = 0.10;
/// The part of the error for a latency, beside 1 for each other figure. Tail latencies spread most, so a stricter level would cost them most.
const LATENCY_WEIGHT: f64 = 2.0;

/// Directions whose percentiles have a short name: `p99` is `read_lat_p99`, `write_lat_p99` and so on.
const SIDES: [&str; 5] = ["read", "write", "trim", "sync", "durable"];

/// The kind of a figure, by its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rate,
    Latency,
    Cpu,
    Other,
}

impl Kind {
    fn of(metric: &str) -> Self {
        match info(metric).map(|m| m.unit) {
            Some("1/s" | "B/s" | "files/s") => Self::Rate,
            Some("us") => Self::Latency,
            Some("cores" | "ns") => Self::Cpu,
            _ => Self::Other,
        }
    }
}

/// Margins by kind of figure, and by name. Each is relative: 0.05 lets a rate fall to 0.95 times the baseline's, and a latency or a cost rise
/// to 1.05 times.
#[derive(Debug, Clone, PartialEq)]
pub struct Margins {
    rate: f64,
    latency: f64,
    cpu: f64,
    other: f64,
    named: BTreeMap<String, f64>,
}

impl Default for Margins {
    fn default() -> Self {
        Self { rate: USUAL, latency: USUAL, cpu: OF_CPU, other: USUAL, named: BTreeMap::new() }
    }
}

/// A margin was given for figures that nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{name}` has no margin: expected `rate`, `latency`, `cpu`, `other`, a percentile as `p99`, or a metric of docs/metrics.md"
)]
pub struct NoSuchFigures {
    /// The name.
    pub name: String,
}

impl Margins {
    /// Sets the margin of all figures.
    pub fn set_all(&mut self, margin: f64) {
        *self = Self { rate: margin, latency: margin, cpu: margin, other: margin, named: BTreeMap::new() };
    }

    /// Sets the margin of `rate`, `latency`, `cpu` or `other` figures, of a percentile in all directions (`p99`), of a metric, or of one of
    /// the `derived` metrics of the experiment.
    ///
    /// # Errors
    /// There are no figures of that name.
    pub fn set(&mut self, name: &str, margin: f64, derived: &[String]) -> Result<(), NoSuchFigures> {
        match name {
            "rate" => self.rate = margin,
            "latency" => self.latency = margin,
            "cpu" => self.cpu = margin,
            "other" => self.other = margin,
            _ => {
                let is_known = info(name).is_some() || derived.iter().any(|d| d == name);
                let short = SIDES.map(|side| format!("{side}_lat_{name}"));
                let mut metrics: Vec<String> =
                    short.into_iter().filter(|metric| info(metric).is_some()).collect();
                metrics.extend(is_known.then(|| name.to_owned()));
                if metrics.is_empty() {
                    return Err(NoSuchFigures { name: name.to_owned() });
                }
                self.named.extend(metrics.into_iter().map(|metric| (metric, margin)));
            }
        }
        Ok(())
    }

    /// The margin of a metric.
    pub(super) fn of(&self, metric: &str) -> f64 {
        self.named.get(metric).copied().unwrap_or(match Kind::of(metric) {
            Kind::Rate => self.rate,
            Kind::Latency => self.latency,
            Kind::Cpu => self.cpu,
            Kind::Other => self.other,
        })
    }

    /// All margins, as in `record::comparison::Gate::margins`.
    pub(super) fn all(&self) -> BTreeMap<String, f64> {
        let kinds =
            [("rate", self.rate), ("latency", self.latency), ("cpu", self.cpu), ("other", self.other)];
        let kinds = kinds.map(|(name, margin)| (name.to_owned(), margin));
        kinds.into_iter().chain(self.named.clone()).collect()
    }
}

/// The part of the error that a metric gets, beside the others.
pub(super) fn weight(metric: &str) -> f64 {
    if Kind::of(metric) == Kind::Latency { LATENCY_WEIGHT } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::{Margins, weight};

    #[test]
    fn each_kind_has_its_margin_and_names_come_first() {
        let mut margins = Margins::default();
        let of = |m: &Margins| {
            ["iops", "read_lat_p99", "engine_cpu_per_io", "allocated_bytes", "write_lat_p99"].map(|n| m.of(n))
        };
        assert_eq!(of(&margins), [0.05, 0.05, 0.10, 0.05, 0.05]);
        margins.set("p99", 0.2, &[]).unwrap();
        margins.set("cpu", 0.3, &[]).unwrap();
        margins.set("write_lat_p99", 0.4, &[]).unwrap();
        assert_eq!(of(&margins), [0.05, 0.2, 0.3, 0.05, 0.4]);
        margins.set("per_dollar", 0.01, &["per_dollar".to_owned()]).unwrap();
        assert_eq!((margins.of("per_dollar"), margins.all()["cpu"]), (0.01, 0.3));
        let unknown = margins.set("speed", 0.1, &[]).unwrap_err();
        assert!(unknown.to_string().contains("`speed` has no margin: expected `rate`"));
        margins.set_all(0.5);
        assert_eq!(of(&margins), [0.5; 5]);
        assert_eq!((weight("read_lat_p99"), weight("iops"), weight("engine_cpu_per_io")), (2.0, 1.0, 1.0));
    }
}
