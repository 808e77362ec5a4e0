//! Machines that a driver creates, and their volumes. The driver checks its own settings later: here they are only read.

use crate::diagnostic::printable;
use crate::fields::{Fields, list, named};
use crate::limits::MAX_VOLUMES;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::source::Span;
use crate::tree::{Key, Node, Value};
use crate::value;
use crate::vocabulary::{CREATED, CREATED_VOLUME};
use crate::volume::Entry;
use record::quantity::Bytes;
use record::target::{CreatedVolume, Target, TargetKind};
use record::volume::{Limits, Volume, VolumeKind};
use serde_json::Map;
use std::collections::BTreeMap;

/// The longest name of a volume or driver; a volume's index comes on top.
const LONGEST: usize = 32;
/// The deepest settings.
const DEEPEST: usize = 4;

/// Reads the driver, its settings and the volumes of a machine.
pub(crate) fn machine(
    fields: &Fields<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<TargetKind> {
    let node = fields.get("driver")?;
    let driver = value::text(node, "the name of a driver, e.g. `ec2`", scope, problems)?;
    plain(&Key { span: node.span, text: driver.clone() }, "a driver", problems)?;
    let settings = settings(fields, &CREATED, scope, problems)?;
    let volumes = match fields.get("volumes") {
        Some(node) => volumes(node, scope, problems)?,
        None => Vec::new(),
    };
    Some(TargetKind::Created { driver, settings, volumes })
}

/// Reads all keys that are not diskproof's own.
fn settings(
    fields: &Fields<'_>,
    table: &'static crate::vocabulary::Table,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Map<String, serde_json::Value>> {
    let mut settings = Map::new();
    for (key, node) in fields.others(table) {
        if let Some(value) = setting(node, DEEPEST, scope, problems)? {
            settings.insert(key.text.clone(), value);
        }
    }
    Some(settings)
}

/// Reads a setting's value; text stays text, since only the driver knows the type. An empty value counts as absent.
fn setting(
    node: &Node,
    deeper: usize,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<serde_json::Value>> {
    const EXPECTED: &str = "a setting of the driver";
    if deeper == 0 {
        problems.add(node.span, "settings of a driver are nested too deep");
        return None;
    }
    Some(Some(match &node.value {
        Value::Null => return Some(None),
        Value::Text(name) => match scope.find(name) {
            Some(Level::List(items)) => items.clone().into(),
            _ => value::text(node, EXPECTED, scope, problems)?.into(),
        },
        Value::List(_) => {
            let items = list(node).iter().map(|item| setting(item, deeper - 1, scope, problems));
            serde_json::Value::Array(items.collect::<Option<Vec<_>>>()?.into_iter().flatten().collect())
        }
        Value::Map(entries) => {
            let mut map = Map::new();
            for (key, node) in entries {
                if let Some(value) = setting(node, deeper - 1, scope, problems)? {
                    map.insert(key.text.clone(), value);
                }
            }
            map.into()
        }
    }))
}

fn volumes(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Vec<CreatedVolume>> {
    let entries = named(node, "a map: NAME: { size: 20g, count: 6, ... }", problems)?;
    let volumes: Vec<CreatedVolume> =
        entries.iter().map(|(key, node)| volume(key, node, scope, problems)).collect::<Option<_>>()?;
    let mut known: BTreeMap<String, &str> = BTreeMap::new();
    for ((key, _), created) in entries.iter().zip(&volumes) {
        for (_, drivers) in created.single() {
            if let Some(other) = known.insert(drivers.clone(), &created.name) {
                problems
                    .add(
                        key.span,
                        format!(
                            "the driver would get the name `{drivers}` twice: a volume of `{other}` has it"
                        ),
                    )
                    .help("give one of them another name");
                return None;
            }
        }
    }
    Some(volumes)
}

fn volume(key: &Key, node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<CreatedVolume> {
    plain(key, "a volume that a driver creates", problems)?;
    let entries = named(node, "a map: { size: 20g, count: 6, ... }", problems)?;
    let fields = Fields::open_with_others(entries, node.span, &CREATED_VOLUME, problems);
    let size_bytes = match fields.get("size") {
        Some(node) => Some(value::size(node, scope, problems)?),
        None => None,
    };
    let count = match fields.get("count") {
        Some(node) => Some(value::integer(node, 1..=MAX_VOLUMES as u64, scope, problems)?),
        None => None,
    };
    let shuffled = match fields.get("shuffle") {
        Some(node) => {
            let wanted = value::switch(node, scope, problems)?;
            // The count may be the level of a factor, so one of several counts may be 1.
            if wanted && count.is_none() {
                problems
                    .add(node.span, "one volume can't be shuffled")
                    .help("leave `shuffle` out, or give it a `count`");
                return None;
            }
            wanted
        }
        None => false,
    };
    let settings = settings(&fields, &CREATED_VOLUME, scope, problems)?;
    let count = count.and_then(|n| u32::try_from(n).ok());
    Some(CreatedVolume { name: key.text.clone(), count, size_bytes, settings, shuffled })
}

/// Checks a name that a driver gets.
fn plain(key: &Key, what: &str, problems: &mut Problems<'_>) -> Option<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let text = &key.text;
    if text.len() <= LONGEST && text.starts_with(|c: char| c.is_ascii_lowercase()) && text.chars().all(fits) {
        return Some(());
    }
    problems
        .add(key.span, format!("`{}` is not the name of {what}", printable(text, 60)))
        .expected(format!("lower-case letters, digits and hyphens, a letter first, at most {LONGEST}"));
    None
}

/// The volumes of created machines as entries of `volumes`. Machines may have volumes of one name, as far as they have one size; each has
/// the first ones of them.
pub(crate) fn entries(targets: &[Target], place: Span, problems: &mut Problems<'_>) -> Vec<Entry> {
    let mut all: Vec<Entry> = Vec::new();
    for target in targets {
        let TargetKind::Created { volumes, .. } = &target.kind else { continue };
        for created in volumes {
            let single = |(name, volume)| Volume {
                name,
                kind: VolumeKind::Created {
                    volume,
                    size_bytes: created.size_bytes,
                    limits: Limits::default(),
                },
            };
            let volumes: Vec<Volume> = created.single().into_iter().map(single).collect();
            let Some(entry) = all.iter_mut().find(|entry| entry.name == created.name) else {
                all.push(Entry {
                    name: created.name.clone(),
                    volumes,
                    prices: Vec::new(),
                    targets: vec![target.name.clone()],
                    fewer: BTreeMap::new(),
                    is_shuffled: created.shuffled,
                });
                continue;
            };
            if let Some((message, help)) = differ(entry, created, &volumes, &target.name) {
                problems.add(place, message).help(help);
                continue;
            }
            entry.add(target.name.clone(), volumes);
        }
    }
    all
}

/// Why volumes of a target can't have the name of an entry, and the way out.
fn differ(
    entry: &Entry,
    created: &CreatedVolume,
    volumes: &[Volume],
    target: &str,
) -> Option<(String, &'static str)> {
    let first = entry.targets.first().cloned().unwrap_or_default();
    let name = &created.name;
    if created.shuffled != entry.is_shuffled {
        let message = format!("`{name}` is shuffled on one of the targets `{first}` and `{target}` only");
        return Some((message, "write `shuffle` at both or at none, or name the volumes apart"));
    }
    if entry.volumes.iter().zip(volumes).all(|(a, b)| a == b) {
        return None;
    }
    let size = created.size_bytes.map_or_else(String::new, |bytes| format!(" of {}", Bytes(bytes)));
    let message =
        format!("target `{target}` has volumes `{name}`{size}, and target `{first}` has others of that name");
    Some((
        message,
        "volumes of one name have one size on all targets, and a `count` on all or on none; name them apart",
    ))
}

#[cfg(test)]
mod tests {
    use record::plan::Plan;
    use record::target::TargetKind;
    use record::volume::{Limits, VolumeKind};
    use serde_json::json;
    use std::path::Path;

    fn read(targets: &str, stacks: &str, set: &[(&str, &str)]) -> Result<Plan, String> {
        let text = format!(
            "experiment: demo\nparameters: {{ kind: small }}\ntargets: {{ {targets} }}\nstacks: {{ {stacks} }}\n\
             workloads: {{ w: {{ rw: read, bs: 4k, size: 64m }} }}\n"
        );
        let set = set.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        crate::parse(&text, "demo.yaml", Path::new("/"), &set)
            .map(|loaded| loaded.plan)
            .map_err(|e| e.to_string())
    }

    const BIG: &str = "big: { driver: d, type: kind, zones: [a, b], tags: { x: 1 }, nothing: , \
                       volumes: { gp: { size: 1g, iops: 3000, count: 3 }, eph: { index: 0 } } }";

    #[test]
    fn unknown_keys_are_the_drivers_and_parameters_reach_them() {
        let plan = read(BIG, "s: { on: 'gp[0]' }", &[("kind", "m7i.large")]).unwrap();
        let TargetKind::Created { driver, settings, volumes } = &plan.targets[0].kind else {
            panic!("{plan:?}")
        };
        assert_eq!(driver, "d");
        let expected = json!({ "type": "m7i.large", "zones": ["a", "b"], "tags": { "x": "1" } });
        assert_eq!(serde_json::Value::Object(settings.clone()), expected);
        assert_eq!(serde_json::Value::Object(volumes[0].settings.clone()), json!({ "iops": "3000" }));
        assert_eq!((volumes[0].size_bytes, volumes[0].count), (Some(1 << 30), Some(3)));
        assert_eq!((volumes[1].size_bytes, volumes[1].count), (None, None));
    }

    #[test]
    fn stacks_stand_on_created_volumes_as_on_any() {
        let plan =
            read(BIG, "'s{n}': { with: { n: [1, 3] }, on: 'gp[..n]', layers: [btrfs] }, e: { on: eph }", &[])
                .unwrap();
        assert_eq!(plan.cells.len(), 3);
        let names =
            |at: usize| plan.cells[at].stack.volumes.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(1), ["gp[0]", "gp[1]", "gp[2]"]);
        assert_eq!(
            plan.cells[1].stack.volumes[2].kind,
            VolumeKind::Created {
                volume: "gp-2".to_owned(),
                size_bytes: Some(1 << 30),
                limits: Limits::default()
            }
        );
        assert_eq!(names(2), ["eph"]);
    }

    #[test]
    fn targets_share_names_of_volumes_of_one_size() {
        let two = |b: &str| {
            format!(
                "a: {{ driver: d, volumes: {{ v: {{ size: 1g, type: x }} }} }}, b: {{ driver: d, volumes: {{ v: {b} }} }}, c: local"
            )
        };
        let plan = read(&two("{ size: 1g, type: y }"), "s: { on: v }", &[]).unwrap();
        let on: Vec<&str> = plan.cells.iter().map(|cell| cell.target.as_str()).collect();
        assert_eq!(on, ["a", "b"], "not on c, which has none");
        let said = read(&two("{ size: 2g }"), "s: { on: v }", &[]).unwrap_err();
        assert!(said.contains("name them apart"), "{said}");
    }

    #[test]
    fn what_a_driver_could_not_take_is_refused() {
        for (target, part) in [
            ("x: { driver: 'A b' }", "not the name of a driver"),
            ("x: { driver: d, volumes: { V_1: { size: 1g } } }", "not the name of a volume"),
            ("x: { driver: d, volumes: { v: { size: 1g, count: 0 } } }", "count"),
            (
                "x: { driver: d, volumes: { gp: { size: 1g, count: 2 }, gp-0: { size: 1g } } }",
                "the name `gp-0` twice",
            ),
            ("x: { driver: }", "driver"),
            ("x: { driver: d }", "`volumes`"),
        ] {
            let said = read(target, "s: { on: v }", &[]).unwrap_err();
            assert!(said.contains(part), "{target}: {said}");
        }
    }
}
