//! Decides by the harness's own counters whether a trial's scenario was made, by figures and thresholds.

#[cfg(test)]
mod tests;

use super::gauge::{Disk, Sample};
use super::injection::Injection;
use super::outage::Outage;
use super::scenario::{Scenario, Source};
use record::finding::Claim;
use record::judged::LimitKind;
use record::trial::{Totals, TrialRecord};
use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// The most CPU time, as a share of the machine's, that others may take from a scenario that needs it.
const MOST_FOREIGN_CPU: f64 = 0.15;
/// The least CPU time, as a share of the machine's, of a hog together with other processes.
const LEAST_HOG: f64 = 0.4;
/// The largest foreign share of a disk's I/Os or bytes, if the truth is that no other process slows the disk down.
const MOST_FOREIGN_IO: f64 = 0.25;
/// From this foreign share on, it is true that others use the disk.
const FOREIGN_IO: f64 = 0.1;
/// The least foreign I/Os, or bytes, per second; a machine always writes a little.
const LEAST_FOREIGN_IOPS: f64 = 20.0;
const LEAST_FOREIGN_BYTES: f64 = (1 << 20) as f64;
/// The least number of writes that show whether they are amplified; a tenth above what the claim needs.
const LEAST_WRITES: u64 = 55;
/// The length of the window in which a quota must have kept the engine from its I/O, in seconds.
const HELD_SECONDS: f64 = 0.8;
/// The largest rate in that window, as a share of the mean rate; a fifth below the threshold of the claim.
const MOST_HELD: f64 = 0.04;
/// The least share of a disk's bytes for a neighbour.
const LEAST_NEIGHBOUR: f64 = 0.6;
/// The least share of its limit that a limited volume must reach.
const REACHED: f64 = 0.9;
/// The least bytes on the devices per requested byte, if writes are amplified; a tenth above the threshold of the claim.
const LEAST_AMPLIFIED: f64 = 1.65;
/// The most, if they aren't amplified; a tenth below the threshold.
const MOST_PLAIN: f64 = 1.35;
/// The largest share of data that memory should hold that may be read again.
const MOST_READ_AGAIN: f64 = 0.02;
/// The tolerance of the share that the host's memory serves: what others read from the disk hides it from diskproof's counters.
const HOST_CACHE_TOLERANCE: f64 = 0.1;

/// The counts between two samples.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    seconds: f64,
    /// Shares of the CPU time of all processors.
    foreign_cpu: f64,
    steal: f64,
    harness_cpu: f64,
    disks: BTreeMap<String, Disk>,
    /// Completed I/Os of each device from each sample to the next, with the seconds between them.
    steps: Vec<(f64, BTreeMap<String, u64>)>,
}

impl Span {
    pub(crate) fn new(first: &Sample, last: &Sample, all_between: &[&Sample]) -> Self {
        let (a, b) = (&first.ticks, &last.ticks);
        let all = b.all.saturating_sub(a.all).max(1) as f64;
        let kernel: u64 = b
            .kernel
            .iter()
            .map(|(pid, ticks)| ticks.saturating_sub(a.kernel.get(pid).copied().unwrap_or(0)))
            .sum();
        let known = b.run.saturating_sub(a.run) + b.harness.saturating_sub(a.harness) + kernel;
        let foreign = b.busy.saturating_sub(a.busy).saturating_sub(known);
        let disks = last.disks.iter().filter_map(|(name, now)| {
            let before = first.disks.get(name)?;
            let disk = Disk {
                reads: now.reads.saturating_sub(before.reads),
                read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
                writes: now.writes.saturating_sub(before.writes),
                write_bytes: now.write_bytes.saturating_sub(before.write_bytes),
                backing: now.backing.clone(),
            };
            Some((name.clone(), disk))
        });
        Self {
            seconds: (last.at_ns - first.at_ns) as f64 / 1e9,
            foreign_cpu: foreign as f64 / all,
            steal: b.steal.saturating_sub(a.steal) as f64 / all,
            harness_cpu: b.harness.saturating_sub(a.harness) as f64 / all,
            disks: disks.collect(),
            steps: all_between.windows(2).map(|two| step(two[0], two[1])).collect(),
        }
    }

    /// The lowest mean rate of these devices in any window of [`HELD_SECONDS`], as a share of the rate of the whole span.
    fn lowest_share(&self, devices: &[&str]) -> Option<f64> {
        let ios = |step: &(f64, BTreeMap<String, u64>)| {
            devices.iter().filter_map(|name| step.1.get(*name)).sum::<u64>() as f64
        };
        let sums = |steps: &[(f64, BTreeMap<String, u64>)]| {
            steps.iter().fold((0.0, 0.0), |(seconds, all), step| (seconds + step.0, all + ios(step)))
        };
        let (seconds, all) = sums(&self.steps);
        let windows = (0..self.steps.len()).filter_map(|from| {
            let rest = &self.steps[from..];
            let to = (1..=rest.len()).find(|to| sums(&rest[..*to]).0 >= HELD_SECONDS)?;
            let (seconds, ios) = sums(&rest[..to]);
            Some(ios / seconds)
        });
        let lowest = windows.reduce(f64::min)?;
        (all > 0.0).then(|| lowest / (all / seconds))
    }
}

fn step(before: &Sample, after: &Sample) -> (f64, BTreeMap<String, u64>) {
    let ios = |disk: &Disk| disk.reads + disk.writes;
    let grown = after.disks.iter().filter_map(|(name, now)| {
        Some((name.clone(), ios(now).saturating_sub(ios(before.disks.get(name)?))))
    });
    ((after.at_ns - before.at_ns) as f64 / 1e9, grown.collect())
}

/// A limit of a device in the cgroup.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) device: String,
    pub(crate) kind: Quantity,
    pub(crate) per_second: f64,
}

/// The limited quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Quantity {
    Reads,
    Writes,
    ReadBytes,
    WriteBytes,
}

/// One trial, measured by the harness.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    span: Span,
    /// The disk that holds the backing files, and what others have of its I/Os and bytes.
    disk: Option<Foreign>,
    /// The share of the nearest limit that a volume of the run reached.
    reached: Option<f64>,
    /// Bytes read from the run's devices.
    ours_read_bytes: u64,
    /// Bytes read from the run's devices per requested byte.
    read_again: Option<f64>,
    /// Bytes written to the run's devices per requested byte.
    amplified: Option<f64>,
    /// The number of writes that the engine made.
    writes: Option<u64>,
    /// The lowest rate of the run's devices for a while, as a share of their mean rate.
    held: Option<f64>,
    /// The share of the data in memory at the begin of the measured time.
    resident: Option<f64>,
}

/// I/O on a disk that none of the run's devices explains.
#[derive(Debug, Clone)]
struct Foreign {
    name: String,
    ios_share: f64,
    bytes_share: f64,
    iops: f64,
    bytes_per_second: f64,
    /// All processes' bytes.
    disk_read_bytes: u64,
}

impl Measured {
    /// The run's loop devices have the run's id in the paths of their backing files; the harness's loop devices have theirs in `lab`.
    pub(crate) fn new(
        span: Span,
        record: &TrialRecord,
        scenario: &Scenario,
        (run, lab): (&str, &Path),
        limits: &[Limit],
        resident: Option<f64>,
    ) -> Self {
        let is_ours = |file: &Path| file.starts_with(lab) || file.to_string_lossy().contains(run);
        let is_one_of_ours = |disk: &Disk| disk.backing.as_deref().is_some_and(is_ours);
        let (names, ours): (Vec<&str>, Vec<&Disk>) = span
            .disks
            .iter()
            .filter(|(_, disk)| is_one_of_ours(disk))
            .map(|(name, disk)| (name.as_str(), disk))
            .unzip();
        let read: u64 = ours.iter().map(|disk| disk.read_bytes).sum();
        let written: u64 = ours.iter().map(|disk| disk.write_bytes).sum();
        // the requested bytes in the part of the window that the samples cover
        let share_of_window = record.engine.as_ref().map_or(1.0, |e| span.seconds / e.window.seconds());
        let per_asked = |moved: u64, totals: Option<&Totals>| {
            let asked =
                totals.map(|totals| totals.bytes as f64 * share_of_window).filter(|asked| *asked > 0.0);
            asked.map(|asked| moved as f64 / asked)
        };
        let engine = record.engine.as_ref();
        Self {
            disk: foreign(&span, lab, &ours, 1.0 - served_below(scenario).map_or(0.0, |(share, _)| share)),
            reached: limits.iter().filter_map(|limit| reached(&span, limit)).reduce(f64::max),
            read_again: per_asked(read, engine.and_then(|engine| engine.read.as_ref())),
            amplified: per_asked(written, engine.and_then(|engine| engine.write.as_ref())),
            writes: engine.and_then(|engine| engine.write.as_ref()).map(|totals| totals.ios),
            held: span.lowest_share(&names),
            resident,
            ours_read_bytes: read,
            span,
        }
    }

    /// The figures as text, to find the cause of a doubtful judgement.
    pub(crate) fn figures(&self) -> String {
        let Span { seconds, foreign_cpu, steal, harness_cpu, .. } = &self.span;
        let Self { disk, reached, read_again, amplified, writes, held, resident, .. } = self;
        format!(
            "{seconds:.2} s; CPU: others {foreign_cpu:.2}, steal {steal:.2}, harness {harness_cpu:.2}; {disk:?}; \
             reached of the limit: {reached:?}; read from devices: {read_again:?}; written: {amplified:?} in {writes:?} writes; lowest rate: {held:?}; resident: {resident:?}"
        )
    }

    /// Whether other processes used the disk below, so that a claim about it isn't a false alarm.
    pub(crate) fn others_used_the_disk(&self) -> bool {
        self.disk.as_ref().is_some_and(|disk| disk.has(FOREIGN_IO))
    }

    /// Why a scenario was not made; empty if it was.
    pub(crate) fn unmade(&self, scenario: &Scenario) -> Vec<String> {
        let mut why = Vec::new();
        why.extend(self.cpu(scenario));
        why.extend(self.disk(scenario));
        why.extend(self.read_beside(scenario));
        why.extend(self.amplification(scenario));
        why.extend(self.quota(scenario));
        why.extend(self.limit(scenario));
        why.extend(self.memory(scenario));
        why
    }

    fn cpu(&self, scenario: &Scenario) -> Option<String> {
        let Span { foreign_cpu, steal, harness_cpu, .. } = &self.span;
        if scenario.injection == Injection::Hog {
            // other processes that use the CPU have the same effect as the hog
            let hogged = harness_cpu + foreign_cpu;
            return (hogged < LEAST_HOG)
                .then(|| format!("the hog and others got {hogged:.2} of the CPU time, not {LEAST_HOG}"));
        }
        (scenario.needs_cpu && foreign_cpu + steal > MOST_FOREIGN_CPU).then(|| {
            format!("others took {foreign_cpu:.2} of the CPU time and the hypervisor {steal:.2}, of {MOST_FOREIGN_CPU} that they may")
        })
    }

    /// Whether others used the disk below more than the scenario allows.
    pub(crate) fn disk(&self, scenario: &Scenario) -> Option<String> {
        let disk = self.disk.as_ref()?;
        let Foreign { name, ios_share, bytes_share, iops, bytes_per_second, .. } = disk;
        let has = format!(
            "others had {ios_share:.2} of {name}'s I/Os and {bytes_share:.2} of its bytes ({iops:.0} I/Os and \
             {bytes_per_second:.0} B per second)"
        );
        if matches!(scenario.injection, Injection::Neighbour { .. }) {
            let must = scenario.claims.iter().any(|(claim, _)| *claim == Claim::Interference);
            return (must && *bytes_share < LEAST_NEIGHBOUR)
                .then(|| format!("{has}, less than the neighbour's {LEAST_NEIGHBOUR}"));
        }
        (scenario.needs_disk && disk.has(MOST_FOREIGN_IO))
            .then(|| format!("{has}, of {MOST_FOREIGN_IO} that they may"))
    }

    /// Whether other processes read so much from the disk that its bytes don't show what holes or memory below served.
    fn read_beside(&self, scenario: &Scenario) -> Option<String> {
        let (below, tolerance) = served_below(scenario)?;
        // the other half of the tolerance is for the ends of the window
        let most = tolerance / 2.0;
        let disk = self.disk.as_ref()?;
        let ours = self.ours_read_bytes as f64;
        let others = (disk.disk_read_bytes as f64 - (1.0 - below) * ours) / ours.max(1.0);
        (others > most).then(|| {
            format!(
                "others read {others:.2} B from {} for each byte of the volume, of {most} that they may",
                disk.name
            )
        })
    }

    fn amplification(&self, scenario: &Scenario) -> Option<String> {
        let amplified = self.amplified?;
        if scenario.never.contains(&Claim::WriteAmplified) {
            return (amplified > MOST_PLAIN).then(|| {
                format!("the devices wrote {amplified:.2} B for each byte, more than {MOST_PLAIN}")
            });
        }
        let must = scenario.claims.iter().any(|(claim, _)| *claim == Claim::WriteAmplified);
        if let Some(few) = self.writes.filter(|writes| must && *writes < LEAST_WRITES) {
            return Some(format!("the engine made {few} writes, fewer than {LEAST_WRITES}"));
        }
        (must && amplified < LEAST_AMPLIFIED)
            .then(|| format!("the devices wrote {amplified:.2} B for each byte, less than {LEAST_AMPLIFIED}"))
    }

    /// Whether a quota held the engine back: beside others, it may get no more without one.
    fn quota(&self, scenario: &Scenario) -> Option<String> {
        let held = self.held?;
        let by_quota = matches!(scenario.injection, Injection::Outages { how: Outage::Quota, .. });
        (by_quota && held > MOST_HELD).then(|| {
            format!("with its quota the engine made {held:.3} of its mean rate, more than {MOST_HELD}")
        })
    }

    fn limit(&self, scenario: &Scenario) -> Option<String> {
        let reached = self.reached?;
        if scenario.short_of_limit && reached >= REACHED {
            return Some(format!("the volume reached {reached:.2} of its limit, {REACHED} and more"));
        }
        // other injections intentionally keep the volume below its limit for a part of the time
        let steady = matches!(
            scenario.injection,
            Injection::Nothing | Injection::Hog | Injection::Punch { .. } | Injection::Neighbour { .. }
        );
        let limited = steady && scenario.limits == [LimitKind::Throttle];
        (limited && reached < REACHED)
            .then(|| format!("the volume reached {reached:.2} of its limit, less than {REACHED}"))
    }

    fn memory(&self, scenario: &Scenario) -> Option<String> {
        if !scenario.in_memory {
            return None;
        }
        if let Some(resident) = self.resident.filter(|share| *share < 1.0 - MOST_READ_AGAIN) {
            return Some(format!("memory held {resident:.2} of the data when measuring began, not all"));
        }
        let again = self.read_again.filter(|share| *share > MOST_READ_AGAIN)?;
        Some(format!("{again:.2} of what was asked for was read again from the device, of {MOST_READ_AGAIN}"))
    }
}

impl Foreign {
    /// Whether others have more than this share of the disk's I/Os or bytes, and more than a machine always has.
    fn has(&self, share: f64) -> bool {
        let some = self.iops >= LEAST_FOREIGN_IOPS || self.bytes_per_second >= LEAST_FOREIGN_BYTES;
        some && self.ios_share.max(self.bytes_share) > share
    }
}

/// The share of a scenario's bytes that something below the volume serves instead of the disk (holes, the host's memory), and its tolerance.
fn served_below(scenario: &Scenario) -> Option<(f64, f64)> {
    if let Some(share) = scenario.host_cached {
        return Some((share, HOST_CACHE_TOLERANCE));
    }
    let is_below = matches!(scenario.injection, Injection::PunchBelow { .. } | Injection::PunchUnder { .. });
    let hole = scenario.served.iter().find(|(source, ..)| *source == Source::Hole).filter(|_| is_below);
    hole.map(|(_, share, tolerance)| (*share, *tolerance))
}

/// The I/O on the disk below the run's loop devices beyond theirs; without loop devices, on the disk of `lab`. With holes below, only the
/// share `arrives` of our I/Os reaches the disk.
fn foreign(span: &Span, lab: &Path, ours: &[&Disk], arrives: f64) -> Option<Foreign> {
    let below = |disk: &Disk| disk.backing.as_deref().and_then(Path::parent).and_then(disk_of);
    let name = ours.iter().find_map(|disk| below(disk)).or_else(|| disk_of(lab))?;
    let disk = span.disks.get(&name)?;
    let on_it: Vec<&&Disk> = ours.iter().filter(|disk| below(disk).as_ref() == Some(&name)).collect();
    let ios = |disk: &Disk| disk.reads + disk.writes;
    let bytes = |disk: &Disk| disk.read_bytes + disk.write_bytes;
    let beyond = |all: u64, ours: u64| (all as f64 - arrives * ours as f64).max(0.0);
    let (all_ios, all_bytes) = (ios(disk), bytes(disk));
    let foreign_ios = beyond(all_ios, on_it.iter().map(|d| ios(d)).sum());
    let foreign_bytes = beyond(all_bytes, on_it.iter().map(|d| bytes(d)).sum());
    Some(Foreign {
        name,
        ios_share: foreign_ios / all_ios.max(1) as f64,
        bytes_share: foreign_bytes / all_bytes.max(1) as f64,
        iops: foreign_ios / span.seconds,
        bytes_per_second: foreign_bytes / span.seconds,
        disk_read_bytes: disk.read_bytes,
    })
}

/// The whole disk of a file system.
fn disk_of(path: &Path) -> Option<String> {
    let device = std::fs::metadata(path).ok()?.dev();
    let number = format!("{}:{}", rustix::fs::major(device), rustix::fs::minor(device));
    let entry = std::fs::canonicalize(Path::new("/sys/dev/block").join(number)).ok()?;
    let whole = if entry.join("partition").exists() { entry.parent()?.to_owned() } else { entry };
    Some(whole.file_name()?.to_str()?.to_owned())
}

fn reached(span: &Span, limit: &Limit) -> Option<f64> {
    let disk = span.disks.get(&limit.device)?;
    let moved = match limit.kind {
        Quantity::Reads => disk.reads,
        Quantity::Writes => disk.writes,
        Quantity::ReadBytes => disk.read_bytes,
        Quantity::WriteBytes => disk.write_bytes,
    };
    Some(moved as f64 / span.seconds / limit.per_second)
}
