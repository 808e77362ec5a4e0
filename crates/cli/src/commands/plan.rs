//! `diskproof plan FILE`: what a run would do. Changes nothing.

mod bonnie;
mod choose;
mod forecast;
pub(super) mod here;
mod space;
mod there;

use super::{created, experiment, under};
use crate::args::{Destroy, PlanArgs};
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use crate::{output, page};
use device::Place;
use here::Here;
use record::copy::{Copies, CopyAsk, CopySync, Corpus};
use record::emulated::LAB;
use record::find::{Find, FindBy};
use record::fio_option::differing;
use record::lvm::Resync;
use record::plan::{Plan, Prices};
use record::printable::{Shown as _, printable};
use record::provision::ProvisionStep;
use record::quantity::{Bytes, Seconds};
use record::stack::Rebuild;
use record::target::{Target, TargetKind};
use record::volume::{LimitChange, Limits, Volume, VolumeKind};
use record::workload::{
    Ask, CacheStart, EngineKind, Layout, Options, RateProcess, SizeShare, SyncMode, Workload,
};
use report::{PlanCell, PlanView, list_in_words, money};
use run::controller::{targets_of, volumes_of};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) fn plan(args: &PlanArgs, settings: &Settings) -> Result<Exit, Failure> {
    let mut plan = experiment::load(&args.experiment)?;
    let machines = created::prepare(&mut plan, &args.experiment.file, Destroy::Never, settings)?;
    if args.choose {
        return choose::choose(&plan, args, settings);
    }
    let here = here::look(&plan, settings, args.here);
    if args.json {
        let text = serde_json::to_string_pretty(&document(&plan, &here)).map_err(Failure::ours)?;
        output::json(&text)?;
    } else {
        let here = machines.iter().flat_map(created::in_words).chain(in_words(&here)).collect();
        page::show(&report::plan(&PlanView { here, ..view(&plan) }), settings)?;
    }
    if args.here && !here.any_asked() {
        let why = "--here: all machines of this plan are lab guests, which only a run starts";
        return Err(Failure::input(why.to_owned()));
    }
    Ok(if args.here && here.any_missing() { Exit::Machine } else { Exit::Fine })
}

/// The plan with its forecast, and for every round the indices of the cells in the order of measurement.
fn document(plan: &Plan, here: &Here) -> serde_json::Value {
    let order: Vec<Vec<usize>> = (0..plan.measure.rounds).map(|round| spec::order(plan, round)).collect();
    serde_json::json!({
        "plan": plan,
        "forecast": forecast::document(&spec::forecast(plan)),
        "order": order,
        "jobs_as_run": jobs_as_run(plan),
        "remarks": under::remarks(plan),
        "missing_here": (here.looked || !here.missing.is_empty()).then_some(&here.missing),
        "missing_there": here.there.iter().filter_map(|(name, one)| Some((name, one.as_ref().ok()?))).collect::<BTreeMap<_, _>>(),
        "not_asked": here.unasked.iter().map(|name| (name.as_str(), "plan --here asks it"))
            .chain(here.there.iter().filter_map(|(name, one)| Some((name.as_str(), one.as_ref().err()?.as_str()))))
            .collect::<BTreeMap<_, _>>(),
    })
}

fn in_words(here: &Here) -> Vec<String> {
    let mut all = match (here.looked, here.missing.as_slice()) {
        (false, []) => Vec::new(),
        (true, []) => vec!["everything that this needs is here".to_owned()],
        (_, missing) => missing.iter().map(|one| format!("missing here: {one}")).collect(),
    };
    for (name, one) in &here.there {
        match one {
            Ok(missing) if missing.is_empty() => all.push(format!("everything that this needs is on {name}")),
            Ok(missing) => all.extend(missing.iter().map(|one| format!("missing on {name}: {one}"))),
            Err(why) => all.push(format!("{name} can't be asked: {why}")),
        }
    }
    all.extend(
        here.unasked.iter().map(|name| format!("{name} was not asked: `plan --here` asks it over ssh")),
    );
    all
}

/// The job files as fio gets them, by cell, with names in capitals for the places that a run makes.
fn jobs_as_run(plan: &Plan) -> BTreeMap<String, String> {
    let mut all = BTreeMap::new();
    for cell in plan.cells.iter().filter(|cell| cell.workload.engine == EngineKind::Fio) {
        let Ask::JobFile { text, size_bytes, .. } = &cell.workload.ask else { continue };
        let place = match spec::on_device(&cell.stack) {
            true => Place::Block("/dev/DEVICE".into()),
            false => Place::Directory("/DIRECTORY".into()),
        };
        let job = engine::fio::as_run(text, &place, *size_bytes, plan.measure.trial_seconds);
        all.insert(cell.id.to_string(), job.unwrap_or_else(|why| format!("# a run refuses this: {why}\n")));
    }
    all
}

fn view(plan: &Plan) -> PlanView {
    PlanView {
        experiment: plan.experiment.clone(),
        question: plan.question.clone(),
        volumes: [all_volumes(plan), shuffled(plan), machines(plan), under::remarks(plan)].concat(),
        stacks: stacks(plan),
        provision: plan.provision.iter().map(|step| provision(plan, step)).collect(),
        building: building(plan),
        cells: plan
            .cells
            .iter()
            .map(|cell| PlanCell {
                stack: match (cell.target.as_str(), cell.stack.client()) {
                    (target, None) if cell.is_together() && cell.is_mounted_elsewhere() => {
                        let clients = cell.loading().join(", ");
                        format!("{} on {target}, mounted by {clients} at the same time", cell.stack.name)
                    }
                    (target, Some(client)) => format!("{} on {target}, mounted by {client}", cell.stack.name),
                    (_, None) if cell.is_together() => {
                        format!("{} on {} at the same time", cell.stack.name, cell.loading().join(", "))
                    }
                    (target, None) if targets_of(plan).len() > 1 => {
                        format!("{} on {target}", cell.stack.name)
                    }
                    (_, None) => cell.stack.name.clone(),
                },
                workload: cell.workload.name.clone(),
                asks: match cell.stack.rebuild {
                    Rebuild::Trial => asks(&cell.workload),
                    Rebuild::Run => format!("{}; the stack stays up over the rounds", asks(&cell.workload)),
                },
            })
            .collect(),
        first_round: spec::order(plan, 0),
        here: Vec::new(),
        seed: plan.seed,
        forecast: forecast::view(plan),
    }
}

/// The volumes whose order is drawn in each round.
fn shuffled(plan: &Plan) -> Vec<String> {
    let told = |(at, group): (usize, &Vec<Volume>)| {
        let (first, last) = (&group.first()?.name, &group.last()?.name);
        let on = plan.shuffled_on.get(at).and_then(Option::as_ref);
        let on = on.map_or_else(String::new, |target| format!("{target}: "));
        Some(format!("{on}each round draws anew which of the {} volumes is {first} to {last}", group.len()))
    };
    plan.shuffled.iter().enumerate().filter_map(told).collect()
}

/// The machines that have a price, or limits for all their volumes together.
fn machines(plan: &Plan) -> Vec<String> {
    let told = |target: &Target| {
        let price = plan.prices.machines.get(&target.name).map(|per_hour| {
            format!("{} per month", money(per_hour * HOURS_PER_MONTH, plan.prices.currency.as_deref()))
        });
        let ceiling = target.ceiling.unwrap_or_default();
        let iops = ceiling.iops.map(|iops| format!("{iops} IOPS"));
        let bytes = ceiling.bytes_per_second.map(|bytes| format!("{}/s", Bytes(bytes)));
        let limits: Vec<String> = iops.into_iter().chain(bytes).collect();
        let limits = (!limits.is_empty()).then(|| format!("passes on {} in all", limits.join(" and ")));
        let all: Vec<String> = price.into_iter().chain(limits).collect();
        (!all.is_empty()).then(|| format!("machine {}: {}", target.name, all.join(", ")))
    };
    plan.targets.iter().filter_map(told).collect()
}

/// The machine that runs a target as a guest, if the experiment says so.
fn hosted_by(plan: &Plan, target: &str) -> String {
    let by = plan.targets.iter().find(|t| t.name == target).and_then(|t| t.hosted_by.as_ref());
    by.map_or_else(String::new, |by| {
        format!(", guest {} of {}", printable(&by.guest), printable(&by.machine))
    })
}

/// The volumes of all machines in sentences; if there are several machines, each sentence names its own.
fn all_volumes(plan: &Plan) -> Vec<String> {
    let targets = targets_of(plan);
    let of = |target: &&str| {
        let kind = plan.targets.iter().find(|t| t.name == **target).map(|t| &t.kind);
        let place = match kind {
            None if targets.len() == 1 => String::new(),
            None | Some(TargetKind::Local) => format!("{target} (this machine): "),
            Some(TargetKind::Ssh { destination }) => {
                format!("{target} (by ssh {destination}{}): ", hosted_by(plan, target))
            }
            Some(TargetKind::Guest { lab, .. }) => format!("{target} (lab guest {lab}): "),
            Some(TargetKind::Created { driver, .. }) => format!("{target} (created by driver {driver}): "),
        };
        let mut sentences = volumes(&volumes_of(plan, target), &plan.prices);
        if let Some(TargetKind::Guest { .. }) = kind {
            sentences.push(format!("figures of its emulated disks are credible for {LAB}"));
        }
        sentences.into_iter().map(move |sentence| format!("{place}{sentence}"))
    };
    let mut sentences: Vec<String> = targets.iter().flat_map(of).collect();
    sentences.extend(plan.prices.list.as_ref().map(list_in_words));
    let all = targets.iter().flat_map(|target| volumes_of(plan, target));
    sentences.extend(
        all.into_iter()
            .any(|volume| imitates_what_is_sold(&volume, &plan.prices))
            .then(|| NO_PROVIDER.to_owned()),
    );
    sentences
}

/// What the prices of volumes that only imitate what a provider sells don't say.
const NO_PROVIDER: &str = "prices and limits come from the experiment file: the run compares what the file declares, and measures no provider";

/// Whether a volume has a price and limits, and both come from the file.
fn imitates_what_is_sold(volume: &Volume, prices: &Prices) -> bool {
    let emulated = matches!(volume.kind, VolumeKind::Emulate { .. } | VolumeKind::Guest { .. });
    emulated && prices.per_hour.contains_key(&volume.name)
}

/// The layers of each stack; of a stack without layers, that it is the volume itself.
fn stacks(plan: &Plan) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let fresh = plan.cells.iter().map(|cell| &cell.stack).filter(|stack| seen.insert(&stack.name));
    let told = fresh.map(|stack| match stack.layers_in_words().join(", then ") {
        none if none.is_empty() => format!("{}: no layers", stack.name),
        layers => format!("{}: {layers}", stack.name),
    });
    told.collect()
}

fn provision(plan: &Plan, step: &ProvisionStep) -> String {
    let mut words = vec![step.by.name().to_owned(), step.path.clone()];
    words.extend(step.args.iter().cloned());
    words.extend(step.vars.iter().map(|(name, value)| format!("{name}={value}")));
    let on = match &step.target {
        Some(target) => format!(" on {target}"),
        None if targets_of(plan).len() > 1 => " on every target".to_owned(),
        None => String::new(),
    };
    let digest: String = step.digest.chars().take(12).collect();
    format!("{} (sha256 {digest}){on}", words.join(" "))
}

/// How the initial resync of mirrors is treated, and in which stacks.
fn building(plan: &Plan) -> Vec<String> {
    let mut stacks: BTreeMap<(Resync, &str), Vec<&str>> = BTreeMap::new();
    for stack in plan.cells.iter().map(|cell| &cell.stack) {
        for (layer, resync) in stack.resyncs() {
            let names = stacks.entry((resync, layer)).or_default();
            if !names.contains(&stack.name.as_str()) {
                names.push(&stack.name);
            }
        }
    }
    let sentence = |((resync, layer), names): ((Resync, &str), Vec<&str>)| {
        let becomes = match resync {
            Resync::Wait => "waited for",
            Resync::Skip => "left out, so what was never written may differ between the copies",
        };
        format!("{}: initial resync of {layer} {becomes}", names.join(", "))
    };
    stacks.into_iter().map(sentence).collect()
}

/// Hours per month, as prices in the experiment file count them.
const HOURS_PER_MONTH: f64 = 730.0;

/// One sentence per kind of volume; equal volumes in sequence share a sentence.
fn volumes(all: &[Volume], prices: &Prices) -> Vec<String> {
    let price = |volume: &Volume| prices.per_hour.get(&volume.name);
    let alike = all.chunk_by(|a, b| a.kind == b.kind && price(a) == price(b));
    alike
        .filter_map(|group| {
            let (first, last) = (group.first()?, group.last()?);
            let names = match group.len() {
                1 => first.name.clone(),
                _ => format!("{} to {}", first.name, last.name),
            };
            let priced = price(first).map(|per_hour| {
                let each = if group.len() > 1 { " each" } else { "" };
                format!(", {} per month{each}", money(per_hour * HOURS_PER_MONTH, prices.currency.as_deref()))
            });
            Some(format!("{names}: {}{}", describe(&first.kind), priced.unwrap_or_default()))
        })
        .collect()
}

fn describe(kind: &VolumeKind) -> String {
    match kind {
        VolumeKind::Emulate { size_bytes, limits } => {
            let made = record::throttle::as_realised(*limits);
            let told = match record::throttle::refusal(limits) {
                Some(why) => format!("; a run refuses this: {why}"),
                None if made != *limits => {
                    format!("; the kernel rounds this down to {}", describe_limits(&made))
                }
                None => String::new(),
            };
            format!("emulated, {}, {}{told}", Bytes(*size_bytes), describe_limits(limits))
        }
        VolumeKind::Guest { id, size_bytes, limits, burst, changes } => {
            let burst = burst.map(|burst| format!(", {burst}")).unwrap_or_default();
            let change = |change: &LimitChange| {
                let seconds = Duration::from_millis(change.after_ms).as_secs_f64();
                format!("; after {seconds} s {}", describe_limits(&change.limits))
            };
            let changes: String = changes.iter().map(change).collect();
            format!("emulated disk {id}, {}, {}{burst}{changes}", Bytes(*size_bytes), describe_limits(limits))
        }
        VolumeKind::Created { size_bytes: Some(bytes), .. } => {
            format!("created for the run, {}", Bytes(*bytes))
        }
        VolumeKind::Created { size_bytes: None, .. } => "comes with the created machine".to_owned(),
        VolumeKind::Disk { id } => format!("disk {id}; everything on it will be lost"),
        VolumeKind::Directory { path } => format!("directory {}", path.shown()),
    }
}

fn describe_limits(limits: &Limits) -> String {
    let all = [
        limits.total_iops.map(|n| format!("{n} IOPS")),
        limits.read_iops.map(|n| format!("{n} read IOPS")),
        limits.write_iops.map(|n| format!("{n} write IOPS")),
        limits.total_bps.map(|n| format!("{}/s", Bytes(n))),
        limits.read_bps.map(|n| format!("{}/s read", Bytes(n))),
        limits.write_bps.map(|n| format!("{}/s write", Bytes(n))),
    ];
    let limits: Vec<String> = all.into_iter().flatten().collect();
    if limits.is_empty() { "unlimited".to_owned() } else { limits.join(", ") }
}

/// A workload in a few words, with its unusual options.
fn asks(workload: &Workload) -> String {
    let mut words = match &workload.ask {
        Ask::Options(options) => options_in_words(options),
        Ask::JobFile { path, .. } => vec![format!("fio job file {path}")],
        Ask::Copy(copy) => copy_in_words(copy),
        Ask::Bonnie(bonnie) => bonnie::in_words(bonnie),
    };
    if workload.engine == EngineKind::Fio {
        words.push("by fio".to_owned());
    }
    match workload.layout {
        Layout::Written => {}
        Layout::Unwritten => words.push("data reserved but unwritten".to_owned()),
        Layout::Hole => words.push("data a hole".to_owned()),
    }
    match workload.cache {
        CacheStart::Cold => {}
        CacheStart::Warm => words.push("cache warm".to_owned()),
        CacheStart::Keep => words.push("cache as it is".to_owned()),
    }
    words.join(", ")
}

fn copy_in_words(copy: &CopyAsk) -> Vec<String> {
    let corpus = match &copy.corpus {
        Corpus::Generated { kind, files, size_bytes, .. } => {
            format!("copy of {files} files of {}, about {}", kind.name(), Bytes(*size_bytes))
        }
        Corpus::Directory { path } => format!("copy of {}", path.shown()),
    };
    let mut words = vec![corpus, format!("by {}", copy.copier.name())];
    if copy.writers > 1 {
        let each = if copy.copies == Copies::Each { "a whole copy each" } else { "one copy together" };
        words.push(format!("{} writers, {each}", copy.writers));
    }
    let orders: Vec<&str> = copy.order.iter().map(|order| order.name()).collect();
    words.push(orders.join(" and "));
    words.push(
        match copy.sync {
            CopySync::End => "flushed at the end",
            CopySync::File => "every file flushed",
            CopySync::None => "never flushed",
        }
        .to_owned(),
    );
    if !copy.verify {
        words.push("not compared with its source".to_owned());
    }
    words
}

/// The options that have words of their own here.
const IN_WORDS: [&str; 23] = [
    "rw",
    "rwmixread",
    "bs",
    "bsrange",
    "bssplit",
    "size",
    "offset",
    "nrfiles",
    "filename",
    "iodepth",
    "numjobs",
    "direct",
    "fsync",
    "fdatasync",
    "sync",
    "thinktime",
    "thinktime_blocks",
    "runtime",
    "time_based",
    "verify",
    "rate_iops",
    "rate",
    "rate_process",
];

fn options_in_words(options: &Options) -> Vec<String> {
    let by = options.find.as_ref().map(|find| find.by);
    let mix = if options.rw.reads() && options.rw.writes() {
        format!(" {}/{}", options.rwmixread, 100 - options.rwmixread.min(100))
    } else {
        String::new()
    };
    let mut words = vec![format!("{}{mix}", options.rw.name()), sizes(options)];
    if by != Some(FindBy::Iodepth) {
        words.push(format!("depth {}", options.iodepth));
    }
    if options.numjobs > 1 && by != Some(FindBy::Numjobs) {
        words.push(format!("{} jobs", options.numjobs));
    }
    words.push(format!("{} of data", Bytes(options.size_bytes)));
    words.push(if options.direct { "direct" } else { "buffered" }.to_owned());
    words.extend(place_in_words(options));
    words.extend(pace_in_words(options));
    let said = |name: &str| IN_WORDS.contains(&name);
    let rest = differing(options).into_iter().filter(|(name, _)| !said(name));
    words.extend(rest.map(|(name, value)| format!("{name}={value}")));
    words.extend(options.find.as_ref().map(find_in_words));
    words
}

/// `search: most iops while read_lat_p99 <= 10ms, by rate_iops from 1 to 10000000, within 5 %`.
fn find_in_words(find: &Find) -> String {
    format!(
        "search: most {} while {}, by {} from {} to {}, within {} %",
        find.most,
        find.limits_in_words(),
        find.by.name(),
        find.from,
        find.to,
        find.within * 100.0
    )
}

fn sizes(options: &Options) -> String {
    let share = |share: &SizeShare| format!("{} {} %", Bytes(share.bs_bytes), share.percent);
    match (options.bsrange, options.bssplit.as_slice()) {
        (Some(range), _) => format!("{} to {}", Bytes(range.low_bytes), Bytes(range.high_bytes)),
        (None, []) => Bytes(options.bs_bytes).to_string(),
        (None, shares) => shares.iter().map(share).collect::<Vec<_>>().join(" + "),
    }
}

fn place_in_words(options: &Options) -> impl Iterator<Item = String> {
    let said = [
        (options.offset_bytes > 0).then(|| format!("from {}", Bytes(options.offset_bytes))),
        (options.nrfiles > 1).then(|| format!("{} files per job", options.nrfiles)),
        options.filename.is_some().then(|| "one file for all jobs".to_owned()),
        options.verify.as_ref().map(|verify| format!("verified by {verify}")),
    ];
    said.into_iter().flatten()
}

fn pace_in_words(options: &Options) -> impl Iterator<Item = String> {
    let searched = options.find.as_ref().is_some_and(|find| find.by == FindBy::RateIops);
    let iops = options.rate_iops.filter(|_| !searched);
    let bytes = options.rate_bytes_per_second;
    let seconds = |ms: u64| Seconds(Duration::from_millis(ms).as_secs_f64());
    let durable = match options.sync {
        SyncMode::None => None,
        SyncMode::Dsync => Some("durable data by every write (dsync)"),
        SyncMode::Sync => Some("durable by every write (sync)"),
    };
    let synced = |call: &str, every: u32| match every {
        _ if !options.rw.writes() => None,
        0 => None,
        1 => Some(format!("{call} per write")),
        n => Some(format!("{call} per {n} writes")),
    };
    let said = [
        durable.map(str::to_owned),
        synced("fsync", options.fsync),
        synced("fdatasync", options.fdatasync),
        iops.map(|iops| format!("{iops} IOPS per job"))
            .or(bytes.map(|rate| format!("{}/s per job", Bytes(rate)))),
        (options.rate_process == RateProcess::Poisson).then(|| "Poisson arrivals".to_owned()),
        (options.thinktime_us > 0).then(|| {
            let pause = Seconds(Duration::from_micros(options.thinktime_us).as_secs_f64());
            format!("{pause} of pause after every {} I/Os", options.thinktime_blocks)
        }),
        options.runtime_ms.map(|ms| format!("for {}", seconds(ms))),
        (!options.time_based).then(|| "at most once over the data".to_owned()),
    ];
    said.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::{all_volumes, imitates_what_is_sold, options_in_words, volumes};
    use record::plan::Prices;
    use record::volume::{Limits, Volume, VolumeKind};
    use record::workload::{Options, RateProcess, Rw, SizeShare};
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn what_is_unusual_about_a_workload_is_said() {
        let plain = Options::new(Rw::Randread, 4096, 1 << 20);
        let said = |options: &Options| options_in_words(options).join(", ");
        assert_eq!(said(&plain), "randread, 4 KiB, depth 1, 1 MiB of data, buffered");
        let synced = Options { rw: Rw::Write, fsync: 8, fdatasync: 1, ..plain.clone() };
        assert!(
            said(&synced).ends_with("buffered, fsync per 8 writes, fdatasync per write"),
            "{}",
            said(&synced)
        );
        let shares = [(4096, 60), (65_536, 40)];
        let options = Options {
            bssplit: shares.map(|(bs_bytes, percent)| SizeShare { bs_bytes, percent }).to_vec(),
            rate_bytes_per_second: Some(1 << 20),
            rate_process: RateProcess::Poisson,
            thinktime_us: 250,
            runtime_ms: Some(30_000),
            time_based: false,
            verify: Some("crc32c".to_owned()),
            ..plain
        };
        assert_eq!(
            said(&options),
            "randread, 4 KiB 60 % + 64 KiB 40 %, depth 1, 1 MiB of data, buffered, verified by crc32c, 1 MiB/s per job, \
             Poisson arrivals, 250 us of pause after every 1 I/Os, for 30 s, at most once over the data"
        );
    }

    #[test]
    fn what_a_lab_guests_figures_may_claim_is_said() {
        let text = "experiment: e\ntargets: { vm: { guest: vm, disks: { d: { size: 1g, total_iops: 80 } } } }\n\
                    volumes: { d: { disks: [ d ] } }\nstacks: { raw: { on: d } }\nworkloads: { r: { rw: read, bs: 4k, size: 64m } }\n";
        let loaded = spec::parse(text, "e.yaml", Path::new("/"), &BTreeMap::new());
        let said = all_volumes(&loaded.unwrap().plan);
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[1].starts_with("vm (lab guest ") && said[1].contains("up to 2000 requests"), "{said:?}");
    }

    #[test]
    fn a_limit_that_the_kernel_does_not_keep_is_told_before_anything_runs() {
        let told = |kind| volumes(&[Volume { name: "v".to_owned(), kind }], &Prices::default()).concat();
        let limits = |iops| Limits { read_iops: Some(iops), ..Limits::default() };
        let emulated = |iops| told(VolumeKind::Emulate { size_bytes: 1 << 30, limits: limits(iops) });
        for part in ["84 read IOPS", "a run refuses this", "it gives 80", "80 and 90"] {
            assert!(emulated(84).contains(part), "{}", emulated(84));
        }
        assert_eq!(
            emulated(1005),
            "v: emulated, 1 GiB, 1005 read IOPS; the kernel rounds this down to 1000 read IOPS"
        );
        assert_eq!(emulated(80), "v: emulated, 1 GiB, 80 read IOPS");
        let (id, burst) = ("d".to_owned(), None);
        let guest =
            VolumeKind::Guest { id, size_bytes: 1 << 30, limits: limits(84), burst, changes: Vec::new() };
        assert!(!told(guest).contains("refuses"), "QEMU keeps it");
    }

    #[test]
    fn volumes_that_are_alike_share_a_sentence() {
        let emulated = |name: &str, iops| Volume {
            name: name.to_owned(),
            kind: VolumeKind::Emulate {
                size_bytes: 1 << 30,
                limits: Limits { read_iops: iops, ..Limits::default() },
            },
        };
        let all = [emulated("a[0]", Some(80)), emulated("a[1]", Some(80)), emulated("b", None)];
        let said = ["a[0] to a[1]: emulated, 1 GiB, 80 read IOPS", "b: emulated, 1 GiB, unlimited"];
        assert_eq!(volumes(&all, &Prices::default()), said);
        let per_hour = all.iter().take(2).map(|volume| (volume.name.clone(), 0.01)).collect();
        let prices = Prices { currency: Some("EUR".to_owned()), per_hour, ..Prices::default() };
        assert_eq!(volumes(&all, &prices), [&format!("{}, 7.30 EUR per month each", said[0]), said[1]]);
        let disk = Volume { name: "a[0]".to_owned(), kind: VolumeKind::Disk { id: "nvme-x".to_owned() } };
        let imitates = |volume: &Volume| imitates_what_is_sold(volume, &prices);
        assert_eq!([imitates(&all[0]), imitates(&all[2]), imitates(&disk)], [true, false, false]);
    }
}
