//! Kills, lost replies and errors at random points of `create` and `destroy`: afterwards `destroy` leaves nothing of the claim, and touches
//! nothing else. `DISKPROOF_TEST_FAULTS=1000` makes the long series of bench/driver-faults.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod support;

use diskproof_driver::protocol::{Answer, MachineRequest, Outcome, Request, Task, VERSION};
use diskproof_driver::serve::serve;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use support::{Service, claim, driver_by, driver_of_aws, events_of};

/// What goes wrong; see tests/cloud/ec2_server.py.
const KINDS: [&str; 10] = [
    "kill_before",
    "kill_during",
    "kill_late",
    "kill_after",
    "drop",
    "throttle",
    "error",
    "error_after",
    "refuse",
    "none",
];
const SECRET: &str = "a-secret-that-nobody-prints";
/// A service forgets nothing and becomes slow: so many runs, then a new one.
const RUNS_OF_A_SERVICE: u64 = 50;
/// More calls than a create or a destroy makes; a fault beyond the last one doesn't happen, and is counted as such.
const MOST_CALLS: u64 = 16;

/// The driver's process: this program, started anew by [`drive`]. It does nothing where the tests start it.
#[test]
fn serves_as_driver() {
    let (Some(socket), Some(output)) =
        (std::env::var_os("DISKPROOF_TEST_SOCKET"), std::env::var_os("DISKPROOF_TEST_OUTPUT"))
    else {
        return;
    };
    let mut output = File::create(output).unwrap();
    let driver = if socket.is_empty() { driver_of_aws() } else { driver_by(&PathBuf::from(socket)) };
    serve(&driver, std::io::stdin(), &mut output);
}

#[test]
fn aws_as_a_program_does_the_same_tells_no_secret_and_dies_with_the_driver() {
    let service = Service::start();
    let before = snapshot(&service);
    let machines = vec![service.machine("a", &json!({}), &[])];
    let create = Task::Create { claim: claim(1), machines, ssh_public_key: "ssh-ed25519 AAAA x".into() };
    let destroy = Task::Destroy { claim: claim(1), settings: service.settings() };
    let end = drive_by(&service, Path::new(""), &create, &json!({}));
    assert!(matches!(end, End::Done(Answer::Created { .. })), "{end:?}");
    let said = std::fs::read_to_string(service.file("events")).unwrap();
    assert!(said.contains("i-") && !said.contains(SECRET), "{said}");

    // The server holds the call for longer than it takes to look; meanwhile the driver is killed.
    let plan = json!({"at": 1, "kind": "kill_late", "late": 3});
    let end = drive_by(&service, Path::new(""), &destroy, &plan);
    assert!(matches!(end, End::Killed), "{end:?}");
    let until = Instant::now() + Duration::from_millis(2500);
    while calls_that_run(&service.endpoint()) > 0 {
        assert!(Instant::now() < until, "aws outlives the driver that began it");
        std::thread::sleep(Duration::from_millis(20));
    }

    let end = drive_by(&service, Path::new(""), &destroy, &json!({}));
    assert!(matches!(end, End::Done(Answer::Destroyed { .. })), "{end:?}");
    assert_eq!(snapshot(&service), before);
}

/// Processes that were started with this word.
fn calls_that_run(word: &str) -> usize {
    let commands = std::fs::read_dir("/proc").unwrap().flatten();
    let commands = commands.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    commands
        .filter(|command| command.split(|byte| *byte == 0).any(|argument| argument == word.as_bytes()))
        .count()
}

#[test]
fn no_fault_leaks_or_touches_what_is_foreign() {
    let runs = std::env::var("DISKPROOF_TEST_FAULTS").map_or(10, |runs| runs.parse().unwrap());
    let seed = std::env::var("DISKPROOF_TEST_SEED").map_or(26, |seed| seed.parse().unwrap());
    let mut draw = Draw(seed);
    let mut tally = BTreeMap::new();
    let mut service = None;
    for run in 0..runs {
        if run % RUNS_OF_A_SERVICE == 0 {
            let fresh = Service::start();
            fresh.order("neighbours", &json!({"claim": claim(run).id}));
            service = Some(fresh);
        }
        let service = service.as_ref().unwrap();
        let told = one_run(service, run, &mut draw);
        *tally.entry(told).or_insert(0) += 1;
        if (run + 1) % 50 == 0 {
            println!("{} runs, 0 leaked, 0 foreign touched", run + 1);
        }
    }
    println!(
        "{runs} runs with seed {seed}, 0 leaked, 0 foreign touched; faults by phase, kind and end of the driver:"
    );
    for (told, count) in tally {
        println!("{count:5}  {told}");
    }
}

/// Creates with a fault or not, perhaps again, then destroys with a fault or not, and at last destroys undisturbed. Returns what went wrong.
fn one_run(service: &Service, run: u64, draw: &mut Draw) -> String {
    let before = snapshot(service);
    let lag = [0.0, 0.05, 0.15][draw.below(3)];
    let phase = ["create", "destroy"][draw.below(2)];
    let kind = KINDS[draw.below(KINDS.len())];
    let at = 1 + draw.below(usize::try_from(MOST_CALLS).unwrap());
    let repeats = draw.below(2) == 1;
    let plan = json!({"at": at, "kind": kind, "lag": lag, "late": 0.1});
    let calm = json!({"lag": lag});
    let create = Task::Create {
        claim: claim(run),
        machines: machines(service),
        ssh_public_key: "ssh-ed25519 AAAA x".into(),
    };
    let destroy = Task::Destroy { claim: claim(run), settings: service.settings() };
    let what = format!("run {run}: {phase}, {kind} at call {at}, lag {lag}");

    let mut end = drive(service, &create, if phase == "create" { &plan } else { &calm });
    // Only a refusal and a kill may stop it: what passes is tried again.
    assert!(!matches!(end, End::Failed(_)) || kind == "refuse", "{what}: create ends with {end:?}");
    if repeats && phase == "create" && kind != "none" {
        let again = drive(service, &create, &calm);
        assert!(
            matches!(again, End::Done(Answer::Created { .. })),
            "{what}: a repeated create ends with {again:?}"
        );
        let ours = of_claim(service, run);
        assert_eq!(
            ours.iter().filter(|id| id.starts_with("i-")).count(),
            3,
            "{what}: a machine twice: {ours:?}"
        );
    }
    if phase == "destroy" {
        end = drive(service, &destroy, &plan);
        assert!(!matches!(end, End::Failed(_)) || kind == "refuse", "{what}: destroy ends with {end:?}");
    }
    service.order("plan", &calm);
    let last = drive(service, &destroy, &calm);
    let End::Done(Answer::Destroyed { left, .. }) = &last else {
        panic!("{what}: destroy ends with {last:?}")
    };
    assert_eq!(*left, [], "{what}");

    let after = snapshot(service);
    let leaked: Vec<_> = after.iter().filter(|(id, _)| !before.contains_key(*id)).collect();
    assert!(leaked.is_empty(), "{what}: leaked {leaked:?}");
    let touched: Vec<_> = before.iter().filter(|(id, text)| after.get(*id) != Some(text)).collect();
    assert!(touched.is_empty(), "{what}: touched what is foreign: {touched:?}");
    format!("{phase:8} {kind:12} {}", end.word())
}

fn machines(service: &Service) -> Vec<MachineRequest> {
    let gp3 = json!({"size_bytes": 1_u64 << 30, "settings": {"type": "gp3"}});
    let io2 = json!({"size_bytes": 4_u64 << 30, "settings": {"type": "io2", "iops": 200}});
    let volumes = [gp3.clone(), io2];
    vec![
        service.machine("a", &json!({}), &volumes),
        service.machine("b", &json!({}), &volumes),
        service.machine("c", &json!({"machine_type": "t3.micro"}), &[gp3]),
    ]
}

/// How the driver's process ended.
#[derive(Debug)]
enum End {
    Killed,
    Done(Answer),
    Failed(#[allow(dead_code, reason = "a failed test shows it")] String),
}

impl End {
    fn word(&self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::Done(_) => "done",
            Self::Failed(_) => "failed",
        }
    }
}

/// Has a process do a task, under a plan of what goes wrong.
fn drive(service: &Service, task: &Task, plan: &Value) -> End {
    drive_by(service, &service.socket(), task, plan)
}

/// As [`drive`]; an empty socket: by the program `aws`.
fn drive_by(service: &Service, socket: &Path, task: &Task, plan: &Value) -> End {
    let output = service.file("events");
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["serves_as_driver", "--exact", "--nocapture"])
        .env("DISKPROOF_TEST_SOCKET", socket)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", SECRET)
        .env("DISKPROOF_TEST_OUTPUT", &output)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // It waits for its request, so the plan counts from its first call.
    let mut plan = plan.clone();
    plan["pid"] = child.id().into();
    service.order("plan", &plan);
    let request = Request { protocol: VERSION.to_owned(), task: task.clone() };
    child.stdin.take().unwrap().write_all(&serde_json::to_vec(&request).unwrap()).unwrap();
    let status = child.wait().unwrap();
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) {
        return End::Killed;
    }
    assert!(status.success(), "the driver died with {status}");
    match events_of(&std::fs::read_to_string(output).unwrap()).1 {
        Outcome::Done(answer) => End::Done(answer),
        Outcome::Failed(failure) => End::Failed(failure.text),
    }
}

fn snapshot(service: &Service) -> BTreeMap<String, String> {
    serde_json::from_value(service.order("snapshot", &json!({}))).unwrap()
}

fn of_claim(service: &Service, number: u64) -> Vec<String> {
    let tag = format!("[\"diskproof-claim\", \"{}\"]", claim(number).id);
    snapshot(service).into_iter().filter(|(_, text)| text.contains(&tag)).map(|(id, _)| id).collect()
}

/// Random numbers from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, most: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % u64::try_from(most).unwrap()).unwrap()
    }
}
