//! Compares the native engine with fio on the same device or file system: pairs of cells that differ only in their engine,
//! round by round. The rules are in docs/calibrate.md.

mod causes;
mod comparison;
mod conduct;
#[cfg(test)]
mod tests;
mod total;

use crate::Input;
use crate::facts::Facts;
use comparison::Pairs;
use record::agreement::{AGREEMENT_FORMAT, Agreement, Definition, Evidence, Margins};
use record::metric::LARGE_BLOCK;
use record::plan::{Cell, Plan};
use record::trial::{Outcome, TrialRecord};
use record::workload::{Ask, EngineKind};
use std::collections::BTreeMap;

/// Whether a plan has a workload for both engines, so that they can be compared.
#[must_use]
pub fn is_calibration(plan: &Plan) -> bool {
    couples(plan).next().is_some()
}

/// Compares the engines of a run.
#[must_use]
pub fn agreement(input: &Input<'_>, margins: Margins) -> Agreement {
    let mut pairs = Vec::new();
    let mut evidence = Vec::new();
    let mut missing = Vec::new();
    let (mut native, mut fio) = (None, None);
    let mut definitions = Vec::new();
    let trials: Vec<TrialRecord> = input.trials.iter().map(total::with_total).collect();
    for couple in couples(input.plan) {
        let rounds = couple.rounds(&trials);
        if rounds.is_empty() {
            missing.push(format!("{}: there is no round in which both engines measured", couple.workload));
            continue;
        }
        let version = |facts: Option<&Facts<'_>>| facts.map(|f| f.engine.engine.clone());
        native = native.or_else(|| version(rounds.first().map(|(n, _)| n)));
        fio = fio.or_else(|| version(rounds.first().map(|(_, f)| f)));
        pairs.extend(couple.pairs(&rounds, margins, &mut missing));
        definitions.extend(rounds.iter().map(|(_, f)| total::definition(f.engine)));
        let (ours, theirs): (Vec<Facts<'_>>, Vec<Facts<'_>>) = rounds.into_iter().unzip();
        evidence.push(Evidence {
            workload: couple.workload.clone(),
            native: conduct::of(&ours),
            fio: conduct::of(&theirs),
        });
    }
    let confidence = input.plan.measure.confidence;
    let lines = comparison::judge(&pairs, confidence);
    let rated = |workload: &str| couples(input.plan).any(|c| c.workload == workload && c.has_rate());
    let all_total = definitions.iter().all(|d| *d == Definition::Total);
    let fio_latency = if all_total { Definition::Total } else { Definition::AfterSubmission };
    let explanations = causes::explain(&lines, &evidence, fio_latency, &rated);
    Agreement {
        format: AGREEMENT_FORMAT.to_owned(),
        run: input.run.clone(),
        native,
        fio,
        fio_latency,
        confidence,
        margins,
        lines,
        evidence,
        explanations,
        missing,
    }
}

/// Two cells that differ only in their engine.
struct Couple<'a> {
    /// The workload's name without the engine.
    workload: String,
    native: &'a Cell,
    fio: &'a Cell,
}

fn couples(plan: &Plan) -> impl Iterator<Item = Couple<'_>> {
    let of = |engine| plan.cells.iter().filter(move |c| c.workload.engine == engine);
    of(EngineKind::Native).filter_map(move |native| {
        let fio = of(EngineKind::Fio).find(|fio| alike(native, fio))?;
        Some(Couple { workload: name(native), native, fio })
    })
}

fn alike(a: &Cell, b: &Cell) -> bool {
    let (x, y) = (&a.workload, &b.workload);
    a.target == b.target
        && a.stack == b.stack
        && (&x.ask, x.layout, x.cache) == (&y.ask, y.layout, y.cache)
        && name(a) == name(b)
}

/// A workload's name without the engine's, with the stack's if there may be several stacks.
fn name(cell: &Cell) -> String {
    let engine = match cell.workload.engine {
        EngineKind::Native => "native",
        EngineKind::Fio => "fio",
        EngineKind::Corpus | EngineKind::Bonnie => "",
    };
    let parts: Vec<&str> = cell.workload.name.split('-').filter(|part| *part != engine).collect();
    if parts.is_empty() { cell.workload.name.clone() } else { parts.join("-") }
}

impl Couple<'_> {
    fn has_rate(&self) -> bool {
        let jobs = self.native.workload.all_options();
        jobs.iter().any(|o| o.rate_iops.is_some() || o.rate_bytes_per_second.is_some())
    }

    /// The rounds in which both were measured, in order.
    fn rounds<'t>(&'t self, trials: &'t [TrialRecord]) -> Vec<(Facts<'t>, Facts<'t>)> {
        let measured = |cell: &'t Cell| -> BTreeMap<u32, Facts<'t>> {
            let own = trials.iter().filter(|t| t.id.cell == cell.id && t.outcome == Outcome::Measured);
            own.filter_map(|t| Some((t.id.round, Facts::of(t, cell)?))).collect()
        };
        let mut fio = measured(self.fio);
        let native = measured(self.native).into_iter();
        native.filter_map(|(round, facts)| Some((facts, fio.remove(&round)?))).collect()
    }

    /// All metrics that both engines have in every round.
    fn pairs(
        &self,
        rounds: &[(Facts<'_>, Facts<'_>)],
        margins: Margins,
        missing: &mut Vec<String>,
    ) -> Vec<Pairs> {
        let values: Vec<_> = rounds.iter().map(|(n, f)| (n.engine.metrics(), f.engine.metrics())).collect();
        let mut all = Vec::new();
        for side in ["read", "write", "trim"] {
            let rates = self.rates().iter().map(|r| (format!("{side}_{r}"), margins.rate, false));
            let mean = format!("{side}_lat_mean");
            let percentiles = ["p50", "p99"].map(|p| (format!("{side}_lat_{p}"), margins.latency, true));
            for (metric, margin, binned) in
                rates.chain([(mean.clone(), margins.latency, false)]).chain(percentiles)
            {
                let both = |(n, f): &(BTreeMap<String, f64>, BTreeMap<String, f64>)| {
                    Some((*n.get(&metric)?, *f.get(&metric)?))
                };
                let given: Vec<(f64, f64)> = values.iter().filter_map(both).collect();
                if given.len() < values.len() {
                    if !given.is_empty() || binned && values.iter().all(|(n, _)| n.contains_key(&mean)) {
                        missing.push(format!("{}: too few I/Os for {metric} in some round", self.workload));
                    }
                    continue;
                }
                all.push(Pairs { workload: self.workload.clone(), metric, margin, binned, values: given });
            }
        }
        all
    }

    /// The rates that are compared.
    fn rates(&self) -> &'static [&'static str] {
        match &self.native.workload.ask {
            Ask::Options(o) if o.bsrange.is_some() || !o.bssplit.is_empty() => &["iops", "bw"],
            Ask::Options(o) if o.bs_bytes >= LARGE_BLOCK => &["bw"],
            Ask::Options(_) => &["iops"],
            Ask::JobFile { .. } | Ask::Copy(_) | Ask::Bonnie(_) => &["iops", "bw"],
        }
    }
}
