//! The course of a trial: rates over time, from the engine's series and the kernel's counters. Nothing is judged here.

use super::reading::{Counted, Reading, grown, grown_bytes};
use super::shared::Shared;
use record::counter::CpuTicks;
use record::latency::LatencySteps;
use record::topology::Topology;
use record::trial::{EngineOutput, Series, TrialRecord};

/// The rates of a trial over time, in seconds since measuring began; what belongs to the ramp has negative times.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Course {
    /// Length of the measured time, in seconds.
    pub(crate) seconds: f64,
    /// I/Os per second that the engine completed.
    pub(crate) iops: Track,
    /// Latencies of the reads that completed, in microseconds: median and 99th percentile.
    pub(crate) reads: Latency,
    /// The same of the writes.
    pub(crate) writes: Latency,
    /// Bytes per second that the engine completed.
    pub(crate) asked: Track,
    /// Bytes per second of the devices directly under the load.
    pub(crate) device: Track,
    /// Mean time of an I/O at the same devices, in microseconds, from queueing to completion; `None` also where no I/O completed.
    pub(crate) wait: Track,
    /// Bytes per second beyond the load's, at the devices that others may use too ([`Shared`]).
    pub(crate) beyond: Track,
    /// The share of the machine's CPU time that was not idle.
    pub(crate) cpu: Track,
}

/// The latencies of one kind of I/O over time.
#[derive(Debug, Default, Clone, PartialEq)]
pub(crate) struct Latency {
    /// The median of each step; `None` where no I/O completed.
    pub(crate) p50: Track,
    /// The 99th percentile; `None` also where too few completed ([`record::latency::LEAST_FOR_P99`]).
    pub(crate) p99: Track,
}

/// A rate over time: pieces in the order of time.
pub(crate) type Track = Vec<Piece>;

/// A rate in a piece of time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Piece {
    /// Begin, in seconds.
    pub(crate) from: f64,
    /// End, in seconds.
    pub(crate) to: f64,
    /// The rate; `None`: the counter is missing or went backwards, or there is nothing to take the mean of.
    pub(crate) rate: Option<f64>,
}

impl Course {
    /// The course of a trial; empty if the engine never ran.
    pub(crate) fn of(trial: &TrialRecord, readings: &[Reading]) -> Self {
        let Some(engine) = &trial.engine else { return Self::default() };
        let clock = Clock(engine.window.start_ns);
        let series = engine.series.as_ref();
        let samples = own_readings(readings, engine);
        let ticks = |pair: (&Reading, &Reading)| busy_share(pair.0.cpu.as_ref()?, pair.1.cpu.as_ref()?);
        let devices = direct(&trial.topology);
        let moved = |(a, b): (&Reading, &Reading)| per_second(grown_bytes(&devices, a, b)?, a, b);
        let wait = |(a, b): (&Reading, &Reading)| mean_wait(&devices, a, b);
        let shared = Shared::of(&trial.topology);
        let beyond = |(a, b): (&Reading, &Reading)| per_second(shared.as_ref()?.beyond(a, b)?, a, b);
        let of_devices = |track: Track| if devices.is_empty() { Track::new() } else { track };
        Self {
            seconds: engine.window.seconds(),
            iops: series.map(|s| steps(s, clock, |at| ios(s, at))).unwrap_or_default(),
            reads: series.map(|s| latency(s.read_latency.as_ref(), s, clock)).unwrap_or_default(),
            writes: series.map(|s| latency(s.write_latency.as_ref(), s, clock)).unwrap_or_default(),
            asked: series.map(|s| steps(s, clock, |at| s.bytes.get(at).copied())).unwrap_or_default(),
            device: of_devices(between(&samples, clock, moved)),
            wait: of_devices(between(&samples, clock, wait)),
            beyond: if shared.is_some() { between(&samples, clock, beyond) } else { Track::new() },
            cpu: between(&samples, clock, ticks),
        }
    }

    /// The length of the shortest step of a track, in seconds; `None` without tracks.
    pub(crate) fn step(&self) -> Option<f64> {
        let all = [&self.iops, &self.device, &self.cpu].into_iter().flatten();
        all.map(|piece| piece.to - piece.from).reduce(f64::min)
    }

    /// The earliest time that a track reaches back to: the begin of the ramp, or 0.
    pub(crate) fn begin(&self) -> f64 {
        let first = |track: &Track| track.first().map_or(0.0, |piece| piece.from);
        [&self.iops, &self.asked, &self.device, &self.wait, &self.beyond, &self.cpu]
            .map(first)
            .into_iter()
            .fold(0.0, f64::min)
    }
}

/// The zero of a trial's clock, in nanoseconds of CLOCK_MONOTONIC.
#[derive(Clone, Copy)]
struct Clock(u64);

impl Clock {
    #[expect(clippy::cast_precision_loss, reason = "times within a trial are far below 2^52 ns")]
    fn seconds(self, ns: u64) -> f64 {
        if ns >= self.0 { (ns - self.0) as f64 / 1e9 } else { (self.0 - ns) as f64 / -1e9 }
    }
}

/// The samples of the machine that generates the load, from the last one before the ramp to the first one after the measured time.
fn own_readings<'a>(readings: &'a [Reading], engine: &EngineOutput) -> Vec<&'a Reading> {
    let own = readings.iter().filter(|reading| reading.server.is_none());
    let mut samples: Vec<&Reading> = own.collect();
    let after = samples.iter().position(|sample| sample.monotonic_ns >= engine.window.end_ns);
    samples.truncate(after.map_or(samples.len(), |last| last + 1));
    samples
}

/// Kernel names of the devices directly under the load.
fn direct(topology: &Topology) -> Vec<&str> {
    topology.nodes.iter().filter(|node| node.depth == 0).map(|node| node.name.as_str()).collect()
}

/// A track of rates from the counts of a series' steps.
fn steps(series: &Series, clock: Clock, count: impl Fn(usize) -> Option<u64>) -> Track {
    let length = seconds(series.step_ns);
    let rate = |at: usize| count(at).map(|count| float(count) / length);
    equal(clock.seconds(series.start_ns), length, series.bytes.len(), rate)
}

/// The tracks of the latencies of one kind of I/O, which begin with the series.
fn latency(steps: Option<&LatencySteps>, series: &Series, clock: Clock) -> Latency {
    let Some(steps) = steps else { return Latency::default() };
    let begin = clock.seconds(series.start_ns);
    let track = |list: &[Option<u64>]| {
        let us = |at: usize| list.get(at).copied().flatten().map(|ns| float(ns) / 1e3);
        equal(begin, seconds(steps.step_ns), list.len(), us)
    };
    Latency { p50: track(&steps.p50_ns), p99: track(&steps.p99_ns) }
}

/// A track of so many steps of equal length, in seconds.
fn equal(begin: f64, length: f64, count: usize, rate: impl Fn(usize) -> Option<f64>) -> Track {
    let piece = |at: usize| {
        let from = begin + float(at as u64) * length;
        Piece { from, to: from + length, rate: rate(at) }
    };
    if length > 0.0 { (0..count).map(piece).collect() } else { Track::new() }
}

fn seconds(ns: u64) -> f64 {
    float(ns) / 1e9
}

#[expect(clippy::cast_precision_loss, reason = "counts and times of a step are far below 2^52")]
fn float(n: u64) -> f64 {
    n as f64
}

fn ios(series: &Series, at: usize) -> Option<u64> {
    let of = |list: &[u64]| list.get(at).copied();
    Some(of(&series.read_ios)? + of(&series.write_ios)? + of(&series.trim_ios)?)
}

/// A track from each sample to the next.
fn between(samples: &[&Reading], clock: Clock, rate: impl Fn((&Reading, &Reading)) -> Option<f64>) -> Track {
    let piece = |pair: &[&Reading]| {
        let [a, b] = pair else { return None };
        (b.monotonic_ns > a.monotonic_ns).then(|| Piece {
            from: clock.seconds(a.monotonic_ns),
            to: clock.seconds(b.monotonic_ns),
            rate: rate((a, b)),
        })
    };
    samples.windows(2).filter_map(piece).collect()
}

/// A growth between two samples as a rate.
#[expect(clippy::cast_precision_loss, reason = "counts of a step are far below 2^52")]
fn per_second(grown: u64, a: &Reading, b: &Reading) -> Option<f64> {
    let ns = b.monotonic_ns.checked_sub(a.monotonic_ns).filter(|ns| *ns > 0)?;
    Some(grown as f64 / (ns as f64 / 1e9))
}

/// The mean time of the I/Os that devices completed between two samples, in microseconds.
#[expect(clippy::cast_precision_loss, reason = "counts of a step are far below 2^52")]
fn mean_wait(devices: &[&str], a: &Reading, b: &Reading) -> Option<f64> {
    let ios = grown(devices, a, b, Counted::ios)?;
    let wait_ms = grown(devices, a, b, Counted::wait_ms)?;
    (ios > 0).then(|| wait_ms as f64 * 1e3 / ios as f64)
}

/// The share of the CPU time between two readings that was not idle; `None` if no time passed, or a counter went backwards.
#[expect(clippy::cast_precision_loss, reason = "ticks of a step are far below 2^52")]
fn busy_share(a: &CpuTicks, b: &CpuTicks) -> Option<f64> {
    let busy = |t: &CpuTicks| t.user + t.system + t.irq.unwrap_or(0) + t.steal.unwrap_or(0);
    let idle = |t: &CpuTicks| t.idle + t.iowait.unwrap_or(0);
    let (busy, idle) = (busy(b).checked_sub(busy(a))?, idle(b).checked_sub(idle(a))?);
    (busy + idle > 0).then(|| busy as f64 / (busy + idle) as f64)
}

#[cfg(test)]
mod tests {
    use super::super::reading::Reading;
    use super::{Course, Piece};
    use record::counter::{BlockCounters, CgroupIo, CpuTicks, Sample};
    use record::id::{CellId, TrialId};
    use record::latency::LatencySteps;
    use record::topology::{BlockKind, BlockNode};
    use record::trial::{EngineOutput, Outcome, Series, TrialRecord, Window};

    const S: u64 = 1_000_000_000;

    fn sample(second: u64, bytes: u64, busy: u64) -> Sample {
        let block = BlockCounters {
            read_bytes: bytes,
            reads: bytes / 100,
            read_wait_ms: bytes / 50,
            ..BlockCounters::default()
        };
        // The device below the backing file moves twice as much for others.
        let below = BlockCounters { read_bytes: bytes * 3, ..BlockCounters::default() };
        Sample {
            monotonic_ns: second * S,
            block: [("loop0".to_owned(), block), ("sda".to_owned(), below)].into(),
            cpu: Some(CpuTicks { user: busy, idle: second * 200 - busy, ..CpuTicks::default() }),
            ..Sample::default()
        }
    }

    fn trial() -> TrialRecord {
        let id = TrialId { cell: CellId("c".to_owned()), round: 0 };
        let mut trial = TrialRecord::new(id, 1, 0, Outcome::Measured);
        let mut engine =
            EngineOutput::new("native-0.1.0".to_owned(), Window { start_ns: 10 * S, end_ns: 12 * S });
        engine.series = Some(Series {
            start_ns: 10 * S,
            step_ns: S / 2,
            read_ios: vec![50, 60, 70, 80],
            write_ios: vec![0; 4],
            trim_ios: vec![0; 4],
            bytes: vec![500, 600, 700, 800],
            read_latency: Some(LatencySteps {
                step_ns: S,
                p50_ns: vec![Some(1500), Some(2500)],
                p99_ns: vec![None, Some(9000)],
                max_ns: vec![Some(2000), Some(9000)],
            }),
            write_latency: None,
        });
        trial.engine = Some(engine);
        trial.topology.nodes = vec![BlockNode {
            name: "loop0".to_owned(),
            devno: (7, 0),
            depth: 0,
            kind: BlockKind::Disk,
            rotational: None,
            scheduler: None,
            size_bytes: None,
        }];
        trial.evidence.samples =
            vec![sample(9, 0, 1000), sample(10, 900, 1100), sample(11, 2000, 1200), sample(12, 3500, 1400)];
        trial
    }

    fn of(trial: &TrialRecord) -> Course {
        let readings: Vec<Reading> = trial.evidence.samples.iter().map(Reading::from).collect();
        Course::of(trial, &readings)
    }

    #[test]
    fn a_stored_sample_reads_as_a_reading() {
        let text = serde_json::to_string(&trial().evidence.samples).unwrap();
        let stored: Vec<Reading> = serde_json::from_str(&text).unwrap();
        assert_eq!(Course::of(&trial(), &stored), of(&trial()));
    }

    #[test]
    fn rates_are_counts_over_time_and_the_ramp_lies_before_zero() {
        let course = of(&trial());
        let rates = |track: &[Piece]| track.iter().map(|p| p.rate).collect::<Vec<_>>();
        assert_eq!(rates(&course.iops), [100.0, 120.0, 140.0, 160.0].map(Some));
        assert_eq!(rates(&course.reads.p50), [1.5, 2.5].map(Some), "microseconds, in steps of their own");
        assert_eq!(rates(&course.reads.p99), [None, Some(9.0)], "too few I/Os are a gap");
        assert_eq!((course.reads.p99[1].from, course.reads.p99[1].to), (1.0, 2.0));
        assert!(course.writes.p50.is_empty() && course.writes.p99.is_empty());
        assert_eq!(rates(&course.device), [900.0, 1100.0, 1500.0].map(Some));
        assert_eq!((course.device[0].from, course.device[0].to), (-1.0, 0.0));
        assert_eq!(rates(&course.cpu), [0.5, 0.5, 1.0].map(Some));
        assert_eq!((course.begin(), course.seconds), (-1.0, 2.0));
    }

    #[test]
    fn waits_are_means_over_the_ios_of_a_step_and_no_io_has_none() {
        let mut idle = trial();
        let of_tracks = |course: &Course| course.wait.iter().map(|p| p.rate).collect::<Vec<_>>();
        // 9 I/Os waited 18 ms, 11 waited 22 ms, 15 waited 30 ms.
        assert_eq!(of_tracks(&of(&idle)), [Some(2000.0); 3]);
        idle.evidence.samples[2].block = idle.evidence.samples[1].block.clone();
        assert_eq!(of_tracks(&of(&idle)), [Some(2000.0), None, Some(2000.0)]);
    }

    #[test]
    fn what_others_may_have_moved_is_what_the_load_did_not() {
        let mut trial = trial();
        let rates = |trial: &TrialRecord| of(trial).beyond.iter().map(|p| p.rate).collect::<Vec<_>>();
        assert_eq!(rates(&trial), [None; 3], "nothing is charged, so nothing is known");
        for (sample, own) in trial.evidence.samples.iter_mut().zip([None, Some(700), Some(1500), Some(2800)])
        {
            let io = |own| CgroupIo { read_bytes: Some(own), write_bytes: Some(0), ..CgroupIo::default() };
            sample.cgroup_io = own.map(|own| ("7:0".to_owned(), io(own))).into_iter().collect();
        }
        assert_eq!(rates(&trial), [200.0, 300.0, 200.0].map(Some));
        let members = vec!["sda".to_owned()];
        trial.topology.nodes[0].kind =
            BlockKind::Loop { backing_file: None, direct_io: None, backing_fs: None, members, guest: false };
        assert_eq!(
            rates(&trial),
            [1800.0, 2200.0, 3000.0].map(Some),
            "the loop device's bytes are the load's"
        );
    }

    #[test]
    fn a_missing_counter_is_a_gap_and_no_zero() {
        let mut trial = trial();
        trial.evidence.samples[2].block.clear();
        trial.evidence.samples[2].cpu = None;
        let course = of(&trial);
        assert_eq!(course.device.iter().map(|p| p.rate).collect::<Vec<_>>(), [Some(900.0), None, None]);
        assert_eq!(course.cpu.iter().map(|p| p.rate).collect::<Vec<_>>(), [Some(0.5), None, None]);
        trial.engine.as_mut().unwrap().series = None;
        assert!(of(&trial).iops.is_empty());
    }
}
