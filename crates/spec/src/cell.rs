//! A cell's identity, and the checks of its stack against its workload.

use crate::capacity;
use crate::diagnostic::printable;
use crate::forecast::space_bytes;
use crate::problems::Problems;
use crate::source::Span;
use record::id::CellId;
use record::job_file::{On, first_unfit};
use record::plan::Cell;
use record::quantity::Bytes;
use record::stack::{Layer, Stack};
use record::volume::{Volume, VolumeKind};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Workload};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Returns the cell's id: the first 16 hex digits of SHA-256 over the canonical JSON of `levels`, `stack`, `target` and
/// `workload` (in this order), without spaces, keys sorted by their bytes at every depth. [`canonical_json`] makes stack and
/// workload.
pub(crate) fn id(target: &str, stack: &str, workload: &str, levels: &BTreeMap<String, String>) -> CellId {
    let (levels, target) = (canonical_json(levels), Value::from(target));
    let text = format!(r#"{{"levels":{levels},"stack":{stack},"target":{target},"workload":{workload}}}"#);
    CellId(hex(&text, 8))
}

/// Returns the SHA-256 of a record's canonical JSON, in hex.
pub(crate) fn digest(noun: &impl serde::Serialize) -> String {
    hex(&canonical_json(noun), 32)
}

/// Returns the first bytes of a text's SHA-256, in hex.
fn hex(text: &str, bytes: usize) -> String {
    let mut hex = String::with_capacity(2 * bytes);
    for byte in Sha256::digest(text.as_bytes()).iter().take(bytes) {
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}

/// Returns the canonical JSON of a record.
pub(crate) fn canonical_json(noun: &impl serde::Serialize) -> String {
    let mut text = String::new();
    // This can't fail: the types of `record` have no maps with keys that are not strings.
    canonical(&serde_json::to_value(noun).unwrap_or_default(), &mut text);
    text
}

fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            out.push('{');
            for (i, (key, value)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::String(key.clone()).to_string());
                out.push(':');
                canonical(value, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(item, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

/// Whether the workloads on a stack run on a bare block device.
#[must_use]
pub fn on_device(stack: &Stack) -> bool {
    match stack.transforming().next_back() {
        None => {
            !matches!(stack.volumes.first().map(|volume| &volume.kind), Some(VolumeKind::Directory { .. }))
        }
        Some(Layer::Command(command)) => matches!(command.provides, record::stack::Provides::Device(_)),
        Some(Layer::Lvm(_) | Layer::Md(_) | Layer::Luks(_) | Layer::Bcache(_)) => true,
        Some(Layer::Filesystem(_) | Layer::Btrfs(_) | Layer::Zfs(_) | Layer::Nfs(_) | Layer::Knobs(_)) => {
            false
        }
    }
}

/// Returns an upper bound of the data that a stack can hold, in bytes; `None` where only the machine knows.
pub(crate) fn room(stack: &Stack) -> Option<u64> {
    let mut sizes = Vec::new();
    for volume in &stack.volumes {
        match volume.kind {
            VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } => {
                sizes.push(size_bytes)
            }
            VolumeKind::Created { size_bytes, .. } => sizes.push(size_bytes?),
            VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => return None,
        }
    }
    for layer in stack.transforming() {
        sizes = vec![capacity::over(layer, &sizes)?];
    }
    Some(sizes.iter().fold(0, |sum: u64, size| sum.saturating_add(*size)))
}

/// The places of a workload or stack for messages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spans {
    pub(crate) name: Span,
    pub(crate) size: Option<Span>,
    pub(crate) layout: Option<Span>,
    pub(crate) on: Option<Span>,
}

/// Reports why a cell is impossible.
pub(crate) fn check(cell: &Cell, spans: Spans, problems: &mut Problems<'_>) {
    let (stack, workload) = (&cell.stack, &cell.workload);
    let needed = space_bytes(cell);
    let room = room(stack);
    let tight = |room: u64| needed > room / 4 * 3 && needed <= room;
    if room.is_some_and(tight) && stack.transforming().next().is_some() && !stays_a_hole(workload) {
        problems.note(
            spans.size.unwrap_or(spans.name),
            format!(
                "workload `{}` fills more than three quarters of stack `{}`; the file system needs room as well",
                workload.name, stack.name
            ),
        );
    }
    if let Some(room) = room.filter(|room| *room < needed) {
        let (needed, room) = (Bytes(needed), Bytes(room));
        problems
            .add(
                spans.size.unwrap_or(spans.name),
                format!(
                    "workload `{}` needs {needed}, but stack `{}` holds at most about {room}",
                    workload.name, stack.name
                ),
            )
            .help("lower `size` or `numjobs`, raise the volumes' `size`, or `exclude` this combination");
    }
    check_trims(cell, spans, problems);
    check_job_file(cell, spans, problems);
    if !on_device(stack) {
        return;
    }
    if let Ask::Copy(_) | Ask::Bonnie(_) = workload.ask {
        problems
            .add(
                spans.name,
                format!(
                    "workload `{}` makes files, and stack `{}` is a bare block device",
                    workload.name, stack.name
                ),
            )
            .help("put a file system on it, or `exclude` this combination");
        return;
    }
    if workload.all_options().iter().any(|options| options.nrfiles > 1) {
        problems
            .add(spans.name, format!("`nrfiles` on stack `{}`, a bare block device", stack.name))
            .help("a block device has no files; put a file system on it, or `exclude` this combination");
    }
    if workload.layout != Layout::Written {
        problems
            .add(
                spans.layout.unwrap_or(spans.name),
                format!("`layout: {}` on stack `{}`, a bare block device", layout(workload), stack.name),
            )
            .help(
                "a block device has neither holes nor unwritten extents; put a file system on it, or `exclude` \
                 this combination",
            );
    }
    if let (Ask::Options(options), CacheStart::Warm) = (&workload.ask, workload.cache)
        && options.direct
    {
        problems.note(spans.name, "`cache: warm` has no effect on direct I/O to a block device");
    }
}

/// Reports what fio can't do for a job file on this stack.
fn check_job_file(cell: &Cell, spans: Spans, problems: &mut Problems<'_>) {
    let (stack, workload) = (&cell.stack, &cell.workload);
    let Ask::JobFile { text, .. } = &workload.ask else { return };
    let on = if on_device(stack) { On::Device } else { On::Files };
    if workload.engine == EngineKind::Fio
        && let Some((section, _, why)) = first_unfit(text, on)
    {
        let section = printable(&section, 60);
        problems
            .add(
                spans.name,
                format!(
                    "[{section}] of workload `{}` on stack `{}`: {}",
                    workload.name,
                    stack.name,
                    printable(&why, 200)
                ),
            )
            .help("or `exclude` this combination");
    }
}

/// Reports trims that are known to fail.
fn check_trims(cell: &Cell, spans: Spans, problems: &mut Problems<'_>) {
    let (stack, workload) = (&cell.stack, &cell.workload);
    if !workload.all_options().iter().any(|options| options.rw.trims()) {
        return;
    }
    let emulated = |volume: &Volume| matches!(volume.kind, VolumeKind::Emulate { .. });
    if !on_device(stack) && workload.engine == EngineKind::Fio {
        problems
            .add(spans.name, format!("workload `{}` trims, but fio cannot trim files", workload.name))
            .help("use `engine: native`, which punches holes, or a stack that ends in a block device");
    } else if stack.transforming().next().is_none() && stack.volumes.iter().any(emulated) {
        problems
            .add(
                spans.name,
                format!("workload `{}` trims, but stack `{}` is a bare emulated volume", workload.name, stack.name),
            )
            .help(
                "its discards are off, so that its backing file stays written; put a file system on it (files \
                 can be trimmed), or `exclude` this combination",
            );
    }
}

/// Whether the data takes no room, because nothing writes it.
fn stays_a_hole(workload: &Workload) -> bool {
    let known = workload.all_options();
    workload.layout == Layout::Hole && !known.is_empty() && known.iter().all(|options| !options.rw.writes())
}

fn layout(workload: &Workload) -> &'static str {
    match workload.layout {
        Layout::Written => "written",
        Layout::Unwritten => "unwritten",
        Layout::Hole => "hole",
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_data_that_take_room_fill_a_stack() {
        let notes = |options: &str| {
            let text = format!(
                "experiment: demo\nvolumes: {{ v: {{ emulate: {{ size: 64m }} }} }}\nstacks: {{ s: {{ layers: [ext4] }} }}\n\
                 workloads: {{ w: {{ size: 56m, {options} }} }}\n"
            );
            let loaded = crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default());
            loaded.unwrap_or_else(|error| panic!("{error}")).notes.len()
        };
        assert_eq!(
            [notes("rw: read"), notes("rw: read, layout: hole"), notes("rw: randrw, layout: hole")],
            [1, 0, 1]
        );
    }
}
