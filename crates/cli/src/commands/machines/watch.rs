//! `diskproof machines watch`.

use super::selection::{CONNECT_SECONDS, cant_wait, chosen, reach};
use crate::args::{From, MachinesWatch};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::{Alert, Limits, Statuses, Watched};
use host::{CommandFailure, Invocation, LocalRunner, Runner as _};
use record::machine::{Machine, MachineStatus};
use record::printable::{Shown as _, chain};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Time limit of the alert program.
const PATIENCE: Duration = Duration::from_secs(60);

pub(super) fn watch(args: &MachinesWatch, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(&args.patterns, from, settings)?;
    let known = args.known.clone().unwrap_or_else(|| settings.state.value.join("watch.json"));
    let program = args.alert.as_deref().map(absolute).transpose()?;
    let unusable = |error: std::io::Error| Failure::machine(format!("{}: {error}", known.shown()));
    if let Some(folder) = known.parent() {
        std::fs::create_dir_all(folder).map_err(unusable)?;
    }
    let mut watched = Watched::read(&known).map_err(unusable)?;
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let every = Duration::try_from_secs_f64(args.every).unwrap_or(Duration::from_secs(60));
    let whole = |seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default().as_secs();
    let limits = Limits {
        misses: args.misses,
        stalled_seconds: whole(args.stalled),
        deadline_seconds: whole(args.deadline),
    };
    loop {
        let began = Instant::now();
        let whole = look(&machines, &mut watched, limits, from, settings, &wish)?;
        watched.write(&known).map_err(unusable)?;
        let told = tell(&mut watched, program.as_deref())?;
        watched.write(&known).map_err(unusable)?;
        if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
            return Ok(Exit::Signal(number));
        }
        if args.once {
            return Ok(if whole && told { Exit::Fine } else { Exit::Machine });
        }
        while began.elapsed() < every && !wish.cancel.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

fn absolute(program: &Path) -> Result<PathBuf, Failure> {
    let bare = program.components().count() == 1 && program.is_relative();
    // A bare name is searched where all programs are; a path begins here.
    let path = if bare && !program.exists() { Ok(program.to_owned()) } else { std::path::absolute(program) };
    let path = path.map_err(|error| Failure::input(format!("{}: {error}", program.shown())))?;
    host::find(&path).map_err(Failure::input)
}

/// Looks at all machines; one that was not asked because of a signal is not missed.
fn look(
    machines: &[Machine],
    watched: &mut Watched,
    limits: Limits,
    from: &From,
    settings: &Settings,
    wish: &Wish,
) -> Result<bool, Failure> {
    let mut tell = |_: usize, status: MachineStatus| watched.look(&status, limits, now());
    let reach = reach(settings, CONNECT_SECONDS);
    let mut statuses = Statuses::once(machines, &reach, usize::from(from.fanout));
    statuses.ask(0..machines.len(), &mut tell, &wish.cancel).map_err(cant_wait)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Tells what is untold, oldest first. Returns whether the program has taken all.
fn tell(watched: &mut Watched, program: Option<&Path>) -> Result<bool, Failure> {
    while let Some(alert) = watched.untold() {
        output::answer(&alert.text)?;
        if let Some(program) = program
            && let Err(failure) = hand_over(alert, program)?
        {
            output::aside(&format!(
                "diskproof: the alert program failed, and gets this again: {}",
                chain(&failure)
            ));
            return Ok(false);
        }
        watched.told();
    }
    Ok(true)
}

fn hand_over(alert: &Alert, program: &Path) -> Result<Result<(), CommandFailure>, Failure> {
    let json = serde_json::to_string(alert).map_err(Failure::ours)? + "\n";
    let call = Invocation::program(program).stdin(json).timeout(PATIENCE);
    Ok(LocalRunner.run(&call).map(drop))
}
