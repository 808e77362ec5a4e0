//! The recipe of the image. All of it goes into the hash under which an image is stored.

use sha2::{Digest as _, Sha256};
use std::fmt::Write as _;

/// The port of the guest's mountd, which NFSv3 needs: the one that IANA assigned.
pub const MOUNTD_PORT: u16 = 20048;

/// Debian's release in the guest.
pub(crate) const SUITE: &str = "bookworm";
/// The recipe's revision; raise it when the way of building changes and the lists below don't.
const REVISION: u32 = 1;
/// The size of the root disk in the guest; the file is sparse.
pub(crate) const ROOT_GIB: u64 = 8;

/// The packages besides minbase.
pub(crate) const PACKAGES: [&str; 23] = [
    "linux-image-cloud-amd64",
    "systemd-sysv",
    "udev",
    "kmod",
    "procps",
    "openssh-server",
    "iproute2",
    "util-linux",
    "mount",
    "lvm2",
    "thin-provisioning-tools",
    "mdadm",
    "cryptsetup-bin",
    "bcache-tools",
    "e2fsprogs",
    "xfsprogs",
    "btrfs-progs",
    "nfs-kernel-server",
    "zfsutils-linux",
    "fio",
    "bonnie++",
    "rsync",
    "cpio",
];

/// Paths that dpkg doesn't install.
pub(crate) const LEFT_OUT: [&str; 4] =
    ["/usr/share/doc/*", "/usr/share/man/*", "/usr/share/locale/*", "/usr/share/info/*"];

/// Units that must never start: timers and others that would disturb a measurement or a boot. Without a message bus, which a guest of root
/// alone doesn't need, systemd has a fifth less to compute for each device that comes or goes; logind needs the bus.
const MASKED: [&str; 21] = [
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "man-db.timer",
    "mdcheck_start.timer",
    "mdcheck_continue.timer",
    "mdmonitor-oneshot.timer",
    "systemd-tmpfiles-clean.timer",
    "zfs-import-cache.service",
    "zfs-import-scan.service",
    "zfs-load-module.service",
    "zfs-mount.service",
    "zfs-share.service",
    "zfs-volume-wait.service",
    "getty@tty1.service",
    "serial-getty@ttyS0.service",
    "systemd-networkd-wait-online.service",
    "systemd-logind.service",
];

/// Units that don't start at boot; their users start them.
pub(crate) const STOPPED: [&str; 4] =
    ["nfs-server.service", "nfs-blkmap.service", "rpcbind.socket", "rpcbind.service"];

/// A file that is in the tree before the packages are installed.
pub(crate) struct Laid {
    pub(crate) path: &'static str,
    pub(crate) text: &'static str,
}

/// The files in the tree, without the keys.
pub(crate) const FILES: [Laid; 8] = [
    Laid { path: "etc/hostname", text: "diskproof-lab\n" },
    Laid { path: "etc/hosts", text: "127.0.0.1 localhost\n127.0.1.1 diskproof-lab\n" },
    Laid { path: "etc/fstab", text: "/dev/vda / ext4 rw,noatime 0 1\n" },
    Laid { path: "etc/initramfs-tools/conf.d/diskproof", text: "MODULES=list\nCOMPRESS=zstd\nRESUME=none\n" },
    Laid {
        path: "usr/share/initramfs-tools/modules.d/diskproof",
        text: "virtio_pci\nvirtio_blk\nvirtio_net\next4\ncrc32c_generic\n",
    },
    Laid {
        path: "etc/systemd/network/lab.network",
        text: "[Match]\nName=eth0\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\nLinkLocalAddressing=no\nIPv6AcceptRA=no\n",
    },
    // A fixed port, so that it can be forwarded; without this it differs at each start.
    Laid { path: "etc/nfs.conf.d/lab.conf", text: "[mountd]\nport=20048\n" },
    Laid {
        path: "etc/ssh/sshd_config.d/lab.conf",
        text: "HostKey /etc/ssh/ssh_host_ed25519_key\nUsePAM no\nUseDNS no\nPrintMotd no\nMaxSessions 100\nPasswordAuthentication no\n",
    },
];

/// The links in the tree: path and target.
pub(crate) fn links() -> Vec<(String, String)> {
    let masks = MASKED.iter().map(|unit| (format!("etc/systemd/system/{unit}"), "/dev/null".to_owned()));
    let network = (
        "etc/systemd/system/multi-user.target.wants/systemd-networkd.service".to_owned(),
        "/lib/systemd/system/systemd-networkd.service".to_owned(),
    );
    masks.chain([network]).collect()
}

/// The name under which an image of this recipe is stored.
pub(crate) fn hash() -> String {
    let mut text = format!("{REVISION}\n{SUITE}\n{ROOT_GIB}\n");
    let lists = [&PACKAGES[..], &LEFT_OUT[..], &STOPPED[..]];
    for word in lists.into_iter().flatten() {
        let _ = writeln!(text, "{word}");
    }
    for Laid { path, text: inside } in &FILES {
        let _ = writeln!(text, "{path}\n{inside}");
    }
    for (name, leads_to) in links() {
        let _ = writeln!(text, "{name} -> {leads_to}");
    }
    short_hash(&text)
}

/// The first 12 hexadecimal digits of a text's SHA-256.
pub(crate) fn short_hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

#[cfg(test)]
mod tests {
    use super::{FILES, MOUNTD_PORT, PACKAGES, hash, links, short_hash};

    #[test]
    fn mountd_is_where_it_is_said_to_be() {
        let laid = FILES.iter().find(|file| file.path.ends_with("nfs.conf.d/lab.conf")).unwrap();
        assert_eq!(laid.text, format!("[mountd]\nport={MOUNTD_PORT}\n"));
    }

    #[test]
    fn hashes_are_short_and_of_the_content() {
        assert_eq!(short_hash("a"), "ca978112ca1b");
        assert_ne!(short_hash("a"), short_hash("b"));
        assert_eq!(hash(), hash());
        assert_eq!(hash().len(), 12);
    }

    #[test]
    fn nothing_is_laid_twice() {
        let mut paths: Vec<String> = FILES.iter().map(|f| f.path.to_owned()).collect();
        paths.extend(links().into_iter().map(|(name, _)| name));
        paths.extend(PACKAGES.map(str::to_owned));
        let all = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), all);
    }
}
