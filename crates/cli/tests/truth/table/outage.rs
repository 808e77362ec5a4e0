//! Scenarios in which for a while no I/O completes, or fewer do; and scenarios that only resemble that.

use crate::truth::injection::Injection;
use crate::truth::outage::Outage;
use crate::truth::scenario::{CLEAN, Scenario, clean, truth};
use record::finding::{Claim, Severity};
use record::judged::LimitKind;

/// The start after the engine's start and the length, in milliseconds.
const ONE: &[(u64, u64)] = &[(1300, 1500)];
const THREE: &[(u64, u64)] = &[(900, 500), (1800, 700), (3300, 500)];
const EVERY_TWO_SECONDS: &[(u64, u64)] = &[(1000, 500), (3000, 500), (5000, 500), (7000, 500)];

pub(super) fn scenarios() -> Vec<Scenario> {
    [devices(), throttles(), engines(), dips(), none()].concat()
}

fn outage(name: &'static str, stack: &'static str, workload: &'static str, how: Outage) -> Scenario {
    truth("outage", name, stack, workload)
        .injection(Injection::Outages { how, times: ONE })
        .claim(Claim::Stalled, Severity::Caveat)
}

fn devices() -> Vec<Scenario> {
    let made = "the file system that holds the loop device's backing file is frozen for 1.5 of 4 s";
    let held = |name, workload| outage(name, "held", workload, Outage::Below).made(made);
    vec![
        held("outage-native", "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s")
            .limited_by(&[LimitKind::Unknown])
            .needs_disk(),
        held("outage-fio", "engine: fio, rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s")
            .limited_by(&[LimitKind::Unknown])
            .needs_disk(),
        held("outage-depth-1", "rw: randwrite, bs: 4k, iodepth: 1, size: 16m, direct: 1, runtime: 4s").needs_disk(),
        held(
            "outage-rate",
            "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s, rate_iops: 100",
        )
        .limited_by(&[LimitKind::AskedRate]),
        held(
            "outage-rate-fio",
            "engine: fio, rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s, rate_iops: 100",
        )
        .limited_by(&[LimitKind::AskedRate]),
    ]
}

fn throttles() -> Vec<Scenario> {
    let how = Outage::Limit { volume: "step", to: 1 };
    let made = "the limit is 1 I/O per second for 1.5 of 4 s";
    let held = |name, workload| {
        outage(name, "step", workload, how)
            .made(made)
            .claim(Claim::ThrottleChanged, Severity::Caveat)
            .may(&[Claim::BelowModel])
    };
    vec![
        held("outage-raw", "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s"),
        held(
            "outage-raw-rate",
            "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s, rate_iops: 100",
        )
        .limited_by(&[LimitKind::AskedRate]),
    ]
}

fn engines() -> Vec<Scenario> {
    let workload = "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, runtime: 4s";
    let on_fio = "engine: fio, rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, runtime: 4s";
    let of = |name, workload, how, made| {
        outage(name, "step", workload, how).made(made).may(&[Claim::BelowModel, Claim::CpuQuota])
    };
    vec![
        of("engine-stopped", workload, Outage::Stopped, "the engine is stopped for 1.5 of 4 s"),
        of("engine-frozen", workload, Outage::Frozen, "the engine's cgroup is frozen for 1.5 of 4 s"),
        of("engine-frozen-fio", on_fio, Outage::Frozen, "the same of fio"),
        outage(
            "engine-quota",
            "free",
            "rw: randread, bs: 4k, iodepth: 4, size: 64m, direct: 1, runtime: 4s",
            Outage::Quota,
        )
        .made("the engine may run 1 ms in each 500 ms for 1.5 of 4 s, on a volume without limits")
        .may(&[Claim::CpuQuota, Claim::NotSteady]),
    ]
}

fn dips() -> Vec<Scenario> {
    let of = |name, runtime, to, times| {
        truth("dips", name, "step", runtime)
            .injection(Injection::Outages { how: Outage::Limit { volume: "step", to }, times })
            .claim(Claim::NotSteady, Severity::Caveat)
            .claim(Claim::ThrottleChanged, Severity::Caveat)
            .may(&[Claim::BelowModel])
    };
    let short = "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s";
    let long = "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 8s";
    vec![
        of("pair", short, 100, ONE).made("the limit is 100 instead of 500 for 1.5 of 4 s"),
        of("several-pairs", short, 100, THREE)
            .made("the limit is 100 instead of 500 three times at uneven times"),
        of("periodic-dip", long, 200, EVERY_TWO_SECONDS)
            .made("the limit is 200 instead of 500 for 0.5 s in every 2 s"),
    ]
}

fn none() -> Vec<Scenario> {
    vec![
        clean("no-outage", "held", "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 4s")
            .made("the same without an outage"),
        clean("no-outage-rate", "step", "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, runtime: 4s, rate_iops: 100")
            .made("the same without an outage"),
        truth(
            CLEAN,
            "thinks-long",
            "step",
            "rw: randread, bs: 4k, iodepth: 4, size: 16m, direct: 1, runtime: 4s, thinktime: 600ms, thinktime_blocks: 200",
        )
        .made("the workload itself pauses for 0.6 s after every 200 I/Os"),
    ]
}
