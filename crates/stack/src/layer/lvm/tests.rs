use super::{
    detach_step, group_steps, grow_step, mapper_name, pv_steps, settings, synced, uuid, volume_steps,
};
use crate::act::device_ref::{DeviceRef, Title};
use crate::act::lvm_command::Pv;
use record::lvm::{
    Attach, CacheForm, CacheKind, CacheMode, Detach, Discards, Lvm, LvmCache, LvmLayout, Resync, Thin,
};
use std::path::Path;

const DEVICES: [&str; 2] = ["/dev/loop1000", "/dev/loop1001"];
const FAST: &str = "/dev/loop1002";

fn lvm(layout: LvmLayout) -> Lvm {
    Lvm { layout, size_bytes: None, tag: None, cache: None, thin: None }
}

/// The steps, one line each.
fn told(lvm: &Lvm) -> String {
    let steps = volume_steps(lvm, "g", &DEVICES.map(Path::new), &[Path::new(FAST)]);
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{} {}", step.command.name(), step.args.join(" "))).collect();
    lines.join("\n")
}

#[test]
fn layouts_become_arguments() {
    const BEGIN: &str = "lvcreate --name data --zero y --wipesignatures y";
    const END: &str = "--extents 100%PVS g /dev/loop1000 /dev/loop1001";
    let stripe_bytes = 16 << 10;
    assert_eq!(told(&lvm(LvmLayout::Linear)), format!("{BEGIN} {END}"));
    let striped = |stripes| LvmLayout::Striped { stripes, stripe_bytes };
    assert_eq!(told(&lvm(striped(2))), format!("{BEGIN} --stripes 2 --stripesize 16k {END}"));
    assert_eq!(told(&lvm(striped(1))), format!("{BEGIN} {END}"), "one stripe has no chunk");
    let raid1 = LvmLayout::Raid1 { copies: 2, resync: Resync::Skip };
    assert_eq!(told(&lvm(raid1)), format!("{BEGIN} --type raid1 --mirrors 1 --nosync {END}"));
    let raid10 = LvmLayout::Raid10 { stripes: 2, stripe_bytes, resync: Resync::Wait };
    let expected = format!("{BEGIN} --type raid10 --mirrors 1 --stripes 2 --stripesize 16k {END}");
    assert_eq!(told(&lvm(raid10)), expected);
}

#[test]
fn a_thin_pool_takes_the_place_of_the_volume() {
    let bare = Thin {
        chunk_bytes: None,
        zero: true,
        discards: Discards::Passdown,
        metadata_bytes: None,
        virtual_bytes: Some(1 << 30),
    };
    let of = |layout, thin: &Thin| told(&Lvm { thin: Some(thin.clone()), ..lvm(layout) });
    const BEGIN: &str = "lvcreate --name pool --type thin-pool --poolmetadataspare y";
    assert_eq!(
        of(LvmLayout::Linear, &bare),
        format!("{BEGIN} --zero y --discards passdown --extents 100%PVS g /dev/loop1000 /dev/loop1001")
    );
    let all = Thin {
        chunk_bytes: Some(192 << 10),
        zero: false,
        discards: Discards::Nopassdown,
        metadata_bytes: Some(8 << 20),
        ..bare
    };
    let striped = LvmLayout::Striped { stripes: 2, stripe_bytes: 64 << 10 };
    assert_eq!(
        of(striped, &all),
        format!(
            "{BEGIN} --zero n --discards nopassdown --chunksize 192k --poolmetadatasize 8388608b --stripes 2 --stripesize 64k \
             --extents 100%PVS g /dev/loop1000 /dev/loop1001"
        )
    );
}

#[test]
fn size_and_tag_are_told() {
    let tagged = Lvm { size_bytes: Some(1 << 30), tag: Some("slow".to_owned()), ..lvm(LvmLayout::Linear) };
    let expected = "lvcreate --name data --zero y --wipesignatures y --size 1073741824b g @slow";
    assert_eq!(told(&tagged), expected);
}

#[test]
fn caches_are_made_and_attached() {
    let form = |kind| CacheForm::Cache {
        kind,
        mode: CacheMode::Writeback,
        chunk_bytes: Some(64 << 10),
        policy: Some("smq".to_owned()),
    };
    let cached = |form, tag: Option<&str>| Lvm {
        cache: Some(LvmCache {
            volumes: vec!["ssd".to_owned()],
            tag: tag.map(str::to_owned),
            form,
            attach: Attach::Built,
            detach: Detach::Undo,
        }),
        ..lvm(LvmLayout::Linear)
    };
    let behind_first = |lvm: &Lvm| told(lvm).split_once('\n').unwrap().1.to_owned();
    assert_eq!(
        behind_first(&cached(form(CacheKind::Cachevol), None)),
        "lvcreate --name cache --extents 100%PVS g /dev/loop1002\n\
         lvconvert --type cache --cachevol cache --cachemode writeback --chunksize 64k --cachepolicy smq g/data"
    );
    assert_eq!(
        behind_first(&cached(form(CacheKind::Cachepool), Some("ssd"))),
        "lvcreate --name cache --type cache-pool --poolmetadataspare n --chunksize 64k --extents 100%PVS g @ssd\n\
         lvconvert --type cache --cachepool cache --cachemode writeback --cachepolicy smq g/data"
    );
    assert_eq!(
        behind_first(&cached(CacheForm::Writecache, None)),
        "lvcreate --name cache --activate n --zero n --wipesignatures n --extents 100%PVS g /dev/loop1002\n\
         lvconvert --type writecache --cachevol cache g/data"
    );
    let mut late = cached(CacheForm::Writecache, None);
    if let Some(cache) = &mut late.cache {
        cache.attach = Attach::LaidOut;
    }
    assert_eq!(told(&late), told(&lvm(LvmLayout::Linear)), "not when the volume is made");
}

#[test]
fn physical_volumes_get_our_uuids_and_tags() {
    let pv = |path: &str, tag: &str| Pv {
        device: DeviceRef::new(path.into(), (7, 0), Title::Made),
        uuid: format!("U{}", &path[9..]),
        tag: Some(tag.to_owned()),
    };
    let pvs = [pv("/dev/loop1000", "slow"), pv("/dev/loop1001", "slow"), pv(FAST, "ssd")];
    let steps = [pv_steps(&pvs), group_steps("g", &pvs)].concat();
    let lines: Vec<String> =
        steps.iter().map(|step| format!("{} {}", step.command.name(), step.args.join(" "))).collect();
    assert_eq!(
        lines,
        [
            "pvcreate --uuid U1000 --norestorefile /dev/loop1000",
            "pvcreate --uuid U1001 --norestorefile /dev/loop1001",
            "pvcreate --uuid U1002 --norestorefile /dev/loop1002",
            "vgcreate --setautoactivation n g /dev/loop1000 /dev/loop1001 /dev/loop1002",
            "pvchange --addtag slow /dev/loop1000 /dev/loop1001",
            "pvchange --addtag ssd /dev/loop1002",
        ]
    );
}

#[test]
fn only_our_devices_are_seen() {
    let text = settings(&[Path::new("/dev/loop1000"), Path::new("/dev/disk/by-id/a.b|c")]);
    let filter = r#"filter=["a|^/dev/loop1000$|","a|^/dev/disk/by-id/a.b.c$|","r|.*|"]"#;
    assert!(text.contains(filter) && text.contains(&format!("global_{filter}")), "{text}");
    assert!(text.contains("use_devicesfile=0") && text.contains("monitoring=0"), "{text}");
}

#[test]
fn names_and_uuids_are_lvms() {
    assert_eq!(mapper_name("diskproof-r-3", "data"), "diskproof--r--3-data");
    assert_eq!(uuid("3f8c1b2a-0d4e-4f6a-9b7c-1234567890ab"), "3f8c1b-2a0d-4e4f-6a9b-7c12-3456-7890ab");
}

#[test]
fn what_a_mirror_says_of_its_copying() {
    assert_eq!(synced("0 65536 raid raid1 2 AA 65536/65536 idle 0 0 -"), Some((65_536, 65_536)));
    assert_eq!(synced("0 65536 raid raid10 4 aaaa 128/65536 resync 0 0 -\n"), Some((128, 65_536)));
    assert_eq!(synced("0 65536 linear"), None);
    assert_eq!(synced("0 65536 raid raid1 2 AA"), None);
}

#[test]
fn a_cache_is_taken_away_and_the_volume_grown_on_its_own_devices() {
    let line = |step: super::Step| format!("{} {}", step.command.name(), step.args.join(" "));
    assert_eq!(line(detach_step("g")), "lvconvert --uncache g/data");
    let plain = lvm(LvmLayout::Linear);
    let first = [Path::new(DEVICES[0])];
    assert_eq!(
        line(grow_step(&plain, "g", &first, 96 << 20)),
        "lvextend --size 100663296b g/data /dev/loop1000"
    );
    let tagged = Lvm { tag: Some("slow".to_owned()), ..plain };
    assert_eq!(line(grow_step(&tagged, "g", &first, 96 << 20)), "lvextend --size 100663296b g/data @slow");
}
