//! Limits on a process and journals of file systems, with this machine's kernel. Needs root.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

mod support;

use diskproof_observe::{Config, Sampler, Subjects};
use record::counter::{CpuQuota, Evidence};
use record::volume::Limits;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use support::wait_until;
use testkit::{LoopDevice, PREFIX, exclusive, is_root};

/// Returns a v1 hierarchy's directory; `None` if it isn't mounted at the usual place.
fn hierarchy(controller: &str, file: &str) -> Option<PathBuf> {
    let root = Path::new("/sys/fs/cgroup").join(controller);
    let there = is_root() && root.join(file).exists();
    if !there {
        eprintln!("skipped: needs root and a v1 {controller} hierarchy");
    }
    there.then_some(root)
}

/// cgroups for a test, the outer one first; removed when dropped.
struct Groups(Vec<PathBuf>);

impl Groups {
    fn new(root: &Path, name: &str) -> Self {
        let outer = root.join(format!("{PREFIX}{name}"));
        let groups = Self(vec![outer.clone(), outer.join("inner")]);
        groups.remove();
        fs::create_dir_all(&groups.0[1]).unwrap();
        groups
    }

    fn set(&self, group: usize, file: &str, text: &str) {
        fs::write(self.0[group].join(file), text).unwrap();
    }

    fn remove(&self) {
        for group in self.0.iter().rev() {
            // A killed process leaves its cgroup a moment later.
            wait_until(|| !group.exists() || fs::remove_dir(group).is_ok(), "a cgroup stays");
        }
    }

    /// Starts a process in the inner cgroup.
    fn start(&self, script: &str) -> Child {
        let child = Command::new("sh").args(["-c", script]).stdin(Stdio::piped()).spawn().unwrap();
        self.set(1, "cgroup.procs", &child.id().to_string());
        child
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        self.remove();
    }
}

fn observe(device: Option<&LoopDevice>, pid: Option<u32>, meanwhile: impl FnOnce()) -> Evidence {
    let devices = device.map(LoopDevice::name).into_iter().collect();
    let subjects = Subjects { devices, ..Subjects::default() };
    let sampler = Sampler::start(&Config { subjects, engine_pid: pid, ..Config::default() }).unwrap();
    meanwhile();
    let (evidence, problems) = sampler.stop_with_problems();
    assert!(problems.is_empty(), "{problems:?}");
    evidence
}

fn end(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn loop_a_limit_of_the_engines_own_group_is_seen_and_so_is_its_change() {
    let _alone = exclusive();
    let Some(root) = hierarchy("blkio", "blkio.throttle.read_iops_device") else { return };
    let groups = Groups::new(&root, "throttle");
    let device = LoopDevice::new(16 << 20, "observe-throttle");
    let number = fs::read_to_string(format!("/sys/class/block/{}/dev", device.name())).unwrap();
    let number = number.trim();
    groups.set(0, "blkio.throttle.write_iops_device", &format!("{number} 5"));
    groups.set(1, "blkio.throttle.read_iops_device", &format!("{number} 80"));
    let child = groups.start("read line");
    let change = || groups.set(1, "blkio.throttle.read_iops_device", &format!("{number} 40"));
    let evidence = observe(Some(&device), Some(child.id()), change);
    end(child);
    let limits = |index: usize| evidence.samples[index].throttles.clone().unwrap();
    let read_iops = |n| Limits { read_iops: Some(n), ..Limits::default() };
    assert_eq!(limits(0)[number], read_iops(80), "v1 is flat: the outer group's limit doesn't bind");
    assert_eq!(limits(evidence.samples.len() - 1)[number], read_iops(40));
    assert_eq!(limits(0).len(), 1);
}

#[test]
fn loop_a_quota_of_a_group_above_the_engines_is_seen_to_hold_it_back() {
    let _alone = exclusive();
    let Some(root) = hierarchy("cpu", "cpu.cfs_quota_us") else { return };
    let groups = Groups::new(&root, "quota");
    groups.set(0, "cpu.cfs_quota_us", "10000");
    let child = groups.start("while :; do :; done");
    let stat = groups.0[0].join("cpu.stat");
    let throttled = || fs::read_to_string(&stat).unwrap().lines().any(|l| l == "nr_throttled 0");
    let evidence = observe(None, Some(child.id()), || {
        let before = fs::read_to_string(&stat).unwrap();
        wait_until(|| !throttled() && fs::read_to_string(&stat).unwrap() != before, "it was never held back");
    });
    end(child);
    let quotas: Vec<CpuQuota> = evidence.samples.iter().filter_map(|sample| sample.cpu_quota).collect();
    assert_eq!(quotas.len(), evidence.samples.len());
    let (first, last) = (quotas[0], quotas[quotas.len() - 1]);
    assert!((last.cpus - 0.1).abs() < 1e-9, "{last:?}");
    assert!(
        last.throttled_periods > first.throttled_periods && last.throttled_ns > first.throttled_ns,
        "{quotas:?}"
    );
    assert!(last.periods >= last.throttled_periods);
}

#[test]
fn loop_a_process_without_a_quota_has_none() {
    let _alone = exclusive();
    let Some(root) = hierarchy("cpu", "cpu.cfs_quota_us") else { return };
    let groups = Groups::new(&root, "no-quota");
    let child = groups.start("read line");
    let evidence = observe(None, Some(child.id()), || ());
    end(child);
    assert!(evidence.samples.iter().all(|sample| sample.cpu_quota.is_none()));
}

#[test]
fn loop_each_fsync_shows_in_the_journal_of_ext4_and_of_xfs() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    for (fs_type, mkfs) in [("ext4", ["mkfs.ext4", "-q", "-F"]), ("xfs", ["mkfs.xfs", "-q", "-f"])] {
        let device = LoopDevice::new(384 << 20, &format!("observe-journal-{fs_type}"));
        let point = testkit::fresh_dir("observe-journal");
        let run = |program: &str, args: &[&str], paths: &[&Path]| {
            let output = Command::new(program).args(args).args(paths).output().unwrap();
            assert!(output.status.success(), "{program}: {}", String::from_utf8_lossy(&output.stderr));
        };
        run(mkfs[0], &mkfs[1..], &[device.path()]);
        run("mount", &["-t", fs_type], &[device.path(), &point]);
        let evidence = observe(Some(&device), None, || {
            for n in 0..10 {
                let file = fs::File::create(point.join(n.to_string())).unwrap();
                file.sync_all().unwrap();
            }
        });
        run("umount", &[], &[&point]);
        fs::remove_dir(&point).unwrap();
        let commits = |sample: &record::counter::Sample| sample.journal_commits[&device.name()];
        let (first, last) = (commits(&evidence.samples[0]), commits(evidence.samples.last().unwrap()));
        assert!((10..=14).contains(&(last - first)), "{fs_type}: {first} to {last}");
    }
}
