//! Stacks with bcache, which need a kernel that has it and make-bcache.

use super::luks::luks;
use super::managed::{lvm, md, ssd};
use super::scenario::{Scenario, emulated, simple};
use diskproof_stack::{Built, Machine};
use record::lvm::LvmLayout;
use record::lvm_cache::CacheState;
use record::md::MdLevel;
use record::stack::{Bcache, BcacheMode, FsKind, Layer};
use record::volume::Limits;
use std::path::PathBuf;

pub(crate) fn bcache(mode: BcacheMode) -> Bcache {
    Bcache {
        cache: "ssd".to_owned(),
        mode,
        block_bytes: Some(4096),
        bucket_bytes: 64 << 10,
        sequential_cutoff_bytes: Some(0),
        writeback_percent: Some(20),
        congested_read_threshold_us: None,
        congested_write_threshold_us: None,
    }
}

/// One of every kind, and what they compose to.
pub(crate) fn cached_by_bcache() -> Vec<Scenario> {
    let ext4 = || simple(FsKind::Ext4);
    let of = |name, count, layers| Scenario {
        name,
        volumes: emulated(count, 48, Limits::default()),
        beside: ssd(72),
        layers,
    };
    let mode = |mode| Layer::Bcache(bcache(mode));
    let plain = Bcache {
        block_bytes: None,
        bucket_bytes: 128 << 10,
        sequential_cutoff_bytes: None,
        writeback_percent: None,
        ..bcache(BcacheMode::Writethrough)
    };
    let whatever_it_takes = Bcache {
        congested_read_threshold_us: Some(0),
        congested_write_threshold_us: Some(50_000),
        ..bcache(BcacheMode::Writearound)
    };
    let limits = Limits { read_iops: Some(4000), write_iops: Some(4000), ..Limits::default() };
    let writeback = || mode(BcacheMode::Writeback);
    vec![
        of("bcache-ext4", 1, vec![writeback(), ext4()]),
        Scenario { volumes: emulated(1, 48, limits), ..of("bcache-limited", 1, vec![writeback(), ext4()]) },
        of("bcache-raw", 1, vec![Layer::Bcache(plain)]),
        of("bcache-around", 1, vec![Layer::Bcache(whatever_it_takes), ext4()]),
        of("bcache-none", 1, vec![mode(BcacheMode::None)]),
        of("md-bcache-ext4", 2, vec![Layer::Md(md(MdLevel::Raid1)), writeback(), ext4()]),
        of("bcache-luks-ext4", 1, vec![writeback(), Layer::Luks(luks(4096, false)), ext4()]),
        of("bcache-lvm-ext4", 1, vec![writeback(), Layer::Lvm(lvm(LvmLayout::Linear)), ext4()]),
    ]
}

/// The directory in sysfs of the only bcache.
pub(crate) fn bcache_dir() -> PathBuf {
    let entries = std::fs::read_dir("/sys/block").unwrap().flatten();
    let mut all = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with("bcache"));
    let one = all.next().unwrap();
    assert!(all.next().is_none(), "there is more than one");
    one.path().join("bcache")
}

/// What the kernel says of what was built, against what was asked.
pub(crate) fn is_cached_as_asked(scenario: &Scenario, _: &Machine<'_>, built: &Built) {
    let asked = scenario.layers.iter().find_map(|layer| match layer {
        Layer::Bcache(bcache) => Some(bcache),
        _ => None,
    });
    let (asked, dir) = (asked.unwrap(), bcache_dir());
    let says = |file: &str| {
        let text = std::fs::read_to_string(dir.join(file));
        text.unwrap_or_else(|error| panic!("{}: {file}: {error}", scenario.name)).trim().to_owned()
    };
    assert!(says("cache_mode").contains(&format!("[{}]", asked.mode.name())), "{}", says("cache_mode"));
    let cutoff = if asked.sequential_cutoff_bytes == Some(0) { "0.0k" } else { "4.0M" };
    assert_eq!(says("sequential_cutoff"), cutoff, "{}", scenario.name);
    let percent = asked.writeback_percent.unwrap_or(10).to_string();
    assert_eq!(says("writeback_percent"), percent, "{}", scenario.name);
    for (file, asked, usual) in [
        ("cache/congested_read_threshold_us", asked.congested_read_threshold_us, 2000),
        ("cache/congested_write_threshold_us", asked.congested_write_threshold_us, 20_000),
    ] {
        assert_eq!(says(file), asked.unwrap_or(usual).to_string(), "{}: {file}", scenario.name);
    }
    let bucket = format!("{}.0k", asked.bucket_bytes >> 10);
    assert_eq!(says("cache/bucket_size"), bucket, "{}", scenario.name);
    let block = asked.block_bytes.unwrap_or(512).to_string();
    let shown = std::fs::read_to_string(dir.parent().unwrap().join("queue/logical_block_size"));
    assert_eq!(shown.unwrap().trim(), block, "{}", scenario.name);
    let [device] = built.bcaches.as_slice() else { panic!("{:?}", built.bcaches) };
    let Some(CacheState::Bcache(state)) = device.state() else { panic!("{}: no state", scenario.name) };
    assert_eq!(state.mode, asked.mode.name(), "{}", scenario.name);
}
