//! Volumes as declared, resolved to single volumes.

use crate::diagnostic::printable;
use crate::fields::{Fields, list, named};
use crate::limits::MAX_VOLUMES;
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::source::Span;
use crate::tariff::PriceList;
use crate::tree::{Key, Node};
use crate::vocabulary::{EMULATE, VOLUME};
use crate::{price, value};
use record::quantity::Bytes;
use record::target::{LabDisk, Target, TargetKind};
use record::volume::{Limits, Volume, VolumeKind};
use std::collections::BTreeMap;
use std::path::Path;

/// Size of the smallest emulated volume: a smaller one has no room for a file system worth measuring.
pub(crate) const SMALLEST: u64 = 16 << 20;

/// One entry of `volumes`.
pub(crate) struct Entry {
    pub(crate) name: String,
    /// The volumes; empty when the entry is wrong, which was already reported.
    pub(crate) volumes: Vec<Volume>,
    /// Price per hour of each volume, in their order; empty where they have none.
    pub(crate) prices: Vec<Number>,
    /// The only machines that have them, each its own; empty: every machine has its own.
    pub(crate) targets: Vec<String>,
    /// How many of the volumes a machine has, the first ones, where it has not all of them.
    pub(crate) fewer: BTreeMap<String, usize>,
    /// Whether their order is drawn anew in each round.
    pub(crate) is_shuffled: bool,
}

impl Entry {
    /// Adds a machine with its volumes, of which one list is the beginning of the other.
    pub(crate) fn add(&mut self, target: String, volumes: Vec<Volume>) {
        let (have, new) = (self.volumes.len(), volumes.len());
        if new > have {
            for earlier in &self.targets {
                self.fewer.entry(earlier.clone()).or_insert(have);
            }
            self.volumes = volumes;
        } else if new < have {
            self.fewer.insert(target.clone(), new);
        }
        self.targets.push(target);
    }

    /// How many of the volumes a machine has.
    pub(crate) fn count_on(&self, target: &str) -> usize {
        self.fewer.get(target).copied().unwrap_or(self.volumes.len())
    }

    /// The volumes whose order is drawn in each round, by the machine that has them; `None`: every machine has its own.
    pub(crate) fn shuffled(&self) -> Vec<(Option<String>, Vec<Volume>)> {
        if !self.is_shuffled {
            return Vec::new();
        }
        if self.targets.len() < 2 {
            return vec![(None, self.volumes.clone())];
        }
        let own = |target: &String| (Some(target.clone()), self.volumes[..self.count_on(target)].to_vec());
        self.targets.iter().map(own).filter(|(_, volumes)| volumes.len() > 1).collect()
    }
}

/// Reads `volumes`. `found`: the entries of volumes that drivers create.
pub(crate) fn read(
    node: Option<&Node>,
    mut found: Vec<Entry>,
    targets: &[Target],
    prices: Option<&PriceList>,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Vec<Entry> {
    let Some(node) = node else { return found };
    let Some(entries) = named(node, "a map: NAME: { emulate | directory | disks }", problems) else {
        return found;
    };
    if entries.is_empty() {
        problems
            .add(node.span, "there are no volumes")
            .expected("at least one, e.g. `vol: { emulate: { size: 1g } }`");
    }
    let mut total: usize = found.iter().map(|entry| entry.volumes.len()).sum();
    let mut disks = Disks { targets, prices, seen: BTreeMap::new() };
    for (key, node) in entries {
        if problems.full() {
            break;
        }
        if found.iter().any(|entry| entry.name == key.text) {
            problems
                .add(key.span, format!("`{}` is a volume of a created target already", key.text))
                .help("name one of them otherwise");
            continue;
        }
        // A wrong volume keeps its name, so that stacks on it are not reported as wrong too.
        let wrong = Entry {
            name: key.text.clone(),
            volumes: Vec::new(),
            prices: Vec::new(),
            targets: Vec::new(),
            fewer: BTreeMap::new(),
            is_shuffled: false,
        };
        let entry = entry(key, node, base_dir, &mut disks, scope, problems).unwrap_or(wrong);
        total = total.saturating_add(entry.volumes.len());
        if total > MAX_VOLUMES {
            problems.add(key.span, format!("more than {MAX_VOLUMES} volumes")).help("split the experiment");
            break;
        }
        found.push(entry);
    }
    found
}

fn entry(
    key: &Key,
    node: &Node,
    base_dir: &Path,
    disks: &mut Disks<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Entry> {
    crate::name::check_plain(key, "a volume", problems)?;
    let fields = Fields::open(node, &VOLUME, problems)?;
    let kinds: Vec<&str> =
        ["emulate", "directory", "disks"].into_iter().filter(|kind| fields.get(kind).is_some()).collect();
    let name = key.text.clone();
    let [kind] = kinds.as_slice() else {
        let message = if kinds.is_empty() {
            format!("volume `{name}` does not say what it is")
        } else {
            format!("volume `{name}` cannot be {} at once", kinds.join(" and "))
        };
        problems.add_missing(key.span, message).expected("exactly one of `emulate`, `directory`, `disks`");
        return None;
    };
    if let (Some(count), true) = (fields.key("count"), *kind != "emulate") {
        problems.add(count.span, format!("`count` does not go with `{kind}`")).help(if *kind == "disks" {
            "the list of disks is the count"
        } else {
            "name one directory per volume"
        });
    }
    let price = fields.get("price").and_then(|node| Some((node, price::read(node, scope, problems)?)));
    let mut target = match fields.get("target") {
        Some(node) => Some(known(node, disks.targets, scope, problems)?),
        None => None,
    };
    let inner = fields.get(kind)?;
    let volumes = match *kind {
        "emulate" => emulated(&name, inner, fields.get("count"), scope, problems)?,
        "directory" => {
            vec![Volume { kind: directory(inner, base_dir, scope, problems)?, name: name.clone() }]
        }
        _ => real(&name, inner, &mut target, disks, scope, problems)?,
    };
    let prices = price
        .map(|(node, price)| price::of_volumes(&price, &volumes, node, disks.prices, problems))
        .unwrap_or_default();
    let is_shuffled = shuffled(&fields, &name, &volumes, scope, problems)?;
    let targets = target.into_iter().collect();
    Some(Entry { name, volumes, prices, targets, fewer: BTreeMap::new(), is_shuffled })
}

/// Reads whether the order of the volumes is drawn in each round. They must be alike, since every place gets every one of them.
fn shuffled(
    fields: &Fields<'_>,
    name: &str,
    volumes: &[Volume],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<bool> {
    let Some(node) = fields.get("shuffle") else { return Some(false) };
    if !value::switch(node, scope, problems)? {
        return Some(false);
    }
    if volumes.len() < 2 {
        problems
            .add(node.span, format!("`{name}` is one volume, so there is nothing to shuffle"))
            .help("leave `shuffle` out, or give it a `count` or several `disks`");
        return None;
    }
    let place = |volume: &Volume| match &volume.kind {
        VolumeKind::Disk { .. } => VolumeKind::Disk { id: String::new() },
        VolumeKind::Guest { size_bytes, limits, burst, changes, .. } => VolumeKind::Guest {
            id: String::new(),
            size_bytes: *size_bytes,
            limits: *limits,
            burst: *burst,
            changes: changes.clone(),
        },
        other => other.clone(),
    };
    if let Some(other) = volumes.iter().find(|volume| place(volume) != place(&volumes[0])) {
        problems
            .add(node.span, format!("`{}` and `{}` are declared differently", volumes[0].name, other.name))
            .expected("volumes that are alike, since each takes every place")
            .help("declare the others as a volume of their own");
        return None;
    }
    Some(true)
}

fn emulated(
    name: &str,
    node: &Node,
    count: Option<&Node>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Volume>> {
    let fields = Fields::open(node, &EMULATE, problems)?;
    let limits = limits(&fields, scope, problems);
    let size_bytes = value::size(fields.get("size")?, scope, problems)?;
    if size_bytes < SMALLEST || size_bytes % 4096 != 0 {
        let span = fields.get("size")?.span;
        problems
            .add(span, format!("a volume of {} cannot be emulated", Bytes(size_bytes)))
            .expected(format!("at least {}, a multiple of 4 KiB", Bytes(SMALLEST)));
        return None;
    }
    let kind = VolumeKind::Emulate { size_bytes, limits: limits? };
    let Some(count) = count else { return Some(vec![Volume { name: name.to_owned(), kind }]) };
    let count = value::integer(count, 1..=MAX_VOLUMES as u64, scope, problems)?;
    Some((0..count).map(|i| Volume { name: format!("{name}[{i}]"), kind: kind.clone() }).collect())
}

/// Reads the limits of a volume, each direction separately.
pub(crate) fn limits(fields: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Limits> {
    let mut limits = Limits::default();
    let mut sound = true;
    let mut read = |both: &str, one: &str, as_size: bool| -> Option<u64> {
        if let (Some(_), Some(key)) = (fields.get(both), fields.key(one)) {
            problems
                .add(key.span, format!("`{one}` and `{both}` contradict each other"))
                .expected(format!("`{both}` for both directions, or `read_{both}` and `write_{both}`"));
            sound = false;
            return None;
        }
        let node = fields.get(both).or_else(|| fields.get(one))?;
        let value = if as_size {
            value::size(node, scope, problems)
        } else {
            value::integer(node, 1..=100_000_000, scope, problems)
        };
        sound &= value.is_some();
        value
    };
    limits.read_iops = read("iops", "read_iops", false);
    limits.write_iops = read("iops", "write_iops", false);
    limits.read_bps = read("bps", "read_bps", true);
    limits.write_bps = read("bps", "write_bps", true);
    sound.then_some(limits)
}

fn directory(
    node: &Node,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<VolumeKind> {
    let text = value::text(node, "a path of a directory that exists", scope, problems)?;
    if text.is_empty() || text.contains('\0') || text.starts_with('~') {
        problems
            .add(node.span, format!("`{}` is not the path of a directory", printable(&text, 60)))
            .expected("an absolute path, or one relative to the experiment file");
        return None;
    }
    let path = base_dir.join(&text);
    let path = std::path::absolute(&path).unwrap_or(path);
    if path.parent().is_none() {
        problems.add(node.span, "the root directory can't be a volume").help("name a directory below it");
        return None;
    }
    Some(VolumeKind::Directory { path })
}

/// The disks that may be named, those that were, and the offers that prices name.
struct Disks<'t> {
    targets: &'t [Target],
    prices: Option<&'t PriceList>,
    seen: BTreeMap<(Option<String>, String), Span>,
}

/// Reads the name of an existing target.
pub(crate) fn known(
    node: &Node,
    targets: &[Target],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
    if value::replaced(node, &names, scope, problems) {
        return None;
    }
    let name = value::text(node, "the name of a target", scope, problems)?;
    if targets.iter().any(|target| target.name == name) {
        return Some(name);
    }
    let diagnostic = problems.add(node.span, format!("there is no target `{}`", printable(&name, 60)));
    diagnostic.suggest(&name, names);
    if targets.is_empty() {
        diagnostic.help("declare it: `targets: { NAME: { ssh: user@host } }`");
    }
    None
}

/// Reads claimed disks, or disks of a lab guest. A guest's disks exist only there, so `target` becomes that guest.
fn real(
    name: &str,
    node: &Node,
    target: &mut Option<String>,
    disks: &mut Disks<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Volume>> {
    const EXPECTED: &str =
        "a list of disks by their names in /dev/disk/by-id, or by their names in a lab guest's `disks`";
    let mut kinds: Vec<VolumeKind> = Vec::new();
    for item in list(node) {
        // A parameter of type list may stand for several disks.
        for typed in value::texts(item, EXPECTED, &[], scope, problems)? {
            let (id, kind) = match of_lab(&typed, target.as_deref(), disks.targets) {
                Some((guest, disk)) => {
                    let other = target.replace(guest.clone()).filter(|other| *other != guest);
                    if other.is_some() || kinds.iter().any(|kind| matches!(kind, VolumeKind::Disk { .. })) {
                        let message = format!(
                            "`{typed}` is a disk of lab guest `{guest}`, others of `{name}` are elsewhere"
                        );
                        problems.add(item.span, message).help("one volume entry for each target");
                        return None;
                    }
                    let (size_bytes, limits, burst) = (disk.size_bytes, disk.limits, disk.burst);
                    let (id, changes) = (disk.id(), disk.changes.clone());
                    (id.clone(), VolumeKind::Guest { id, size_bytes, limits, burst, changes })
                }
                None => {
                    let id = id(&typed, item.span, problems)?;
                    (id.clone(), VolumeKind::Disk { id })
                }
            };
            if disks.seen.insert((target.clone(), id), item.span).is_some() {
                problems
                    .add(item.span, format!("disk `{}` is named twice", printable(&typed, 80)))
                    .help("every disk can serve once");
                return None;
            }
            kinds.push(kind);
        }
    }
    if kinds.is_empty() {
        problems.add(node.span, "the list of disks is empty").expected(EXPECTED);
        return None;
    }
    let volume = |(i, kind)| Volume { name: format!("{name}[{i}]"), kind };
    Some(kinds.into_iter().enumerate().map(volume).collect())
}

/// Returns the lab guest's disk of this name: on the given target, or else on the only one that has such a disk.
fn of_lab<'t>(name: &str, on: Option<&str>, targets: &'t [Target]) -> Option<(String, &'t LabDisk)> {
    let mut found =
        targets.iter().filter(|target| on.is_none_or(|on| on == target.name)).filter_map(|target| {
            let TargetKind::Guest { disks, .. } = &target.kind else { return None };
            Some((target.name.clone(), disks.iter().find(|disk| disk.name == name)?))
        });
    found.next().filter(|_| found.next().is_none())
}

/// Checks a disk's id.
fn id(typed: &str, span: Span, problems: &mut Problems<'_>) -> Option<String> {
    let id = typed.strip_prefix("/dev/disk/by-id/").unwrap_or(typed).to_owned();
    if id.is_empty()
        || id.contains(['/', '\0'])
        || id == "."
        || id == ".."
        || id.chars().any(char::is_control)
    {
        problems
            .add(span, format!("`{}` is not a disk's id", printable(&id, 80)))
            .expected("the name of a link in /dev/disk/by-id")
            .help("names like /dev/sda move between boots; `diskproof devices` lists every disk with its id");
        return None;
    }
    Some(id)
}
