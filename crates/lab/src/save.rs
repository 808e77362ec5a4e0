//! Saves and restores a machine's state as a compressed file. QEMU's migration stream goes through a socket, so no shell and no other
//! program is needed.

use crate::error::LabError;
use crate::places::GuestPlaces;
use crate::qmp::Monitor;
use crate::steps::remove;
use serde_json::json;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest time to save or to restore a state.
const PATIENCE: Duration = Duration::from_secs(180);
const LOOK: Duration = Duration::from_millis(10);
/// zstd's level. Lower levels make larger files and don't save time.
const LEVEL: i32 = 3;

/// Stops the machine and writes its state. The machine stays stopped.
pub(crate) fn save(monitor: &mut Monitor, guest: &GuestPlaces, file: &Path) -> Result<(), LabError> {
    let failed = |doing: &str| {
        let doing = doing.to_owned();
        move |source| LabError::Monitor { doing, source }
    };
    monitor.ask("stop", json!({})).map_err(failed("stopping the guest"))?;
    let socket = guest.stream();
    remove(&socket)?;
    let listener = UnixListener::bind(&socket).map_err(LabError::file("listen at", &socket))?;
    listener.set_nonblocking(true).map_err(LabError::file("listen at", &socket))?;
    let parameters = json!({ "max-bandwidth": 1_u64 << 40 });
    monitor.ask("migrate-set-parameters", parameters).map_err(failed("saving the guest"))?;
    let uri = format!("unix:{}", socket.to_string_lossy());
    monitor.ask("migrate", json!({ "uri": uri })).map_err(failed("saving the guest"))?;
    let stream = accept(&listener).map_err(LabError::file("hear from QEMU at", &socket))?;
    compress(&stream, file).map_err(LabError::file("write the guest's state to", file))?;
    remove(&socket)?;
    await_end(
        monitor,
        "query-migrate",
        |status| status == "completed",
        |status| ["failed", "cancelled"].contains(&status),
    )
}

fn accept(listener: &UnixListener) -> io::Result<UnixStream> {
    let ends = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((stream, _)) => {
                stream.set_nonblocking(false)?;
                stream.set_read_timeout(Some(PATIENCE))?;
                return Ok(stream);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < ends => sleep(LOOK),
            Err(error) => return Err(error),
        }
    }
}

fn compress(stream: &UnixStream, file: &Path) -> io::Result<()> {
    let mut encoder = zstd::stream::Encoder::new(File::create(file)?, LEVEL)?;
    io::copy(&mut io::BufReader::with_capacity(1 << 20, stream), &mut encoder)?;
    encoder.finish()?.flush()
}

/// Sends a saved state to a QEMU that waits for one, and resumes the machine.
pub(crate) fn restore(monitor: &mut Monitor, guest: &GuestPlaces, file: &Path) -> Result<(), LabError> {
    let socket = guest.stream();
    let saved = File::open(file).map_err(LabError::file("open", file))?;
    let stream = UnixStream::connect(&socket).map_err(LabError::file("speak to QEMU at", &socket))?;
    zstd::stream::copy_decode(saved, &stream).map_err(LabError::file("restore the guest from", file))?;
    drop(stream);
    await_end(monitor, "query-status", |status| status != "inmigrate", |_| false)?;
    monitor.ask("cont", json!({})).map(|_| ()).map_err(|source| LabError::Monitor {
        doing: "letting the restored guest go on".to_owned(),
        source,
    })?;
    remove(&socket)
}

/// Polls until the migration has the expected status.
fn await_end(
    monitor: &mut Monitor,
    question: &str,
    is_done: impl Fn(&str) -> bool,
    is_failed: impl Fn(&str) -> bool,
) -> Result<(), LabError> {
    let ends = Instant::now() + PATIENCE;
    loop {
        let answer = monitor
            .ask(question, json!({}))
            .map_err(|source| LabError::Monitor { doing: "asking QEMU for its state".to_owned(), source })?;
        let status = answer["status"].as_str().unwrap_or_default();
        if is_done(status) {
            return Ok(());
        }
        if is_failed(status) || Instant::now() > ends {
            return Err(LabError::Broken { what: format!("the guest's state could not be moved: {answer}") });
        }
        sleep(LOOK);
    }
}
