//! The use of the CPU.

use super::{SINGLE, claims, judged};
use crate::testing::{GIB, Truth, btrfs, filesystem};
use record::finding::{Claim, Severity};
use record::stack::FsKind;
use record::workload::Rw;

/// Two cores, a fifth of them busy.
fn reads() -> Truth {
    let mut t = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1);
    t.asked(10 * GIB, 0);
    t.device_read = 10 * GIB;
    t
}

#[test]
fn a_thread_that_fills_its_core_is_the_limit() {
    let mut t = reads();
    t.thread_cores = 0.89;
    assert!(claims(&t).is_empty());
    t.thread_cores = 1.0;
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    // This needs no other counters.
    (t.others_cpu, t.kernel_cpu) = (None, None);
    assert_eq!(claims(&t), [Claim::EngineCpuBound]);
    t.options().other.insert("hipri".to_owned(), "1".to_owned());
    assert!(claims(&t).is_empty(), "polling uses a core by design");
}

#[test]
fn a_machine_that_others_keep_busy_is_a_note_and_no_limit() {
    // An emulated volume of 80 IOPS: the engine's thread used a hundredth of a core, a compiler all the rest.
    let mut t = Truth::new(Rw::Randrw, 16384, true, btrfs(SINGLE), 1);
    t.emulated(1);
    t.asked(1600 * 16384, 1600 * 16384);
    (t.device_read, t.device_write) = (1600 * 16384, 3900 * 16384);
    (t.own_read, t.own_write) = (Some(1600 * 16384), Some(1600 * 16384));
    (t.thread_cores, t.machine_busy, t.others_cpu) = (0.01, 0.99, Some(0.92));
    let rustc = t.other("rustc", 178 << 20, 0);
    (rustc.on_ground, rustc.cpu_ticks) = (Some(false), Some(2000));
    let found = judged(&t).1;
    let claims: Vec<Claim> = found.iter().map(|f| f.claim).collect();
    assert_eq!(claims, [Claim::OthersUsedCpu, Claim::WriteAmplified], "{found:?}");
    let note = &found[0];
    assert_eq!((note.claim, note.severity), (Claim::OthersUsedCpu, Severity::Note));
    assert!(note.text.starts_with("Others used the CPU: 92 %"), "{}", note.text);
    assert!(note.text.contains("rustc (pid 4711) 50 %"), "{}", note.text);
    assert!((note.evidence["others_cpu_share"] - 0.92).abs() < 0.01, "{:?}", note.evidence);
    assert!((note.evidence["most_of_one_other_cpu_share"] - 0.5).abs() < 0.01, "{:?}", note.evidence);
}

#[test]
fn a_quarter_of_the_machine_is_others_to_use() {
    let mut t = reads();
    (t.machine_busy, t.others_cpu) = (0.5, Some(0.24));
    assert!(claims(&t).is_empty());
    t.others_cpu = Some(0.27);
    assert_eq!(claims(&t), [Claim::OthersUsedCpu]);
    t.others_cpu = None;
    assert!(claims(&t).is_empty(), "not counted is no claim");
    // The counted share can't exceed the share in which the machine was busy.
    (t.machine_busy, t.others_cpu) = (0.2, Some(0.9));
    assert!(claims(&t).is_empty());
}

#[test]
fn kernel_threads_that_compress_are_ours() {
    let mut t = Truth::new(Rw::Write, 1 << 20, true, btrfs(SINGLE), 1);
    t.emulated(1);
    t.asked(0, 2 * GIB);
    t.device_write = 2 * GIB;
    (t.thread_cores, t.machine_busy, t.kernel_cpu, t.others_cpu) = (0.2, 0.97, Some(0.8), Some(0.02));
    let found = judged(&t).1;
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].claim, Claim::EngineCpuBound);
    assert!(found[0].text.contains("engine used 10 % and the kernel's threads"), "{}", found[0].text);
    assert!((found[0].evidence["kernel_threads_cpu_share"] - 0.8).abs() < 0.01);
    t.kernel_cpu = Some(0.7);
    assert!(claims(&t).is_empty(), "a fifth of the machine was left, or somebody's whom we can't see");
    t.kernel_cpu = None;
    assert!(claims(&t).is_empty(), "not counted is no claim");
}
