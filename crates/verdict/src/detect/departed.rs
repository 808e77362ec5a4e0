//! Departures of an engine from the requested workload.

use crate::detected::{Detected, evidence};
use crate::scene::Scene;
use record::finding::{Claim, Severity};
use record::job_file;
use record::trial::Departure;
use record::workload::{Ask, EngineKind};

/// The text by which native reported it before records had [`Departure`]s.
const IN_THREADS: &str = "pread and pwrite in threads instead of io_uring";

/// All departures of the engine from the request, and what a job file left open.
pub(super) fn not_as_asked(scene: &Scene<'_>) -> Option<Detected> {
    let all = departures(scene);
    let matter: Vec<&Departure> = all.iter().filter(|departure| departure.matters).collect();
    if all.is_empty() {
        return None;
    }
    let count = f64::from(u32::try_from(all.len()).unwrap_or(u32::MAX));
    let said: Vec<String> = all.iter().map(|departure| departure.text.clone()).collect();
    let remedy = if !matter.is_empty() {
        "Compare this figure only with others that were measured in the same way, or make the requested method possible on this machine."
    } else if matches!(scene.facts.cell.workload.ask, Ask::JobFile { .. }) {
        "If this is not what you mean, set it in the job file."
    } else {
        "Nothing to do, unless your question is about exactly this."
    };
    Some(Detected {
        claim: Claim::NotAsAsked,
        severity: if matter.is_empty() { Severity::Note } else { Severity::Caveat },
        strength: count,
        evidence: evidence([("departures", Some(count))]),
        text: format!("Not done as asked: {}.", said.join("; ")),
        remedy: remedy.to_owned(),
    })
}

fn departures(scene: &Scene<'_>) -> Vec<Departure> {
    let engine = scene.facts.engine;
    let mut all = engine.departures.clone();
    if all.is_empty() {
        let told = engine.messages.iter().filter(|message| message.starts_with(IN_THREADS));
        all.extend(told.map(|text| Departure { text: text.clone(), matters: true }));
    }
    // Of an imported job it is not known how diskproof would run it.
    let ours = scene.facts.trial.imported.is_none();
    if let (true, Ask::JobFile { path, text, .. }) = (ours, &scene.facts.cell.workload.ask) {
        all.extend(of_job_file(path, text, scene.facts.cell.workload.engine));
    }
    all
}

/// What a job file says or leaves open, and what the engine does instead.
fn of_job_file(path: &str, text: &str, engine: EngineKind) -> Vec<Departure> {
    let sections = job_file::read(text).sections;
    let jobs: Vec<_> = job_file::effective(&sections).map(|(_, options)| options).collect();
    let mut all = Vec::new();
    let mut say = |text: String| all.push(Departure { text, matters: false });
    if jobs.iter().any(job_file::is_untimed) {
        say(format!("{path} sets no runtime, so its jobs repeated until the trial's time was up"));
    }
    let by_libaio = jobs.iter().any(|options| job_file::value(options, "ioengine") == Some("libaio"));
    if engine == EngineKind::Native && by_libaio {
        say(format!("{path} asks for libaio, but the native engine issued its I/O by io_uring"));
    }
    all
}
