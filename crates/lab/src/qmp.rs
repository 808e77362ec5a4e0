//! QEMU's machine protocol (QMP): a command is one line of JSON, and so is its answer. Events come in between.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The longest time until an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// A failure of QEMU's monitor.
#[derive(Debug, Error)]
pub enum QmpError {
    /// The socket can't be connected, or the connection broke.
    #[error("QEMU's monitor does not answer")]
    Link(#[from] io::Error),
    /// A line isn't valid QMP.
    #[error("QEMU's monitor says what is not its protocol: {0}")]
    Speech(String),
    /// QEMU ended during a command.
    #[error("QEMU ended while it was asked")]
    Ended,
    /// QEMU refused a command.
    #[error("{command}: {reason}")]
    Refused {
        /// The command.
        command: String,
        /// QEMU's reason.
        reason: String,
    },
    /// An event didn't come in time.
    #[error("QEMU did not tell {event} within {seconds} s")]
    Silence {
        /// The event.
        event: String,
        /// The time of waiting.
        seconds: u64,
    },
}

/// A connection to a monitor.
#[derive(Debug)]
pub(crate) struct Monitor {
    link: BufReader<UnixStream>,
    /// Events that came while the connection waited for something else.
    heard: Vec<Value>,
}

impl Monitor {
    /// Connects, and negotiates capabilities.
    pub(crate) fn connect(path: &Path) -> Result<Self, QmpError> {
        Self::over(UnixStream::connect(path)?)
    }

    fn over(socket: UnixStream) -> Result<Self, QmpError> {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let mut monitor = Self { link: BufReader::new(socket), heard: Vec::new() };
        let greeting = monitor.line()?;
        if greeting.get("QMP").is_none() {
            return Err(QmpError::Speech(greeting.to_string()));
        }
        monitor.ask("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    fn line(&mut self) -> Result<Value, QmpError> {
        let mut line = String::new();
        if self.link.read_line(&mut line)? == 0 {
            return Err(QmpError::Ended);
        }
        serde_json::from_str(&line).map_err(|_| QmpError::Speech(line.trim().to_owned()))
    }

    /// Sends one command and returns its answer.
    pub(crate) fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let mut line = json!({ "execute": command, "arguments": arguments }).to_string();
        line.push('\n');
        self.link.get_mut().write_all(line.as_bytes())?;
        loop {
            let mut told = self.line()?;
            if let Some(answer) = told.get_mut("return") {
                return Ok(answer.take());
            }
            if let Some(error) = told.get("error") {
                let reason = error["desc"].as_str().unwrap_or("it gives no reason").to_owned();
                return Err(QmpError::Refused { command: command.to_owned(), reason });
            }
            if told.get("event").is_none() {
                return Err(QmpError::Speech(told.to_string()));
            }
            self.heard.push(told);
        }
    }

    /// Waits for an event for which `is_it` accepts the data; one that has come already counts.
    pub(crate) fn wait(
        &mut self,
        event: &str,
        limit: Duration,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<(), QmpError> {
        let matches = |told: &Value| told["event"] == event && is_it(&told["data"]);
        if let Some(at) = self.heard.iter().position(matches) {
            self.heard.remove(at);
            return Ok(());
        }
        let silence = || QmpError::Silence { event: event.to_owned(), seconds: limit.as_secs() };
        let ends = Instant::now() + limit;
        loop {
            let left = ends.checked_duration_since(Instant::now()).filter(|left| !left.is_zero());
            self.link.get_ref().set_read_timeout(Some(left.ok_or_else(silence)?))?;
            let told = self.line();
            self.link.get_ref().set_read_timeout(Some(PATIENCE))?;
            match told {
                Ok(told) if matches(&told) => return Ok(()),
                Ok(told) => self.heard.push(told),
                Err(QmpError::Link(e)) if e.kind() == io::ErrorKind::WouldBlock => return Err(silence()),
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Monitor, QmpError};
    use serde_json::json;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixStream;
    use std::thread::{JoinHandle, spawn};
    use std::time::Duration;

    /// A fake QEMU that greets and then answers each line with the given text; returns the lines that it received.
    fn fake<const N: usize>(answers: [&'static str; N]) -> (UnixStream, JoinHandle<Vec<String>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let serve = spawn(move || {
            let mut reader = BufReader::new(theirs);
            let mut asked = Vec::new();
            for (index, answer) in answers.into_iter().enumerate() {
                if index > 0 {
                    let mut line = String::new();
                    reader.read_line(&mut line).unwrap();
                    asked.push(line.trim().to_owned());
                }
                reader.get_mut().write_all(answer.as_bytes()).unwrap();
            }
            asked
        });
        (ours, serve)
    }

    const GREETING: &str = "{\"QMP\": {\"version\": {}, \"capabilities\": []}}\n";
    const FINE: &str = "{\"return\": {}}\n";

    #[test]
    fn answers_are_found_between_events() {
        let noisy = "{\"event\": \"STOP\", \"data\": {}}\n{\"return\": {\"status\": \"paused\"}}\n";
        let (ours, serve) = fake([GREETING, FINE, noisy]);
        let mut monitor = Monitor::over(ours).unwrap();
        let answer = monitor.ask("query-status", json!({})).unwrap();
        assert_eq!(answer["status"], "paused");
        monitor.wait("STOP", Duration::from_secs(1), |_| true).unwrap();
        let asked = serve.join().unwrap();
        assert!(asked[0].contains("qmp_capabilities") && asked[1].contains("query-status"), "{asked:?}");
    }

    #[test]
    fn refusals_keep_their_words() {
        let refusal = "{\"error\": {\"class\": \"GenericError\", \"desc\": \"no such device\"}}\n";
        let (ours, _serve) = fake([GREETING, FINE, refusal]);
        let error = Monitor::over(ours).unwrap().ask("device_del", json!({"id": "x"})).unwrap_err();
        assert_eq!(error.to_string(), "device_del: no such device");
    }

    #[test]
    fn events_are_known_by_their_data() {
        let events = "{\"return\": {}}\n{\"event\": \"DEVICE_DELETED\", \"data\": {\"device\": \"a\"}}\n\
                      {\"event\": \"DEVICE_DELETED\", \"data\": {\"device\": \"b\"}}\n";
        let (ours, _serve) = fake([GREETING, FINE, events]);
        let mut monitor = Monitor::over(ours).unwrap();
        monitor.ask("device_del", json!({"id": "b"})).unwrap();
        monitor.wait("DEVICE_DELETED", Duration::from_secs(5), |data| data["device"] == "b").unwrap();
        monitor.wait("DEVICE_DELETED", Duration::from_secs(5), |data| data["device"] == "a").unwrap();
    }

    #[test]
    fn a_monitor_that_ends_or_is_none_is_told() {
        let (ours, _serve) = fake([GREETING, FINE]);
        let mut monitor = Monitor::over(ours).unwrap();
        assert!(matches!(monitor.ask("stop", json!({})).unwrap_err(), QmpError::Ended | QmpError::Link(_)));
        let (ours, _serve) = fake(["SSH-2.0-OpenSSH\n"]);
        assert!(matches!(Monitor::over(ours).unwrap_err(), QmpError::Speech(_)));
    }
}
