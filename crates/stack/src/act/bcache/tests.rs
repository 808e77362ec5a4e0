use super::{COMES_BACK, FormatBcache, Spot, StartBcache, Superblock, flush, readable, release};
use crate::act::device_ref::{DeviceRef, Title};
use crate::act::{Act, Doing, Undoing, Undone};
use crate::error::ActError;
use crate::machine::{Machine, NoHooks};
use host::{CommandFailure, Invocation, Output, Program, Runner, Tool};
use record::id::RunId;
use record::stack::{Bcache, BcacheMode};
use std::fs;
use std::os::unix::fs::{FileExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const SET: &str = "11111111-2222-3333-4444-555555555555";
const OTHER: &str = "66666666-2222-3333-4444-555555555555";
const BACKING: (u32, u32) = (7, 1000);
const CACHE: (u32, u32) = (7, 1001);

fn layer() -> Bcache {
    Bcache {
        cache: "ssd".to_owned(),
        mode: BcacheMode::Writeback,
        block_bytes: Some(4096),
        bucket_bytes: 512 << 10,
        sequential_cutoff_bytes: Some(0),
        writeback_percent: Some(5),
        congested_read_threshold_us: Some(0),
        congested_write_threshold_us: Some(7),
    }
}

/// A machine in a directory: make-bcache is played, and sysfs is a tree of files.
struct Play {
    dir: tempfile::TempDir,
    ran: Mutex<Vec<String>>,
    /// Whether the kernel has no module to load.
    lacks_module: bool,
    /// The mode that the kernel takes, whatever it is told.
    takes: &'static str,
    /// How often udev registers the cache again once it is stopped.
    comes_back: AtomicUsize,
}

impl Play {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for made in ["dev", "proc", "sys/fs/bcache", "sys/block"] {
            fs::create_dir_all(dir.path().join(made)).unwrap();
        }
        for (name, number) in [("loop1000", BACKING), ("loop1001", CACHE)] {
            let disk = dir.path().join("sys/block").join(name);
            fs::create_dir_all(&disk).unwrap();
            fs::write(disk.join("dev"), format!("{}:{}\n", number.0, number.1)).unwrap();
            fs::write(disk.join("stat"), "0 0 0 0 0 0 80 0 0 0 0\n").unwrap();
            let link = dir.path().join(format!("sys/dev/block/{}:{}", number.0, number.1));
            fs::create_dir_all(link.parent().unwrap()).unwrap();
            symlink(&disk, link).unwrap();
            fs::write(dir.path().join("dev").join(name), vec![0; 8192]).unwrap();
        }
        fs::write(dir.path().join("sys/fs/bcache/register_quiet"), "").unwrap();
        Self {
            dir,
            ran: Mutex::new(Vec::new()),
            lacks_module: false,
            takes: "writeback",
            comes_back: AtomicUsize::new(0),
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    fn roots(&self) -> device::Roots {
        let (sys, dev, proc) = (self.at("sys"), self.at("dev"), self.at("proc"));
        device::Roots { sys, dev, proc, ..device::Roots::default() }
    }

    /// Devices that a layer made and that are gone for an undo, so that no program looks at them.
    fn act(&self) -> FormatBcache {
        let device = |name, number| DeviceRef::new(self.at("dev").join(name), number, Title::Made);
        let (backing, cache) = (device("loop1000", BACKING), device("loop1001", CACHE));
        FormatBcache { backing, cache, set: SET.to_owned(), layer: layer() }
    }

    fn spots(&self) -> [Spot; 2] {
        let spot =
            |name: &str, number| Spot { path: self.at("dev").join(name), number, uuid: Some(OTHER.into()) };
        [spot("loop1000", BACKING), spot("loop1001", CACHE)]
    }

    fn registers(&self, name: &str) {
        let dir = self.at("sys/block").join(name).join("bcache");
        fs::create_dir_all(&dir).unwrap();
        let set = self.at("sys/fs/bcache").join(SET);
        if name == "loop1001" {
            fs::create_dir_all(&set).unwrap();
            fs::write(set.join("stop"), "").unwrap();
            fs::write(set.join("bucket_size"), "512.0k\n").unwrap();
            for file in ["congested_read_threshold_us", "congested_write_threshold_us"] {
                fs::write(set.join(file), "").unwrap();
            }
            symlink(&set, dir.join("set")).unwrap();
            return;
        }
        let top = self.at("sys/block/bcache3");
        fs::create_dir_all(top.join("queue")).unwrap();
        fs::write(top.join("queue/logical_block_size"), "4096\n").unwrap();
        fs::write(self.at("dev/bcache3"), "").unwrap();
        let mode = format!("writethrough [{}] none\n", self.takes);
        // A write replaces the first bytes of a file, and the kernel shows a value otherwise than it takes it.
        for (file, text) in [
            ("stop", ""),
            ("detach", ""),
            ("cache_mode", mode.as_str()),
            ("sequential_cutoff", "4.0k\n"),
            ("writeback_percent", ""),
            ("state", "dirty\n"),
            ("dirty_data", "1.2M\n"),
        ] {
            fs::write(dir.join(file), text).unwrap();
        }
        symlink(&top, dir.join("dev")).unwrap();
        symlink(&set, dir.join("cache")).unwrap();
        symlink(&dir, set.join("bdev0")).unwrap();
    }

    /// The kernel closes a cache and its set. While udev registers it again, its directory is never seen gone.
    fn closes(&self, cache: &Path, set: &Path) {
        if self.comes_back.load(Ordering::Relaxed) == 0 {
            fs::remove_dir_all(set).unwrap();
            fs::remove_dir_all(cache).unwrap();
            return;
        }
        self.comes_back.fetch_sub(1, Ordering::Relaxed);
        let fresh = self.at("fresh");
        fs::create_dir(&fresh).unwrap();
        symlink(set, fresh.join("set")).unwrap();
        fs::write(set.join("stop"), "").unwrap();
        let exchange = rustix::fs::RenameFlags::EXCHANGE;
        rustix::fs::renameat_with(rustix::fs::CWD, &fresh, rustix::fs::CWD, cache, exchange).unwrap();
        fs::remove_dir_all(&fresh).unwrap();
    }

    /// The kernel: does what is written to its files, until the test is done.
    fn obeys(&self, done: &AtomicBool) {
        let [backing, cache] =
            ["loop1000", "loop1001"].map(|name| self.at("sys/block").join(name).join("bcache"));
        let set = self.at("sys/fs/bcache").join(SET);
        let says = |file: &Path| fs::read_to_string(file).unwrap_or_default();
        while !done.load(Ordering::Relaxed) {
            // The path of the cache may be overwritten by that of the backing device before anybody looks.
            let register = self.at("sys/fs/bcache/register_quiet");
            let missing =
                [(&cache, "loop1001"), (&backing, "loop1000")].into_iter().find(|(dir, _)| !dir.exists());
            if let (Some((_, name)), false) = (missing, says(&register).is_empty()) {
                self.registers(name);
                fs::write(register, "").unwrap();
            }
            if says(&backing.join("detach")) == "1" {
                let _ = fs::remove_file(backing.join("cache"));
                let _ = fs::remove_file(set.join("bdev0"));
            }
            if says(&backing.join("stop")) == "1" {
                let _ = fs::remove_file(set.join("bdev0"));
                fs::remove_dir_all(&backing).unwrap();
                fs::remove_file(self.at("dev/bcache3")).unwrap();
            }
            if says(&set.join("stop")) == "1" {
                self.closes(&cache, &set);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Runner for Play {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let argv = cmd.argv();
        self.ran.lock().unwrap().push(argv.join(" "));
        match &cmd.program {
            Program::Tool(Tool::Modprobe) if self.lacks_module => {
                let (stdout, stderr) = (String::new(), "not found".to_owned());
                return Err(CommandFailure::Failed { argv, status: 1, stdout, stderr });
            }
            Program::Tool(Tool::Modprobe) => {}
            Program::Tool(Tool::MakeBcache) => {
                for (name, first) in [("loop1000", 0xa0), ("loop1001", 0xb0)] {
                    sign(&self.at("dev").join(name), first, SET);
                }
            }
            _ => panic!("{argv:?}"),
        }
        Ok(Output { stdout: String::new(), stderr: String::new(), argv, status: 0 })
    }
}

/// Writes a superblock with a UUID of this first byte.
fn sign(path: &Path, first: u8, set: &str) {
    let digits: String = set.chars().filter(|c| *c != '-').collect();
    let set: Vec<u8> = (0..16).map(|at| u8::from_str_radix(&digits[at * 2..][..2], 16).unwrap()).collect();
    let mut uuid = [0x0f; 16];
    uuid[0] = first;
    let file = fs::File::options().write(true).open(path).unwrap();
    for (bytes, at) in [(&Superblock::MAGIC[..], 24), (&uuid[..], 40), (&set[..], 56)] {
        file.write_all_at(bytes, Superblock::OFFSET + at).unwrap();
    }
}

fn perform(machine: &Machine<'_>, act: &Act) -> Result<Vec<Vec<String>>, ActError> {
    let (mut progress, mut argv, cancel) = (|_| {}, Vec::new(), AtomicBool::new(false));
    let mut doing = Doing { machine, progress: &mut progress, cancel: &cancel, argv: &mut argv };
    act.perform(&mut doing)?;
    Ok(argv)
}

/// Runs a test beside the kernel.
fn beside_the_kernel<T: Send>(play: &Play, test: impl FnOnce(&Machine<'_>) -> T) -> T {
    let (roots, done) = (play.roots(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| play.obeys(&done));
        let machine = Machine::local(play, &roots, play.dir.path(), &NoHooks);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&machine)));
        done.store(true, Ordering::Relaxed);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

fn format(play: &Play) -> StartBcache {
    let roots = play.roots();
    let machine = Machine::local(play, &roots, play.dir.path(), &NoHooks);
    perform(&machine, &Act::FormatBcache(play.act())).unwrap();
    play.act().start().unwrap()
}

#[test]
fn make_bcache_gets_what_was_asked() {
    let play = Play::new();
    let start = format(&play);
    let (backing, cache) = (play.at("dev/loop1000"), play.at("dev/loop1001"));
    let expected = format!(
        "make-bcache --cset-uuid {SET} --bucket 524288 --block 4096 --cache {} --bdev {}",
        cache.to_str().unwrap(),
        backing.to_str().unwrap()
    );
    assert_eq!(*play.ran.lock().unwrap(), [expected]);
    assert_eq!(start.backing.uuid, "a00f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f");
    assert_eq!(start.cache.uuid, "b00f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f");
    for act in [Act::FormatBcache(play.act()), Act::StartBcache(start)] {
        let line = serde_json::to_string(&act).unwrap();
        assert_eq!(serde_json::to_string(&serde_json::from_str::<Act>(&line).unwrap()).unwrap(), line);
    }
}

#[test]
fn a_kernel_without_bcache_is_asked_for_the_module_before_anything_is_written() {
    let play = Play { lacks_module: true, ..Play::new() };
    fs::remove_dir_all(play.at("sys/fs/bcache")).unwrap();
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let error = perform(&machine, &Act::FormatBcache(play.act())).unwrap_err();
    assert_eq!(error.to_string(), "cannot load the kernel's module bcache");
    assert_eq!(*play.ran.lock().unwrap(), ["modprobe bcache"]);
    let error = play.act().start().unwrap_err();
    assert!(matches!(&error, ActError::Unverified { saw, .. } if saw == "none"), "{error}");
}

#[test]
fn it_is_registered_set_flushed_and_stopped() {
    let play = Play::new();
    let start = format(&play);
    beside_the_kernel(&play, |machine| {
        perform(machine, &Act::StartBcache(start.clone())).unwrap();
        assert_eq!(start.node(machine), Some(play.at("dev/bcache3")));
        // udev may have been faster
        perform(machine, &Act::StartBcache(start.clone())).unwrap();
        let dir = start.dir(machine);
        assert!(dir.join("cache").exists());
        flush(machine, &dir, Duration::from_secs(5)).unwrap();
        assert!(!dir.join("cache").exists() && dir.exists());
        let spots = play.spots();
        for was_there in [true, false] {
            let found = release(machine, SET, [Some(&spots[0]), Some(&spots[1])]).unwrap();
            assert_eq!(found, was_there);
            assert!(!dir.exists() && !play.at("sys/fs/bcache").join(SET).exists());
        }
    });
}

/// The time in which the device is gone is too short to be seen.
#[test]
fn a_cache_that_udev_registers_again_is_stopped_again() {
    for (comes_back, ends) in [(1, true), (3, true), (COMES_BACK, false)] {
        let play = Play { comes_back: AtomicUsize::new(comes_back), ..Play::new() };
        let start = format(&play);
        beside_the_kernel(&play, |machine| {
            perform(machine, &Act::StartBcache(start)).unwrap();
            let spots = play.spots();
            let released = release(machine, SET, [Some(&spots[0]), Some(&spots[1])]);
            assert_eq!(play.comes_back.load(Ordering::Relaxed), 0);
            match released {
                Ok(was_there) => assert!(was_there && ends && !play.at("sys/fs/bcache").join(SET).exists()),
                Err(error) => {
                    assert!(
                        !ends && error.to_string().contains("registered again after each of 20 stops"),
                        "{error}"
                    );
                }
            }
        });
    }
}

#[test]
fn what_the_kernel_does_otherwise_than_asked_is_an_error() {
    let play = Play { takes: "writethrough", ..Play::new() };
    let start = format(&play);
    beside_the_kernel(&play, |machine| match perform(machine, &Act::StartBcache(start)) {
        Err(ActError::Unverified { what, expected, saw }) => {
            assert!(what.starts_with("cache_mode of bcache on"), "{what}");
            assert!(expected == "writeback" && saw.contains("[writethrough]"), "{expected} {saw}");
        }
        other => panic!("{other:?}"),
    });
}

/// Nobody obeys here: every file stays as it is.
#[test]
fn a_write_back_without_progress_ends_with_what_is_left() {
    let play = Play::new();
    play.registers("loop1001");
    play.registers("loop1000");
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let error = flush(&machine, &play.at("sys/block/loop1000/bcache"), Duration::ZERO).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("bcache3: expected flushed and detached, found 1.2M of dirty data"), "{said}");
}

#[test]
fn a_device_in_use_and_caches_of_others_stay() {
    let play = Play::new();
    play.registers("loop1001");
    play.registers("loop1000");
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let [backing, cache] = play.spots();
    let of = |set: &str, backing| release(&machine, set, [backing, Some(&cache)]).unwrap_err();
    let error = of(OTHER, None).to_string();
    assert!(error.contains(&format!("is in the set {SET}")), "{error}");
    let error = of(SET, None).to_string();
    assert!(error.contains("it caches the device 7:1000, too"), "{error}");
    let process = play.at("proc/77/fd");
    fs::create_dir_all(&process).unwrap();
    symlink(play.at("dev/bcache3"), process.join("3")).unwrap();
    let error = of(SET, Some(&backing));
    assert!(matches!(&error, ActError::Busy { holders, .. } if holders.len() == 1), "{error}");
    assert_eq!(fs::read_to_string(play.at("sys/block/loop1000/bcache/stop")).unwrap(), "");
}

#[test]
fn what_carries_no_superblock_of_ours_is_left_alone() {
    let play = Play::new();
    play.registers("loop1001");
    play.registers("loop1000");
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let [backing, _] = play.spots();
    let blank = Spot { uuid: None, ..backing };
    assert!(!release(&machine, SET, [Some(&blank), None]).unwrap());
}

#[test]
fn undone_twice_where_the_devices_are_gone() {
    let play = Play::new();
    let start = format(&play);
    let (roots, run) = (play.roots(), RunId("r".to_owned()));
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let undoing = Undoing { machine: &machine, run: &run, given_up: None, rebooted: false };
    for act in [Act::StartBcache(start), Act::FormatBcache(play.act())] {
        for _ in 0..2 {
            assert_eq!(act.undo(&undoing).unwrap(), Undone::Nothing);
        }
    }
}

#[test]
fn superblocks_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    fs::write(&path, [0; 100]).unwrap();
    assert_eq!(Superblock::read(&path).unwrap(), None, "too small");
    fs::write(&path, [0; 8192]).unwrap();
    assert_eq!(Superblock::read(&path).unwrap(), None);
    sign(&path, 0x7f, SET);
    let uuid = "7f0f0f0f-0f0f-0f0f-0f0f-0f0f0f0f0f0f".to_owned();
    assert_eq!(Superblock::read(&path).unwrap(), Some(Superblock { uuid, set: SET.to_owned() }));
    assert!(Superblock::read(&dir.path().join("none")).is_err());
}

#[test]
fn sizes_are_spelled_as_the_kernel_does() {
    let all = [
        (0, "0.0k"),
        (512, "0.5k"),
        (4096, "4.0k"),
        (512 << 10, "512.0k"),
        (1 << 20, "1.0M"),
        (1000 << 10, "0.9M"),
        (999 << 10, "999.0k"),
        (4 << 20, "4.0M"),
        (5_000_000, "4.7M"),
        (u64::from(u32::MAX), "3.9G"),
    ];
    for (bytes, shown) in all {
        assert_eq!(readable(bytes), shown, "{bytes}");
    }
}
