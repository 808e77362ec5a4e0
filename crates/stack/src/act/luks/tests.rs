use super::{FormatLuks, InForce, Key, OpenLuks, flags};
use crate::act::device_ref::{DeviceRef, Title};
use crate::act::{Act, Doing, Undoing, Undone};
use crate::error::ActError;
use crate::machine::{Machine, NoHooks};
use host::{CommandFailure, Invocation, Output, Program, Runner, Tool};
use record::id::RunId;
use record::stack::Luks;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

const UUID: &str = "3f8c1b2a-0d4e-4f6a-9b7c-1234567890ab";
const DM_UUID: &str = "CRYPT-LUKS2-3f8c1b2a0d4e4f6a9b7c1234567890ab-diskproof-r-2";
const NAME: &str = "diskproof-r-2";
/// Of the device below.
const BELOW: (u32, u32) = (7, 1000);

fn asked() -> Luks {
    Luks {
        cipher: Luks::CIPHER.to_owned(),
        key_bits: 512,
        sector_bytes: 4096,
        no_read_workqueue: true,
        no_write_workqueue: true,
    }
}

/// What the kernel says of this.
fn table(layer: &Luks) -> String {
    let size = Some(format!("sector_size:{}", layer.sector_bytes)).filter(|_| layer.sector_bytes != 512);
    let options: Vec<String> = flags(layer).map(str::to_owned).chain(size).collect();
    let count = Some(options.len().to_string()).filter(|_| !options.is_empty());
    let options: Vec<String> = count.into_iter().chain(options).collect();
    let key = format!(":{}:logon:cryptsetup:{UUID}-d0", layer.key_bits / 8);
    format!("0 98304 crypt {} {key} 0 7:1000 32768 {}\n", layer.cipher, options.join(" "))
}

/// An argument vector, and what was given to its stdin.
type Ran = (Vec<String>, Option<Vec<u8>>);

/// A machine in a directory: cryptsetup and dmsetup are played, device-mapper is a tree of files.
struct Play {
    dir: tempfile::TempDir,
    /// What was run.
    ran: Mutex<Vec<Ran>>,
    /// What the kernel says it does; `None`: what was asked.
    does: Option<Luks>,
    /// The program of this number fails.
    fails: Option<usize>,
}

impl Play {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("dev/mapper")).unwrap();
        fs::create_dir_all(dir.path().join("sys/block")).unwrap();
        let noise: Vec<u8> = (0..64).map(|i| i * 3 + 5).collect();
        fs::write(dir.path().join("dev/urandom"), noise).unwrap();
        let play = Self { dir, ran: Mutex::new(Vec::new()), does: None, fails: None };
        play.numbered("loop1000", "7:1000");
        play.numbered("sda2", "8:2");
        play
    }

    fn sys(&self) -> PathBuf {
        self.dir.path().join("sys")
    }

    fn numbered(&self, name: &str, number: &str) {
        let dir = self.sys().join("class/block").join(name);
        fs::create_dir_all(&dir).unwrap();
        fs::write(dir.join("dev"), format!("{number}\n")).unwrap();
    }

    fn map(&self, name: &str, uuid: &str, below: &[&str], sectors: u64) {
        let dir = self.sys().join("block/dm-4");
        fs::create_dir_all(dir.join("dm")).unwrap();
        fs::write(dir.join("dm/name"), format!("{name}\n")).unwrap();
        fs::write(dir.join("dm/uuid"), format!("{uuid}\n")).unwrap();
        fs::write(dir.join("size"), format!("{sectors}\n")).unwrap();
        below.iter().for_each(|name| fs::create_dir_all(dir.join("slaves").join(name)).unwrap());
        fs::write(self.dir.path().join("dev/mapper").join(name), "").unwrap();
    }

    fn roots(&self) -> device::Roots {
        device::Roots { sys: self.sys(), dev: self.dir.path().join("dev"), ..device::Roots::default() }
    }

    fn has_mapping(&self) -> bool {
        let node = self.dir.path().join("dev/mapper").join(NAME);
        self.sys().join("block/dm-4").exists() || node.exists()
    }

    fn argvs(&self) -> Vec<String> {
        self.ran.lock().unwrap().iter().map(|(argv, _)| argv.join(" ")).collect()
    }
}

impl Runner for Play {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let argv = cmd.argv();
        let mut ran = self.ran.lock().unwrap();
        let number = ran.len();
        ran.push((argv.clone(), cmd.stdin.clone()));
        drop(ran);
        if self.fails == Some(number) {
            return Err(CommandFailure::Failed {
                argv,
                status: 1,
                stdout: String::new(),
                stderr: String::new(),
            });
        }
        let stdout = match (&cmd.program, argv[1].as_str()) {
            (Program::Tool(Tool::Cryptsetup), "luksFormat") => String::new(),
            (Program::Tool(Tool::Cryptsetup), "open") => {
                self.map(argv.last().unwrap(), DM_UUID, &["loop1000"], 98304);
                String::new()
            }
            (Program::Tool(Tool::Cryptsetup), "close") | (Program::Tool(Tool::Dmsetup), "remove") => {
                fs::remove_dir_all(self.sys().join("block/dm-4")).unwrap();
                String::new()
            }
            (Program::Tool(Tool::Dmsetup), "table") => table(&self.does.clone().unwrap_or_else(asked)),
            _ => panic!("{argv:?}"),
        };
        Ok(Output { stdout, stderr: String::new(), argv, status: 0 })
    }
}

/// A device that a layer made and that is gone, so that nothing on it is looked at.
fn device() -> DeviceRef {
    DeviceRef::new(PathBuf::from("/no/device"), BELOW, Title::Made)
}

fn acts(machine: &Machine<'_>) -> [Act; 2] {
    let key = Key::random(machine).unwrap();
    let (device, uuid, layer) = (device(), UUID.to_owned(), asked());
    [
        Act::FormatLuks(FormatLuks {
            device: device.clone(),
            uuid: uuid.clone(),
            layer: layer.clone(),
            key: key.clone(),
        }),
        Act::OpenLuks(OpenLuks { name: NAME.to_owned(), device, uuid, layer, key }),
    ]
}

/// Both acts; where one fails, the next is not begun.
fn perform(machine: &Machine<'_>) -> Result<Vec<Vec<String>>, ActError> {
    let (mut progress, mut argv, cancel) = (|_| {}, Vec::new(), AtomicBool::new(false));
    for act in acts(machine) {
        let mut doing = Doing { machine, progress: &mut progress, cancel: &cancel, argv: &mut argv };
        act.perform(&mut doing)?;
    }
    Ok(argv)
}

fn open(name: &str) -> OpenLuks {
    let (name, uuid) = (name.to_owned(), UUID.to_owned());
    OpenLuks { name, device: device(), uuid, layer: asked(), key: Key::default() }
}

fn close(machine: &Machine<'_>, name: &str, run: &str) -> Result<Undone, ActError> {
    let run = RunId(run.to_owned());
    let undoing = Undoing { machine, run: &run, given_up: None, rebooted: false };
    open(name).close(&undoing, Some(BELOW))
}

#[test]
fn cryptsetup_gets_what_was_asked_and_the_key_on_stdin_only() {
    let play = Play::new();
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    let recorded = perform(&machine).unwrap();
    let expected = [
        "cryptsetup luksFormat --type luks2 --batch-mode --uuid 3f8c1b2a-0d4e-4f6a-9b7c-1234567890ab \
         --cipher=aes-xts-plain64 --key-size 512 --sector-size 4096 --pbkdf pbkdf2 --pbkdf-force-iterations 1000 \
         --key-file - /no/device",
        "cryptsetup open --type luks2 --key-file - --perf-no_read_workqueue --perf-no_write_workqueue /no/device \
         diskproof-r-2",
        "dmsetup table diskproof-r-2",
    ];
    assert_eq!(play.argvs(), expected);
    assert_eq!(recorded.iter().map(|argv| argv.join(" ")).collect::<Vec<_>>(), expected[..2]);
    let key = fs::read(play.dir.path().join("dev/urandom")).unwrap();
    let given: Vec<_> = play.ran.lock().unwrap().iter().map(|(_, stdin)| stdin.clone()).collect();
    assert_eq!(given, [Some(key.clone()), Some(key.clone()), None]);
    for act in acts(&machine) {
        let line = serde_json::to_string(&act).unwrap();
        assert!(!line.contains("key\"") && line.contains("key_bits"), "{line}");
        let shown = format!("{act:?}");
        assert!(!line.contains("5,8,11") && !shown.contains("5, 8, 11"), "{line} {shown}");
        let back: Act = serde_json::from_str(&line).unwrap();
        assert_eq!(serde_json::to_string(&back).unwrap(), line);
    }
}

#[test]
fn what_the_kernel_does_otherwise_than_asked_is_an_error() {
    let differing = [
        (Luks { cipher: "aes-cbc-essiv:sha256".to_owned(), ..asked() }, "aes-cbc-essiv:sha256"),
        (Luks { key_bits: 256, ..asked() }, "256 bits"),
        (Luks { sector_bytes: 512, ..asked() }, "512 bytes"),
        (Luks { no_read_workqueue: false, ..asked() }, "4096 bytes, no_write_workqueue"),
        (Luks { no_write_workqueue: false, ..asked() }, "4096 bytes, no_read_workqueue"),
    ];
    for (does, named) in differing {
        let play = Play { does: Some(does), ..Play::new() };
        let roots = play.roots();
        let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
        match perform(&machine) {
            Err(ActError::Unverified { expected, saw, .. }) => {
                let all = "aes-xts-plain64 with a key of 512 bits in sectors of 4096 bytes, no_read_workqueue, \
                           no_write_workqueue";
                assert_eq!(expected, all);
                assert!(saw.contains(named), "{saw}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(close(&machine, NAME, "r").unwrap(), Undone::Done, "and it is closed");
    }
}

#[test]
fn tables_of_dm_crypt_are_read() {
    let plain = Luks { sector_bytes: 512, no_read_workqueue: false, no_write_workqueue: false, ..asked() };
    for layer in [asked(), plain.clone(), Luks { key_bits: 256, ..plain.clone() }] {
        let found = InForce::of(&table(&layer));
        assert_eq!(found, Some(InForce { layer, discards: false }));
    }
    // without the keyring dmsetup shows zeros in place of the key
    let digits = format!("0 8 crypt aes-xts-plain64 {} 0 7:0 32768 1 allow_discards\n", "0".repeat(128));
    assert_eq!(InForce::of(&digits), Some(InForce { layer: plain, discards: true }));
    for other in ["", "0 8 linear 7:0 0\n", "0 8 crypt aes-xts-plain64\n", "0 8 crypt a :x:logon:k 0 7:0 0\n"]
    {
        assert_eq!(InForce::of(other), None, "{other:?}");
    }
    assert_eq!(InForce::of(&table(&asked()).repeat(2)), None, "one table is one line");
}

#[test]
fn whatever_fails_is_undone_and_undone_again() {
    for fails in 0..3 {
        let play = Play { fails: Some(fails), ..Play::new() };
        let (roots, run) = (play.roots(), RunId("r".to_owned()));
        let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
        perform(&machine).unwrap_err();
        assert_eq!(play.has_mapping(), fails == 2, "{fails}");
        let undoing = Undoing { machine: &machine, run: &run, given_up: None, rebooted: false };
        for again in [false, true] {
            let done = close(&machine, NAME, "r").unwrap();
            let something = fails == 2 && !again;
            assert_eq!(done, if something { Undone::Done } else { Undone::Nothing }, "{fails} {again}");
            assert!(!play.has_mapping());
            let [format, _] = acts(&machine);
            assert_eq!(format.undo(&undoing).unwrap(), Undone::Nothing, "its device is gone");
        }
    }
}

/// Nothing may be run.
struct Nobody;

impl Runner for Nobody {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        panic!("{cmd:?}")
    }
}

fn refused(play: &Play, name: &str, run: &str) -> String {
    let roots = play.roots();
    let machine = Machine::local(&Nobody, &roots, play.dir.path(), &NoHooks);
    match close(&machine, name, run) {
        Err(ActError::NotOurs { saw, .. }) => saw,
        other => panic!("{other:?}"),
    }
}

#[test]
fn only_our_own_mapping_is_closed() {
    let play = Play::new();
    for (name, run) in [("home", "r"), (NAME, "other"), ("diskproof-rr-2", "r")] {
        play.map(name, DM_UUID, &["loop1000"], 8);
        assert_eq!(refused(&play, name, run), "it doesn't have one of diskproof's names");
    }
    for uuid in [
        "",
        "LVM-x",
        "CRYPT-PLAIN-diskproof-r-2",
        "CRYPT-LUKS2-00000000000000000000000000000000-diskproof-r-2",
    ] {
        play.map(NAME, uuid, &["loop1000"], 8);
        assert_eq!(refused(&play, NAME, "r"), format!("its UUID is {uuid:?}"));
    }
    for other in ["sda2", "unknown"] {
        let play = Play::new();
        play.map(NAME, DM_UUID, &[other], 8);
        assert_eq!(refused(&play, NAME, "r"), format!("it lies on {other}"));
    }
}

#[test]
fn what_a_killed_cryptsetup_left_is_removed() {
    let play = Play::new();
    let roots = play.roots();
    let machine = Machine::local(&play, &roots, play.dir.path(), &NoHooks);
    play.map(NAME, DM_UUID, &[], 0);
    assert_eq!(close(&machine, NAME, "r").unwrap(), Undone::Done);
    assert_eq!(play.argvs(), ["dmsetup remove --noudevsync --noudevrules diskproof-r-2"]);
    // the node of a mapping that is gone
    fs::write(play.dir.path().join("dev/mapper").join(NAME), "").unwrap();
    assert_eq!(close(&machine, NAME, "r").unwrap(), Undone::Done);
    assert!(!play.has_mapping());
    assert_eq!(open(NAME).node(&machine), Path::new(&play.dir.path().join("dev/mapper").join(NAME)));
}
