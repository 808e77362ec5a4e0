//! The limit of a cell, on volumes with a known limit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A slow volume, and workloads with different demands.
const SLOW: &str = "
experiment: slow
volumes: { slow: { emulate: { size: 300m, iops: 200 } } }
stacks: { ext4: { layers: [ { ext4: { on: slow } } ] } }
workloads:
  deep: { rw: randread, bs: 4k, iodepth: 32, size: 16m, direct: 1 }
  rate: { rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, rate_iops: 50 }
measure: { trial: 2s, ramp: 1s, rounds: 1 }
";

/// One volume without limits. Each write into unwritten extents changes the file system's metadata.
const FREE: &str = "
experiment: free
volumes: { free: { emulate: { size: 300m } } }
stacks: { ext4: { layers: [ { ext4: { on: free } } ] } }
workloads:
  one: { rw: randread, bs: 4k, iodepth: 1, size: 16m, direct: 1 }
  hole: { rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, layout: hole }
  fsync: { rw: randwrite, bs: 4k, iodepth: 1, size: 64m, direct: 1, layout: unwritten, fsync: 1 }
measure: { trial: 2s, ramp: 1s, rounds: 1 }
";

/// Long enough to change the limit in between.
const CHANGED: &str = "
experiment: changed
volumes: { slow: { emulate: { size: 300m, iops: 400 } } }
stacks: { ext4: { layers: [ { ext4: { on: slow } } ] } }
workloads: { deep: { rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1 } }
measure: { trial: 4s, ramp: 1s, rounds: 1 }
";

/// A folder of its own, with home, store and state in it.
struct Lab {
    dir: PathBuf,
    _alone: testkit::Exclusive,
}

impl Lab {
    /// Without root, prints a message and returns `None`.
    fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        Some(Self { dir: testkit::fresh_dir(&format!("limits-{name}")), _alone: alone })
    }

    fn command(&self, args: &[&str]) -> Command {
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args)
    }

    fn start(&self, experiment: &str) -> Child {
        std::fs::write(self.dir.join("e.yaml"), experiment).unwrap();
        let mut command = self.command(&["run", "e.yaml", "--json"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Runs an experiment to its end, and returns the judged result.
    fn judged(&self, experiment: &str) -> Value {
        let ran = self.start(experiment).wait_with_output().unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
        self.export()
    }

    fn export(&self) -> Value {
        let export = self.command(&["export", "latest", "--json"]).output().unwrap();
        serde_json::from_slice(&export.stdout).unwrap()
    }
}

/// The limit of a workload's cell.
fn limit<'a>(run: &'a Value, workload: &str) -> &'a Value {
    let cells = run["cells"].as_array().unwrap();
    &cells.iter().find(|c| c["workload"] == workload).unwrap()["limited_by"]
}

fn claims(run: &Value) -> Vec<&str> {
    run["findings"].as_array().unwrap().iter().filter_map(|f| f["claim"].as_str()).collect()
}

#[test]
fn loop_a_limit_a_rate_a_depth_a_journal_and_memory_are_named() {
    let Some(lab) = Lab::new("named") else { return };
    let slow = lab.judged(SLOW);
    let free = lab.judged(FREE);
    for (run, workload, by) in [
        (&slow, "deep", "throttle"),
        (&slow, "rate", "asked_rate"),
        (&free, "one", "queue_depth"),
        (&free, "hole", "memory"),
        (&free, "fsync", "journal"),
    ] {
        let limit = limit(run, workload);
        assert_eq!(limit["by"], by, "{workload}: {limit:#}");
    }
    assert!(claims(&free).contains(&"journal_bound"), "{:?}", claims(&free));
    assert!(!claims(&slow).contains(&"undeclared_limit"), "{:?}", claims(&slow));
}

#[test]
fn loop_a_limit_that_changes_while_it_is_measured_is_named() {
    let Some(lab) = Lab::new("changed") else { return };
    let mut child = lab.start(CHANGED);
    let mut events = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let run = events.find_map(|line| {
        let event: Value = serde_json::from_str(&line).unwrap();
        event["run"].as_str().map(str::to_owned)
    });
    assert!(events.any(|line| line.contains(r#""step":"measure""#)), "it never measured");
    std::thread::sleep(Duration::from_secs(3));
    let changed = lower(&run.unwrap());
    events.for_each(drop);
    assert!(child.wait().unwrap().success());
    if !changed {
        eprintln!("SKIPPED: no throttle of cgroup v1 here");
        return;
    }
    let run = lab.export();
    assert!(claims(&run).contains(&"throttle_changed"), "{:?}", claims(&run));
    assert!(!claims(&run).contains(&"undeclared_limit"), "{:?}", claims(&run));
}

/// Lowers the limit of reads that a run set; false if it isn't set by cgroup v1.
fn lower(run: &str) -> bool {
    let file = PathBuf::from(format!("/sys/fs/cgroup/blkio/diskproof-{run}/blkio.throttle.read_iops_device"));
    let Ok(text) = std::fs::read_to_string(&file) else { return false };
    let device = text.split_whitespace().next().expect("a limit is set").to_owned();
    std::fs::write(&file, format!("{device} 100")).unwrap();
    true
}

/// Two volumes with these rates.
fn of_rates(rates: &[u32]) -> String {
    let volumes: String = rates
        .iter()
        .map(|rate| format!("  v{rate}: {{ emulate: {{ size: 16m, iops: {rate} }} }}\n"))
        .collect();
    let stacks: String = rates.iter().map(|rate| format!("  s{rate}: {{ on: v{rate} }}\n")).collect();
    format!(
        "experiment: rates\nvolumes:\n{volumes}stacks:\n{stacks}workloads:\n  deep: {{ rw: randread, bs: 4k, iodepth: 16, size: 8m, direct: 1 }}\n\
         measure: {{ trial: 1s, ramp: 250ms, rounds: 1 }}\n"
    )
}

/// The kernel gives both volumes 80 IOPS, so they must not be measured as 80 and 84.
#[test]
fn loop_a_rate_that_the_kernel_does_not_keep_is_refused_with_those_that_it_does() {
    let Some(lab) = Lab::new("unkept") else { return };
    for (rates, gives) in [
        (&[80, 84][..], "it gives 80; the nearest that it keeps exactly are 80 and 90"),
        (&[95], "it gives 90; the nearest that it keeps exactly are 90 and 100"),
        (&[169], "it gives 160; the nearest that it keeps exactly are 160 and 170"),
        (&[15], "it gives 10; the nearest that it keeps exactly are 10 and 20"),
        (&[7], "no steady rate; the lowest that it keeps is 10"),
    ] {
        std::fs::write(lab.dir.join("e.yaml"), of_rates(rates)).unwrap();
        let ran = lab.command(&["run", "e.yaml", "--json"]).output().unwrap();
        let told = [ran.stdout, ran.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        assert!(!ran.status.success() && told.contains(gives), "{rates:?}: {told}");
        let plan = lab.command(&["plan", "e.yaml"]).output().unwrap();
        let planned = String::from_utf8_lossy(&plan.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(planned.contains(gives), "{rates:?}: {planned}");
    }
}

/// The model of the kernel's rounding predicts what the probe measures by the device's own counters.
#[test]
fn loop_a_rate_that_the_kernel_keeps_is_realised_within_one_percent() {
    let Some(lab) = Lab::new("kept") else { return };
    let rates = [10, 20, 30, 80, 90, 170, 500, 1000, 1005];
    let run = lab.judged(&of_rates(&rates));
    let volumes = run["volumes"].as_array().unwrap();
    assert_eq!(volumes.len(), rates.len());
    for rate in rates {
        let volume = volumes.iter().find(|v| v["name"] == format!("v{rate}")).unwrap();
        let probes = volume["verified"].as_array().unwrap();
        assert_eq!(probes.len(), 2, "{volume:#}");
        for probe in probes {
            let measured = probe["measured"].as_f64().unwrap();
            let foreseen = f64::from(rate / 10 * 10);
            assert!((measured / foreseen - 1.0).abs() <= 0.01, "{rate}: {probe}");
        }
    }
}
