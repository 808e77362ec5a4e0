use super::{Assumed, Budget, Forecast, forecast};
use record::volume::VolumeKind;

fn of(rest: &str) -> Forecast {
    let text = format!("experiment: demo\n{rest}");
    let loaded = crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default());
    forecast(&loaded.unwrap_or_else(|error| panic!("{error}")).plan)
}

const EMULATED: &str = "volumes: { vol: { count: 2, emulate: { size: 300m, read_iops: 80, write_iops: 80 } } }\n\
                        stacks: { b: { layers: [ btrfs: { data: raid0, on: vol } ] } }\n";

#[test]
fn time_is_volumes_once_and_trials_by_rounds() {
    let rest =
        "workloads: { r: { rw: randread, size: 30m } }\nmeasure: { trial: 20s, ramp: 5s, rounds: 4 }\n";
    let forecast = of(&format!("{EMULATED}{rest}"));
    // Two volumes: 300 MiB at 300 MB/s, two limits of 3 s each, 0.2 s; a trial: 1 s, a layer 0.8 s, 30 MiB, 25 s.
    let provide = 2.0 * (314_572_800.0 / 300e6 + 6.0 + 0.2);
    let trial = 1.0 + 0.8 + 31_457_280.0 / 300e6 + 25.0;
    assert!((forecast.provide_seconds - provide).abs() < 1e-6);
    assert!((forecast.seconds_per_trial[0] - trial).abs() < 1e-6);
    assert!((forecast.seconds - provide - 4.0 * trial).abs() < 1e-6);
    assert_eq!((forecast.trials, forecast.seconds_per_trial.len()), (4, 1));
    assert_eq!(forecast.bytes_written, 2 * 314_572_800 + 4 * 31_457_280);
    assert_eq!(forecast.space_bytes, 2 * 314_572_800);
    assert!(forecast.needs_root);
}

#[test]
fn writes_are_counted_at_the_rate_the_limits_allow() {
    let rest = "workloads: { w: { rw: randwrite, bs: 16k, direct: 1, size: 30m, layout: hole } }\n\
                measure: { trial: 9s, ramp: 1s, rounds: 1 }\n";
    let forecast = of(&format!("{EMULATED}{rest}"));
    assert_eq!(forecast.bytes_written, 2 * 314_572_800 + 2 * 80 * 16_384 * 10);
}

#[test]
fn a_stack_that_stays_up_is_built_and_filled_once() {
    let rest = "workloads: { w: { rw: randread, direct: 1, size: 30m } }\n\
                measure: { trial: 9s, ramp: 1s, rounds: 3 }\n";
    let text = format!("{EMULATED}{rest}");
    let (each, once) = (of(&text), of(&text.replace("layers:", "rebuild: run, layers:")));
    let layout = 31_457_280;
    assert_eq!(each.bytes_written - once.bytes_written, 2 * layout);
    assert!((each.seconds - once.seconds - 2.0 * (0.8 + 31_457_280.0 / 300e6)).abs() < 1e-6);
}

/// Returns the bytes that the load writes per round besides 30 MiB of layout, and the seconds of a trial.
fn load(options: &str) -> (u64, f64) {
    let rest = format!(
        "workloads: {{ w: {{ direct: 1, size: 30m, {options} }} }}\n\
         measure: {{ trial: 9s, ramp: 1s, rounds: 1 }}\n"
    );
    let forecast = of(&format!("{EMULATED}{rest}"));
    let seconds = forecast.seconds_per_trial[0] - 1.0 - 0.8 - 31_457_280.0 / 300e6;
    (forecast.bytes_written - 2 * 314_572_800 - 31_457_280, (seconds * 1000.0).round() / 1000.0)
}

#[test]
fn a_workloads_own_time_and_pace_count() {
    let all = 2 * 80;
    for (options, written, seconds) in [
        ("rw: randwrite, bs: 16k", all * 16_384 * 10, 10.0),
        ("rw: randwrite, bs: 16k, runtime: 4, ramp_time: 0", all * 16_384 * 4, 4.0),
        ("rw: randwrite, bssplit: 4k/75:8k/25", all * 5120 * 10, 10.0),
        ("rw: randwrite, bsrange: 4k-12k", all * 8192 * 10, 10.0),
        ("rw: randwrite, rate: 100k", 102_400 * 10, 10.0),
        ("rw: randwrite, thinktime: 100ms, thinktime_blocks: 2", 20 * 4096 * 10, 10.0),
        ("rw: randtrim", 0, 10.0),
        ("rw: randread", 0, 10.0),
        // 30 MiB once at 160 writes of 512 KiB per second take 0.375 s.
        ("rw: write, bs: 512k, time_based: 0", 31_457_280, 0.375),
        ("rw: write, time_based: 0", all * 4096 * 10, 10.0),
    ] {
        let options = format!("{options}, layout: written");
        assert_eq!(load(&options), (written, seconds), "{options}");
    }
}

#[test]
fn writes_that_wait_until_they_are_durable_are_slow() {
    let of = |volume: &str, options: &str| {
        let text = format!(
            "volumes: {{ d: {volume} }}\nstacks: {{ d: {{ on: d, layers: [ext4] }} }}\n\
             workloads: {{ w: {{ direct: 1, size: 30m, layout: hole, {options} }} }}\n\
             measure: {{ trial: 9s, ramp: 1s, rounds: 1 }}\n"
        );
        let text = if volume.contains("directory") { text.replace(", layers: [ext4]", "") } else { text };
        let forecast = of(&text);
        let backing = if volume.contains("emulate") { 100 << 20 } else { 0 };
        (forecast.bytes_written - backing, forecast.assumed)
    };
    let (directory, durable) = ("{ directory: /tmp }", Assumed { durable: true, rate: false });
    let limited = "{ emulate: { size: 100m, write_iops: 80 } }";
    let assumed = |rate: bool| Assumed { rate, durable: false };
    for (volume, options, written, rests_on) in [
        (directory, "rw: randwrite", 5_000_000_000, assumed(true)),
        // 5,000 writes of 4 KiB a second, each after the other
        (directory, "rw: randwrite, fsync: 1", 5_000 * 4096 * 10, durable),
        (directory, "rw: randwrite, fdatasync: 8, fsync: 32", 8 * 5_000 * 4096 * 10, durable),
        (directory, "rw: randwrite, sync: dsync, iodepth: 4", 4 * 5_000 * 4096 * 10, durable),
        (directory, "rw: randwrite, fsync: 1, numjobs: 2", 2 * 5_000 * 4096 * 10, durable),
        (directory, "rw: randwrite, fsync: 1, rate_iops: 100", 100 * 4096 * 10, assumed(false)),
        (directory, "rw: randwrite, rate_iops: 100", 100 * 4096 * 10, assumed(false)),
        (directory, "rw: write, fsync: 1, time_based: 0", 31_457_280, assumed(false)),
        (directory, "rw: randread", 0, assumed(false)),
        (limited, "rw: randwrite, fsync: 1", 80 * 4096 * 10, assumed(false)),
        (limited, "rw: randwrite", 80 * 4096 * 10, assumed(false)),
    ] {
        assert_eq!(of(volume, options), (written, rests_on), "{volume} {options}");
    }
}

#[test]
fn a_guest_is_slow_and_its_disks_are_limited_all_the_time() {
    let seconds = |workload: &str| {
        let forecast = of(&format!(
            "targets: {{ lab: {{ guest: lab, disks: {{ d: {{ size: 200m, total_iops: 100 }} }} }} }}\n\
             volumes: {{ vol: {{ disks: [d] }} }}\nstacks: {{ e: {{ layers: [ext4] }} }}\n\
             workloads: {{ w: {{ {workload} }} }}\nmeasure: {{ trial: 9s, ramp: 1s }}\n"
        ));
        forecast.seconds_per_trial[0] - 4.0 * (1.0 + 0.8)
    };
    // 100 MiB in five passes at 100 requests of 64 KiB a second, and 8192 seeks.
    let bonnie = 5.0 * 104_857_600.0 / 6_553_600.0 + 81.92;
    assert!((seconds("engine: bonnie, bonnie: { s: 100m }") - bonnie).abs() < 1e-6);
    // 100 MiB in 100 requests, then ten seconds.
    assert!((seconds("rw: randread, size: 100m") - 11.0).abs() < 1e-6);
}

#[test]
fn a_created_guest_of_the_lab_is_as_slow_and_declared_limits_count() {
    let plan = |driver: &str, iops: Option<u64>| {
        let text = format!(
            "experiment: demo\ntargets: {{ m: {{ driver: {driver}, volumes: {{ v: {{ size: 200m }} }} }} }}\n\
             stacks: {{ e: {{ on: v, layers: [ext4] }} }}\nworkloads: {{ w: {{ rw: randwrite, bs: 4k, size: 100m }} }}\n\
             measure: {{ trial: 9s, ramp: 1s, rounds: 1 }}\n"
        );
        let loaded = crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default());
        let mut plan = loaded.unwrap_or_else(|error| panic!("{error}")).plan;
        let VolumeKind::Created { limits, .. } = &mut plan.cells[0].stack.volumes[0].kind else {
            panic!("{plan:?}")
        };
        limits.total_iops = iops;
        let Forecast { seconds_per_trial, bytes_written, .. } = forecast(&plan);
        (seconds_per_trial[0], bytes_written)
    };
    // 100 MiB in 100 requests a second of 1 MiB, then ten seconds of 100 requests a second of 4 KiB.
    let (there, written) = plan("cloud", Some(100));
    assert!((there - (1.0 + 0.8 + 1.0 + 10.0)).abs() < 1e-6, "{there}");
    assert_eq!(written, (100 << 20) + 100 * 4096 * 10);
    let (in_the_lab, _) = plan("lab", Some(100));
    assert!((in_the_lab - (4.0 * (1.0 + 0.8) + 1.0 + 10.0)).abs() < 1e-6, "{in_the_lab}");
    assert!(plan("cloud", None).1 > 5_000_000_000, "nothing is declared");
}

#[test]
fn a_shared_file_is_laid_out_once_and_begins_with_its_offset() {
    let of = |options: &str| {
        let text = format!(
            "volumes: {{ d: {{ directory: /tmp }} }}\nstacks: {{ d: {{}} }}\n\
             workloads: {{ a: {{ rw: read, size: 30m, numjobs: 4, {options} }} }}\n"
        );
        of(&text).space_bytes >> 20
    };
    assert_eq!(
        (of("bs: 4k"), of("filename: one"), of("filename: one, offset: 10m"), of("offset: 10m")),
        (120, 30, 40, 160)
    );
}

#[test]
fn a_budget_of_time_bounds_the_forecast() {
    let rest = "workloads: { r: { rw: read, size: 30m } }\nmeasure: { budget: { time: 30s, rounds: 100 } }\n";
    let forecast = of(&format!("{EMULATED}{rest}"));
    assert_eq!((forecast.seconds, forecast.trials), (30.0, 100));
}

#[test]
fn until_gives_a_range_from_the_first_look_to_all_rounds() {
    let rest = "workloads: { r: { rw: randread, size: 30m } }\n\
                measure: { trial: 10s..60s, ramp: 5s, until: { interval: 5% }, budget: { rounds: 30 } }\n";
    let forecast = of(&format!("{EMULATED}{rest}"));
    let provide = 2.0 * (314_572_800.0 / 300e6 + 6.0 + 0.2);
    let trial = 1.0 + 0.8 + 31_457_280.0 / 300e6 + 5.0;
    let least = forecast.least.unwrap_or_else(|| panic!("no range"));
    assert_eq!((least.rounds, least.trials, forecast.most.rounds, forecast.most.trials), (6, 6, 30, 30));
    assert!((least.seconds - provide - 6.0 * (trial + 10.0)).abs() < 1e-6);
    assert!((forecast.most.seconds - provide - 30.0 * (trial + 60.0)).abs() < 1e-6);
    assert_eq!(least.bytes_written, 2 * 314_572_800 + 6 * 31_457_280);
    assert_eq!((least.cost, forecast.spent, forecast.seconds), (None, None, forecast.most.seconds));
}

#[test]
fn the_budget_that_is_spent_first_is_named() {
    // Rounds of 13 s that write 3 MB each; 0.36 an hour is 0.0001 a second.
    let spent = |measure: &str| {
        let forecast = of(&format!(
            "volumes: {{ d: {{ directory: /tmp, price: 0.36/hour }} }}\nstacks: {{ d: {{}} }}\n\
             workloads: {{ a: {{ rw: read, size: 3m }} }}\nmeasure: {measure}\n"
        ));
        let rounds = |takes: &super::Takes| (takes.rounds, takes.trials);
        (forecast.spent.map(|s| (s.budget, s.rounds.floor())), forecast.least.as_ref().map(rounds))
    };
    for (measure, expected) in [
        ("{ rounds: 10 }", (None, None)),
        ("{ rounds: 10, budget: { time: 1h, money: 5, written: 1g } }", (None, None)),
        ("{ rounds: 10, budget: { time: 60s, money: 5, written: 1g } }", (Some((Budget::Time, 4.0)), None)),
        ("{ rounds: 10, budget: { time: 1h, money: 0.01, written: 1g } }", (Some((Budget::Cost, 7.0)), None)),
        (
            "{ rounds: 10, budget: { time: 60s, money: 5, written: 7m } }",
            (Some((Budget::Written, 2.0)), None),
        ),
        ("{ until: { interval: 5% }, budget: { time: 5m } }", (Some((Budget::Time, 23.0)), Some((6, 6)))),
        ("{ until: { interval: 5% }, budget: { time: 30s } }", (Some((Budget::Time, 2.0)), Some((3, 3)))),
        ("{ rounds: 4, until: { interval: 5% } }", (None, Some((4, 4)))),
    ] {
        assert_eq!(spent(measure), expected, "{measure}");
    }
}

#[test]
fn money_is_the_price_of_all_volumes_for_the_time() {
    let priced = EMULATED.replace("{ count: 2,", "{ count: 2, price: 7.3/month,");
    let rest = "workloads: { r: { rw: randread, size: 30m } }\nmeasure: { rounds: 4 }\n";
    let forecast = of(&format!("{priced}{rest}"));
    let cost = forecast.most.cost.unwrap_or_else(|| panic!("no price"));
    assert!((cost - 2.0 * 0.01 * forecast.seconds / 3600.0).abs() < 1e-9);
}

#[test]
fn a_lent_directory_needs_no_root_and_room_for_the_largest_data_set() {
    let forecast = of("volumes: { d: { directory: /tmp } }\nstacks: { d: {} }\n\
         workloads: { a: { rw: read, size: 30m }, b: { rw: read, size: 10m, numjobs: 4 } }\n");
    assert_eq!((forecast.needs_root, forecast.space_bytes), (false, 40 << 20));
    assert_eq!(forecast.needs_tools, [""; 0]);
}

#[test]
fn the_disks_of_lab_guests_are_files_on_this_machine() {
    let of = |format: &str, on: &str| {
        of(&format!(
            "targets: {{ here: local, vm: {{ guest: x, disks: {{ a: {{ size: 1g }}, b: {{ size: 2g, format: {format} }} }} }} }}\n\
             volumes: {{ v: {{ disks: [a] }}, w: {{ target: here, emulate: {{ size: 1g }} }} }}\nstacks: {{ s: {{ on: {on} }} }}\n\
             workloads: {{ r: {{ rw: randread, size: 1m }} }}\n"
        ))
    };
    // All disks of a guest are made, and an image is made from a raw file.
    assert_eq!(of("raw", "v").space_bytes, 3 << 30);
    assert_eq!(of("qcow2", "v").space_bytes, 5 << 30);
    assert!(of("raw", "v").bytes_written >= 3 << 30);
    assert_eq!(of("raw", "w").space_bytes, 1 << 30, "a guest that no cell uses isn't started");
}
