use super::{Census, Entry, between};
use crate::counter::process::Io;
use std::collections::BTreeSet;

fn census(rows: &[(u32, u32, &str, u64, u64)]) -> Census {
    let entry = |&(pid, parent, comm, read, write): &(u32, u32, &str, u64, u64)| {
        let io = Io { read_bytes: read, write_bytes: write, ..Io::default() };
        let kernel_thread = comm.starts_with('k');
        // As many ticks as MiB, so that one number stands for both.
        let ticks = (read + write) >> 20;
        (
            pid,
            Entry { parent, comm: comm.to_owned(), kernel_thread, ticks, io: (!kernel_thread).then_some(io) },
        )
    };
    Census { processes: rows.iter().map(entry).collect(), complete: true, own_pid: 50 }
}

fn seen(before: &Census, after: &Census, engines: &[u32]) -> Vec<(u32, u64, u64)> {
    let engines: BTreeSet<u32> = engines.iter().copied().collect();
    let others = between(before, after, &engines, None);
    assert!(others.complete);
    assert!(others.processes.iter().all(|other| other.on_ground.is_none()), "nobody looked");
    others.processes.into_iter().map(|other| (other.pid, other.read_bytes, other.write_bytes)).collect()
}

#[test]
fn strangers_are_listed_by_size_and_ours_are_not() {
    let before = census(&[
        (1, 0, "init", 0, 0),
        (10, 1, "diskproof", 5, 5),
        (11, 10, "sudo", 0, 0),
        (50, 11, "diskproof", 0, 0),
        (60, 50, "fio", 0, 0),
        (70, 1, "backup", 100, 0),
        (71, 1, "idle", 9, 9),
        (80, 2, "kworker/0:1", 0, 0),
    ]);
    let after = census(&[
        (1, 0, "init", 0, 0),
        (10, 1, "diskproof", 50, 50),
        (11, 10, "sudo", 7, 0),
        (12, 10, "other child", 1, 0),
        (50, 11, "diskproof", 99, 0),
        (60, 50, "fio", 1_000, 0),
        (40, 60, "fio", 1_000, 0),
        (70, 1, "backup", 160, 5),
        (71, 1, "idle", 9, 9),
        (72, 1, "new", 0, 300),
        (80, 2, "kworker/0:1", 4_096, 0),
    ]);
    assert_eq!(seen(&before, &after, &[60]), [(72, 0, 300), (70, 60, 5), (12, 1, 0)]);
}

#[test]
fn what_an_ended_child_had_done_before_is_not_its_parents() {
    let before = census(&[
        (1, 0, "init", 0, 0),
        (20, 1, "sh", 10, 0),
        (21, 20, "job", 500, 0),
        (22, 21, "sub", 30, 0),
    ]);
    let after = census(&[(1, 0, "init", 0, 0), (20, 1, "sh", 10 + 500 + 30 + 8, 0)]);
    assert_eq!(seen(&before, &after, &[]), [(20, 8, 0)]);
}

#[test]
fn an_engine_not_below_us_is_ours_with_its_children() {
    let before = census(&[(1, 0, "init", 0, 0)]);
    let after =
        census(&[(1, 0, "init", 0, 0), (60, 1, "fio", 5, 0), (61, 60, "fio", 5, 0), (62, 1, "dd", 5, 0)]);
    assert_eq!(seen(&before, &after, &[60]), [(62, 5, 0)]);
}

#[test]
fn what_could_not_be_read_is_said() {
    let mut after = census(&[(1, 0, "init", 0, 0)]);
    after.complete = false;
    let others = between(&census(&[]), &after, &BTreeSet::new(), None);
    assert_eq!((others.processes.len(), others.complete), (0, false));
    assert_eq!((others.cpu_ticks, others.kernel_cpu_ticks), (None, None), "we aren't in it ourselves");
}

#[test]
fn cpu_is_summed_over_strangers_and_over_kernel_threads() {
    const M: u64 = 1 << 20;
    let before = census(&[
        (1, 0, "init", 0, 0),
        (50, 1, "diskproof", 0, 0),
        (20, 1, "make", 10 * M, 0),
        (21, 20, "cc1", 100 * M, 0),
        (80, 2, "kworker/0:1", 5 * M, 0),
    ]);
    // The compiler has ended after one more tick; its 101 ticks are now its parent's.
    let after = census(&[
        (1, 0, "init", 0, 0),
        (50, 1, "diskproof", 40 * M, 0),
        (60, 50, "fio", 70 * M, 0),
        (20, 1, "make", (10 + 101 + 3) * M, 0),
        (22, 20, "cc1", 30 * M, 0),
        (80, 2, "kworker/0:1", 12 * M, 0),
        (81, 2, "kworker/0:2", 2 * M, 0),
    ]);
    let others = between(&before, &after, &BTreeSet::from([60]), None);
    assert_eq!((others.cpu_ticks, others.kernel_cpu_ticks), (Some(30 + 4), Some(7 + 2)));
    let listed: Vec<_> = others.processes.iter().map(|p| (p.pid, p.cpu_ticks, p.kernel)).collect();
    let expected = [
        (22, Some(30), Some(false)),
        (20, Some(4), Some(false)),
        (80, Some(7), Some(true)),
        (81, Some(2), Some(true)),
    ];
    assert_eq!(listed, expected, "kernel threads have no bytes, so they come last");
}

#[test]
fn only_the_largest_are_listed() {
    let rows: Vec<(u32, u32, &str, u64, u64)> =
        (100..200).map(|pid| (pid, 1, "x", u64::from(pid), 0)).chain([(50, 1, "diskproof", 0, 0)]).collect();
    let none: Vec<_> = rows.iter().map(|&(pid, parent, comm, ..)| (pid, parent, comm, 0, 0)).collect();
    let pids: Vec<u32> = seen(&census(&none), &census(&rows), &[]).iter().map(|(pid, ..)| *pid).collect();
    assert_eq!(pids, (180..200).rev().collect::<Vec<_>>());
}
