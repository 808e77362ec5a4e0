//! Runs sessions with the program, makes the injections, and returns the program's output.

use super::gauge::Gauge;
use super::injection::{Doing, Injection, Phase};
use super::jobfiles;
use super::letters;
use super::measured::{Limit, Measured};
use super::place::{Lack, Made};
use super::scenario::Scenario;
use super::session::Session;
use super::site::{Site, child};
use record::event::{Event, Stopped};
use record::id::CellId;
use record::judged::RunView;
use record::trial::TrialRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often a run is started again if its volumes could not be verified.
const TRIES: usize = 3;

/// The shortest window, in ns. A shorter one is that of an aborted trial, for which the harness's counters mean nothing.
const SHORTEST_NS: u64 = 500_000_000;

/// The folder of runs, state and measured directories.
#[derive(Debug)]
pub(crate) struct Bench {
    lab: PathBuf,
}

/// The output of one run, and the scenarios that were not made.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) view: RunView,
    /// The harness's own observations.
    pub(crate) own: Own,
}

/// The harness's own observations, made without the program.
#[derive(Debug, Default)]
pub(crate) struct Own {
    /// Why scenarios were not made, by scenario.
    pub(crate) unmade: BTreeMap<&'static str, Vec<String>>,
    /// Programs that this machine doesn't have, by scenario.
    pub(crate) skipped: BTreeMap<&'static str, String>,
    /// Scenarios during which other processes used the disk.
    pub(crate) beside_others: BTreeSet<&'static str>,
}

impl Bench {
    pub(crate) fn new(lab: PathBuf) -> Self {
        Self { lab }
    }

    fn command(&self, args: &[&str]) -> Command {
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.lab, args)
    }

    fn json<T: serde::de::DeserializeOwned>(&self, args: &[&str]) -> T {
        let output = self.command(args).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{args:?}: {e}: {said}"))
    }

    /// Runs a session. Leaves out scenarios with a file system that this machine can't make, and records the reason.
    pub(crate) fn run(&self, session: &Session) -> Said {
        let mut session = session.clone();
        let mut own = Own::default();
        let mut made = Vec::new();
        for place in session.places.clone() {
            let needs_it = |stack: &str| stack == place.name;
            if session.scenarios.iter().all(|s| !needs_it(s.stack)) {
                continue;
            }
            match Made::new(&place, &self.lab) {
                Ok(one) => made.push(one),
                Err(why) => {
                    for scenario in session.scenarios.iter().filter(|s| needs_it(s.stack)) {
                        own.left_out(scenario.name, &why);
                    }
                    session.scenarios.retain(|s| !needs_it(s.stack));
                }
            }
        }
        letters::write(&self.lab).unwrap();
        jobfiles::write(&self.lab).unwrap();
        let file = format!("{}.yaml", session.name);
        std::fs::write(self.lab.join(&file), session.experiment(&self.lab)).unwrap();
        let plan: serde_json::Value = self.json(&["plan", &file, "--json"]);
        let run = (0..TRIES).find_map(|_| self.perform(&file, &session, &plan["plan"], &mut own));
        let run = run.unwrap_or_else(|| panic!("{}: no try could verify its volumes", session.name));
        // in reverse order: a server in its own namespace holds every mount that existed before it
        made.into_iter().rev().for_each(drop);
        Said { view: self.json(&["export", &run, "--json"]), own }
    }

    /// Runs the experiment, makes the injections and returns the run's id. If the machine was too busy to reach the limits of its
    /// volumes, nothing was measured; then it prints a message and returns `None`.
    fn perform(
        &self,
        file: &str,
        session: &Session,
        plan: &serde_json::Value,
        own: &mut Own,
    ) -> Option<String> {
        let cells = cells(plan, session, &self.lab);
        let mut child_process = self
            .command(&["run", file, "--json"])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = child_process.stderr.take().unwrap();
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut follower = Follower {
            cells,
            lab: &self.lab,
            run: String::new(),
            done: false,
            trial: None,
            gauge: Gauge::new(),
            own,
        };
        for line in BufReader::new(child_process.stdout.take().unwrap()).lines() {
            let line = line.unwrap();
            let event: Event = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line:.300}"));
            follower.follow(event, child_process.id());
        }
        let (run, done) = (follower.run, follower.done);
        let code = child_process.wait().unwrap().code();
        let complaints = complaints.join().unwrap();
        if complaints.contains("a raw probe measured") {
            let _ = writeln!(std::io::stderr(), "{}: {complaints}", session.name);
            return None;
        }
        assert!(done, "{}: ended with {code:?}: {complaints}", session.name);
        Some(run)
    }
}

impl Own {
    /// Records a scenario that could not be made: skipped if a program isn't installed, unmade for other reasons.
    fn left_out(&mut self, scenario: &'static str, why: &Lack) {
        match why {
            Lack::Program(program) => {
                self.skipped.insert(scenario, format!("{program} is not installed"));
            }
            Lack::Other(why) => self.unmade.entry(scenario).or_default().push(why.clone()),
        }
    }
}

/// The harness's data about a cell.
struct Known {
    scenario: Scenario,
    lent: Option<PathBuf>,
}

/// The scenarios by cell, without the cells of pairs.
fn cells(plan: &serde_json::Value, session: &Session, lab: &Path) -> BTreeMap<CellId, Known> {
    let of_cell = |cell: &serde_json::Value| {
        let scenario = session.scenarios.iter().find(|s| cell["workload"]["name"] == s.name)?;
        let place = session.places.iter().find(|place| place.name == scenario.stack);
        let lent = place.map(|place| place.mount(lab));
        let id = CellId(cell["id"].as_str()?.to_owned());
        Some((id, Known { scenario: scenario.clone(), lent }))
    };
    plan["cells"].as_array().unwrap().iter().filter_map(of_cell).collect()
}

/// Follows a run's events and makes the injections.
struct Follower<'a> {
    cells: BTreeMap<CellId, Known>,
    lab: &'a Path,
    run: String,
    /// Whether all rounds are done.
    done: bool,
    trial: Option<Trial>,
    gauge: Gauge,
    own: &'a mut Own,
}

/// A running trial.
struct Trial {
    in_memory: bool,
    site: Site,
    doing: Option<Doing>,
    limits: Vec<Limit>,
    /// The share of the data in memory at the begin of the measured time, if the truth depends on it.
    resident: Option<f64>,
    problems: Vec<String>,
}

impl Trial {
    fn new(scenario: &Scenario, site: Site) -> Self {
        let doing =
            (scenario.injection != Injection::Nothing).then(|| Doing::new(scenario.injection, site.clone()));
        let in_memory = scenario.in_memory;
        Self { in_memory, site, doing, limits: vec![], resident: None, problems: vec![] }
    }

    fn at(&mut self, phase: Phase) {
        if let Some(doing) = &mut self.doing {
            doing.at(phase);
        }
        if phase == Phase::Measuring {
            self.limits = self.site.limits();
        }
        if phase == Phase::Measuring && self.in_memory {
            match self.site.resident() {
                Ok(share) => self.resident = Some(share),
                Err(why) => self.problems.push(why),
            }
        }
    }
}

impl Follower<'_> {
    fn follow(&mut self, event: Event, controller: u32) {
        match event {
            Event::RunStarted { run, .. } => self.run = run.0,
            Event::TrialStarted { cell, round, .. } => {
                let Some(known) = self.cells.get(&cell) else { return };
                let site = Site {
                    run: self.run.clone(),
                    node: child(controller).expect("a run under way has a node"),
                    round,
                    lent: known.lent.clone(),
                };
                self.trial = Some(Trial::new(&known.scenario, site));
            }
            Event::Step { cell: Some(_), step, done } => {
                let phase = match (step.as_str(), done) {
                    ("prepare", Some(done)) if done >= 0.998 => Phase::LaidOut,
                    ("settle", _) => Phase::Settling,
                    ("measure", _) => Phase::Measuring,
                    ("undo", _) => Phase::Undoing,
                    _ => return,
                };
                if let Some(trial) = &mut self.trial {
                    trial.at(phase);
                }
            }
            Event::TrialFinished { record } => self.finished(&record),
            Event::RunFinished { stopped } => self.done = matches!(stopped, Stopped::RoundsDone { .. }),
            _ => {}
        }
    }

    fn finished(&mut self, record: &TrialRecord) {
        let (Some(trial), Some(known)) = (self.trial.take(), self.cells.get(&record.id.cell)) else { return };
        let mut problems = trial.problems;
        problems.extend(trial.doing.map(|doing| doing.finish(record)).unwrap_or_default());
        let (scenario, window) = (&known.scenario, record.engine.as_ref().map(|engine| engine.window));
        let on = |span| {
            Measured::new(span, record, scenario, (&self.run, self.lab), &trial.limits, trial.resident)
        };
        // a failed trial has no window, and its truth doesn't depend on it
        let measured = window.map(|window| {
            let is_short = window.end_ns.saturating_sub(window.start_ns) < SHORTEST_NS;
            if is_short {
                // what others did to the disk can still be told; the other figures are too uncertain
                let around = self.gauge.around(window.start_ns, window.end_ns).map(on);
                let why = around.as_ref().and_then(|measured| measured.disk(scenario));
                (around, why.into_iter().collect())
            } else {
                match self.gauge.between(window.start_ns, window.end_ns).map(on) {
                    Ok(measured) => {
                        let why = measured.unmade(scenario);
                        (Some(measured), why)
                    }
                    Err(why) => (None, vec![why]),
                }
            }
        });
        if let Some((measured, why)) = measured {
            problems.extend(why);
            if let Some(measured) = measured {
                if measured.others_used_the_disk() {
                    self.own.beside_others.insert(scenario.name);
                }
                if std::env::var_os("DISKPROOF_TEST_TRUTH_COUNTERS").is_some() {
                    let _ = writeln!(std::io::stderr(), "{}: {}", scenario.name, measured.figures());
                }
            }
        }
        if !problems.is_empty() {
            self.own.unmade.entry(known.scenario.name).or_default().extend(problems);
        }
    }
}
