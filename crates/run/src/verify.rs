//! Before the first trial: checks that the limit of each emulated volume holds.

mod error;
mod slope;

use crate::context::{Bench, engine_for};
use engine::Job;
use error::ProbeError;
use record::stack::{Rebuild, Stack};
use record::throttle::KEPT_WITHIN;
use record::trial::{EngineOutput, Totals};
use record::volume::{Burst, LimitName, Limits, VerifiedLimit, Volume, VolumeFacts, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use stack::{Built, Journal, Machine, Volumes};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ScopedJoinHandle;

pub(crate) use error::LimitsError;

/// The engine of the probes: it is always available, whichever engine performs the trials.
const ENGINE: EngineKind = EngineKind::Native;

/// The measured time of each probe, and the load time before it, in seconds.
const PROBE_SECONDS: f64 = 3.0;
const PROBE_RAMP_SECONDS: f64 = 1.0;

/// The tolerance for a lab guest's disk. Its rate is counted over the window, and QEMU grants I/O by the slice.
const TOLERANCE: f64 = 0.10;

/// How often a probe is tried: a short disturbance must not cause a volume to be refused.
const TRIES: u32 = 3;

/// Probes each limit of each emulated volume and returns the volumes' facts with the measured rates. It probes all volumes at
/// once, one direction after the other. A volume that bursts is not probed: a probe would use up the credit that trials begin
/// with. A limit that doesn't hold is an error.
pub(crate) fn limits(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    asked: &[Volume],
    bench: &Bench<'_>,
) -> Result<Vec<VolumeFacts>, LimitsError> {
    let mut facts = volumes.facts();
    for fact in &mut facts {
        fact.burst = asked.iter().find(|volume| volume.name == fact.name).and_then(burst_of);
    }
    let limited: Vec<(&Volume, Limits)> = asked
        .iter()
        .filter(|volume| burst_of(volume).is_none())
        .filter_map(|volume| Some((volume, limits_of(volume)?)))
        .collect();
    if limited.is_empty() {
        return Ok(facts);
    }
    let mut raws = Vec::new();
    for (volume, limits) in limited {
        let stack = Stack {
            name: "probe".into(),
            volumes: vec![volume.clone()],
            beside: Vec::new(),
            layers: Vec::new(),
            rebuild: Rebuild::Trial,
        };
        let built = stack::build(machine, journal, volumes, &stack)?;
        let emulated = matches!(volume.kind, VolumeKind::Emulate { .. });
        let device = facts.iter().find(|f| f.name == volume.name).and_then(|f| f.device.as_deref());
        let name = device.and_then(Path::file_name).filter(|_| emulated);
        let stat = name.map(|name| machine.roots.sys.join("block").join(name).join("stat"));
        raws.push(Raw { name: volume.name.clone(), limits, stat, built });
    }
    let mut outcome = Ok(());
    for probe in PROBES.iter().filter(|p| raws.iter().any(|raw| p.limit.of(&raw.limits).is_some())) {
        (bench.step)(None, &format!("verifying {} limits", probe.limit), None);
        outcome = outcome.and_then(|()| run_probe(probe, &raws, volumes, bench, &mut facts));
    }
    while let Some(raw) = raws.pop() {
        raw.built.undo(machine, journal)?;
    }
    outcome.map(|()| facts)
}

fn limits_of(volume: &Volume) -> Option<Limits> {
    match volume.kind {
        VolumeKind::Emulate { limits, .. } | VolumeKind::Guest { limits, .. } if !limits.is_unlimited() => {
            Some(limits)
        }
        _ => None,
    }
}

fn burst_of(volume: &Volume) -> Option<Burst> {
    let VolumeKind::Guest { burst, .. } = volume.kind else { return None };
    burst
}

struct Raw {
    name: String,
    limits: Limits,
    /// The `stat` file of a device that the kernel throttles; `None` where QEMU does.
    stat: Option<PathBuf>,
    built: Built,
}

/// A probe of one kind of limit in one direction.
struct Probe {
    limit: LimitName,
    rw: Rw,
    counts: Counts,
}

/// What a limit counts, in the engine's totals and in the device's counters.
#[derive(Clone, Copy)]
struct Counts {
    rate: fn(&Totals) -> f64,
    seen: fn(&slope::Look) -> f64,
}

const IOS: Counts = Counts { rate: |totals| totals.iops, seen: slope::ios };
const BYTES: Counts = Counts { rate: |totals| totals.bytes_per_second, seen: slope::bytes };

const PROBES: &[Probe] = &[
    Probe { limit: LimitName::ReadIops, rw: Rw::Randread, counts: IOS },
    Probe { limit: LimitName::WriteIops, rw: Rw::Randwrite, counts: IOS },
    Probe { limit: LimitName::ReadBps, rw: Rw::Read, counts: BYTES },
    Probe { limit: LimitName::WriteBps, rw: Rw::Write, counts: BYTES },
    Probe { limit: LimitName::TotalIops, rw: Rw::Randrw, counts: IOS },
    Probe { limit: LimitName::TotalBps, rw: Rw::Rw, counts: BYTES },
];

/// The block size that meets this limit and not the other one of the same direction: small for IOPS, large for bandwidth. `None`
/// when the other limit binds first at any size (the kernel splits larger blocks before it counts them). Such a limit can't bind
/// in any trial either, and stays unverified.
fn block_bytes(probe: &Probe, limits: &Limits) -> Option<u64> {
    let (iops, bps) = if probe.rw.is_mixed() {
        (limits.total_iops, limits.total_bps)
    } else if probe.rw.reads() {
        (limits.read_iops, limits.read_bps)
    } else {
        (limits.write_iops, limits.write_bps)
    };
    // A margin of a quarter, so that it is clear which limit binds.
    let fits = |bs: u64| match (iops, bps) {
        (Some(iops), Some(bps)) => {
            let moved = iops.saturating_mul(bs);
            if probe.rw.is_random() {
                moved.saturating_add(moved / 4) <= bps
            } else {
                moved >= bps.saturating_add(bps / 4)
            }
        }
        _ => true,
    };
    let sizes = if probe.rw.is_random() { [4096, 512] } else { [128 << 10, 512 << 10] };
    sizes.into_iter().find(|&bs| fits(bs))
}

fn workload(probe: &Probe, bs_bytes: u64, size_bytes: u64) -> Workload {
    Workload {
        name: format!("probe-{}", probe.limit),
        engine: ENGINE,
        ask: Ask::Options(Options {
            iodepth: 16,
            direct: true,
            ..Options::new(probe.rw, bs_bytes, size_bytes)
        }),
        layout: Layout::Written,
        cache: CacheStart::Keep,
        on: Vec::new(),
    }
}

/// The result of one volume's probe.
struct Probed {
    name: String,
    /// Whether the kernel throttles it.
    by_kernel: bool,
    verified: VerifiedLimit,
}

impl Probed {
    fn off(&self) -> f64 {
        self.verified.measured / self.verified.asked - 1.0
    }

    fn is_kept(&self) -> bool {
        self.off().abs() <= if self.by_kernel { KEPT_WITHIN } else { TOLERANCE }
    }
}

fn run_probe(
    probe: &Probe,
    raws: &[Raw],
    volumes: &Volumes,
    bench: &Bench<'_>,
    facts: &mut [VolumeFacts],
) -> Result<(), LimitsError> {
    let mut probed = Vec::new();
    for _ in 0..TRIES {
        probed = load_all(probe, raws, volumes, bench, facts)?;
        if probed.iter().all(Probed::is_kept) {
            break;
        }
    }
    for one in probed {
        if !one.is_kept() {
            return Err(refusal(one));
        }
        if let Some(fact) = facts.iter_mut().find(|f| f.name == one.name) {
            fact.verified.push(one.verified);
        }
    }
    Ok(())
}

/// Loads all volumes that have this limit at the same time.
fn load_all(
    probe: &Probe,
    raws: &[Raw],
    volumes: &Volumes,
    bench: &Bench<'_>,
    facts: &[VolumeFacts],
) -> Result<Vec<Probed>, LimitsError> {
    let throttle = volumes.throttle();
    let around = Around {
        cgroup_procs: throttle.as_ref().map(|t| t.cgroup_procs.as_path()),
        cancel: bench.cancel,
        scratch: &bench.scratch,
    };
    let around = &around;
    std::thread::scope(|scope| {
        let running: Vec<_> = raws
            .iter()
            .filter_map(|raw| Some((raw, probe.limit.of(&raw.limits)?, block_bytes(probe, &raw.limits)?)))
            .map(|(raw, asked, bs)| {
                let size = facts.iter().find(|f| f.name == raw.name).map_or(0, |f| f.size_bytes);
                let workload = workload(probe, bs, size);
                let handle = scope.spawn(move || load(probe, raw, asked, &workload, around));
                (raw, handle)
            })
            .collect();
        let result = |(raw, handle): (&Raw, ScopedJoinHandle<'_, Result<_, ProbeError>>)| {
            let verified = handle.join().unwrap_or(Err(ProbeError::Panicked));
            let verified = verified.map_err(|error| LimitsError::Probe {
                volume: raw.name.clone(),
                limit: probe.limit,
                source: Box::new(error),
            })?;
            Ok(Probed { name: raw.name.clone(), by_kernel: raw.stat.is_some(), verified })
        };
        running.into_iter().map(result).collect()
    })
}

/// What the probes of all volumes share.
struct Around<'a> {
    cgroup_procs: Option<&'a Path>,
    cancel: &'a AtomicBool,
    scratch: &'a Path,
}

/// Loads one volume, and reads its device's counters meanwhile.
fn load(
    probe: &Probe,
    raw: &Raw,
    asked: u64,
    workload: &Workload,
    around: &Around<'_>,
) -> Result<VerifiedLimit, ProbeError> {
    let scratch = around.scratch.join(format!("probe-{}", raw.name));
    std::fs::create_dir_all(&scratch)
        .map_err(|source| ProbeError::Scratch { path: scratch.clone(), source })?;
    let job = Job {
        ground: &raw.built.ground,
        workload,
        seed: 1,
        trial_seconds: PROBE_SECONDS,
        ramp_seconds: PROBE_RAMP_SECONDS,
        cgroup_procs: around.cgroup_procs,
        cancel: around.cancel,
        started: &|_| {},
        progress: &|_| {},
        running: &|_| {},
        begins_at_ns: None,
        follows: false,
        scratch: &scratch,
    };
    let done = AtomicBool::new(false);
    let (output, looks) = std::thread::scope(|scope| {
        let watching = raw.stat.as_deref().map(|stat| (stat, scope.spawn(|| slope::watch(stat, &done))));
        let output = engine_for(ENGINE, &scratch).run(&job);
        done.store(true, Ordering::Release);
        let looks = watching.map(|(stat, watching)| {
            let looks = watching.join().unwrap_or_else(|_| Err(std::io::Error::other("it panicked")));
            looks.map_err(|source| ProbeError::Counters { path: stat.to_path_buf(), source })
        });
        (output, looks)
    });
    let output = output?;
    let measured = match looks {
        None => counted(probe, &output),
        Some(looks) => {
            slope::rate(&looks?, output.window, probe.counts.seen).ok_or(ProbeError::TooFewLooks)?
        }
    };
    Ok(verified(probe, asked, measured, &output))
}

/// The rate by the engine's own count.
fn counted(probe: &Probe, output: &EngineOutput) -> f64 {
    let rate = |totals: &Option<Totals>| totals.as_ref().map_or(0.0, probe.counts.rate);
    let (reads, writes) = (rate(&output.read), rate(&output.write));
    match (probe.rw.reads(), probe.rw.writes()) {
        (true, true) => reads + writes,
        (true, false) => reads,
        _ => writes,
    }
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
fn verified(probe: &Probe, asked: u64, measured: f64, output: &EngineOutput) -> VerifiedLimit {
    let seconds = output.window.seconds();
    VerifiedLimit { limit: probe.limit, asked: asked as f64, measured, seconds }
}

fn refusal(probed: Probed) -> LimitsError {
    let why = if probed.off() > TOLERANCE {
        "the limit does not bind here, so this would not be the volume that was asked for"
    } else if probed.by_kernel {
        "the kernel's throttle keeps this limit within 1 % where the machine has time for it, so something else takes part: \
         other load on this machine, a backing store that is slower than the limit, or a kernel with other slices of time. \
         Run on a quiet machine, keep the backing files on a faster disk, or set the limit to what was measured"
    } else {
        "the disk doesn't come to its limit here, so something else would be measured: run on a quiet machine, or set a limit that it comes to"
    };
    LimitsError::NotKept { volume: probed.name, probe: probed.verified, tries: TRIES, why }
}

#[cfg(test)]
mod tests {
    use super::{PROBES, Probed, block_bytes, counted, refusal, workload};
    use record::trial::{EngineOutput, Totals, Window};
    use record::volume::{LimitName, Limits, VerifiedLimit};
    use record::workload::Ask;

    fn output(read_iops: f64, write_iops: f64) -> EngineOutput {
        let totals = |iops| Some(Totals { iops, ..Totals::default() });
        EngineOutput {
            read: totals(read_iops),
            write: totals(write_iops),
            ..EngineOutput::new("native-0.1.0".into(), Window { start_ns: 0, end_ns: 2_000_000_000 })
        }
    }

    #[test]
    fn each_probe_looks_at_its_own_direction_and_unit() {
        let measured: Vec<(&str, f64)> =
            PROBES.iter().map(|p| (p.limit.name(), counted(p, &output(81.0, 79.0)))).collect();
        let expected = [
            ("read_iops", 81.0),
            ("write_iops", 79.0),
            ("read_bps", 0.0),
            ("write_bps", 0.0),
            ("total_iops", 160.0),
            ("total_bps", 0.0),
        ];
        assert_eq!(measured, expected);
    }

    #[test]
    fn the_other_limit_of_a_direction_does_not_get_in_the_way() {
        let blocks = |iops, bps| {
            let limits = Limits { read_iops: iops, read_bps: bps, ..Limits::default() };
            (block_bytes(&PROBES[0], &limits), block_bytes(&PROBES[2], &limits))
        };
        assert_eq!(blocks(Some(80), None), (Some(4096), Some(128 << 10)));
        assert_eq!(blocks(Some(3000), Some(125_000_000)), (Some(4096), Some(128 << 10)));
        assert_eq!(blocks(Some(80), Some(30_000_000)), (Some(4096), Some(512 << 10)));
        assert_eq!(blocks(Some(80), Some(1 << 30)), (Some(4096), None), "40 MiB/s at most");
        assert_eq!(blocks(Some(10_000), Some(10_000_000)), (Some(512), Some(128 << 10)));
        assert_eq!(blocks(Some(100_000), Some(10_000_000)), (None, Some(128 << 10)));
    }

    #[test]
    fn probes_are_direct_and_stay_inside_the_volume() {
        for probe in PROBES {
            let Ask::Options(options) = workload(probe, 4096, 300 << 20).ask else { panic!("options") };
            assert!(options.direct);
            assert_eq!(options.size_bytes, 300 << 20);
        }
    }

    fn probed(asked: f64, measured: f64, by_kernel: bool) -> Probed {
        let verified = VerifiedLimit { limit: LimitName::ReadIops, asked, measured, seconds: 3.0 };
        Probed { name: "vol[1]".into(), by_kernel, verified }
    }

    #[test]
    fn a_refusal_names_volume_limit_and_both_rates() {
        let loose = refusal(probed(80.0, 4100.0, true)).to_string();
        for part in ["vol[1]", "read_iops", "80", "4100", "does not bind"] {
            assert!(loose.contains(part), "{loose}");
        }
        for by_kernel in [true, false] {
            let slow = refusal(probed(80.0, 40.0, by_kernel)).to_string();
            assert!(slow.contains("quiet machine") && !slow.contains("ask for less"), "{slow}");
        }
    }

    #[test]
    fn the_kernels_throttle_is_held_to_one_percent_and_qemus_to_ten() {
        let kept = |measured, by_kernel| probed(100.0, measured, by_kernel).is_kept();
        assert!(kept(99.1, true) && kept(100.9, true) && kept(95.0, false) && kept(109.0, false));
        assert!(!kept(98.9, true) && !kept(101.1, true) && !kept(89.0, false) && !kept(111.0, false));
        assert!(!kept(f64::NAN, true), "nothing measured");
    }
}
