//! Detectors: each examines one trial and makes a claim or none.

mod amplified;
mod bonnie;
mod cache_device;
mod content;
pub(crate) mod cpu;
mod departed;
mod emulated;
pub(crate) mod generator;
mod ground;
mod load;
mod nfs;
mod outcome;
mod setting;
mod source;
mod stalled;
mod thin_pool;
mod unknown;

use crate::attribute::Attribution;
use crate::facts::Facts;
use crate::limit;
use record::emulated::Range;
use record::environment::Environment;
use record::finding::{Claim, Finding, Severity};
use record::plan::Cell;
use record::volume::VolumeFacts;
use std::collections::BTreeMap;

pub(crate) use content::{checked, wrong_content};
pub use outcome::REFUSED_TRIALS;
pub(crate) use outcome::{failed, too_wide};
pub(crate) use source::compressed;

/// The least share for a claim: metadata and the window's ends make up to 2 %.
pub(crate) const WORTH_SAYING: f64 = 0.02;

/// The input of a detector.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scene<'a> {
    pub(crate) facts: &'a Facts<'a>,
    pub(crate) shares: &'a Attribution,
    /// Facts of the volumes under this cell.
    pub(crate) volumes: &'a [&'a VolumeFacts],
    /// The machine it ran on.
    pub(crate) machine: &'a Environment,
    /// The range in which figures of a lab guest's disks are valid.
    pub(crate) believed: Option<Range>,
}

/// A claim about one trial.
#[derive(Debug, Clone)]
pub(crate) struct Detected {
    pub(crate) claim: Claim,
    pub(crate) severity: Severity,
    /// The strength: of a cell's trials, the report shows the strongest detection.
    pub(crate) strength: f64,
    pub(crate) evidence: BTreeMap<String, f64>,
    pub(crate) text: String,
    pub(crate) remedy: String,
}

impl Detected {
    /// Adds the round of the figures to the text, if there are several rounds: `seen` of the `measured` ones show the same.
    pub(crate) fn of_round(mut self, round: u32, seen: u32, measured: usize) -> Self {
        if measured > 1 {
            self.text = format!("Round {} ({seen} of {measured} rounds show it): {}", round + 1, self.text);
        }
        self
    }

    pub(crate) fn finding(self, cell: &Cell, trials: u32) -> Finding {
        Finding {
            claim: self.claim,
            severity: self.severity,
            cell: cell.id.clone(),
            trials,
            evidence: self.evidence,
            text: self.text,
            remedy: self.remedy,
        }
    }
}

/// All detections in one trial, each with the number of its detector. The same thing has the same number in several trials,
/// while two different things may share a claim.
pub(crate) fn in_trial(scene: &Scene<'_>) -> Vec<(usize, Detected)> {
    let detectors: [fn(&Scene<'_>) -> Option<Detected>; 44] = [
        source::holes,
        source::page_cache,
        source::arc,
        compressed,
        source::not_durable,
        unknown::share,
        unknown::backing,
        ground::memory_backed,
        ground::host_cache,
        ground::double_caching,
        setting::smaller_than_memory,
        setting::shared_file,
        departed::not_as_asked,
        cpu::engine_cpu_bound,
        load::interference,
        cpu::others_used_the_cpu,
        load::io_errors,
        limit::undeclared_limit,
        limit::throttle_changed,
        limit::cpu_quota,
        limit::network_bound,
        limit::journal_bound,
        limit::serialized,
        bonnie::compressing_stack,
        bonnie::memory_rule,
        bonnie::too_fast,
        cache_device::served,
        cache_device::missed,
        cache_device::write_cache,
        cache_device::owed,
        nfs::server_cache,
        nfs::asynchronous,
        emulated::disks,
        emulated::processor,
        stalled::engine,
        stalled::agent,
        stalled::frozen,
        stalled::by_quota,
        stalled::by_steal,
        stalled::suspended,
        stalled::storage,
        amplified::writes,
        ground::holes_below,
        thin_pool::allocated,
    ];
    detectors.iter().enumerate().filter_map(|(number, detect)| Some((number, detect(scene)?))).collect()
}

/// The severity of a share of bytes that weren't storage I/O: from half on, the figure isn't a storage figure.
pub(crate) fn by_share(share: f64) -> Severity {
    if share >= 0.5 {
        Severity::Void
    } else if share >= 0.1 {
        Severity::Caveat
    } else {
        Severity::Note
    }
}

/// The known counters, by name.
pub(crate) fn evidence<const N: usize>(counters: [(&str, Option<f64>); N]) -> BTreeMap<String, f64> {
    counters
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.filter(|v| v.is_finite())?)))
        .collect()
}
