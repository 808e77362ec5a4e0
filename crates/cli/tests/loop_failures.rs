//! Failures in the middle of trials on three machines: of links, processes, machines and disks. No trial is lost that had ended, none
//! counts twice, the reason is told, the other machines go on, nothing is left, and `resume` completes the run.
//!
//! `DISKPROOF_TEST_FAILURES=200` sets the number of failures; a normal test run makes one of each kind. `bench/failures/run.sh` runs it
//! and writes the result. The machines share this one's kernel ([`testkit::KernelMate`]), in a network namespace of their own. Their clocks
//! are the kernel's: they can't be stepped here.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod failures;

use failures::fault::{Dice, Kind};
use failures::site::{NAMES, Site, text, wait_for};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const ROUNDS: u32 = 2;
const NAMESPACE: &str = "DISKPROOF_TEST_IN_NAMESPACE";
const TEST: &str = "loop_failures_in_the_middle_of_trials";

/// A failure and its moment: so long after the beginning of a machine's trial of a round.
#[derive(Debug, Clone, Copy)]
struct Fault {
    kind: Kind,
    machine: usize,
    round: u64,
    after: Duration,
}

/// What became of one run with failures.
#[derive(Default)]
struct Seen {
    run: String,
    /// Measured trials that the controller reported: cell and round.
    measured: BTreeSet<(String, u64)>,
    /// Reported trials that were cut off, with the reason.
    cut_off: Vec<(usize, String)>,
    struck: Vec<bool>,
    code: Option<i32>,
    said: String,
}

#[test]
fn loop_failures_in_the_middle_of_trials() {
    if !testkit::is_root() {
        eprintln!("SKIPPED {TEST}: needs root");
        return;
    }
    if std::env::var_os(NAMESPACE).is_none() {
        // Rules for packets and relays that nobody else sees.
        let this = std::env::current_exe().unwrap();
        let mut again = Command::new("unshare");
        again.arg("--net").arg(this).args(["--exact", TEST, "--nocapture"]).env(NAMESPACE, "1");
        assert!(again.status().unwrap().success(), "see above");
        return;
    }
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("failures");
    testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
    let number = |name: &str| std::env::var(name).ok().and_then(|number| number.parse::<u64>().ok());
    let mut dice = Dice::new(number("DISKPROOF_TEST_SEED").unwrap_or(7));
    let (cases, machines) = match number("DISKPROOF_TEST_FAILURES") {
        Some(many) => (many_cases(many, &mut dice), 3),
        None => (one_of_each(&mut dice), NAMES.len()),
    };
    let mut site = Site::new(&dir, machines, ROUNDS);
    let mut counts: BTreeMap<Kind, Count> = BTreeMap::new();
    let begun = Instant::now();
    for (place, faults) in cases.iter().enumerate() {
        eprintln!("case {place}, after {:.0} s: {faults:?}", begun.elapsed().as_secs_f64());
        let mut seen = one_run(&mut site, faults);
        // A limit that can't be kept on a busy machine ends a run before its first trial.
        for _ in 0..3 {
            if !seen.said.contains("a raw probe measured") || !seen.measured.is_empty() {
                break;
            }
            eprintln!("once more: {}", seen.said);
            seen = one_run(&mut site, faults);
        }
        eprintln!("{}", seen.said);
        let healed = check(&site, faults, &seen);
        for (fault, struck) in faults.iter().zip(&seen.struck) {
            counts.entry(fault.kind).or_default().add(fault, *struck, &seen, healed);
        }
    }
    println!("{}", table(&counts));
}

/// One failure of each kind, each on a machine of its own in one run, but that of the controller.
fn one_of_each(dice: &mut Dice) -> Vec<Vec<Fault>> {
    let kinds: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| *kind != Kind::ControllerKilled).collect();
    [&kinds[..], &[Kind::ControllerKilled]].map(|kinds| on_machines(kinds, dice)).into()
}

/// All kinds in turns, two in each run; a controller dies alone.
fn many_cases(many: u64, dice: &mut Dice) -> Vec<Vec<Fault>> {
    let mut kinds: Vec<Kind> = Kind::ALL.into_iter().cycle().take(usize::try_from(many).unwrap()).collect();
    for place in (1..kinds.len()).rev() {
        kinds.swap(place, usize::try_from(dice.below(place as u64 + 1)).unwrap());
    }
    let (alone, paired): (Vec<Kind>, Vec<Kind>) =
        kinds.into_iter().partition(|kind| *kind == Kind::ControllerKilled);
    let mut cases: Vec<Vec<Fault>> = paired.chunks(2).map(|pair| on_machines(pair, dice)).collect();
    cases.extend(alone.iter().map(|kind| on_machines(&[*kind], dice)));
    cases
}

fn on_machines(kinds: &[Kind], dice: &mut Dice) -> Vec<Fault> {
    let fault = |(machine, kind): (usize, &Kind)| Fault {
        kind: *kind,
        machine,
        // Its moment may come only in the next round.
        round: if *kind == Kind::AgentStopped { 0 } else { dice.below(u64::from(ROUNDS)) },
        after: Duration::from_millis(dice.below(1000)),
    };
    kinds.iter().enumerate().map(fault).collect()
}

/// Runs the experiment and injects the failures.
fn one_run(site: &mut Site, faults: &[Fault]) -> Seen {
    let mut command = site.program(&["run", "e.yaml", "--json"]);
    let mut run = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let controller = run.id();
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let (sender, events) = std::sync::mpsc::channel::<Value>();
    let reader = std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            // A controller that is killed may leave half a line.
            if let Ok(event) = serde_json::from_str(&line) {
                let _ = sender.send(event);
            }
        }
    });
    let mut seen = Seen { struck: vec![false; faults.len()], ..Seen::default() };
    let mut due: Vec<(Instant, usize)> = Vec::new();
    loop {
        let event = events.recv_timeout(Duration::from_millis(20));
        match event {
            Ok(event) => {
                if event["event"] == "volumes_ready" && site.cells.is_empty() {
                    site.learn_cells(&seen.run);
                }
                seen.take(&event, &site.cells);
                if event["event"] == "trial_started" {
                    let machine = site.cells[event["cell"].as_str().unwrap()];
                    let begun = |fault: &Fault| fault.machine == machine && event["round"] == fault.round;
                    let now = Instant::now();
                    due.extend(
                        (0..faults.len())
                            .filter(|at| begun(&faults[*at]))
                            .map(|at| (now + faults[at].after, at)),
                    );
                }
            }
            Err(std::sync::mpsc::RecvTimeoutError::Timeout) => {}
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
        }
        let now = Instant::now();
        let (ripe, later): (Vec<_>, Vec<_>) = due.into_iter().partition(|(at, _)| *at <= now);
        due = later;
        for (_, place) in ripe {
            match faults[place].kind.strike(site, faults[place].machine, controller) {
                true => seen.struck[place] = true,
                false => due.push((now, place)),
            }
        }
    }
    reader.join().unwrap();
    let ended = run.wait_with_output().unwrap();
    seen.code = ended.status.code();
    seen.said += &text(&ended.stderr);
    seen
}

impl Seen {
    fn take(&mut self, event: &Value, cells: &BTreeMap<String, usize>) {
        match event["event"].as_str().unwrap() {
            "run_started" => self.run = event["run"].as_str().unwrap().to_owned(),
            "trial_finished" => {
                let record = &event["record"];
                let cell = record["id"]["cell"].as_str().unwrap().to_owned();
                if record["outcome"] == "measured" {
                    self.measured.insert((cell, record["id"]["round"].as_u64().unwrap()));
                } else if record["cut_off"] == true {
                    let why = record["outcome"]["failed"].as_str().unwrap().to_owned();
                    self.cut_off.push((cells[&cell], why));
                }
            }
            "warning" => self.said += &format!("{}\n", event["text"].as_str().unwrap()),
            _ => {}
        }
    }
}

/// The number of stored trials per cell and round: those that count, and those that were cut off.
fn stored(site: &Site, run: &str) -> BTreeMap<(String, u64), (BTreeSet<String>, BTreeSet<String>)> {
    let mut stored: BTreeMap<(String, u64), (BTreeSet<String>, BTreeSet<String>)> = BTreeMap::new();
    for row in site.trials(run) {
        let key = (row["cell"].clone(), row["round"].parse().unwrap());
        let entry = stored.entry(key).or_default();
        let kind = if row["cut_off"] == "1" { &mut entry.1 } else { &mut entry.0 };
        kind.insert(row["started_unix_ms"].clone());
    }
    stored
}

/// Checks what the run left, undoes, resumes, and checks again. Returns whether no undo was needed.
fn check(site: &Site, faults: &[Fault], seen: &Seen) -> bool {
    let context = format!("{faults:?}: exit {:?}\n{}", seen.code, seen.said);
    let by_controller = faults.iter().any(|fault| fault.kind == Kind::ControllerKilled);
    let kept = stored(site, &seen.run);
    for (id, (counting, _)) in &kept {
        assert!(counting.len() <= 1, "{id:?} counts twice; {context}");
    }
    for id in &seen.measured {
        assert!(kept.get(id).is_some_and(|(counting, _)| counting.len() == 1), "{id:?} is lost; {context}");
    }
    let untouched = |machine: &usize| !faults.iter().any(|fault| fault.machine == *machine);
    if !by_controller {
        for machine in site.all().filter(untouched) {
            let own = seen.measured.iter().filter(|(cell, _)| site.cells[cell] == machine).count();
            assert_eq!(own, ROUNDS as usize, "{} did not go on; {context}", NAMES[machine]);
        }
    }
    for (fault, struck) in faults.iter().zip(&seen.struck) {
        let made = seen.measured.iter().filter(|(cell, _)| site.cells[cell] == fault.machine).count();
        reason_is_told(fault, *struck, made == ROUNDS as usize, seen, &context);
    }
    site.mend();
    let heals = faults.iter().all(|fault| fault.kind.mends_itself());
    if heals {
        wait_for("the machines to put everything back", || site.all().all(|at| site.left(at).is_empty()));
    }
    // An agent process that is about to end has its run still open.
    wait_for("the agent processes to end", || site.all().all(|at| site.agents(at).is_empty()));
    let undone = site.undo();
    assert!(undone.status.success(), "undo: {}{}; {context}", text(&undone.stdout), text(&undone.stderr));
    nothing_is_left(site, &context);
    let resumed = site.program(&["resume", &seen.run, "--quiet"]).output().unwrap();
    assert!(resumed.status.success(), "resume: {}; {context}", text(&resumed.stderr));
    let complete = stored(site, &seen.run);
    for (cell, round) in
        site.cells.keys().flat_map(|cell| (0..u64::from(ROUNDS)).map(move |round| (cell, round)))
    {
        let (counting, _) = &complete[&(cell.clone(), round)];
        assert_eq!(counting.len(), 1, "round {round} of {cell}; {context}");
    }
    for (id, (_, cut_off)) in &kept {
        assert_eq!(complete[id].1, *cut_off, "what was cut off stays; {context}");
    }
    for cell in site.export(&seen.run)["cells"].as_array().unwrap() {
        assert_eq!(
            (cell["trials"]["done"].as_u64(), cell["trials"]["failed"].as_u64()),
            (Some(u64::from(ROUNDS)), Some(0)),
            "{context}"
        );
    }
    nothing_is_left(site, &context);
    heals
}

fn nothing_is_left(site: &Site, context: &str) {
    for machine in site.all() {
        assert_eq!(site.left(machine), Vec::<String>::new(), "on {}; {context}", NAMES[machine]);
    }
    assert_eq!(site.changes(), "", "{context}");
}

fn reason_is_told(fault: &Fault, struck: bool, is_complete: bool, seen: &Seen, context: &str) {
    let name = NAMES[fault.machine];
    let reasons = || seen.cut_off.iter().filter(|(machine, _)| *machine == fault.machine).map(|(_, why)| why);
    if fault.kind.loses_machine() && struck && seen.code != Some(0) {
        // A machine whose disk is full may be unable to undo at once, which is another code.
        assert!(matches!(seen.code, Some(3 | 4)), "{context}");
        // A failure after the machine's last trial may find nothing to break, while another one ends the run with an error.
        let is_named = seen.said.contains(&format!("target {name}"));
        assert!(is_named || is_complete, "{name} is not named; {context}");
        let lost = format!("machine {name} is lost, and its trial");
        let is_cut_off = seen.said.contains(&lost);
        assert_eq!(is_cut_off, reasons().any(|why| why.contains(&format!("target {name}"))), "{context}");
    }
    let says = |text: &str| !struck || reasons().any(|why| why.contains(text));
    if fault.kind == Kind::AgentStopped {
        assert!(says("has said nothing for 60 s"), "{context}");
    }
    if fault.kind == Kind::LoadKilled {
        assert!(reasons().all(|why| why.contains("was ended by signal 9")), "{context}");
    }
    if matches!(fault.kind, Kind::LinkSlow | Kind::LinkLossy) {
        assert!(reasons().next().is_none(), "a slow link cuts nothing off; {context}");
    }
}

/// What became of the failures of one kind.
#[derive(Default)]
struct Count {
    injected: u32,
    /// Runs in which the failure came before the end of the machine's last trial.
    cut_off: u32,
    undo_needed: u32,
    late: u32,
}

impl Count {
    fn add(&mut self, fault: &Fault, struck: bool, seen: &Seen, healed: bool) {
        self.injected += u32::from(struck);
        self.late += u32::from(!struck);
        self.cut_off += u32::from(seen.cut_off.iter().any(|(machine, _)| *machine == fault.machine));
        self.undo_needed += u32::from(!healed && !fault.kind.mends_itself());
    }
}

fn table(counts: &BTreeMap<Kind, Count>) -> String {
    let mut text = "| failure | injected | a trial was cut off | `machines undo` was needed | the run had ended before |\n\
                    | --- | --- | --- | --- | --- |\n"
        .to_owned();
    for (kind, Count { injected, cut_off, undo_needed, late }) in counts {
        text += &format!("| {} | {injected} | {cut_off} | {undo_needed} | {late} |\n", kind.name());
    }
    let total: u32 = counts.values().map(|count| count.injected).sum();
    text + &format!(
        "\nAll {total} failures: no ended trial lost, none counted twice, nothing left, each run complete after `resume`.\n"
    )
}
