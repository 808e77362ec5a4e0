//! `diskproof claim` of a disk with data but without a signature. The disk is a loop device. In the program's own mount namespace, a
//! copy with a serial number covers the device's directory in sysfs.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

use record::printable::Shown as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use testkit::{Exclusive, LoopDevice, exclusive, fresh_dir, is_root};

const MIB: u64 = 1 << 20;
const SERIAL: &str = "TEST1";

struct Bench {
    disk: LoopDevice,
    dir: PathBuf,
    state: PathBuf,
    _machine: Exclusive,
}

fn start() -> Option<Bench> {
    if !is_root() {
        println!("skipped: needs root and loop devices");
        return None;
    }
    let machine = exclusive();
    let dir = fresh_dir("claim");
    let disk = LoopDevice::new(64 * MIB, "claim-disk");
    let bench = Bench { state: dir.join("a/state"), disk, dir, _machine: machine };
    bench.cover();
    Some(bench)
}

impl Bench {
    fn sys(&self) -> PathBuf {
        fs::canonicalize(Path::new("/sys/class/block").join(self.disk.name())).unwrap()
    }

    /// Copies the files that the guard reads, and adds a serial number.
    fn cover(&self) {
        let cover = self.dir.join("cover");
        for folder in ["holders", "slaves", "loop"] {
            fs::create_dir_all(cover.join(folder)).unwrap();
        }
        for file in ["dev", "size", "ro", "uevent", "diskseq", "loop/backing_file"] {
            fs::copy(self.sys().join(file), cover.join(file)).unwrap();
        }
        fs::write(cover.join("serial"), SERIAL).unwrap();
    }

    /// A command line under which the program sees the disk with its serial number. With this umask, the state directory once was
    /// world-writable.
    fn line(&self, rest: &str) -> String {
        let (cover, sys) = (self.dir.join("cover"), self.sys());
        let program = assert_cmd::cargo::cargo_bin!("diskproof");
        let (program, state) = (program.shown(), self.state.shown());
        let bind = format!("mount --bind {} {}", cover.shown(), sys.shown());
        format!("unshare -m sh -c '{bind} && umask 000 && exec {program} --state {state} {rest}'")
    }

    fn claim(&self, options: &str) -> Output {
        let line = self.line(&format!("claim {} {options}", self.disk.path().shown()));
        Command::new("sh").args(["-c", &line]).stdin(Stdio::null()).output().unwrap()
    }

    fn fill(&self, blocks: impl Iterator<Item = u64>) {
        let device = fs::File::options().write(true).open(self.disk.path()).unwrap();
        blocks.for_each(|block| device.write_all_at(&[0x42; 4096], block * 4096).unwrap());
        device.sync_all().unwrap();
    }

    fn book(&self) -> serde_json::Value {
        serde_json::from_str(&fs::read_to_string(self.state.join("claims.json")).unwrap()).unwrap()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn text(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn says(output: &Output, words: &[&str]) {
    let text = text(output);
    words.iter().for_each(|word| assert!(text.contains(word), "{word} isn't said: {text}"));
}

#[test]
fn loop_claim_of_a_disk_with_unsigned_data_wants_a_confirmation_of_its_own() {
    let Some(bench) = start() else { return };
    // A quarter of it holds data, without any signature.
    bench.fill((0..16384).filter(|block| block % 4 == 3));
    let refused = bench.claim(&format!("--yes-i-own {SERIAL}"));
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    says(
        &refused,
        &["of a sample of 4096 blocks of 4 KiB hold data (2", "nothing was claimed", "--overwrite-data"],
    );
    assert!(!bench.state.exists(), "nothing was claimed, and yet something was made");
    let wrong = bench.claim("--yes-i-own ANOTHER --overwrite-data");
    assert!(wrong.status.code() == Some(2) && !bench.state.exists(), "{}", text(&wrong));

    let claimed = bench.claim(&format!("--yes-i-own {SERIAL} --overwrite-data"));
    assert!(claimed.status.success(), "{}", text(&claimed));
    says(&claimed, &["claimed: ", "hold data (2"]);
    let claim = &bench.book()["claims"][0];
    assert_eq!(claim["overwrite_data"], true);
    let (read, data) = (&claim["sample"]["read_blocks"], claim["sample"]["data_blocks"].as_u64().unwrap());
    assert!(*read == 4096 && (900..1150).contains(&data), "{claim}");
    let line = bench.line("devices");
    let listed = Command::new("sh").args(["-c", &line]).output().unwrap();
    says(&listed, &["data: ", "of a sample of 128 blocks of 4 KiB hold data"]);
}

#[test]
fn loop_claim_of_a_blank_disk_needs_no_more_than_before_and_nothing_is_wide_open() {
    let Some(bench) = start() else { return };
    let claimed = bench.claim(&format!("--yes-i-own {SERIAL}"));
    assert!(claimed.status.success(), "{}", text(&claimed));
    says(&claimed, &["none of a sample of 4096 blocks of 4 KiB holds data; at most 0.07 % of the disk does"]);
    assert!(bench.book()["claims"][0].get("overwrite_data").is_none(), "{}", bench.book());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    for (name, allowed) in
        [("a", 0o755), ("a/state", 0o755), ("a/state/claims.json", 0o644), ("a/state/claims.lock", 0o600)]
    {
        assert_eq!(mode(&bench.dir.join(name)), allowed, "{name}, whatever the umask");
    }
    // A claim isn't enough if the disk is full of data by now.
    bench.fill(0..16384);
    let refused = bench.claim(&format!("--yes-i-own {SERIAL}"));
    assert!(!refused.status.success(), "{}", text(&refused));
    says(&refused, &["4096 of a sample of 4096 blocks of 4 KiB hold data (100 %)"]);
}

/// Who claims a mounted disk may mean another one. Nothing is asked, and nothing is read.
#[test]
fn loop_claim_of_a_mounted_disk_says_what_is_mounted_and_what_to_do() {
    let Some(bench) = start() else { return };
    let (device, mount) = (bench.disk.path().to_owned(), bench.dir.join("mnt"));
    fs::create_dir(&mount).unwrap();
    let run = |program: &str, args: &[&std::ffi::OsStr]| {
        let output = Command::new(program).args(args).output().unwrap();
        assert!(output.status.success(), "{program}: {}", text(&output));
    };
    run("mkfs.ext4", &["-q".as_ref(), device.as_os_str()]);
    run("mount", &[device.as_os_str(), mount.as_os_str()]);
    let refused = bench.claim(&format!("--yes-i-own {SERIAL} --overwrite-data"));
    run("umount", &[mount.as_os_str()]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused));
    let mounted = format!("is mounted at {} (ext4)", mount.shown());
    says(&refused, &["nothing was claimed", &mounted, &format!("umount {}", mount.shown())]);
    assert!(!text(&refused).contains("of a sample of"), "{}", text(&refused));
    assert!(!bench.state.exists(), "nothing was claimed, and yet something was made");
    let claimed = bench.claim(&format!("--yes-i-own {SERIAL} --overwrite-data"));
    assert!(claimed.status.success(), "{}", text(&claimed));
}

/// On a terminal there are two questions, and the second one decides.
#[test]
fn loop_at_a_terminal_the_second_question_is_about_the_data() {
    let Some(bench) = start() else { return };
    bench.fill(0..16384);
    for (second, claims) in [("yes", false), ("overwrite", true)] {
        // script(1) gives it a terminal.
        let mut child = Command::new("script")
            .args(["-qec", &bench.line(&format!("claim {}", bench.disk.path().shown())), "/dev/null"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut typed = child.stdin.take().unwrap();
        typed.write_all(format!("{SERIAL}\n{second}\n").as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        drop(typed);
        says(&output, &["ERASE EVERYTHING", "type `overwrite`"]);
        assert_eq!(bench.state.join("claims.json").exists(), claims, "{second}: {}", text(&output));
    }
}

#[test]
fn loop_who_vouches_for_unseen_processes_is_told_what_that_means() {
    let Some(bench) = start() else { return };
    let claimed = bench.claim(&format!("--yes-i-own {SERIAL} --unseen-processes"));
    assert!(claimed.status.success(), "{}", text(&claimed));
    says(&claimed, &["you vouch for processes that diskproof can't see"]);
    assert_eq!(bench.book()["claims"][0]["unseen_processes"], true);
}
