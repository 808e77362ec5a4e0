//! A scenario: the truth that the harness makes, and what the program must report.

use super::injection::Injection;
use record::finding::{Claim, Served, Severity};
use record::judged::LimitKind;

/// One cell of a session with a known truth.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Its name, which is also that of its workload in the experiment.
    pub(crate) name: &'static str,
    /// Its row of the confusion matrix.
    pub(crate) truth: &'static str,
    /// How the harness makes the truth.
    pub(crate) made: &'static str,
    /// The stack of its session.
    pub(crate) stack: &'static str,
    /// The workload's keys, as within `{ }`.
    pub(crate) workload: &'static str,
    /// The injection while it runs.
    pub(crate) injection: Injection,
    /// Required claims, each with its least severity.
    pub(crate) claims: Vec<(Claim, Severity)>,
    /// Allowed claims, since they are true consequences.
    pub(crate) may: Vec<Claim>,
    /// Forbidden claims, even as a note.
    pub(crate) never: Vec<Claim>,
    /// The limit must be one of these; empty: not checked.
    pub(crate) limits: Vec<LimitKind>,
    /// The sources or destinations of the bytes: source, share, tolerance.
    pub(crate) served: Vec<(Source, f64, f64)>,
    /// Whether the truth needs that no other process takes the CPU.
    pub(crate) needs_cpu: bool,
    /// Whether the truth needs that no other process slows the disk down.
    pub(crate) needs_disk: bool,
    /// Whether a limited volume must stay below its limit.
    pub(crate) short_of_limit: bool,
    /// Whether the truth needs all of the data in memory; a kernel that reclaims cold pages (DAMON) may take them out at any time.
    pub(crate) in_memory: bool,
    /// Whether only the native engine can make it: fio's counts begin at a row of its log, after the first moments of a cold file.
    pub(crate) by_native: bool,
    /// The share of the bytes that memory below the loop device serves instead of the disk.
    pub(crate) host_cached: Option<f64>,
}

/// A part of [`Served`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Device,
    PageCache,
    Hole,
    Other,
}

impl Source {
    pub(crate) fn of(self, served: &Served) -> f64 {
        match self {
            Self::Device => served.device,
            Self::PageCache => served.page_cache,
            Self::Hole => served.hole,
            Self::Other => served.other,
        }
    }
}

/// The row of clean scenarios.
pub(crate) const CLEAN: &str = "clean";

/// A clean scenario: all bytes come from the devices, and there must be no finding.
pub(crate) fn clean(name: &'static str, stack: &'static str, workload: &'static str) -> Scenario {
    truth(CLEAN, name, stack, workload).served(Source::Device, 1.0, 0.02)
}

/// A scenario with a finding.
pub(crate) fn truth(
    truth: &'static str,
    name: &'static str,
    stack: &'static str,
    workload: &'static str,
) -> Scenario {
    Scenario {
        name,
        truth,
        made: "",
        stack,
        workload,
        injection: Injection::Nothing,
        claims: Vec::new(),
        may: Vec::new(),
        never: Vec::new(),
        limits: Vec::new(),
        served: Vec::new(),
        needs_cpu: false,
        needs_disk: false,
        short_of_limit: false,
        in_memory: false,
        by_native: false,
        host_cached: None,
    }
}

impl Scenario {
    pub(crate) fn made(self, made: &'static str) -> Self {
        Self { made, ..self }
    }

    pub(crate) fn injection(self, injection: Injection) -> Self {
        Self { injection, ..self }
    }

    pub(crate) fn claim(mut self, claim: Claim, severity: Severity) -> Self {
        self.claims.push((claim, severity));
        self
    }

    pub(crate) fn may(mut self, claims: &[Claim]) -> Self {
        self.may.extend(claims);
        self
    }

    pub(crate) fn never(mut self, claims: &[Claim]) -> Self {
        self.never.extend(claims);
        self
    }

    pub(crate) fn limited_by(mut self, limits: &[LimitKind]) -> Self {
        self.limits.extend(limits);
        self
    }

    pub(crate) fn served(mut self, source: Source, share: f64, tolerance: f64) -> Self {
        self.served.push((source, share, tolerance));
        self
    }

    pub(crate) fn needs_cpu(self) -> Self {
        Self { needs_cpu: true, ..self }
    }

    pub(crate) fn needs_disk(self) -> Self {
        Self { needs_disk: true, ..self }
    }

    pub(crate) fn host_cached(self, share: f64) -> Self {
        Self { host_cached: Some(share), ..self }
    }

    pub(crate) fn short_of_limit(self) -> Self {
        Self { short_of_limit: true, ..self }
    }

    pub(crate) fn in_memory(self) -> Self {
        Self { in_memory: true, ..self }
    }

    pub(crate) fn by_native(self) -> Self {
        Self { by_native: true, ..self }
    }
}
