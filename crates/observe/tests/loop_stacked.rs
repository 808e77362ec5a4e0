//! Stacked file systems on this machine: the devices under them are found, or reported as not visible. Needs root.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed, as it should")]

use diskproof_observe::{Roots, topology};
use record::topology::{BlockKind, Hidden, Topology};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::{LoopDevice, exclusive, fresh_dir, is_root};

fn skipped() -> bool {
    if !is_root() {
        eprintln!("skipped: needs root");
    }
    !is_root()
}

/// A directory with mounts in it, which are unmounted in reverse order.
struct Bench {
    dir: PathBuf,
    mounted: Vec<PathBuf>,
}

impl Bench {
    fn new(name: &str) -> Self {
        testkit::cleanup();
        Self { dir: fresh_dir(name), mounted: Vec::new() }
    }

    fn dir(&self, name: &str) -> PathBuf {
        let dir = self.dir.join(name);
        fs::create_dir_all(&dir).unwrap();
        dir
    }

    fn mount(&mut self, what: &[&str], name: &str) -> PathBuf {
        let point = self.dir(name);
        run("mount", &[what, &[&text(&point)]].concat());
        self.mounted.push(point.clone());
        point
    }

    /// Mounts an overlay with its upper layer in a directory.
    fn overlay(&mut self, upper: &Path, name: &str) -> PathBuf {
        let (low, work) = (self.dir(&format!("{name}-low")), upper.with_extension("work"));
        for dir in [upper, &work] {
            fs::create_dir_all(dir).unwrap();
        }
        // mount(8) accepts a comma only with a backslash before it
        let escaped = |path: &Path| text(path).replace(',', r"\,");
        let options =
            format!("lowerdir={},upperdir={},workdir={}", text(&low), escaped(upper), escaped(&work));
        self.mount(&["-t", "overlay", "overlay", "-o", &options], name)
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        while let Some(point) = self.mounted.pop() {
            let _ = Command::new("umount").arg(&point).status();
        }
        testkit::cleanup();
    }
}

fn run(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

fn under(path: &Path) -> Topology {
    topology(&Roots::default(), &[], Some(path))
}

/// Creates a directory like the sub-directory of an existing directory.
fn lent(point: &Path) -> PathBuf {
    let dir = point.join("diskproof-test-lent");
    fs::create_dir(&dir).unwrap();
    dir
}

#[test]
fn loop_overlays_on_memory_are_memory() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-memory");
    let tmpfs = bench.mount(&["-t", "tmpfs", "tmpfs"], "tmpfs");
    let one = bench.overlay(&tmpfs.join("a b,c"), "one");
    let bound = bench.mount(&["--bind", &text(&tmpfs)], "bound");
    let part = bench.mount(&["--bind", &text(&lent(&one))], "part");
    let expected = [
        (lent(&bound), "it is a tmpfs"),
        (one.join("diskproof-test-lent"), "it lies on tmpfs (through overlay)"),
        (part, "it lies on tmpfs (through overlay)"),
        (one.join("not/there/yet"), "it lies on tmpfs (through overlay)"),
        (one.clone(), "it lies on tmpfs (through overlay)"),
    ];
    for (path, why) in expected {
        let found = under(&path);
        assert_eq!(found.memory().as_deref(), Some(why), "{found:?}");
        assert!(found.nodes.is_empty() && found.unseen.is_empty() && found.unknown.is_empty(), "{found:?}");
    }
}

#[test]
fn loop_overlays_and_binds_on_a_disk_are_followed_to_it() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-disk");
    let device = LoopDevice::new(64 << 20, "stacked-disk");
    run("mkfs.ext4", &["-q", &text(device.path())]);
    let ext4 = bench.mount(&[&text(device.path())], "ext4");
    let one = bench.overlay(&ext4.join("up"), "one");
    fs::create_dir(bench.dir("one-low").join("only-lower")).unwrap();
    let bound = bench.mount(&["--bind", &text(&one)], "bound");
    let places = [lent(&ext4), lent(&one), bound.join("only-lower"), lent(&bound.join("only-lower"))];
    for path in places {
        let found = under(&path);
        let direct: Vec<&str> = found.direct().map(|node| node.name.as_str()).collect();
        assert_eq!((direct, found.deciding_fs()), (vec![device.name().as_str()], Some("ext4")), "{found:?}");
        assert!(found.memory().is_none() && found.unseen.is_empty(), "{found:?}");
    }
    drop(bench);
}

#[test]
fn loop_what_is_mounted_over_an_upper_layer_is_not_taken_for_it() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-hidden");
    let tmpfs = bench.mount(&["-t", "tmpfs", "tmpfs"], "tmpfs");
    let one = bench.overlay(&tmpfs.join("up"), "one");
    // the path now leads to the disk with the test's files, where directories have the same names
    let other = bench.dir("other");
    fs::create_dir_all(other.join("up")).unwrap();
    bench.mount(&["--bind", &text(&other)], "tmpfs");
    let found = under(&lent(&one));
    assert!(found.nodes.is_empty() && found.memory().is_none(), "{found:?}");
    assert_eq!(found.unseen_ground().unwrap().why, Hidden::Directory);
}

#[test]
fn loop_a_backing_file_is_where_the_overlay_has_it() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-backing");
    let tmpfs = bench.mount(&["-t", "tmpfs", "tmpfs"], "tmpfs");
    let low = bench.dir("under-low");
    fs::write(low.join("low.img"), vec![0; 1 << 20]).unwrap();
    let under_it = bench.overlay(&tmpfs.join("under-up"), "under");
    fs::write(under_it.join("between.img"), vec![0; 1 << 20]).unwrap();
    // the kernel accepts an overlay only as a lower layer of another one
    bench.mount(&["--bind", &text(&under_it)], "one-low");
    let one = bench.overlay(&tmpfs.join("up"), "one");
    fs::write(one.join("up.img"), vec![0; 1 << 20]).unwrap();
    let fs_of = |file: &str| {
        let shown = run("losetup", &["--find", "--show", "--read-only", &text(&one.join(file))]);
        let device = PathBuf::from(shown.trim());
        let found = topology(&Roots::default(), std::slice::from_ref(&device), None);
        run("losetup", &["-d", &text(&device)]);
        let BlockKind::Loop { backing_fs, .. } = &found.nodes[0].kind else { panic!("{found:?}") };
        (backing_fs.clone().unwrap(), found.memory().is_some())
    };
    assert_eq!(fs_of("up.img"), ("tmpfs".to_owned(), true));
    assert_eq!(fs_of("between.img"), ("tmpfs".to_owned(), true));
    // through two overlays to the disk with the test's files
    let below = under(&low);
    let below_fs = below.deciding_fs().unwrap().to_owned();
    assert_eq!(fs_of("low.img"), (below_fs, below.memory().is_some()));
}

#[test]
fn loop_fuse_is_named_and_its_words_are_no_device() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-fuse");
    let device = LoopDevice::new(64 << 20, "stacked-fuse");
    // the served directory has the name of a disk
    let served = bench.dir(&device.name());
    let point = bench.dir("fuse");
    run("bindfs", &[&text(&served), &text(&point)]);
    bench.mounted.push(point.clone());
    let found = under(&lent(&point));
    assert!(found.nodes.is_empty(), "{found:?}");
    let unseen = found.unseen_ground().unwrap();
    assert_eq!(unseen.why, Hidden::Program);
    assert!(unseen.to_string().starts_with("on FUSE ("), "{unseen}");
}

#[test]
fn loop_fuse_over_a_block_device_shows_it() {
    if skipped() {
        return;
    }
    let _machine = exclusive();
    let mut bench = Bench::new("stacked-ntfs");
    let device = LoopDevice::new(64 << 20, "stacked-ntfs");
    run("mkntfs", &["--quiet", "--fast", "--force", &text(device.path())]);
    let point = bench.dir("ntfs");
    run("mount.ntfs-3g", &[&text(device.path()), &text(&point)]);
    bench.mounted.push(point.clone());
    let found = under(&lent(&point));
    let direct: Vec<&str> = found.direct().map(|node| node.name.as_str()).collect();
    assert_eq!((direct, found.fs_type.as_deref()), (vec![device.name().as_str()], Some("fuseblk")));
    assert!(found.unseen.is_empty(), "{found:?}");
    drop(bench);
}
