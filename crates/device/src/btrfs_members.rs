//! Which block devices belong to which mounted btrfs. A btrfs mount has an anonymous device number and names only one member.

use crate::block::{Block, names_in};
use crate::devno::DevNo;
use record::roots::Roots;
use std::collections::BTreeMap;
use std::io;

/// The members of every open btrfs, by file system UUID; empty when the driver isn't loaded.
pub(crate) fn open_file_systems(roots: &Roots) -> io::Result<BTreeMap<String, Vec<DevNo>>> {
    let dir = roots.sys("fs/btrfs");
    let uuids = match names_in(&dir) {
        Ok(names) => names,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(error),
    };
    let mut found = BTreeMap::new();
    for uuid in uuids {
        let Ok(members) = names_in(&dir.join(&uuid).join("devices")) else { continue };
        let members = members.iter().filter_map(|name| Block::by_name(roots, name).ok()).map(|b| b.devno);
        found.insert(uuid, members.collect());
    }
    Ok(found)
}

/// All members of the open btrfs that has this one; only itself when there is none.
pub(crate) fn companions(roots: &Roots, member: DevNo) -> io::Result<Vec<DevNo>> {
    let all = open_file_systems(roots)?;
    Ok(all.into_values().find(|members| members.contains(&member)).unwrap_or_else(|| vec![member]))
}
