//! Watches machines from outside: what has changed since the last look is an alert. What is known is kept in a file, so that a restart of
//! the watcher neither forgets nor repeats.

use record::machine::{JournalSeen, MachineState, MachineStatus};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Write as _};
use std::path::Path;

/// The format of the file, and of an alert.
const STATE_FORMAT: &str = "diskproof.watch/1.0";
const ALERT_FORMAT: &str = "diskproof.alert/1.0";

/// When something is an alert.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How many times in succession a machine must not be on.
    pub misses: u32,
    /// How long the journal of a run may stay as it is, in seconds.
    pub stalled_seconds: u64,
    /// How long before a run's time budget is spent, in seconds.
    pub deadline_seconds: u64,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// A machine isn't on any more, or ssh doesn't get in.
    Off,
    /// It is on again.
    On,
    /// It was started again meanwhile.
    Rebooted,
    /// The journal of a run there hasn't changed for long.
    Stalled,
    /// The time budget of a run there is nearly spent, and the run isn't done.
    Deadline,
}

/// Something that the user is to know; the alert program gets it as JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// `diskproof.alert/1.0`.
    pub format: String,
    /// The machine.
    pub machine: String,
    /// What happened.
    pub what: What,
    /// The run, where it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Since when, in milliseconds since 1970 by this machine's clock.
    pub since_unix_ms: u64,
    /// A sentence.
    pub text: String,
}

/// What is known of the machines.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Watched {
    format: String,
    machines: BTreeMap<String, Known>,
    /// Alerts that no program has taken yet, oldest first.
    untold: Vec<Alert>,
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
struct Known {
    /// Whether its absence was an alert.
    off: bool,
    /// How many times in succession it wasn't on.
    misses: u32,
    /// When it was first not on.
    since_unix_ms: u64,
    boot_id: Option<String>,
    /// Runs whose stall was an alert.
    stalled: Vec<String>,
    /// Runs whose deadline was an alert.
    #[serde(default)]
    near_end: Vec<String>,
}

impl Watched {
    /// Reads the file; nothing is known if it doesn't exist.
    ///
    /// # Errors
    /// It can't be read, or has another format.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => return Err(error),
        };
        let watched: Self = serde_json::from_str(&text)?;
        match watched.format.strip_prefix("diskproof.watch/1.") {
            Some(_) => Ok(watched),
            None => Err(io::Error::other(format!("its format is `{}`, not {STATE_FORMAT}", watched.format))),
        }
    }

    /// Replaces the file at once.
    ///
    /// # Errors
    /// It can't be written.
    pub fn write(&mut self, path: &Path) -> io::Result<()> {
        STATE_FORMAT.clone_into(&mut self.format);
        let fresh = path.with_extension("new");
        let mut file = std::fs::File::create(&fresh)?;
        file.write_all(serde_json::to_string_pretty(&self)?.as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&fresh, path)
    }

    /// Takes a machine's state. What it makes an alert is among the untold ones afterwards.
    pub fn look(&mut self, status: &MachineStatus, limits: Limits, now_unix_ms: u64) {
        let known = self.machines.entry(status.machine.clone()).or_default();
        let machine = &status.machine;
        let alert = |what, run: Option<&str>, since_unix_ms, text: String| Alert {
            format: ALERT_FORMAT.to_owned(),
            machine: machine.clone(),
            what,
            run: run.map(str::to_owned),
            since_unix_ms,
            text,
        };
        let Some(facts) = status.facts.as_ref().filter(|_| status.state == MachineState::On) else {
            if known.misses == 0 {
                known.since_unix_ms = now_unix_ms;
            }
            known.misses = known.misses.saturating_add(1);
            if known.misses >= limits.misses && !known.off {
                known.off = true;
                let reason = status.reason.as_deref().unwrap_or("it gives no reason");
                let text = format!("{machine} {}: {reason}", missed(status.state));
                self.untold.push(alert(What::Off, None, known.since_unix_ms, text));
            }
            return;
        };
        if known.off {
            let seconds = now_unix_ms.saturating_sub(known.since_unix_ms) / 1000;
            let text = format!("{machine} is on again, after {seconds} s");
            self.untold.push(alert(What::On, None, now_unix_ms, text));
        }
        (known.off, known.misses) = (false, 0);
        if let Some(boot) = &facts.boot_id {
            if known.boot_id.as_ref().is_some_and(|before| before != boot) {
                let text = format!(
                    "{machine} was started again; runs there have ended: `diskproof machines undo {machine}`"
                );
                self.untold.push(alert(What::Rebooted, None, now_unix_ms, text));
            }
            known.boot_id = Some(boot.clone());
        }
        for journal in facts.journals.iter().flatten() {
            let run = &journal.run;
            let stalled = journal.unchanged_seconds.filter(|seconds| *seconds >= limits.stalled_seconds);
            if let Some(seconds) = stalled.filter(|_| !known.stalled.contains(run)) {
                known.stalled.push(run.clone());
                let text = format!(
                    "run {run} on {machine} has changed nothing there for {seconds} s: it hangs, or was killed (`diskproof machines undo {machine}`)"
                );
                let since = now_unix_ms.saturating_sub(seconds.saturating_mul(1000));
                self.untold.push(alert(What::Stalled, Some(run), since, text));
            }
            let ends = journal.ends_in_seconds.filter(|_| is_near_end(journal, limits));
            if let Some(seconds) = ends.filter(|_| !known.near_end.contains(run)) {
                known.near_end.push(run.clone());
                let text =
                    format!("run {run} on {machine} isn't done, and its time budget {}", spent(seconds));
                self.untold.push(alert(What::Deadline, Some(run), now_unix_ms, text));
            }
        }
        // What a machine doesn't say is as it was.
        let Some(journals) = &facts.journals else { return };
        let still = |run: &String, is: &dyn Fn(&JournalSeen) -> bool| {
            journals.iter().any(|journal| journal.run == *run && is(journal))
        };
        let is_stalled = |journal: &JournalSeen| {
            journal.unchanged_seconds.is_some_and(|seconds| seconds >= limits.stalled_seconds)
        };
        known.stalled.retain(|run| still(run, &is_stalled));
        known.near_end.retain(|run| still(run, &|journal| is_near_end(journal, limits)));
    }

    /// The oldest alert that no program has taken yet.
    #[must_use]
    pub fn untold(&self) -> Option<&Alert> {
        self.untold.first()
    }

    /// Forgets the oldest alert: a program has taken it.
    pub fn told(&mut self) {
        if !self.untold.is_empty() {
            self.untold.remove(0);
        }
    }
}

fn is_near_end(journal: &JournalSeen, limits: Limits) -> bool {
    let most = i64::try_from(limits.deadline_seconds).unwrap_or(i64::MAX);
    journal.ends_in_seconds.is_some_and(|seconds| seconds <= most)
}

/// When a time budget is spent, in words.
fn spent(in_seconds: i64) -> String {
    match in_seconds {
        0.. => format!("is spent in {in_seconds} s"),
        _ => format!("was spent {} s ago", in_seconds.unsigned_abs()),
    }
}

/// What is said of a machine that doesn't answer the question.
fn missed(state: MachineState) -> &'static str {
    match state {
        MachineState::Off => "is off",
        MachineState::NoAnswer => "does not answer",
        MachineState::NoSsh => "answers, but ssh can't log in",
        MachineState::On | MachineState::Unknown => "can't be asked",
    }
}

#[cfg(test)]
mod tests {
    use super::{Limits, Watched, What};
    use record::machine::{JournalSeen, MachineFacts, MachineState, MachineStatus};

    const LIMITS: Limits = Limits { misses: 2, stalled_seconds: 600, deadline_seconds: 600 };

    fn on(boot: &str, journals: &[(&str, u64)]) -> MachineStatus {
        let seen = |(run, seconds): &(&str, u64)| JournalSeen {
            run: (*run).to_owned(),
            unchanged_seconds: Some(*seconds),
            ends_in_seconds: None,
        };
        let facts = MachineFacts {
            boot_id: Some(boot.to_owned()),
            journals: Some(journals.iter().map(seen).collect()),
            ..MachineFacts::default()
        };
        MachineStatus {
            machine: "ham0".to_owned(),
            state: MachineState::On,
            reason: None,
            took_ms: 1,
            facts: Some(facts),
        }
    }

    fn off() -> MachineStatus {
        MachineStatus {
            state: MachineState::Off,
            facts: None,
            reason: Some("timed out".to_owned()),
            ..on("a", &[])
        }
    }

    /// The alerts of these looks, a minute apart, with the state written and read again after each.
    fn alerts(looks: &[MachineStatus]) -> Vec<(What, u64)> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("watch.json");
        let mut found = Vec::new();
        for (minute, look) in looks.iter().enumerate() {
            let mut watched = Watched::read(&path).unwrap();
            watched.look(look, LIMITS, minute as u64 * 60_000);
            watched.write(&path).unwrap();
            while let Some(alert) = watched.untold().cloned() {
                found.push((alert.what, alert.since_unix_ms / 60_000));
                watched.told();
            }
            watched.write(&path).unwrap();
        }
        found
    }

    #[test]
    fn a_machine_that_dies_is_told_once_and_one_miss_is_none() {
        assert_eq!(alerts(&[on("a", &[]), off(), on("a", &[])]), []);
        let looks = [on("a", &[]), off(), off(), off(), off(), on("a", &[]), on("a", &[])];
        assert_eq!(alerts(&looks), [(What::Off, 1), (What::On, 5)]);
        assert_eq!(alerts(&[on("a", &[]), on("b", &[]), on("b", &[])]), [(What::Rebooted, 1)]);
        assert_eq!(alerts(&[off(), off()]), [(What::Off, 0)], "also one that was never seen on");
    }

    #[test]
    fn a_run_that_stalls_is_told_once_until_it_moves() {
        let looks = [
            on("a", &[("r1", 30)]),
            on("a", &[("r1", 660)]),
            on("a", &[("r1", 720), ("r2", 5)]),
            on("a", &[("r1", 5)]),
            on("a", &[("r1", 600)]),
        ];
        assert_eq!(
            alerts(&looks).iter().map(|(what, _)| *what).collect::<Vec<_>>(),
            [What::Stalled, What::Stalled]
        );
    }

    #[test]
    fn a_run_whose_time_is_nearly_spent_is_told_once() {
        let look = |runs: &[(&str, i64)]| {
            let mut status = on("a", &[]);
            let seen = runs.iter().map(|(run, ends)| JournalSeen {
                run: (*run).to_owned(),
                unchanged_seconds: Some(1),
                ends_in_seconds: Some(*ends),
            });
            status.facts.as_mut().unwrap().journals = Some(seen.collect());
            status
        };
        let looks = [
            look(&[("r1", 660)]),
            look(&[("r1", 600), ("r2", 9000)]),
            look(&[("r1", 540), ("r2", 8940)]),
            look(&[("r1", -30)]),
            look(&[]),
            look(&[("r3", -60)]),
        ];
        assert_eq!(alerts(&looks), [(What::Deadline, 1), (What::Deadline, 5)]);
        assert_eq!(alerts(&[on("a", &[("r1", 1)])]), [], "a run without a time budget has no deadline");
        let mut watched = Watched::default();
        watched.look(&look(&[("r1", 540)]), LIMITS, 0);
        watched.look(&look(&[("r2", -30)]), LIMITS, 0);
        let texts: Vec<&str> = watched.untold.iter().map(|alert| alert.text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "run r1 on ham0 isn't done, and its time budget is spent in 540 s",
                "run r2 on ham0 isn't done, and its time budget was spent 30 s ago"
            ]
        );
    }

    #[test]
    fn an_alert_stays_until_it_is_taken_and_a_foreign_file_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("watch.json");
        let mut watched = Watched::default();
        (0..2).for_each(|at| watched.look(&off(), LIMITS, at));
        watched.write(&path).unwrap();
        let again = Watched::read(&path).unwrap();
        assert!(again.untold().is_some_and(|alert| alert.text == "ham0 is off: timed out"));
        std::fs::write(&path, r#"{"format":"diskproof.watch/2.0","machines":{},"untold":[]}"#).unwrap();
        assert!(Watched::read(&path).unwrap_err().to_string().contains("diskproof.watch/2.0"));
    }
}
