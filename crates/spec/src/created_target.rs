//! Targets that drivers create, as declared: one machine for each combination of the levels of `with`.

use crate::factor::{self, combination, combinations};
use crate::fields::Fields;
use crate::limits::MAX_TARGETS;
use crate::number::Number;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::tariff::PriceList;
use crate::tree::{Key, Node};
use crate::vocabulary::CREATED;
use crate::{created, target_keys};
use record::id::LOCAL;
use record::target::{Target, TargetKind};

/// A machine with its levels, and its price per hour.
pub(crate) struct Machine {
    pub(crate) target: Target,
    pub(crate) levels: Vec<(String, Level)>,
    pub(crate) price: Option<Number>,
}

/// Reads a target with a driver. `list`: the offers that prices name.
pub(crate) fn read(
    (key, node): (&Key, &Node),
    entries: &[(Key, Node)],
    list: Option<&PriceList>,
    parameters: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Machine>> {
    crate::name::check_template(key, "a target", problems)?;
    if key.text == LOCAL {
        problems.add(key.span, "`local` is the name of this machine").expected("another name");
        return None;
    }
    let fields = Fields::open_with_others(entries, node.span, &CREATED, problems);
    let factors = factor::read(fields.get("with"), parameters, problems)?;
    let count = combinations(&factors);
    if count > MAX_TARGETS as u128 {
        let message = format!("{count} targets by the levels of `with`; at most {MAX_TARGETS} are allowed");
        problems.add(key.span, message).help("take out levels or factors");
        return None;
    }
    let mut machines = Vec::new();
    for index in 0..count {
        let scope = Scope { parent: Some(parameters), names: combination(&factors, index) };
        let name = factor::fill_name(key, &factors, &scope, "target", problems)?;
        let target = one(name, &fields, &scope, problems)?;
        let price = target_keys::price_of(&target.name, node, list, &scope, problems);
        machines.push(Machine { target, levels: scope.names, price });
    }
    Some(machines)
}

fn one(name: String, fields: &Fields<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Target> {
    let kind = created::machine(fields, scope, problems)?;
    let address = match fields.get("address") {
        Some(node) => Some(target_keys::plain_address(node, scope, problems)?),
        None => None,
    };
    let ceiling = match fields.get("limits") {
        Some(node) => Some(target_keys::ceiling(node, scope, problems)?),
        None => None,
    };
    let shares = match fields.get("shares") {
        Some(node) => target_keys::shares(node, scope, problems)?,
        None => Vec::new(),
    };
    Some(Target { name, kind, address, ceiling, shares, hosted_by: None })
}

/// Whether a target is created by a driver.
pub(crate) fn is_created(target: &Target) -> bool {
    matches!(target.kind, TargetKind::Created { .. })
}

/// How well a declared name, e.g. `big-{type}`, fits the name of a target: the number of its own characters; `None`: not at all. A level
/// whose factor the name doesn't mention is appended to it.
pub(crate) fn fit(declared: &str, name: &str) -> Option<usize> {
    if declared == name {
        return Some(usize::MAX);
    }
    let mut parts = declared.split('{');
    let first = parts.next()?;
    let mut rest = name.strip_prefix(first)?;
    let mut own = first.len();
    for part in parts {
        let (_, text) = part.split_once('}')?;
        let at = rest.find(text)?;
        rest = &rest[at + text.len()..];
        own += text.len();
    }
    (declared.contains('{') || rest.starts_with('-')).then_some(own)
}

#[cfg(test)]
mod tests {
    use super::fit;
    use record::plan::Plan;
    use std::path::Path;

    fn read(targets: &str, rest: &str) -> Result<Plan, String> {
        let text = format!(
            "experiment: demo\nparameters: {{ kinds: {{ type: list, default: [m7i.large, m7i.xlarge] }} }}\n\
             targets: {{ {targets} }}\n{rest}\nworkloads: {{ w: {{ rw: read, bs: 4k, size: 64m }} }}\n"
        );
        crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default())
            .map(|loaded| loaded.plan)
            .map_err(|e| e.to_string())
    }

    const BY_TYPE: &str = "'big-{kind}-{disk}': { with: { kind: kinds, disk: [gp3, io2] }, driver: d, machine_type: kind, \
                           volumes: { v: { size: 1g, type: disk, count: 2 } } }";

    #[test]
    fn each_combination_of_levels_is_a_machine_and_its_levels_are_the_cells() {
        let plan = read(BY_TYPE, "stacks: { s: { on: 'v[0]' } }").unwrap();
        let names: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
        let all = ["big-m7i.large-gp3", "big-m7i.large-io2", "big-m7i.xlarge-gp3", "big-m7i.xlarge-io2"];
        assert_eq!(names, all);
        let json = serde_json::to_value(&plan.targets[3]).unwrap();
        assert_eq!(json["kind"]["created"]["settings"]["machine_type"], "m7i.xlarge");
        assert_eq!(json["kind"]["created"]["volumes"][0]["settings"]["type"], "io2");
        let cell = &plan.cells[1];
        assert_eq!((cell.target.as_str(), cell.levels["kind"].as_str()), (all[1], "m7i.large"));
        assert_eq!(cell.levels["disk"], "io2");
        assert_eq!(plan.cells.len(), 4);
    }

    #[test]
    fn rules_and_expectations_know_the_factors_of_targets() {
        let rest = "stacks: { s: { on: 'v[0]' } }\nexclude: [ { disk: io2 } ]\n\
                    contrast: { large: { of: iops, a: { kind: m7i.xlarge }, b: { kind: m7i.large } } }";
        let plan = read(BY_TYPE, rest).unwrap();
        assert_eq!((plan.cells.len(), plan.contrasts.len()), (2, 1));
    }

    #[test]
    fn the_count_of_volumes_is_a_factor_and_stacks_stand_where_their_volumes_are() {
        let target = "'m-{c}': { with: { c: [1, 2, 4] }, driver: d, volumes: { v: { size: 1g, count: c, shuffle: 1 } } }";
        let stacks = "stacks: { 's{n}': { with: { n: [1, 2, 4] }, on: 'v[..n]', layers: [btrfs] } }";
        let plan = read(target, stacks).unwrap();
        let on = |n: &str| {
            let cells = plan.cells.iter().filter(|cell| cell.levels["n"] == n);
            cells.map(|cell| cell.target.clone()).collect::<Vec<_>>()
        };
        assert_eq!(
            (on("1").len(), on("2"), on("4")),
            (3, vec!["m-2".into(), "m-4".into()], vec!["m-4".into()])
        );
        // Each machine draws from its own volumes.
        assert_eq!(plan.shuffled.iter().map(Vec::len).collect::<Vec<_>>(), [2, 4]);
        assert_eq!(plan.shuffled_on, [Some("m-2".to_owned()), Some("m-4".to_owned())]);
        for round in 0..50 {
            for cell in plan.cells.iter().filter(|cell| cell.target == "m-2") {
                let drawn = crate::drawn(&plan, cell, round).unwrap();
                assert!(drawn.stack.volumes.iter().all(|one| ["v[0]", "v[1]"].contains(&one.name.as_str())));
            }
        }
        let said = read(target, "stacks: { s: { on: v, layers: [btrfs] } }").unwrap_err();
        assert!(said.contains("not as many on each target") && said.contains("v[..n]"), "{said}");
    }

    #[test]
    fn a_factor_of_targets_and_stacks_has_one_level_in_a_cell() {
        let target = "m: { with: { n: [1, 2, 4] }, driver: d, volumes: { v: { size: 1g, count: n } } }";
        let stacks = "stacks: { 's{n}': { with: { n: [1, 2, 3] }, on: 'v[..n]', layers: [btrfs] } }";
        let plan = read(target, stacks).unwrap();
        let cells: Vec<(&str, &str)> =
            plan.cells.iter().map(|cell| (cell.target.as_str(), cell.stack.name.as_str())).collect();
        assert_eq!(cells, [("m-1", "s1"), ("m-2", "s2")]);
    }

    #[test]
    fn wrong_factors_and_names_are_refused() {
        let stacks = "stacks: { s: { on: 'v[0]' } }";
        for (target, part) in [
            ("'m-{x}': { driver: d, volumes: { v: { count: 1 } } }", "neither a factor"),
            ("m: { with: { kinds: [1] }, driver: d }", "a parameter already"),
            ("m: { with: { a: [] }, driver: d }", "no levels"),
            (
                "m: { with: { a: [1, 2] }, driver: d, volumes: { v: { count: 1 } } }, m-1: { driver: d, volumes: { v: { count: 1 } } }",
                "two targets are named `m-1`",
            ),
            ("m: { with: { a: [1] }, ssh: host }", "`with` needs a `driver`"),
        ] {
            let said = read(target, stacks).unwrap_err();
            assert!(said.contains(part), "{target}: {said}");
        }
    }

    #[test]
    fn a_name_is_found_by_how_it_was_declared() {
        assert_eq!(fit("big", "big"), Some(usize::MAX));
        assert!(fit("big-{type}", "big-m7i.large") > fit("{type}", "big-m7i.large"));
        assert_eq!((fit("big", "big-2"), fit("big", "bigger"), fit("a-{n}", "b-1")), (Some(3), None, None));
    }
}
