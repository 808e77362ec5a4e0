//! The state of machines: one short shell script over ssh, which needs nothing there but a POSIX shell and grep.

mod facts;

use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use host::{Ending, Input, Ssh, Stream, last_words};
use record::machine::{Machine, MachineState, MachineStatus};
use std::io;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Time limit for the whole answer; a machine that connects and then says nothing more is shown with what it said.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const MOST: usize = 4 << 20;

/// Asks for the state of machines, again and again over the same connections if wanted.
#[derive(Debug)]
pub struct Statuses<'m> {
    drive: Drive<'m>,
    fanout: usize,
}

impl<'m> Statuses<'m> {
    /// Asks once.
    #[must_use]
    pub fn once(machines: &'m [Machine], reach: &Reach, fanout: usize) -> Self {
        Self { drive: Drive::single(machines, reach), fanout }
    }

    /// Asks several times, over one connection per machine.
    ///
    /// # Errors
    /// The directory of the sockets can't be made.
    pub fn repeated(machines: &'m [Machine], reach: &Reach, fanout: usize) -> io::Result<Self> {
        Ok(Self { drive: Drive::shared(machines, reach)?, fanout })
    }

    /// Asks some of the machines, by their places in the list; `tell` gets each answer when it comes, in the order of arrival. Returns
    /// whether all were asked; `false` when it was cancelled.
    ///
    /// # Errors
    /// The kernel refuses to wait for programs.
    pub fn ask(
        &mut self,
        which: impl IntoIterator<Item = usize>,
        tell: &mut dyn FnMut(usize, MachineStatus),
        cancel: &AtomicBool,
    ) -> io::Result<bool> {
        let machines = self.drive.machines();
        let mut asking = Asking { machines, answers: vec![Answer::default(); machines.len()], tell };
        let fanout = Fanout { most: self.fanout, skips_silent: true };
        self.drive.errand(which, fanout, &mut asking, cancel)
    }
}

#[derive(Debug, Clone, Default)]
struct Answer {
    out: Vec<u8>,
    err: Vec<u8>,
}

struct Asking<'a> {
    machines: &'a [Machine],
    answers: Vec<Answer>,
    tell: &'a mut dyn FnMut(usize, MachineStatus),
}

impl Errand for Asking<'_> {
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task> {
        let Some(done) = before else {
            let call = ssh.call(&["sh", "-c", facts::SCRIPT]).timeout(PATIENCE);
            return Some(Task { call, input: Input::None });
        };
        let (Some(about), Some(answer)) = (self.machines.get(machine), self.answers.get_mut(machine)) else {
            return None;
        };
        let answer = std::mem::take(answer);
        (self.tell)(machine, status(&about.name, &done, &answer));
        None
    }

    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]) {
        let Some(answer) = self.answers.get_mut(machine) else { return };
        let kept = if stream == Stream::Out { &mut answer.out } else { &mut answer.err };
        let room = MOST.saturating_sub(kept.len());
        kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

fn status(name: &str, done: &Done, answer: &Answer) -> MachineStatus {
    let mut status = MachineStatus {
        machine: name.to_owned(),
        state: MachineState::Unknown,
        reason: None,
        took_ms: 0,
        facts: None,
    };
    let ending = match done {
        Done::Ended { ending, took } => {
            status.took_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            *ending
        }
        Done::NotStarted(failure) => {
            status.reason = Some(record::printable::chain(failure));
            return status;
        }
    };
    let said = String::from_utf8_lossy(&answer.err);
    match facts::read(&String::from_utf8_lossy(&answer.out)) {
        Some((facts, lacks)) => {
            status.state = MachineState::On;
            let cut = (ending == Ending::TimedOut)
                .then(|| format!("it did not finish its answer within {} s", PATIENCE.as_secs()));
            status.reason = cut.or(lacks);
            status.facts = Some(facts);
        }
        None if ending == Ending::TimedOut => {
            status.state = MachineState::NoAnswer;
            status.reason = Some(format!("no answer within {} s", PATIENCE.as_secs()));
        }
        None => {
            let words = last_words(&said);
            status.state = state(ending, &words);
            status.reason = Some(match status.state {
                MachineState::On => {
                    format!("its answer has another form; does a login script there print something? {words}")
                }
                _ => words,
            });
        }
    }
    status
}

/// What ssh's last words say of a machine.
pub(crate) fn state(ending: Ending, words: &str) -> MachineState {
    const NOTHING_THERE: [&str; 3] = ["No route to host", "Host is down", "Network is unreachable"];
    const NO_ANSWER: [&str; 2] = ["timed out", "did not answer"];
    const NO_ADDRESS: [&str; 2] = ["Could not resolve hostname", "Bad configuration option"];
    match ending {
        Ending::Status(255) if NOTHING_THERE.iter().any(|text| words.contains(text)) => MachineState::Off,
        Ending::Status(255) if NO_ANSWER.iter().any(|text| words.contains(text)) => MachineState::NoAnswer,
        Ending::Status(255) if NO_ADDRESS.iter().any(|text| words.contains(text)) => MachineState::Unknown,
        Ending::Status(255) => MachineState::NoSsh,
        Ending::TimedOut => MachineState::NoAnswer,
        Ending::Status(_) => MachineState::On,
        Ending::Signal(_) => MachineState::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, Done, PATIENCE, state, status};
    use host::Ending;
    use record::machine::MachineState;

    #[test]
    fn ssh_s_last_words_tell_off_from_silent_and_closed() {
        for (words, expected) in [
            ("connect to host 10.0.0.9 port 22: Connection timed out", MachineState::NoAnswer),
            ("connect to host 10.0.0.9 port 22: No route to host", MachineState::Off),
            ("connect to host 10.0.0.9 port 22: Network is unreachable", MachineState::Off),
            ("Connection timed out during banner exchange", MachineState::NoAnswer),
            ("connect to host ham port 22: Connection refused", MachineState::NoSsh),
            ("root@ham: Permission denied (publickey).", MachineState::NoSsh),
            ("Host key verification failed.", MachineState::NoSsh),
            ("Could not resolve hostname ham: Name or service not known", MachineState::Unknown),
        ] {
            assert_eq!(state(Ending::Status(255), words), expected, "{words}");
        }
        assert_eq!(state(Ending::Status(127), "sh: not found"), MachineState::On);
        assert_eq!(state(Ending::TimedOut, ""), MachineState::NoAnswer);
    }

    #[test]
    fn a_slow_machine_is_not_said_to_be_off() {
        let done = Done::Ended { ending: Ending::TimedOut, took: PATIENCE };
        let slow = status("ham", &done, &Answer::default());
        assert_eq!(
            (slow.state, slow.reason.as_deref()),
            (MachineState::NoAnswer, Some("no answer within 10 s"))
        );
        assert_eq!(slow.state.to_string(), "no answer");
        let refused =
            Answer { err: b"connect to host ham port 22: Connection refused".to_vec(), ..Answer::default() };
        let done = Done::Ended { ending: Ending::Status(255), took: PATIENCE };
        assert_eq!(status("ham", &done, &refused).state, MachineState::NoSsh);
    }
}
