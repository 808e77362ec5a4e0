//! Provisioning: runs the user's own scripts, playbooks and manifests before anything is built. They are not undone.
//!
//! Every step runs twice: the second run should find nothing to change. diskproof records steps that succeeded with the boot id.
//! It skips them as long as exactly the same steps were the last ones to run.

mod error;
mod memory;
mod outcome;
mod program;

use crate::journal::{LOCK_OUTLIVES, leftovers, outlast};
use crate::machine::Machine;
pub use error::ProvisionError;
use host::{CommandFailure, Output, Tool};
use memory::Memory;
use record::provision::{ProvisionRun, ProvisionStep, Provisioned, Provisioner};
use std::fs::{DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Lines of each output stream that an error quotes.
const QUOTED_LINES: usize = 8;
/// Bytes at the end of each output stream that are kept of a run.
const KEPT_BYTES: usize = 64 << 10;

/// A request to provision.
#[derive(Debug, Clone, Copy)]
pub struct Provisioning<'a> {
    /// The steps, in order.
    pub steps: &'a [ProvisionStep],
    /// The machine's boot id; `None` when it is unknown: then all steps run.
    pub boot_id: Option<&'a str>,
    /// Run the steps even if nothing has changed.
    pub anew: bool,
}

/// Runs all steps, unless they were the last ones to run here since the machine booted. Returns the outcome of each step,
/// including the failed one, and the error that ended it early. `tell` receives what is being done.
///
/// # Errors
/// When a step fails, the user asks to stop, another diskproof is at work here, or the state directory can't be used.
pub fn provision(
    machine: &Machine<'_>,
    wanted: Provisioning<'_>,
    cancel: &AtomicBool,
    tell: &mut dyn FnMut(&str),
) -> (Vec<Provisioned>, Result<(), ProvisionError>) {
    let mut done = Vec::new();
    let outcome = carry_out(machine, wanted, cancel, tell, &mut done);
    (done, outcome)
}

fn carry_out(
    machine: &Machine<'_>,
    wanted: Provisioning<'_>,
    cancel: &AtomicBool,
    tell: &mut dyn FnMut(&str),
    done: &mut Vec<Provisioned>,
) -> Result<(), ProvisionError> {
    let memory = Memory::lock(machine.state_dir)?;
    let known = memory.read();
    let tools = |step: &ProvisionStep| tool(step.by).and_then(|tool| host::version(machine.runner, tool));
    if !wanted.anew && known.holds(wanted.steps, wanted.boot_id, tools) {
        done.extend(known.steps.into_iter().map(|step| Provisioned { skipped: true, ..step }));
        return Ok(());
    }
    wait_for_others(machine, known.owner)?;
    memory.begin()?;
    let scratch = Scratch::make(machine.state_dir)?;
    for (index, step) in wanted.steps.iter().enumerate() {
        let at = Place { number: index + 1, of: wanted.steps.len(), step };
        let file = scratch.put(index, step)?;
        done.push(Provisioned {
            by: step.by,
            path: step.path.clone(),
            digest: step.digest.clone(),
            tool: tools(step),
            applied_unix_ms: now_unix_ms(),
            skipped: false,
            runs: Vec::new(),
            error: None,
        });
        let Some(record) = done.last_mut() else { continue };
        for which in ["first", "second"] {
            tell(&format!("provision: {} {}, {which} run", step.by, step.path));
            if let Err(error) = run(machine, &at, &file, which, cancel, record) {
                record.error = Some(error.to_string());
                return Err(error);
            }
        }
    }
    drop(scratch);
    memory.keep(wanted.boot_id, done)
}

fn tool(by: Provisioner) -> Option<Tool> {
    match by {
        Provisioner::Shell => None,
        Provisioner::Ansible => Some(Tool::AnsiblePlaybook),
        Provisioner::Puppet => Some(Tool::Puppet),
    }
}

/// Refuses while a run measures here, and waits until programs of a killed provisioning have ended.
fn wait_for_others(machine: &Machine<'_>, owner: Option<u32>) -> Result<(), ProvisionError> {
    let journals = machine.journal_dir();
    let runs = leftovers(machine).map_err(|error| ProvisionError::Io {
        doing: "read",
        path: journals,
        source: std::io::Error::other(error),
    })?;
    if let Some(alive) = runs.into_iter().find(|run| run.owner_alive) {
        return Err(ProvisionError::Measuring { run: alive.run });
    }
    let left = owner.map(|owner| outlast(machine, owner)).unwrap_or_default();
    if left.is_empty() {
        return Ok(());
    }
    Err(ProvisionError::AtWork { left: left.iter().map(|p| format!("{} ({})", p.comm, p.pid)).collect() })
}

/// A step and its number.
struct Place<'a> {
    number: usize,
    of: usize,
    step: &'a ProvisionStep,
}

fn run(
    machine: &Machine<'_>,
    at: &Place<'_>,
    file: &Path,
    which: &'static str,
    cancel: &AtomicBool,
    record: &mut Provisioned,
) -> Result<(), ProvisionError> {
    if cancel.load(Ordering::Relaxed) {
        return Err(ProvisionError::Cancelled);
    }
    let mut begun = Instant::now();
    let end = begun + LOCK_OUTLIVES;
    let program = program::of(at.step, file);
    let outcome = loop {
        match machine.runner.run_until(&program, cancel) {
            // A child that another thread just forked still has our file open for writing.
            Err(CommandFailure::Spawn { source, .. })
                if source.kind() == std::io::ErrorKind::ExecutableFileBusy && Instant::now() < end =>
            {
                begun = Instant::now();
            }
            outcome => break outcome,
        }
    };
    let seconds = begun.elapsed().as_secs_f64();
    let failed = |why: String| ProvisionError::Step {
        number: at.number,
        of: at.of,
        by: at.step.by,
        path: at.step.path.clone(),
        which,
        why,
    };
    match outcome {
        Ok(Output { stdout, stderr, status, .. }) => {
            let changed = outcome::changed(at.step.by, status, &stdout);
            record.runs.push(kept(seconds, status, changed.unwrap_or_default(), &stdout, &stderr));
            changed.map(drop).map_err(|why| failed(why.to_owned()))
        }
        Err(CommandFailure::Failed { status, stdout, stderr, .. }) => {
            record.runs.push(kept(seconds, status, None, &stdout, &stderr));
            Err(failed(outcome::failure(status, &stdout, &stderr, QUOTED_LINES)))
        }
        Err(CommandFailure::Cancelled { .. }) => Err(ProvisionError::Cancelled),
        Err(other) => Err(failed(record::printable::chain(&other))),
    }
}

fn kept(seconds: f64, status: i32, changed: Option<u64>, stdout: &str, stderr: &str) -> ProvisionRun {
    let (out, err) = (outcome::end(stdout, KEPT_BYTES), outcome::end(stderr, KEPT_BYTES));
    let cut = stdout.len() + stderr.len() - out.len() - err.len();
    ProvisionRun {
        status,
        seconds,
        changed,
        stdout: out.to_owned(),
        stderr: err.to_owned(),
        cut_bytes: cut as u64,
    }
}

fn now_unix_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// The steps' files on this machine; removed on drop. They are ours, so a lost race does no harm.
struct Scratch(PathBuf);

impl Scratch {
    fn make(state_dir: &Path) -> Result<Self, ProvisionError> {
        let path = state_dir.join("provision");
        let io = |doing, source| ProvisionError::Io { doing, path: path.clone(), source };
        // Left by a killed provisioning.
        match std::fs::remove_dir_all(&path) {
            Err(source) if source.kind() != std::io::ErrorKind::NotFound => return Err(io("remove", source)),
            _ => {}
        }
        DirBuilder::new().mode(0o700).create(&path).map_err(|source| io("create", source))?;
        Ok(Self(path))
    }

    fn put(&self, index: usize, step: &ProvisionStep) -> Result<PathBuf, ProvisionError> {
        let dir = self.0.join((index + 1).to_string());
        let name = Path::new(&step.path).file_name().unwrap_or("step".as_ref());
        let path = dir.join(name);
        let write = || {
            std::fs::create_dir(&dir)?;
            std::fs::write(&path, &step.text)?;
            std::fs::set_permissions(&path, Permissions::from_mode(0o700))
        };
        write().map_err(|source| ProvisionError::Io { doing: "write", path: path.clone(), source })?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
