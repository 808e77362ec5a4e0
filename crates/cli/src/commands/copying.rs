//! The copy of a run that outlives its controller, as a session sees it: sent while no trial runs.

use super::judged::unreadable;
use super::share::{failure, folder};
use crate::exit::Failure;
use crate::output;
use crate::settings::{Origin, Settings};
use record::event::Event;
use record::id::RunId;
use record::plan::Plan;
use record::printable::{Shown as _, chain};
use share::ShareError;
use share::copies::{Claim, Controller, CopyAddress, LeaseError, Moment, Objects, Sender, Sent, fetch};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};
use store::Store;

/// Between two trials, no new object is begun after this time.
const GAP: Duration = Duration::from_secs(10);
/// Between two trials, what is under way ends after this time.
const GAP_LIMIT: Duration = Duration::from_secs(20);
/// At the end of a run.
const END: Duration = Duration::from_secs(600);
/// At the end of a run that a signal ended.
const SIGNALLED: Duration = Duration::from_secs(10);
/// To give a lease back after an error.
const GIVE_BACK: Duration = Duration::from_secs(5);
/// Shortest lease.
const LEASE: Duration = Duration::from_secs(15 * 60);
/// Longest lease.
const LONGEST_LEASE: Duration = Duration::from_secs(24 * 3600);
/// How often the time limit and the signals are looked at.
const LOOK: Duration = Duration::from_millis(100);

/// Returns where the trials of a run are copied to, and puts that into its plan: what the command line says, else the plan, else the
/// environment and the configuration files.
///
/// # Errors
/// The plan's address isn't one.
pub(crate) fn chosen(plan: &mut Plan, settings: &Settings) -> Result<Option<CopyAddress>, Failure> {
    let typed = matches!(settings.copy_to.origin, Origin::CommandLine(_));
    let chosen = match &plan.copy_to {
        Some(text) if !typed => Some(CopyAddress::parse(text).map_err(failure)?),
        _ => settings.copy_to.value.0.clone(),
    };
    plan.copy_to = chosen.as_ref().map(ToString::to_string);
    Ok(chosen)
}

/// The copy of a run that this process carries out.
pub(crate) struct Copying {
    address: String,
    run: RunId,
    sender: Sender,
    lease: Duration,
    /// Ends what is under way at the destination.
    cancel: Arc<AtomicBool>,
    /// Number of trials under way.
    running: u32,
    /// When the lease was looked at last.
    renewed: Instant,
    has_warned: bool,
    /// Another controller has the run.
    is_lost: bool,
    has_ended: bool,
}

impl Copying {
    /// Prepares the copy of a new run; `None`: it has none. Nothing is asked of the destination yet.
    ///
    /// # Errors
    /// The address isn't one, or the store can't be written.
    pub(crate) fn of_new_run(
        run: &RunId,
        plan: &mut Plan,
        settings: &Settings,
    ) -> Result<Option<Self>, Failure> {
        let Some(address) = chosen(plan, settings)? else { return Ok(None) };
        let store = Store::open(&settings.store.value).map_err(unreadable)?;
        let mut copying = Self::open(&address, run, &store, settings)?;
        copying.set_lease(plan);
        Ok(Some(copying))
    }

    /// Takes the lease of a run that is resumed, and fetches the trials that another controller made meanwhile.
    ///
    /// # Errors
    /// Another controller has the lease, or the destination doesn't answer.
    pub(crate) fn of_resumed_run(
        address: &CopyAddress,
        run: &RunId,
        store: &Store,
        settings: &Settings,
        take_over: bool,
    ) -> Result<Self, Failure> {
        let mut copying = Self::open(address, run, store, settings)?;
        copying.claim(take_over)?;
        copying.renewed = Instant::now();
        if !copying.has_head(store)? {
            return Ok(copying);
        }
        let got = fetch(copying.sender.objects(), store, run, &folder(settings)).map_err(failure)?;
        if got.trials > 0 || !got.was_here {
            output::aside(&format!("run {run}: {} trials were fetched from {address}", got.trials));
        }
        Ok(copying)
    }

    fn open(address: &CopyAddress, run: &RunId, store: &Store, settings: &Settings) -> Result<Self, Failure> {
        let cancel = Arc::new(AtomicBool::new(false));
        let objects = address.open(settings.allows_plain_http(), &cancel).map_err(failure)?;
        let me = Controller::here(store, &folder(settings), run).map_err(Failure::machine)?;
        Ok(Self {
            address: address.to_string(),
            run: run.clone(),
            sender: Sender::new(objects, run, me, LEASE),
            lease: LEASE,
            cancel,
            running: 0,
            renewed: Instant::now(),
            has_warned: false,
            is_lost: false,
            has_ended: false,
        })
    }

    /// Whether the run was ever copied. One that is here and was never copied begins its copy now.
    fn has_head(&self, store: &Store) -> Result<bool, Failure> {
        let is_here = store.runs().map_err(unreadable)?.iter().any(|known| known.id == self.run);
        let has_head = share::copies::has_run(self.sender.objects(), &self.run).map_err(failure)?;
        Ok(has_head || !is_here)
    }

    /// Makes the lease last twice as long as a round: in a round of several machines there may be no moment to renew it.
    pub(crate) fn set_lease(&mut self, plan: &Plan) {
        let round = spec::forecast(plan).seconds / f64::from(plan.measure.rounds.max(1));
        let twice = Duration::try_from_secs_f64(2.0 * round).unwrap_or(LONGEST_LEASE);
        self.lease = twice.clamp(LEASE, LONGEST_LEASE);
        self.sender.set_lease(self.lease);
    }

    fn claim(&mut self, take_over: bool) -> Result<(), Failure> {
        let (run, address) = (&self.run, &self.address);
        match self.sender.claim(Moment::now(), take_over) {
            Ok(Claim::Free | Claim::Own) => {}
            Ok(Claim::Expired(lease)) => output::aside(&format!(
                "the lease of the controller on {} has expired: this controller goes on with run {run}",
                lease.host.shown()
            )),
            Ok(Claim::TakenOver(lease)) => output::aside(&format!(
                "run {run} is taken over from the controller on {}: if that one is alive, it stops before its next trial",
                lease.host.shown()
            )),
            Err(LeaseError::Share(error)) => {
                return Err(Failure::machine(format!(
                    "can't learn from {address} whether another controller goes on with run {run}: {}; --copy-to none goes on without the copy",
                    chain(&error)
                )));
            }
            Err(held) => return Err(Failure::machine(held)),
        }
        Ok(())
    }

    /// Sends what the copy lacks after an event, if no trial is under way. Returns warnings for the user.
    ///
    /// # Errors
    /// Another controller has the run: this one must not begin a trial.
    pub(crate) fn after(
        &mut self,
        event: &Event,
        store: &Store,
        asked: &AtomicBool,
    ) -> Result<Vec<String>, LeaseError> {
        match event {
            Event::TrialStarted { .. } => {
                self.running += 1;
                return Ok(Vec::new());
            }
            Event::TrialFinished { .. } => self.running = self.running.saturating_sub(1),
            Event::VolumesReady { .. } => {}
            _ => return Ok(Vec::new()),
        }
        if self.running > 0 {
            // Other machines measure: only a lease that grows old is worth a request.
            if self.renewed.elapsed() > self.lease / 2 {
                self.renewed = Instant::now();
                let sender = &mut self.sender;
                let renewed = within(&self.cancel, GIVE_BACK, asked, || sender.renew(Moment::now()));
                self.is_lost = renewed.is_err();
                renewed?;
            }
            return Ok(Vec::new());
        }
        let sent = self.pass(store, asked, (GAP, GAP_LIMIT), false)?;
        let mut warnings = others(&self.run, &sent);
        let is_silent = self.has_warned || asked.load(Ordering::Relaxed);
        if let Some(error) = sent.failure.as_ref().filter(|_| !is_silent) {
            self.has_warned = true;
            warnings.push(format!(
                "can't copy trials to {}: {}; the run goes on, and what isn't sent is tried again",
                self.address,
                self.reason(error, GAP_LIMIT)
            ));
        }
        Ok(warnings)
    }

    fn pass(
        &mut self,
        store: &Store,
        asked: &AtomicBool,
        (time, limit): (Duration, Duration),
        insist: bool,
    ) -> Result<Sent, LeaseError> {
        self.renewed = Instant::now();
        let until = Instant::now() + time;
        let sender = &mut self.sender;
        let sent = within(&self.cancel, limit, asked, || sender.pass(store, &Moment::now, until, insist));
        self.is_lost |= sent.is_err();
        sent
    }

    fn reason(&self, error: &ShareError, limit: Duration) -> String {
        if self.cancel.load(Ordering::Relaxed) {
            return format!("it didn't take in all within {} s", limit.as_secs());
        }
        chain(error)
    }

    /// Sends what is left at the end of a session, gives the lease back, and tells the user what isn't sent.
    pub(crate) fn end(&mut self, store: &Store, asked: &AtomicBool) {
        self.has_ended = true;
        if self.is_lost {
            return;
        }
        // Who asked to stop waits for the copy, but not for long; who asks now doesn't wait at all.
        let never = AtomicBool::new(false);
        let (limit, asked) = if asked.load(Ordering::Relaxed) { (SIGNALLED, &never) } else { (END, asked) };
        loop {
            let sent = match self.pass(store, asked, (limit, limit), true) {
                Ok(sent) => sent,
                Err(lost) => return output::aside(&format!("warning: {}", chain(&lost))),
            };
            for text in others(&self.run, &sent) {
                output::aside(&format!("warning: {text}"));
            }
            if sent.failure.is_some() && sent.trials > 0 && !asked.load(Ordering::Relaxed) {
                continue;
            }
            output::aside(&self.told(&sent, limit));
            break;
        }
        self.give_back();
    }

    fn told(&self, sent: &Sent, limit: Duration) -> String {
        let Self { address, run, .. } = self;
        if sent.failure.is_none() && sent.unsent == 0 {
            return format!(
                "copied to {address}; on another machine: diskproof resume --from {address} {run}"
            );
        }
        let why = sent.failure.as_ref().map_or_else(
            || format!("it didn't take in all within {} s", limit.as_secs()),
            |error| self.reason(error, limit),
        );
        let what = match sent.unsent {
            0 => format!("the end of run {run} is"),
            1 => format!("1 trial of run {run} is"),
            n => format!("{n} trials of run {run} are"),
        };
        format!("warning: {what} not copied to {address} yet: {why}; `diskproof resume {run}` sends the rest")
    }

    /// Sends the bill of created machines, which the session knows after its end: they are destroyed by then.
    pub(crate) fn send_bill(mut self, store: &Store) {
        if self.is_lost {
            return;
        }
        self.has_ended = true;
        let failure = match self.pass(store, &AtomicBool::new(false), (GAP, GAP_LIMIT), true) {
            Ok(sent) => sent.failure.map(|error| self.reason(&error, GAP_LIMIT)),
            Err(lost) => Some(chain(&lost)),
        };
        if let Some(why) = failure {
            let Self { address, run, .. } = &self;
            output::aside(&format!("warning: the bill of run {run} is not copied to {address}: {why}"));
        }
        self.give_back();
    }

    /// A lease that can't be given back expires.
    fn give_back(&mut self) {
        let (sender, never) = (&mut self.sender, AtomicBool::new(false));
        let _ = within(&self.cancel, GIVE_BACK, &never, || sender.give_back(Moment::now()));
    }
}

impl Drop for Copying {
    fn drop(&mut self) {
        if !self.has_ended && !self.is_lost {
            self.give_back();
        }
    }
}

fn others(run: &RunId, sent: &Sent) -> Vec<String> {
    let text = |trial: &record::id::TrialId| {
        format!(
            "another controller has copied its own trial of cell {} in round {} of run {run}: this one's stays in this store only",
            trial.cell,
            trial.round + 1
        )
    };
    sent.others.iter().map(text).collect()
}

/// Does some work at the destination, and cancels it when the time is over or the user asks to stop. `cancel` then stays set until the
/// next work.
fn within<T>(cancel: &AtomicBool, limit: Duration, asked: &AtomicBool, work: impl FnOnce() -> T) -> T {
    cancel.store(false, Ordering::Relaxed);
    let begun = Instant::now();
    let (done, is_done) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            while is_done.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                if begun.elapsed() >= limit || asked.load(Ordering::Relaxed) {
                    cancel.store(true, Ordering::Relaxed);
                }
            }
        });
        let out = work();
        drop(done);
        out
    })
}

/// Looks for a run among the copies at a place.
///
/// # Errors
/// There is none of this name, or several; without a name, none that isn't complete.
pub(crate) fn find(
    objects: &dyn Objects,
    address: &CopyAddress,
    name: Option<&str>,
    is_over: impl Fn(&record::event::Stopped) -> bool,
) -> Result<RunId, Failure> {
    let mut runs = share::copies::runs(objects).map_err(failure)?;
    let Some(name) = name else {
        let open = |run: &share::copies::CopiedRun| run.trials < run.trials_planned && !is_over(&run.stopped);
        let found = runs.into_iter().filter(open).max_by(|a, b| a.run.cmp(&b.run));
        return found.map(|run| run.run).ok_or_else(|| {
            Failure::input(format!(
                "no run at {address} is incomplete; `diskproof resume --from {address} RUN` fetches one"
            ))
        });
    };
    if let Some(exact) = runs.iter().find(|run| run.run.0 == name) {
        return Ok(exact.run.clone());
    }
    let known: Vec<String> = runs.iter().rev().take(5).map(|run| run.run.0.clone()).collect();
    runs.retain(|run| run.run.0.starts_with(name));
    match runs.as_slice() {
        [one] => Ok(one.run.clone()),
        [] => Err(Failure::input(format!(
            "there is no run `{}` at {address}; there are: {}",
            name.shown(),
            if known.is_empty() { "none".to_owned() } else { known.join(", ") }
        ))),
        _ => Err(Failure::input(format!(
            "`{}` could be any of {} runs: give more of it",
            name.shown(),
            runs.len()
        ))),
    }
}
