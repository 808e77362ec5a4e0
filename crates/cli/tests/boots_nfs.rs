//! NFS between lab guests: one has the disk and exports it, another one mounts it and runs the load; then one of the two dies. With a
//! third guest, two clients load one server at the same time, also while a clock is set. Needs root, QEMU and the image.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use lab::{Lab, Shape};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

const SERVER: &str = "diskproof-test-target";
const CLIENT: &str = "diskproof-test-client";
const SECOND: &str = "diskproof-test-second";
const LIMIT: Duration = Duration::from_secs(300);

/// The same disk over NFS 4.2 and NFSv3. `randread` isn't cached, so the server's disk must deliver it; `again` comes from the server's
/// memory.
const APART: &str = "
experiment: apart
targets:
  nas: { guest: diskproof-test-target, disks: { d1: { size: 160m, total_iops: 40 } } }
  vm: { guest: diskproof-test-client }
volumes: { vol: { disks: [d1] } }
stacks:
  far: { layers: [ { ext4: { on: vol } }, { nfs: { version: 4.2, client: vm } } ] }
  old: { layers: [ { ext4: { on: vol } }, { nfs: { version: 3, client: vm } } ] }
exclude: [ { stack: old, workload: again } ]
workloads:
  randread: { rw: randread, bs: 16k, iodepth: 8, direct: 1, size: 8m }
  again: { rw: randread, bs: 16k, iodepth: 4, direct: 1, size: 2m, rate_iops: 60 }
measure: { trial: 8s, ramp: 1s, rounds: 2 }
";

const LONG: &str = "
experiment: long
targets:
  nas: { guest: diskproof-test-target, disks: { d1: { size: 64m, total_iops: 50 } } }
  vm: { guest: diskproof-test-client }
volumes: { vol: { disks: [d1] } }
stacks: { far: { layers: [ { ext4: { on: vol } }, { nfs: { client: vm } } ] } }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 8, direct: 1, size: 4m } }
measure: { trial: 200s, ramp: 1s, rounds: 1 }
";

/// Two clients of one server. `kept` comes from the server's memory.
const MANY: &str = "
experiment: many
targets:
  nas: { guest: diskproof-test-target, disks: { d1: { size: 160m, total_iops: 30 } } }
  vm1: { guest: diskproof-test-client }
  vm2: { guest: diskproof-test-second }
volumes: { vol: { disks: [d1] } }
stacks: { far: { layers: [ { ext4: { on: vol } }, { nfs: { version: 4.2 } } ] } }
workloads:
  both: { rw: randread, bs: 16k, iodepth: 8, direct: 1, size: 24m, on: [vm1, vm2] }
  kept: { rw: randread, bs: 16k, iodepth: 4, direct: 1, size: 1m, rate_iops: 40, on: [vm1, vm2] }
measure: { trial: 8s, ramp: 1s, rounds: 1 }
";

/// Two clients. The clock of one of them is set during the trial.
const STEPPED: &str = "
experiment: stepped
targets:
  nas: { guest: diskproof-test-target, disks: { d1: { size: 64m, total_iops: 50 } } }
  vm1: { guest: diskproof-test-client }
  vm2: { guest: diskproof-test-second }
volumes: { vol: { disks: [d1] } }
stacks: { far: { layers: [ { ext4: { on: vol } }, nfs ] } }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 8, direct: 1, size: 4m, on: [vm1, vm2] } }
measure: { trial: 40s, ramp: 1s, rounds: 1 }
";

/// The same server for a load of 200 s, in which somebody dies.
const LONG_MANY: &str = "
experiment: long
targets:
  nas: { guest: diskproof-test-target, disks: { d1: { size: 64m, total_iops: 50 } } }
  vm1: { guest: diskproof-test-client }
  vm2: { guest: diskproof-test-second }
volumes: { vol: { disks: [d1] } }
stacks: { far: { layers: [ { ext4: { on: vol } }, nfs ] } }
workloads: { randread: { rw: randread, bs: 4k, iodepth: 8, direct: 1, size: 4m, on: [vm1, vm2] } }
measure: { trial: 200s, ramp: 1s, rounds: 1 }
";

/// Lists what an agent process leaves if it doesn't undo what it built.
const LEFT: &str = "grep diskproof /proc/self/mountinfo; cat /var/lib/nfs/etab; ls /var/lib/diskproof/journal /var/lib/diskproof/mnt 2>/dev/null \
    | grep -v :$ | grep .; systemctl is-active -q nfs-server && echo nfs-server; true";

/// Three running guests, and a program without debug information, which is small enough to copy into them.
struct Guests {
    dir: PathBuf,
    server: Lab,
    client: Lab,
    second: Lab,
    _alone: testkit::Lock,
}

impl Guests {
    fn new(name: &str) -> Self {
        let alone = testkit::exclusive_guests();
        let dir = testkit::fresh_dir(name);
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let [server, client, second] = [SERVER, CLIENT, SECOND].map(up);
        Self { dir, server, client, second, _alone: alone }
    }

    fn program(&self, args: &[&str]) -> Command {
        let mut program = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        program.env("DISKPROOF_STATE", testkit::state_dir());
        program
    }

    fn run(&self, args: &[&str]) -> Output {
        self.program(args).output().unwrap()
    }

    /// Starts a run of two hundred seconds and waits for the begin of its load.
    fn measuring(&self, experiment: &str) -> Child {
        std::fs::write(self.dir.join("long.yaml"), experiment).unwrap();
        let mut program = self.program(&["run", "long.yaml", "--progress", "lines"]);
        let mut run = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Its file was written before, so any further I/O is the trial's reads.
        let reads = "awk '/ mounted on .*diskproof/ { ours = 1 } /bytes:/ && ours { print $6 }' /proc/self/mountstats";
        let end = Instant::now() + LIMIT;
        while says(&self.client, reads).trim().parse::<u64>().map_or(true, |bytes| bytes < 1 << 18) {
            if Instant::now() > end {
                run.kill().unwrap();
                let ran = run.wait_with_output().unwrap();
                panic!("the trial does not begin: {}{}", text(&ran.stdout), text(&ran.stderr));
            }
            std::thread::sleep(Duration::from_millis(500));
        }
        run
    }

    /// A run's exit code, output and id.
    fn ended(&self, run: Child) -> (Option<i32>, String, String) {
        let ran = run.wait_with_output().unwrap();
        let said = text(&ran.stdout) + &text(&ran.stderr);
        // `latest` is another one if this one measured nothing.
        let name = said.lines().find_map(|line| line.strip_prefix("run ")?.split_once(':'));
        let name = name.unwrap_or_else(|| panic!("{said}")).0.to_owned();
        (ran.status.code(), said, name)
    }
}

fn up(name: &str) -> Lab {
    let lab = Lab::open(&testkit::state_dir(), name).unwrap();
    lab.down().unwrap();
    lab.ensure_up(&Shape::default(), &|_| ()).unwrap();
    lab
}

impl Drop for Guests {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            for guest in [&self.server, &self.client, &self.second] {
                let _ = guest.down();
            }
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn says(lab: &Lab, script: &str) -> String {
    lab.run(&["sh", "-c", script], LIMIT).map(|output| output.stdout).unwrap_or_default()
}

fn left(lab: &Lab) -> String {
    lab.run(&["sh", "-c", LEFT], LIMIT).unwrap().stdout
}

/// One test, since guests take long to start. The failures come one after the other, and the guests must be in their earlier state before
/// the next; at last the serving guest disappears.
#[test]
fn boots_guests_that_mount_what_another_one_serves() {
    let guests = Guests::new("nfs-apart");
    one_mounts_what_the_other_serves(&guests);
    two_clients_share_the_server(&guests);
    a_clock_is_set(&guests);
    a_client_of_two_is_killed(&guests);
    node_of_the_server_is_killed(&guests);
    controller_of_two_is_killed(&guests);
    server_is_gone(&guests);
}

fn one_mounts_what_the_other_serves(guests: &Guests) {
    std::fs::write(guests.dir.join("e.yaml"), APART).unwrap();
    let ran = guests.run(&["run", "e.yaml", "--progress", "lines"]);
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let export: Value = serde_json::from_slice(&guests.run(&["export", "latest", "--json"]).stdout).unwrap();
    let cell = |stack: &str, workload: &str| {
        let all = export["cells"].as_array().unwrap();
        all.iter().find(|cell| cell["stack"] == stack && cell["workload"] == workload).unwrap().clone()
    };
    let fresh = cell("far", "randread");
    for fresh in [&fresh, &cell("old", "randread")] {
        assert_eq!((&fresh["target"], &fresh["trials"]["done"]), (&"nas".into(), &2.into()), "{said}");
        let iops = fresh["metrics"]["iops"]["estimate"].as_f64().unwrap();
        assert!((20.0..=44.0).contains(&iops), "{iops} of 40: {said}");
    }
    let device = fresh["served"]["device"].as_f64().unwrap();
    assert!(device > 0.85, "the server's disk delivered {device}: {said}");
    limited_by_the_disk(&fresh);
    let leaves = fresh["leaves"].to_string();
    assert!(
        leaves.contains("\"server:vd") && leaves.contains("disk of a guest") && leaves.contains("host:"),
        "{leaves}"
    );
    // more than requested: the server reads ahead if the block before the requested one is in memory
    let moved = fresh["leaves"][0]["read_per_asked"].as_f64().unwrap();
    assert!((0.85..=2.0).contains(&moved), "{leaves}");
    // with 2 MiB at 60 reads a second, each block is read again, from the server's memory, which direct I/O of the client can't bypass
    let again = cell("far", "again");
    assert!(again["served"]["other_cache"].as_f64().unwrap() > 0.3, "{said}");
    let cached = export["findings"]
        .as_array()
        .unwrap()
        .iter()
        .find(|finding| finding["cell"] == again["id"] && finding["claim"] == "served_from_other_cache");
    assert!(
        cached.unwrap_or_else(|| panic!("{said}"))["text"].as_str().unwrap().contains("NFS server's memory")
    );
    assert!(export["environment"]["elsewhere"]["vm"]["kernel"].is_string(), "the client is known: {said}");
    assert_eq!((left(&guests.server), left(&guests.client)), (String::new(), String::new()), "{said}");
}

/// The disk is the limit. On a busy machine the guests may lack processor time: then their processors were full, or the disk had time left.
fn limited_by_the_disk(cell: &Value) {
    let (limit, disk) = (&cell["limited_by"], cell["leaves"][0]["busy_share"].as_f64().unwrap());
    let names = [
        "machine_busy_share",
        "server_busy_share",
        "engine_and_kernel_cpu_share",
        "busiest_kernel_thread_cores",
    ];
    let full = names.iter().any(|name| limit["evidence"][name].as_f64().is_some_and(|share| share >= 0.85));
    let is_right = match limit["by"].as_str().unwrap() {
        "device" => true,
        "cpu" => full,
        "unknown" => disk < 0.9,
        _ => false,
    };
    assert!(is_right, "the disk was busy {disk}: {limit:#}");
}

const KILL: &str = "kill -9 $(pgrep -f 'diskproof node')";

fn node_of_the_server_is_killed(guests: &Guests) {
    let run = guests.measuring(LONG);
    says(&guests.server, KILL);
    let (code, said, name) = guests.ended(run);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("target nas"), "{said}");
    assert_eq!(left(&guests.client), "", "{said}");
    assert_eq!(left(&guests.server), "", "what is built on the run's disk goes before the disk: {said}");
    let undone = guests.run(&["undo", &name]);
    assert!(undone.status.success(), "{}{}", text(&undone.stdout), text(&undone.stderr));
}

/// The client waits for a machine that doesn't exist any more.
fn server_is_gone(guests: &Guests) {
    let run = guests.measuring(LONG);
    guests.server.down().unwrap();
    let (code, said, _) = guests.ended(run);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("target nas"), "{said}");
    assert_eq!(left(&guests.client), "", "{said}");
}

/// Two guests load the third one at the same time.
fn two_clients_share_the_server(guests: &Guests) {
    std::fs::write(guests.dir.join("many.yaml"), MANY).unwrap();
    let ran = guests.run(&["run", "many.yaml", "--progress", "lines"]);
    let said = text(&ran.stdout) + &text(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let export: Value = serde_json::from_slice(&guests.run(&["export", "latest", "--json"]).stdout).unwrap();
    let cell = |workload: &str| {
        let all = export["cells"].as_array().unwrap();
        all.iter().find(|cell| cell["workload"] == workload).unwrap().clone()
    };
    let both = cell("both");
    assert_eq!((&both["target"], &both["trials"]["done"]), (&"nas".into(), &1.into()), "{said}");
    let iops = both["metrics"]["iops"]["estimate"].as_f64().unwrap();
    assert!((12.5..=33.0).contains(&iops), "{iops} of 30: {said}");
    let device = both["served"]["device"].as_f64().unwrap();
    assert!(device > 0.85, "the server's disk delivered {device}: {said}");
    assert!(both["leaves"].to_string().contains("\"server:vd"), "{}", both["leaves"]);
    limited_by_the_disk(&both);
    let each: Vec<f64> = both["together"]["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|machine| machine["metrics"]["iops"]["estimate"].as_f64().unwrap())
        .collect();
    let alike = (each.iter().sum::<f64>() - iops).abs() < 0.01 * iops && each.iter().all(|iops| *iops > 2.5);
    assert!(alike && each.len() == 2, "{each:?}: {said}");
    let kept = cell("kept");
    assert!(kept["served"]["other_cache"].as_f64().unwrap() > 0.3, "{said}");
    let found = export["findings"].as_array().unwrap();
    let cached =
        found.iter().find(|one| one["cell"] == kept["id"] && one["claim"] == "served_from_other_cache");
    let cached = cached.unwrap_or_else(|| panic!("{said}"))["text"].as_str().unwrap();
    assert!(cached.contains("NFS server's memory") && !cached.starts_with("On vm"), "{cached}");
    nothing_is_left(guests, &said);
}

fn nothing_is_left(guests: &Guests, said: &str) {
    let all = [left(&guests.server), left(&guests.client), left(&guests.second)];
    assert_eq!(all, [const { String::new() }; 3], "{said}");
}

/// It doesn't cut the trial off, and the clock that was set is named.
fn a_clock_is_set(guests: &Guests) {
    let run = guests.measuring(STEPPED);
    says(&guests.second, "date --set '1 hour'");
    let (code, said, name) = guests.ended(run);
    says(&guests.second, "date --set '1 hour ago'");
    assert_eq!(code, Some(0), "{said}");
    let export = guests.run(&["export", &name, "--json"]);
    let export: Value = serde_json::from_slice(&export.stdout).unwrap();
    let trials = &export["cells"][0]["trials"];
    assert_eq!((&trials["done"], &trials["failed"]), (&1.into(), &0.into()), "{said}");
    let mut found = export["findings"].as_array().unwrap().iter();
    let step = found.find(|one| one["claim"] == "clock_stepped").unwrap_or_else(|| panic!("{said}"));
    assert!(step["text"].as_str().unwrap().contains("The clock of vm2 was set forward"), "{step}");
    let seconds = step["evidence"]["step_seconds"].as_f64().unwrap();
    assert!((3599.0..=3601.0).contains(&seconds), "{step}");
    nothing_is_left(guests, &said);
}

fn a_client_of_two_is_killed(guests: &Guests) {
    let run = guests.measuring(LONG_MANY);
    says(&guests.second, KILL);
    let (code, said, name) = guests.ended(run);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("vm2") && said.contains("diskproof undo"), "{said}");
    assert_eq!([left(&guests.server), left(&guests.client)], [const { String::new() }; 2], "{said}");
    assert!(left(&guests.second).contains("diskproof"), "killed is killed: {said}");
    let undone = guests.run(&["undo", &name]);
    let undone_said = text(&undone.stdout) + &text(&undone.stderr);
    assert!(undone.status.success(), "{undone_said}");
    nothing_is_left(guests, &format!("{said}{undone_said}"));
}

/// All agent processes see the end of their input at the same time; whichever undoes first, all end.
fn controller_of_two_is_killed(guests: &Guests) {
    let mut run = guests.measuring(LONG_MANY);
    run.kill().unwrap();
    run.wait().unwrap();
    let end = Instant::now() + LIMIT;
    let all = || [left(&guests.server), left(&guests.client), left(&guests.second)].concat();
    while !all().is_empty() {
        assert!(Instant::now() < end, "{}", all());
        std::thread::sleep(Duration::from_secs(1));
    }
}
