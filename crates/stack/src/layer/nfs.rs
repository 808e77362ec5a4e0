//! The arguments of exportfs and mount for the nfs layer.

use record::allowed::{self, Mounted};
use record::nfs::{Nfs, NfsVersion};
use record::printable::Shown as _;
use std::path::Path;

/// Options of the export. `is_mount`: a file system is mounted there, and the export must fail without it. `any_port`: the
/// client's requests may come from unprivileged ports, because of the network path.
pub(crate) fn export_options(layer: &Nfs, fsid: &str, is_mount: bool, any_port: bool) -> Vec<String> {
    let mut options = vec!["rw".to_owned(), "no_root_squash".to_owned()];
    let mut or_default = |pair: [&str; 2]| {
        if !layer.export.iter().any(|option| pair.contains(&option.as_str())) {
            options.push(pair[0].to_owned());
        }
    };
    or_default(["sync", "async"]);
    or_default(["no_subtree_check", "subtree_check"]);
    options.extend(layer.export.iter().cloned());
    options.extend(any_port.then(|| "insecure".to_owned()));
    options.extend(is_mount.then(|| "mountpoint".to_owned()));
    options.push(format!("fsid={fsid}"));
    options
}

/// Options of the mount, and those that must be in force afterwards; or why a user's option is refused. `remote`: another machine
/// mounts it.
pub(crate) fn mount_options(layer: &Nfs, remote: bool) -> Result<(Vec<String>, Vec<String>), String> {
    // Checked here again: the plan may come from a store that another user wrote.
    allowed::export(&layer.export).map_err(|refusal| refusal.to_string())?;
    allowed::mount(Mounted::Nfs, &layer.mount_options).map_err(|refusal| refusal.to_string())?;
    let mut options = Vec::new();
    let mut in_force = Vec::new();
    // Client and server could negotiate NFSv3, which needs more open ports between two machines.
    let version = layer.version.or(remote.then_some(NfsVersion::V4));
    if let Some(version) = version {
        options.push(format!("vers={}", version.word()));
        if version == NfsVersion::V3 && remote {
            // Locks would need services at both ends, and connections from the server to the client.
            options.extend(["proto=tcp", "mountproto=tcp", "nolock"].map(str::to_owned));
        }
        // `4` negotiates the minor version.
        if version != NfsVersion::V4 {
            in_force.push(format!("vers={}", version.word()));
        }
    }
    for (name, bytes) in [("rsize", layer.rsize_bytes), ("wsize", layer.wsize_bytes)] {
        in_force.extend(bytes.map(|bytes| format!("{name}={bytes}")));
        options.extend(bytes.map(|bytes| format!("{name}={bytes}")));
    }
    options.extend(layer.mount_options.iter().cloned());
    Ok((options, in_force))
}

/// Refuses special characters: exportfs has no quoting, so it would misread them.
pub(crate) fn plain_path(path: &Path) -> Result<(), String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.+@".contains(&byte);
    match path.to_str() {
        Some(text) if text.bytes().all(plain) => Ok(()),
        _ => Err(format!(
            "{} can't be exported: its name must hold nothing but letters, digits and / - _ . + @",
            path.shown()
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{export_options, mount_options, plain_path};
    use record::nfs::{Nfs, NfsVersion};
    use std::path::Path;

    fn layer(export: &[&str]) -> Nfs {
        Nfs {
            version: None,
            export: export.iter().map(|word| (*word).to_owned()).collect(),
            rsize_bytes: None,
            wsize_bytes: None,
            mount_options: Vec::new(),
            client: None,
        }
    }

    #[test]
    fn exports_are_synchronous_unless_said_and_known_by_their_fsid() {
        let of = |export: &[&str], is_mount| export_options(&layer(export), "1-2", is_mount, false).join(",");
        assert_eq!(of(&[], true), "rw,no_root_squash,sync,no_subtree_check,mountpoint,fsid=1-2");
        assert_eq!(
            of(&["async", "no_wdelay"], false),
            "rw,no_root_squash,no_subtree_check,async,no_wdelay,fsid=1-2"
        );
        assert_eq!(of(&["sync", "subtree_check"], false), "rw,no_root_squash,sync,subtree_check,fsid=1-2");
        let forwarded = export_options(&layer(&[]), "1-2", true, true).join(",");
        assert_eq!(forwarded, "rw,no_root_squash,sync,no_subtree_check,insecure,mountpoint,fsid=1-2");
    }

    #[test]
    fn what_was_asked_must_be_in_force() {
        assert_eq!(mount_options(&layer(&[]), false).unwrap(), (vec![], vec![]));
        let asked = Nfs {
            version: Some(NfsVersion::V4p1),
            rsize_bytes: Some(65536),
            wsize_bytes: Some(4096),
            mount_options: vec!["nconnect=2".to_owned()],
            ..layer(&[])
        };
        let (options, in_force) = mount_options(&asked, false).unwrap();
        assert_eq!(options, ["vers=4.1", "rsize=65536", "wsize=4096", "nconnect=2"]);
        assert_eq!(in_force, options[..3]);
        let any_minor = Nfs { version: Some(NfsVersion::V4), ..layer(&[]) };
        assert_eq!(mount_options(&any_minor, false).unwrap(), (vec!["vers=4".to_owned()], vec![]));
        let apart = Nfs { client: Some("other".to_owned()), ..layer(&[]) };
        assert_eq!(mount_options(&apart, true).unwrap(), (vec!["vers=4".to_owned()], vec![]), "one port");
        let (options, in_force) =
            mount_options(&Nfs { version: Some(NfsVersion::V3), ..apart }, true).unwrap();
        assert_eq!(options, ["vers=3", "proto=tcp", "mountproto=tcp", "nolock"]);
        assert_eq!(in_force, ["vers=3"]);
        let here = Nfs { version: Some(NfsVersion::V3), ..layer(&[]) };
        assert_eq!(mount_options(&here, false).unwrap().0, ["vers=3"]);
    }

    #[test]
    fn a_plan_of_somebody_else_gets_no_more_than_a_file() {
        assert!(mount_options(&layer(&["insecure"]), false).unwrap_err().contains("`insecure` is refused"));
        let bound = Nfs { mount_options: vec!["addr=192.0.2.1".to_owned()], ..layer(&[]) };
        assert!(mount_options(&bound, false).unwrap_err().contains("addr=192.0.2.1"));
    }

    #[test]
    fn paths_that_exportfs_would_misread_are_refused() {
        assert!(plain_path(Path::new("/var/lib/diskproof/mnt/diskproof-20261122-1")).is_ok());
        for path in ["/a b", "/a#b", "/a(b", "/a\"b", "/\u{e4}"] {
            assert!(plain_path(Path::new(path)).is_err(), "{path}");
        }
    }
}
