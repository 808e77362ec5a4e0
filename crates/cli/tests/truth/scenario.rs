//! A scenario: what is made to be true, and what must be said of it.

use super::injection::Injection;
use record::finding::{Claim, Served, Severity};
use record::judged::LimitKind;

/// One cell of a session, whose truth is made.
#[derive(Debug, Clone)]
pub(crate) struct Scenario {
    /// Its name, and its workload's in the experiment.
    pub(crate) name: &'static str,
    /// The row of the confusion matrix it belongs to.
    pub(crate) truth: &'static str,
    /// How the truth is made.
    pub(crate) made: &'static str,
    /// Stack of its session.
    pub(crate) stack: &'static str,
    /// Keys of the workload, as within `{ }`.
    pub(crate) workload: &'static str,
    /// What is done while it runs.
    pub(crate) injection: Injection,
    /// Claims that must be made, each at least this severe.
    pub(crate) claims: Vec<(Claim, Severity)>,
    /// Claims that may be made as well, since they are true consequences.
    pub(crate) may: Vec<Claim>,
    /// Claims that must not be made, not even as a note.
    pub(crate) never: Vec<Claim>,
    /// What must be said to have limited it: one of these; empty: not looked at.
    pub(crate) limits: Vec<LimitKind>,
    /// Where the bytes came from or went to: source, share, tolerance.
    pub(crate) served: Vec<(Source, f64, f64)>,
    /// Whether the truth holds only while nobody else takes the CPU.
    pub(crate) needs_cpu: bool,
    /// Whether the truth holds only while nobody else slows the disk down.
    pub(crate) needs_disk: bool,
    /// Whether the truth is that a limited volume doesn't reach its limit.
    pub(crate) short_of_limit: bool,
    /// Whether the truth holds only while all of the data stays in memory: a kernel that takes out what is cold (DAMON) may do so at any time.
    pub(crate) in_memory: bool,
    /// Whether only the native engine makes it: fio's count begins at a row of its log, after the first moments of a cold file.
    pub(crate) by_native: bool,
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

/// The row of scenarios in which nothing is wrong.
pub(crate) const CLEAN: &str = "clean";

/// All of its bytes come from the devices, and nothing is to be said.
pub(crate) fn clean(name: &'static str, stack: &'static str, workload: &'static str) -> Scenario {
    truth(CLEAN, name, stack, workload).served(Source::Device, 1.0, 0.02)
}

/// Something is to be said.
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
