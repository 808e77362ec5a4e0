//! Runs sessions through the program, does the deeds, and brings back what was said.

use super::deed::{Deed, Doing, Phase};
use super::letters;
use super::place::Made;
use super::session::Session;
use super::site::{Site, child};
use record::event::{Event, Stopped};
use record::id::CellId;
use record::judged::RunView;
use record::trial::TrialRecord;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// How often a run is begun again whose volumes could not be verified.
const TRIES: usize = 3;

/// The folder that runs, state and lent directories are in.
#[derive(Debug)]
pub(crate) struct Bench {
    lab: PathBuf,
}

/// What one run said, and which truths were not made.
#[derive(Debug)]
pub(crate) struct Said {
    pub(crate) view: RunView,
    /// By scenario: why its truth was not made.
    pub(crate) unmade: BTreeMap<&'static str, Vec<String>>,
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

    /// Runs a session. Scenarios whose place this machine can't make are left out, with the reason.
    pub(crate) fn run(&self, session: &Session) -> Said {
        let mut session = session.clone();
        let mut unmade = BTreeMap::new();
        let mut made = Vec::new();
        for place in session.places.clone() {
            let needs_it = |stack: &str| stack == place.name;
            if session.scenarios.iter().all(|s| !needs_it(s.stack)) {
                continue;
            }
            match Made::new(&place, &self.lab) {
                Ok(one) => made.push(one),
                Err(why) => {
                    let left_out = session.scenarios.iter().filter(|s| needs_it(s.stack));
                    unmade.extend(left_out.map(|s| (s.name, vec![why.clone()])));
                    session.scenarios.retain(|s| !needs_it(s.stack));
                }
            }
        }
        letters::write(&self.lab).unwrap();
        let file = format!("{}.yaml", session.name);
        std::fs::write(self.lab.join(&file), session.experiment(&self.lab)).unwrap();
        let plan: serde_json::Value = self.json(&["plan", &file, "--json"]);
        let run = (0..TRIES).find_map(|_| self.perform(&file, &session, &plan["plan"], &mut unmade));
        let run = run.unwrap_or_else(|| panic!("{}: no try could verify its volumes", session.name));
        // the last first: a server in a namespace of its own has every mount there was before it
        made.into_iter().rev().for_each(drop);
        Said { view: self.json(&["export", &run, "--json"]), unmade }
    }

    /// Runs the experiment and does the deeds; the run's id. `None`, said loudly, when the machine was too busy to reach the
    /// limits of its volumes: then nothing was measured.
    fn perform(
        &self,
        file: &str,
        session: &Session,
        plan: &serde_json::Value,
        unmade: &mut BTreeMap<&'static str, Vec<String>>,
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
        let mut follower = Follower { cells, run: String::new(), done: false, doing: None, unmade };
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

/// What a cell is to the harness.
struct Known {
    scenario: &'static str,
    deed: Deed,
    lent: Option<PathBuf>,
}

/// The scenarios by the cells they became; cells of pairs have no deeds.
fn cells(plan: &serde_json::Value, session: &Session, lab: &Path) -> BTreeMap<CellId, Known> {
    let of_cell = |cell: &serde_json::Value| {
        let scenario = session.scenarios.iter().find(|s| cell["workload"]["name"] == s.name)?;
        let place = session.places.iter().find(|place| place.name == scenario.stack);
        let lent = place.map(|place| place.mount(lab));
        let id = CellId(cell["id"].as_str()?.to_owned());
        Some((id, Known { scenario: scenario.name, deed: scenario.deed, lent }))
    };
    plan["cells"].as_array().unwrap().iter().filter_map(of_cell).collect()
}

/// Follows a run's events and does what is due.
struct Follower<'a> {
    cells: BTreeMap<CellId, Known>,
    run: String,
    /// Whether all rounds were done.
    done: bool,
    doing: Option<Doing>,
    unmade: &'a mut BTreeMap<&'static str, Vec<String>>,
}

impl Follower<'_> {
    fn follow(&mut self, event: Event, controller: u32) {
        match event {
            Event::RunStarted { run, .. } => self.run = run.0,
            Event::TrialStarted { cell, round, .. } => {
                let Some(known) = self.cells.get(&cell).filter(|known| known.deed != Deed::Nothing) else {
                    return;
                };
                let site = Site {
                    run: self.run.clone(),
                    node: child(controller).expect("a run under way has a node"),
                    round,
                    lent: known.lent.clone(),
                };
                self.doing = Some(Doing::new(known.deed, site));
            }
            Event::Step { cell: Some(_), step, done } => {
                let phase = match (step.as_str(), done) {
                    ("prepare", Some(done)) if done >= 0.998 => Phase::LaidOut,
                    ("settle", _) => Phase::Settling,
                    ("measure", _) => Phase::Measuring,
                    ("undo", _) => Phase::Undoing,
                    _ => return,
                };
                if let Some(doing) = &mut self.doing {
                    doing.at(phase);
                }
            }
            Event::TrialFinished { record } => self.finished(&record),
            Event::RunFinished { stopped } => self.done = matches!(stopped, Stopped::RoundsDone { .. }),
            _ => {}
        }
    }

    fn finished(&mut self, record: &TrialRecord) {
        let Some(doing) = self.doing.take() else { return };
        let problems = doing.finish(record);
        if let Some(known) = self.cells.get(&record.id.cell).filter(|_| !problems.is_empty()) {
            self.unmade.entry(known.scenario).or_default().extend(problems);
        }
    }
}
