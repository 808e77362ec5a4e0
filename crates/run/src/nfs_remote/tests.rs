//! Two fake nodes, which are shell scripts, and the record that is joined from theirs.

use super::{Route, added, seen_at, trial};
use crate::agent_link::AgentLink;
use crate::controller::{NodeAt, RunError};
use crate::protocol::{Reply, TrialRequest};
use crate::testing::cell;
use crate::trial::blank;
use record::counter::{BlockCounters, CpuTicks, OtherProcess, Sample, ServerClock};
use record::event::Event;
use record::topology::{BlockKind, BlockNode, Topology};
use record::trial::{Outcome, StepTime, TrialRecord, TrialStep};
use stack::NfsClient;
use std::net::Ipv4Addr;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// A server that answers every request and logs it; its answer to `withdraw` is in a file.
const SERVER: &str = r#"while read -r line; do echo "$line" >> asked-of-server
case $line in
*'"request":"serve"'*) echo '{"reply":"served","directory":"/exported"}' ;;
*'"turn":"clock"'*) echo '{"reply":"turned","monotonic_ns":4711}' ;;
*'"request":"withdraw"'*) cat server.json ;;
esac; done"#;
/// A server that exits when it is asked for its clock.
const MORTAL: &str = r#"while read -r line; do
case $line in
*'"request":"serve"'*) echo '{"reply":"served","directory":"/exported"}' ;;
*) exit 9 ;;
esac; done"#;
/// A client that asks the server for its clock once, then returns its record.
const CLIENT: &str = r#"read -r trial; echo "$trial" > asked-of-client; echo '{"reply":"turn","turn":{"turn":"clock"}}'
while read -r line; do echo "$line" >> asked-of-client
case $line in *go_on*) cat client.json ;; esac; done"#;

fn request() -> TrialRequest {
    crate::testing::request(cell("00112233445566aa", "nas", "far"))
}

fn disk(name: &str) -> BlockNode {
    BlockNode {
        name: name.to_owned(),
        devno: (254, 16),
        depth: 0,
        kind: BlockKind::Disk,
        rotational: None,
        scheduler: None,
        size_bytes: None,
    }
}

fn at(monotonic_ns: u64) -> Sample {
    let mut sample = Sample { monotonic_ns, ..Sample::default() };
    sample.block.insert("vdb".to_owned(), BlockCounters { reads: 3, ..BlockCounters::default() });
    sample
}

/// The server's record: a disk, one sample, and one other process on it.
fn servers() -> TrialRecord {
    let mut record = blank(&request());
    record.topology.nodes = vec![disk("vdb")];
    record.topology.fs_type = Some("xfs".to_owned());
    record.evidence.samples = vec![at(5_000)];
    record.evidence.others_complete = true;
    let other = |comm: &str, on_ground| OtherProcess {
        comm: comm.to_owned(),
        on_ground,
        cpu_ticks: Some(8),
        ..OtherProcess::default()
    };
    record.evidence.others = vec![other("dd", Some(true)), other("cron", Some(false))];
    record
}

fn clients() -> TrialRecord {
    let mut record = blank(&request());
    record.topology.fs_type = Some("nfs4".to_owned());
    record.topology.unknown = vec!["/m: the devices under nfs4 can't be seen from here".to_owned()];
    record.evidence.server_clock = Some(ServerClock { ahead_ns: 4_000, uncertain_ns: 9 });
    record.evidence.samples = vec![at(900), at(1_100)];
    record.evidence.others_complete = true;
    record
}

fn say(dir: &Path, file: &str, record: TrialRecord) {
    let mut line =
        serde_json::to_string(&Reply::Trial { record: Box::new(record), cancelled: false }).unwrap();
    line.push('\n');
    std::fs::write(dir.join(file), line).unwrap();
}

fn line(dir: &Path, target: &str, script: &str) -> AgentLink {
    let script = format!("cd {} && {script}", dir.to_string_lossy());
    let argv = ["sh", "-c", &script].map(Into::into).to_vec();
    AgentLink::to(&NodeAt { target: target.to_owned(), argv, remote: false, hosted: Vec::new() }).unwrap()
}

fn tried(dir: &Path, server: &str) -> Result<Option<TrialRecord>, RunError> {
    say(dir, "server.json", servers());
    say(dir, "client.json", clients());
    let route = Route {
        server: "nas".to_owned(),
        client: "vm".to_owned(),
        address: Ipv4Addr::new(10, 0, 2, 2),
        port: Some(4000),
        mount_port: Some(4001),
        seen_as: NfsClient { address: Ipv4Addr::new(10, 0, 2, 2), any_port: true },
    };
    let (mut server, mut client) = (line(dir, "nas", server), line(dir, "vm", CLIENT));
    let mut silent = |_: Event| Ok(());
    trial([&mut server, &mut client], &[route], request(), &AtomicBool::new(false), &mut silent)
}

#[test]
fn what_both_nodes_saw_is_one_record() {
    let dir = tempfile::tempdir().unwrap();
    let record = tried(dir.path(), SERVER).unwrap().unwrap();
    let asked = |of: &str| std::fs::read_to_string(dir.path().join(of)).unwrap();
    let (server, client) = (asked("asked-of-server"), asked("asked-of-client"));
    let order: Vec<usize> =
        ["\"serve\"", "\"clock\"", "\"withdraw\""].iter().map(|word| server.find(word).unwrap()).collect();
    assert!(order.is_sorted(), "{server}");
    assert!(server.contains("\"any_port\":true"), "{server}");
    assert!(
        client.contains("\"directory\":\"/exported\"")
            && client.contains("\"port\":4000,\"mount_port\":4001"),
        "{client}"
    );
    assert!(client.contains("{\"Ok\":4711}"), "{client}");
    assert_eq!(record.outcome, Outcome::Measured);
    let Topology { nodes, fs_type, exported, unknown, .. } = record.topology;
    assert_eq!((nodes, fs_type.as_deref()), (vec![disk("server:vdb")], Some("nfs4")));
    assert_eq!((exported.unwrap().fs_type.as_deref(), unknown.len()), (Some("xfs"), 0));
    let times: Vec<(u64, bool)> =
        record.evidence.samples.iter().map(|s| (s.monotonic_ns, s.server.is_some())).collect();
    assert_eq!(times, [(900, false), (1_000, true), (1_100, false)], "by one clock, in order");
    let others: Vec<(&str, Option<u64>)> =
        record.evidence.others.iter().map(|other| (other.comm.as_str(), other.cpu_ticks)).collect();
    assert_eq!(others, [("server:dd", None)], "the others are none of this ground's");
}

#[test]
fn a_server_that_is_lost_ends_the_clients_trial_and_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let error = tried(dir.path(), MORTAL).unwrap_err();
    assert!(matches!(&error, RunError::On { target, .. } if target == "nas"), "{error:?}");
    let client = std::fs::read_to_string(dir.path().join("asked-of-client")).unwrap();
    assert!(
        client.contains("\"Err\"") && client.contains("\"abandon\""),
        "it can go on with other trials: {client}"
    );
    assert_eq!(error.machines_of(&["nas", "client"].map(str::to_owned)), ["nas"]);
}

#[test]
fn steps_of_both_are_added_and_keep_their_order() {
    use TrialStep::{Build, Prepare, Undo};
    let of = |steps: &[(TrialStep, f64)]| -> Vec<StepTime> {
        steps.iter().map(|&(step, seconds)| StepTime { step, seconds }).collect()
    };
    let server = of(&[(Build, 2.0), (Undo, 4.0)]);
    let client = of(&[(Build, 1.0), (Prepare, 5.0), (TrialStep::Measure, 9.0), (Undo, 0.5)]);
    let all = of(&[(Build, 3.0), (Prepare, 5.0), (TrialStep::Measure, 9.0), (Undo, 4.5)]);
    assert_eq!(added(server, client), all);
}

#[test]
fn the_servers_samples_are_told_by_the_clients_clock_and_by_their_names() {
    let cpu = CpuTicks { idle: 7, ..CpuTicks::default() };
    let mut sample = Sample { monotonic_ns: 1_000, cpu: Some(cpu), ..Sample::default() };
    sample.block.insert("vdb".to_owned(), BlockCounters { reads: 3, ..BlockCounters::default() });
    let clock = ServerClock { ahead_ns: -500, uncertain_ns: 1 };
    let seen = seen_at(clock, sample.clone()).unwrap();
    assert_eq!((seen.monotonic_ns, seen.cpu), (1_500, None), "the client has CPUs of its own");
    assert_eq!(seen.server.unwrap().cpu, Some(cpu));
    assert_eq!(seen.block["server:vdb"].reads, 3);
    assert_eq!(seen_at(ServerClock { ahead_ns: 1_001, uncertain_ns: 1 }, sample), None);
}
