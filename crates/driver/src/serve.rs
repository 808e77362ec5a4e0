//! The driver's end: reads the request, has it done, and writes the events.

use crate::protocol::{Answer, Blame, Event, Failure, Outcome, Request, Resource, Settings, Task, VERSION};
use std::io::{Read, Write};
use std::sync::Mutex;

/// A driver that is built in.
pub trait Driver: Sync {
    /// Does a task; see [`Task`].
    ///
    /// # Errors
    /// As of [`Outcome::Failed`].
    fn perform(&self, task: Task, tell: &Teller<'_>) -> Result<Answer, Failure>;
}

/// Where a driver tells how far it is; several threads may.
pub struct Teller<'a> {
    output: Mutex<&'a mut (dyn Write + Send)>,
}

impl<'a> Teller<'a> {
    /// Writes events to `output`.
    pub fn new(output: &'a mut (dyn Write + Send)) -> Self {
        Self { output: Mutex::new(output) }
    }

    /// Tells the step that begins now.
    pub fn step(&self, machine: Option<&str>, text: impl Into<String>) {
        self.tell(&Event::Step { text: text.into(), machine: machine.map(str::to_owned) });
    }

    /// Tells what a person should know.
    pub fn warn(&self, text: impl Into<String>) {
        self.tell(&Event::Warning { text: text.into() });
    }

    /// Tells the account in which the driver works.
    pub fn account(&self, id: impl Into<String>) {
        self.tell(&Event::Account { id: id.into() });
    }

    /// Tells that a resource exists now.
    pub fn made(&self, resource: Resource) {
        self.tell(&Event::Resource { resource, exists: true });
    }

    /// Tells that a resource is gone.
    pub fn removed(&self, resource: Resource) {
        self.tell(&Event::Resource { resource, exists: false });
    }

    fn tell(&self, event: &Event) {
        let mut output = self.output.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        // Nobody may listen any more; what was begun is still carried out in order.
        if let Ok(mut line) = serde_json::to_vec(event) {
            line.push(b'\n');
            let _ = output.write_all(&line).and_then(|()| output.flush());
        }
    }
}

/// Reads one request, has the driver perform it, and writes its events and the result. Returns whether it was done.
pub fn serve(driver: &dyn Driver, mut input: impl Read, output: &mut (dyn Write + Send)) -> bool {
    let tell = Teller::new(output);
    let mut text = String::new();
    let request = input.read_to_string(&mut text).map_err(|error| format!("can't read the request: {error}"));
    let request = request.and_then(|_| {
        serde_json::from_str::<Request>(&text).map_err(|error| format!("the request is not valid: {error}"))
    });
    let outcome = match request {
        Ok(request) if major(&request.protocol) != major(VERSION) => Err(Failure {
            blame: Blame::User,
            text: format!("the request speaks version {} of the driver protocol", request.protocol),
            help: Some(format!("this driver speaks version {VERSION}")),
        }),
        Ok(request) => driver.perform(request.task, &tell),
        Err(text) => Err(Failure { blame: Blame::User, text, help: None }),
    };
    let is_done = outcome.is_ok();
    let outcome = outcome.map_or_else(Outcome::Failed, Outcome::Done);
    tell.tell(&Event::Result { outcome });
    is_done
}

fn major(version: &str) -> &str {
    version.split('.').next().unwrap_or_default()
}

/// Returns the text of a setting; `None`: it isn't there or no text.
#[must_use]
pub fn text<'a>(settings: &'a Settings, key: &str) -> Option<&'a str> {
    settings.get(key)?.as_str()
}
