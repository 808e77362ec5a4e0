//! Does an errand on many machines at once, with one thread: each machine's commands follow each other, and no machine waits for another.

use crate::link::{Links, Reach};
use host::{CommandFailure, Crowd, CrowdEvent, Ending, Input, Invocation, Ssh, Stream};
use record::machine::Machine;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often the cancel flag is checked.
const TICK: Duration = Duration::from_millis(100);
/// A machine that has said nothing for this time gives its place away, so that machines that are off hold nobody up.
const SILENT: Duration = Duration::from_secs(1);
/// Most programs at the same time, those of silent machines included, as a multiple of the fan-out: where this machine's own processors
/// are the limit, all machines are silent, and more connections at once would only make each slower.
const MOST: usize = 2;

/// A command on a machine.
pub(crate) struct Task {
    pub(crate) call: Invocation,
    pub(crate) input: Input,
}

/// How a command on a machine ended.
#[derive(Debug)]
pub(crate) enum Done {
    /// ssh ran.
    Ended {
        /// How it ended.
        ending: Ending,
        /// Since its start.
        took: Duration,
    },
    /// ssh can't be started here.
    NotStarted(CommandFailure),
}

/// What is to be done on each machine.
pub(crate) trait Errand {
    /// Returns a machine's next command; `None`: all is done there. `before` is the end of the command before. A connection that fails is
    /// the end of a command, too: ssh's own status is 255.
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task>;

    /// Takes what a command prints.
    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]);
}

/// How many machines are asked at once.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fanout {
    /// Most machines at once.
    pub(crate) most: usize,
    /// Whether a machine that says nothing gives its place away.
    pub(crate) skips_silent: bool,
}

/// Machines, and the connections to them.
#[derive(Debug)]
pub(crate) struct Drive<'m> {
    machines: &'m [Machine],
    links: Links,
    crowd: Crowd,
    /// The programs that run, by their numbers in the crowd.
    jobs: BTreeMap<usize, Job>,
    /// The master of each machine that has one.
    masters: BTreeMap<usize, usize>,
}

#[derive(Debug)]
struct Job {
    machine: usize,
    role: Role,
    began: Instant,
    spoke: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Role {
    Command,
    /// A master that isn't connected yet.
    Connecting,
    /// A master that is connected.
    Connected,
}

impl<'m> Drive<'m> {
    /// Connections of one command each.
    pub(crate) fn single(machines: &'m [Machine], reach: &Reach) -> Self {
        Self::with(machines, Links::single(reach))
    }

    /// One connection per machine that lives as long as the drive.
    ///
    /// # Errors
    /// The directory of the sockets can't be made.
    pub(crate) fn shared(machines: &'m [Machine], reach: &Reach) -> io::Result<Self> {
        Ok(Self::with(machines, Links::shared(reach)?))
    }

    fn with(machines: &'m [Machine], links: Links) -> Self {
        // A connection takes up to four files, and the usual limit is 1024.
        let limits = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, ..limits });
        Self { machines, links, crowd: Crowd::default(), jobs: BTreeMap::new(), masters: BTreeMap::new() }
    }

    /// Does an errand on these machines. Returns whether it was done everywhere; `false` when it was cancelled.
    ///
    /// # Errors
    /// The kernel refuses to wait for programs.
    pub(crate) fn errand(
        &mut self,
        wanted: impl IntoIterator<Item = usize>,
        fanout: Fanout,
        errand: &mut dyn Errand,
        cancel: &AtomicBool,
    ) -> io::Result<bool> {
        let mut waiting: VecDeque<usize> = wanted.into_iter().collect();
        loop {
            while self.has_room(fanout)
                && let Some(machine) = waiting.pop_front()
            {
                self.begin(machine, errand);
            }
            if waiting.is_empty() && self.jobs.values().all(|job| job.role == Role::Connected) {
                return Ok(true);
            }
            if cancel.load(Ordering::Relaxed) {
                return Ok(false);
            }
            match self.crowd.next(Some(Instant::now() + TICK))? {
                Some(CrowdEvent::Output { id, stream, bytes }) => self.hear(id, stream, &bytes, errand),
                Some(CrowdEvent::Ended { id, ending, took }) => self.end(id, ending, took, errand),
                None => {}
            }
        }
    }

    fn has_room(&self, fanout: Fanout) -> bool {
        let busy = self.jobs.values().filter(|job| job.role != Role::Connected);
        let counts = |job: &&Job| !fanout.skips_silent || job.spoke || job.began.elapsed() < SILENT;
        busy.clone().filter(counts).count() < fanout.most && busy.count() < MOST * fanout.most
    }

    /// Starts a machine's master, or its first command if it is connected or needs no master.
    fn begin(&mut self, machine: usize, errand: &mut dyn Errand) {
        let Some(about) = self.machines.get(machine) else { return };
        let connected = self.masters.contains_key(&machine);
        match self.links.master(about, machine).filter(|_| !connected) {
            Some(call) => match self.crowd.start(&call, Input::Held) {
                Ok(id) => {
                    self.masters.insert(machine, id);
                    self.enter(id, machine, Role::Connecting);
                }
                Err(failure) => self.step(machine, Some(Done::NotStarted(failure)), errand),
            },
            None => self.step(machine, None, errand),
        }
    }

    fn enter(&mut self, id: usize, machine: usize, role: Role) {
        self.jobs.insert(id, Job { machine, role, began: Instant::now(), spoke: false });
    }

    /// Starts a machine's next command, until one starts or there is none.
    fn step(&mut self, machine: usize, mut before: Option<Done>, errand: &mut dyn Errand) {
        let Some(about) = self.machines.get(machine) else { return };
        let ssh = self.links.ssh(about, machine);
        while let Some(Task { call, input }) = errand.next(machine, &ssh, before.take()) {
            match self.crowd.start(&call, input) {
                Ok(id) => return self.enter(id, machine, Role::Command),
                Err(failure) => before = Some(Done::NotStarted(failure)),
            }
        }
    }

    fn hear(&mut self, id: usize, stream: Stream, bytes: &[u8], errand: &mut dyn Errand) {
        let Some(job) = self.jobs.get_mut(&id) else { return };
        job.spoke = true;
        let machine = job.machine;
        match (&job.role, stream) {
            (Role::Command, _) | (Role::Connecting, Stream::Err) => errand.hears(machine, stream, bytes),
            (Role::Connecting, Stream::Out) => {
                job.role = Role::Connected;
                self.step(machine, None, errand);
            }
            (Role::Connected, _) => {}
        }
    }

    fn end(&mut self, id: usize, ending: Ending, took: Duration, errand: &mut dyn Errand) {
        let Some(job) = self.jobs.remove(&id) else { return };
        if job.role != Role::Command {
            self.masters.remove(&job.machine);
        }
        if job.role != Role::Connected {
            self.step(job.machine, Some(Done::Ended { ending, took }), errand);
        }
    }

    /// The machines.
    pub(crate) fn machines(&self) -> &'m [Machine] {
        self.machines
    }
}

impl Drop for Drive<'_> {
    /// Lets the masters end by themselves, so that the other side sees a connection that is closed, not cut.
    fn drop(&mut self) {
        let masters: Vec<usize> = self.masters.values().copied().collect();
        masters.iter().for_each(|id| self.crowd.release(*id));
        let until = Instant::now() + Duration::from_secs(1);
        let mut left: Vec<usize> = masters;
        while !left.is_empty() {
            match self.crowd.next(Some(until)) {
                Ok(Some(CrowdEvent::Ended { id, .. })) => left.retain(|master| *master != id),
                Ok(Some(CrowdEvent::Output { .. })) => {}
                Ok(None) | Err(_) => return,
            }
        }
    }
}
