//! Stacks of LVM and md, which need a kernel with device-mapper and md.

use super::scenario::{Scenario, btrfs_raid0, emulated, simple};
use record::lvm::{Attach, CacheForm, CacheKind, CacheMode, Detach, Lvm, LvmCache, LvmLayout, Resync};
use record::md::{Md, MdCopies, MdLayout, MdLevel};
use record::stack::{FsKind, Layer};
use record::volume::{Limits, Volume};

pub(crate) fn lvm(layout: LvmLayout) -> Lvm {
    Lvm { layout, size_bytes: None, tag: None, cache: None }
}

pub(crate) fn striped(stripes: u32) -> Lvm {
    lvm(LvmLayout::Striped { stripes, stripe_bytes: 16 << 10 })
}

pub(crate) fn cached(kind: CacheKind, mode: CacheMode) -> Lvm {
    let form = CacheForm::Cache { kind, mode, chunk_bytes: Some(64 << 10), policy: None };
    Lvm { cache: Some(on_ssd(form, None)), ..lvm(LvmLayout::Linear) }
}

/// Attached to the volume in use, and flushed.
fn come_and_go(mode: CacheMode) -> Lvm {
    let mut lvm = cached(CacheKind::Cachevol, mode);
    if let Some(cache) = &mut lvm.cache {
        (cache.attach, cache.detach) = (Attach::LaidOut, Detach::Flush);
    }
    lvm
}

pub(crate) fn on_ssd(form: CacheForm, tag: Option<&str>) -> LvmCache {
    LvmCache {
        volumes: vec!["ssd".to_owned()],
        tag: tag.map(str::to_owned),
        form,
        attach: Attach::Built,
        detach: Detach::Undo,
    }
}

pub(crate) fn md(level: MdLevel) -> Md {
    let resync = (level != MdLevel::Raid0).then_some(Resync::Skip);
    let chunk_bytes = (level != MdLevel::Raid1).then_some(64 << 10);
    let layout = (level == MdLevel::Raid10).then_some(MdLayout { kind: MdCopies::Near, copies: 2 });
    Md { level, chunk_bytes, layout, bitmap: false, resync }
}

pub(crate) fn ssd(mib: u64) -> Vec<Volume> {
    let mut ssd = emulated(1, mib, Limits::default());
    ssd[0].name = "ssd".to_owned();
    ssd
}

fn over(name: &'static str, count: usize, layers: Vec<Layer>) -> Scenario {
    Scenario { name, volumes: emulated(count, 32, Limits::default()), beside: Vec::new(), layers }
}

fn beside(name: &'static str, count: usize, layers: Vec<Layer>) -> Scenario {
    Scenario { beside: ssd(48), ..over(name, count, layers) }
}

/// One of every kind, and what they compose to.
pub(crate) fn managed() -> Vec<Scenario> {
    let ext4 = || simple(FsKind::Ext4);
    let raid1 = |resync| LvmLayout::Raid1 { copies: 2, resync };
    let raid10 = LvmLayout::Raid10 { stripes: 2, stripe_bytes: 64 << 10, resync: Resync::Skip };
    let pool = cached(CacheKind::Cachepool, CacheMode::Writethrough);
    let tagged = Lvm { tag: Some("slow".to_owned()), ..lvm(LvmLayout::Linear) };
    let writecache = Lvm { cache: Some(on_ssd(CacheForm::Writecache, Some("ssd"))), ..tagged };
    let waited = Md { bitmap: true, resync: Some(Resync::Wait), ..md(MdLevel::Raid1) };
    vec![
        over("lvm-linear", 2, vec![Layer::Lvm(lvm(LvmLayout::Linear))]),
        over("lvm-striped", 3, vec![Layer::Lvm(striped(3)), ext4()]),
        over("lvm-raid1", 2, vec![Layer::Lvm(lvm(raid1(Resync::Wait))), ext4()]),
        over("lvm-raid10", 4, vec![Layer::Lvm(lvm(raid10)), ext4()]),
        beside("lvm-cachepool", 1, vec![Layer::Lvm(pool), ext4()]),
        beside(
            "lvm-cachevol",
            2,
            vec![Layer::Lvm(cached(CacheKind::Cachevol, CacheMode::Writeback)), ext4()],
        ),
        beside("lvm-writecache", 1, vec![Layer::Lvm(writecache), ext4()]),
        beside("come-and-go", 1, vec![Layer::Lvm(come_and_go(CacheMode::Writeback)), ext4()]),
        beside("raw-cachevol", 1, vec![Layer::Lvm(cached(CacheKind::Cachevol, CacheMode::Writeback))]),
        over("md-lvm", 2, vec![Layer::Md(md(MdLevel::Raid1)), Layer::Lvm(lvm(LvmLayout::Linear))]),
        over("md-raid0", 3, vec![Layer::Md(md(MdLevel::Raid0)), ext4()]),
        over("md-of-one", 1, vec![Layer::Md(md(MdLevel::Raid0))]),
        over("md-raid1", 2, vec![Layer::Md(waited), ext4()]),
        over("md-raid10", 4, vec![Layer::Md(md(MdLevel::Raid10)), ext4()]),
        over("md-lvm-ext4", 2, vec![Layer::Md(md(MdLevel::Raid0)), Layer::Lvm(striped(1)), ext4()]),
        beside(
            "md-cached",
            2,
            vec![
                Layer::Md(md(MdLevel::Raid1)),
                Layer::Lvm(cached(CacheKind::Cachevol, CacheMode::Writethrough)),
                ext4(),
            ],
        ),
        Scenario {
            volumes: emulated(2, 96, Limits::default()),
            ..over("md-btrfs", 2, vec![Layer::Md(md(MdLevel::Raid0)), btrfs_raid0()])
        },
    ]
}
