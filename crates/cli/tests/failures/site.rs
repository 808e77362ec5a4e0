//! Three machines that share this one's kernel, behind relays, in a network namespace of their own.

use super::fault::kill;
use super::relay::Relay;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use testkit::{KernelMate, LoopDevice, MachineState, Watch};

/// The names that machines may have.
pub(crate) const NAMES: [&str; 11] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"];

const EXPERIMENT: &str = "
experiment: failures
targets: { TARGETS }
volumes: { vol: { emulate: { size: 16m, iops: 400 } } }
stacks: { ext4: { on: vol, layers: [ ext4 ] } }
workloads: { mixed: { rw: randrw, bs: 4k, iodepth: 4, size: 4m, direct: 1 } }
measure: { trial: 500ms, ramp: 0s, rounds: ROUNDS }
";

/// Room for the volume, and for what diskproof leaves free.
const DISK_BYTES: u64 = 352 << 20;

pub(crate) struct Site {
    pub(crate) dir: PathBuf,
    pub(crate) machines: Vec<KernelMate>,
    pub(crate) relays: Vec<Relay>,
    /// Each machine's own disk, which has its state folder.
    disks: Vec<LoopDevice>,
    /// The machine each cell belongs to, by the cell's id.
    pub(crate) cells: BTreeMap<String, usize>,
    /// Everything that tests may leave, before the first failure.
    before: MachineState,
}

impl Site {
    /// So many machines; an experiment with so many rounds measures on all of them.
    pub(crate) fn new(dir: &Path, machines: usize, rounds: u32) -> Self {
        let names = &NAMES[..machines];
        tool("ip", &["link", "set", "lo", "up"]);
        let mut disks = Vec::new();
        for name in names {
            let disk = LoopDevice::new(DISK_BYTES, &format!("failures-{name}"));
            let state = dir.join(name).join("state");
            fs::create_dir_all(&state).unwrap();
            tool("mkfs.ext4", &["-q", &disk.path().to_string_lossy()]);
            // Before the machine starts: afterwards it would not see it.
            tool("mount", &[&disk.path().to_string_lossy(), &state.to_string_lossy()]);
            disks.push(disk);
        }
        let mut machines = KernelMate::several(dir, names);
        let relays: Vec<Relay> =
            machines.iter_mut().map(|machine| Relay::to(machine.sshd().port())).collect();
        let config = KernelMate::client(dir, &machines, &[]);
        let own = fs::read_to_string(&config).unwrap();
        // ssh takes the first value that it finds.
        let ports =
            NAMES.iter().zip(&relays).map(|(name, relay)| format!("Host {name}\n Port {}\n", relay.port));
        fs::write(&config, ports.collect::<String>() + &own).unwrap();
        let list = |of: fn(&&str) -> String| names.iter().map(of).collect::<Vec<_>>().join(", ");
        let targets = list(|name| format!("{name}: {{ ssh: {name} }}"));
        let text = EXPERIMENT.replace("TARGETS", &targets).replace("ROUNDS", &rounds.to_string());
        fs::write(dir.join("e.yaml"), text).unwrap();
        let inventory = format!("machines: {{ {} }}\n", list(|name| format!("{name}: {{}}")));
        fs::write(dir.join("machines.yaml"), inventory).unwrap();
        let before = MachineState::capture(&Watch::default());
        Self { dir: dir.to_owned(), machines, relays, disks, cells: BTreeMap::new(), before }
    }

    /// Finds out which cell belongs to which machine, from a run that has begun.
    pub(crate) fn learn_cells(&mut self, run: &str) {
        for cell in self.export(run)["cells"].as_array().unwrap() {
            let target = cell["target"].as_str().unwrap();
            let place = NAMES.iter().position(|name| *name == target).unwrap();
            self.cells.insert(cell["id"].as_str().unwrap().to_owned(), place);
        }
    }

    pub(crate) fn program(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.env("DISKPROOF_SSH_CONFIG", self.dir.join("ssh_config")).env("XDG_RUNTIME_DIR", &self.dir);
        command
    }

    pub(crate) fn export(&self, run: &str) -> Value {
        let said = self.program(&["export", run, "--json"]).output().unwrap();
        serde_json::from_slice(&said.stdout).unwrap_or_else(|_| panic!("{}", text(&said.stderr)))
    }

    /// The rows of `export --trials`, by the names of the columns.
    pub(crate) fn trials(&self, run: &str) -> Vec<BTreeMap<String, String>> {
        let said = self.program(&["export", run, "--trials"]).output().unwrap();
        assert!(said.status.success(), "{}", text(&said.stderr));
        let csv = text(&said.stdout);
        let mut lines = csv.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
        let names = lines.next().unwrap();
        lines.map(|row| names.iter().cloned().zip(row).collect()).collect()
    }

    /// The processes of a machine whose command line has this word.
    fn processes(&self, machine: usize, word: &str) -> Vec<String> {
        let own = format!("DISKPROOF_STATE={}", self.machines[machine].state().to_string_lossy());
        let pids = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.file_name());
        pids.map(|pid| pid.to_string_lossy().into_owned())
            .filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()))
            .filter(|pid| has_word(pid, "cmdline", word) && has_word(pid, "environ", &own))
            .collect()
    }

    pub(crate) fn agents(&self, machine: usize) -> Vec<String> {
        self.processes(machine, "node")
    }

    /// The processes of the native engine that the machine's agent process has started.
    pub(crate) fn loads(&self, machine: usize) -> Vec<String> {
        let children = |pid: &String| {
            let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
            let of =
                |task: fs::DirEntry| fs::read_to_string(task.path().join("children")).unwrap_or_default();
            tasks.map(of).collect::<String>().split_whitespace().map(str::to_owned).collect::<Vec<_>>()
        };
        let is_engine = |pid: &String| has_word(pid, "cmdline", "engine-native");
        self.agents(machine).iter().flat_map(children).filter(is_engine).collect()
    }

    /// The ssh that a controller started for a machine.
    pub(crate) fn ssh_of(&self, controller: u32, machine: usize) -> Vec<String> {
        let children = fs::read_to_string(format!("/proc/{controller}/task/{controller}/children"));
        let is_it = |child: &String| {
            let argv = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            argv.split(|byte| *byte == 0).any(|word| word == NAMES[machine].as_bytes())
        };
        children.unwrap_or_default().split_whitespace().map(str::to_owned).filter(is_it).collect()
    }

    /// Loses 5 % of the packets to and from a machine.
    pub(crate) fn lose_packets(&self, machine: usize) {
        for side in ["--dport", "--sport"] {
            self.packets("-A", machine, side);
        }
    }

    /// All machines.
    pub(crate) fn all(&self) -> std::ops::Range<usize> {
        0..self.machines.len()
    }

    fn packets(&self, how: &str, machine: usize, side: &str) {
        let port = self.relays[machine].port.to_string();
        let rule = ["-p", "tcp", side, &port, "-m", "statistic", "--mode", "random", "--probability", "0.05"];
        let words = [&[how, "INPUT"], &rule[..], &["-j", "DROP"]].concat();
        if !Command::new("iptables").args(words).status().is_ok_and(|status| status.success()) {
            eprintln!("SKIPPED lost packets: iptables has no statistic match here");
        }
    }

    fn ballast(&self, machine: usize) -> PathBuf {
        self.machines[machine].state().join("ballast")
    }

    /// Fills the disk of a machine.
    pub(crate) fn fill_up(&self, machine: usize) {
        let ballast = fs::File::create(self.ballast(machine)).unwrap();
        let mut at = 0;
        for piece in [64 << 20, 4 << 20, 64 << 10, 4 << 10] {
            while rustix::fs::fallocate(&ballast, rustix::fs::FallocateFlags::empty(), at, piece).is_ok() {
                at += piece;
            }
        }
    }

    /// Takes the causes of failures away.
    pub(crate) fn mend(&self) {
        for machine in self.all() {
            kill("-CONT", &self.agents(machine));
        }
        self.relays.iter().for_each(Relay::mend);
        let _ = Command::new("iptables").args(["-F", "INPUT"]).status();
        for machine in self.all() {
            let _ = fs::remove_file(self.ballast(machine));
        }
    }

    /// What is left on a machine: files, mounts, loop devices and cgroups of a run, and its processes.
    pub(crate) fn left(&self, machine: usize) -> Vec<String> {
        let files = self.machines[machine].left().into_iter().map(|path| path.to_string_lossy().into_owned());
        let processes = self.agents(machine).into_iter().map(|pid| format!("process {pid}"));
        files.chain(processes).collect()
    }

    /// How the machine differs from before the first failure; empty if it doesn't. A loop device that was made anew by a look at it doesn't
    /// count (`loop_late_look_makes_an_empty_device` in testkit): the machines have one kernel, and one of them looks at all devices while
    /// another removes its own. What a run left would show the writes of that run.
    pub(crate) fn changes(&self) -> String {
        let all = self.before.diff(&MachineState::capture(&Watch::default()));
        all.lines().filter(|line| !is_made_anew(line)).map(|line| format!("{line}\n")).collect()
    }

    pub(crate) fn undo(&self) -> Output {
        let names = self.machines.iter().map(KernelMate::name);
        let args: Vec<&str> =
            ["machines", "undo", "--machines", "machines.yaml"].into_iter().chain(names).collect();
        self.program(&args).output().unwrap()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        let names: Vec<String> = self.machines.iter().map(|machine| machine.name().to_owned()).collect();
        if std::thread::panicking() {
            self.mend();
            // Nobody undoes what agent processes have left.
            self.machines.iter_mut().for_each(KernelMate::reboot);
        }
        self.machines.clear();
        if testkit::keep_wreck() {
            return;
        }
        for name in names {
            let state = self.dir.join(name).join("state");
            let _ = Command::new("umount").arg(&state).status();
        }
        self.disks.clear();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

/// Whether a line of a difference tells of a loop device that has no file and never did any I/O.
fn is_made_anew(line: &str) -> bool {
    let device = line.strip_prefix("+ loop ").and_then(|rest| rest.strip_suffix(" over nothing"));
    let Some(device) = device else { return false };
    let counters = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap_or_default();
    let is_unused = counters.split_whitespace().all(|counter| counter == "0");
    if is_unused {
        eprintln!("{device} was made anew by a look: its counters of I/O are all 0");
    }
    is_unused
}

/// Whether a process has this word in its command line or its environment.
fn has_word(pid: &str, file: &str, word: &str) -> bool {
    let text = fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default();
    text.split(|byte| *byte == 0).any(|part| part == word.as_bytes())
}

fn tool(program: &str, args: &[&str]) {
    assert!(Command::new(program).args(args).status().unwrap().success(), "{program} {args:?}");
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn wait_for(what: &str, mut ready: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !ready() {
        assert!(Instant::now() < until, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
