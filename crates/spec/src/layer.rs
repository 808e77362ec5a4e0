//! Layers: each is built on the output of the one below.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::frame::{Below, Frame, Given};
use crate::fs_options::{mkfs_options, mount_options};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Node, Value};
use crate::value;
use crate::vocabulary::volume_manager::{BCACHE, LVM, MD};
use crate::vocabulary::{
    BTRFS, COMMAND, FILESYSTEM, KNOBS, LAYER, LAYERS, LUKS, LayerName, NFS, RAW, STRIPE, Table, ZFS,
};
use record::allowed::{Mkfs, Mounted};
use record::quantity::Bytes;
use record::stack::{Filesystem, FsKind, Layer, Luks, StripeGeometry};

/// The most layers of one stack.
const MAX_LAYERS: usize = 16;
/// What `luks` needs of a device at least: its header, and room for something on top.
const LEAST_LUKS: u64 = Luks::HEADER_BYTES + (4 << 20);
/// What `bcache` needs of the device that it caches at least.
const LEAST_BACKING: u64 = 4 << 20;
/// Sizes of a volume key, bits.
const KEY_BITS: std::ops::RangeInclusive<u64> = 64..=1024;

/// Reads the names of a stack's layers. A name may be a factor: `layers: [fs]` with `fs: [ext4, xfs]`.
pub(crate) fn frames<'n>(
    nodes: &'n [Node],
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<Frame<'n>>> {
    if let Some(node) = nodes.get(MAX_LAYERS) {
        problems.add(node.span, format!("{} layers; at most {MAX_LAYERS} are allowed", nodes.len()));
        return None;
    }
    nodes.iter().map(|node| frame(node, scope, problems)).collect()
}

fn frame<'n>(node: &'n Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Frame<'n>> {
    const EXPECTED: &str = "a layer: one of raw, ext3, ext4, xfs, btrfs, lvm, md, luks, bcache, zfs, nfs, command, knobs, e.g. `- ext4: { mount_options: [noatime] }`";
    let (typed, span, inner) = match &node.value {
        Value::Text(name) => (name, node.span, node),
        Value::Map(entries) => match entries.as_slice() {
            [(key, inner)] => (&key.text, key.span, inner),
            [] => {
                problems.add(node.span, "an empty layer").expected(EXPECTED);
                return None;
            }
            [_, (second, _), ..] => {
                let shown = printable(&second.text, 40);
                problems
                    .add(second.span, format!("a second layer `{shown}` in the same list item"))
                    .expected("one layer per list item")
                    .help("begin it with a `-` of its own; a layer's options stand one level deeper, under its name");
                return None;
            }
        },
        Value::Null | Value::List(_) => {
            problems.add(node.span, format!("{} does not fit here", node.kind())).expected(EXPECTED);
            return None;
        }
    };
    let name = match scope.find(typed) {
        Some(level) => level.text(),
        None => scope.fill(typed, &[]).unwrap_or_else(|_| typed.clone()),
    };
    if let Some(kind) = LayerName::ALL.into_iter().find(|known| known.name() == name) {
        return Some(Frame { kind, node: inner, key_span: span });
    }
    let diagnostic =
        problems.add(span, format!("unknown layer `{}`{}", printable(&name, 40), used(typed, &name, scope)));
    match LAYER.instead.iter().find(|(word, _)| *word == name) {
        Some((_, instead)) => diagnostic.help(*instead),
        None => diagnostic.suggest(&name, LAYERS.iter().copied().chain(scope.known())),
    };
    diagnostic.expected(EXPECTED);
    None
}

/// Returns the levels in force, if the name came from one of them.
fn used(typed: &str, name: &str, scope: &Scope<'_>) -> String {
    if typed == name { String::new() } else { scope.levels() }
}

/// Reads one layer, and sets `given` to its output. `raw` is not a layer of its own.
pub(crate) fn read(
    frame: &Frame<'_>,
    given: &mut Given,
    below: &mut Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Option<Layer>> {
    if let (Given::Directory { made_by }, false) =
        (&*given, matches!(frame.kind, LayerName::Raw | LayerName::Knobs | LayerName::Nfs))
    {
        problems
            .add(
                frame.key_span,
                format!("`{}` needs a block device, but {made_by} below is a directory", frame.kind),
            )
            .help(if *made_by == "the volume" {
                "an existing directory is used as it is: leave `layers` empty, or use an emulated volume or a disk"
            } else {
                "a file system is the last layer, but for `nfs` and `knobs`"
            });
        return None;
    }
    let layer = match frame.kind {
        LayerName::Raw => {
            fields(frame, &RAW, problems)?;
            return Some(None);
        }
        LayerName::Btrfs => {
            let fields = fields(frame, &BTRFS, problems)?;
            let btrfs = crate::btrfs::read(&fields, given, scope, problems)?;
            check_room(frame, below, crate::btrfs::least_bytes(&btrfs, given), scope, problems)?;
            *given = Given::Directory { made_by: "btrfs" };
            Layer::Btrfs(btrfs)
        }
        LayerName::Command => {
            let fields = fields(frame, &COMMAND, problems)?;
            let layer = crate::command::read(&fields, scope, problems)?;
            *given = match layer.provides {
                record::stack::Provides::Mount => Given::Directory { made_by: "the command layer" },
                record::stack::Provides::Device(_) => Given::Devices(1),
            };
            let layer = Layer::Command(layer);
            below.make("command", &layer);
            layer
        }
        LayerName::Lvm => {
            let fields = fields(frame, &LVM, problems)?;
            let lvm = crate::lvm::read(frame, &fields, given, below, scope, problems)?;
            // The metadata of mirrors takes an extent; that of a thin pool takes one, and its spare another.
            let extents = u64::from(lvm.layout.copies() > 1) + 2 * u64::from(lvm.thin.is_some());
            check_room(frame, below, (8 << 20) + extents * (4 << 20), scope, problems)?;
            let layer = Layer::Lvm(lvm);
            *given = Given::Devices(1);
            below.make("lvm", &layer);
            layer
        }
        LayerName::Md => {
            let fields = fields(frame, &MD, problems)?;
            let layer = Layer::Md(crate::md::read(frame, &fields, given, below, scope, problems)?);
            check_room(frame, below, 8 << 20, scope, problems)?;
            *given = Given::Devices(1);
            below.make("md", &layer);
            layer
        }
        LayerName::Luks => {
            let fields = fields(frame, &LUKS, problems)?;
            let layer = Layer::Luks(luks(frame, &fields, given, below, scope, problems)?);
            *given = Given::Devices(1);
            below.make("luks", &layer);
            layer
        }
        LayerName::Bcache => {
            let fields = fields(frame, &BCACHE, problems)?;
            one_device(frame, given, scope, problems)?;
            check_room(frame, below, LEAST_BACKING, scope, problems)?;
            let layer = Layer::Bcache(crate::lvm::bcache(&fields, below, scope, problems)?);
            *given = Given::Devices(1);
            below.make("bcache", &layer);
            layer
        }
        LayerName::Zfs => {
            let fields = fields(frame, &ZFS, problems)?;
            let layer = Layer::Zfs(crate::zfs::read(frame, &fields, given, below, scope, problems)?);
            check_room(frame, below, 64 << 20, scope, problems)?;
            *given = Given::Directory { made_by: "zfs" };
            layer
        }
        LayerName::Nfs => {
            let fields = fields(frame, &NFS, problems)?;
            let layer = Layer::Nfs(crate::nfs::read(frame, &fields, given, below, scope, problems)?);
            *given = Given::Directory { made_by: crate::nfs::MADE_BY };
            layer
        }
        LayerName::Knobs => {
            let fields = fields(frame, &KNOBS, problems)?;
            Layer::Knobs(crate::knobs::read(frame, &fields, given, scope, problems)?)
        }
        LayerName::Ext3 => filesystem(FsKind::Ext3, frame, given, below, scope, problems)?,
        LayerName::Ext4 => filesystem(FsKind::Ext4, frame, given, below, scope, problems)?,
        LayerName::Xfs => filesystem(FsKind::Xfs, frame, given, below, scope, problems)?,
    };
    Some(Some(layer))
}

/// Returns the layer's keys; a bare name (`- xfs`) has none.
fn fields<'n>(frame: &Frame<'n>, table: &'static Table, problems: &mut Problems<'_>) -> Option<Fields<'n>> {
    match &frame.node.value {
        Value::Text(_) if frame.node.span == frame.key_span => {
            Some(Fields::none(frame.key_span, table, problems))
        }
        _ => Fields::open(frame.node, table, problems),
    }
}

fn filesystem(
    kind: FsKind,
    frame: &Frame<'_>,
    given: &mut Given,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Layer> {
    let fields = fields(frame, &FILESYSTEM, problems)?;
    let (program, mounted, least) = match kind {
        FsKind::Ext3 | FsKind::Ext4 => (Mkfs::Ext, Mounted::Ext, 16 << 20),
        FsKind::Xfs => (Mkfs::Xfs, Mounted::Xfs, 300 << 20),
    };
    one_device(frame, given, scope, problems)?;
    check_room(frame, below, least, scope, problems)?;
    *given = Given::Directory { made_by: "the file system" };
    Some(Layer::Filesystem(Filesystem {
        kind,
        mkfs_options: mkfs_options(fields.get("mkfs_options"), program, scope, problems)?,
        mount_options: mount_options(fields.get("mount_options"), mounted, scope, problems)?,
        stripe: match fields.get("stripe") {
            Some(node) => Some(stripe(node, scope, problems)?),
            None => None,
        },
    }))
}

fn one_device(
    frame: &Frame<'_>,
    given: &Given,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    if let Given::Devices(count @ 2..) = given {
        let span = frame.on().map_or(frame.key_span, |node| node.span);
        problems
            .add(span, format!("{} stands on one device, not on {count}{}", frame.kind, scope.levels()))
            .help("select one volume, e.g. `vol[0]`, or combine them below it with lvm or md");
        return None;
    }
    Some(())
}

fn luks(
    frame: &Frame<'_>,
    fields: &Fields<'_>,
    given: &Given,
    below: &Below<'_>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Luks> {
    one_device(frame, given, scope, problems)?;
    check_room(frame, below, LEAST_LUKS, scope, problems)?;
    let cipher = match fields.get("cipher") {
        Some(node) => cipher(node, scope, problems)?,
        None => Luks::CIPHER.to_owned(),
    };
    let key_bits = match fields.get("key_size") {
        Some(node) => key_bits(node, &cipher, scope, problems)?,
        None => Luks::default_key_bits(&cipher),
    };
    let sector_bytes = match fields.get("sector_size") {
        Some(node) => sector_bytes(node, scope, problems)?,
        None => Luks::SECTOR_BYTES[0],
    };
    let mut bypasses = |name| match fields.get(name) {
        Some(node) => value::switch(node, scope, problems),
        None => Some(false),
    };
    let (no_read_workqueue, no_write_workqueue) =
        (bypasses("no_read_workqueue")?, bypasses("no_write_workqueue")?);
    Some(Luks { cipher, key_bits, sector_bytes, no_read_workqueue, no_write_workqueue })
}

fn cipher(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    const EXPECTED: &str =
        "a cipher as dm-crypt names it, of a-z 0-9 : _ -, at most 64 of them, e.g. `aes-xts-plain64`";
    let typed = value::text(node, EXPECTED, scope, problems)?;
    if Luks::is_cipher(&typed) {
        return Some(typed);
    }
    problems
        .add(node.span, format!("`{}` is not the name of a cipher{}", printable(&typed, 40), scope.levels()))
        .expected(EXPECTED);
    None
}

/// Whole bytes; of AES what that takes, twice as much where XTS splits the key in two.
fn key_bits(node: &Node, cipher: &str, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    let bits = value::integer(node, KEY_BITS, scope, problems)?;
    let (fits, expected) = if cipher.starts_with("aes-xts-") {
        ([256, 384, 512].contains(&bits), format!("256, 384 or 512, which {cipher} takes"))
    } else if cipher == "aes" || cipher.starts_with("aes-") {
        ([128, 192, 256].contains(&bits), format!("128, 192 or 256, which {cipher} takes"))
    } else {
        (bits % 8 == 0, "a multiple of 8".to_owned())
    };
    if fits {
        return u32::try_from(bits).ok();
    }
    problems.add(node.span, format!("a key of {bits} bits{}", scope.levels())).expected(expected);
    None
}

fn sector_bytes(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u32> {
    let bytes = value::size(node, scope, problems)?;
    let found = Luks::SECTOR_BYTES.into_iter().find(|known| u64::from(*known) == bytes);
    if found.is_none() {
        problems
            .add(node.span, format!("a sector of {}{}", Bytes(bytes), scope.levels()))
            .expected("512, 1024, 2048 or 4096 bytes");
    }
    found
}

fn stripe(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<StripeGeometry> {
    let fields = Fields::open(node, &STRIPE, problems)?;
    let chunk = fields.get("chunk")?;
    let chunk_bytes = value::size(chunk, scope, problems)?;
    if chunk_bytes % 4096 != 0 {
        problems.add(chunk.span, format!("a chunk of {}", Bytes(chunk_bytes))).expected("a multiple of 4k");
        return None;
    }
    let width = value::integer(fields.get("width")?, 1..=1024, scope, problems)?;
    Some(StripeGeometry { chunk_bytes, width: u32::try_from(width).ok()? })
}

/// Checks that an emulated volume, or a device made of several, is large enough for a layer to be created on it.
fn check_room(
    frame: &Frame<'_>,
    below: &Below<'_>,
    least: u64,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let (name, what) = match &below.made {
        Some(made) => (Some(made.by), "a device"),
        None => (None, "volumes"),
    };
    let names = below.volumes.iter().map(|volume| volume.name.as_str());
    let sizes = below.sizes().unwrap_or_default();
    let small = sizes.iter().zip(names).find(|(size, _)| **size < least);
    if let Some((size, volume)) = small {
        let on = name.map_or_else(|| format!("`{volume}`"), |by| format!("the device that `{by}` makes"));
        problems
            .add(
                frame.key_span,
                format!("{} cannot be made on {on} of {}{}", frame.kind, Bytes(*size), scope.levels()),
            )
            .expected(format!("{what} of at least {} for {}", Bytes(least), frame.kind));
        return None;
    }
    Some(())
}
