//! A state directory, a journal, and hooks that count points and fail at one.

use diskproof_stack::{Fill, Hooks, Injected, Machine, Phase, Point};
use record::id::RunId;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A machine that a test changes, under the tests' prefix.
pub(crate) struct Bench {
    pub(crate) dir: PathBuf,
    pub(crate) roots: device::Roots,
    pub(crate) runner: host::LocalRunner,
    pub(crate) run: RunId,
}

impl Bench {
    /// Creates a fresh state directory.
    pub(crate) fn new(name: &str) -> Self {
        let dir = testkit::fresh_dir(name);
        std::fs::create_dir(dir.join("lent")).unwrap();
        std::fs::create_dir(dir.join("state")).unwrap();
        Self::at(dir, name)
    }

    /// Uses an existing state directory.
    pub(crate) fn at(dir: PathBuf, name: &str) -> Self {
        let run = RunId(name.to_owned());
        Self { dir, roots: device::Roots::default(), runner: host::LocalRunner, run }
    }

    pub(crate) fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    pub(crate) fn machine<'a>(&'a self, state_dir: &'a Path, hooks: &'a dyn Hooks) -> Machine<'a> {
        Machine { runner: &self.runner, roots: &self.roots, state_dir, prefix: testkit::PREFIX, hooks }
    }

    /// The machine's state, once the state directory has its own directories.
    pub(crate) fn state(&self) -> testkit::MachineState {
        let (state_dir, hooks) = (self.state_dir(), diskproof_stack::NoHooks);
        let machine = self.machine(&state_dir, &hooks);
        if !machine.journal_dir().exists() {
            let journal = diskproof_stack::Journal::open(&machine, &self.run).unwrap();
            journal.undo_all(&machine).unwrap();
        }
        testkit::MachineState::capture(&self.watch())
    }

    fn watch(&self) -> testkit::Watch {
        let vm = ["dirty_ratio", "dirty_bytes", "dirty_background_ratio", "dirty_background_bytes"];
        let knobs = vm.map(|name| Path::new("/proc/sys/vm").join(name)).into();
        testkit::Watch { dirs: vec![self.dir.clone()], knobs, ..testkit::Watch::default() }
    }
}

/// Counts points; at one of them fails, or ends the process as `kill -9` does.
pub(crate) struct Hook {
    seen: Mutex<Vec<Point>>,
    at: Option<usize>,
    kill: bool,
    fill: Fill,
}

impl Hook {
    /// Only counts.
    pub(crate) fn count() -> Self {
        Self { seen: Mutex::new(Vec::new()), at: None, kill: false, fill: Fill::Reserved }
    }

    /// Only counts, and really writes the backing files.
    pub(crate) fn random() -> Self {
        Self { fill: Fill::Random, ..Self::count() }
    }

    /// Fails at the point of this number, once.
    pub(crate) fn fail(at: usize) -> Self {
        Self { at: Some(at), ..Self::count() }
    }

    /// Kills the process at the point of this number.
    pub(crate) fn kill(at: usize) -> Self {
        Self { at: Some(at), kill: true, ..Self::count() }
    }

    pub(crate) fn seen(&self) -> Vec<Point> {
        self.seen.lock().unwrap().clone()
    }
}

impl Hooks for Hook {
    fn at(&self, point: &Point) -> Result<(), Injected> {
        let mut seen = self.seen.lock().unwrap();
        seen.push(*point);
        if Some(seen.len() - 1) != self.at {
            return Ok(());
        }
        if self.kill {
            let me = rustix::process::getpid();
            let _ = rustix::process::kill_process(me, rustix::process::Signal::KILL);
            loop {
                std::thread::park();
            }
        }
        Err(Injected)
    }

    fn fill(&self) -> Fill {
        self.fill
    }
}

/// The name of a point in a failed assertion.
pub(crate) fn name(point: &Point) -> String {
    let phase = match point.phase {
        Phase::BeforeIntent => "before the intent",
        Phase::AfterIntent => "after the intent",
        Phase::AfterAct => "after the act",
        Phase::BeforeUndo => "before the undo",
        Phase::AfterUndo => "after the undo",
    };
    format!("{phase} of step {} ({})", point.step, point.act)
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
