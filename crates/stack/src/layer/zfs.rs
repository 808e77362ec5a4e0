//! ZFS: arguments for zpool, and what zfs-fuse lacks.

use record::zfs::{Vdev, Zfs};
use std::path::Path;

/// The devices of a pool, by what they are for.
pub(crate) struct Members<'a> {
    pub(crate) main: Vec<&'a Path>,
    pub(crate) log: Vec<&'a Path>,
    pub(crate) cache: Vec<&'a Path>,
}

/// All arguments of `zpool create`; or why it can't be made.
pub(crate) fn create_args(
    zfs: &Zfs,
    members: &Members<'_>,
    name: &str,
    mount: &Path,
) -> Result<Vec<String>, String> {
    let devices = members.main.len();
    let width = zfs.width.map_or(devices, |width| usize::try_from(width).unwrap_or(usize::MAX));
    let kind = zfs.vdev;
    if width < kind.min_devices() || !devices.is_multiple_of(width.max(1)) {
        return Err(format!(
            "a ZFS {} takes {} volumes or more, {width} at a time, and has {devices}",
            kind.name(),
            kind.min_devices()
        ));
    }
    let mut args: Vec<String> = ["create", "-o", "cachefile=none"].map(str::to_owned).to_vec();
    if let Some(ashift) = zfs.ashift {
        args.extend(["-o".to_owned(), format!("ashift={ashift}")]);
    }
    args.extend(["-O".to_owned(), format!("mountpoint={}", mount.display())]);
    for (property, value) in &zfs.properties {
        args.extend(["-O".to_owned(), format!("{property}={value}")]);
    }
    args.push(name.to_owned());
    let words = |paths: &[&Path]| paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>();
    if kind == Vdev::Stripe {
        args.extend(words(&members.main));
    } else {
        for group in members.main.chunks(width) {
            args.push(kind.name().to_owned());
            args.extend(words(group));
        }
    }
    for (word, paths) in [("log", &members.log), ("cache", &members.cache)] {
        if !paths.is_empty() {
            args.push(word.to_owned());
            args.extend(words(paths));
        }
    }
    Ok(args)
}

/// What zfs-fuse (pool version 23) can't do of this, by name and with the way out.
pub(crate) fn lacking_in_fuse(zfs: &Zfs) -> Option<String> {
    let has = |property: &str, value: &str| match property {
        "compression" => {
            let level = value.strip_prefix("gzip-").and_then(|level| level.parse().ok());
            matches!(value, "on" | "off" | "lzjb" | "gzip" | "zle")
                || level.is_some_and(|level: u32| (1..=9).contains(&level))
        }
        "recordsize" => value.parse().is_ok_and(|bytes: u64| bytes <= 128 << 10),
        "checksum" => matches!(value, "on" | "off" | "fletcher2" | "fletcher4" | "sha256"),
        "xattr" => matches!(value, "on" | "off"),
        "sync" | "direct" => false,
        _ => true,
    };
    let (property, value) = zfs.properties.iter().find(|(property, value)| !has(property, value))?;
    let instead = match property.as_str() {
        "compression" => "on, off, lzjb, zle, gzip-1 to gzip-9",
        "recordsize" => "up to 128k",
        "checksum" => "on, off, fletcher2, fletcher4, sha256",
        "xattr" => "on, off",
        _ => "no such property",
    };
    Some(format!(
        "`{property}: {value}` needs OpenZFS; the only ZFS on this machine is zfs-fuse (pool version 23), which has {instead}. \
         Use one of these, or run it where OpenZFS is"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Members, create_args, lacking_in_fuse};
    use record::zfs::{Vdev, Zfs};
    use std::collections::BTreeMap;
    use std::path::Path;

    fn zfs(vdev: Vdev, width: Option<u32>, properties: &[(&str, &str)]) -> Zfs {
        let properties: BTreeMap<String, String> =
            properties.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Zfs { vdev, width, log: vec![], cache: vec![], ashift: Some(12), properties, arc_max_bytes: None }
    }

    fn args(zfs: &Zfs, main: &[&'static str], log: &[&'static str]) -> Result<String, String> {
        let paths = |names: &[&'static str]| names.iter().map(|&name| Path::new(name)).collect();
        let members = Members { main: paths(main), log: paths(log), cache: paths(&["/dev/z"]) };
        create_args(zfs, &members, "p", Path::new("/m")).map(|args| args.join(" "))
    }

    #[test]
    fn mirrors_are_grouped_and_logs_and_caches_come_last() {
        let pool = zfs(Vdev::Mirror, Some(2), &[("atime", "off"), ("recordsize", "16384")]);
        let said = args(&pool, &["/dev/a", "/dev/b", "/dev/c", "/dev/d"], &["/dev/l"]).unwrap();
        assert_eq!(
            said,
            "create -o cachefile=none -o ashift=12 -O mountpoint=/m -O atime=off -O recordsize=16384 p \
             mirror /dev/a /dev/b mirror /dev/c /dev/d log /dev/l cache /dev/z"
        );
        let said = args(&zfs(Vdev::Raidz2, None, &[]), &["/dev/a", "/dev/b", "/dev/c"], &[]).unwrap();
        assert!(said.ends_with("p raidz2 /dev/a /dev/b /dev/c cache /dev/z"), "{said}");
        let said = args(&zfs(Vdev::Stripe, None, &[]), &["/dev/a", "/dev/b"], &[]).unwrap();
        assert!(said.ends_with("p /dev/a /dev/b cache /dev/z"), "{said}");
    }

    #[test]
    fn what_can_not_be_joined_is_refused() {
        let error = args(&zfs(Vdev::Raidz, None, &[]), &["/dev/a"], &[]).unwrap_err();
        assert!(error.contains("raidz takes 2 volumes or more"), "{error}");
        assert!(args(&zfs(Vdev::Mirror, Some(2), &[]), &["/dev/a", "/dev/b", "/dev/c"], &[]).is_err());
    }

    #[test]
    fn zfs_fuse_says_what_it_lacks() {
        let lacks = |name, value| lacking_in_fuse(&zfs(Vdev::Stripe, None, &[(name, value)]));
        for value in ["on", "off", "lzjb", "zle", "gzip", "gzip-1", "gzip-9"] {
            assert_eq!(lacks("compression", value), None, "{value}");
        }
        for value in ["lz4", "zstd", "zstd-3", "zstd-fast-1"] {
            assert!(lacks("compression", value).unwrap().contains("gzip-1 to gzip-9"), "{value}");
        }
        assert!(lacks("recordsize", "1048576").is_some() && lacks("sync", "always").is_some());
        assert_eq!(lacks("atime", "off"), None);
    }
}
