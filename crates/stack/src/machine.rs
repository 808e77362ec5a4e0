//! The machine to be changed, and where tests take hold of the changes.

use std::path::{Path, PathBuf};

/// What every name we create begins with.
pub const PREFIX: &str = "diskproof-";

/// One machine, as this room sees it.
#[derive(Clone, Copy)]
pub struct Machine<'a> {
    /// Runs programs.
    pub runner: &'a dyn host::Runner,
    /// Where /proc, /sys and /dev are.
    pub roots: &'a device::Roots,
    /// Where the journal, backing files and mount points live; made when missing, mode 0700.
    pub state_dir: &'a Path,
    /// What every name we create begins with: `diskproof-`, in tests `diskproof-test-`.
    pub prefix: &'a str,
    /// Where tests inject faults; [`NoHooks`] otherwise.
    pub hooks: &'a dyn Hooks,
}

impl<'a> Machine<'a> {
    /// A machine that is really changed, under our usual names.
    #[must_use]
    pub fn local(
        runner: &'a dyn host::Runner,
        roots: &'a device::Roots,
        state_dir: &'a Path,
        hooks: &'a dyn Hooks,
    ) -> Self {
        Self { runner, roots, state_dir, prefix: PREFIX, hooks }
    }

    /// Whether it is the machine we run on, not one that a test made up.
    pub(crate) fn is_real(&self) -> bool {
        self.roots.proc == Path::new("/proc")
    }

    /// Where journals are kept.
    #[must_use]
    pub fn journal_dir(&self) -> PathBuf {
        self.state_dir.join("journal")
    }

    /// Where backing files are kept.
    #[must_use]
    pub fn volumes_dir(&self) -> PathBuf {
        real(self.state_dir.join("volumes"))
    }

    /// Where mount points are made.
    #[must_use]
    pub fn mounts_dir(&self) -> PathBuf {
        real(self.state_dir.join("mnt"))
    }
}

/// The kernel names backing files and mount points with all links resolved, and we compare with what it says.
fn real(path: PathBuf) -> PathBuf {
    path.canonicalize().unwrap_or(path)
}

/// A moment between two changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// Number of the act in its journal.
    pub step: u32,
    /// Which moment of it.
    pub phase: Phase,
    /// Name of the act, e.g. `mkfs`.
    pub act: &'static str,
}

/// A moment of an act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is written down yet.
    BeforeIntent,
    /// The intent is durable, nothing is done.
    AfterIntent,
    /// It is done, which isn't written down.
    AfterAct,
    /// Its undo is about to begin.
    BeforeUndo,
    /// It is undone, which isn't written down.
    AfterUndo,
}

/// What backing files are filled with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Incompressible data, written in full.
    Random,
    /// Space is only reserved. For tests of the journal, which write hundreds of volumes and measure none.
    Reserved,
}

/// Called at every [`Point`]. Tests fail there, or end the process.
pub trait Hooks: Sync {
    /// # Errors
    /// When a test wants the step to fail.
    fn at(&self, point: &Point) -> Result<(), Injected>;

    /// What backing files are filled with.
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

/// A failure that a test asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a test asked for a failure here")]
pub struct Injected;
