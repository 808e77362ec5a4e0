//! Runs fio: starts it in the cgroup, watches it, interrupts it when cancelled, and kills it when it hangs.
//!
//! fio forks one process per job, each in its own session, so its process group doesn't contain them: jobs are found as its
//! children and held by pidfd. The end of the jobs is the end of I/O, as exactly as it is visible from outside; fio itself runs
//! for up to a quarter of a second longer.

use crate::error::{ENDED_BY_SIGNAL, EngineError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, clock_gettime};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The time between two checks of the cancel flag and the list of jobs.
const TICK: Duration = Duration::from_millis(50);

/// How long fio may take to stop after an interrupt, and how long to wait for a killed one.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The bytes of fio's output that are kept.
const MAX_OUTPUT_BYTES: u64 = 256 << 20;

/// A command to run.
pub(crate) struct Order<'a> {
    /// Program and arguments.
    pub(crate) argv: Vec<OsString>,
    /// The working directory, which also receives the output.
    pub(crate) scratch: &'a Path,
    /// The cgroup that it joins before it starts.
    pub(crate) cgroup_procs: Option<&'a Path>,
    /// Set to end it early.
    pub(crate) cancel: &'a AtomicBool,
    /// The time in which it should end.
    pub(crate) expected: Duration,
    /// The additional time that it may take.
    pub(crate) patience: Duration,
    /// The time that it may take to stop after an interrupt.
    pub(crate) grace: Duration,
    /// Receives the process id, once.
    pub(crate) started: &'a dyn Fn(u32),
    /// Receives the process ids of fio and its jobs, repeatedly.
    pub(crate) tick: &'a dyn Fn(&[u32]),
}

/// The end of a command.
pub(crate) struct Ended {
    /// The exit status; `None` when even SIGKILL didn't end it.
    pub(crate) status: Option<ExitStatus>,
    /// Why it ended.
    pub(crate) why: Why,
    /// CLOCK_MONOTONIC at the end of I/O.
    pub(crate) end_ns: u64,
    /// The time that it ran.
    pub(crate) waited: Duration,
    /// Its standard output.
    pub(crate) stdout: String,
    /// Its standard error.
    pub(crate) stderr: String,
}

/// Why it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Why {
    /// It ended by itself.
    Itself,
    /// The caller cancelled.
    Cancelled,
    /// It exceeded its time.
    Hung,
}

/// An argument vector in one line.
pub(crate) fn quoted(argv: &[OsString]) -> String {
    let texts: Vec<_> = argv.iter().map(|a| a.to_string_lossy()).collect();
    texts.join(" ")
}

/// Runs a command until it ends, is cancelled, or hangs.
pub(crate) fn run(order: &Order<'_>) -> Result<Ended, EngineError> {
    run_with(order, None)
}

/// The same with this file as its standard input; `None`: it has none.
pub(crate) fn run_with(order: &Order<'_>, input: Option<&File>) -> Result<Ended, EngineError> {
    let out = Captured::new(order.scratch)?;
    let mut child = spawn(order, &out, input)?;
    (order.started)(child.id());
    let mut watch = Watch::new(&child);
    let begun = Instant::now();
    let why = watch.until_end(&mut child, order, begun);
    let waited = begun.elapsed();
    let status = child.try_wait().ok().flatten();
    let (stdout, stderr) = out.read()?;
    Ok(Ended { status, why, end_ns: watch.end_ns(), waited, stdout, stderr })
}

/// Files for its output: a pipe could fill up while nobody reads it.
struct Captured {
    stdout: PathBuf,
    stderr: PathBuf,
}

impl Captured {
    fn new(scratch: &Path) -> Result<Self, EngineError> {
        Ok(Self { stdout: scratch.join("fio.stdout"), stderr: scratch.join("fio.stderr") })
    }

    fn create(path: &Path) -> Result<File, EngineError> {
        let io = |source| EngineError::Io { action: "create", path: path.to_owned(), source };
        File::create(path).map_err(io)
    }

    fn read(&self) -> Result<(String, String), EngineError> {
        Ok((read_text(&self.stdout)?, read_text(&self.stderr)?))
    }
}

fn read_text(path: &Path) -> Result<String, EngineError> {
    let io = |source| EngineError::Io { action: "read", path: path.to_owned(), source };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(MAX_OUTPUT_BYTES).read_to_end(&mut bytes).map_err(io)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn spawn(order: &Order<'_>, out: &Captured, input: Option<&File>) -> Result<Child, EngineError> {
    let failed = |source| EngineError::Spawn { argv: quoted(&order.argv), source };
    let input = input.map(File::try_clone).transpose().map_err(failed)?;
    let Some((program, args)) = order.argv.split_first() else {
        return Err(failed(io::ErrorKind::InvalidInput.into()));
    };
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", host::DIRECTORIES.join(":"))
        .current_dir(order.scratch)
        .process_group(0)
        .stdin(input.map_or_else(Stdio::null, Stdio::from))
        .stdout(Captured::create(&out.stdout)?)
        .stderr(Captured::create(&out.stderr)?);
    let procs = order.cgroup_procs.map(open_for_joining).transpose()?;
    before_exec(&mut command, procs);
    command.spawn().map_err(failed)
}

fn open_for_joining(path: &Path) -> Result<File, EngineError> {
    let io = |source| EngineError::Io { action: "open", path: path.to_owned(), source };
    OpenOptions::new().write(true).open(path).map_err(io)
}

/// Between fork and exec: joins the cgroup, ends with us, and resets SIGINT, by which we stop it. SIGINT may be ignored, because
/// a script's shell makes its background commands ignore it.
#[expect(
    unsafe_code,
    reason = "the child must be in the cgroup before its first I/O; only pre_exec runs there"
)]
fn before_exec(command: &mut Command, procs: Option<File>) {
    let parent = rustix::process::getpid();
    let prepare = move || {
        if let Some(procs) = &procs {
            // "0" means the writing process itself.
            rustix::io::write(procs, b"0")?;
        }
        // A killed agent process must not leave a load behind; fio ends its jobs on SIGTERM.
        rustix::process::set_parent_process_death_signal(Some(Signal::TERM))?;
        if rustix::process::getppid() != Some(parent) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(())
    };
    // SAFETY: after the fork it makes only system calls (sigaction, write, prctl, getppid); nothing allocates or takes locks.
    unsafe {
        command.pre_exec(|| match libc::signal(libc::SIGINT, libc::SIG_DFL) {
            libc::SIG_ERR => Err(io::Error::last_os_error()),
            _ => Ok(()),
        });
        command.pre_exec(prepare);
    }
}

/// fio and its jobs, held by pidfd.
struct Watch {
    pid: Pid,
    main: Option<OwnedFd>,
    jobs: BTreeMap<u32, OwnedFd>,
    gone: Vec<u32>,
    last_job_end_ns: Option<u64>,
    main_end_ns: Option<u64>,
}

impl Watch {
    fn new(child: &Child) -> Self {
        let pid = Pid::from_child(child);
        let main = pidfd_open(pid, PidfdFlags::empty()).ok();
        Self { pid, main, jobs: BTreeMap::new(), gone: Vec::new(), last_job_end_ns: None, main_end_ns: None }
    }

    /// The end of I/O: of the last job, or of fio itself where jobs can't be seen.
    fn end_ns(&self) -> u64 {
        self.last_job_end_ns.or(self.main_end_ns).unwrap_or_else(now_ns)
    }

    fn until_end(&mut self, child: &mut Child, order: &Order<'_>, begun: Instant) -> Why {
        let limit = order.expected.saturating_add(order.patience);
        let mut why = Why::Itself;
        let mut interrupted: Option<Instant> = None;
        let mut killed: Option<Instant> = None;
        loop {
            self.find_jobs();
            self.wait();
            if !matches!(child.try_wait(), Ok(None)) {
                self.main_end_ns = Some(now_ns());
                return why;
            }
            (order.tick)(&self.pids());
            match (interrupted, killed) {
                (None, _) => {
                    let reason = if order.cancel.load(Ordering::SeqCst) {
                        Some(Why::Cancelled)
                    } else {
                        (begun.elapsed() > limit).then_some(Why::Hung)
                    };
                    if let Some(reason) = reason {
                        why = reason;
                        interrupted = Some(Instant::now());
                        let _ = kill_process(self.pid, Signal::INT);
                    }
                }
                (Some(at), None) if at.elapsed() > order.grace => {
                    killed = Some(Instant::now());
                    self.kill_all();
                }
                (_, Some(at)) if at.elapsed() > order.grace => return why,
                _ => {}
            }
        }
    }

    fn pids(&self) -> Vec<u32> {
        let main = u32::try_from(self.pid.as_raw_nonzero().get()).ok();
        main.into_iter().chain(self.jobs.keys().copied()).collect()
    }

    /// Finds jobs that were forked since the last call.
    fn find_jobs(&mut self) {
        let pid = self.pid.as_raw_nonzero();
        let Ok(text) = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")) else { return };
        for number in text.split_ascii_whitespace().filter_map(|word| word.parse::<u32>().ok()) {
            if self.jobs.contains_key(&number) || self.gone.contains(&number) {
                continue;
            }
            let job = i32::try_from(number).ok().and_then(Pid::from_raw);
            if let Some(fd) = job.and_then(|p| pidfd_open(p, PidfdFlags::empty()).ok()) {
                self.jobs.insert(number, fd);
            }
        }
    }

    /// Sleeps for a tick, or until fio or one of its jobs ends.
    fn wait(&mut self) {
        let watched = self.main.iter().chain(self.jobs.values());
        let mut fds: Vec<_> = watched.map(|fd| PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN)).collect();
        let tick = Timespec { tv_sec: 0, tv_nsec: i64::from(TICK.subsec_nanos()) };
        if fds.is_empty() {
            std::thread::sleep(TICK);
            return;
        }
        if poll(&mut fds, Some(&tick)).is_err() {
            return;
        }
        let now = now_ns();
        let ended: Vec<bool> =
            fds.iter().skip(self.main.iter().count()).map(|fd| !fd.revents().is_empty()).collect();
        let numbers: Vec<u32> = self.jobs.keys().copied().collect();
        for (number, _) in numbers.into_iter().zip(ended).filter(|(_, ended)| *ended) {
            self.jobs.remove(&number);
            self.gone.push(number);
            self.last_job_end_ns = Some(now);
        }
    }

    fn kill_all(&mut self) {
        self.find_jobs();
        let _ = kill_process(self.pid, Signal::KILL);
        for job in self.jobs.values() {
            let _ = pidfd_send_signal(job, Signal::KILL);
        }
    }
}

/// CLOCK_MONOTONIC now.
fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    let seconds = u64::try_from(now.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(now.tv_nsec).unwrap_or(0))
}

/// `ended with status 1`, `was ended by signal 9`.
pub(crate) fn describe(status: Option<ExitStatus>) -> String {
    match status.map(|s| (s.code(), s.signal())) {
        Some((Some(code), _)) => format!("ended with status {code}"),
        Some((None, Some(signal))) => format!("{ENDED_BY_SIGNAL} {signal}"),
        _ => "did not end even when killed".to_owned(),
    }
}

#[cfg(test)]
mod tests;
