//! Which places may be loaded, and which may not.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{Claimed, Ground, GroundError, Place, Roots, emulated};
use host::LocalRunner;
use std::path::{Path, PathBuf};
use support::{MIB, Mounted, Partition, mkfs, run};
use testkit::{Exclusive, LoopDevice, exclusive, fresh_dir, is_root};

/// Two volumes of ours, and another device.
struct Scene {
    volumes: [LoopDevice; 2],
    stranger: LoopDevice,
    dir: PathBuf,
    roots: Roots,
    _exclusive: Exclusive,
}

fn scene() -> Option<Scene> {
    if !is_root() {
        println!("skipped: needs root and loop devices");
        return None;
    }
    let exclusive = exclusive();
    let new = |name| LoopDevice::new(128 * MIB, name);
    Some(Scene {
        volumes: [new("ground-a"), new("ground-b")],
        stranger: new("ground-c"),
        dir: fresh_dir("ground"),
        roots: Roots::default(),
        _exclusive: exclusive,
    })
}

impl Scene {
    /// Both volumes, handed over for mkfs and mount.
    fn claimed(&self) -> [Claimed; 2] {
        let claim = |v: &LoopDevice| emulated(&self.roots, &LocalRunner, v.path(), v.backing()).unwrap();
        let claimed = [claim(&self.volumes[0]), claim(&self.volumes[1])];
        claimed.iter().for_each(Claimed::hand_over);
        claimed
    }

    fn mount(&self, device: &Path) -> Mounted {
        Mounted::new(&[device.to_str().unwrap()], &self.dir.join("mnt"))
    }

    fn directory(&self, on: &[&Claimed], path: &Path) -> Result<Ground, GroundError> {
        Ground::directory_on(on, path, &self.roots)
    }

    fn provided(&self, on: &[&Claimed], place: Place) -> Result<Ground, GroundError> {
        Ground::resting_on(on, place, &self.roots)
    }
}

fn elsewhere(result: Result<Ground, GroundError>, on: &str) {
    let error = result.unwrap_err();
    assert!(matches!(error, GroundError::Elsewhere { .. }), "{error:?}");
    assert!(error.to_string().contains(on), "{error} doesn't name {on}");
}

#[test]
fn loop_mount_of_a_claimed_device_is_ground() {
    let Some(scene) = scene() else { return };
    let [a, b] = scene.claimed();
    mkfs("ext4", a.path());
    let mount = scene.mount(a.path());
    let ground = scene.directory(&[&a], mount.path()).unwrap();
    assert_eq!(ground.place(), &Place::Directory(mount.path().to_path_buf()));
    assert_eq!(ground.devices(), [a.path().to_path_buf()]);
    elsewhere(scene.directory(&[&b], mount.path()), &scene.volumes[0].name());
    std::fs::create_dir(mount.path().join("sub")).unwrap();
    let below = scene.directory(&[&a], &mount.path().join("sub")).unwrap_err();
    assert!(matches!(below, GroundError::NotMounted { .. }), "{below}");
}

#[test]
fn loop_directory_with_nothing_mounted_is_no_ground() {
    let Some(scene) = scene() else { return };
    let [a, _b] = scene.claimed();
    mkfs("ext4", a.path());
    let mount = scene.mount(a.path());
    let path = mount.path().to_path_buf();
    drop(mount);
    // The mount point still exists: a load would hit the root file system.
    assert!(path.is_dir());
    for result in [scene.directory(&[&a], &path), scene.provided(&[&a], Place::Directory(path.clone()))] {
        let error = result.unwrap_err();
        assert!(matches!(error, GroundError::NotMounted { .. }), "{error}");
        assert!(error.to_string().contains("file system around it"), "{error}");
    }
    assert!(matches!(scene.directory(&[&a], Path::new("/no/such")), Err(GroundError::Look { .. })));
}

#[test]
fn loop_mount_of_another_device_is_no_ground() {
    let Some(scene) = scene() else { return };
    let [a, b] = scene.claimed();
    mkfs("ext4", scene.stranger.path());
    let mount = scene.mount(scene.stranger.path());
    elsewhere(scene.directory(&[&a, &b], mount.path()), &scene.stranger.name());
    let place = Place::Directory(mount.path().to_path_buf());
    elsewhere(scene.provided(&[&a, &b], place), &scene.stranger.name());
    assert!(scene.directory(&[&a], Path::new("/")).is_err(), "the root file system");
}

#[test]
fn loop_btrfs_is_ground_only_with_all_its_members() {
    let Some(scene) = scene() else { return };
    let [a, b] = scene.claimed();
    run("mkfs.btrfs", &["-q", "-f", "-d", "raid0", a.path().to_str().unwrap(), b.path().to_str().unwrap()]);
    let mount = scene.mount(a.path());
    assert_eq!(scene.directory(&[&a, &b], mount.path()).unwrap().devices().len(), 2);
    elsewhere(scene.directory(&[&a], mount.path()), &scene.volumes[1].name());
    elsewhere(scene.directory(&[&b], mount.path()), &scene.volumes[0].name());
}

#[test]
fn loop_file_system_without_a_device_is_ground_only_for_a_users_program() {
    let Some(scene) = scene() else { return };
    let [a, _b] = scene.claimed();
    let mount = Mounted::new(&["-t", "tmpfs", "diskproof-test"], &scene.dir.join("mnt"));
    elsewhere(scene.directory(&[&a], mount.path()), "tmpfs");
    let ground = scene.provided(&[&a], Place::Directory(mount.path().to_path_buf())).unwrap();
    assert_eq!(ground.place(), &Place::Directory(mount.path().to_path_buf()));
}

#[test]
fn loop_block_device_by_a_users_program_must_rest_on_the_volumes() {
    let Some(scene) = scene() else { return };
    let [a, b] = scene.claimed();
    let block = |path: &Path| Place::Block(path.to_path_buf());
    assert!(scene.provided(&[&a], block(a.path())).is_ok());
    elsewhere(scene.provided(&[&a], block(b.path())), &b.devno().1.to_string());
    elsewhere(scene.provided(&[&a, &b], block(scene.stranger.path())), "7:");
    let over = run("losetup", &["--find", "--show", a.path().to_str().unwrap()]);
    let over = Path::new(over.trim());
    assert!(scene.provided(&[&a, &b], block(over)).is_ok(), "a loop device over a volume");
    elsewhere(scene.provided(&[&b], block(over)), "");
    run("losetup", &["-d", over.to_str().unwrap()]);
    let partition = Partition::new(a.path(), 64);
    assert!(scene.provided(&[&a], block(partition.path())).is_ok(), "a partition of a volume");
    elsewhere(scene.provided(&[&b], block(partition.path())), "");
    assert!(matches!(scene.provided(&[&a], block(Path::new("/dev/null"))), Err(GroundError::Look { .. })));
    assert!(matches!(scene.provided(&[&a], block(&scene.dir)), Err(GroundError::Look { .. })));
}

#[test]
fn loop_root_disk_by_a_users_program_is_no_ground() {
    let Some(scene) = scene() else { return };
    let [a, b] = scene.claimed();
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
    let root = mounts.lines().find(|l| l.split(' ').nth(4) == Some("/")).unwrap();
    let number = root.split(' ').nth(2).unwrap();
    let Ok(uevent) = std::fs::read_to_string(format!("/sys/dev/block/{number}/uevent")) else {
        println!("skipped: this machine's root file system is on no block device");
        return;
    };
    let name = uevent.lines().find_map(|l| l.strip_prefix("DEVNAME=")).unwrap();
    // Nothing is opened: the guard only examines the device. The volumes themselves rest on files on that very disk.
    let place = Place::Block(Path::new("/dev").join(name));
    elsewhere(scene.provided(&[&a, &b], place), "");
}

#[test]
fn loop_claimed_device_is_ground_and_stays_held() {
    let Some(scene) = scene() else { return };
    let [a, _b] = scene.claimed();
    a.recheck(&scene.roots, &LocalRunner).unwrap();
    let ground = Ground::block(&a);
    assert_eq!(ground.place(), &Place::Block(a.path().to_path_buf()));
    assert!(a.is_held(), "asking again takes the exclusive open back");
    let output = std::process::Command::new("mkfs.ext4").args(["-q", "-F"]).arg(a.path()).output().unwrap();
    assert!(!output.status.success(), "somebody else could take it");
}
