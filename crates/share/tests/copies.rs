//! Copies of runs: what is sent and when, who holds the lease, and what another controller gets.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "copies/place.rs"]
mod place;
#[path = "../../store/tests/support/sample.rs"]
mod sample;

use diskproof_share::ShareError;
use diskproof_share::copies::{
    Claim, Controller, CopyAddress, Fetched, LeaseError, Moment, Sender, Sent, fetch, runs,
};
use place::Place;
use record::event::Stopped;
use record::id::RunId;
use record::plan::Raised;
use record::trial::Outcome;
use sample::{environment, plan, run_id, trial};
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use store::Store;
use tempfile::TempDir;

const LEASE: Duration = Duration::from_secs(900);
/// A lease that expired longer ago than clocks may differ: 5 minutes.
const EXPIRED_MS: u64 = (900 + 301) * 1000;

/// A clock that a test sets.
struct Clock {
    begun: Instant,
    ms: Cell<u64>,
}

impl Clock {
    fn new() -> Self {
        Self { begun: Instant::now(), ms: Cell::new(0) }
    }

    fn pass(&self, ms: u64) {
        self.ms.set(self.ms.get() + ms);
    }

    fn now(&self) -> Moment {
        let ms = self.ms.get();
        Moment { at: self.begun + Duration::from_millis(ms), unix_ms: 1_795_000_000_000 + ms }
    }
}

struct Site {
    folder: TempDir,
    store: Store,
    run: RunId,
}

fn site() -> Site {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("diskproof.db")).unwrap();
    Site { folder, store, run: run_id("20261126-201455-3f9a") }
}

fn begun() -> Site {
    let site = site();
    site.store.create_run(&site.run, &plan(2, 3), &environment("6.1")).unwrap();
    site
}

fn sender(place: &Rc<Place>, run: &RunId, name: &str) -> Sender {
    Sender::new(place.boxed(), run, Controller::named(name, &format!("{name}-1"), name), LEASE)
}

fn pass(sender: &mut Sender, store: &Store, clock: &Clock) -> Sent {
    let until = clock.now().at + Duration::from_secs(20);
    sender.pass(store, &|| clock.now(), until, false).unwrap()
}

#[test]
fn each_trial_is_sent_once_and_another_store_gets_the_same_records() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let (store, run) = (&site.store, &site.run);
    let mut sender = sender(&place, run, "a");
    assert_eq!(sender.claim(clock.now(), false).unwrap(), Claim::Free);
    let mut cut_off = trial(1, 0);
    (cut_off.cut_off, cut_off.outcome) = (true, Outcome::Failed("lost".to_owned()));
    for (number, trial) in [trial(0, 0), cut_off, trial(1, 0), trial(1, 1)].iter().enumerate() {
        store.append_trial(run, trial).unwrap();
        let sent = pass(&mut sender, store, &clock);
        assert_eq!((sent.trials, sent.unsent), (1, 0), "{:?}", sent.failure);
        assert_eq!(place.count("/trials/"), number + 1);
    }
    store.raise_budgets(run, &Raised { rounds: Some(5), ..Raised::of(&plan(2, 3)) }).unwrap();
    store.finish_run(run, &Stopped::Interrupted).unwrap();
    assert_eq!(pass(&mut sender, store, &clock).trials, 0);
    assert!(place.writes.borrow().iter().filter(|(key, _)| key.contains("/trials/")).all(|(_, n)| *n == 1));

    let elsewhere = self::site();
    let got = fetch(&*place.boxed(), &elsewhere.store, run, elsewhere.folder.path()).unwrap();
    assert_eq!((got.was_here, got.trials), (false, 4));
    let (there, here) = (store.load(run).unwrap(), elsewhere.store.load(run).unwrap());
    assert_eq!(
        (&there.plan, &there.environment, &there.stopped),
        (&here.plan, &here.environment, &here.stopped)
    );
    assert_eq!(there.trials.len(), here.trials.len());
    assert!(there.trials.iter().all(|trial| here.trials.contains(trial)), "raw output included");
    assert_eq!(elsewhere.store.origin(run).unwrap(), None, "a run of one's own goes on");
    let listed = runs(&*place.boxed()).unwrap();
    assert_eq!((listed.len(), listed[0].trials, &listed[0].stopped), (1, 3, &Stopped::Interrupted));

    // Again, nothing is new; a trial more is the only one that comes.
    let again = fetch(&*place.boxed(), &elsewhere.store, run, elsewhere.folder.path()).unwrap();
    assert_eq!((again.was_here, again.trials), (true, 0));
    store.append_trial(run, &trial(0, 1)).unwrap();
    pass(&mut sender, store, &clock);
    assert_eq!(fetch(&*place.boxed(), &elsewhere.store, run, elsewhere.folder.path()).unwrap().trials, 1);
    assert_eq!(elsewhere.store.done(run).unwrap(), store.done(run).unwrap());
}

/// The results file refuses a write in the middle of a fetch: of the raised budgets, then of the trial.
#[test]
fn a_fetch_that_is_cut_off_is_complete_after_the_next_one() {
    let (place, clock, site, elsewhere) = (Place::new(), Clock::new(), begun(), site());
    let (store, run) = (&site.store, &site.run);
    let mut sender = sender(&place, run, "a");
    store.append_trial(run, &trial(0, 0)).unwrap();
    pass(&mut sender, store, &clock);
    let fetched = || fetch(&*place.boxed(), &elsewhere.store, run, elsewhere.folder.path());
    assert_eq!(fetched().unwrap().trials, 1);
    store.append_trial(run, &trial(0, 1)).unwrap();
    store.raise_budgets(run, &Raised { rounds: Some(5), ..Raised::of(&plan(2, 3)) }).unwrap();
    store.finish_run(run, &Stopped::Interrupted).unwrap();
    pass(&mut sender, store, &clock);

    let file = rusqlite::Connection::open(elsewhere.store.path()).unwrap();
    for table in ["run_raised", "trial"] {
        let refuse =
            format!("CREATE TRIGGER cut BEFORE INSERT ON {table} BEGIN SELECT RAISE(ABORT, 'cut off'); END");
        file.execute_batch(&refuse).unwrap();
        let failed = fetched().unwrap_err();
        assert!(record::printable::chain(&failed).contains("cut off"), "{failed}");
        file.execute_batch("DROP TRIGGER cut").unwrap();
    }
    assert_eq!(fetched().unwrap(), Fetched { was_here: true, trials: 1 });
    let (there, here) = (store.load(run).unwrap(), elsewhere.store.load(run).unwrap());
    assert_eq!((&there.plan, &there.stopped), (&here.plan, &here.stopped));
    assert_eq!(here.trials.len(), 2);
}

#[test]
fn what_is_not_sent_waits_and_a_destination_that_is_down_is_not_asked_all_the_time() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let mut sender = sender(&place, &site.run, "a");
    place.down.set(true);
    let mut failures = 0;
    for round in 0..3 {
        for cell in 0..2 {
            site.store.append_trial(&site.run, &trial(cell, round)).unwrap();
            let sent = pass(&mut sender, &site.store, &clock);
            failures += u32::from(sent.failure.is_some());
            clock.pass(6_000);
        }
    }
    // Tried at 0, 12 (10 s later) and not before 32 s.
    assert_eq!(failures, 2);
    place.down.set(false);
    clock.pass(60_000);
    let sent = pass(&mut sender, &site.store, &clock);
    assert_eq!((sent.trials, sent.unsent), (6, 0));
    assert_eq!(place.count("/trials/"), 6);
}

#[test]
fn a_pass_ends_when_its_time_is_over_and_the_next_one_goes_on() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let mut sender = sender(&place, &site.run, "a");
    for round in 0..3 {
        site.store.append_trial(&site.run, &trial(0, round)).unwrap();
    }
    let until = clock.now().at + Duration::from_secs(20);
    // Each look at the clock takes 8 seconds.
    let slow = || {
        clock.pass(8_000);
        clock.now()
    };
    let sent = sender.pass(&site.store, &slow, until, false).unwrap();
    assert!(sent.trials < 3 && sent.trials + sent.unsent == 3 && sent.failure.is_none(), "{sent:?}");
    let before = sent.unsent;
    assert_eq!(pass(&mut sender, &site.store, &clock).trials, before);
}

#[test]
fn a_lost_answer_sends_nothing_twice_and_loses_no_lease() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let mut sender = sender(&place, &site.run, "a");
    site.store.append_trial(&site.run, &trial(0, 0)).unwrap();
    for part in ["lease", "plan", "run.json", "trials"] {
        *place.loses_answers.borrow_mut() = Some(part.to_owned());
        assert!(pass(&mut sender, &site.store, &clock).failure.is_some(), "{part}");
        clock.pass(600_000);
    }
    *place.loses_answers.borrow_mut() = None;
    let sent = pass(&mut sender, &site.store, &clock);
    assert_eq!((sent.unsent, sent.others.len()), (0, 0), "{:?}", sent.failure);
    assert_eq!(place.count("/trials/"), 1);
}

#[test]
fn of_two_controllers_one_goes_on() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let (mut one, mut other) = (sender(&place, &site.run, "a"), sender(&place, &site.run, "b"));
    one.claim(clock.now(), false).unwrap();
    let refused = other.claim(clock.now(), false).unwrap_err();
    assert!(matches!(&refused, LeaseError::Held { lease, .. } if lease.host == "a"), "{refused}");
    assert!(refused.to_string().contains("--take-over"), "{refused}");
    // It is renewed, so it doesn't expire.
    for _ in 0..10 {
        clock.pass(600_000);
        pass(&mut one, &site.store, &clock);
        assert!(matches!(other.claim(clock.now(), false), Err(LeaseError::Held { .. })));
    }
    // The owner says that the other one is dead. If it isn't, it finds out before its next trial.
    let claim = other.claim(clock.now(), true).unwrap();
    assert!(matches!(&claim, Claim::TakenOver(lease) if lease.host == "a"), "{claim:?}");
    let lost = one.pass(&site.store, &|| clock.now(), clock.now().at, false).unwrap_err();
    assert!(matches!(&lost, LeaseError::Lost { lease, .. } if lease.host == "b"), "{lost}");
    assert!(matches!(one.renew(clock.now()), Err(LeaseError::Lost { .. })));
    other.give_back(clock.now()).unwrap();
    assert_eq!(one.claim(clock.now(), false).unwrap(), Claim::Free);
}

#[test]
fn a_controller_that_just_lost_its_lease_overwrites_nothing() {
    let (place, clock, site, elsewhere) = (Place::new(), Rc::new(Clock::new()), begun(), begun());
    let mut one = sender(&place, &site.run, "a");
    pass(&mut one, &site.store, &clock);
    site.store.finish_run(&site.run, &Stopped::Interrupted).unwrap();
    // The user takes the run over after this controller has looked at its lease, and before it writes.
    let mut other = sender(&place, &site.run, "b");
    let (others_clock, run) = (Rc::clone(&clock), site.run.clone());
    let takes_over = move || {
        other.claim(others_clock.now(), true).unwrap();
        elsewhere.store.finish_run(&run, &Stopped::TimeSpent).unwrap();
        assert!(pass(&mut other, &elsewhere.store, &others_clock).failure.is_none());
    };
    *place.meanwhile.borrow_mut() = Some(("run.json", Box::new(takes_over)));
    let until = clock.now().at + Duration::from_secs(20);
    let lost = one.pass(&site.store, &|| clock.now(), until, false).unwrap_err();
    assert!(matches!(&lost, LeaseError::Lost { lease, .. } if lease.host == "b"), "{lost}");
    assert_eq!(
        runs(&*place.boxed()).unwrap()[0].stopped,
        Stopped::TimeSpent,
        "the other one's run.json stays"
    );
}

#[test]
fn an_expired_lease_is_free_but_not_before_the_clocks_can_agree() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    let (mut one, mut other) = (sender(&place, &site.run, "a"), sender(&place, &site.run, "b"));
    one.claim(clock.now(), false).unwrap();
    clock.pass(EXPIRED_MS - 2_000);
    assert!(matches!(other.claim(clock.now(), false), Err(LeaseError::Held { .. })), "5 minutes are left");
    clock.pass(4_000);
    assert!(matches!(other.claim(clock.now(), false).unwrap(), Claim::Expired(_)));
    assert!(matches!(one.renew(clock.now()), Err(LeaseError::Lost { .. })));
    // A controller whose clock is 4 minutes ahead takes no lease that lives.
    let ahead = Moment { unix_ms: clock.now().unix_ms + 240_000, ..clock.now() };
    clock.pass(LEASE.as_secs() * 1000);
    let late = Moment { unix_ms: ahead.unix_ms + LEASE.as_secs() * 1000, ..clock.now() };
    assert!(matches!(one.claim(late, false), Err(LeaseError::Held { .. })));
}

#[test]
fn a_controller_that_died_takes_its_own_lease_again() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    sender(&place, &site.run, "a").claim(clock.now(), false).unwrap();
    let me = Controller::named("a", "a-2", "a");
    let mut again = Sender::new(place.boxed(), &site.run, me, LEASE);
    assert_eq!(again.claim(clock.now(), false).unwrap(), Claim::Own);
}

#[test]
fn one_process_of_a_store_goes_on_with_a_run() {
    let site = begun();
    let here = || Controller::here(&site.store, site.folder.path(), &site.run);
    let first = here().unwrap();
    let error = here().unwrap_err();
    assert!(error.to_string().contains("goes on with run"), "{error}");
    let (id, session) = (first.id.clone(), first.session.clone());
    drop(first);
    let second = here().unwrap();
    assert!(second.id == id && second.session != session);
    // A copy of the store is another controller: the lock of the one keeps the other one out of nothing.
    let copied = tempfile::tempdir().unwrap();
    let path = copied.path().join("diskproof.db");
    std::fs::copy(site.store.path(), &path).unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.salt().unwrap(), site.store.salt().unwrap());
    assert_ne!(Controller::here(&store, copied.path(), &site.run).unwrap().id, id);
}

#[test]
fn a_trial_that_another_controller_sent_first_is_told() {
    let (place, clock, site, elsewhere) = (Place::new(), Clock::new(), begun(), begun());
    let mut one = sender(&place, &site.run, "a");
    site.store.append_trial(&site.run, &trial(0, 0)).unwrap();
    pass(&mut one, &site.store, &clock);
    one.give_back(clock.now()).unwrap();
    let mut other = sender(&place, &site.run, "b");
    pass(&mut other, &elsewhere.store, &clock);
    let mut rival = trial(0, 1);
    rival.seed = 5;
    site.store.append_trial(&site.run, &trial(0, 1)).unwrap();
    elsewhere.store.append_trial(&site.run, &rival).unwrap();
    pass(&mut other, &elsewhere.store, &clock);
    other.give_back(clock.now()).unwrap();
    let sent = pass(&mut one, &site.store, &clock);
    assert_eq!((sent.trials, sent.unsent, sent.others), (0, 0, vec![trial(0, 1).id]));
}

#[test]
fn a_folder_is_a_destination_too() {
    let (clock, site, folder) = (Clock::new(), begun(), tempfile::tempdir().unwrap());
    let address = CopyAddress::parse(&format!("file://{}", folder.path().to_str().unwrap())).unwrap();
    let controller = |name: &str| Controller::named(name, name, name);
    let mut one =
        Sender::new(address.open(false, &Arc::default()).unwrap(), &site.run, controller("a"), LEASE);
    site.store.append_trial(&site.run, &trial(0, 0)).unwrap();
    assert_eq!(pass(&mut one, &site.store, &clock).trials, 1);
    let mut other =
        Sender::new(address.open(false, &Arc::default()).unwrap(), &site.run, controller("b"), LEASE);
    assert!(matches!(other.claim(clock.now(), false), Err(LeaseError::Held { .. })));
    let objects = address.open(false, &Arc::default()).unwrap();
    assert_eq!(runs(&*objects).unwrap().len(), 1);
    let elsewhere = self::site();
    assert_eq!(fetch(&*objects, &elsewhere.store, &site.run, elsewhere.folder.path()).unwrap().trials, 1);
    drop(folder);
    site.store.append_trial(&site.run, &trial(1, 0)).unwrap();
    let sent = pass(&mut one, &site.store, &clock);
    assert!(
        sent.failure.is_some() && sent.unsent == 1,
        "the folder isn't made anew: nothing may be mounted there"
    );
}

#[test]
fn another_run_of_the_same_name_is_refused_on_both_sides() {
    let (place, clock, site, elsewhere) = (Place::new(), Clock::new(), begun(), site());
    pass(&mut sender(&place, &site.run, "a"), &site.store, &clock);
    elsewhere.store.create_run(&site.run, &plan(1, 3), &environment("6.1")).unwrap();
    assert!(fetch(&*place.boxed(), &elsewhere.store, &site.run, elsewhere.folder.path()).is_err());
    clock.pass(EXPIRED_MS + 1000);
    assert!(pass(&mut sender(&place, &site.run, "b"), &elsewhere.store, &clock).failure.is_some());
}

#[test]
fn a_server_that_ignores_conditions_gives_no_lease() {
    let (place, clock, site) = (Place::new(), Clock::new(), begun());
    place.ignores_conditions.set(true);
    let refused = sender(&place, &site.run, "a").claim(clock.now(), false).unwrap_err();
    assert!(matches!(refused, LeaseError::Share(ShareError::Conditions { .. })), "{refused}");
}
