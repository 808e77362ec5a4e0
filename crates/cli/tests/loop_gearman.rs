//! Blocks by a real Gearman server and several workers, which are killed in the middle of their blocks. All machines are this one, each
//! with a directory and a state folder of its own.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[allow(dead_code, unreachable_pub, reason = "the tests of other queues use the rest")]
mod queue;

use queue::{Farm, family, run_of, said, wait_for};
use record::block::Queue;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BLOCKS: u32 = 20;
const WORKERS: usize = 5;

/// A Gearman server on loopback. Ended on drop.
struct Gearmand {
    child: Child,
    at: String,
    port: u16,
}

impl Gearmand {
    fn start() -> Self {
        let port = testkit::free_port();
        let child = Command::new("gearmand")
            .args(["--listen=127.0.0.1", "--job-retries=3", "--log-file=none", "--user=root"])
            .arg(format!("--port={port}"))
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let server = Self { child, at: format!("127.0.0.1:{port}"), port };
        wait_for("gearmand", || std::net::TcpStream::connect(&server.at).is_ok());
        server
    }
}

impl Drop for Gearmand {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn signal(pid: u32, signal: Signal) {
    let _ = kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal);
}

fn ended(mut child: Child) -> i32 {
    wait_for("the worker's end", || child.try_wait().unwrap().is_some());
    child.wait().unwrap().code().unwrap_or(-1)
}

/// The last block that a worker began since `from` bytes of its log, and whether its first trial is delivered.
fn under_way(log: &str, from: usize) -> Option<(String, bool)> {
    let lines: Vec<&str> = log.get(from..)?.lines().collect();
    let begun = lines.iter().rposition(|line| line.contains("trials to measure"))?;
    let block = lines[begun].split_whitespace().nth(1)?.trim_end_matches(':').to_owned();
    let delivered = lines[begun..].iter().filter(|line| line.contains("; delivered")).count();
    (delivered < 2).then_some((block, delivered == 1))
}

#[test]
fn loop_twenty_blocks_five_workers_twenty_kills_and_each_trial_once() {
    let Some(farm) = Farm::new("gearman") else { return };
    let server = Gearmand::start();
    let dir = format!("dir={}", farm.at("data"));
    let began = Instant::now();
    let submit = [
        "job",
        "submit",
        "my.yaml",
        "--set",
        &dir,
        "--blocks",
        "20",
        "--gearman",
        &server.at,
        "--to",
        "desk",
    ];
    let (code, text) = farm.run(&submit);
    assert!(code == 0 && text.contains("20 blocks submitted"), "{text}");
    assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
    let run = run_of(&text);

    let work = ["job", "work", "--gearman", &server.at];
    let mut workers: Vec<(Child, usize)> = (0..WORKERS).map(|n| (farm.start(n, &work), 0)).collect();
    let mut killed: BTreeSet<String> = BTreeSet::new();
    let until = Instant::now() + Duration::from_secs(400);
    while farm.store().done(&record::id::RunId(run.clone())).unwrap().len() < 2 * BLOCKS as usize {
        assert!(Instant::now() < until, "not done: {} kills", killed.len());
        for (n, (worker, from)) in workers.iter_mut().enumerate() {
            let log = farm.logged(n);
            let Some((block, has_one)) = under_way(&log, *from) else { continue };
            // Half of the blocks are killed in their first trial, the others in the second.
            let in_second = block.bytes().last().is_some_and(|digit| digit % 2 == 0);
            if killed.contains(&block) || has_one != in_second {
                continue;
            }
            std::thread::sleep(Duration::from_millis(150));
            // The worker alone, or all that it started: then the agent process can't undo.
            let victims =
                if killed.len().is_multiple_of(2) { vec![worker.id()] } else { family(worker.id()) };
            victims.into_iter().for_each(|pid| signal(pid, Signal::KILL));
            let _ = worker.wait();
            killed.insert(block);
            (*worker, *from) = (farm.start(n, &work), log.len());
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(killed.len(), BLOCKS as usize, "each block was killed once");
    for (worker, _) in workers {
        signal(worker.id(), Signal::TERM);
        assert_eq!(ended(worker), 0);
    }
    let trials = farm.is_whole(&run, BLOCKS);
    let by_gearman =
        |queue: &Option<Queue>| matches!(queue, Some(Queue::Gearman { job }) if job.starts_with("H:"));
    assert!(trials.iter().all(|trial| by_gearman(&trial.block.as_ref().unwrap().queue)));
    let logs: String = (0..WORKERS).map(|n| farm.logged(n)).collect();
    let again = logs.matches(": 1 of 2 trials to measure").count();
    assert!(again >= 5, "blocks that were killed in their second trial need one more trial only: {again}");
    assert!(logs.contains("undone:"), "what a killed agent process left was undone before the next block");
    (0..WORKERS).for_each(|n| farm.is_clean(n));
    let (code, text) = farm.run(&["job", "submit", &run, "--gearman", &server.at]);
    assert!(code == 0 && text.contains("lacks no trial"), "{text}");
}

#[test]
fn loop_a_worker_ends_after_its_block_or_undoes_it_as_the_signal_says() {
    let Some(farm) = Farm::new("signals") else { return };
    let server = Gearmand::start();
    let dir = format!("dir={}", farm.at("data"));
    let submit =
        ["job", "submit", "my.yaml", "--set", &dir, "--blocks", "3", "--gearman", &server.at, "--to", "desk"];
    let run = run_of(&farm.run(&submit).1);
    let work = ["job", "work", "--gearman", &server.at, "--until-empty"];

    let worker = farm.start(0, &work);
    wait_for("a block", || farm.logged(0).contains("trials to measure"));
    signal(worker.id(), Signal::TERM);
    assert_eq!(ended(worker), 0);
    let log = farm.logged(0);
    assert!(
        log.contains("trial 2 of 2") && log.contains("1 blocks done") && log.contains("SIGTERM"),
        "{log}"
    );

    let worker = farm.start(1, &work);
    wait_for("a trial", || farm.logged(1).contains("trial 1 of 2"));
    signal(worker.id(), Signal::INT);
    assert_eq!(ended(worker), 130);
    assert!(farm.logged(1).contains("interrupted"), "{}", farm.logged(1));
    farm.is_clean(1);
    assert_eq!(farm.trials(&run).len(), 3);

    // Debian's own worker does the rest.
    let program = assert_cmd::cargo::cargo_bin("diskproof");
    let mut theirs =
        testkit::program("gearman", &farm.dir, &["-w", "-c", "2", "-h", "127.0.0.1", "-f", "diskproof"]);
    theirs.args(["-p", &server.port.to_string(), "--"]).arg(program).args(["job", "run", "-"]);
    let output = theirs.env("DISKPROOF_SSH_CONFIG", &farm.config).output().unwrap();
    let (code, text) = said(&output);
    assert_eq!(code, 0, "{text}");
    farm.is_whole(&run, 3);
}

#[test]
fn loop_a_block_that_is_wrong_is_refused_and_the_worker_goes_on() {
    let Some(farm) = Farm::new("wrong") else { return };
    let server = Gearmand::start();
    let mut client =
        testkit::program("gearman", &farm.dir, &["-b", "-h", "127.0.0.1", "-f", "diskproof", "hello"]);
    assert!(client.args(["-p", &server.port.to_string()]).status().unwrap().success());
    let dir = format!("dir={}", farm.at("data"));
    let submit =
        ["job", "submit", "my.yaml", "--set", &dir, "--blocks", "1", "--gearman", &server.at, "--to", "desk"];
    let run = run_of(&farm.run(&submit).1);
    let (code, text) =
        said(&farm.machine(0, &["job", "work", "--gearman", &server.at, "--until-empty"]).output().unwrap());
    assert!(
        code == 2 && text.contains("this is no block") && text.contains("1 blocks done, 1 refused"),
        "{code} {text}"
    );
    farm.is_whole(&run, 1);

    // A machine that can't do a block ends its work; the server keeps the block for another.
    let submit = [
        "job",
        "submit",
        "my.yaml",
        "--set",
        "dir=/nowhere/at/all",
        "--blocks",
        "1",
        "--gearman",
        &server.at,
        "--to",
        "desk",
    ];
    let run = run_of(&farm.run(&submit).1);
    let worker = ["job", "work", "--gearman", &server.at, "--until-empty"];
    for n in [0, 1] {
        let (code, text) = said(&farm.machine(n, &worker).output().unwrap());
        assert!(code == 3 && text.contains("/nowhere/at/all"), "{code} {text}");
    }
    assert!(farm.trials(&run).is_empty());
}
