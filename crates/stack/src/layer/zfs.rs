//! ZFS: the arguments of zpool, and what zfs-fuse or an old OpenZFS lacks.

use record::zfs::{Vdev, Zfs};
use std::collections::BTreeMap;
use std::path::Path;

/// The devices of a pool, by their role.
pub(crate) struct Members<'a> {
    pub(crate) main: Vec<&'a Path>,
    pub(crate) log: Vec<&'a Path>,
    pub(crate) cache: Vec<&'a Path>,
}

/// All arguments of `zpool create`; or why the pool can't be created.
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
    args.extend(["-O".to_owned(), format!("mountpoint={}", mount.to_string_lossy())]);
    for (property, value) in &zfs.properties {
        args.extend(["-O".to_owned(), format!("{property}={value}")]);
    }
    args.push(name.to_owned());
    let words =
        |paths: &[&Path]| paths.iter().map(|path| path.to_string_lossy().into_owned()).collect::<Vec<_>>();
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

/// A feature of this layer that zfs-fuse (pool version 23) lacks, with its name and the remedy.
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
        "compression" => Some("on, off, lzjb, zle, gzip-1 to gzip-9"),
        "recordsize" => Some("up to 128k"),
        "checksum" => Some("on, off, fletcher2, fletcher4, sha256"),
        "xattr" => Some("on, off"),
        _ => None,
    };
    let here = "the only ZFS on this machine is zfs-fuse (pool version 23), which";
    Some(lack(property, value, "OpenZFS", here, instead))
}

/// The text for a missing feature: what has it, what is installed here, and the remedy.
fn lack(property: &str, value: &str, needs: &str, here: &str, instead: Option<&str>) -> String {
    let (has, out) = match instead {
        Some(values) => (values, "Use one of these"),
        None => ("no such property", "Leave it out"),
    };
    format!("`{property}: {value}` needs {needs}; {here} has {has}. {out}, or run it where {needs} is")
}

/// The first OpenZFS release with this value; `None`: all releases in use have it.
fn since(property: &str, value: &str) -> Option<&'static str> {
    match property {
        "direct" => Some("OpenZFS 2.3 or later"),
        "checksum" if value == "blake3" => Some("OpenZFS 2.2 or later"),
        "compression" if value.starts_with("zstd") => Some("OpenZFS 2.0 or later"),
        _ => None,
    }
}

/// The text for a record size above the limit of the kernel's module.
pub(crate) fn too_long_a_record(zfs: &Zfs, here: &str, most: u64) -> Option<String> {
    let asked = zfs.properties.get("recordsize")?;
    let instead = format!("up to {most} (zfs_max_recordsize)");
    let here = format!("this machine's, {here},");
    let too_long = asked.parse().is_ok_and(|bytes: u64| bytes > most);
    too_long.then(|| lack("recordsize", asked, "OpenZFS 2.2 or later", &here, Some(&instead)))
}

/// Whether the layer uses a feature that not every OpenZFS has, so that this one must be checked.
pub(crate) fn is_new(zfs: &Zfs) -> bool {
    zfs.properties.iter().any(|(property, value)| since(property, value).is_some())
}

/// A feature of this layer that this machine's OpenZFS lacks, with its name and the remedy. `usage` is what `zfs get` prints
/// without arguments: a table of all properties and their values. What isn't in the table fails when the pool is created.
pub(crate) fn lacking_in_openzfs(zfs: &Zfs, here: &str, usage: &str) -> Option<String> {
    let mut lines = usage.lines().map(str::trim_start);
    lines.find(|line| line.starts_with("PROPERTY"))?;
    let table: BTreeMap<&str, Vec<&str>> = lines.filter_map(row).collect();
    let here = format!("this machine's, {here},");
    zfs.properties.iter().find_map(|(property, value)| {
        let needs = since(property, value)?;
        match table.get(property.as_str()) {
            None => Some(lack(property, value, needs, &here, None)),
            Some(values) if values.iter().any(|has| is_among(value, has)) => None,
            Some(values) => Some(lack(property, value, needs, &here, Some(&values.join(", ")))),
        }
    })
}

/// Parses a row of the table: `compression YES YES on | off | gzip-[1-9]`.
fn row(line: &str) -> Option<(&str, Vec<&str>)> {
    let (name, rest) = line.split_once(char::is_whitespace)?;
    let values = rest.trim_start().split_once(char::is_whitespace)?.1.trim_start();
    Some((name, values.split_once(char::is_whitespace)?.1.split(" | ").map(str::trim).collect()))
}

/// Whether a value is in the table, either as it is or in a range of numbers: `gzip-[1-9]`.
fn is_among(value: &str, has: &str) -> bool {
    let numbered = has.split_once('[').and_then(|(begin, _)| value.strip_prefix(begin));
    value == has || numbered.is_some_and(|number| number.parse::<u32>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::{Members, create_args, is_new, lacking_in_fuse, lacking_in_openzfs, too_long_a_record};
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
        assert!(lacks("sync", "always").unwrap().contains("has no such property. Leave it out"));
    }

    #[test]
    fn an_old_openzfs_says_what_it_lacks() {
        let usage = "missing property argument\nusage:\n\tget [-rHp] <\"all\" | property[,...]>\n\n\
                     \tPROPERTY       EDIT  INHERIT   VALUES\n\n\
                     \tavailable        NO       NO   <size>\n\
                     \tchecksum        YES      YES   on | off | fletcher4 | sha256\n\
                     \tcompression     YES      YES   on | off | gzip-[1-9] | zstd | zstd-[1-19] | zstd-fast-[1-10,20]\n\
                     \tsync            YES      YES   standard | always | disabled\n";
        let of = |name, value| zfs(Vdev::Stripe, None, &[("atime", "off"), (name, value)]);
        let lacks = |name, value| lacking_in_openzfs(&of(name, value), "OpenZFS 2.1.11-1", usage);
        assert_eq!(
            lacks("direct", "always").unwrap(),
            "`direct: always` needs OpenZFS 2.3 or later; this machine's, OpenZFS 2.1.11-1, has no such property. Leave it out, \
             or run it where OpenZFS 2.3 or later is"
        );
        let lack = lacks("checksum", "blake3").unwrap();
        assert!(lack.contains("has on, off, fletcher4, sha256. Use one of these"), "{lack}");
        for value in ["zstd", "zstd-3", "zstd-fast-10", "gzip-9", "lz4"] {
            assert_eq!(lacks("compression", value), None, "{value}");
        }
        assert!(lacks("compression", "zstd-fast").is_some());
        assert_eq!(lacking_in_openzfs(&of("direct", "always"), "", "usage: zfs get\n"), None, "not told");
        let lack = too_long_a_record(&of("recordsize", "4194304"), "OpenZFS 2.1.11-1", 1 << 20).unwrap();
        assert!(lack.contains("OpenZFS 2.1.11-1, has up to 1048576 (zfs_max_recordsize). Use one"), "{lack}");
        assert_eq!(too_long_a_record(&of("recordsize", "1048576"), "", 1 << 20), None);
        assert!(is_new(&of("direct", "standard")) && !is_new(&of("compression", "lz4")));
    }
}
