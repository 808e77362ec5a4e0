//! A session: scenarios that share one run, so that volumes are written and verified only once.

use super::letters;
use super::place::Place;
use super::scenario::Scenario;
use record::judged::Relation;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

/// One run.
#[derive(Debug, Clone)]
pub(crate) struct Session {
    pub(crate) name: &'static str,
    /// The lines of `volumes:`.
    pub(crate) volumes: &'static str,
    /// The lines of `stacks:`.
    pub(crate) stacks: &'static str,
    /// Directories that the harness makes; each is a volume and a stack of the same name.
    pub(crate) places: Vec<Place>,
    pub(crate) measure: &'static str,
    /// The lines of `expect:`; empty: none.
    pub(crate) expect: &'static str,
    pub(crate) scenarios: Vec<Scenario>,
    /// Workloads on several stacks, and the required relation of two of these stacks.
    pub(crate) pairs: Vec<Pair>,
}

/// Two cells of one workload that are compared.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    /// Its name, which is also its workload's.
    pub(crate) name: &'static str,
    pub(crate) made: &'static str,
    pub(crate) workload: &'static str,
    pub(crate) stacks: [&'static str; 2],
    pub(crate) relation: Relation,
}

impl Pair {
    /// The row of the confusion matrix.
    pub(crate) fn truth(&self) -> &'static str {
        match self.relation {
            Relation::Apart => "apart",
            Relation::NotApart | Relation::Nothing => "identical",
        }
    }
}

impl Session {
    /// The names and rows of all scenarios and pairs, with the reason if the engine can't make one.
    pub(crate) fn entries(&self) -> Vec<(&'static str, &'static str, Option<String>)> {
        let cant = |s: &Scenario| {
            let engine = other_engine().filter(|_| s.by_native)?;
            Some(format!("{engine} can't make it"))
        };
        let scenarios = self.scenarios.iter().map(|s| (s.name, s.truth, cant(s)));
        scenarios.chain(self.pairs.iter().map(|p| (p.name, p.truth(), None))).collect()
    }

    /// The experiment file, with these scenarios and pairs only.
    pub(crate) fn experiment(&self, lab: &Path) -> String {
        let mut text = format!("experiment: truth-{}\nvolumes:\n{}", self.name, self.volumes);
        let used: BTreeSet<&str> = self.scenarios.iter().map(|s| s.stack).collect();
        let places = || self.places.iter().filter(|place| used.contains(place.name));
        for place in places() {
            let _ =
                writeln!(text, "  {}: {{ directory: {} }}", place.name, place.mount(lab).to_string_lossy());
        }
        let _ = write!(text, "stacks:\n{}", self.stacks);
        for place in places() {
            let _ = writeln!(text, "  {0}: {{ on: {0} }}", place.name);
        }
        let workloads = || {
            let scenarios = self.scenarios.iter().map(|s| (s.name, s.workload, vec![s.stack]));
            scenarios.chain(self.pairs.iter().map(|p| (p.name, p.workload, p.stacks.to_vec())))
        };
        let engine = other_engine();
        text.push_str("workloads:\n");
        for (name, keys, _) in workloads() {
            let keys = keys.replace(letters::CORPUS, &letters::corpus(lab).to_string_lossy());
            let keys = match &engine {
                Some(engine) if !keys.contains("engine:") => format!("engine: {engine}, {keys}"),
                _ => keys,
            };
            let _ = writeln!(text, "  {name}: {{ {keys} }}");
        }
        text.push_str("only:\n");
        for (name, _, stacks) in workloads() {
            let _ = writeln!(text, "  - {{ workload: {name}, stack: [{}] }}", stacks.join(", "));
        }
        let _ = writeln!(text, "measure: {{ {} }}", self.measure);
        if !self.expect.is_empty() {
            let _ = write!(text, "expect:\n{}", self.expect);
        }
        text
    }

    /// Keeps only the named scenarios and pairs, for a repetition. Expectations stay complete, with all their scenarios.
    pub(crate) fn keep(&mut self, names: &BTreeSet<&'static str>) {
        if !names.iter().any(|name| self.expect.contains(name)) {
            self.expect = "";
        }
        self.scenarios.retain(|s| names.contains(s.name) || self.expect.contains(s.name));
        self.pairs.retain(|p| names.contains(p.name));
    }
}

/// The engine in `DISKPROOF_TEST_ENGINE`, e.g. `fio`, which then runs all scenarios instead of native.
fn other_engine() -> Option<String> {
    std::env::var("DISKPROOF_TEST_ENGINE").ok()
}
