//! Sends what a copy lacks, while no trial runs.

use super::layout::{
    FORMAT, Head, experiment_key, head_key, key_of_place, pack, plan_key, trials_key, unpack, unreadable,
};
use super::lease::{Claim, Controller, Holder, LeaseError, Moment};
use super::objects::{Found, Objects};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::s3::{Condition, Put};
use record::id::{RunId, TrialId};
use record::plan::Raised;
use record::trial::TrialRecord;
use std::collections::{BTreeSet, VecDeque};
use std::time::{Duration, Instant};
use store::{Store, TrialPlace};

/// Pause after the first failure; it doubles with each further one, up to 32 times.
const PAUSE: Duration = Duration::from_secs(10);

/// Most tries to write `run.json` while others write it.
const TRIES: u32 = 3;

/// Tells the time; tests set it.
pub type Clock<'a> = &'a dyn Fn() -> Moment;

/// Sends a run's records to its copy. The store has them all, so nothing is lost if it fails.
pub struct Sender {
    objects: Box<dyn Objects>,
    run: RunId,
    holder: Holder,
    /// The last trial of the store that was looked at.
    after: Option<TrialPlace>,
    /// Trials that aren't known to be there, in the order of the store.
    pending: VecDeque<TrialPlace>,
    /// Whether `pending` knows what was there before.
    knows_there: bool,
    /// SHA-256 of the plan's object; `None`: it isn't known to be there.
    plan_digest: Option<String>,
    /// `run.json` as this controller wrote it last, with its ETag.
    head: Option<Found>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// What a pass did.
#[derive(Debug, Default)]
pub struct Sent {
    /// Number of trials that were sent.
    pub trials: u64,
    /// Number of trials that are still to be sent.
    pub unsent: u64,
    /// Trials that another controller made too and sent first. This controller's own stay in its store.
    pub others: Vec<TrialId>,
    /// Why a request failed. `None`: none failed; the time may be over, or it is too early to try again.
    pub failure: Option<ShareError>,
}

impl Sender {
    /// Makes a sender. It asks the destination nothing yet. Its leases last `lease`.
    #[must_use]
    pub fn new(objects: Box<dyn Objects>, run: &RunId, me: Controller, lease: Duration) -> Self {
        Self {
            objects,
            run: run.clone(),
            holder: Holder::new(run.clone(), me, lease),
            after: None,
            pending: VecDeque::new(),
            knows_there: false,
            plan_digest: None,
            head: None,
            failures: 0,
            retry_at: None,
        }
    }

    /// Sets how long a lease lasts from now on.
    pub fn set_lease(&mut self, lease: Duration) {
        self.holder.set_lease(lease);
    }

    /// The destination.
    #[must_use]
    pub fn objects(&self) -> &dyn Objects {
        &*self.objects
    }

    /// Takes the run's lease, as [`Holder::claim`].
    ///
    /// # Errors
    /// As [`Holder::claim`].
    pub fn claim(&mut self, now: Moment, take_over: bool) -> Result<Claim, LeaseError> {
        self.holder.claim(&*self.objects, now, take_over)
    }

    /// Renews the lease only. A destination that doesn't answer is no error.
    ///
    /// # Errors
    /// Another controller has the run, or has taken it over.
    pub fn renew(&mut self, now: Moment) -> Result<(), LeaseError> {
        match self.holder.keep(&*self.objects, now) {
            Err(LeaseError::Share(_)) | Ok(()) => Ok(()),
            Err(lost) => Err(lost),
        }
    }

    /// Renews the lease and sends what the copy lacks. Begins nothing new after `until`. After a failure it pauses; `insist` skips the pause.
    ///
    /// # Errors
    /// Another controller has the run, or has taken it over. If the destination fails, [`Sent::failure`] says so.
    pub fn pass(
        &mut self,
        store: &Store,
        clock: Clock<'_>,
        until: Instant,
        insist: bool,
    ) -> Result<Sent, LeaseError> {
        let mut sent = Sent::default();
        let now = clock();
        let waits = !insist && self.retry_at.is_some_and(|at| now.at < at);
        let done = self
            .look(store)
            .and_then(|()| if waits { Ok(()) } else { self.send(store, clock, until, &mut sent) });
        sent.unsent = self.pending.len() as u64;
        match done {
            Ok(()) if waits => {}
            Ok(()) => {
                self.failures = 0;
                self.retry_at = None;
            }
            Err(LeaseError::Share(error)) => {
                self.retry_at = Some(clock().at + PAUSE * 2_u32.pow(self.failures.min(5)));
                self.failures = self.failures.saturating_add(1);
                sent.failure = Some(error);
            }
            Err(lost) => return Err(lost),
        }
        Ok(sent)
    }

    /// Gives the lease back, as [`Holder::give_back`].
    ///
    /// # Errors
    /// As [`Holder::give_back`].
    pub fn give_back(&mut self, now: Moment) -> Result<(), ShareError> {
        self.holder.give_back(&*self.objects, now)
    }

    /// Adds the trials that the store got meanwhile.
    fn look(&mut self, store: &Store) -> Result<(), LeaseError> {
        let new = store.trials_since(&self.run, self.after.as_ref()).map_err(ShareError::from)?;
        if let Some(last) = new.last() {
            self.after = Some(last.clone());
        }
        self.pending.extend(new);
        Ok(())
    }

    fn send(
        &mut self,
        store: &Store,
        clock: Clock<'_>,
        until: Instant,
        sent: &mut Sent,
    ) -> Result<(), LeaseError> {
        self.holder.keep(&*self.objects, clock())?;
        if !self.knows_there {
            let there: BTreeSet<String> = self.objects.keys(&trials_key(&self.run))?.into_iter().collect();
            let run = &self.run;
            self.pending.retain(|place| !there.contains(&key_of_place(run, place)));
            self.knows_there = true;
        }
        self.send_head(store, clock)?;
        while let Some(place) = self.pending.front() {
            if clock().at >= until {
                break;
            }
            if self.send_trial(store, place)? {
                sent.trials += 1;
            } else {
                sent.others.push(place.id.clone());
            }
            self.pending.pop_front();
        }
        Ok(())
    }

    /// Sends `run.json` if it has changed. The plan goes first, so `run.json` never stands without it. A controller that lost its lease a
    /// moment ago must not overwrite the other one's `run.json`, so the write has a condition.
    fn send_head(&mut self, store: &Store, clock: Clock<'_>) -> Result<(), LeaseError> {
        let bytes = self.packed_head(store)?;
        let key = head_key(&self.run);
        for _ in 0..TRIES {
            if self.head.as_ref().is_some_and(|there| there.bytes == bytes) {
                return Ok(());
            }
            let there = match self.head.take() {
                Some(own) => Some(own),
                None => self.objects.get(&key)?,
            };
            let condition = there.map_or(Condition::IfAbsent, |there| Condition::IfMatch(there.etag));
            if let Put::Done { etag } = self.objects.put(&key, &bytes, &condition)? {
                self.head = Some(Found { bytes, etag });
                return Ok(());
            }
            self.holder.keep(&*self.objects, clock())?;
        }
        Err(unreadable(&key, "it changes with every look".to_owned()).into())
    }

    /// Returns `run.json`. Sends the plan that it names.
    fn packed_head(&mut self, store: &Store) -> Result<Vec<u8>, ShareError> {
        let plan_digest = match &self.plan_digest {
            Some(digest) => digest.clone(),
            None => self.send_plan(store)?,
        };
        let head = store.head(&self.run)?;
        let made = store.plan_as_made(&self.run)?;
        let summary = store.runs()?.into_iter().find(|summary| summary.id == self.run);
        let head = Head {
            format: FORMAT,
            run: self.run.clone(),
            experiment: head.plan.experiment.clone(),
            started_unix_ms: summary.as_ref().map_or(0, |summary| summary.started_unix_ms),
            trials_planned: summary.map_or(0, |summary| summary.trials_planned),
            plan_digest,
            raised: (head.plan != made).then(|| Raised::of(&head.plan)),
            environment: head.environment,
            volumes: head.volumes,
            stopped: head.stopped,
        };
        serde_json::to_vec(&head)
            .map_err(|error| ShareError::Pack { what: format!("run {}", self.run), source: error.into() })
    }

    /// Sends the plan and the experiment file. Returns the digest of the plan's object.
    fn send_plan(&mut self, store: &Store) -> Result<String, ShareError> {
        let (key, plan) = (plan_key(&self.run), store.plan_as_made(&self.run)?);
        let mut bytes = pack("a plan", &plan)?;
        if self.objects.put(&key, &bytes, &Condition::IfAbsent)? == Put::Refused {
            let there =
                self.objects.get(&key)?.ok_or_else(|| unreadable(&key, "it comes and goes".to_owned()))?;
            if unpack::<record::plan::Plan>(&key, &there.bytes)? != plan {
                let why = "it is the plan of another run of the same name".to_owned();
                return Err(unreadable(&key, why));
            }
            // Another version of zstd compresses the same plan to other bytes.
            bytes = there.bytes;
        }
        self.objects.put(&experiment_key(&self.run), plan.source.as_bytes(), &Condition::None)?;
        let digest = Digest::of(&bytes).to_string();
        self.plan_digest = Some(digest.clone());
        Ok(digest)
    }

    /// Sends a trial. Returns false if another trial of this name is there.
    fn send_trial(&self, store: &Store, place: &TrialPlace) -> Result<bool, ShareError> {
        let key = key_of_place(&self.run, place);
        let trial = store.trial_at(&self.run, place)?;
        if self.objects.put(&key, &pack("a trial", &trial)?, &Condition::IfAbsent)? != Put::Refused {
            return Ok(true);
        }
        let there =
            self.objects.get(&key)?.ok_or_else(|| unreadable(&key, "it comes and goes".to_owned()))?;
        Ok(unpack::<TrialRecord>(&key, &there.bytes)? == trial)
    }
}
