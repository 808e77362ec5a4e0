//! Stacks as declared, and one stack per combination of their levels.

use crate::fields::list;
use crate::frame::{Below, Frame, Given};
use crate::layer;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::template::{Instance, Template};
use crate::tree::Node;
use crate::value;
use crate::vocabulary::REBUILDS;
use crate::volume::Entry;
use record::stack::{Rebuild, Stack};
use record::volume::{Volume, VolumeKind};

/// The stack of one combination.
pub(crate) fn instance(
    template: &Template<'_>,
    levels: Vec<(String, Level)>,
    entries: &[Entry],
    parameters: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Instance<Stack>> {
    let scope = Scope { parent: Some(parameters), names: levels };
    let name = template.name(&scope, problems);
    let nodes = template.fields.get("layers").map_or(&[][..], list);
    let frames = layer::frames(nodes, &scope, problems)?;
    let on = base(template, &frames, problems)?;
    let volumes = match on {
        Some(node) => crate::selector::select(node, entries, &scope, problems),
        None => only_volume(template, entries, problems),
    };
    let Some(volumes) = volumes else {
        // Errors in the layers themselves are reported in any case.
        let mut given = Given::Unknown;
        for frame in &frames {
            layer::read(frame, &mut given, &mut Below::new(&[], entries), &scope, problems);
            given = Given::Unknown;
        }
        return None;
    };
    let directory = volumes.iter().find(|volume| matches!(volume.kind, VolumeKind::Directory { .. }));
    let mut given = match directory {
        Some(volume) if volumes.len() > 1 => {
            let span = on.map_or(template.key.span, |node| node.span);
            problems
                .add(
                    span,
                    format!("`{}` is a directory and cannot be combined with other volumes", volume.name),
                )
                .help("select it alone");
            return None;
        }
        Some(_) => Given::Directory { made_by: "the volume" },
        None => Given::Devices(volumes.len()),
    };
    let mut layers = Vec::new();
    let mut below = Below::new(&volumes, entries);
    for frame in &frames {
        layers.extend(layer::read(frame, &mut given, &mut below, &scope, problems)?);
    }
    let beside = below.beside;
    let rebuild = rebuild(template, &scope, problems)?;
    unfit_for_shuffle(template, [&volumes, &beside], rebuild, entries, problems)?;
    let stack = Stack { name: name?, volumes, beside, layers, rebuild };
    if let (Given::Devices(count @ 2..), true) = (&given, stack.transforming().next().is_none()) {
        let span = on.map_or(template.key.span, |node| node.span);
        problems
            .add(span, format!("a raw workload runs on one device, not on {count}{}", scope.levels()))
            .help(
                "select one volume, e.g. `vol[0]`, or put a layer on top that combines them (lvm, md, btrfs, command)",
            );
        return None;
    }
    Some(Instance { levels: scope.names, thing: stack })
}

/// Refuses shuffled volumes where a stack can't change them from round to round. `volumes`: those under the first layer, and the others.
fn unfit_for_shuffle(
    template: &Template<'_>,
    volumes: [&[Volume]; 2],
    rebuild: Rebuild,
    entries: &[Entry],
    problems: &mut Problems<'_>,
) -> Option<()> {
    let shuffled = |volume: &Volume| {
        let mut entries = entries.iter().filter(|entry| entry.is_shuffled);
        entries.find(|entry| entry.volumes.iter().any(|one| one.name == volume.name))
    };
    let [main, beside] = volumes;
    let why = if let Some(entry) = beside.iter().find_map(shuffled) {
        let message = format!("`{}` is shuffled, so it can't be the cache or log of a stack", entry.name);
        Some((message, "declare the volumes of caches and logs as a volume of their own, without `shuffle`"))
    } else if let (Rebuild::Run, Some(entry)) = (rebuild, main.iter().find_map(shuffled)) {
        let message = format!(
            "`{}` is shuffled, but the stack stays up over the rounds (`rebuild: run`) on the volumes of the first",
            entry.name
        );
        Some((message, "leave `rebuild` or `shuffle` out"))
    } else {
        None
    };
    let Some((message, help)) = why else { return Some(()) };
    problems.add(template.key.span, message).help(help);
    None
}

/// Reads how often the stack is built.
fn rebuild(template: &Template<'_>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Rebuild> {
    let Some(node) = template.fields.get("rebuild") else { return Some(Rebuild::Trial) };
    let word = value::choice(node, REBUILDS, scope, problems)?;
    [Rebuild::Trial, Rebuild::Run].into_iter().find(|rebuild| rebuild.name() == word)
}

/// Returns the node with the volumes of the stack.
fn base<'n>(
    template: &Template<'n>,
    frames: &[Frame<'n>],
    problems: &mut Problems<'_>,
) -> Option<Option<&'n Node>> {
    let stack_on = template.fields.get("on");
    let mut layer_on = None;
    for (i, frame) in frames.iter().enumerate() {
        let Some(key) = frame.on_key() else { continue };
        if i > 0 {
            problems
                .add(key.span, "`on` belongs to the first layer; the others stand on the layer below them")
                .help("remove this `on`");
            return None;
        }
        if stack_on.is_some() {
            problems
                .add(key.span, "`on` is there twice: in the stack and in its first layer")
                .help("remove one");
            return None;
        }
        layer_on = frame.on();
    }
    Some(layer_on.or(stack_on))
}

fn only_volume(
    template: &Template<'_>,
    entries: &[Entry],
    problems: &mut Problems<'_>,
) -> Option<Vec<Volume>> {
    match entries {
        [] => return None,
        [entry] if entry.volumes.is_empty() => return None,
        [entry] if entry.volumes.len() == 1 => return Some(entry.volumes.clone()),
        _ => {}
    }
    let known: Vec<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    problems
        .add_missing(
            template.key.span,
            format!(
                "stack `{}` does not say what it stands on",
                crate::diagnostic::printable(&template.key.text, 60)
            ),
        )
        .expected("`on` in the stack or in its first layer, e.g. `on: vol[0]`")
        .help(format!("volumes: {}", crate::diagnostic::printable(&known.join(", "), 200)));
    None
}
