//! Tests with running guests. They need root, QEMU and the image (`diskproof lab build`).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use diskproof_lab::{Lab, Shape, State};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// A guest that is removed at the end of the test.
struct Guest(Lab);

impl Guest {
    fn fresh(name: &str) -> Self {
        let lab = Lab::open(&state(), &format!("diskproof-test-{name}")).unwrap();
        lab.down().unwrap();
        Self(lab)
    }

    fn up(&self) {
        self.0.ensure_up(&Shape::default(), &|told| println!("{told}")).unwrap_or_else(|error| fail(&error));
    }

    fn says(&self, argv: &[&str]) -> String {
        let output = self.0.run(argv, LIMIT).unwrap_or_else(|error| fail(&error));
        output.stdout.trim().to_owned()
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        if std::env::var_os("DISKPROOF_TEST_KEEP").is_none_or(|value| value != "1") {
            self.0.down().unwrap();
        }
    }
}

fn fail(error: &dyn std::error::Error) -> ! {
    let causes = std::iter::successors(error.source(), |cause| cause.source());
    panic!("{error}{}", causes.map(|cause| format!("\n  because: {cause}")).collect::<String>());
}

/// The users' own state folder, for its image: building another takes minutes and gigabytes.
fn state() -> PathBuf {
    std::env::var_os("DISKPROOF_STATE").map_or_else(|| PathBuf::from("/var/lib/diskproof"), PathBuf::from)
}

/// The processes that have `path` in their arguments.
fn processes_of(path: &Path) -> Vec<String> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let pids =
        entries.filter(|entry| entry.file_name().to_string_lossy().chars().all(|c| c.is_ascii_digit()));
    let lines = pids.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(&*path.to_string_lossy())).collect()
}

fn is_listening(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// The read IOPS of a disk over `seconds` at full load.
fn requests(guest: &Guest, disk: &str, seconds: u32) -> f64 {
    let script = format!(
        "fio --name=x --filename=/dev/disk/by-id/{disk} --direct=1 --rw=randread --bs=4k --iodepth=16 --ioengine=libaio \
         --runtime={seconds} --time_based --output-format=terse --terse-version=3 | cut -d';' -f8"
    );
    guest.says(&["sh", "-c", &script]).parse().unwrap()
}

#[test]
fn boots_up_with_disks_whose_limits_change_while_it_runs_and_goes_down_without_a_trace() {
    let guest = Guest::fresh("disks");
    // of this thread, and of what it starts
    rustix::process::setpriority_process(None, 3).unwrap();
    guest.up();
    let status = guest.0.status().unwrap();
    assert_eq!(status.state, State::Up);
    let qemu = std::fs::read_to_string(state().join("lab/guests/diskproof-test-disks/qemu.pid")).unwrap();
    // a kernel without autogroups has no such file, and gives each process its own share
    if let Ok(share) = std::fs::read_to_string(format!("/proc/{}/autogroup", qemu.trim())) {
        assert!(share.trim().ends_with("nice 3"), "{share}");
    }
    assert_eq!(guest.says(&["id", "-un"]), "root");
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let there: u64 = guest.says(&["date", "+%s"]).parse().unwrap();
    assert!(now.abs_diff(there) < 120, "the guest believes it is {there}, and it is {now}");

    let disks = [
        "d1:size=256m,read_iops=100,write_iops=50",
        "ssd:size=64m,bus=virtio-scsi,cache=writethrough,written=yes",
        "fast:size=64m,bus=nvme,read_iops=200",
    ];
    guest.0.attach(&disks.map(|disk| disk.parse().unwrap())).unwrap_or_else(|error| fail(&error));
    assert_eq!(
        guest.says(&["blockdev", "--getsize64", "/dev/disk/by-id/virtio-d1"]),
        (256 << 20).to_string()
    );
    let scsi = "/dev/disk/by-id/scsi-0QEMU_QEMU_HARDDISK_ssd";
    assert_eq!(guest.says(&["blockdev", "--getsize64", scsi]), (64 << 20).to_string());
    assert_eq!(
        guest.says(&[
            "sh",
            "-c",
            &format!("cat /sys/block/$(basename $(readlink {scsi}))/queue/write_cache")
        ]),
        "write through"
    );
    assert_ne!(
        guest.says(&["sh", "-c", &format!("head -c 4096 {scsi} | tr -d '\\0' | wc -c")]),
        "0",
        "written disks hold data"
    );
    let again = guest.0.attach(&["d1:size=1m".parse().unwrap()]).unwrap_err();
    assert!(again.to_string().contains("has a disk d1 already"), "{again}");

    // QEMU's limit is exact, but the requests of one second may come at once. A busy host does fewer: then the measurement is repeated.
    let reaches = |disk: &str, least: f64, most: f64| {
        let mut all = Vec::new();
        while all.iter().all(|done| *done < least) {
            all.push(requests(&guest, disk, 6));
            assert!(
                all.iter().all(|done| *done <= most) && all.len() <= 5,
                "{disk}: {least} to {most} of {all:?}"
            );
        }
    };
    reaches("nvme-QEMU_NVMe_Ctrl_fast", 80.0, 240.0);
    reaches("virtio-d1", 40.0, 120.0);
    guest.0.set_limits("d1", &"read_iops=300,bps=8m".parse().unwrap()).unwrap();
    reaches("virtio-d1", 130.0, 360.0);

    guest.0.detach("fast").unwrap_or_else(|error| fail(&error));
    guest.0.detach("ssd").unwrap_or_else(|error| fail(&error));
    assert_eq!(guest.says(&["sh", "-c", &format!("[ -e {scsi} ] && echo there || echo gone")]), "gone");
    assert!(
        guest.0.set_limits("ssd", &"iops=1".parse().unwrap()).unwrap_err().to_string().contains("it has d1")
    );

    let folder = state().join("lab/guests/diskproof-test-disks");
    assert!(folder.join("disk-d1.img").exists() && !folder.join("disk-ssd.img").exists());
    assert!(!processes_of(&folder).is_empty());
    guest.0.down().unwrap();
    assert_eq!(processes_of(&folder), Vec::<String>::new());
    assert!(!folder.exists() && !folder.with_extension("lock").exists());
    assert!(!is_listening(status.port.unwrap()));
    assert_eq!(guest.0.status().unwrap().state, State::Down);
}

#[test]
fn boots_anew_on_reset_with_fresh_disks() {
    let guest = Guest::fresh("reset");
    guest.up();
    guest.0.attach(&["d1:size=16m,iops=500".parse().unwrap()]).unwrap_or_else(|error| fail(&error));
    guest.says(&["sh", "-c", "echo dirt > /root/dirt && echo dirt > /dev/disk/by-id/virtio-d1 && sync"]);
    guest.0.reset(&|told| println!("{told}")).unwrap_or_else(|error| fail(&error));
    assert_eq!(guest.says(&["sh", "-c", "[ -e /root/dirt ] && echo there || echo gone"]), "gone");
    assert_eq!(guest.says(&["sh", "-c", "head -c 4 /dev/disk/by-id/virtio-d1 | tr -d '\\0' | wc -c"]), "0");
    let limits = guest.0.status().unwrap().disks[0].spec.throttle.limits;
    assert_eq!(
        [limits.read_iops, limits.write_iops, limits.total_iops],
        [Some(500), Some(500), None],
        "each direction's"
    );
}

/// udev removes the link of a disk some time after the disk. That is no link of a new disk with the same name.
#[test]
fn boots_and_a_link_of_an_earlier_disk_is_not_taken_for_a_new_disk() {
    let guest = Guest::fresh("link");
    guest.up();
    let disk = || ["d1:size=16m".parse().unwrap()];
    guest.0.attach(&disk()).unwrap_or_else(|error| fail(&error));
    guest.says(&["udevadm", "control", "--stop-exec-queue"]);
    guest.0.detach("d1").unwrap_or_else(|error| fail(&error));
    guest.says(&["test", "-L", "/dev/disk/by-id/virtio-d1"]);
    let goes_on = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let attached = scope.spawn(|| {
            guest.0.attach(&disk()).unwrap_or_else(|error| fail(&error));
            goes_on.load(Ordering::SeqCst)
        });
        std::thread::sleep(Duration::from_secs(3));
        goes_on.store(true, Ordering::SeqCst);
        guest.says(&["udevadm", "control", "--start-exec-queue"]);
        assert!(attached.join().unwrap(), "the old link counted");
    });
    guest.says(&["sh", "-c", "udevadm settle && test -b /dev/disk/by-id/virtio-d1"]);
}

#[test]
fn boots_and_a_killed_guest_is_told_and_cleaned() {
    let guest = Guest::fresh("killed");
    guest.up();
    let pid = guest.0.status().unwrap().pid.unwrap();
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    while Path::new(&format!("/proc/{pid}/exe")).exists() {
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = guest.0.status().unwrap();
    assert_eq!((status.state, status.pid), (State::Left, None));
    let error = guest.0.run(&["true"], LIMIT).unwrap_err().to_string();
    assert!(error.contains("has ended") && error.contains("lab up"), "{error}");
    guest.up();
    assert_eq!(guest.0.status().unwrap().state, State::Up);
}

#[test]
fn boots_not_where_the_asked_port_is_somebody_s() {
    let guest = Guest::fresh("port");
    let somebody = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = somebody.local_addr().unwrap().port();
    let error =
        guest.0.ensure_up(&Shape { port: Some(port), ..Shape::default() }, &|_| ()).unwrap_err().to_string();
    assert!(error.contains(&format!("port {port}")) && error.contains("--port"), "{error}");
    assert_eq!(guest.0.status().unwrap().pid, None);
}
