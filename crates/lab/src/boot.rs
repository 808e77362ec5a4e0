//! Starting a guest's QEMU, cold or from a saved state, until its sshd answers.

use crate::build::Image;
use crate::error::LabError;
use crate::machine::{Accel, Machine};
use crate::places::GuestPlaces;
use crate::process;
use crate::qmp::Monitor;
use crate::shape::Shape;
use crate::ssh::Door;
use crate::steps::remove;
use host::{CommandFailure, Invocation, Runner, Tool};
use record::printable::Shown as _;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// QEMU must have made its machine by then.
const MAKING: Duration = Duration::from_secs(120);
/// One command in a guest that has just come up.
const FIRST_COMMAND: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(200);
/// Lines of the console that an error quotes.
const QUOTED_LINES: usize = 12;
/// Free ports can be taken between our look and QEMU's.
const TRIES: u32 = 5;

/// A guest that is being started.
pub(crate) struct Boot<'a> {
    pub(crate) name: &'a str,
    pub(crate) places: &'a GuestPlaces,
    pub(crate) image: &'a Image,
    pub(crate) shape: Shape,
    pub(crate) accel: Accel,
    pub(crate) runner: &'a dyn Runner,
}

impl Boot<'_> {
    /// A root disk that takes what the guest writes and leaves the image as it is.
    pub(crate) fn make_overlay(&self) -> Result<(), LabError> {
        let create = Invocation::new(Tool::QemuImg)
            .args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"])
            .args([self.image.base.root_image(), self.places.overlay()]);
        self.runner.run(&create).map(|_| ()).map_err(LabError::command("making the guest's root disk"))
    }

    /// Starts QEMU, and returns the port that leads to the guest's sshd.
    pub(crate) fn start(&self, restored: bool) -> Result<u16, LabError> {
        for path in [self.places.qmp(), self.places.stream(), self.places.shared(), self.places.console()] {
            remove(&path)?;
        }
        for _ in 0..TRIES {
            let port = match self.shape.port {
                Some(port) => port,
                None => free_port()?,
            };
            let machine = Machine {
                name: self.name,
                places: self.places,
                image: self.image,
                shape: self.shape,
                accel: self.accel,
                port,
                restored,
            };
            let qemu = Invocation::new(Tool::QemuSystem).args(machine.arguments()).timeout(MAKING);
            match self.runner.run(&qemu) {
                Ok(_) => return Ok(port),
                Err(CommandFailure::Failed { stderr, .. }) if stderr.contains("host forwarding rule") => {
                    if let Some(port) = self.shape.port {
                        return Err(LabError::Port { port });
                    }
                }
                Err(failure) => return Err(LabError::command("starting QEMU")(failure)),
            }
        }
        Err(self.failed("found every port of 127.0.0.1 busy that it tried".to_owned()))
    }

    /// Waits until a command runs in the guest, and sets its clock by the way.
    pub(crate) fn await_ssh(&self, door: &Door, limit: Duration) -> Result<(), LabError> {
        let ends = Instant::now() + limit;
        loop {
            if process::find(&self.places.pidfile()).is_none() {
                return Err(self.failed("ended while it booted".to_owned()));
            }
            match set_clock(self.runner, door) {
                Ok(()) => return Ok(()),
                Err(failure) if Instant::now() > ends => {
                    let seconds = limit.as_secs();
                    return Err(self.failed(format!("let nobody in within {seconds} s ({failure})")));
                }
                Err(_) => sleep(LOOK),
            }
        }
    }

    pub(crate) fn monitor(&self) -> Result<Monitor, LabError> {
        monitor(self.places)
    }

    fn failed(&self, how: String) -> LabError {
        LabError::Guest { name: self.name.to_owned(), how, console: console(&self.places.console()) }
    }
}

/// A guest's monitor.
pub(crate) fn monitor(places: &GuestPlaces) -> Result<Monitor, LabError> {
    Monitor::connect(&places.qmp()).map_err(|source| LabError::Monitor {
        doing: format!("asking the monitor {}", places.qmp().shown()),
        source,
    })
}

/// A restored guest believes it is still the time at which it was saved.
fn set_clock(runner: &dyn Runner, door: &Door) -> Result<(), CommandFailure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = format!("@{}.{:03}", now.as_secs(), now.subsec_millis());
    door.run(runner, &["date", "-s", &time], FIRST_COMMAND).map(|_| ())
}

pub(crate) fn free_port() -> Result<u16, LabError> {
    let any = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    any.map(|address| address.port()).map_err(LabError::file("find a free port at", "127.0.0.1"))
}

/// The end of what a guest said.
fn console(path: &Path) -> String {
    let text = fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::{console, free_port};

    #[test]
    fn the_end_of_the_console_is_quoted() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lines: Vec<String> = (0..50).map(|n| format!("line {n}\r\n\n")).collect();
        std::fs::write(file.path(), lines.concat()).unwrap();
        let text = console(file.path());
        assert!(text.starts_with("line 38\n") && text.ends_with("line 49"), "{text}");
        assert_eq!(console(std::path::Path::new("/nowhere")), "");
    }

    #[test]
    fn a_free_port_is_one() {
        assert!(free_port().unwrap() > 1023);
    }
}
