//! The node (agent process): builds, loads, measures and undoes on request of the controller. Only it may need privileges.

use crate::context::{Bench, Others, Server, TurnError};
use crate::emitter::Emitter;
use crate::failure::Failure;
use crate::guest_host::{GuestHost as _, ThisMachine};
use crate::halt::Halt;
use crate::heard::Heard;
use crate::meeting::{self, Meeting};
use crate::one_machine::is_name_of;
use crate::persistent_stacks::PersistentStacks;
use crate::protocol::{LOST_AFTER, PROTOCOL, Reply, Request, TrialRequest, Turn};
use crate::pulse::Pulse;
use crate::requests::Requests;
use crate::serving::Serving;
use crate::verify::LimitsError;
use crate::{tools, trial, verify};
use device::Roots;
use host::LocalRunner;
use record::environment::Environment;
use record::event::Event;
use record::id::RunId;
use record::printable::chain;
use record::provision::ProvisionStep;
use record::version::FormatVersion;
use record::volume::{Volume, VolumeFacts, VolumeKind};
use stack::{Journal, Machine, NfsClient, NoHooks, Provisioning, RESERVE_BYTES, Shared, Volumes};
use std::collections::BTreeMap;
use std::io::BufRead;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::{SystemTime, UNIX_EPOCH};
use thiserror::Error;

/// Why the node could not start.
#[derive(Debug, Error)]
pub enum NodeError {
    /// A signal handler could not be set.
    #[error("can't catch signals")]
    Signals(#[source] std::io::Error),
}

/// Serves one controller until the end of `input`, then undoes what is left of the open run.
///
/// # Errors
/// When signal handlers can't be set. A controller that goes away is not an error.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl AsFd + Send + Sync + 'static,
    state_dir: &Path,
) -> Result<(), NodeError> {
    let halt = Arc::new(Halt::default());
    for signal in [signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP, signal_hook::consts::SIGINT] {
        halt.on(signal).map_err(NodeError::Signals)?;
    }
    let ends = Arc::clone(&halt);
    let heard = Heard::begin(LOST_AFTER, move || ends.for_good());
    let (requests, unheard) = listen(input, Arc::clone(&halt), Arc::clone(&heard));
    let (runner, roots) = (LocalRunner, Roots::default());
    let machine = Machine::local(&runner, &roots, state_dir, &NoHooks);
    let requests = Requests::new(requests, Arc::clone(&heard));
    let out = Arc::new(Emitter::to(output, heard));
    let loading = Arc::default();
    let mut node =
        Node { machine, out, requests, cancel: halt.flag(), halt: &halt, open: None, loading, pulse: None };
    while let Some(request) = node.requests.next() {
        let reply = node.answer(request);
        node.out.send(&reply);
    }
    // An unreadable request is not an end of input: the controller learns why the node exits.
    if let Ok(failure) = unheard.try_recv() {
        node.out.send(&failed(&failure));
    }
    if let Err(failure) = node.close() {
        // The controller may be gone; if it isn't, it learns why the undo failed.
        node.out.send(&failed(&failure));
    }
    Ok(())
}

/// Reads requests in its own thread, so that a cancel arrives while a trial runs. The second channel says why reading stopped
/// before the end of input.
fn listen(
    input: impl BufRead + Send + 'static,
    halt: Arc<Halt>,
    heard: Arc<Heard>,
) -> (Receiver<Request>, Receiver<Failure>) {
    let (sender, receiver) = channel();
    let (complain, unheard) = channel();
    std::thread::spawn(move || {
        for (number, line) in (1_u64..).zip(input.lines()) {
            let request: std::io::Result<Request> = line.and_then(|line| Ok(serde_json::from_str(&line)?));
            heard.word(matches!(request, Ok(Request::Alive)));
            match request {
                Ok(Request::Alive) => {}
                Ok(Request::Cancel) => halt.for_good(),
                Ok(Request::Abandon) => halt.trial(),
                Ok(request) => {
                    if matches!(request, Request::Trial(_)) {
                        halt.asked();
                    }
                    if sender.send(request).is_err() {
                        return;
                    }
                }
                Err(source) => {
                    let _ = complain.send(Failure::Unreadable { line: number, source });
                    break;
                }
            }
        }
        halt.for_good();
    });
    (receiver, unheard)
}

/// Sends requests to the node that serves the file system under test, through the controller.
struct Relay<'a, W: AsFd> {
    out: &'a Emitter<W>,
    requests: &'a Requests,
}

impl<W: AsFd> Server for Relay<'_, W> {
    fn turn(&self, turn: Turn) -> Result<u64, TurnError> {
        self.out.send(&Reply::Turn { turn });
        match self.requests.next() {
            Some(Request::GoOn { done }) => done.map_err(TurnError::Failed),
            Some(_) => Err(TurnError::OutOfTurn),
            None => Err(TurnError::Gone),
        }
    }
}

struct Open {
    run: RunId,
    journal: Journal,
    volumes: Volumes,
    standing: PersistentStacks,
    /// The export that other nodes load.
    serving: Option<Serving>,
}

struct Node<'a, W: AsFd> {
    machine: Machine<'a>,
    out: Arc<Emitter<W>>,
    requests: Requests,
    cancel: &'a AtomicBool,
    halt: &'a Halt,
    open: Option<Open>,
    /// Set while an engine lays out data or loads.
    loading: Arc<AtomicBool>,
    pulse: Option<Pulse>,
}

impl<W: AsFd + Send + Sync + 'static> Node<'_, W> {
    fn answer(&mut self, request: Request) -> Reply {
        let answered = match request {
            Request::Hello { protocol } => Ok(self.hello(protocol)),
            Request::Provision { steps, anew } => Ok(self.provision(&steps, anew)),
            Request::Open { run, volumes, space_bytes, needs_tools, ends_in_seconds, shared } => {
                let ends = ends_in_seconds.and_then(unix_seconds_in);
                tools::check(&needs_tools)
                    .map_err(Failure::from)
                    .and_then(|()| self.open(&run, &volumes, &shared, &space_bytes, ends))
            }
            Request::Trial(request) => self.trial(&request),
            Request::Serve { trial, clients } => self.serve(*trial, &clients),
            Request::Turn { turn } => self.turn(&turn),
            Request::Withdraw => self.withdraw(),
            Request::Close => self.close().map(|()| Reply::Closed),
            Request::Undo { run, give_up } => self.undo(run, give_up.as_deref()),
            Request::Clock => Ok(Reply::Clock { reading: meeting::reading() }),
            Request::BelowGuest { backings } => {
                ThisMachine.below(&backings).map(|below| Reply::BelowGuest { below }).map_err(Failure::from)
            }
            Request::GuestHost { backings, devices } => ThisMachine
                .snapshot(&backings, &devices)
                .map(|snapshot| Reply::GuestHost { snapshot: Box::new(snapshot) })
                .map_err(Failure::from),
            Request::Cancel
            | Request::Alive
            | Request::GoOn { .. }
            | Request::Start { .. }
            | Request::Finish
            | Request::Abandon => Err(Failure::OutOfTurn("a word in between came as a request")),
        };
        answered.unwrap_or_else(|failure| failed(&failure))
    }

    fn hello(&mut self, theirs: FormatVersion) -> Reply {
        // A controller of another version wouldn't understand it.
        if theirs == PROTOCOL {
            let begin = || Pulse::begin(Arc::clone(&self.out), Arc::clone(&self.loading));
            self.pulse.get_or_insert_with(begin);
        }
        let nfs_name = nfs_name(&self.machine.roots.proc, &self.machine.roots.sys);
        Reply::Hello { protocol: PROTOCOL, environment: Box::new(self.environment()), nfs_name }
    }

    fn environment(&self) -> Environment {
        let mut environment = observe::environment(&Roots::default());
        environment.diskproof = env!("CARGO_PKG_VERSION").to_owned();
        environment.native_ceiling = engine::native::ceiling::current(self.machine.state_dir, &environment);
        for tool in host::Tool::ALL.into_iter().filter(|tool| !tool.is_of_the_lab() && !tool.provisions()) {
            if let Some(version) = host::version(self.machine.runner, tool) {
                environment.tools.insert(tool.name().to_owned(), version);
            }
        }
        environment
    }

    fn provision(&self, steps: &[ProvisionStep], anew: bool) -> Reply {
        let boot = observe::environment(&Roots::default()).boot_id;
        let wanted = Provisioning { steps, boot_id: boot.as_deref(), anew };
        let mut tell =
            |step: &str| self.out.event(Event::Step { cell: None, step: step.to_owned(), done: None });
        let (done, outcome) = stack::provision(&self.machine, wanted, self.cancel, &mut tell);
        let environment = Box::new(Environment { provision: done, ..self.environment() });
        Reply::Provisioned { environment, failed: outcome.err().map(|error| chain(&error)) }
    }

    fn open(
        &mut self,
        run: &RunId,
        volumes: &[Volume],
        shared: &Shared,
        space_bytes: &BTreeMap<String, u64>,
        ends_unix_s: Option<u64>,
    ) -> Result<Reply, Failure> {
        self.close()?;
        check_space(volumes, space_bytes)?;
        let mut journal = Journal::open_until(&self.machine, run, ends_unix_s)?;
        let out = &self.out;
        let mut progress = |step: &str, done: Option<f64>| {
            out.event(Event::Step { cell: None, step: step.to_owned(), done })
        };
        let provided =
            Volumes::provide_shared(&self.machine, &mut journal, volumes, shared, &mut progress, self.cancel);
        let provided = match provided {
            Ok(provided) => provided,
            Err(error) => return Err(undo_after(&self.machine, journal, error.into())),
        };
        let mut open = Open {
            run: run.clone(),
            journal,
            volumes: provided,
            standing: PersistentStacks::default(),
            serving: None,
        };
        match self.verify(&mut open, volumes) {
            Ok(facts) => {
                self.bench(run).tell_changes(&open.journal);
                self.open = Some(open);
                Ok(Reply::Opened { volumes: facts })
            }
            Err(error) => {
                drop(open.volumes);
                Err(undo_after(&self.machine, open.journal, error.into()))
            }
        }
    }

    fn verify(&self, open: &mut Open, volumes: &[Volume]) -> Result<Vec<VolumeFacts>, LimitsError> {
        let bench = self.bench(&open.run);
        verify::limits(&self.machine, &mut open.journal, &open.volumes, volumes, &bench)
    }

    fn bench<'b>(&'b self, run: &RunId) -> Bench<'b> {
        Bench {
            scratch: scratch(&self.machine, run),
            cancel: self.cancel,
            loading: &self.loading,
            step: Box::new(|cell, step, done| {
                self.out.event(Event::Step { cell: cell.cloned(), step: step.to_owned(), done });
            }),
            tell: Box::new(|event| self.out.event(event)),
            server: None,
            others: None,
        }
    }

    fn trial(&mut self, request: &TrialRequest) -> Result<Reply, Failure> {
        let Some(mut open) = self.open.take() else {
            return Err(Failure::OutOfTurn("a trial was asked before its volumes"));
        };
        self.halt.begin();
        let relay = Relay { out: &self.out, requests: &self.requests };
        let meeting = Meeting { out: &self.out, requests: &self.requests, cancel: self.cancel };
        let others = request.together.as_ref().map(|_| -> &dyn Others { &meeting });
        let bench = Bench { server: Some(&relay), others, ..self.bench(&open.run) };
        let Open { journal, volumes, standing, .. } = &mut open;
        let record = trial::perform(&self.machine, journal, volumes, &bench, standing, request);
        drop(bench);
        self.open = Some(open);
        let cancelled = self.halt.end();
        Ok(Reply::Trial { record: Box::new(record?), cancelled })
    }

    fn serve(&mut self, request: TrialRequest, clients: &[NfsClient]) -> Result<Reply, Failure> {
        let Some(mut open) = self.open.take() else {
            return Err(Failure::OutOfTurn("an export was asked for before its volumes"));
        };
        let bench = self.bench(&open.run);
        let Open { journal, volumes, serving, .. } = &mut open;
        let begun = match serving {
            Some(_) => None,
            None => Some(Serving::begin(&self.machine, journal, volumes, &bench, request, clients)),
        };
        drop(bench);
        let reply = match begun {
            None => Err(Failure::OutOfTurn("an export was asked for beside another one")),
            Some(Ok(begun)) => {
                let directory = begun.directory().to_owned();
                open.serving = Some(begun);
                Ok(Reply::Served { directory })
            }
            Some(Err(record)) => Ok(Reply::Trial { record, cancelled: self.cancel.load(Ordering::Relaxed) }),
        };
        self.open = Some(open);
        reply
    }

    fn turn(&mut self, turn: &Turn) -> Result<Reply, Failure> {
        let Some(Open { journal, serving: Some(serving), .. }) = &mut self.open else {
            return Err(Failure::OutOfTurn("nothing is served"));
        };
        serving.turn(&self.machine, journal, turn)?;
        Ok(Reply::Turned { monotonic_ns: observe::monotonic_ns() })
    }

    fn withdraw(&mut self) -> Result<Reply, Failure> {
        let Some(mut open) = self.open.take() else { return Err(Failure::OutOfTurn("nothing is served")) };
        let Some(serving) = open.serving.take() else {
            self.open = Some(open);
            return Err(Failure::OutOfTurn("nothing is served"));
        };
        let bench = self.bench(&open.run);
        let ended = serving.end(&self.machine, &mut open.journal, &bench);
        drop(bench);
        self.open = Some(open);
        let cancelled = self.cancel.load(Ordering::Relaxed);
        Ok(Reply::Trial { record: Box::new(ended?), cancelled })
    }

    fn close(&mut self) -> Result<(), Failure> {
        let Some(open) = self.open.take() else { return Ok(()) };
        drop(open.serving);
        drop(open.standing);
        drop(open.volumes);
        sweep(&self.machine, &open.run);
        Ok(open.journal.undo_all(&self.machine)?)
    }

    fn undo(&self, run: Option<RunId>, give_up: Option<&str>) -> Result<Reply, Failure> {
        let mut lines = Vec::new();
        let (mut clean, mut going_on) = (true, false);
        for leftover in stack::leftovers(&self.machine)? {
            if run.as_ref().is_some_and(|run| !is_name_of(&leftover.run, run)) {
                continue;
            }
            if leftover.owner_alive {
                lines.push(format!(
                    "{}: still running, and undoes its own changes when it ends: wait for it, or stop it by Ctrl-C",
                    leftover.run
                ));
                going_on = true;
                continue;
            }
            sweep(&self.machine, &leftover.run);
            match stack::undo_run_without(&self.machine, &leftover.run, give_up) {
                Ok(report) => lines.push(format!("{}: {report}", leftover.run)),
                Err(error) => {
                    clean = false;
                    lines.push(format!("{}: {}", leftover.run, chain(&error)));
                }
            }
        }
        Ok(Reply::Undone { lines, clean, going_on })
    }
}

/// The reply to a request that failed.
fn failed(failure: &Failure) -> Reply {
    Reply::Failed { blame: failure.fault(), error: chain(failure) }
}

/// The name by which an NFSv4 server tells this machine from other clients: its host name, and what somebody has set to tell machines
/// of one name apart (nfs(5), "NFSv4 client identity").
fn nfs_name(proc: &Path, sys: &Path) -> Option<String> {
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(path).ok()?.trim().to_owned();
        (!text.is_empty() && text != "(null)").then_some(text)
    };
    let host = read(proc.join("sys/kernel/hostname"))?;
    let set =
        [sys.join("fs/nfs/net/nfs_client/identifier"), sys.join("module/nfs/parameters/nfs4_unique_id")];
    Some(set.into_iter().filter_map(read).fold(host, |name, more| format!("{name}/{more}")))
}

/// The time in so many seconds by this machine's clock, in seconds since 1970.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in seconds; saturates")]
fn unix_seconds_in(seconds: f64) -> Option<u64> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some((now.as_secs_f64() + seconds) as u64)
}

/// The directory for job files and output of a run's engines.
fn scratch(machine: &Machine<'_>, run: &RunId) -> PathBuf {
    machine.state_dir.join("scratch").join(&run.0)
}

/// Removes a run's scratch files. They are only diskproof's own text, so a lost race does no harm.
fn sweep(machine: &Machine<'_>, run: &RunId) {
    let dir = scratch(machine, run);
    let _ = std::fs::remove_dir_all(&dir);
    let _ = dir.parent().map(std::fs::remove_dir);
}

/// Checks that an existing directory has room for the data of the largest trial plus a reserve for its owner.
fn check_space(volumes: &[Volume], space_bytes: &BTreeMap<String, u64>) -> Result<(), Failure> {
    for volume in volumes {
        let (VolumeKind::Directory { path }, Some(&need_bytes)) =
            (&volume.kind, space_bytes.get(&volume.name))
        else {
            continue;
        };
        // A path that can't be examined gets a better refusal later, when the directory is opened.
        let Ok(free_bytes) = device::free_bytes(path) else { continue };
        if free_bytes < need_bytes.saturating_add(RESERVE_BYTES) {
            return Err(Failure::Space { path: path.clone(), free_bytes, need_bytes });
        }
    }
    Ok(())
}

/// Undoes a run that never opened, and adds to the error if the undo fails too.
fn undo_after(machine: &Machine<'_>, journal: Journal, failure: Failure) -> Failure {
    sweep(machine, journal.run());
    match journal.undo_all(machine) {
        Ok(()) => failure,
        Err(undo) => Failure::OpenAndUndo { open: Box::new(failure), undo },
    }
}
