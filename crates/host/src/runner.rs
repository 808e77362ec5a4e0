//! Runs programs on this machine.

use crate::capture::{Captured, End, converse};
use crate::failure::CommandFailure;
use crate::invocation::{Invocation, Program};
use crate::resolve::{DIRECTORIES, path_of};
use crate::tool::Tool;
use record::printable::Shown as _;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::AtomicBool;

/// The environment variable with the process id of the diskproof that started a program. It identifies programs that outlive
/// their diskproof.
pub const STARTED_BY: &str = "DISKPROOF_STARTED_BY";

/// Runs programs. Fakes and fault injectors implement it too.
pub trait Runner: Send + Sync {
    /// Runs a program to its end.
    ///
    /// # Errors
    /// The program is missing, doesn't start, takes too long, writes too much, or ends with a status that isn't accepted.
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure>;

    /// Runs a program to its end, or until `cancel` is set. Then it gets SIGTERM (with its process group), and SIGKILL if it
    /// doesn't end within 10 s. A fake that answers at once may ignore `cancel`.
    ///
    /// # Errors
    /// As for [`Self::run`], and [`CommandFailure::Cancelled`].
    fn run_until(&self, cmd: &Invocation, _cancel: &AtomicBool) -> Result<Output, CommandFailure> {
        self.run(cmd)
    }
}

/// The output of a program that succeeded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Standard output; bytes that aren't UTF-8 are replaced.
    pub stdout: String,
    /// Standard error; likewise.
    pub stderr: String,
    /// The argument vector, beginning with the program's full path.
    pub argv: Vec<String>,
    /// Exit status: one of the accepted ones.
    pub status: i32,
}

/// Runs programs on this machine, each in its own process group: diskproof handles Ctrl-C on the terminal, and it must not end a
/// mkfs or an umount halfway.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalRunner;

impl Runner for LocalRunner {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        run(cmd, None)
    }

    fn run_until(&self, cmd: &Invocation, cancel: &AtomicBool) -> Result<Output, CommandFailure> {
        run(cmd, Some(cancel))
    }
}

fn run(cmd: &Invocation, cancel: Option<&AtomicBool>) -> Result<Output, CommandFailure> {
    let path = path_of(&cmd.program)?;
    let mut argv = cmd.argv();
    argv[0] = path.shown().to_string();
    let spawn = |source| CommandFailure::Spawn { argv: argv.clone(), source };
    let mut child = command(cmd, &path).spawn().map_err(spawn)?;
    let captured =
        converse(&mut child, cmd.stdin.clone().unwrap_or_default(), cmd.capture_bytes, cmd.timeout, cancel);
    let left_alive = !matches!(&captured, Ok(Captured { end: End::Exited, .. }));
    if left_alive {
        end_group(&child);
    }
    let status = child.wait().map_err(spawn)?;
    conclude(cmd, argv.clone(), captured.map_err(spawn)?, status)
}

/// The command of an invocation, with pipes for its outputs.
pub(crate) fn command(cmd: &Invocation, path: &std::path::Path) -> Command {
    let mut command = Command::new(path);
    let keeps_environment = matches!(cmd.program, Program::User(_) | Program::Tool(Tool::Sudo | Tool::Ssh | Tool::Sshfs))
            // SLURM_CONF names the cluster, SBATCH_PARTITION and others are the user's defaults.
            || matches!(cmd.program, Program::Tool(Tool::Sbatch | Tool::Squeue));
    if !keeps_environment {
        // BLKID_FILE, LIBMOUNT_*, LOOPDEV_DEBUG and similar variables must not change the results of a tool.
        command.env_clear().env("PATH", DIRECTORIES.join(":"));
    } else if cmd.bare {
        command
            .env_clear()
            .envs(["PATH", "HOME"].into_iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    }
    let locale = match cmd.program {
        // Ansible refuses all others, and manifests may have any characters.
        Program::Tool(tool) if tool.provisions() => "C.UTF-8",
        _ => "C",
    };
    command
        .args(&cmd.args)
        .env("LC_ALL", locale)
        .env(STARTED_BY, std::process::id().to_string())
        .envs(cmd.env.iter().map(|(k, v)| (k, v)))
        .current_dir(cmd.directory.as_deref().unwrap_or(std::path::Path::new("/")))
        .process_group(0)
        .stdin(if cmd.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Kills the child and its process group. Nobody has waited for it yet, so its process id is still its own.
fn end_group(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

fn conclude(
    cmd: &Invocation,
    argv: Vec<String>,
    captured: Captured,
    status: ExitStatus,
) -> Result<Output, CommandFailure> {
    let stdout = String::from_utf8_lossy(&captured.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&captured.stderr).into_owned();
    match captured.end {
        End::TooMuchOutput => {
            return Err(CommandFailure::TooMuchOutput { argv, limit_bytes: cmd.capture_bytes });
        }
        End::TimedOut => {
            return Err(CommandFailure::TimedOut { argv, limit: cmd.timeout.unwrap_or_default(), stderr });
        }
        End::Cancelled => return Err(CommandFailure::Cancelled { argv }),
        End::Exited => {}
    }
    match (status.code(), status.signal()) {
        (Some(status), _) if cmd.accepted.contains(&status) => Ok(Output { stdout, stderr, argv, status }),
        (Some(status), _) => Err(CommandFailure::Failed { argv, status, stdout, stderr }),
        (None, Some(signal)) => Err(CommandFailure::Failed { argv, status: -signal, stdout, stderr }),
        (None, None) => {
            Err(CommandFailure::Spawn { argv, source: io::Error::other("it ended without a status") })
        }
    }
}
