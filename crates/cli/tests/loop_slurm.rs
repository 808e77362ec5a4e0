//! Blocks by a real Slurm: munged, slurmctld and five slurmds on loopback, each in namespaces of its own with a host name, a directory and
//! a state folder.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[allow(dead_code, unreachable_pub, reason = "the tests of other queues use the rest")]
mod queue;

use queue::{Farm, run_of, said, wait_for};
use record::block::{Queue, SlurmJob};
use record::id::RunId;
use record::trial::TrialRecord;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const NODES: usize = 5;
const BLOCKS: u32 = 20;

/// The daemons of a cluster. Ended on drop.
struct Cluster {
    conf: PathBuf,
    daemons: Vec<Child>,
}

fn host_name() -> String {
    fs::read_to_string("/proc/sys/kernel/hostname").unwrap().trim().to_owned()
}

impl Cluster {
    fn start(farm: &Farm) -> Self {
        let at = farm.dir.join("slurm");
        fs::create_dir_all(at.join("ctld")).unwrap();
        let (place, cpus) = (at.to_str().unwrap(), std::thread::available_parallelism().unwrap());
        let mut conf = format!(
            "ClusterName=dptest\nSlurmctldHost={}(127.0.0.1)\nSlurmctldPort={}\nSlurmUser=root\nSlurmdUser=root\n\
             AuthType=auth/munge\nAuthInfo=socket={place}/munge.sock\nStateSaveLocation={place}/ctld\nSlurmdSpoolDir={place}/%n\n\
             SlurmctldPidFile={place}/ctld.pid\nSlurmdPidFile={place}/%n.pid\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\nSelectType=select/cons_tres\n\
             SelectTypeParameters=CR_CPU\nReturnToService=2\nKillWait=5\nJobAcctGatherType=jobacct_gather/none\n",
            host_name(),
            testkit::free_port()
        );
        for n in 0..NODES {
            let port = testkit::free_port();
            conf += &format!(
                "NodeName=n{n} NodeHostname=n{n} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} State=UNKNOWN\n"
            );
        }
        conf += "PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n";
        fs::write(at.join("slurm.conf"), conf).unwrap();
        let mut key = [0; 1024];
        File::open("/dev/urandom").unwrap().read_exact(&mut key).unwrap();
        fs::write(at.join("key"), key).unwrap();
        fs::set_permissions(at.join("key"), fs::Permissions::from_mode(0o600)).unwrap();
        let mut cluster = Self { conf: at.join("slurm.conf"), daemons: Vec::new() };
        let munge = [
            "key-file=key",
            "socket=munge.sock",
            "pid-file=munge.pid",
            "log-file=munge.log",
            "seed-file=seed",
        ];
        let munge = munge.map(|option| format!("--{}", option.replace('=', &format!("={place}/"))));
        cluster.daemon(
            Command::new("munged").args(["--foreground", "--force"]).args(munge),
            &at.join("munged.log"),
        );
        wait_for("munged", || at.join("munge.sock").exists());
        cluster.daemon(Command::new("slurmctld").arg("-D"), &at.join("slurmctld.log"));
        for n in 0..NODES {
            let own = farm.dir.join(format!("machine{n}"));
            fs::create_dir_all(own.join("data")).unwrap();
            fs::create_dir_all(own.join("state")).unwrap();
            fs::create_dir_all(farm.dir.join("state")).unwrap();
            let script = "hostname \"$0\" && mount --bind \"$1/data\" \"$2/data\" && mount --bind \"$1/state\" \"$2/state\" && exec slurmd -D";
            let mut slurmd = Command::new("unshare");
            slurmd
                .args(["--uts", "--mount", "sh", "-c", script])
                .arg(format!("n{n}"))
                .arg(&own)
                .arg(&farm.dir);
            cluster.daemon(&mut slurmd, &at.join(format!("n{n}.log")));
        }
        wait_for("the nodes", || {
            cluster.ask("sinfo", &["-h", "-o", "%D %t"]).trim() == format!("{NODES} idle")
        });
        cluster
    }

    fn daemon(&mut self, command: &mut Command, log: &Path) {
        let log = File::create(log).unwrap();
        command
            .env("SLURM_CONF", &self.conf)
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.daemons.push(command.spawn().unwrap());
    }

    fn ask(&self, program: &str, args: &[&str]) -> String {
        let output = Command::new(program).args(args).env("SLURM_CONF", &self.conf).output().unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// The jobs in a state: id, number of the task, reason.
    fn jobs(&self, state: &str) -> Vec<(String, u32, String)> {
        let text = self.ask("squeue", &["-h", "-r", "-t", state, "-o", "%A %K %r"]);
        let job = |line: &str| {
            let mut words = line.split_whitespace();
            Some((words.next()?.to_owned(), words.next()?.parse().ok()?, words.next()?.to_owned()))
        };
        text.lines().filter_map(job).collect()
    }

    /// A command of the submitter.
    fn desk(&self, farm: &Farm, args: &[&str]) -> (i32, String) {
        said(&farm.desk(args).env("SLURM_CONF", &self.conf).output().unwrap())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        while let Some(mut daemon) = self.daemons.pop() {
            // slurmctld and munged have children, which end with them if they are asked to.
            if let Some(pid) = i32::try_from(daemon.id()).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            }
            let until = Instant::now() + Duration::from_secs(10);
            while Instant::now() < until && daemon.try_wait().is_ok_and(|ended| ended.is_none()) {
                std::thread::sleep(Duration::from_millis(50));
            }
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn job(trial: &TrialRecord) -> &SlurmJob {
    match &trial.block.as_ref().unwrap().queue {
        Some(Queue::Slurm(job)) => job,
        other => panic!("{other:?}"),
    }
}

/// The log of a task.
fn log(farm: &Farm, array: &str, task: u32) -> String {
    fs::read_to_string(farm.dir.join(format!("slurm-{array}_{task}.out"))).unwrap_or_default()
}

#[test]
fn loop_twenty_blocks_five_nodes_twenty_requeues_and_each_trial_once() {
    let Some(farm) = Farm::new("slurm") else { return };
    let cluster = Cluster::start(&farm);
    let dir = format!("dir={}", farm.at("data"));
    let (code, text) = cluster.desk(
        &farm,
        &["job", "submit", "my.yaml", "--set", &dir, "--blocks", "20", "--slurm", "--to", "desk"],
    );
    assert!(code == 0 && text.contains("20 blocks submitted to Slurm: Submitted batch job "), "{text}");
    let run = run_of(&text);
    let array = text.split("batch job ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned();

    let mut requeued: BTreeSet<u32> = BTreeSet::new();
    let until = Instant::now() + Duration::from_secs(500);
    while farm.store().done(&RunId(run.clone())).unwrap().len() < 2 * BLOCKS as usize {
        assert!(Instant::now() < until, "not done: {requeued:?}\n{}", cluster.ask("squeue", &[]));
        for (id, task, _) in cluster.jobs("RUNNING") {
            let log = log(&farm, &array, task);
            // Half of the blocks are ended in their first trial, the others in the second.
            let is_there = if task.is_multiple_of(2) { "trials to measure" } else { "trial 1 of 2" };
            if log.contains(is_there) && !requeued.contains(&task) {
                cluster.ask("scontrol", &["requeue", &id]);
                requeued.insert(task);
            }
        }
        // Slurm lets a job that is queued again wait for two minutes.
        for (id, _, reason) in cluster.jobs("PENDING") {
            if reason == "BeginTime" {
                cluster.ask("scontrol", &["update", &format!("JobId={id}"), "StartTime=now"]);
            }
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(requeued.len(), BLOCKS as usize);
    let trials = farm.is_whole(&run, BLOCKS);
    assert!(trials.iter().all(|trial| job(trial).exclusive == Some(true)), "{:?}", job(&trials[0]));
    assert!(trials.iter().any(|trial| job(trial).restarts > 0));
    let nodes: BTreeSet<&str> = trials.iter().filter_map(|trial| job(trial).node.as_deref()).collect();
    assert!(nodes.len() > 1, "{nodes:?}");
    let names = |trial: &TrialRecord| trial.block.as_ref().unwrap().machine.name.clone();
    assert!(trials.iter().all(|trial| names(trial) == job(trial).node));
    wait_for("the last jobs' ends", || cluster.ask("squeue", &["-h"]).trim().is_empty());
    (0..NODES).for_each(|n| farm.is_clean(n));
    let (_, shown) = farm.run(&["export", &run, "--json"]);
    assert!(!shown.contains("shared_node") && !shown.contains("machines_differ"));
}

#[test]
fn loop_a_node_that_is_shared_is_a_finding() {
    let Some(farm) = Farm::new("shared") else { return };
    if std::thread::available_parallelism().unwrap().get() < 2 {
        eprintln!("SKIPPED shared: a node with one CPU can't be shared");
        return;
    }
    let cluster = Cluster::start(&farm);
    let dir = format!("dir={}", farm.at("data"));
    let results = farm.at("results");
    let submit = [
        "job",
        "submit",
        "my.yaml",
        "--set",
        &dir,
        "--blocks",
        "2",
        "--slurm",
        "--results",
        &results,
        "--dry-run",
    ];
    let output = farm.desk(&submit).output().unwrap();
    assert!(output.status.success());
    assert!(cluster.jobs("PENDING,RUNNING").is_empty(), "a dry run submits nothing");
    let script = String::from_utf8(output.stdout).unwrap();
    assert!(script.contains("#SBATCH --exclusive\n") && script.contains("#SBATCH --requeue\n"), "{script}");
    let run = run_of(script.replace("diskproof run", "run").split("of the ").nth(1).unwrap());
    fs::write(farm.dir.join("shared.sh"), script.replace("#SBATCH --exclusive\n", "#SBATCH --ntasks=1\n"))
        .unwrap();
    let mut sbatch = testkit::program("sbatch", &farm.dir, &["shared.sh"]);
    assert!(sbatch.env("SLURM_CONF", &cluster.conf).status().unwrap().success());
    wait_for("the jobs' ends", || cluster.ask("squeue", &["-h"]).trim().is_empty());

    assert!(farm.trials(&run).is_empty(), "the results are in files");
    let (code, text) = farm.run(&["job", "collect", "results"]);
    assert!(
        code == 0 && text.contains("4 of 4 trials are stored") && text.contains("4 trials are new, 0 were"),
        "{text}"
    );
    let (code, text) = farm.run(&["job", "collect", "results"]);
    assert!(code == 0 && text.contains("0 trials are new, 4 were stored already"), "{text}");
    let trials = farm.is_whole(&run, 2);
    assert!(trials.iter().all(|trial| job(trial).exclusive == Some(false) && job(trial).cpus == Some(1)));
    let (_, shown) = farm.run(&["export", &run, "--json"]);
    assert!(shown.contains("shared_node"), "{shown}");
}
