//! Stacks of LVM and md, which need a kernel with device-mapper and md.

use super::scenario::{Scenario, btrfs_raid0, emulated, simple};
use diskproof_stack::{Built, Machine};
use record::lvm::{Attach, CacheForm, CacheKind, CacheMode, Detach, Lvm, LvmCache, LvmLayout, Resync};
use record::lvm_cache::CacheState;
use record::md::{Md, MdCopies, MdLayout, MdLevel};
use record::stack::{FsKind, Layer};
use record::volume::{Limits, Volume};
use std::path::Path;
use std::process::Command;

pub(crate) fn lvm(layout: LvmLayout) -> Lvm {
    Lvm { layout, size_bytes: None, tag: None, cache: None, thin: None }
}

pub(crate) fn striped(stripes: u32) -> Lvm {
    lvm(LvmLayout::Striped { stripes, stripe_bytes: 16 << 10 })
}

pub(crate) fn cached(kind: CacheKind, mode: CacheMode) -> Lvm {
    let form = CacheForm::Cache { kind, mode, chunk_bytes: Some(64 << 10), policy: None };
    Lvm { cache: Some(on_ssd(form, None)), ..lvm(LvmLayout::Linear) }
}

/// A cache that is attached to the volume in use, and flushed.
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

/// A dm-cache with a policy.
pub(crate) fn keeping(policy: &str, mut lvm: Lvm) -> Lvm {
    if let Some(LvmCache { form: CacheForm::Cache { policy: asked, .. }, .. }) = &mut lvm.cache {
        *asked = Some(policy.to_owned());
    }
    lvm
}

/// A raid10 with two copies in this layout.
fn copied(kind: MdCopies) -> Md {
    Md { layout: Some(MdLayout { kind, copies: 2 }), ..md(MdLevel::Raid10) }
}

fn over(name: &'static str, count: usize, layers: Vec<Layer>) -> Scenario {
    Scenario { name, volumes: emulated(count, 32, Limits::default()), beside: Vec::new(), layers }
}

fn beside(name: &'static str, count: usize, layers: Vec<Layer>) -> Scenario {
    Scenario { beside: ssd(48), ..over(name, count, layers) }
}

/// The argument `behind` places after `before`, in the first program that built the stack with it.
fn told<'b>(built: &'b Built, before: &str, behind: usize) -> &'b str {
    let find = |argv: &'b Vec<String>| argv.iter().skip_while(|arg| *arg != before).nth(behind);
    built.argv.iter().find_map(find).unwrap()
}

/// Compares what the kernel and LVM report with what was requested.
pub(crate) fn is_as_asked(scenario: &Scenario, machine: &Machine<'_>, built: &Built) {
    for layer in &scenario.layers {
        match layer {
            Layer::Md(md) => array_is_as_asked(scenario.name, md, told(built, "--create", 1)),
            Layer::Lvm(lvm) => tags_are_as_asked(scenario, lvm, told(built, "--setautoactivation", 2)),
            _ => {}
        }
    }
    for (cache, asked) in built.caches.iter().zip(scenario.stack().lvm_caches()) {
        if let (Some(CacheState::Cache(state)), CacheForm::Cache { mode, chunk_bytes, policy, .. }) =
            (cache.state(machine), &asked.form)
        {
            assert_eq!(state.mode.as_deref(), Some(mode.name()), "{}", scenario.name);
            assert_eq!(Some(state.block_bytes), *chunk_bytes, "{}", scenario.name);
            assert!(
                state.policy.is_some() && policy.as_ref().is_none_or(|_| state.policy == *policy),
                "{state:?}"
            );
        }
    }
}

/// See Documentation/admin-guide/md.rst. Whether the resync was awaited or skipped, none is running or pending.
fn array_is_as_asked(scenario: &str, md: &Md, node: &str) {
    let dir = Path::new("/sys/block").join(Path::new(node).file_name().unwrap()).join("md");
    let says = |file: &str| {
        let text = std::fs::read_to_string(dir.join(file));
        text.unwrap_or_else(|error| panic!("{scenario}: {file}: {error}")).trim().to_owned()
    };
    assert_eq!(says("level"), md.level.name(), "{scenario}");
    assert_eq!(says("chunk_size"), md.chunk_bytes.unwrap_or(0).to_string(), "{scenario}");
    if md.resync.is_some() {
        let rest = ["sync_action", "degraded", "resync_start", "bitmap/location"].map(says);
        let bitmap = &rest[3];
        assert_eq!(rest[..3], ["idle", "0", "none"], "{scenario}");
        assert_eq!(bitmap != "none", md.bitmap, "{scenario}: {bitmap}");
    }
    if let Some(layout) = md.layout {
        // The lowest byte has the near copies, the next one the far copies; offset is far with its own flag.
        let copies = u32::from(layout.copies);
        let number = match layout.kind {
            MdCopies::Near => 0x100 | copies,
            MdCopies::Far => copies << 8 | 1,
            MdCopies::Offset => 1 << 16 | copies << 8 | 1,
        };
        assert_eq!(says("layout"), number.to_string(), "{scenario}");
    }
}

fn tags_are_as_asked(scenario: &Scenario, lvm: &Lvm, group: &str) {
    let ask = ["pvs", "--nohints", "--noheadings", "--options", "pv_tags", "--select"];
    let said = Command::new("lvm").args(ask).arg(format!("vg_name={group}")).output().unwrap();
    let said = String::from_utf8_lossy(&said.stdout);
    let mut tags: Vec<&str> = said.lines().map(str::trim).collect();
    tags.sort_unstable();
    let cache_tag = lvm.cache.as_ref().and_then(|cache| cache.tag.as_deref());
    let mains = scenario.volumes.iter().map(|_| lvm.tag.as_deref());
    let all = mains.chain(scenario.beside.iter().map(|_| cache_tag)).map(Option::unwrap_or_default);
    let mut asked: Vec<&str> = all.collect();
    if scenario.layers.first() != Some(&Layer::Lvm(lvm.clone())) {
        // The array below is its only main device.
        asked.drain(1..scenario.volumes.len());
    }
    asked.sort_unstable();
    assert_eq!(tags, asked, "{}", scenario.name);
}

/// One scenario of every kind, and combinations of them.
pub(crate) fn managed() -> Vec<Scenario> {
    let ext4 = || simple(FsKind::Ext4);
    let raid1 = |resync| LvmLayout::Raid1 { copies: 2, resync };
    let raid10 = LvmLayout::Raid10 { stripes: 2, stripe_bytes: 64 << 10, resync: Resync::Skip };
    let pool = keeping("smq", cached(CacheKind::Cachepool, CacheMode::Writethrough));
    let vol = keeping("mq", cached(CacheKind::Cachevol, CacheMode::Writeback));
    let offset = Md { resync: Some(Resync::Wait), ..copied(MdCopies::Offset) };
    let tagged = Lvm { tag: Some("slow".to_owned()), ..lvm(LvmLayout::Linear) };
    let writecache = Lvm { cache: Some(on_ssd(CacheForm::Writecache, Some("ssd"))), ..tagged };
    let waited = Md { bitmap: true, resync: Some(Resync::Wait), ..md(MdLevel::Raid1) };
    vec![
        over("lvm-linear", 2, vec![Layer::Lvm(lvm(LvmLayout::Linear))]),
        over("lvm-striped", 3, vec![Layer::Lvm(striped(3)), ext4()]),
        over("lvm-raid1", 2, vec![Layer::Lvm(lvm(raid1(Resync::Wait))), ext4()]),
        over("lvm-raid10", 4, vec![Layer::Lvm(lvm(raid10)), ext4()]),
        beside("lvm-cachepool", 1, vec![Layer::Lvm(pool), ext4()]),
        beside("lvm-cachevol", 2, vec![Layer::Lvm(vol), ext4()]),
        beside("lvm-writecache", 1, vec![Layer::Lvm(writecache), ext4()]),
        beside("come-and-go", 1, vec![Layer::Lvm(come_and_go(CacheMode::Writeback)), ext4()]),
        beside("raw-cachevol", 1, vec![Layer::Lvm(cached(CacheKind::Cachevol, CacheMode::Writeback))]),
        over("md-lvm", 2, vec![Layer::Md(md(MdLevel::Raid1)), Layer::Lvm(lvm(LvmLayout::Linear))]),
        over("md-raid0", 3, vec![Layer::Md(md(MdLevel::Raid0)), ext4()]),
        over("md-of-one", 1, vec![Layer::Md(md(MdLevel::Raid0))]),
        over("md-raid1", 2, vec![Layer::Md(waited), ext4()]),
        over("md-raid10", 4, vec![Layer::Md(md(MdLevel::Raid10)), ext4()]),
        over("md-raid10-far", 3, vec![Layer::Md(copied(MdCopies::Far))]),
        over("md-raid10-offset", 3, vec![Layer::Md(offset)]),
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
