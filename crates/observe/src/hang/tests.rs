use super::{Hang, HangWatch, threads_below};
use record::roots::Roots;
use std::fs;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(120);
const LOOK: Duration = Duration::from_secs(2);
const THREAD: u32 = 7;

/// A machine with one thread and the disks `vda` and `vdb`.
struct Machine {
    dir: tempfile::TempDir,
    watch: HangWatch,
}

impl Machine {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        fs::create_dir_all(dir.path().join("proc/net/rpc")).unwrap();
        fs::write(dir.path().join("proc/7/wchan"), "xfs_log_force").unwrap();
        let watch = HangWatch::new(Roots::under(dir.path()), PATIENCE);
        let machine = Self { dir, watch };
        machine.thread("D (disk sleep)", 5);
        machine.disks((100, 0), (50, 0));
        machine
    }

    fn thread(&self, state: &str, switches: u64) {
        let text = format!(
            "Name:\tumount\nState:\t{state}\nvoluntary_ctxt_switches:\t{switches}\nnonvoluntary_ctxt_switches:\t1\n"
        );
        fs::write(self.dir.path().join("proc/7/status"), text).unwrap();
    }

    /// Completed writes and requests in flight.
    fn disks(&self, vda: (u64, u64), vdb: (u64, u64)) {
        let line = |name: &str, (writes, in_flight): (u64, u64)| {
            format!(" 254  0 {name} 1 0 8 0 {writes} 0 8 0 {in_flight} 0 0 0 0 0 0 0 0\n")
        };
        let text = line("vda", vda) + &line("vdb", vdb);
        fs::write(self.dir.path().join("proc/diskstats"), text).unwrap();
    }

    /// The number of looks until it hangs, or `None` if it doesn't within ten minutes.
    fn hangs(&mut self, mut before: impl FnMut(&Self, u64)) -> Option<(u64, Hang)> {
        (0..300).find_map(|look| {
            before(self, look);
            Some((look, self.watch.look(&[THREAD], LOOK)?))
        })
    }
}

#[test]
fn a_thread_that_waits_for_nothing_that_answers_hangs() {
    let (look, hang) = Machine::new().hangs(|_, _| {}).unwrap();
    assert_eq!((look, hang.disk.clone()), (60, None));
    assert_eq!(
        hang.to_string(),
        "process umount (7) hangs in the kernel (in xfs_log_force): for 120 s it waits for something that doesn't answer"
    );
}

#[test]
fn a_thread_that_waits_for_a_disk_at_work_does_not_hang() {
    assert_eq!(Machine::new().hangs(|machine, look| machine.disks((100, 0), (50 + look, 32))), None);
    // A disk that has nothing to do most of the time doesn't count as work.
    let mut machine = Machine::new();
    let rare = |machine: &Machine, look: u64| machine.disks((100 + look, look % 2), (50, 0));
    assert_eq!(machine.hangs(rare).unwrap().0, 60);
}

#[test]
fn a_disk_that_answers_nothing_is_named_even_beside_one_at_work() {
    let (look, hang) =
        Machine::new().hangs(|machine, look| machine.disks((100 + look, 3), (50, 40))).unwrap();
    assert_eq!((look, hang.disk.clone()), (60, Some(("vdb".to_owned(), 40))));
    assert!(
        hang.to_string().ends_with(": disk vdb has answered none of its 40 requests for 120 s"),
        "{hang}"
    );
}

#[test]
fn a_disk_that_answers_nothing_makes_nobody_hang_who_does_not_wait() {
    let dead = |machine: &Machine| machine.disks((100, 0), (50, 40));
    let mut machine = Machine::new();
    let awake = |machine: &Machine, look| {
        dead(machine);
        machine.thread(if look % 50 == 0 { "S (sleeping)" } else { "D (disk sleep)" }, 5);
    };
    assert_eq!(machine.hangs(awake), None);
    let mut machine = Machine::new();
    let switches = |machine: &Machine, look: u64| {
        dead(machine);
        machine.thread("D (disk sleep)", look / 10);
    };
    assert_eq!(machine.hangs(switches), None);
}

#[test]
fn a_server_that_answers_is_something_at_work() {
    let calls = |machine: &Machine, calls: u64| {
        fs::write(machine.dir.path().join("proc/net/rpc/nfs"), format!("net 0 0 0 0\nrpc {calls} 0 0\n"))
            .unwrap();
    };
    assert_eq!(Machine::new().hangs(calls), None);
    assert_eq!(Machine::new().hangs(|machine, _| calls(machine, 9)).unwrap().0, 60, "no further calls");
}

#[test]
fn time_in_which_this_process_did_not_run_does_not_count() {
    let mut machine = Machine::new();
    assert!((0..20).all(|_| machine.watch.look(&[THREAD], Duration::from_secs(3600)).is_none()));
}

#[test]
fn a_program_that_is_not_looked_at_begins_anew() {
    let mut machine = Machine::new();
    assert!((0..60).all(|_| machine.watch.look(&[THREAD], LOOK).is_none()));
    assert_eq!(machine.watch.look(&[], LOOK), None);
    assert_eq!(machine.watch.look(&[THREAD], LOOK), None);
}

#[test]
fn children_of_children_and_their_threads_are_found() {
    let dir = tempfile::tempdir().unwrap();
    let task = |process: u32, thread: u32, children: &str| {
        let task = dir.path().join(format!("proc/{process}/task/{thread}"));
        fs::create_dir_all(&task).unwrap();
        fs::write(task.join("children"), children).unwrap();
    };
    task(1, 1, "2 ");
    task(1, 11, "3 ");
    task(2, 2, "");
    task(3, 3, "");
    task(3, 33, "4 ");
    task(4, 4, "");
    task(9, 9, "");
    assert_eq!(threads_below(&Roots::under(dir.path()), 1), [2, 3, 4, 33]);
    assert_eq!(threads_below(&Roots::under(Path::new("/nonexistent")), 1), [] as [u32; 0]);
}
