//! Before the first trial: does the limit of an emulated volume really bind?

use crate::blame::{Blame, chain};
use crate::node::{Failure, engine_for};
use crate::trial::Bench;
use engine::Job;
use record::printable::Shown as _;
use record::stack::{Rebuild, Stack};
use record::target::Burst;
use record::trial::{EngineOutput, Totals};
use record::volume::{Limits, VerifiedLimit, Volume, VolumeFacts, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use stack::{Built, Journal, Machine, Volumes};

/// What probes: it is always there, whatever the trials will be performed by.
const ENGINE: EngineKind = EngineKind::Native;

/// How long each probe measures, and how long it loads the volume before.
const PROBE_SECONDS: f64 = 2.0;
const PROBE_RAMP_SECONDS: f64 = 1.0;

/// How far a probe may be off its limit. The kernel's throttle hands out I/Os in slices of 100 ms, so a two-second probe is
/// good to about 5 %; twice that separates "binds" from "doesn't".
const TOLERANCE: f64 = 0.10;

/// Probes each limit of each emulated volume, all volumes at once, one direction after the other, and returns the volumes'
/// facts with the measured rates. A volume that bursts is not probed: that would use up the credit that trials begin with. A limit that does not bind is refused: such a volume would not be what it is called.
pub(crate) fn limits(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    asked: &[Volume],
    bench: &Bench<'_>,
) -> Result<Vec<VolumeFacts>, Failure> {
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
        let built = stack::build(machine, journal, volumes, &stack).map_err(|e| Failure::machine(&e))?;
        raws.push(Raw { name: volume.name.clone(), limits, built });
    }
    let mut outcome = Ok(());
    for probe in PROBES.iter().filter(|p| raws.iter().any(|raw| (p.asked)(&raw.limits).is_some())) {
        (bench.step)(None, &format!("verifying {} limits", probe.limit), None);
        outcome = outcome.and_then(|()| run_probe(probe, &raws, volumes, bench, &mut facts));
    }
    while let Some(raw) = raws.pop() {
        raw.built.undo(machine, journal).map_err(|e| Failure::ours(&e))?;
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
    built: Built,
}

/// One direction of one kind of limit.
struct Probe {
    limit: &'static str,
    rw: Rw,
    asked: fn(&Limits) -> Option<u64>,
    rate: fn(&Totals) -> f64,
}

const PROBES: &[Probe] = &[
    Probe { limit: "read_iops", rw: Rw::Randread, asked: |l| l.read_iops, rate: |t| t.iops },
    Probe { limit: "write_iops", rw: Rw::Randwrite, asked: |l| l.write_iops, rate: |t| t.iops },
    Probe { limit: "read_bps", rw: Rw::Read, asked: |l| l.read_bps, rate: |t| t.bytes_per_second },
    Probe { limit: "write_bps", rw: Rw::Write, asked: |l| l.write_bps, rate: |t| t.bytes_per_second },
    Probe { limit: "total_iops", rw: Rw::Randrw, asked: |l| l.total_iops, rate: |t| t.iops },
    Probe { limit: "total_bps", rw: Rw::Rw, asked: |l| l.total_bps, rate: |t| t.bytes_per_second },
];

/// Small blocks for an IOPS limit, large ones for a bandwidth limit, so that the same direction's other limit doesn't get in
/// the way; `None` when it does at any block size (the kernel splits larger ones before it counts them): then this limit can't bind in any trial either, and is left unverified.
fn block_bytes(probe: &Probe, limits: &Limits) -> Option<u64> {
    let (iops, bps) = if probe.rw.is_mixed() {
        (limits.total_iops, limits.total_bps)
    } else if probe.rw.reads() {
        (limits.read_iops, limits.read_bps)
    } else {
        (limits.write_iops, limits.write_bps)
    };
    // A quarter of room, so that the probe tells which of the two it met.
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
    }
}

fn run_probe(
    probe: &Probe,
    raws: &[Raw],
    volumes: &Volumes,
    bench: &Bench<'_>,
    facts: &mut [VolumeFacts],
) -> Result<(), Failure> {
    let throttle = volumes.throttle();
    let procs = throttle.as_ref().map(|t| t.cgroup_procs.as_path());
    let cancel = bench.cancel;
    let outputs: Vec<(String, u64, Result<EngineOutput, String>)> = std::thread::scope(|scope| {
        let running: Vec<_> = raws
            .iter()
            .filter_map(|raw| Some((raw, (probe.asked)(&raw.limits)?, block_bytes(probe, &raw.limits)?)))
            .map(|(raw, asked, bs)| {
                let size = facts.iter().find(|f| f.name == raw.name).map_or(0, |f| f.size_bytes);
                let workload = workload(probe, bs, size);
                let scratch = bench.scratch.join(format!("probe-{}", raw.name));
                let handle = scope.spawn(move || {
                    std::fs::create_dir_all(&scratch)
                        .map_err(|e| format!("can't make {}: {e}", scratch.shown()))?;
                    engine_for(ENGINE, &scratch)
                        .run(&Job {
                            ground: &raw.built.ground,
                            workload: &workload,
                            seed: 1,
                            trial_seconds: PROBE_SECONDS,
                            ramp_seconds: PROBE_RAMP_SECONDS,
                            cgroup_procs: procs,
                            cancel,
                            started: &|_| {},
                            progress: &|_| {},
                            scratch: &scratch,
                        })
                        .map_err(|e| chain(&e))
                });
                (raw.name.clone(), asked, handle)
            })
            .collect();
        running
            .into_iter()
            .map(|(name, asked, handle)| {
                let output = handle.join().unwrap_or_else(|_| Err("the probe panicked".into()));
                (name, asked, output)
            })
            .collect()
    });
    for (name, asked, output) in outputs {
        let output = output.map_err(|error| Failure {
            blame: Blame::Machine,
            error: format!("volume {name}: the probe of {} failed: {error}", probe.limit),
        })?;
        let verified = check(probe, asked, &output);
        let off = verified.measured / verified.asked - 1.0;
        if off.abs() > TOLERANCE {
            return Err(refusal(&name, &verified, off));
        }
        if let Some(fact) = facts.iter_mut().find(|f| f.name == name) {
            fact.verified.push(verified);
        }
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "limits are far below 2^52")]
fn check(probe: &Probe, asked: u64, output: &EngineOutput) -> VerifiedLimit {
    let rate = |totals: &Option<Totals>| totals.as_ref().map_or(0.0, probe.rate);
    let (reads, writes) = (rate(&output.read), rate(&output.write));
    VerifiedLimit {
        limit: probe.limit.to_owned(),
        asked: asked as f64,
        measured: match (probe.rw.reads(), probe.rw.writes()) {
            (true, true) => reads + writes,
            (true, false) => reads,
            _ => writes,
        },
        seconds: output.window.seconds(),
    }
}

fn refusal(name: &str, verified: &VerifiedLimit, off: f64) -> Failure {
    let VerifiedLimit { limit, asked, measured, .. } = verified;
    let why = if off > 0.0 {
        "the limit does not bind here, so this would not be the volume that was asked for"
    } else {
        "this machine can't reach the limit, so something else would be measured; ask for less, or leave the limit out"
    };
    Failure {
        blame: Blame::Machine,
        error: format!(
            "volume {name}: {limit} is limited to {asked}, but a raw probe measured {measured:.0}: {why}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{PROBES, block_bytes, check, refusal, workload};
    use record::trial::{EngineOutput, Totals, Window};
    use record::volume::{Limits, VerifiedLimit};
    use record::workload::Ask;

    fn output(read_iops: f64, write_iops: f64) -> EngineOutput {
        let totals = |iops| Some(Totals { iops, ..Totals::default() });
        EngineOutput {
            departures: Vec::new(),
            series: None,
            engine: "native-0.1.0".into(),
            argv: Vec::new(),
            input: String::new(),
            raw: String::new(),
            messages: Vec::new(),
            window: Window { start_ns: 0, end_ns: 2_000_000_000 },
            read: totals(read_iops),
            write: totals(write_iops),
            trim: None,
            verified: None,
            generator: None,
            errors: Vec::new(),
            cpu_user_share: None,
            cpu_system_share: None,
            shared_files: false,
            copied: None,
            bonnie: None,
        }
    }

    #[test]
    fn each_probe_looks_at_its_own_direction_and_unit() {
        let measured: Vec<(&str, f64)> = PROBES
            .iter()
            .map(|p| {
                let verified = check(p, 80, &output(81.0, 79.0));
                (p.limit, verified.measured)
            })
            .collect();
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

    #[test]
    fn a_refusal_names_volume_limit_and_both_rates() {
        let verified =
            VerifiedLimit { limit: "read_iops".into(), asked: 80.0, measured: 4100.0, seconds: 2.0 };
        let loose = refusal("vol[1]", &verified, 50.0).error;
        for part in ["vol[1]", "read_iops", "80", "4100", "does not bind"] {
            assert!(loose.contains(part), "{loose}");
        }
        let slow = refusal("vol[1]", &verified, -0.5).error;
        assert!(slow.contains("can't reach"), "{slow}");
    }
}
