//! A fake machine that exports and two that mount it, which are shell scripts.

use crate::agent_link::{AgentLink, NodeAt};
use crate::error::RunError;
use crate::made::Made;
use crate::nfs_remote::{Route, tell_apart};
use crate::protocol::{Reply, Request, TrialRequest, Turn};
use crate::testing::cell;
use crate::together::trial;
use crate::trial::blank;
use record::counter::{BlockCounters, Sample};
use record::event::Event;
use record::latency::LatencyHistogram;
use record::nfs::{Nfs, NfsCounters, NfsVersion};
use record::plan::{Measure, Plan};
use record::stack::Layer;
use record::topology::{BlockKind, BlockNode};
use record::trial::{EngineOutput, Outcome, Totals, TrialRecord, Window};
use stack::NfsClient;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A server that answers every request and logs it.
const SERVER: &str = r#"while read -r line; do echo "$line" >> asked-of-nas
case $line in
*'"request":"serve"'*) echo '{"reply":"served","directory":"/exported"}' ;;
*'"request":"turn"'*) echo '{"reply":"turned","monotonic_ns":5000000000000}' ;;
*'"request":"withdraw"'*) cat nas.json ;;
esac; done"#;
/// A server that exits when it is to settle.
const MORTAL: &str = r#"while read -r line; do
case $line in *'"request":"serve"'*) echo '{"reply":"served","directory":"/exported"}' ;; *) exit 9 ;; esac; done"#;
/// A client that asks for one turn after another; `LOAD` is what it does at the start.
const CLIENT: &str = r#"turns=0; while read -r line; do echo "$line" >> "asked-of-$NAME"
case $line in
*'"request":"trial"'*) echo '{"reply":"turn","turn":{"turn":"settle","files":["data"],"cache":"cold"}}' ;;
*'"request":"go_on"'*'"Err"'*) cat ended.json ;;
*'"request":"go_on"'*) turns=$((turns + 1)); case $turns in
  1) echo '{"reply":"turn","turn":{"turn":"begin","files":["data"]}}' ;;
  2) echo '{"reply":"turn","turn":{"turn":"clock"}}' ;;
  3) echo '{"reply":"ready"}' ;;
  *) echo '{"reply":"rested","began":{"monotonic_ns":5000200000000,"realtime_ns":1},"ended":{"monotonic_ns":5001200000000,"realtime_ns":2}}' ;;
  esac ;;
*'"request":"clock"'*) echo '{"reply":"clock","reading":{"monotonic_ns":5000000000000,"realtime_ns":1}}' ;;
*'"request":"start"'*) LOAD ;;
*'"request":"finish"'*) cat "$NAME.json" ;;
*'"request":"abandon"'*|*'"request":"cancel"'*) cat ended.json ;;
esac; done"#;
const ENDS: &str = r#"echo '{"reply":"turn","turn":{"turn":"end"}}'"#;

fn nfs(version: Option<NfsVersion>) -> Layer {
    let (export, mount_options) = (Vec::new(), Vec::new());
    Layer::Nfs(Nfs { version, export, rsize_bytes: None, wsize_bytes: None, mount_options, client: None })
}

fn request() -> TrialRequest {
    let mut cell = cell("00112233445566aa", "nas", "far");
    cell.stack.layers = vec![nfs(None)];
    cell.workload.on = ["a", "b"].map(str::to_owned).to_vec();
    crate::testing::request(cell)
}

/// A client's record: it has read so many blocks of 4 KiB, all of them from the server.
fn client(ios: u64) -> TrialRecord {
    let latency = LatencyHistogram { bins_ns: [(1000, ios)].into() };
    let read =
        Totals { ios, bytes: ios * 4096, seconds: 1.0, iops: ios as f64, latency, ..Totals::default() };
    let window = Window { start_ns: 5_000_200_000_000, end_ns: 5_001_200_000_000 };
    let engine = EngineOutput { read: Some(read), ..EngineOutput::new("native-1".to_owned(), window) };
    let mut record = TrialRecord { engine: Some(engine), ..blank(&request()) };
    let counted = |monotonic_ns, server_read_bytes| Sample {
        monotonic_ns,
        nfs: Some(NfsCounters { server_read_bytes, ..NfsCounters::default() }),
        ..Sample::default()
    };
    record.evidence.samples = vec![counted(5_000_100_000_000, 0), counted(5_001_300_000_000, ios * 4096)];
    record
}

/// The server's record: a disk, and a sample of it.
fn server() -> TrialRecord {
    let mut record = blank(&request());
    let name = "vdb".to_owned();
    let kind = BlockKind::Disk;
    let (rotational, scheduler, size_bytes) = (None, None, None);
    record.topology.nodes =
        vec![BlockNode { name, devno: (254, 16), depth: 0, kind, rotational, scheduler, size_bytes }];
    let mut sample = Sample { monotonic_ns: 5_000_500_000_000, ..Sample::default() };
    sample.block.insert("vdb".to_owned(), BlockCounters { reads: 3, ..BlockCounters::default() });
    record.evidence.samples = vec![sample];
    record
}

fn say(dir: &Path, file: &str, record: TrialRecord) {
    let reply = Reply::Trial { record: Box::new(record), cancelled: false };
    std::fs::write(dir.join(file), format!("{}\n", serde_json::to_string(&reply).unwrap())).unwrap();
}

fn line(dir: &Path, target: &str, script: &str) -> AgentLink {
    let script = format!("cd {} && NAME={target}; {script}", dir.to_string_lossy());
    let argv = ["sh", "-c", &script].map(Into::into).to_vec();
    AgentLink::to(&NodeAt { target: target.to_owned(), argv, remote: false, hosted: Vec::new() }).unwrap()
}

fn route(client: &str, port: u16) -> Route {
    let here = Ipv4Addr::new(10, 0, 2, 2);
    Route {
        server: "nas".to_owned(),
        client: client.to_owned(),
        address: here,
        port: Some(port),
        mount_port: None,
        seen_as: NfsClient { address: here, any_port: true },
    }
}

fn tried(dir: &Path, server_does: &str, b_does: &str) -> Result<Made, RunError> {
    say(dir, "a.json", client(100));
    say(dir, "b.json", client(300));
    say(dir, "nas.json", server());
    let why = Outcome::Failed("it was ended".to_owned());
    say(dir, "ended.json", TrialRecord { outcome: why, ..blank(&request()) });
    let why = Outcome::Failed("no space left".to_owned());
    say(dir, "failed.json", TrialRecord { outcome: why, ..blank(&request()) });
    let mut lines = [
        line(dir, "b", &CLIENT.replace("LOAD", b_does)),
        line(dir, "nas", server_does),
        line(dir, "a", &CLIENT.replace("LOAD", ENDS)),
    ];
    let routes = [route("a", 4001), route("b", 4002)];
    let mut silent = |_: Event| Ok(());
    trial(&mut lines, &routes, &request(), &AtomicBool::new(false), &mut silent)
}

fn asked(dir: &Path, target: &str) -> Vec<Request> {
    let text = std::fs::read_to_string(dir.join(format!("asked-of-{target}"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn two_clients_load_what_a_third_machine_exports() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), SERVER, ENDS).unwrap().record.unwrap();
    assert_eq!(record.outcome, Outcome::Measured);
    let read = record.engine.as_ref().unwrap().read.clone().unwrap();
    assert_eq!((read.ios, record.parts.len()), (400, 2));
    let names: Vec<&str> = record.topology.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!((names, record.topology.exported.is_some()), (vec!["server:vdb"], true));
    let samples = &record.evidence.samples;
    assert_eq!(samples.iter().filter(|sample| sample.server.is_some()).count(), 1, "the server's, once");
    let fetched: Vec<u64> = samples.iter().filter_map(|sample| Some(sample.nfs?.server_read_bytes)).collect();
    // The clocks were compared within microseconds.
    let grown = fetched.last().unwrap() - fetched.first().unwrap();
    assert!((390 * 4096..=400 * 4096).contains(&grown), "all clients' bytes: {grown}");
    assert!(record.evidence.server_clock.is_some(), "compared with the controller's");

    for (target, folder) in [("a", "/exported/client-1"), ("b", "/exported/client-2")] {
        let Some(Request::Trial(trial)) = asked(dir.path(), target).into_iter().next() else { panic!() };
        assert_eq!(trial.from.unwrap().directory, PathBuf::from(folder));
    }
    let turns: Vec<Turn> = asked(dir.path(), "nas")
        .into_iter()
        .filter_map(|request| match request {
            Request::Turn { turn } if turn != Turn::Clock => Some(turn),
            _ => None,
        })
        .collect();
    let files = ["client-1/data", "client-2/data"].map(PathBuf::from).to_vec();
    let [Turn::Settle { files: settled, .. }, Turn::Begin { files: begun }, Turn::End] = turns.as_slice()
    else {
        panic!("each once, for all: {turns:?}")
    };
    assert_eq!((settled, begun), (&files, &files));
}

/// The server takes down what it exports, and only after the clients have ended.
#[test]
fn a_client_that_fails_ends_the_others_and_then_the_export() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), SERVER, "cat failed.json").unwrap().record.unwrap();
    assert_eq!(record.outcome, Outcome::Failed("machine b: no space left".to_owned()));
    assert!(matches!(asked(dir.path(), "a").last(), Some(Request::Abandon)));
    assert!(matches!(asked(dir.path(), "nas").last(), Some(Request::Withdraw)));
}

#[test]
fn a_client_that_is_lost_is_named_and_the_export_ends() {
    let dir = tempfile::tempdir().unwrap();
    let made = tried(dir.path(), SERVER, "exit 7").unwrap();
    let all = ["nas", "a", "b"].map(str::to_owned);
    assert_eq!(made.lost.unwrap().machines_of(&all), ["b"], "the others are there");
    let record = made.record.unwrap();
    let Outcome::Failed(why) = &record.outcome else { panic!("{:?}", record.outcome) };
    assert!(why.starts_with("machine b: the connection is lost"), "{why}");
    assert!(matches!(asked(dir.path(), "nas").last(), Some(Request::Withdraw)));
}

#[test]
fn a_server_that_is_lost_ends_all_clients_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let made = tried(dir.path(), MORTAL, ENDS).unwrap();
    let error = made.lost.unwrap();
    assert!(matches!(&error, RunError::On { target, .. } if target == "nas"), "{error:?}");
    let Outcome::Failed(why) = made.record.unwrap().outcome else { panic!("it measured without its server") };
    assert!(why.contains("nas"), "{why}");
    for target in ["a", "b"] {
        let told = asked(dir.path(), target);
        assert!(told.iter().any(|request| matches!(request, Request::GoOn { done: Err(_) })), "{target}");
    }
}

#[test]
fn clients_of_one_name_are_refused_before_they_mount() {
    let dir = tempfile::tempdir().unwrap();
    let named = |target: &str, name: &str| {
        let mut line = line(dir.path(), target, "exit 0");
        line.nfs_name = Some(name.to_owned());
        line
    };
    let plan = |version| {
        let mut cell = request().cell;
        cell.stack.layers = vec![nfs(version)];
        Plan::new("e".to_owned(), vec![cell], Measure::new(1.0, 0.0, 1))
    };
    let same = [named("a", "vm"), named("nas", "vm"), named("b", "vm")];
    let error = tell_apart(&plan(None), &same).unwrap_err().to_string();
    assert!(
        error.contains("`a` and `b` both call themselves vm") && error.contains("hostnamectl"),
        "{error}"
    );
    assert!(tell_apart(&plan(Some(NfsVersion::V3)), &same).is_ok(), "NFSv3 knows no client by name");
    assert!(tell_apart(&plan(None), &[named("a", "vm"), named("b", "vm2")]).is_ok());
}
