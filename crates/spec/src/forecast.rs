//! What a plan will take: time, bytes written, space, rights and tools. Rough, and said to be: the rates are constants.

use crate::pace;
use record::copy::Copier;
use record::plan::{Cell, Measure, Plan};
use record::provision::Provisioner;
use record::stack::{Layer, Rebuild, Stack};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, EngineKind, Layout};
use std::collections::{BTreeMap, BTreeSet};

/// Bytes per second at which backing files and data sets are assumed to be written; the limits of emulated volumes bind
/// only while measuring.
pub const LAYOUT_RATE: f64 = 300e6;
/// Bytes per second that an unlimited volume is assumed to take while measuring.
pub const UNLIMITED_RATE: f64 = 500e6;
/// Seconds to verify one limit of an emulated volume.
pub const VERIFY_SECONDS: f64 = 3.0;
/// Seconds to attach and guard one volume.
pub const VOLUME_SECONDS: f64 = 0.2;
/// Seconds to build one layer and take it down again.
pub const LAYER_SECONDS: f64 = 0.8;
/// Seconds per trial for everything else: starting the engine, dropping caches, reading extents, storing.
pub const TRIAL_SECONDS: f64 = 1.0;

/// Rounds before `until` is asked for the first time: the stop rule's.
pub const FIRST_LOOK: u32 = 6;

/// What a plan will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The whole run: all rounds there may be, or as long as the budgets allow.
    pub seconds: f64,
    /// Providing the volumes, once.
    pub provide_seconds: f64,
    /// One trial of each cell, in the order of the plan's cells, of the least length.
    pub seconds_per_trial: Vec<f64>,
    /// Trials in all rounds.
    pub trials: u64,
    /// Bytes written to the volumes' storage in all rounds: backing files, data sets, the workloads' own writes.
    pub bytes_written: u64,
    /// All rounds there may be, whatever the budgets allow.
    pub most: Takes,
    /// Up to where `until` can end the run at the earliest, or a budget before that; `None` without `until`.
    pub least: Option<Takes>,
    /// The budget that is spent first, if one is spent before all rounds are made.
    pub spent: Option<Spent>,
    /// Most space taken at any time beside real disks: backing files, and data in lent directories.
    pub space_bytes: u64,
    /// Whether the node needs root.
    pub needs_root: bool,
    /// Programs the node needs, by name.
    pub needs_tools: Vec<String>,
}

/// What some rounds take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Takes {
    /// Rounds begun.
    pub rounds: u32,
    /// Trials.
    pub trials: u64,
    /// Providing the volumes included.
    pub seconds: f64,
    /// Providing the volumes included.
    pub bytes_written: u64,
    /// Money for all volumes in that time; `None`: none of them has a price.
    pub cost: Option<f64>,
}

/// A budget that is spent before all rounds are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spent {
    /// Which.
    pub budget: Budget,
    /// Rounds it suffices for, the last one perhaps in part.
    pub rounds: f64,
}

/// What may be spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Budget {
    /// Time.
    Time,
    /// Bytes written.
    Written,
    /// Money.
    Cost,
}

/// Forecasts a plan.
#[must_use]
pub fn forecast(plan: &Plan) -> Forecast {
    let provided = Provided::of(plan);
    let shortest = Course::of(plan, &provided, plan.measure.trial_seconds);
    let longest = match plan.measure.max_trial_seconds {
        Some(seconds) => Course::of(plan, &provided, seconds),
        None => shortest.clone(),
    };
    let rounds = plan.measure.rounds;
    let most = longest.takes(f64::from(rounds));
    let spent = longest.spent(&plan.measure).filter(|spent| spent.rounds < f64::from(rounds));
    let least = plan.measure.until.as_ref().map(|_| {
        let first_look = f64::from(rounds.min(FIRST_LOOK));
        let affordable = shortest.spent(&plan.measure).map_or(first_look, |spent| spent.rounds);
        shortest.takes(first_look.min(affordable))
    });
    let lent = plan.cells.iter().filter(|cell| in_directory(&cell.stack));
    let lent = lent.map(|cell| cell.workload.data_bytes().saturating_add(cell.workload.made_bytes())).max();
    Forecast {
        seconds: spent.map_or(most.seconds, |spent| longest.takes(spent.rounds).seconds),
        provide_seconds: provided.seconds,
        seconds_per_trial: shortest.seconds_per_trial,
        trials: most.trials,
        bytes_written: most.bytes_written,
        most,
        least,
        spent,
        space_bytes: provided.bytes.saturating_add(lent.unwrap_or(0)),
        needs_root: provided.needs_root,
        needs_tools: tools(plan, provided.needs_root),
    }
}

/// What providing the volumes takes, once.
struct Provided {
    seconds: f64,
    bytes: u64,
    needs_root: bool,
}

impl Provided {
    fn of<'p>(plan: &'p Plan) -> Self {
        let of_cell = |cell: &'p Cell| {
            cell.stack.all_volumes().map(|volume| ((cell.target.as_str(), volume.name.as_str()), volume))
        };
        let volumes: BTreeMap<(&str, &str), &Volume> = plan.cells.iter().flat_map(of_cell).collect();
        let mut provided = Self { seconds: 0.0, bytes: 0, needs_root: false };
        for volume in volumes.values() {
            provided.seconds += VOLUME_SECONDS;
            if let VolumeKind::Guest { limits, .. } = &volume.kind {
                provided.seconds += VERIFY_SECONDS * f64::from(limit_count(limits));
            }
            if let VolumeKind::Emulate { size_bytes, limits } = &volume.kind {
                provided.bytes = provided.bytes.saturating_add(*size_bytes);
                provided.seconds +=
                    float(*size_bytes) / LAYOUT_RATE + VERIFY_SECONDS * f64::from(limit_count(limits));
            }
            provided.needs_root |= !matches!(volume.kind, VolumeKind::Directory { .. });
        }
        // Settings of the kernel need it on a lent directory as well.
        provided.needs_root |= plan.cells.iter().any(|cell| !cell.stack.layers.is_empty());
        provided
    }
}

/// Rounds of trials of one length.
#[derive(Clone)]
struct Course {
    seconds_per_trial: Vec<f64>,
    round_seconds: f64,
    round_bytes: f64,
    /// What is done once, before the first round: stacks that stay up included.
    provide_seconds: f64,
    provide_bytes: u64,
    /// Money per hour.
    price: Option<f64>,
}

impl Course {
    fn of(plan: &Plan, provided: &Provided, trial_seconds: f64) -> Self {
        let measure = Measure { trial_seconds, ..plan.measure.clone() };
        let seconds_per_trial: Vec<f64> =
            plan.cells.iter().map(|cell| self::trial_seconds(cell, &measure)).collect();
        let prices = &plan.prices.per_hour;
        let standing = plan.cells.iter().filter(|cell| stands(cell));
        let (once_seconds, once_bytes) = standing.fold((0.0, 0.0), |(seconds, bytes), cell| {
            (seconds + build_seconds(cell), bytes + laid_out(cell))
        });
        Self {
            round_seconds: seconds_per_trial.iter().sum(),
            round_bytes: plan.cells.iter().map(|cell| trial_bytes(cell, &measure)).sum(),
            seconds_per_trial,
            provide_seconds: provided.seconds + once_seconds,
            provide_bytes: provided.bytes.saturating_add(whole(once_bytes)),
            price: (!prices.is_empty()).then(|| prices.values().sum()),
        }
    }

    fn takes(&self, rounds: f64) -> Takes {
        let cells = self.seconds_per_trial.len() as u64;
        let seconds = self.provide_seconds + self.round_seconds * rounds;
        Takes {
            rounds: u32::try_from(whole(rounds.ceil())).unwrap_or(u32::MAX),
            trials: whole((float(cells) * rounds).ceil()),
            seconds,
            bytes_written: self.provide_bytes.saturating_add(whole(self.round_bytes * rounds)),
            cost: self.price.map(|price| price * seconds / 3600.0),
        }
    }

    /// The budget that is spent first, however many rounds that takes.
    fn spent(&self, measure: &Measure) -> Option<Spent> {
        let in_time = |seconds: f64| (seconds - self.provide_seconds).max(0.0) / self.round_seconds;
        let paid = measure.max_cost.zip(self.price).map(|(most, price)| in_time(most / price * 3600.0));
        let written = measure.max_written_bytes.map(|most| float(most) / self.round_bytes);
        let each = [
            (Budget::Time, measure.max_seconds.map(in_time)),
            (Budget::Written, written.filter(|rounds| rounds.is_finite())),
            (Budget::Cost, paid),
        ];
        each.into_iter()
            .filter_map(|(budget, rounds)| Some(Spent { budget, rounds: rounds? }))
            .min_by(|a, b| a.rounds.total_cmp(&b.rounds))
    }
}

fn limit_count(limits: &Limits) -> u8 {
    [
        limits.read_iops,
        limits.write_iops,
        limits.read_bps,
        limits.write_bps,
        limits.total_iops,
        limits.total_bps,
    ]
    .iter()
    .map(|l| u8::from(l.is_some()))
    .sum()
}

fn in_directory(stack: &Stack) -> bool {
    stack.volumes.iter().any(|volume| matches!(volume.kind, VolumeKind::Directory { .. }))
}

fn trial_seconds(cell: &Cell, measure: &Measure) -> f64 {
    let building = if stands(cell) { 0.0 } else { build_seconds(cell) };
    TRIAL_SECONDS + building + pace::seconds(cell, measure)
}

fn stands(cell: &Cell) -> bool {
    cell.stack.rebuild == Rebuild::Run
}

/// Building the stack, taking it down and laying out its data.
fn build_seconds(cell: &Cell) -> f64 {
    let layers: f64 = cell.stack.layers.iter().map(|_| LAYER_SECONDS).sum();
    layers + laid_out(cell) / LAYOUT_RATE
}

/// Bytes written before the trial.
fn laid_out(cell: &Cell) -> f64 {
    if cell.workload.layout == Layout::Written { float(cell.workload.data_bytes()) } else { 0.0 }
}

/// Bytes written in one trial, its preparation included.
fn trial_bytes(cell: &Cell, measure: &Measure) -> f64 {
    let data = if stands(cell) { 0.0 } else { laid_out(cell) };
    data + pace::written(cell, measure)
}

fn tools(plan: &Plan, needs_root: bool) -> Vec<String> {
    let mut tools = BTreeSet::new();
    if plan.cells.iter().any(|cell| cell.workload.engine == EngineKind::Fio) {
        tools.insert("fio".to_owned());
    }
    for cell in &plan.cells {
        match &cell.workload.ask {
            Ask::Copy(copy) if copy.copier != Copier::Native => {
                tools.insert(copy.copier.name().to_owned());
            }
            Ask::Bonnie(_) => {
                tools.insert("bonnie++".to_owned());
            }
            _ => {}
        }
    }
    for step in &plan.provision {
        match step.by {
            Provisioner::Shell => {}
            Provisioner::Ansible => {
                tools.insert("ansible-playbook".to_owned());
            }
            Provisioner::Puppet => {
                tools.insert("puppet".to_owned());
            }
        }
    }
    if needs_root {
        tools.extend(["losetup", "mount", "umount", "blkid"].map(str::to_owned));
    }
    for layer in plan.cells.iter().flat_map(|cell| &cell.stack.layers) {
        match layer {
            Layer::Filesystem(filesystem) => {
                tools.insert(format!("mkfs.{}", filesystem.kind.name()));
            }
            Layer::Btrfs(_) => {
                tools.extend(["mkfs.btrfs", "btrfs"].map(str::to_owned));
            }
            Layer::Lvm(_) => {
                tools.extend(["lvm", "dmsetup"].map(str::to_owned));
            }
            Layer::Md(_) => {
                tools.insert("mdadm".to_owned());
            }
            Layer::Command(command) => {
                let programs = command.up.iter().chain(&command.down).filter_map(|argv| argv.first());
                tools.extend(programs.cloned());
            }
            Layer::Zfs(_) => {
                tools.extend(["zpool", "zfs", "wipefs"].map(str::to_owned));
            }
            Layer::Nfs(_) => {
                tools.extend(["exportfs", "mount.nfs", "mount", "umount"].map(str::to_owned));
            }
            Layer::Knobs(_) => {}
        }
    }
    tools.into_iter().collect()
}

#[expect(clippy::cast_precision_loss, reason = "a forecast has two good digits")]
fn float(n: u64) -> f64 {
    n as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates; a forecast has two good digits"
)]
fn whole(x: f64) -> u64 {
    x as u64
}

#[cfg(test)]
mod tests {
    use super::{Budget, Forecast, forecast};

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

    /// Bytes that the load writes per round beside 30 MiB of layout, and the seconds of a trial.
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
        let rest =
            "workloads: { r: { rw: read, size: 30m } }\nmeasure: { budget: { time: 30s, rounds: 100 } }\n";
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
            ("{ rounds: 10, budget: { time: 1h, cost: 5, written: 1g } }", (None, None)),
            (
                "{ rounds: 10, budget: { time: 60s, cost: 5, written: 1g } }",
                (Some((Budget::Time, 4.0)), None),
            ),
            (
                "{ rounds: 10, budget: { time: 1h, cost: 0.01, written: 1g } }",
                (Some((Budget::Cost, 7.0)), None),
            ),
            (
                "{ rounds: 10, budget: { time: 60s, cost: 5, written: 7m } }",
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
}
