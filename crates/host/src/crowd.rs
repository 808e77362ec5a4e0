//! Runs many programs at once with one thread: one poll loop for the outputs and the ends of all of them.

use crate::failure::CommandFailure;
use crate::invocation::Invocation;
use crate::resolve::path_of;
use crate::runner::command;
use record::printable::Shown as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{Errno, read};
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use std::collections::{BTreeMap, VecDeque};
use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ChildStdin, Stdio};
use std::time::{Duration, Instant};

/// The standard input of a program in a crowd.
#[derive(Debug)]
pub enum Input {
    /// None (`/dev/null`).
    None,
    /// A file, from its position.
    File(File),
    /// A pipe that stays open and empty until [`Crowd::release`], or until this process ends.
    Held,
}

/// One of the two outputs of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Out,
    /// Standard error.
    Err,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// With this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
    /// It took longer than its time limit, and was killed with its process group.
    TimedOut,
}

/// Something that a program of the crowd did.
#[derive(Debug)]
pub enum CrowdEvent {
    /// It printed something.
    Output {
        /// The program.
        id: usize,
        /// Where.
        stream: Stream,
        /// What.
        bytes: Vec<u8>,
    },
    /// It ended; all that it printed came before.
    Ended {
        /// The program.
        id: usize,
        /// How.
        ending: Ending,
        /// Since its start.
        took: Duration,
    },
}

/// Programs that run at the same time. Dropping it kills each program that still runs, with its process group.
#[derive(Debug, Default)]
pub struct Crowd {
    members: BTreeMap<usize, Member>,
    events: VecDeque<CrowdEvent>,
    next: usize,
}

#[derive(Debug)]
struct Member {
    child: Child,
    ended: OwnedFd,
    held: Option<ChildStdin>,
    outputs: [Option<OwnedFd>; 2],
    began: Instant,
    deadline: Option<Instant>,
}

const STREAMS: [Stream; 2] = [Stream::Out, Stream::Err];

impl Crowd {
    /// Starts a program, and returns its number. Its time limit counts from now; the limit of its output is the caller's to keep.
    ///
    /// # Errors
    /// The program is missing, or doesn't start.
    pub fn start(&mut self, call: &Invocation, input: Input) -> Result<usize, CommandFailure> {
        self.begin(call, input, false)
    }

    /// As [`Self::start`], but the program can't run ahead of its reader: each of its writes to standard output is an event of its own, and
    /// it blocks as long as the write before the last isn't taken by [`Self::next`].
    ///
    /// # Errors
    /// As of [`Self::start`].
    pub fn start_in_step(&mut self, call: &Invocation, input: Input) -> Result<usize, CommandFailure> {
        self.begin(call, input, true)
    }

    fn begin(&mut self, call: &Invocation, input: Input, in_step: bool) -> Result<usize, CommandFailure> {
        let path = path_of(&call.program)?;
        let mut argv = call.argv();
        argv[0] = path.shown().to_string();
        let spawn = |source| CommandFailure::Spawn { argv: argv.clone(), source };
        let mut command = command(call, &path);
        command.stdin(match input {
            Input::None => Stdio::null(),
            Input::File(file) => Stdio::from(file),
            Input::Held => Stdio::piped(),
        });
        let narrow = in_step.then(narrow_pipe).transpose().map_err(spawn)?;
        let narrow = narrow.map(|(read, written)| {
            command.stdout(written);
            read
        });
        let mut child = command.spawn().map_err(spawn)?;
        // The command has the written end, without whose end the pipe has none.
        drop(command);
        let stdout = narrow.or_else(|| child.stdout.take().map(OwnedFd::from));
        let member = Member::of(child, stdout, call.timeout).map_err(spawn)?;
        let id = self.next;
        self.next += 1;
        self.members.insert(id, member);
        Ok(id)
    }

    /// Returns how many programs run.
    #[must_use]
    pub fn running(&self) -> usize {
        self.members.len()
    }

    /// Closes the held input of a program, which is its sign to end.
    pub fn release(&mut self, id: usize) {
        if let Some(member) = self.members.get_mut(&id) {
            member.held = None;
        }
    }

    /// Asks a program and its process group to end, by SIGTERM. Whether it does is up to it.
    pub fn ask_to_end(&self, id: usize) {
        if let Some(member) = self.members.get(&id) {
            let _ = kill_process_group(Pid::from_child(&member.child), Signal::TERM);
        }
    }

    /// Kills a program with its process group. Its end is reported as any other.
    pub fn kill(&self, id: usize) {
        if let Some(member) = self.members.get(&id) {
            member.kill();
        }
    }

    /// Waits for the next event, at most until `until`. `None`: nothing happened until then, or no program runs.
    ///
    /// # Errors
    /// The kernel refuses to wait.
    pub fn next(&mut self, until: Option<Instant>) -> io::Result<Option<CrowdEvent>> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(Some(event));
            }
            if self.members.is_empty() {
                return Ok(None);
            }
            self.wait(until)?;
            self.end_late();
            if self.events.is_empty() && until.is_some_and(|until| Instant::now() >= until) {
                return Ok(None);
            }
        }
    }

    /// Sleeps until there is something to do, and takes what there is.
    fn wait(&mut self, until: Option<Instant>) -> io::Result<()> {
        let deadlines = self.members.values().filter_map(|member| member.deadline);
        let first = deadlines.chain(until).min();
        let left = first.map(|at| at.saturating_duration_since(Instant::now()));
        // A millisecond more, since poll rounds down, and would then be called again at once.
        let left = left.and_then(|left| Timespec::try_from(left + Duration::from_millis(1)).ok());
        let mut watched = Vec::new();
        let mut fds = Vec::new();
        for (id, member) in &self.members {
            let outputs = member.outputs.iter().enumerate().filter_map(|(at, fd)| Some((at, fd.as_ref()?)));
            for (at, fd) in outputs.chain([(STREAMS.len(), &member.ended)]) {
                watched.push((*id, at));
                fds.push(PollFd::from_borrowed_fd(fd.as_fd(), PollFlags::IN));
            }
        }
        match poll(&mut fds, left.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let ready = fds.iter().zip(watched).filter(|(fd, _)| !fd.revents().is_empty());
        let ready: Vec<(usize, usize)> = ready.map(|(_, what)| what).collect();
        for (id, at) in ready {
            match STREAMS.get(at) {
                Some(_) => {
                    self.take(id, at);
                }
                None => self.bury(id, None),
            }
        }
        Ok(())
    }

    /// Takes what a program has printed; returns whether there was anything.
    fn take(&mut self, id: usize, at: usize) -> bool {
        let (Some(member), Some(stream)) = (self.members.get_mut(&id), STREAMS.get(at)) else { return false };
        let bytes = member.outputs.get_mut(at).map(drain).unwrap_or_default();
        let any = !bytes.is_empty();
        if any {
            self.events.push_back(CrowdEvent::Output { id, stream: *stream, bytes });
        }
        any
    }

    /// Takes the last output of a program that has ended, or is to end now, and its status.
    fn bury(&mut self, id: usize, why: Option<Ending>) {
        for at in 0..STREAMS.len() {
            // Pipes hold 1 MiB at most; a process that it started may go on writing.
            let _ = (0..16).take_while(|_| self.take(id, at)).count();
        }
        let Some(mut member) = self.members.remove(&id) else { return };
        if why.is_some() {
            member.kill();
        }
        let status = member.child.wait();
        let ending = why.unwrap_or_else(|| {
            let signal = || status.as_ref().ok().and_then(ExitStatusExt::signal);
            match status.as_ref().ok().and_then(std::process::ExitStatus::code) {
                Some(code) => Ending::Status(code),
                None => Ending::Signal(signal().unwrap_or(Signal::KILL.as_raw())),
            }
        });
        self.events.push_back(CrowdEvent::Ended { id, ending, took: member.began.elapsed() });
    }

    fn end_late(&mut self) {
        let now = Instant::now();
        let late = self.members.iter().filter(|(_, member)| member.deadline.is_some_and(|at| at <= now));
        let late: Vec<usize> = late.map(|(id, _)| *id).collect();
        late.into_iter().for_each(|id| self.bury(id, Some(Ending::TimedOut)));
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        for member in self.members.values() {
            member.kill();
        }
        for member in self.members.values_mut() {
            let _ = member.child.wait();
        }
    }
}

impl Member {
    fn of(mut child: Child, stdout: Option<OwnedFd>, limit: Option<Duration>) -> io::Result<Self> {
        let ready = pidfd_open(Pid::from_child(&child), PidfdFlags::empty());
        let held = child.stdin.take();
        let outputs = [stdout, child.stderr.take().map(OwnedFd::from)];
        let set =
            outputs.iter().flatten().try_for_each(|fd| fcntl_setfl(fd, fcntl_getfl(fd)? | OFlags::NONBLOCK));
        let began = Instant::now();
        let deadline = limit.and_then(|limit| began.checked_add(limit));
        match ready.and_then(|ended| set.map(|()| ended)) {
            Ok(ended) => Ok(Self { child, ended, held, outputs, began, deadline }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error.into())
            }
        }
    }

    /// Kills it and its process group. Nobody has waited for it yet, so its process id is still its own.
    fn kill(&self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
    }
}

/// The read and the written end of a pipe that keeps each write apart and has room for one.
fn narrow_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (read, written) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::DIRECT)?;
    // The least that the kernel has is one page, and each write needs one.
    fcntl_setpipe_size(&written, 1)?;
    Ok((read, written))
}

/// Reads all that is available now, at most 64 KiB, so that one talkative program doesn't hold up the others.
fn drain(pipe: &mut Option<OwnedFd>) -> Vec<u8> {
    let mut buffer = [0_u8; 65536];
    let Some(fd) = pipe else { return Vec::new() };
    match read(&*fd, &mut buffer) {
        Ok(0) => {
            *pipe = None;
            Vec::new()
        }
        Ok(n) => buffer[..n].to_vec(),
        Err(Errno::AGAIN | Errno::INTR) => Vec::new(),
        Err(_) => {
            *pipe = None;
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Crowd, CrowdEvent, Ending, Input, Stream};
    use crate::Invocation;
    use std::io::{Seek as _, Write as _};
    use std::time::{Duration, Instant};

    fn shell(script: &str) -> Invocation {
        Invocation::program("sh").args(["-c", script])
    }

    type Printed = (usize, Stream, String);

    /// Everything that the programs print, and their ends, in order.
    fn all(crowd: &mut Crowd) -> (Vec<Printed>, Vec<(usize, Ending)>) {
        let (mut printed, mut ended) = (Vec::new(), Vec::new());
        while let Some(event) = crowd.next(None).unwrap() {
            match event {
                CrowdEvent::Output { id, stream, bytes } => {
                    printed.push((id, stream, String::from_utf8(bytes).unwrap()));
                }
                CrowdEvent::Ended { id, ending, .. } => ended.push((id, ending)),
            }
        }
        (printed, ended)
    }

    #[test]
    fn outputs_statuses_and_signals_come_from_each() {
        let mut crowd = Crowd::default();
        let ids = ["echo a; echo b >&2; exit 3", "kill -9 $$", "true"]
            .map(|script| crowd.start(&shell(script), Input::None).unwrap());
        let (printed, mut ended) = all(&mut crowd);
        ended.sort_by_key(|(id, _)| *id);
        assert_eq!(
            ended,
            [(ids[0], Ending::Status(3)), (ids[1], Ending::Signal(9)), (ids[2], Ending::Status(0))]
        );
        assert!(printed.contains(&(ids[0], Stream::Out, "a\n".to_owned())), "{printed:?}");
        assert!(printed.contains(&(ids[0], Stream::Err, "b\n".to_owned())), "{printed:?}");
    }

    #[test]
    fn a_program_in_step_waits_for_its_reader() {
        let mut crowd = Crowd::default();
        let dir = tempfile::tempdir().unwrap();
        let script = r#"for i in 1 2 3 4; do echo $i; : >"$0/after$i"; done"#;
        let call = Invocation::program("sh").args(["-c", script]).args([dir.path()]);
        let id = crowd.start_in_step(&call, Input::None).unwrap();
        let first = crowd.next(None).unwrap();
        assert!(matches!(&first, Some(CrowdEvent::Output { bytes, .. }) if bytes == b"1\n"), "{first:?}");
        std::thread::sleep(Duration::from_millis(300));
        assert!(!dir.path().join("after3").exists(), "nobody has taken its second line");
        let (printed, ended) = all(&mut crowd);
        let printed: Vec<String> = printed.into_iter().map(|(.., text)| text).collect();
        assert_eq!((printed.concat().as_str(), ended), ("2\n3\n4\n", vec![(id, Ending::Status(0))]));
        assert!(dir.path().join("after4").exists());
    }

    #[test]
    fn large_outputs_are_complete_and_come_before_the_end() {
        let mut crowd = Crowd::default();
        for _ in 0..3 {
            crowd.start(&shell("head -c 3000000 /dev/zero"), Input::None).unwrap();
        }
        let mut bytes_of = [0; 3];
        while let Some(event) = crowd.next(None).unwrap() {
            match event {
                CrowdEvent::Output { id, bytes, .. } => bytes_of[id] += bytes.len(),
                CrowdEvent::Ended { id, .. } => assert_eq!(bytes_of[id], 3_000_000),
            }
        }
        assert_eq!(bytes_of, [3_000_000; 3]);
    }

    #[test]
    fn one_that_hangs_is_killed_with_its_children_and_holds_nobody_up() {
        let mut crowd = Crowd::default();
        let hangs = shell("sleep 600 & wait");
        let held = crowd.start(&hangs, Input::None).unwrap();
        let quick = crowd.start(&shell("true"), Input::None).unwrap();
        let first = crowd.next(None).unwrap();
        assert!(
            matches!(first, Some(CrowdEvent::Ended { id, ending: Ending::Status(0), .. }) if id == quick),
            "{first:?}"
        );
        let slow = crowd.start(&hangs.timeout(Duration::from_millis(200)), Input::None).unwrap();
        let second = crowd.next(None).unwrap();
        assert!(
            matches!(second, Some(CrowdEvent::Ended { id, ending: Ending::TimedOut, .. }) if id == slow),
            "{second:?}"
        );
        crowd.kill(held);
        assert_eq!(all(&mut crowd).1, [(held, Ending::Signal(9))]);
    }

    #[test]
    fn inputs_are_files_or_held_open() {
        let mut crowd = Crowd::default();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"text").unwrap();
        file.rewind().unwrap();
        let reads = crowd.start(&shell("cat"), Input::File(file)).unwrap();
        let waits = crowd.start(&shell("cat; echo over"), Input::Held).unwrap();
        let first = crowd.next(None).unwrap();
        assert!(
            matches!(&first, Some(CrowdEvent::Output { id, bytes, .. }) if *id == reads && bytes == b"text"),
            "{first:?}"
        );
        let second = crowd.next(None).unwrap();
        assert!(matches!(second, Some(CrowdEvent::Ended { id, .. }) if id == reads), "{second:?}");
        let soon = Instant::now() + Duration::from_millis(300);
        assert!(crowd.next(Some(soon)).unwrap().is_none(), "the other waits");
        assert_eq!(crowd.running(), 1);
        crowd.release(waits);
        assert_eq!(all(&mut crowd).0, [(waits, Stream::Out, "over\n".to_owned())]);
    }
}
