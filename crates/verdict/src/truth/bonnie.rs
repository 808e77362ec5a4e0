//! Bonnie++'s data hardly reaches the devices below a stack that compresses, whichever layer compresses.

use super::judged;
use crate::testing::{GIB, Truth, btrfs};
use record::bonnie::BonnieAsk;
use record::finding::{Claim, Severity};
use record::nfs::Nfs;
use record::stack::{BtrfsProfile, Compress, Layer};
use record::topology::Exported;
use record::workload::{Ask, Rw};
use record::zfs::{PoolRecord, PoolState, Vdev, Zfs};

fn run(layers: Vec<Layer>) -> Truth {
    let mut t = Truth::new(Rw::Write, 65536, false, layers[layers.len() - 1].clone(), 1);
    t.cell.stack.layers = layers;
    t.cell.workload.ask = Ask::Bonnie(BonnieAsk {
        size_bytes: 32 * GIB,
        chunk_bytes: 8192,
        ram_bytes: None,
        files: 0,
        max_bytes: 0,
        min_bytes: 0,
        directories: 0,
        per_character: false,
        no_buffering: false,
        direct: false,
        concurrency: 1,
    });
    t
}

fn zfs(compression: Option<&str>) -> Layer {
    Layer::Zfs(Zfs {
        vdev: Vdev::Stripe,
        width: None,
        log: vec![],
        cache: vec![],
        ashift: None,
        properties: compression.map(|c| ("compression".to_owned(), c.to_owned())).into_iter().collect(),
        arc_max_bytes: None,
    })
}

fn nfs() -> Layer {
    Layer::Nfs(Nfs {
        version: None,
        export: vec![],
        rsize_bytes: None,
        wsize_bytes: None,
        mount_options: vec![],
        client: None,
    })
}

fn is_void(t: &Truth) -> bool {
    let (_, found) = judged(t);
    found.iter().any(|f| {
        f.claim == Claim::Compressed && f.severity == Severity::Void && f.text.contains("Bonnie++ writes")
    })
}

#[test]
fn a_layer_that_compresses_voids_it() {
    let zstd = Compress { algorithm: "zstd".to_owned(), level: Some(3), force: false };
    let mut compressed = btrfs(BtrfsProfile::Single);
    if let Layer::Btrfs(btrfs) = &mut compressed {
        btrfs.compress = Some(zstd);
    }
    assert!(is_void(&run(vec![compressed.clone()])) && is_void(&run(vec![compressed, nfs()])));
    assert!(is_void(&run(vec![zfs(Some("lz4"))])) && is_void(&run(vec![zfs(Some("lz4")), nfs()])));
    for plain in [btrfs(BtrfsProfile::Single), zfs(Some("off"))] {
        assert!(!is_void(&run(vec![plain.clone()])) && !is_void(&run(vec![plain, nfs()])));
    }
}

#[test]
fn mount_options_tell_it_of_grounds_that_nobody_built() {
    let mut t = run(vec![nfs()]);
    let mut exported = |options: &str| {
        let mount_options = Some(options.to_owned());
        t.trial.topology.exported = Some(Exported { fs_type: Some("btrfs".to_owned()), mount_options });
        is_void(&t)
    };
    assert!(exported("rw,compress-force=zstd:3,space_cache=v2"));
    assert!(!exported("rw,compress=no"));
}

#[test]
fn zfs_compresses_unasked_from_openzfs_2_2_on() {
    let of = |implementation: Option<&str>| {
        let mut t = run(vec![zfs(None)]);
        t.trial.pool = implementation.map(|implementation| PoolRecord {
            implementation: implementation.to_owned(),
            guid: "1".to_owned(),
            before: PoolState::default(),
            after: PoolState::default(),
        });
        is_void(&t)
    };
    for (implementation, compresses) in [
        (Some("OpenZFS 2.1.11-1"), false),
        (Some("OpenZFS 2.2.0-1"), true),
        (Some("OpenZFS 2.3.0-rc1"), true),
        (Some("OpenZFS"), false),
        (Some("zfs-fuse, pool version 26"), false),
        (None, false),
    ] {
        assert_eq!(of(implementation), compresses, "{implementation:?}");
    }
}
