//! Bonnie++ as an engine.

use crate::contract::{Engine, Job};
use crate::data::{data_files, io_error};
use crate::error::EngineError;
use crate::native::clock::monotonic_ns;
use crate::process::{self, Ended, GRACE, Order, Why};
use crate::regions::DATA_PREFIX;
use device::Place;
use host::Tool;
use record::bonnie::{Bonnie, BonnieAsk};
use record::bonnie_csv;
use record::printable::Shown as _;
use record::trial::{EngineOutput, Window};
use record::workload::Ask;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIB: u64 = 1 << 20;
/// The unit of Bonnie++'s number of files.
const FILES: u64 = 1024;

/// Bonnie++ as installed on this machine.
#[derive(Debug, Clone, Copy, Default)]
pub struct BonnieEngine;

impl Engine for BonnieEngine {
    /// Bonnie++ prints its version only in its results.
    fn probe(&self) -> Result<String, EngineError> {
        program().map(|_| "bonnie++".to_owned())
    }

    fn prepare(&self, job: &Job<'_>) -> Result<Vec<PathBuf>, EngineError> {
        let (_, target) = asked(job)?;
        program()?;
        clear(target)?;
        (job.progress)(1.0);
        Ok(Vec::new())
    }

    fn run(&self, job: &Job<'_>) -> Result<EngineOutput, EngineError> {
        let (ask, target) = asked(job)?;
        clear(target)?;
        // Its own directory: Bonnie++ removes its files, and the rest after a kill goes with the directory.
        let own = target.join(format!("{DATA_PREFIX}bonnie"));
        std::fs::create_dir(&own).map_err(io_error("create", &own))?;
        let argv = argv(&program()?, ask, &own, job.seed);
        let start_ns = monotonic_ns();
        let ended = process::run(&Order {
            argv: argv.clone(),
            scratch: job.scratch,
            cgroup_procs: job.cgroup_procs,
            cancel: job.cancel,
            expected: Duration::ZERO,
            patience: patience(ask),
            grace: GRACE,
            started: job.started,
            tick: &|_| (job.running)(None),
        })?;
        let window = Window { start_ns, end_ns: ended.end_ns };
        let output = conclude(&argv, &ended, window)?;
        clear(target)?;
        Ok(output)
    }
}

fn program() -> Result<PathBuf, EngineError> {
    let missing = |source| EngineError::Missing { engine: "bonnie", source: Box::new(source) };
    host::resolve(Tool::Bonnie).map_err(missing)
}

fn asked<'a>(job: &Job<'a>) -> Result<(&'a BonnieAsk, &'a Path), EngineError> {
    let refused = |reason: String| EngineError::Refused { workload: job.workload.name.clone(), reason };
    let Ask::Bonnie(ask) = &job.workload.ask else {
        return Err(refused("the bonnie engine performs only runs of Bonnie++".to_owned()));
    };
    match job.ground.place() {
        Place::Directory(path) => Ok((ask, path)),
        Place::Block(path) => Err(refused(format!(
            "{} is a bare block device: Bonnie++ makes files; put a file system on it",
            path.shown()
        ))),
    }
}

/// Removes what an earlier trial left.
fn clear(target: &Path) -> Result<(), EngineError> {
    for path in data_files(target)? {
        let is_directory = std::fs::symlink_metadata(&path).map_err(io_error("examine", &path))?.is_dir();
        let removed = if is_directory { std::fs::remove_dir_all(&path) } else { std::fs::remove_file(&path) };
        removed.map_err(io_error("remove", &path))?;
    }
    Ok(())
}

/// The command, with Bonnie++'s options.
fn argv(program: &Path, ask: &BonnieAsk, directory: &Path, seed: u64) -> Vec<OsString> {
    let size = if ask.size_bytes == 0 {
        "0".to_owned()
    } else {
        format!("{}:{}", ask.size_bytes / MIB, ask.chunk_bytes)
    };
    let files = if ask.files == 0 {
        "0".to_owned()
    } else {
        format!("{}:{}:{}:{}", ask.files / FILES, ask.max_bytes, ask.min_bytes, ask.directories)
    };
    let mut argv: Vec<OsString> =
        vec![program.into(), "-q".into(), "-m".into(), "diskproof".into(), "-d".into(), directory.into()];
    let mut option = |letter: &str, value: String| argv.extend([letter.into(), value.into()]);
    option("-s", size);
    option("-n", files);
    // diskproof judges whether the size is enough for the machine's memory; 0 turns Bonnie++'s own check off.
    option("-r", (ask.ram_bytes.unwrap_or(0) / MIB).to_string());
    option("-c", ask.concurrency.max(1).to_string());
    // Bonnie++ reads a signed number.
    option("-z", (seed % (1 << 31)).to_string());
    // Bonnie++ refuses root without this option; it stays in its directory.
    option("-u", rustix::process::geteuid().as_raw().to_string());
    option("-g", rustix::process::getegid().as_raw().to_string());
    for (letter, on) in [("-f", !ask.per_character), ("-b", ask.no_buffering), ("-D", ask.direct)] {
        if on {
            argv.push(letter.into());
        }
    }
    argv
}

/// The timeout: an hour, plus about ten passes at 1 MB/s.
fn patience(ask: &BonnieAsk) -> Duration {
    Duration::from_secs(3600 + ask.data_bytes() / 100_000 + ask.files)
}

fn conclude(argv: &[OsString], ended: &Ended, window: Window) -> Result<EngineOutput, EngineError> {
    let quoted = process::quoted(argv);
    let messages: Vec<String> =
        ended.stderr.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    match ended.why {
        Why::Itself => {}
        Why::Cancelled => return Err(EngineError::Cancelled),
        Why::Hung => {
            let waited_seconds = ended.waited.as_secs_f64();
            return Err(EngineError::Hung {
                argv: quoted,
                expected_seconds: waited_seconds,
                waited_seconds,
                messages,
            });
        }
    }
    if !ended.status.is_some_and(|status| status.success()) {
        let ended = process::describe(ended.status);
        return Err(EngineError::Failed { argv: quoted, ended, errors: Vec::new(), messages, output: None });
    }
    let (version, figures) = bonnie_csv::read(&ended.stdout).map_err(|error| EngineError::Output {
        argv: quoted.clone(),
        reason: error.to_string(),
        messages: messages.clone(),
    })?;
    let engine = format!("bonnie++-{version}");
    Ok(EngineOutput {
        argv: argv.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        raw: ended.stdout.clone(),
        messages,
        bonnie: Some(Bonnie { version, figures, memory_bytes: memory() }),
        ..EngineOutput::new(engine, window)
    })
}

/// The size of the machine's memory.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches("kB").trim().parse::<u64>().ok().map(|kib| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::{BonnieAsk, argv};
    use std::path::Path;

    #[test]
    fn options_are_its_own_letters() {
        let ask = BonnieAsk {
            size_bytes: 2 << 30,
            chunk_bytes: 8192,
            ram_bytes: None,
            files: 16 * 1024,
            max_bytes: 4096,
            min_bytes: 0,
            directories: 4,
            per_character: false,
            no_buffering: true,
            direct: false,
            concurrency: 1,
        };
        let words = |ask: &BonnieAsk| {
            let argv = argv(Path::new("/usr/sbin/bonnie++"), ask, Path::new("/ground/own"), 7);
            argv.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        let all = words(&ask);
        assert!(all.contains(" -d /ground/own -s 2048:8192 -n 16:4096:0:4 -r 0 -c 1 -z 7 "), "{all}");
        assert!(all.ends_with(" -f -b"), "{all}");
        let one = words(&BonnieAsk {
            size_bytes: 0,
            files: 0,
            per_character: true,
            no_buffering: false,
            direct: true,
            ..ask
        });
        assert!(one.contains(" -s 0 -n 0 ") && one.ends_with(" -D"), "{one}");
    }
}
