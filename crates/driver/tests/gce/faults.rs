//! Nothing leaks: the driver is killed, replies are dropped and calls fail at any point of `create` and `destroy`.

use crate::cases::{create, destroy, settings};
use crate::rig::{Process, Project, Told};
use diskproof_driver::protocol::{Answer, Outcome};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const KINDS: [&str; 10] = [
    "kill_before",
    "kill_after",
    "kill_time",
    "drop_before",
    "drop_after",
    "status",
    "status_after",
    "operation",
    "forget",
    "none",
];
/// How many runs go on at the same time.
const AT_ONCE: usize = 6;

/// A sequence of numbers that its seed decides (splitmix64).
struct Dice(u64);

impl Dice {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// One run: `create` and `destroy` with one fault, then `destroy` until it succeeds. Returns the fault, and whether it happened.
fn one(seed: u64) -> (String, bool) {
    let mut dice = Dice(seed);
    let kind = KINDS[usize::try_from(seed).unwrap() % KINDS.len()];
    let id = format!("{:016x}{:016x}", dice.next(), dice.next());
    let at = 1 + dice.below(if kind == "operation" { 6 } else { 14 });
    let statuses = [403, 429, 500, 503];
    let mut of_project = json!({
        "seed": seed, "operation": 0.05 + 0.01 * dice.below(20) as f64, "page": if dice.below(2) == 0 { 2 } else { 500 },
        "loose": dice.below(3) == 0, "taken": dice.below(8) == 0, "host_keys": dice.below(4) != 0,
        "fault": {"kind": kind, "at": at, "status": statuses[usize::try_from(dice.below(4)).unwrap()]},
    });
    // If somebody makes such a disk at the moment of the creation, and the creation fails, GCE itself deletes the disk: no driver can
    // prevent that. So it is there before, where the operation fails, and in every other run.
    if of_project["taken"] == json!(true) && (kind == "operation" || (seed / 10).is_multiple_of(2)) {
        let name = format!("raid-0-{}-alpha-1", &id[..10]);
        of_project["taken"] = json!(false);
        of_project["taken_before"] = json!([["europe-west1-b", name], ["us-central1-a", name]]);
    }
    let project = Project::new(&of_project);
    let settings = settings(&project);
    let task = request(&id, &settings, &mut dice);
    // The driver is killed at a time of its own in `create` or in `destroy`.
    let time = Duration::from_millis(dice.below(500));
    let (in_create, in_destroy) = match (kind, dice.below(3)) {
        ("kill_time", 0) => (None, Some(time)),
        ("kill_time", _) => (Some(time), None),
        _ => (None, None),
    };
    let run = |task: Value, kill: Option<Duration>| Process::start(task, true).doomed_by(&project).run(kill);
    let made = run(task, in_create);
    let mut was_killed = made.outcome.is_none();
    let mut ends = Vec::new();
    for kill in [in_destroy, None, None] {
        let told = run(destroy(&id, &settings), kill);
        was_killed |= told.outcome.is_none();
        let is_done = is_destroyed(&told);
        ends.push(told.output);
        if is_done {
            break;
        }
    }
    let verdict = project.verdict();
    for key in ["ours", "foreign_changed", "invalid"] {
        let ends = ends.join("\n-- destroy\n");
        assert_eq!(
            verdict[key],
            json!([]),
            "{key} of seed {seed}, {kind} at {at}: {verdict:#}\n-- create\n{}\n-- destroy\n{ends}",
            made.output
        );
    }
    (kind.to_owned(), was_killed || verdict["fired"] == json!(true))
}

fn request(id: &str, settings: &Value, dice: &mut Dice) -> Value {
    let machines = &["alpha", "beta", "gamma"][..1 + usize::try_from(dice.below(3)).unwrap()];
    let volumes = [
        json!({"name": "gp-1", "size_bytes": 20_u64 << 30, "settings": {"type": "pd-balanced"}}),
        json!({"name": "gp-2", "size_bytes": 20_u64 << 30, "settings": {"type": "pd-ssd"}}),
        json!({"name": "near", "settings": {"type": "local-ssd"}}),
    ];
    let mut task = create(id, settings, machines, &volumes[..1 + usize::try_from(dice.below(3)).unwrap()]);
    if dice.below(2) == 0 {
        let last = task["machines"].as_array_mut().unwrap().last_mut().unwrap();
        last["settings"]["machine_type"] = json!("n2-standard-8");
        let settings = last["settings"].as_object_mut().unwrap();
        settings.remove("zone");
        settings.insert("region".to_owned(), json!("us-central1"));
    }
    task
}

fn is_destroyed(told: &Told) -> bool {
    matches!(&told.outcome, Some(Outcome::Done(Answer::Destroyed { left, .. })) if left.is_empty())
}

fn series(seeds: u64) -> BTreeMap<String, (u64, u64)> {
    let next = AtomicU64::new(0);
    let seen: Mutex<BTreeMap<String, (u64, u64)>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= seeds {
                        return;
                    }
                    let (kind, happened) = one(seed);
                    let mut seen = seen.lock().unwrap();
                    let (runs, faults) = seen.entry(kind).or_default();
                    *runs += 1;
                    *faults += u64::from(happened);
                }
            });
        }
    });
    seen.into_inner().unwrap()
}

/// `DISKPROOF_TEST_DRIVER_FAULTS` says how many; bench/driver-faults/gce.sh makes a thousand.
#[test]
fn nothing_leaks_whatever_fails() {
    let runs =
        std::env::var("DISKPROOF_TEST_DRIVER_FAULTS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(10);
    let seen = series(runs);
    println!("{:14} {:>5} {:>9}", "fault", "runs", "happened");
    for (kind, (runs, happened)) in &seen {
        println!("{kind:14} {runs:5} {happened:9}");
    }
    let happened: u64 = seen.values().map(|(_, happened)| happened).sum();
    let meant: u64 = seen.iter().filter(|(kind, _)| *kind != "none").map(|(_, (runs, _))| runs).sum();
    assert!(happened * 10 >= meant * 6, "only {happened} of {meant} faults happened");
    println!("{runs} runs, {happened} faults: nothing of ours is left, nothing of others was touched");
}
