//! Starts a guest's QEMU, by a boot or from a saved state, and waits until its sshd answers.

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
use rustix::process::getpriority_process;
use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The longest time in which QEMU must have created the machine.
const MAKING: Duration = Duration::from_secs(120);
/// The longest time of the first command in a guest that has just started.
const FIRST_COMMAND: Duration = Duration::from_secs(90);
const LOOK: Duration = Duration::from_millis(200);
/// The number of console lines in an error.
const QUOTED_LINES: usize = 12;
/// Tries with another port: a free port can be taken before QEMU opens it.
const TRIES: u32 = 5;

/// A guest's start.
pub(crate) struct Boot<'a> {
    pub(crate) name: &'a str,
    pub(crate) places: &'a GuestPlaces,
    pub(crate) image: &'a Image,
    pub(crate) shape: Shape,
    pub(crate) accel: Accel,
    pub(crate) runner: &'a dyn Runner,
}

impl Boot<'_> {
    /// Creates the root disk's overlay, which takes the guest's writes; the image stays unchanged.
    pub(crate) fn make_overlay(&self) -> Result<(), LabError> {
        let create = Invocation::new(Tool::QemuImg)
            .args(["create", "-q", "-f", "qcow2", "-F", "raw", "-b"])
            .args([self.image.base.root_image(), self.places.overlay()]);
        self.runner.run(&create).map(|_| ()).map_err(LabError::command("making the guest's root disk"))
    }

    /// Starts QEMU, and returns the port that is forwarded to the guest's sshd.
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
                Ok(_) => {
                    self.pass_niceness_on();
                    return Ok(port);
                }
                Err(CommandFailure::Failed { stderr, .. }) if stderr.contains("host forwarding rule") => {
                    if let Some(port) = self.shape.port {
                        return Err(LabError::Port { port });
                    }
                }
                Err(failure) => return Err(LabError::command("starting QEMU")(failure)),
            }
        }
        Err(self.failed("found no free port of 127.0.0.1".to_owned()))
    }

    /// QEMU in the background is a session of its own, and Linux gives each session the same share of the processors, however nice its
    /// processes are (`sched(7)`, autogroups). So the session becomes as nice as we are. A kernel without autogroups has no such file, and
    /// then the processes' own niceness, which QEMU inherits, is what counts.
    fn pass_niceness_on(&self) {
        let Some(qemu) = process::find(&self.places.pidfile()) else { return };
        let niceness = getpriority_process(None).unwrap_or(0);
        // Only root may raise a session, and a session that we began is never less nice than we are.
        let _ = fs::write(format!("/proc/{}/autogroup", qemu.pid), niceness.to_string());
    }

    /// Waits until a command runs in the guest; the command sets the clock.
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
                    return Err(self.failed(format!("accepted no ssh login within {seconds} s ({failure})")));
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

/// Connects to a guest's QEMU monitor.
pub(crate) fn monitor(places: &GuestPlaces) -> Result<Monitor, LabError> {
    Monitor::connect(&places.qmp()).map_err(|source| LabError::Monitor {
        doing: format!("asking the monitor {}", places.qmp().shown()),
        source,
    })
}

/// Sets the guest's clock: a restored guest's clock shows the time at which it was saved.
fn set_clock(runner: &dyn Runner, door: &Door) -> Result<(), CommandFailure> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = format!("@{}.{:03}", now.as_secs(), now.subsec_millis());
    door.run(runner, &["date", "-s", &time], FIRST_COMMAND).map(|_| ())
}

pub(crate) fn free_port() -> Result<u16, LabError> {
    let any = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    any.map(|address| address.port()).map_err(LabError::file("find a free port at", "127.0.0.1"))
}

/// The last lines of a guest's console.
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
