//! Samples for a while and reports how often; `bench/observe/run.sh` measures the cost.
//!
//! `observe_cost SECONDS HZ ENGINE_PID DEVICE...`

use diskproof_observe::{Config, Sampler, Subjects};
use std::error::Error;
use std::io::Write;
use std::time::Duration;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let mut next = || arguments.next().ok_or("usage: observe_cost SECONDS HZ ENGINE_PID DEVICE...");
    let seconds: f64 = next()?.parse()?;
    let hz: f64 = next()?.parse()?;
    let pid: u32 = next()?.parse()?;
    let config = Config {
        hz,
        subjects: Subjects { devices: arguments.collect(), network: true, ..Subjects::default() },
        engine_pid: Some(pid),
        ..Config::default()
    };
    let sampler = Sampler::start(&config)?;
    std::thread::sleep(Duration::from_secs_f64(seconds));
    let (evidence, problems) = sampler.stop_with_problems();
    let devices = evidence.samples.last().map_or(0, |sample| sample.block.len());
    let tasks = evidence.samples.first().and_then(|sample| sample.engine).map_or(0, |engine| engine.tasks);
    let samples = evidence.samples.len();
    writeln!(
        std::io::stdout(),
        "{samples} samples, {devices} devices, {tasks} engine tasks, {} problems",
        problems.len()
    )?;
    Ok(())
}
