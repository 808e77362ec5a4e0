//! Disks and processors of a lab guest: a finding outside of the range in which figures are valid, none within it.

use super::judged;
use crate::testing::{GIB, SECONDS, Truth, filesystem, whole};
use record::counter::Sample;
use record::emulated::LAB;
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::topology::BlockKind;
use record::workload::Rw;

/// Reads on `disks` disks of a guest.
fn guest(disks: u32, each: fn(&mut Sample, f64)) -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), disks);
    for node in &mut t.trial.topology.nodes {
        node.kind = BlockKind::Disk;
    }
    t.asked(GIB, 0);
    t.device_read = GIB;
    t.each = each;
    t.believed = Some(LAB);
    t
}

/// Sets each disk's rate and latency.
fn made(sample: &mut Sample, done: f64, iops: f64, latency_ms: f64) {
    let requests = iops * done * SECONDS as f64;
    for block in sample.block.values_mut() {
        (block.reads, block.read_wait_ms) = (whole(requests), whole(requests * latency_ms));
    }
}

fn beyond(t: &Truth) -> Vec<String> {
    let (_, found) = judged(t);
    let of = found.into_iter().filter(|f| f.claim == Claim::BeyondEmulation);
    of.map(|f| {
        assert_eq!(f.severity, Severity::Caveat);
        f.text
    })
    .collect()
}

#[test]
fn within_the_range_nothing_is_said() {
    // a limit of 2000 gave 2012
    for each in [|s: &mut Sample, d| made(s, d, 80.0, 12.5), |s: &mut Sample, d| made(s, d, 2012.0, 1.1)] {
        assert_eq!(beyond(&guest(1, each)), [] as [&str; 0]);
    }
    assert_eq!(beyond(&guest(3, |s, d| made(s, d, 1670.0, 2.0))), [] as [&str; 0]);
}

#[test]
fn one_disk_beyond_it() {
    let mut t = guest(1, |s, d| made(s, d, 3120.0, 2.0));
    let found = beyond(&t);
    assert!(
        found[0].contains("loop0 made 3,120 requests per second; only up to 2,000 is credible."),
        "{found:?}"
    );
    t.believed = None;
    assert_eq!(beyond(&t), [] as [&str; 0], "no lab guest");
}

#[test]
fn all_disks_together_beyond_it() {
    let found = beyond(&guest(3, |s, d| made(s, d, 1800.0, 2.0)));
    assert!(found[0].contains("all disks made 5,400 requests per second; only up to 5,000"), "{found:?}");
    assert!(!found[0].contains("loop"), "each by itself is within: {found:?}");
}

#[test]
fn a_latency_below_it() {
    let found = beyond(&guest(1, |s, d| made(s, d, 500.0, 0.4)));
    assert!(
        found[0].contains("a request to loop0 took 400 us on average; a latency below 1 ms"),
        "{found:?}"
    );
    // a disk with next to no requests
    let idle = guest(2, |s, d| {
        made(s, d, 500.0, 4.0);
        let other = s.block.get_mut("loop1").unwrap();
        (other.reads, other.read_wait_ms) = (whole(200.0 * d), 0);
    });
    assert_eq!(beyond(&idle), [] as [&str; 0]);
}

#[test]
fn a_limit_by_a_processor_that_software_emulates() {
    let mut t = guest(1, |s, d| made(s, d, 500.0, 2.0));
    t.thread_cores = 0.98;
    let found = |t: &mut Truth, model: &str| {
        t.machine.cpu_model = Some(model.to_owned());
        beyond(t)
    };
    let emulated = "QEMU Virtual CPU version 2.5+";
    assert!(found(&mut t, emulated)[0].contains("busiest thread ran 98 %"), "{:?}", beyond(&t));
    assert_eq!(found(&mut t, "Example CPU"), [] as [&str; 0], "by KVM");
    t.believed = None;
    assert_eq!(found(&mut t, emulated), [] as [&str; 0], "somebody's guest, which KVM may execute");
    t.believed = Some(LAB);
    t.thread_cores = 0.1;
    assert_eq!(found(&mut t, emulated), [] as [&str; 0], "something else limits it");
}
