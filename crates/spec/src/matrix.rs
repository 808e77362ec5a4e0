//! The matrix: every stack times every workload, each with its combinations of levels, without the cells that rules exclude.

use crate::cell::{self, Spans};
use crate::factor::{combination, combinations};
use crate::fields::{Fields, named};
use crate::filter::{About, Rule, rules};
use crate::limits::{MAX_CELLS, MAX_PLAN_BYTES, MAX_WORK};
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::source::Span;
use crate::target::Machines;
use crate::tariff::PriceList;
use crate::template::{Instance, Template};
use crate::tree::{Key, Node, Value};
use crate::vocabulary::{STACK, WORKLOAD};
use crate::{created, loading, nfs_remote, persistent_stacks, stack, target, volume, workload};
use record::id::LOCAL;
use record::plan::{Cell, PriceListInfo, Prices};
use record::quantity::Bytes;
use record::stack::Stack;
use record::target::Target;
use record::volume::Volume;
use record::workload::Workload;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The result of reading volumes, stacks, workloads and rules.
pub(crate) struct Matrix {
    /// The cells; `None`: there are errors, which were already reported.
    pub(crate) cells: Option<Vec<Cell>>,
    /// Names of all factors, as far as they were readable.
    pub(crate) factors: Vec<String>,
    /// Price per hour of the volumes that have a price, by name.
    pub(crate) prices: BTreeMap<String, Number>,
    /// Price per hour of the machines that have a price, by the target's name.
    pub(crate) machines: BTreeMap<String, Number>,
    /// The machines.
    pub(crate) targets: Vec<Target>,
    /// The volumes whose order is drawn in each round, each group with the only machine that has it.
    pub(crate) shuffled: Vec<(Option<String>, Vec<Volume>)>,
}

impl Matrix {
    /// Returns the prices of a plan's volumes. Volumes that no cell uses are not provided, and cost nothing.
    pub(crate) fn prices(&self, currency: Option<String>, list: Option<PriceListInfo>) -> Prices {
        let own = |cell: &Cell, volume: &Volume| cell.stack.volumes.iter().any(|own| own.name == volume.name);
        let cells = || self.cells.iter().flatten();
        let drawn = self
            .shuffled
            .iter()
            .filter(|(_, group)| cells().any(|cell| group.iter().any(|one| own(cell, one))));
        let drawn = drawn.flat_map(|(_, group)| group);
        let used = cells().flat_map(|cell| cell.stack.all_volumes()).chain(drawn);
        let priced =
            used.filter_map(|volume| Some((volume.name.clone(), self.prices.get(&volume.name)?.to_f64())));
        let per_hour = priced.collect();
        let loaded = |target: &&String| self.cells.iter().flatten().any(|cell| cell.is_built_on(target));
        let machines = self.machines.iter().filter(|(target, _)| loaded(target));
        let machines = machines.map(|(target, price)| (target.clone(), price.to_f64())).collect();
        Prices { currency, per_hour, machines, list, ..Prices::default() }
    }
}

/// A stack or workload with its levels, and its place for messages.
struct Placed<T> {
    spans: Spans,
    levels: Vec<(String, Level)>,
    /// The stack or workload as canonical JSON.
    json: String,
    thing: T,
}

impl<T: serde::Serialize> Placed<T> {
    fn new(spans: Spans, levels: Vec<(String, Level)>, thing: T) -> Self {
        Self { spans, levels, json: cell::canonical_json(&thing), thing }
    }
}

/// Stacks or workloads, and the size of their text.
struct Gathered<T> {
    all: Vec<Placed<T>>,
    bytes: u64,
}

impl<T> Default for Gathered<T> {
    fn default() -> Self {
        Self { all: Vec::new(), bytes: 0 }
    }
}

impl<T> Gathered<T> {
    /// Adds one. If that is too much, it reports this and returns false.
    fn push(&mut self, one: Placed<T>, problems: &mut Problems<'_>) -> bool {
        self.bytes = self.bytes.saturating_add(one.json.len() as u64);
        if self.bytes > MAX_PLAN_BYTES / 4 {
            too_heavy(one.spans.name, self.bytes, problems);
            return false;
        }
        self.all.push(one);
        true
    }
}

fn too_heavy(span: Span, bytes: u64, problems: &mut Problems<'_>) {
    problems
        .add(span, format!("the plan would take more than {}", Bytes(bytes)))
        .expected(format!("at most {}", Bytes(MAX_PLAN_BYTES)))
        .help("fewer cells, fewer volumes per stack, or shorter texts");
}

/// The rules of `only` and `exclude`, in this order, each with its place.
struct Rules {
    all: Vec<(Rule, Span)>,
    /// Number of `only` rules.
    only: usize,
}

/// Reads the matrix.
pub(crate) fn read(
    fields: &Fields<'_>,
    prices: Option<&PriceList>,
    base_dir: &Path,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Matrix {
    let machines = target::read(fields.get("targets"), prices, scope, problems);
    let targets = &machines.targets;
    let node = fields.get("volumes");
    let made = created::entries(targets, node.map(|node| node.span).unwrap_or_default(), problems);
    let volumes = volume::read(node, made, targets, prices, base_dir, scope, problems);
    if volumes.is_empty() && node.is_none() && problems.none() {
        let span = fields.key("experiment").map(|key| key.span).unwrap_or_default();
        problems.add_missing(span, "an experiment needs `volumes`").help(
            "volumes: where data may live; volumes that a driver creates stand in the target: `targets: { m: { driver: NAME, volumes: { ... } } }`",
        );
    }
    let stacks: Vec<Template<'_>> = entries(fields.get("stacks"), "a map: NAME: { layers: [...] }", problems)
        .iter()
        .filter_map(|one| Template::read(one, "stack", &STACK, scope, problems))
        .collect();
    let workloads: Vec<Template<'_>> =
        entries(fields.get("workloads"), "a map: NAME: { rw, bs, size, ... }", problems)
            .iter()
            .filter_map(|one| Template::read(one, "workload", &WORKLOAD, scope, problems))
            .collect();
    check_shared(&stacks, &workloads, problems);
    let factors = factors(fields);
    let rules = read_rules(fields, &factors, scope, problems);
    let few = count(fields, targets.len().max(1), &stacks, &workloads, problems).is_some();
    let mut cells = None;
    if let (true, false) = (few, problems.full()) {
        let built = all_of(&stacks, problems, |template, levels, problems| {
            stack::instance(template, levels, &volumes, scope, problems)
        });
        unique(&built, |stack| &stack.name, "stacks", problems);
        let asked = all_of(&workloads, problems, |template, levels, problems| {
            workload::instance(template, levels, scope, base_dir, problems)
        });
        unique(&asked, |workload| &workload.name, "workloads", problems);
        if let (Some(rules), true) = (rules, problems.none()) {
            cells = check_weight(fields, &built, &asked, problems)
                .and_then(|()| places(&built, &volumes, targets, problems))
                .and_then(|places| remote(&built, &places, targets, problems).map(|()| places))
                .and_then(|places| known(&asked, targets, problems).map(|()| places))
                .and_then(|places| product(fields, &built, &places, &asked, &machines, &rules, problems));
        }
    }
    let shuffled = volumes.iter().flat_map(volume::Entry::shuffled).collect();
    let Machines { targets, prices: machines, .. } = machines;
    Matrix { cells, factors, prices: prices_of(&volumes), machines, targets, shuffled }
}

fn prices_of(volumes: &[volume::Entry]) -> BTreeMap<String, Number> {
    let priced = volumes.iter().flat_map(|entry| entry.volumes.iter().zip(&entry.prices));
    priced.map(|(volume, price)| (volume.name.clone(), *price)).collect()
}

fn entries<'n>(node: Option<&'n Node>, expected: &str, problems: &mut Problems<'_>) -> &'n [(Key, Node)] {
    let Some(node) = node else { return &[] };
    let Some(entries) = named(node, expected, problems) else { return &[] };
    if entries.is_empty() {
        problems.add(node.span, "there is nothing here").expected(expected);
    }
    entries
}

fn read_rules(
    fields: &Fields<'_>,
    factors: &[String],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Rules> {
    let only = rules(fields.get("only"), factors, scope, problems);
    let exclude = rules(fields.get("exclude"), factors, scope, problems);
    let (mut all, exclude) = (only?, exclude?);
    let only = all.len();
    all.extend(exclude);
    Some(Rules { all, only })
}

/// Refuses too many cells, before any cell is created.
fn count(
    fields: &Fields<'_>,
    targets: usize,
    stacks: &[Template<'_>],
    workloads: &[Template<'_>],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let of_stacks = stacks.iter().try_fold(0_u128, |sum, one| sum.checked_add(combinations(&one.factors)));
    let of_workloads =
        workloads.iter().try_fold(0_u128, |sum, one| sum.checked_add(combinations(&one.factors)));
    let cells = of_stacks.zip(of_workloads).and_then(|(s, w)| s.checked_mul(w)?.checked_mul(targets as u128));
    let most = of_stacks.max(of_workloads);
    if cells.is_some_and(|cells| cells <= MAX_CELLS) && most.is_some_and(|most| most <= MAX_CELLS) {
        return Some(());
    }
    let span = fields.key("stacks").or(fields.key("workloads")).map(|key| key.span).unwrap_or_default();
    let message = match (cells, of_stacks, of_workloads) {
        (Some(cells), Some(s), Some(w)) => {
            let targets = if targets > 1 { format!(" on {targets} targets") } else { String::new() };
            format!("{cells} cells: {s} stacks times {w} workloads{targets}")
        }
        _ => "more cells than can be counted".to_owned(),
    };
    problems
        .add(span, message)
        .expected(format!("at most {MAX_CELLS} cells"))
        .help("take out levels or factors; `only` and `exclude` are applied after this limit");
    None
}

/// Returns the names of all factors, including those with wrong levels.
fn factors(fields: &Fields<'_>) -> Vec<String> {
    let mut names = BTreeSet::new();
    for section in ["targets", "stacks", "workloads"] {
        let things = fields.get(section).map_or(&[][..], map_entries);
        let with =
            things.iter().flat_map(|(_, thing)| map_entries(thing)).filter(|(key, _)| key.text == "with");
        names.extend(with.flat_map(|(_, with)| map_entries(with)).map(|(key, _)| key.text.clone()));
    }
    names.into_iter().collect()
}

fn map_entries(node: &Node) -> &[(Key, Node)] {
    match &node.value {
        Value::Map(entries) => entries,
        _ => &[],
    }
}

/// Checks that no stack and workload share a factor: their levels would be combined, not matched.
fn check_shared(stacks: &[Template<'_>], workloads: &[Template<'_>], problems: &mut Problems<'_>) {
    let of_stacks: BTreeSet<&str> =
        stacks.iter().flat_map(|one| one.factors.iter().map(|factor| factor.name.as_str())).collect();
    for factor in workloads.iter().flat_map(|one| &one.factors) {
        if of_stacks.contains(factor.name.as_str()) {
            problems.add(factor.span, format!("factor `{}` belongs to a stack already", factor.name)).help(
                "every stack meets every workload, so the two would vary independently under one name; \
                     rename one",
            );
        }
    }
}

/// Returns all instances of the templates with their levels; stops after enough errors.
fn all_of<T: serde::Serialize>(
    templates: &[Template<'_>],
    problems: &mut Problems<'_>,
    instance: impl Fn(&Template<'_>, Vec<(String, Level)>, &mut Problems<'_>) -> Option<Instance<T>>,
) -> Vec<Placed<T>> {
    let mut gathered = Gathered::default();
    for template in templates {
        let at = |name| template.fields.get(name).map(|node| node.span);
        // of a stack only the first
        let (size, layout, on) = (at("size").or(at("fio")), at("layout"), at("on"));
        let spans = Spans { name: template.key.span, size, layout, on };
        for index in 0..combinations(&template.factors) {
            if problems.full() {
                return gathered.all;
            }
            let levels = combination(&template.factors, index);
            if let Some(one) = instance(template, levels, problems)
                && !gathered.push(Placed::new(spans, one.levels, one.thing), problems)
            {
                return Vec::new();
            }
        }
    }
    gathered.all
}

fn unique<T>(all: &[Placed<T>], name: impl Fn(&T) -> &str, what: &str, problems: &mut Problems<'_>) {
    let mut seen = BTreeSet::new();
    for one in all {
        let name = name(&one.thing);
        if !seen.insert(name) {
            problems
                .add(one.spans.name, format!("two {what} are named `{name}`, levels filled in"))
                .help("names must tell them apart: put every factor into the name, or rename one");
        }
    }
}

/// Refuses plans that would not fit into memory.
fn check_weight(
    fields: &Fields<'_>,
    stacks: &[Placed<Stack>],
    workloads: &[Placed<Workload>],
    problems: &mut Problems<'_>,
) -> Option<()> {
    // The records take about as much memory as their texts.
    let of_stacks: u64 = stacks.iter().map(|one| one.json.len() as u64 + 512).sum();
    let of_workloads: u64 = workloads.iter().map(|one| one.json.len() as u64 + 512).sum();
    let total = of_stacks
        .saturating_mul(workloads.len() as u64)
        .saturating_add(of_workloads.saturating_mul(stacks.len() as u64));
    if total <= MAX_PLAN_BYTES {
        return Some(());
    }
    let span = fields.key("stacks").map(|key| key.span).unwrap_or_default();
    too_heavy(span, total, problems);
    None
}

/// Returns for each stack the machines that it is built on: those that have all of its volumes.
fn places(
    stacks: &[Placed<Stack>],
    volumes: &[volume::Entry],
    targets: &[Target],
    problems: &mut Problems<'_>,
) -> Option<Vec<Vec<String>>> {
    let only: BTreeMap<&str, Vec<&String>> = volumes
        .iter()
        .filter(|entry| !entry.targets.is_empty())
        .flat_map(|entry| entry.volumes.iter().enumerate().map(move |(at, one)| (entry, at, one)))
        .map(|(entry, at, one)| {
            let has = |target: &&String| entry.count_on(target) > at;
            (one.name.as_str(), entry.targets.iter().filter(has).collect())
        })
        .collect();
    let everywhere: Vec<String> = match targets {
        [] => vec![LOCAL.to_owned()],
        _ => targets.iter().map(|target| target.name.clone()).collect(),
    };
    let mut places = Vec::new();
    for stack in stacks {
        let bound: Vec<&Vec<&String>> =
            stack.thing.all_volumes().filter_map(|volume| only.get(volume.name.as_str())).collect();
        let on = |target: &&String| bound.iter().all(|targets| targets.contains(target));
        let place: Vec<String> = everywhere.iter().filter(on).cloned().collect();
        if place.is_empty() {
            let several: BTreeSet<&str> =
                bound.iter().flat_map(|one| one.iter().map(|name| name.as_str())).collect();
            let several = several.into_iter().collect::<Vec<_>>().join(" and ");
            let message = format!("stack `{}` stands on volumes of {several}", stack.thing.name);
            problems.add(stack.spans.name, message).expected("volumes of one target");
            return None;
        }
        places.push(place);
    }
    Some(places)
}

/// Checks stacks that another machine mounts.
fn remote(
    stacks: &[Placed<Stack>],
    places: &[Vec<String>],
    targets: &[Target],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let mut outcome = Some(());
    for (stack, places) in stacks.iter().zip(places) {
        let fits = nfs_remote::check(&stack.thing, stack.spans.name, places, targets, problems);
        outcome = outcome.and(fits);
    }
    outcome
}

/// Checks the machines that run a workload at the same time.
fn known(workloads: &[Placed<Workload>], targets: &[Target], problems: &mut Problems<'_>) -> Option<()> {
    let mut outcome = Some(());
    for workload in workloads {
        let fits = loading::known(&workload.thing, workload.spans, targets, problems);
        outcome = outcome.and(fits);
    }
    outcome
}

fn product(
    fields: &Fields<'_>,
    stacks: &[Placed<Stack>],
    places: &[Vec<String>],
    workloads: &[Placed<Workload>],
    machines: &Machines,
    rules: &Rules,
    problems: &mut Problems<'_>,
) -> Option<Vec<Cell>> {
    let count = stacks.len() as u128 * workloads.len() as u128;
    let work = rules.all.iter().map(|(rule, _)| rule.work()).sum::<u128>() * count;
    if work > MAX_WORK {
        let span = fields.key("exclude").or(fields.key("only")).map(|key| key.span).unwrap_or_default();
        problems
            .add(span, format!("too many patterns for {count} cells"))
            .help("fewer rules with `*` in them, or levels left out where they are declared");
        return None;
    }
    let mut used = vec![false; rules.all.len()];
    let (mut cells, mut spans) = (Vec::new(), Vec::new());
    let placed = stacks.iter().zip(places).flat_map(|(s, on)| on.iter().map(move |target| (s, on, target)));
    for (s, places, target) in placed {
        let of_target = machines.levels.get(target).map(Vec::as_slice).unwrap_or_default();
        for w in workloads.iter().filter(|w| loading::is_placed(&s.thing, &w.thing, places, target)) {
            let own = s.levels.iter().chain(&w.levels);
            // A factor of targets and stacks has one level in a cell.
            if own.clone().any(|(name, level)| of_target.iter().any(|(n, l)| n == name && l != level)) {
                continue;
            }
            let levels: BTreeMap<String, String> =
                own.chain(of_target).map(|(name, level)| (name.clone(), level.text())).collect();
            let about = About { target, stack: &s.thing.name, workload: &w.thing.name, levels: &levels };
            if !rules.keep(&about, &mut used) {
                continue;
            }
            let (stack, workload) = (s.thing.clone(), w.thing.clone());
            let id = cell::id(target, &s.json, &w.json, &levels);
            let cell = Cell { id, target: target.clone(), stack, workload, levels };
            cell::check(&cell, w.spans, problems);
            loading::check(&cell, places, &machines.targets, w.spans, problems);
            if problems.full() {
                return None;
            }
            cells.push(cell);
            spans.push(s.spans.name);
        }
    }
    let placed: Vec<persistent_stacks::Placed<'_>> = cells.iter().zip(spans).collect();
    persistent_stacks::check(&placed, problems);
    for (_, (_, span)) in used.iter().zip(&rules.all).filter(|(used, _)| !**used) {
        problems
            .add(*span, "this rule matches no cell")
            .help("names are compared with their levels filled in; `*` matches anything");
    }
    if cells.is_empty() && problems.none() {
        let span = fields.key("exclude").or(fields.key("only")).map(|key| key.span).unwrap_or_default();
        problems.add(span, "no cell is left").help("the rules contradict each other or exclude everything");
    }
    Some(cells)
}

impl Rules {
    /// Whether a cell stays; marks the rules that matched it.
    fn keep(&self, about: &About<'_>, used: &mut [bool]) -> bool {
        let mut kept = self.only == 0;
        let mut dropped = false;
        for (i, ((rule, _), used)) in self.all.iter().zip(used).enumerate() {
            if rule.matches(about) {
                *used = true;
                kept |= i < self.only;
                dropped |= i >= self.only;
            }
        }
        kept && !dropped
    }
}
