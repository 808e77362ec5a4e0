//! Stacks that are exported by NFS and mounted, which need a kernel with NFS; and the server for them.

use super::scenario::{Scenario, btrfs_raid0, emulated, simple, zfs};
use record::nfs::{Nfs, NfsVersion};
use record::stack::{FsKind, Layer};
use record::volume::{Limits, Volume, VolumeKind};
use record::zfs::Vdev;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn nfs(version: Option<NfsVersion>, export: &[&str], transfer: Option<u64>) -> Layer {
    Layer::Nfs(Nfs {
        version,
        export: export.iter().map(|option| (*option).to_owned()).collect(),
        rsize_bytes: transfer,
        wsize_bytes: transfer,
        mount_options: Vec::new(),
        client: None,
    })
}

/// Mounted on another machine.
pub(crate) fn apart(version: Option<NfsVersion>) -> Layer {
    let Layer::Nfs(layer) = nfs(version, &[], None) else { unreachable!() };
    Layer::Nfs(Nfs { client: Some("other".to_owned()), ..layer })
}

/// One scenario of every kind.
pub(crate) fn served(lent: &Path) -> Vec<Scenario> {
    let on = |name, count, mib, layers| Scenario {
        name,
        volumes: emulated(count, mib, Limits::default()),
        beside: Vec::new(),
        layers,
    };
    let ext4 = || simple(FsKind::Ext4);
    let lent = vec![Volume { name: "dir".into(), kind: VolumeKind::Directory { path: lent.into() } }];
    vec![
        on("nfs", 1, 16, vec![ext4(), nfs(Some(NfsVersion::V4p2), &[], Some(65536))]),
        on("nfs-3", 1, 16, vec![ext4(), nfs(Some(NfsVersion::V3), &["async", "no_wdelay"], None)]),
        on("nfs-4.0", 1, 16, vec![ext4(), nfs(Some(NfsVersion::V4p0), &[], None)]),
        on("nfs-btrfs", 2, 128, vec![btrfs_raid0(), nfs(Some(NfsVersion::V4p1), &[], None)]),
        Scenario {
            name: "nfs-lent",
            volumes: lent,
            beside: Vec::new(),
            layers: vec![nfs(Some(NfsVersion::V4), &[], None)],
        },
        on("nfs-apart", 1, 16, vec![ext4(), apart(None)]),
        on("nfs-3-apart", 1, 16, vec![ext4(), apart(Some(NfsVersion::V3))]),
        on("nfs-zfs", 1, 128, vec![zfs(Vdev::Stripe, false, &[]), nfs(None, &[], None)]),
    ]
}

/// The NFS server of this machine.
pub(crate) struct Server;

impl Server {
    /// Starts the server for a test of something else; stops it on drop.
    pub(crate) fn running() -> Self {
        systemctl(&["start", "nfs-server"]);
        let _ = std::fs::write("/proc/fs/nfsd/v4_end_grace", "Y");
        Self
    }

    /// Active services, sockets and mounts, except those that come and go by themselves.
    pub(crate) fn units() -> BTreeSet<String> {
        let said =
            systemctl(&["list-units", "--plain", "--no-legend", "--state=active,activating,deactivating"]);
        let names = said.lines().filter_map(|line| line.split_whitespace().next());
        names.filter(|name| name.contains("nfs") || name.contains("rpc")).map(str::to_owned).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let all =
            ["stop", "nfs-server", "nfs-mountd", "nfs-idmapd", "nfsdcld", "proc-fs-nfsd.mount", "rpc-statd"];
        systemctl(&all);
        systemctl(&["stop", "rpcbind.service", "rpcbind.socket", "rpcbind.target"]);
    }
}

fn systemctl(args: &[&str]) -> String {
    let output = Command::new("systemctl").args(args).output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
