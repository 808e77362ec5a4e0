//! Checks what diskproof says about the disks of a lab guest. Needs root, QEMU and the image.
//!
//! It needs a file in this machine's page cache. So scripts/test.sh runs nothing beside it that drops the cache.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "home/guest.rs"]
mod guest;

use guest::{command, prepared};
use serde_json::Value;

/// Scenarios that need a guest: a limit with an unrecorded burst, ZFS on a whole disk, which it partitions, a disk that the host caches,
/// and a disk with a limit that falls in each trial.
const TRUTH: &str = "
experiment: truth
targets:
  lab:
    guest: diskproof-test-truth
    disks: { gp: { size: 64m, iops: 40, burst: { iops: 120, seconds: 4 } }, d1: { size: 160m, iops: 200 }, wb: { size: 64m, cache: writeback },
             sick: { size: 64m, total_iops: 120, changes: [ { after: 5s, total_iops: 40 } ] } }
volumes: { vol: { disks: [gp, d1, wb, sick] } }
stacks:
  burst: { on: \"vol[0]\" }
  pool: { layers: [ { zfs: { on: \"vol[1]\", primarycache: all, compression: \"off\", recordsize: 4k } } ] }
  hosted: { on: \"vol[2]\" }
  sick: { on: \"vol[3]\" }
workloads:
  randread: { rw: randread, bs: 4k, iodepth: 4, direct: 1, size: 16m }
  kept: { rw: randread, bs: 4k, direct: 0, size: 2m, cache: warm, rate_iops: 40 }
  again: { rw: randread, bs: 4k, iodepth: 4, direct: 1, size: 16m, rate_iops: 40 }
only: [ { stack: burst, workload: randread }, { stack: pool, workload: kept }, { stack: hosted, workload: again }, { stack: sick, workload: randread } ]
measure: { trial: 9s, ramp: 1s, rounds: 2 }
";

/// Whether DAMON reclaims pages on this machine.
fn takes_cold_pages() -> bool {
    let mut threads =
        std::fs::read_dir("/sys/kernel/mm/damon/admin/kdamonds").into_iter().flatten().flatten();
    threads.any(|thread| {
        std::fs::read_to_string(thread.path().join("state")).is_ok_and(|state| state.trim() == "on")
    })
}

#[test]
fn boots_and_the_truth_of_its_disks_is_told() {
    let _alone = testkit::exclusive_guests();
    let dir = prepared("guest-truth", "diskproof-test-truth");
    std::fs::write(dir.join("e.yaml"), TRUTH).unwrap();
    let ran = command(&dir, &["run", "e.yaml", "--progress", "lines"]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    let export = command(&dir, &["export", "latest", "--json"]);
    let export: Value = serde_json::from_slice(&export.stdout).unwrap();
    let cell = |stack: &str| {
        export["cells"].as_array().unwrap().iter().find(|cell| cell["stack"] == stack).unwrap().clone()
    };
    let claimed = |stack: &str, claim: &str| {
        let all = export["findings"].as_array().unwrap();
        all.iter().find(|f| f["cell"] == cell(stack)["id"] && f["claim"] == claim).cloned()
    };
    let found = |stack: &str, claim: &str| {
        claimed(stack, claim).unwrap_or_else(|| panic!("no {claim} of {stack}: {said}"))
    };
    let burst = found("burst", "burst_exhausted");
    let rate = |name: &str| burst["evidence"][name].as_f64().unwrap_or_else(|| panic!("{burst}"));
    // Credit is spent at (120 - 40) I/Os a second, of 480: it lasts for 6 s of load, and 1 s of that is the ramp.
    assert!((3.0..=8.0).contains(&rate("fell_at_seconds")), "{burst}");
    assert!((35.0..=45.0).contains(&rate("provided_iops")), "{burst}");
    assert_eq!(cell("burst")["limited_by"]["by"], "device", "what QEMU limits is the guest's device: {said}");
    let arc = found("pool", "served_from_other_cache");
    assert_eq!(arc["severity"], "void", "{arc}");
    assert!(cell("pool")["served"]["other_cache"].as_f64().unwrap() > 0.95, "{said}");
    // QEMU wrote the file through the host's page cache, which still has it, unless this kernel reclaims pages without need.
    match claimed("hosted", "served_from_host_cache") {
        Some(host) => {
            assert!(["void", "caveat"].contains(&host["severity"].as_str().unwrap()), "{host}");
            assert!(host["text"].as_str().unwrap().contains("the host's page cache"), "{host}");
        }
        None => {
            assert!(takes_cold_pages(), "nothing was taken out of the page cache: {said}");
            found("hosted", "double_caching");
            found("hosted", "source_unknown");
        }
    }
    // Each trial begins with the right limit; else the second one would report a limit that changed before.
    let sick = found("sick", "throttle_changed");
    assert_eq!((&sick["severity"], &sick["trials"]), (&"note".into(), &2.into()), "{sick}");
    assert!(sick["text"].as_str().unwrap().contains("as the experiment asks: 5"), "{sick}");
    assert!(claimed("sick", "burst_exhausted").is_none(), "{said}");
    let course = found("sick", "not_steady");
    let before = course["evidence"]["before_iops"].as_f64().unwrap();
    assert!((110.0..=130.0).contains(&before), "{course}");
    let under = |stack: &str| cell(stack)["leaves"].to_string();
    assert!(under("hosted").contains(", through the host's page cache"), "{}", under("hosted"));
    assert!(
        under("burst").contains("disk of a guest, a file on") && under("burst").contains("host:"),
        "{}",
        under("burst")
    );
    assert_eq!(cell("pool")["trials"]["done"], 2, "the first left the disk as it found it: {said}");
    if !testkit::keep_wreck() {
        std::fs::remove_dir_all(dir).unwrap();
    }
}
