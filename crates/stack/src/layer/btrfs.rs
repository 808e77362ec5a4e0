//! btrfs: the arguments of mkfs and mount.

use super::filesystem::value_of;
use record::allowed::{self, Mkfs, Mounted};
use record::stack::{Btrfs, Compress};
use std::path::Path;

/// All arguments of mkfs.btrfs but the devices; or why it can't be built. Without a UUID it overwrites whatever is on the
/// devices: for our own backing files, which need no UUID. (With a given UUID, mkfs.btrfs searches all devices of the machine for
/// a duplicate.)
pub(crate) fn mkfs_args(
    btrfs: &Btrfs,
    devices: usize,
    uuid: Option<&str>,
    label: &str,
) -> Result<Vec<String>, String> {
    let profiles = [Some(btrfs.data), btrfs.metadata];
    if let Some(profile) = profiles.into_iter().flatten().find(|profile| profile.min_devices() > devices) {
        let (name, needed) = (profile.name(), profile.min_devices());
        return Err(format!("btrfs {name} needs at least {needed} volumes and has {devices}; give it more"));
    }
    // Checked here again: the plan may come from a store that another user wrote.
    allowed::mkfs(Mkfs::Btrfs, &btrfs.mkfs_options).map_err(|refusal| refusal.to_string())?;
    let mut args: Vec<String> = ["-q", "-K", "-d", btrfs.data.name()].map(str::to_owned).to_vec();
    if let Some(metadata) = btrfs.metadata {
        args.extend(["-m".to_owned(), metadata.name().to_owned()]);
    }
    if value_of(&btrfs.mkfs_options, "-L").is_none() {
        args.extend(["-L".to_owned(), label.to_owned()]);
    }
    args.extend(btrfs.mkfs_options.iter().cloned());
    match uuid {
        Some(uuid) => args.extend(["-U".to_owned(), uuid.to_owned()]),
        None => args.push("-f".to_owned()),
    }
    Ok(args)
}

/// Mount options: ours first, so that the user's override them; or why a user's option is refused. `others` are the further
/// members: they are listed because nothing else may have told the kernel of them.
pub(crate) fn mount_options(btrfs: &Btrfs, others: &[&Path]) -> Result<Vec<String>, String> {
    allowed::mount(Mounted::Btrfs, &btrfs.mount_options).map_err(|refusal| refusal.to_string())?;
    let mut options = Vec::new();
    if !btrfs.mount_options.iter().any(|option| option.starts_with("discard") || option == "nodiscard") {
        // Discard is on by default on devices that support it, and would then run during the workload.
        options.push("nodiscard".to_owned());
    }
    options.extend(btrfs.compress.as_ref().map(compress_option));
    options.extend(others.iter().map(|device| format!("device={}", device.to_string_lossy())));
    options.extend(btrfs.mount_options.iter().cloned());
    Ok(options)
}

fn compress_option(compress: &Compress) -> String {
    let name = if compress.force { "compress-force" } else { "compress" };
    match compress.level {
        Some(level) => format!("{name}={}:{level}", compress.algorithm),
        None => format!("{name}={}", compress.algorithm),
    }
}

#[cfg(test)]
mod tests {
    use super::{mkfs_args, mount_options};
    use record::stack::{Btrfs, BtrfsProfile, Compress};
    use std::path::Path;

    fn btrfs(data: BtrfsProfile, compress: Option<Compress>) -> Btrfs {
        Btrfs { data, metadata: None, compress, mkfs_options: Vec::new(), mount_options: Vec::new() }
    }

    #[test]
    fn profiles_and_uuid_are_told() {
        let mut raid = btrfs(BtrfsProfile::Raid10, None);
        raid.metadata = Some(BtrfsProfile::Raid1);
        raid.mkfs_options = vec!["-n".to_owned(), "16k".to_owned()];
        let args = mkfs_args(&raid, 4, Some("U"), "l").unwrap().join(" ");
        assert_eq!(args, "-q -K -d raid10 -m raid1 -L l -n 16k -U U");
    }

    #[test]
    fn too_few_volumes_are_refused() {
        let error = mkfs_args(&btrfs(BtrfsProfile::Raid1, None), 1, None, "l").unwrap_err();
        assert_eq!(error, "btrfs raid1 needs at least 2 volumes and has 1; give it more");
    }

    #[test]
    fn compression_and_members_become_options() {
        let zstd = |level, force| Some(Compress { algorithm: "zstd".to_owned(), level, force });
        let members = [Path::new("/dev/loop1001")];
        let options = mount_options(&btrfs(BtrfsProfile::Raid0, zstd(Some(3), true)), &members).unwrap();
        assert_eq!(options, ["nodiscard", "compress-force=zstd:3", "device=/dev/loop1001"]);
        assert_eq!(
            mount_options(&btrfs(BtrfsProfile::Single, zstd(None, false)), &[]).unwrap(),
            ["nodiscard", "compress=zstd"]
        );
    }

    #[test]
    fn a_plan_of_somebody_else_gets_no_more_than_a_file() {
        let mut plain = btrfs(BtrfsProfile::Single, None);
        plain.mkfs_options = vec!["--rootdir=.".to_owned()];
        plain.mount_options = vec!["device=sdb".to_owned()];
        assert!(mkfs_args(&plain, 1, None, "l").unwrap_err().contains("--rootdir"));
        assert!(mount_options(&plain, &[]).unwrap_err().contains("device=sdb"));
    }

    #[test]
    fn the_user_may_ask_for_discards() {
        let mut plain = btrfs(BtrfsProfile::Single, None);
        plain.mount_options = vec!["discard=async".to_owned()];
        assert_eq!(mount_options(&plain, &[]).unwrap(), ["discard=async"]);
    }
}
