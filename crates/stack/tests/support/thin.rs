//! Stacks with a thin pool, which need a kernel with dm-thin.

use super::managed::{lvm, md};
use super::scenario::{Scenario, emulated, simple};
use diskproof_stack::{Built, Machine};
use record::lvm::{Discards, Lvm, LvmLayout, Thin};
use record::md::MdLevel;
use record::stack::{FsKind, Layer};
use record::volume::Limits;
use std::process::Command;

const MIB: u64 = 1 << 20;

pub(crate) fn thin(chunk_bytes: Option<u64>, zero: bool) -> Thin {
    Thin { chunk_bytes, zero, discards: Discards::Passdown, metadata_bytes: None, virtual_bytes: None }
}

pub(crate) fn in_pool(layout: LvmLayout, thin: Thin) -> Lvm {
    Lvm { thin: Some(thin), ..lvm(layout) }
}

/// One of every kind, and what they compose to.
pub(crate) fn thin_pools() -> Vec<Scenario> {
    let ext4 = || simple(FsKind::Ext4);
    let linear = |thin| Layer::Lvm(in_pool(LvmLayout::Linear, thin));
    let striped = LvmLayout::Striped { stripes: 2, stripe_bytes: 64 << 10 };
    let odd = Thin {
        discards: Discards::Nopassdown,
        metadata_bytes: Some(8 * MIB),
        virtual_bytes: Some(12 * MIB),
        ..thin(Some(192 << 10), false)
    };
    let ignoring = Thin { discards: Discards::Ignore, ..thin(Some(1 << 20), true) };
    let part = Lvm {
        size_bytes: Some(20 * MIB),
        tag: Some("slow".to_owned()),
        ..in_pool(LvmLayout::Linear, thin(None, true))
    };
    let of = |name, count, layers| Scenario {
        name,
        volumes: emulated(count, 48, Limits::default()),
        beside: Vec::new(),
        layers,
    };
    let limits = Limits { read_iops: Some(4000), write_iops: Some(4000), ..Limits::default() };
    vec![
        of("thin-ext4", 1, vec![linear(thin(None, true)), ext4()]),
        of("thin-raw", 2, vec![linear(odd)]),
        of("thin-striped", 2, vec![Layer::Lvm(in_pool(striped, thin(Some(64 << 10), false))), ext4()]),
        of("thin-ignoring", 1, vec![linear(ignoring), ext4()]),
        of("thin-part", 1, vec![Layer::Lvm(part), ext4()]),
        of("md-thin-ext4", 2, vec![Layer::Md(md(MdLevel::Raid1)), linear(thin(None, true)), ext4()]),
        Scenario {
            volumes: emulated(1, 48, limits),
            ..of("thin-limited", 1, vec![linear(thin(None, true)), ext4()])
        },
    ]
}

/// Compares what LVM and the kernel say of what was built with what was asked.
pub(crate) fn is_thin_as_asked(scenario: &Scenario, _: &Machine<'_>, built: &Built) {
    let asked = scenario.layers.iter().find_map(|layer| match layer {
        Layer::Lvm(lvm) => lvm.thin.as_ref(),
        _ => None,
    });
    let asked = asked.unwrap();
    let told = |behind: &str, places: usize| {
        built.argv.iter().find_map(|argv| argv.iter().skip_while(|arg| *arg != behind).nth(places)).unwrap()
    };
    let group = told("--thinpool", 2);
    let lvs = |volume: &str, field: &str| {
        let args = ["lvs", "--nohints", "--noheadings", "--units", "b", "--nosuffix", "--options", field];
        let said = Command::new("lvm").args(args).arg(format!("{group}/{volume}")).output().unwrap();
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    };
    let number = |volume: &str, field: &str| -> u64 { lvs(volume, field).parse().unwrap() };
    let name = scenario.name;
    assert_eq!(lvs("pool", "zero") == "zero", asked.zero, "{name}: {}", lvs("pool", "zero"));
    assert_eq!(lvs("pool", "discards"), asked.discards.name(), "{name}");
    assert_eq!(lvs("data", "segtype"), "thin", "{name}");
    let chunk = number("pool", "chunk_size");
    assert!(asked.chunk_bytes.is_none_or(|bytes| bytes == chunk), "{name}: {chunk}");
    let (pool, volume) = (number("pool", "lv_size"), number("data", "lv_size"));
    assert_eq!(volume, asked.virtual_bytes.unwrap_or(pool), "{name}");
    let metadata = number("pool", "lv_metadata_size");
    assert_eq!(metadata, asked.metadata_bytes.unwrap_or(4 * MIB), "{name}");
    let least = scenario.layers.iter().find_map(|layer| match layer {
        Layer::Lvm(lvm) => lvm.size_bytes,
        _ => None,
    });
    assert!(pool >= least.unwrap_or(36 * MIB), "{name}: a pool of {pool} bytes");
}
