//! The md layer.

use crate::fields::Fields;
use crate::frame::{Below, Frame, Given};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::value;
use crate::vocabulary::volume_manager::{MD_LAYOUTS, RAID_LEVELS};
use record::lvm::Resync;
use record::md::{Md, MdCopies, MdLayout, MdLevel};
use record::quantity::Bytes;

/// mdadm's default.
const CHUNK_BYTES: u64 = 512 << 10;

pub(crate) fn read(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Md> {
    if let Some(made) = &below.made {
        problems
            .add(
                frame.key_span,
                format!("`md` combines volumes, but `{}` below it makes a single device", made.by),
            )
            .help("put `md` below it, on the volumes themselves");
        return None;
    }
    let level = match value::choice(fields.get("level")?, RAID_LEVELS, scope, problems) {
        Some("raid0") => MdLevel::Raid0,
        Some("raid1") => MdLevel::Raid1,
        Some(_) => MdLevel::Raid10,
        None => {
            let diagnostic = problems.amend(fields.get("level")?.span);
            if ["raid4", "raid5", "raid6"].iter().any(|level| diagnostic.message.contains(level)) {
                diagnostic.did_you_mean = None;
                diagnostic.help("levels with parity are not built in; use `command` with mdadm");
            }
            return None;
        }
    };
    let devices = match given {
        Given::Devices(count) => *count,
        Given::Unknown | Given::Directory { .. } => usize::MAX,
    };
    if devices < level.min_devices() {
        let span = frame.on().map_or(frame.key_span, |node| node.span);
        problems
            .add(
                span,
                format!(
                    "{} needs {} devices, but has {devices}{}",
                    level.name(),
                    level.min_devices(),
                    scope.levels()
                ),
            )
            .help("select more volumes in `on`, e.g. `vol[0..4]`");
        return None;
    }
    only_where(fields, "chunk", level != MdLevel::Raid1, "raid1 has no chunks", problems)?;
    only_where(fields, "layout", level == MdLevel::Raid10, "only raid10 has a layout", problems)?;
    let mirrored = level != MdLevel::Raid0;
    only_where(fields, "bitmap", mirrored, "raid0 has nothing to note: it has no copies", problems)?;
    only_where(fields, "resync", mirrored, "raid0 has no resync: it has no copies", problems)?;
    let chunk_bytes = match fields.get("chunk") {
        Some(node) => {
            let bytes = value::size(node, scope, problems)?;
            if !bytes.is_power_of_two() || !((4 << 10)..=(1 << 30)).contains(&bytes) {
                problems
                    .add(node.span, format!("a chunk of {}{}", Bytes(bytes), scope.levels()))
                    .expected("a power of two from 4k to 1g");
                return None;
            }
            bytes
        }
        None => CHUNK_BYTES,
    };
    let kind = match fields.get("layout") {
        Some(node) => match value::choice(node, MD_LAYOUTS, scope, problems)? {
            "f2" => MdCopies::Far,
            "o2" => MdCopies::Offset,
            _ => MdCopies::Near,
        },
        None => MdCopies::Near,
    };
    let bitmap = match fields.get("bitmap") {
        Some(node) => value::switch(node, scope, problems)?,
        None => false,
    };
    let resync = crate::lvm::resync(fields, scope, problems)?;
    Some(Md {
        level,
        chunk_bytes: (level != MdLevel::Raid1).then_some(chunk_bytes),
        layout: (level == MdLevel::Raid10).then_some(MdLayout { kind, copies: 2 }),
        bitmap,
        resync: mirrored.then_some(resync.unwrap_or(Resync::Skip)),
    })
}

fn only_where(
    fields: &Fields<'_>,
    name: &str,
    allowed: bool,
    why: &str,
    problems: &mut Problems<'_>,
) -> Option<()> {
    match (fields.get(name), fields.key(name)) {
        (Some(_), Some(key)) if !allowed => {
            problems.add(key.span, format!("`{name}` does not belong here: {why}")).help("remove it");
            None
        }
        _ => Some(()),
    }
}
