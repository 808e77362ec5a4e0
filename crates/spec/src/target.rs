//! Targets: the machines that trials run on, and the disks of lab guests.

use crate::created_target;
use crate::diagnostic::printable;
use crate::fields::{Fields, list, named};
use crate::limits::{MAX_CHANGES, MAX_TARGETS, MAX_VOLUMES};
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::source::Span;
use crate::target_keys::{ceiling, destination, hosted_by, plain_address, price_of, shares};
use crate::tariff::PriceList;
use crate::tree::{Key, Node, Value};
use crate::value;
use crate::vocabulary::{AIOS, BURST, BUSES, DISK_CACHES, FORMATS, LAB_DISK, LIMIT_CHANGE, TARGET};
use crate::volume;
use record::id::LOCAL;
use record::quantity::Bytes;
use record::target::{Aio, Bus, DiskCache, ImageFormat, LabDisk, Target, TargetKind, clash};
use record::volume::{Burst, LimitChange, Limits};
use std::collections::{BTreeMap, BTreeSet};

const EXPECTED: &str = "a map: NAME: local, NAME: { ssh: user@host }, NAME: { guest: lab, disks: { ... } } or NAME: { driver: NAME, ... }";

/// The machines, and what they cost per hour.
#[derive(Default)]
pub(crate) struct Machines {
    pub(crate) targets: Vec<Target>,
    /// Those that have a price, by the target's name.
    pub(crate) prices: BTreeMap<String, Number>,
    /// The levels of those that `with` varies, by the target's name.
    pub(crate) levels: BTreeMap<String, Vec<(String, Level)>>,
}

/// Reads `targets`; without targets, trials run on this machine. `list`: the offers that prices name.
pub(crate) fn read(
    node: Option<&Node>,
    list: Option<&PriceList>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Machines {
    let Some(node) = node else { return Machines::default() };
    let Some(entries) = named(node, EXPECTED, problems) else { return Machines::default() };
    if entries.is_empty() {
        problems
            .add(node.span, "there are no targets")
            .expected(EXPECTED)
            .help("leave `targets` out to measure on this machine");
    }
    if let Some((key, _)) = entries.get(MAX_TARGETS) {
        problems.add(key.span, format!("{} targets; at most {MAX_TARGETS} are allowed", entries.len()));
        return Machines::default();
    }
    let (mut labs, mut hosts) = (BTreeSet::new(), Vec::new());
    let mut machines = Machines::default();
    for (key, node) in entries {
        if let Value::Map(own) = &node.value
            && own.iter().any(|(key, _)| key.text == "driver")
        {
            for one in created_target::read((key, node), own, list, scope, problems).into_iter().flatten() {
                machines.push_created(key, one, problems);
            }
            continue;
        }
        let Some(target) = target(key, node, scope, problems) else { continue };
        if let TargetKind::Guest { lab, .. } = &target.kind
            && !labs.insert(lab.clone())
        {
            problems
                .add(key.span, format!("lab `{}` is the guest of two targets", printable(lab, 40)))
                .help("name the labs apart: each is a guest of its own");
        }
        if let Some(price) = price_of(&target.name, node, list, scope, problems) {
            machines.prices.insert(target.name.clone(), price);
        }
        if let Some(by) = &target.hosted_by {
            hosts.push((key.span, target.name.clone(), by.machine.clone()));
        }
        machines.push(key, target, problems);
    }
    for (span, name, host) in hosts {
        check_host(span, &name, &host, &machines.targets, problems);
    }
    machines
}

/// A host of guests must be there before the run, and be another machine.
fn check_host(span: Span, name: &str, host: &str, targets: &[Target], problems: &mut Problems<'_>) {
    let kind = targets.iter().find(|target| target.name == host).map(|target| &target.kind);
    let text = match kind {
        _ if name == host => format!("target `{name}` is hosted by itself"),
        Some(TargetKind::Guest { .. } | TargetKind::Created { .. }) => {
            format!("`{name}` is hosted by `{host}`, which is a guest or a created machine")
        }
        _ => return,
    };
    problems
        .add(span, text)
        .expected("a machine that runs the guest: a target with `ssh`, `local`, or what `ssh` takes");
}

impl Machines {
    fn push_created(&mut self, key: &Key, one: created_target::Machine, problems: &mut Problems<'_>) {
        let name = one.target.name.clone();
        if self.push(key, one.target, problems).is_none() {
            return;
        }
        if let Some(price) = one.price {
            self.prices.insert(name.clone(), price);
        }
        if !one.levels.is_empty() {
            self.levels.insert(name, one.levels);
        }
    }

    /// Adds a target. If its name is taken or there are too many, it reports that.
    fn push(&mut self, key: &Key, target: Target, problems: &mut Problems<'_>) -> Option<()> {
        let name = &target.name;
        if self.targets.iter().any(|known| known.name == *name) {
            problems
                .add(key.span, format!("two targets are named `{name}`, levels filled in"))
                .help("names must tell them apart: put every factor into the name, or rename one");
            return None;
        }
        if self.targets.len() >= MAX_TARGETS {
            problems.add(key.span, format!("more than {MAX_TARGETS} targets by the levels of `with`"));
            return None;
        }
        self.targets.push(target);
        Some(())
    }
}

fn target(key: &Key, node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Target> {
    crate::name::check_plain(key, "a target", problems)?;
    let name = key.text.clone();
    if let Value::Text(text) = &node.value
        && text == LOCAL
    {
        return Some(Target {
            name,
            kind: TargetKind::Local,
            address: None,
            ceiling: None,
            shares: Vec::new(),
            hosted_by: None,
        });
    }
    let fields = match &node.value {
        Value::Map(_) => Some(Fields::open(node, &TARGET, problems)?),
        _ => None,
    };
    let is_local = match fields.as_ref().and_then(|fields| fields.get("local")) {
        Some(node) => value::switch(node, scope, problems)?,
        None => false,
    };
    if name == LOCAL && !is_local {
        problems
            .add(key.span, "`local` is the name of this machine")
            .expected("`local: local`, `local: { local: true, ... }`, or another name");
        return None;
    }
    let fields = match fields {
        Some(fields) => fields,
        None => Fields::open(node, &TARGET, problems)?,
    };
    let kind = match (fields.get("ssh"), fields.get("guest")) {
        (None, None) if is_local => {
            if let Some(key) = fields.key("disks").or(fields.key("address")) {
                problems
                    .add(key.span, format!("`{}` does not go with `local`", key.text))
                    .expected("`price` and `limits`");
                return None;
            }
            TargetKind::Local
        }
        (Some(ssh), None) if !is_local => {
            if let Some(disks) = fields.key("disks") {
                problems
                    .add(disks.span, "`disks` are those of a lab guest; this target is reached by ssh")
                    .help("name its disks in `volumes: { vol: { disks: [ID] } }`");
                return None;
            }
            TargetKind::Ssh { destination: destination(ssh, scope, problems)? }
        }
        (None, Some(guest)) if !is_local => TargetKind::Guest {
            lab: lab(guest, scope, problems)?,
            disks: disks(fields.get("disks"), scope, problems)?,
        },
        _ => {
            problems
                .add_missing(key.span, format!("target `{name}` does not say which machine it is"))
                .expected("`local`, or exactly one of `ssh`, `guest` and `local: true`");
            return None;
        }
    };
    let address = match fields.get("address") {
        Some(node) => Some(address(node, &kind, scope, problems)?),
        None => None,
    };
    let ceiling = match fields.get("limits") {
        Some(node) => Some(ceiling(node, scope, problems)?),
        None => None,
    };
    let shares = match fields.get("shares") {
        Some(node) => shares(node, scope, problems)?,
        None => Vec::new(),
    };
    let hosted_by = match (fields.get("hosted_by"), &kind) {
        (None, _) => None,
        (Some(node), TargetKind::Ssh { .. }) => Some(hosted_by(node, scope, problems)?),
        (Some(node), _) => {
            problems
                .add(node.span, "`hosted_by` is for a guest that is reached by ssh")
                .help("diskproof knows what runs lab guests and created machines");
            return None;
        }
    };
    Some(Target { name, kind, address, ceiling, shares, hosted_by })
}

/// Reads an address. It becomes a word of mount(8) and exportfs(8), so characters with another meaning there are refused.
fn address(node: &Node, kind: &TargetKind, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    if matches!(kind, TargetKind::Guest { .. }) {
        problems
            .add(node.span, "a lab guest has no address: it is reached from this machine only")
            .help("leave `address` out; diskproof finds the way between guests by itself");
        return None;
    }
    plain_address(node, scope, problems)
}

fn lab(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let text = value::text(node, "the name of a lab, e.g. `lab`", scope, problems)?;
    let key = Key { span: node.span, text };
    crate::name::check_plain(&key, "a lab", problems)?;
    Some(key.text)
}

fn disks(node: Option<&Node>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<LabDisk>> {
    let Some(node) = node else { return Some(Vec::new()) };
    let entries = named(node, "a map: NAME: { size: 1g, iops: 80 }", problems)?;
    if let Some((key, _)) = entries.get(MAX_VOLUMES) {
        problems.add(key.span, format!("more than {MAX_VOLUMES} disks"));
        return None;
    }
    entries.iter().map(|(key, node)| disk(key, node, scope, problems)).collect()
}

fn disk(key: &Key, node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<LabDisk> {
    crate::name::check_plain(key, "a disk", problems)?;
    if key.text.len() > LabDisk::MAX_NAME {
        let most = LabDisk::MAX_NAME;
        problems
            .add(key.span, format!("`{}` is too long for the serial number of a disk", key.text))
            .expected(format!("at most {most} characters"));
        return None;
    }
    let fields = Fields::open(node, &LAB_DISK, problems)?;
    let limits = limits(&fields, scope, problems);
    let changes = changes(&fields, scope, problems);
    let size = fields.get("size")?;
    let size_bytes = value::size(size, scope, problems)?;
    check_size(size.span, size_bytes, problems)?;
    let (limits, changes) = limits.zip(changes)?;
    let burst = match fields.get("burst") {
        Some(node) => Some(burst(node, limits.total_iops.or(limits.read_iops), scope, problems)?),
        None => None,
    };
    let mut word = |key: &str, all: &'static [&'static str]| match fields.get(key) {
        Some(node) => Some(Some(value::choice(node, all, scope, problems)?)),
        None => Some(None),
    };
    let bus = word("bus", BUSES)?.and_then(Bus::named).unwrap_or_default();
    let aio = word("aio", AIOS)?.and_then(Aio::named).unwrap_or_default();
    let format = word("format", FORMATS)?.and_then(ImageFormat::named).unwrap_or_default();
    let iothread = match fields.get("iothread") {
        Some(node) => value::switch(node, scope, problems)?,
        None => false,
    };
    let cache = match fields.get("cache") {
        Some(node) => cache(value::choice(node, DISK_CACHES, scope, problems)?),
        None => DiskCache::default(),
    };
    if let Some(why) = clash(bus, cache, aio, iothread) {
        let span = fields.key(if iothread { "iothread" } else { "aio" }).map_or(key.span, |key| key.span);
        problems.add(span, why.to_owned());
        return None;
    }
    Some(LabDisk {
        name: key.text.clone(),
        size_bytes,
        limits,
        burst,
        changes,
        bus,
        cache,
        aio,
        format,
        iothread,
    })
}

/// Reads changes of limits during each trial, in order of time; each has all limits from then on.
fn changes(fields: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<LimitChange>> {
    let Some(node) = fields.get("changes") else { return Some(Vec::new()) };
    if let Some(key) = fields.key("burst") {
        problems
            .add(
                key.span,
                "`burst` and `changes` contradict each other: a change would fill up the burst's credit",
            )
            .help("leave one of them out; `changes` can lower the limit after a time");
        return None;
    }
    let items = list(node);
    if let Some(item) = items.get(MAX_CHANGES) {
        problems.add(item.span, format!("more than {MAX_CHANGES} changes of one disk"));
        return None;
    }
    let mut all: Vec<LimitChange> = Vec::new();
    for item in items {
        let own = Fields::open(item, &LIMIT_CHANGE, problems)?;
        let after = own.get("after")?;
        let after_ms = value::time(after, "s", 1000, 1..=86_400_000, scope, problems)?;
        if all.last().is_some_and(|last| last.after_ms >= after_ms) {
            problems
                .add(after.span, "this is not after the change before it")
                .expected("changes in the order of their times");
            return None;
        }
        let limits = limits(&own, scope, problems)?;
        if limits == Limits::default() {
            problems
                .add(item.span, "a change without a limit")
                .expected("all limits that hold from then on, e.g. `{ after: 5s, iops: 40 }`");
            return None;
        }
        all.push(LimitChange { after_ms, limits });
    }
    Some(all)
}

/// Reads limits. QEMU limits both directions together or each separately, but not in both ways.
fn limits(fields: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Limits> {
    let mut limits = volume::limits(fields, scope, problems)?;
    let total_iops = fields.get("total_iops");
    let total_bps = fields.get("total_bps");
    for (total, unit) in [(total_iops, "iops"), (total_bps, "bps")] {
        let each = [unit.to_owned(), format!("read_{unit}"), format!("write_{unit}")];
        if let (Some(total), Some(other)) = (total, each.iter().find(|name| fields.get(name).is_some())) {
            problems
                .add(total.span, format!("`total_{unit}` and `{other}` contradict each other"))
                .expected(format!("`total_{unit}` for both directions together, or a limit for each"));
            return None;
        }
    }
    if let Some(node) = total_iops {
        limits.total_iops = Some(value::integer(node, 1..=100_000_000, scope, problems)?);
    }
    if let Some(node) = total_bps {
        limits.total_bps = Some(value::size(node, scope, problems)?);
    }
    Some(limits)
}

fn cache(word: &str) -> DiskCache {
    match word {
        "writeback" => DiskCache::Writeback,
        "writethrough" => DiskCache::Writethrough,
        "directsync" => DiskCache::Directsync,
        _ => DiskCache::None,
    }
}

fn check_size(span: Span, bytes: u64, problems: &mut Problems<'_>) -> Option<()> {
    if bytes >= volume::SMALLEST && bytes.is_multiple_of(4096) {
        return Some(());
    }
    problems
        .add(span, format!("a disk of {} cannot be emulated", Bytes(bytes)))
        .expected(format!("at least {}, a multiple of 4 KiB", Bytes(volume::SMALLEST)));
    None
}

fn burst(node: &Node, limit: Option<u64>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Burst> {
    let fields = Fields::open(node, &BURST, problems)?;
    let iops = value::integer(fields.get("iops")?, 1..=100_000_000, scope, problems)?;
    let seconds = value::integer(fields.get("seconds")?, 1..=86_400, scope, problems)?;
    match limit {
        Some(limit) if limit < iops => Some(Burst { iops, seconds }),
        Some(limit) => {
            problems
                .add(node.span, format!("a burst of {iops} IOPS on a disk of {limit}"))
                .expected("a burst above the disk's own `iops`");
            None
        }
        None => {
            problems
                .add(node.span, "a burst on a disk without a limit")
                .help("give the disk its `iops` or `total_iops`, which the burst exceeds");
            None
        }
    }
}
