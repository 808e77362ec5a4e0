//! Stacked file systems, and file systems whose devices are not visible.

use super::{Machine, loop_members, shape};
use crate::topology::{networked, topology};
use record::topology::{Hidden, Topology};
use std::fs::{self, File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Makes files and directories look alike, like one that is visible through the file system above.
fn alike(paths: &[&Path]) {
    let second = fs::metadata(paths[0]).unwrap().modified().unwrap();
    for path in paths {
        File::open(path).unwrap().set_times(FileTimes::new().set_modified(second)).unwrap();
    }
}

/// Makes directories differ.
fn older(path: &Path) {
    let then = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    File::open(path).unwrap().set_times(FileTimes::new().set_modified(then)).unwrap();
}

fn made(directory: PathBuf) -> PathBuf {
    fs::create_dir_all(&directory).unwrap();
    directory
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

fn of(machine: &Machine, path: &Path) -> Topology {
    topology(&machine.roots(), &[], Some(path))
}

fn hidden(found: &Topology) -> Vec<(String, Hidden)> {
    found.unseen.iter().map(|unseen| (unseen.fs_type.clone(), unseen.why)).collect()
}

#[test]
fn an_overlay_is_followed_through_its_upper_layer() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    let host = machine.mount("8:0", "host", "ext4 /dev/xa rw,data=journal");
    let upper = made(host.join("up"));
    let options = format!("rw,lowerdir=/l,upperdir={},workdir=/w", text(&upper));
    let point = machine.mount("0:60", "merged", &format!("overlay overlay {options}"));
    alike(&[&upper, &point]);
    let found = of(&machine, &point.join("not/there/yet"));
    assert_eq!((found.fs_type.as_deref(), shape(&found)), (Some("overlay"), vec![(0, "xa")]));
    assert_eq!(found.deciding_fs(), Some("ext4"));
    assert_eq!(found.deciding_options(), Some("rw,noatime,data=journal"));
    assert_eq!(found.stacked[0].through, ["overlay"]);
    assert!(found.unseen.is_empty() && found.unknown.is_empty() && found.memory().is_none());
}

#[test]
fn an_overlay_over_memory_is_memory_through_another_one_too() {
    let mut machine = Machine::new();
    let shm = machine.mount("0:33", "shm", "tmpfs tmpfs rw");
    let upper = made(shm.join("a b,c"));
    let escaped = text(&upper).replace(' ', r"\040").replace(',', r"\134\054");
    let one = machine.mount("0:60", "one", &format!("overlay overlay rw,lowerdir=/l,upperdir={escaped}"));
    let between = (made(upper.join("up")), made(one.join("up")));
    let two = machine.mount(
        "0:61",
        "two",
        &format!("overlay overlay rw,lowerdir=/l,upperdir={}", text(&between.1)),
    );
    alike(&[&between.0, &between.1, &two]);
    alike(&[&upper, &one]);
    let found = of(&machine, &two);
    assert_eq!((found.deciding_fs(), found.stacked[0].through.len()), (Some("tmpfs"), 2));
    let why = "it lies on tmpfs (through overlay and overlay)";
    assert_eq!((found.memory().as_deref(), found.nodes.len()), (Some(why), 0));
    // a backing file there is in memory too
    fs::write(upper.join("vol.img"), "").unwrap();
    machine.looped("loop7", "7:7", "one/vol.img");
    alike(&[&upper.join("vol.img"), &one.join("vol.img")]);
    let found = machine.of_device("loop7");
    assert_eq!(loop_members(&found, "loop7"), (Some("tmpfs".to_owned()), Vec::new()));
    assert_eq!(found.memory().as_deref(), Some("the backing file of loop7 lies on tmpfs (through overlay)"));
}

#[test]
fn a_path_that_leads_to_another_directory_here_is_not_believed() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    let host = machine.mount("8:0", "host", "ext4 /dev/xa rw");
    // as in a container: the path belongs to the host, and another directory has it here
    let upper = made(host.join("up"));
    let options = format!("overlay overlay rw,lowerdir=/l,upperdir={}", text(&upper));
    let point = machine.mount("0:60", "merged", &options);
    alike(&[&upper, &point]);
    older(&upper);
    let said = |found: &Topology| (shape(found).len(), hidden(found), found.deciding_fs().map(str::to_owned));
    let nothing = (0, vec![("overlay".to_owned(), Hidden::Directory)], Some("overlay".to_owned()));
    assert_eq!(said(&of(&machine, &point)), nothing);
    for other in ["upperdir=/nowhere/up", "upperdir=host/up", "lowerdir=/l"] {
        let point = machine.mount("0:61", "other", &format!("overlay overlay rw,{other}"));
        assert_eq!(said(&of(&machine, &point)), nothing, "{other}");
    }
    let found = of(&machine, &point);
    let said = format!(
        "{}: on overlay, and the directory that it lies on can't be seen from here (as in a container)",
        text(&point)
    );
    assert_eq!(found.unknown, [said]);
}

#[test]
fn an_overlay_that_names_itself_ends() {
    let mut machine = Machine::new();
    let point = machine.mount("0:61", "self", "x x rw");
    let point = machine.mount("0:61", "self", &format!("overlay overlay rw,upperdir={}", text(&point)));
    assert_eq!(hidden(&of(&machine, &point)), [("overlay".to_owned(), Hidden::Depth)]);
}

#[test]
fn a_backing_file_that_nobody_wrote_to_is_in_the_lower_layer_that_has_it() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    let host = machine.mount("8:0", "host", "ext4 /dev/xa rw");
    let shm = machine.mount("0:33", "shm", "tmpfs tmpfs rw");
    let (upper, low, lower) = (made(shm.join("up")), made(host.join("low")), made(host.join("lo:w")));
    let escaped = text(&lower).replace(':', r"\134:");
    let options = format!("rw,lowerdir={}:{escaped},upperdir={}", text(&low), text(&upper));
    let point = machine.mount("0:60", "merged", &format!("overlay overlay {options}"));
    let backing = machine.looped("loop7", "7:7", "merged/vol.img");
    fs::write(lower.join("vol.img"), "").unwrap();
    alike(&[&lower.join("vol.img"), &backing]);
    alike(&[&upper, &point]);
    let found = machine.of_device("loop7");
    assert_eq!(loop_members(&found, "loop7"), (Some("ext4".to_owned()), vec!["xa".to_owned()]));
    // after copy-up, the file is in the upper layer
    fs::write(upper.join("vol.img"), "").unwrap();
    alike(&[&upper.join("vol.img"), &backing]);
    let found = machine.of_device("loop7");
    assert_eq!(loop_members(&found, "loop7"), (Some("tmpfs".to_owned()), Vec::new()));
    // a directory that only lower layers have gets new files in the upper one
    let (lower, dir) = (made(low.join("dir")), made(point.join("dir")));
    alike(&[&upper, &point]);
    alike(&[&lower, &dir]);
    assert_eq!(of(&machine, &dir).deciding_fs(), Some("tmpfs"));
    // a directory that neither layer has is not the visible one
    let lent = made(point.join("lent"));
    alike(&[&upper, &point]);
    assert_eq!(hidden(&of(&machine, &lent)), [("overlay".to_owned(), Hidden::Directory)]);
}

#[test]
fn a_part_of_an_overlay_that_is_mounted_elsewhere_lies_where_all_of_it_lies() {
    let mut machine = Machine::new();
    let shm = machine.mount("0:33", "shm", "tmpfs tmpfs rw");
    let upper = made(shm.join("up/part"));
    let line = format!("overlay overlay rw,lowerdir=/l,upperdir={}/up", text(&shm));
    let point = machine.mount("0:60", "bound", &line);
    let mounts = fs::read_to_string(machine.roots().proc.join("self/mountinfo")).unwrap();
    machine.put("proc/self/mountinfo", &mounts.replace("0:60 /", "0:60 /part"));
    alike(&[&upper, &point]);
    assert_eq!(of(&machine, &point).memory().as_deref(), Some("it lies on tmpfs (through overlay)"));
}

#[test]
fn ecryptfs_lies_on_its_lower_directory() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0");
    let host = machine.mount("8:0", "host", "ext4 /dev/xa rw");
    let lower = made(host.join("Private"));
    // the names of its files are encrypted
    let line = format!("ecryptfs {} rw,ecryptfs_sig=0123,ecryptfs_cipher=aes", text(&lower));
    let point = machine.mount("0:62", "home", &line);
    let inside = made(point.join("dir"));
    alike(&[&lower, &point]);
    let found = of(&machine, &inside);
    assert_eq!((found.deciding_fs(), shape(&found)), (Some("ext4"), vec![(0, "xa")]));
    older(&lower);
    assert_eq!(hidden(&of(&machine, &inside)), [("ecryptfs".to_owned(), Hidden::Directory)]);
}

#[test]
fn no_word_of_whoever_mounted_it_is_taken_for_a_device() {
    // every source ends like the name of an existing disk
    let silent = [
        ("fuse.sshfs", "host:/srv/xa", "rw", Hidden::Program, "FUSE (sshfs)"),
        ("fuse", "/srv/xa", "rw", Hidden::Program, "FUSE (`/srv/xa`)"),
        ("fuse.mergerfs", "a/xa:b/xa", "rw", Hidden::Program, "FUSE (mergerfs)"),
        ("fuse.fuse2fs", "/dev/xa", "rw", Hidden::Program, "FUSE (fuse2fs)"),
        ("virtiofs", "xa", "rw", Hidden::Host, "virtiofs"),
        ("9p", "xa", "rw,trans=virtio", Hidden::Host, "9p"),
        ("9p", "xa", "rw,trans=tcp", Hidden::Silent, "9p"),
        ("nfs4", "server:/export/xa", "rw", Hidden::Silent, "nfs4"),
        ("cifs", "//server/xa", "rw", Hidden::Silent, "cifs"),
        ("aufs", "xa", "rw,si=1", Hidden::Silent, "aufs"),
        ("zfs", "xa", "rw", Hidden::Silent, "zfs"),
    ];
    for (fs_type, source, options, why, name) in silent {
        let mut machine = Machine::new();
        machine.device("xa", "8:0");
        let point = machine.mount("0:70", "mnt", &format!("{fs_type} {source} {options}"));
        let found = of(&machine, &point);
        assert_eq!(shape(&found), [], "{fs_type}");
        assert_eq!(hidden(&found), [(fs_type.to_owned(), why)]);
        let unseen = found.unseen_ground().unwrap();
        assert_eq!(unseen.name(), name);
        assert!(unseen.to_string().starts_with(&format!("on {name}")), "{unseen}");
        // for a backing file, the result has the loop device's name
        machine.looped("loop7", "7:7", "mnt/vol.img");
        let found = machine.of_device("loop7");
        assert_eq!(shape(&found), [(0, "loop7")], "{fs_type}");
        assert_eq!(found.unseen[0].device.as_deref(), Some("loop7"));
        assert!(found.unseen_ground().is_none());
    }
}

#[test]
fn a_device_of_fuse_that_the_kernel_knows_by_number_is_followed() {
    let mut machine = Machine::new();
    machine.device("xa", "8:0").device("xa/xa1", "8:1").device("xb", "8:16");
    let point = machine.mount("8:1", "mnt", "fuseblk /dev/xb rw,user_id=0,blksize=4096");
    let found = of(&machine, &point);
    assert_eq!((shape(&found), hidden(&found)), (vec![(0, "xa1"), (1, "xa")], Vec::new()));
    // and so does a compressed image on a loop device
    machine.mount("8:0", "host", "ext4 /dev/xa rw");
    machine.looped("loop7", "7:7", "host/image");
    let point = machine.mount("7:7", "image", "squashfs /dev/loop7 ro");
    assert_eq!(shape(&of(&machine, &point)), [(0, "loop7"), (1, "xa")]);
}

#[test]
fn an_overlay_over_what_cannot_be_seen_names_that() {
    let mut machine = Machine::new();
    let served = machine.mount("0:70", "served", "fuse.sshfs host:/srv rw");
    let upper = made(served.join("up"));
    let point = machine.mount("0:60", "merged", &format!("overlay overlay rw,upperdir={}", text(&upper)));
    alike(&[&upper, &point]);
    let found = of(&machine, &point);
    assert_eq!((found.deciding_fs(), found.fs_type.as_deref()), (Some("fuse.sshfs"), Some("overlay")));
    assert_eq!(hidden(&found), [("fuse.sshfs".to_owned(), Hidden::Program)]);
    assert!(networked(&machine.roots(), &found));
}
