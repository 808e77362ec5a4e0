//! The machine that is changed, and the hooks by which tests inject faults.

use std::path::{Path, PathBuf};

/// The beginning of every name that we create.
pub const PREFIX: &str = "diskproof-";

/// A machine, as this crate sees it.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Runs programs.
    pub runner: &'a dyn host::Runner,
    /// The locations of /proc, /sys and /dev.
    pub roots: &'a device::Roots,
    /// The directory for the journal, backing files and mount points; created if missing, with mode 0700.
    pub state_dir: &'a Path,
    /// The beginning of every name that we create: `diskproof-`, in tests `diskproof-test-`.
    pub prefix: &'a str,
    /// Hooks by which tests inject faults; [`NoHooks`] otherwise.
    pub hooks: &'a dyn Hooks,
}

impl<'a> Machine<'a> {
    /// This machine, with the usual names.
    #[must_use]
    pub fn local(
        runner: &'a dyn host::Runner,
        roots: &'a device::Roots,
        state_dir: &'a Path,
        hooks: &'a dyn Hooks,
    ) -> Self {
        Self { runner, roots, state_dir, prefix: PREFIX, hooks }
    }

    /// Whether it is the machine we run on, not a fake one of a test.
    pub(crate) fn is_real(&self) -> bool {
        self.roots.proc == Path::new("/proc")
    }

    /// The directory of journals.
    #[must_use]
    pub fn journal_dir(&self) -> PathBuf {
        self.state_dir.join("journal")
    }

    /// The directory of backing files.
    #[must_use]
    pub fn volumes_dir(&self) -> PathBuf {
        real(self.state_dir.join("volumes"))
    }

    /// The directory of mount points.
    #[must_use]
    pub fn mounts_dir(&self) -> PathBuf {
        real(self.state_dir.join("mnt"))
    }
}

/// Resolves all links, because the kernel does so in names of backing files and mount points, and we compare with these.
fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// A moment of an act, at which tests can inject a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The number of the act in its journal.
    pub step: u32,
    /// The phase of the act.
    pub phase: Phase,
    /// The name of the act, e.g. `mkfs`.
    pub act: &'static str,
}

/// A phase of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is written yet.
    BeforeIntent,
    /// The intent is durable, nothing is done.
    AfterIntent,
    /// The act is done, but that isn't written yet.
    AfterAct,
    /// Its undo is about to begin.
    BeforeUndo,
    /// It is undone, but that isn't written yet.
    AfterUndo,
}

/// The content of backing files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Incompressible data, written in full.
    Random,
    /// Only reserved space. For tests of the journal, which create hundreds of volumes and measure none.
    Reserved,
}

/// Called at every [`Point`]. Tests return an error there, or end the process.
pub trait Hooks: Sync {
    /// # Errors
    /// When a test wants the step to fail.
    fn at(&self, point: &Point) -> Result<(), Injected>;

    /// The content of backing files.
    fn fill(&self) -> Fill {
        Fill::Random
    }
}

/// Does nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoHooks;

impl Hooks for NoHooks {
    fn at(&self, _: &Point) -> Result<(), Injected> {
        Ok(())
    }
}

/// A failure that a test injected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a test asked for a failure here")]
pub struct Injected;
