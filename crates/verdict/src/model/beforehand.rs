//! The model of a cell before anything is measured.

use super::ceiling::{ceiling, lowered};
use super::load::Load;
use super::provisioned;
use super::stacking::Stacking;
use record::plan::{Cell, Plan};

/// A figure of a cell by the model, in the unit of its metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Foreseen {
    pub(crate) expected: f64,
    /// 0 if there is no lower bound.
    pub(crate) at_least: f64,
    /// Infinite if there is no upper bound.
    pub(crate) at_most: f64,
    pub(crate) steps: Vec<String>,
}

/// Returns a metric of a cell by the declared limits of its volumes and its machine.
///
/// # Errors
/// Why the model can't say.
pub(crate) fn foresee(plan: &Plan, cell: &Cell, metric: &str) -> Result<Foreseen, &'static str> {
    if cell.find().is_some() {
        return Err("a search tries another load in each trial");
    }
    let load = Load::of(&cell.workload).ok_or("it isn't known how many device I/Os its requests become")?;
    let stacking = Stacking::of(&cell.stack, &load).ok_or("diskproof has no model of its layers")?;
    let passed = ceiling(plan, cell, &stacking, &load);
    let forecast = match (provisioned::forecast(&cell.stack.volumes, &[], &stacking, &load), passed) {
        (Some(forecast), passed) => lowered(forecast, passed),
        (None, _) => return Err("its volumes declare no limits"),
    };
    let foreseen = Foreseen {
        expected: forecast.expected,
        at_least: forecast.at_least,
        at_most: forecast.at_most,
        steps: forecast.steps,
    };
    if let Some(times) = per_request(metric, &load) {
        return match times > 0.0 {
            true => Ok(foreseen.times(times)),
            false => Err("the workload has no such I/O"),
        };
    }
    let side_alone = match metric {
        "read_lat_mean" => load.read_share >= 1.0,
        "write_lat_mean" => load.read_share <= 0.0,
        _ => return Err("the model gives rates and the mean latency, no percentiles and nothing else"),
    };
    if !side_alone {
        return Err("reads and writes wait for different times, which the model doesn't know");
    }
    if load.cap.is_some() {
        return Err("the workload asks for a rate, so its latency isn't that of a full queue");
    }
    Ok(foreseen.latency_us(load.depth))
}

/// The unit of a metric in one request; `None` for metrics that are no rates.
fn per_request(metric: &str, load: &Load) -> Option<f64> {
    let (reads, writes, bytes) = (load.read_share, 1.0 - load.read_share, load.mean_bytes());
    Some(match metric {
        "iops" => 1.0,
        "bw" => bytes,
        "read_iops" => reads,
        "write_iops" => writes,
        "read_bw" => reads * bytes,
        "write_bw" => writes * bytes,
        _ => return None,
    })
}

impl Foreseen {
    pub(crate) fn times(self, factor: f64) -> Self {
        Self {
            expected: self.expected * factor,
            at_least: self.at_least * factor,
            at_most: self.at_most * factor,
            steps: self.steps,
        }
    }

    /// The mean latency with this many requests always in flight: L = λ W (Little 1961, Operations Research 9:383-387).
    fn latency_us(mut self, depth: f64) -> Self {
        let wait = |rate: f64| if rate > 0.0 { depth / rate * 1e6 } else { f64::INFINITY };
        self.steps.push(format!(
            "{depth} requests are always in flight, so each takes {depth} / {} requests/s",
            crate::figures::rate(self.expected)
        ));
        Self {
            expected: wait(self.expected),
            at_least: wait(self.at_most),
            at_most: wait(self.at_least),
            steps: self.steps,
        }
    }
}
