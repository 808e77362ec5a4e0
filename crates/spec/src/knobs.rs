//! The knobs layer: kernel settings that belong to a stack.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::frame::{Frame, Given};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use record::knobs::{Knob, KnobName, Knobs};
use record::quantity::Bytes;

/// Reads a value in the form that the kernel writes to the file.
type Reader = fn(&Node, &Scope<'_>, &mut Problems<'_>) -> Option<String>;

pub(crate) fn read(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Knobs> {
    let mut set = Vec::new();
    for &name in KnobName::ALL {
        let Some(node) = fields.get(name.word()) else { continue };
        let value = reader(name)(node, scope, problems)?;
        set.push(Knob { name, value });
    }
    let knobs = Knobs { set };
    if knobs.set.is_empty() {
        if fields.entries().iter().any(|(key, _)| key.text != "on") {
            return None; // an unknown or empty key was already reported
        }
        problems
            .add(frame.key_span, "a `knobs` layer that sets nothing")
            .help("name a setting, e.g. `knobs: { scheduler: none }`, or leave the layer out");
        return None;
    }
    for [ratio, bytes] in [
        [KnobName::DirtyRatio, KnobName::DirtyBytes],
        [KnobName::DirtyBackgroundRatio, KnobName::DirtyBackgroundBytes],
    ] {
        let has = |name| knobs.set.iter().any(|knob| knob.name == name);
        if has(ratio) && has(bytes) {
            let span = fields.key(bytes.word()).map_or(frame.key_span, |key| key.span);
            problems
                .add(span, format!("`{}` and `{}` are both given", ratio.word(), bytes.word()))
                .help("they say the same in two ways; the kernel obeys the last one: keep one");
            return None;
        }
    }
    if let (Given::Directory { made_by: "the volume" }, Some(knob)) = (given, knobs.of_device()) {
        let span = fields.key(knob.name.word()).map_or(frame.key_span, |key| key.span);
        problems
            .add(span, format!("`{}` is a setting of a device, but the volume is a directory", knob.name.word()))
            .help("its device is others' too; use an emulated volume or a disk, or settings of the whole machine");
        return None;
    }
    Some(knobs)
}

fn reader(name: KnobName) -> Reader {
    match name {
        KnobName::Scheduler => scheduler,
        KnobName::ReadAhead => |node, scope, problems| kib(node, 0, scope, problems),
        KnobName::MaxSectors => |node, scope, problems| kib(node, 4096, scope, problems),
        KnobName::Rotational => {
            |node, scope, problems| Some(u8::from(value::switch(node, scope, problems)?).to_string())
        }
        KnobName::NrRequests => |node, scope, problems| whole(node, 1, 1 << 20, scope, problems),
        KnobName::Nomerges | KnobName::RqAffinity => {
            |node, scope, problems| whole(node, 0, 2, scope, problems)
        }
        KnobName::Swappiness => |node, scope, problems| whole(node, 0, 200, scope, problems),
        KnobName::VfsCachePressure => |node, scope, problems| whole(node, 0, 1_000_000, scope, problems),
        KnobName::DirtyRatio | KnobName::DirtyBackgroundRatio => {
            |node, scope, problems| Some(value::percentage(node, scope, problems)?.to_string())
        }
        // the kernel's minimum: two pages
        KnobName::DirtyBytes => |node, scope, problems| bytes(node, 8192, scope, problems),
        KnobName::DirtyBackgroundBytes => |node, scope, problems| bytes(node, 1, scope, problems),
        KnobName::DirtyExpire | KnobName::DirtyWriteback => |node, scope, problems| {
            Some(value::time(node, "s", 100, 0..=36_000_000, scope, problems)?.to_string())
        },
        KnobName::WbtLatency => |node, scope, problems| {
            Some(value::time(node, "us", 1_000_000, 0..=60_000_000, scope, problems)?.to_string())
        },
    }
}

fn scheduler(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str = "a scheduler's name, e.g. none, mq-deadline, bfq, kyber";
    let text = value::text(node, EXPECTED, scope, problems)?;
    let plain = text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if text.is_empty() || text.len() > 15 || !plain {
        problems.add(node.span, format!("`{}` is not a scheduler", printable(&text, 40))).expected(EXPECTED);
        return None;
    }
    // The single-queue block layer's noop also does nothing.
    Some(if text == "noop" { "none".to_owned() } else { text })
}

fn kib(node: &Node, least: u64, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let bytes = value::bytes(node, least, scope, problems)?;
    if !bytes.is_multiple_of(4096) {
        problems.add(node.span, format!("a size of {}", Bytes(bytes))).expected("a multiple of 4k");
        return None;
    }
    Some((bytes / 1024).to_string())
}

fn bytes(node: &Node, least: u64, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    Some(value::bytes(node, least, scope, problems)?.to_string())
}

fn whole(
    node: &Node,
    least: u64,
    most: u64,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<String> {
    Some(value::integer(node, least..=most, scope, problems)?.to_string())
}
