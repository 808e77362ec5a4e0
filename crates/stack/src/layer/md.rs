//! md: the arguments and output of mdadm.

use record::lvm::Resync;
use record::md::{Md, MdLevel};
use std::path::Path;

/// The home host of our arrays: no machine's name, so that no machine takes them for its own.
const HOST: &str = "diskproof";
/// The size of an array's name in its superblocks, including its host and a colon.
const NAME_BYTES: usize = 32;

/// An array's name: our prefix, and as much of its UUID as fits.
pub(crate) fn name(prefix: &str, uuid: &str) -> String {
    let digits = uuid.chars().filter(char::is_ascii_hexdigit);
    let room = NAME_BYTES.saturating_sub(HOST.len() + 2 + prefix.len()).min(8);
    format!("{prefix}{}", digits.take(room).collect::<String>())
}

/// The arguments of mdadm that create the array.
pub(crate) fn create_args(md: &Md, node: &Path, uuid: &str, name: &str, devices: &[&Path]) -> Vec<String> {
    let mut args = vec![
        "--create".to_owned(),
        node.to_string_lossy().into_owned(),
        "--run".to_owned(),
        "--metadata=1.2".to_owned(),
        format!("--uuid={uuid}"),
        format!("--name={name}"),
        format!("--homehost={HOST}"),
        format!("--level={}", md.level.name()),
        format!("--raid-devices={}", devices.len()),
    ];
    args.extend(md.chunk_bytes.map(|bytes| format!("--chunk={}K", bytes / 1024)));
    args.extend(md.layout.map(|layout| format!("--layout={}", layout.name())));
    if md.level != MdLevel::Raid0 {
        args.push(format!("--bitmap={}", if md.bitmap { "internal" } else { "none" }));
    }
    if md.resync == Some(Resync::Skip) {
        args.push("--assume-clean".to_owned());
    }
    if devices.len() == 1 {
        // mdadm needs this for an array with one member.
        args.push("--force".to_owned());
    }
    args.extend(devices.iter().map(|device| device.to_string_lossy().into_owned()));
    args
}

/// The UUID of an array in the output of `mdadm --detail --export`, in libblkid's spelling.
pub(crate) fn uuid_of(export: &str) -> Option<String> {
    let value = export.lines().find_map(|line| line.strip_prefix("MD_UUID="))?;
    let digits: String = value.chars().filter(char::is_ascii_hexdigit).collect();
    if digits.len() != 32 {
        return None;
    }
    let mut rest = digits.as_str();
    let groups = [8, 4, 4, 4, 12].map(|length| {
        let (group, behind) = rest.split_at(length);
        rest = behind;
        group
    });
    Some(groups.join("-").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::{create_args, name, uuid_of};
    use record::lvm::Resync;
    use record::md::{Md, MdCopies, MdLayout, MdLevel};
    use std::path::Path;

    fn md(level: MdLevel) -> Md {
        Md { level, chunk_bytes: None, layout: None, bitmap: false, resync: None }
    }

    fn told(md: &Md, devices: &[&str]) -> String {
        let devices: Vec<&Path> = devices.iter().map(Path::new).collect();
        create_args(md, Path::new("/dev/md200"), "U", "n", &devices).join(" ")
    }

    const BEGIN: &str = "--create /dev/md200 --run --metadata=1.2 --uuid=U --name=n --homehost=diskproof";

    #[test]
    fn levels_become_arguments() {
        let striped = Md { chunk_bytes: Some(64 << 10), ..md(MdLevel::Raid0) };
        assert_eq!(
            told(&striped, &["/dev/a", "/dev/b"]),
            format!("{BEGIN} --level=raid0 --raid-devices=2 --chunk=64K /dev/a /dev/b")
        );
        assert!(told(&striped, &["/dev/a"]).ends_with("--raid-devices=1 --chunk=64K --force /dev/a"));
        let mirror = Md { bitmap: true, resync: Some(Resync::Wait), ..md(MdLevel::Raid1) };
        assert_eq!(
            told(&mirror, &["/dev/a", "/dev/b"]),
            format!("{BEGIN} --level=raid1 --raid-devices=2 --bitmap=internal /dev/a /dev/b")
        );
        let far = Md {
            chunk_bytes: Some(512 << 10),
            layout: Some(MdLayout { kind: MdCopies::Far, copies: 2 }),
            resync: Some(Resync::Skip),
            ..md(MdLevel::Raid10)
        };
        assert_eq!(
            told(&far, &["/dev/a", "/dev/b"]),
            format!(
                "{BEGIN} --level=raid10 --raid-devices=2 --chunk=512K --layout=f2 --bitmap=none --assume-clean /dev/a /dev/b"
            )
        );
    }

    #[test]
    fn names_fit_into_a_superblock() {
        let uuid = "3f8c1b2a-0d4e-4f6a-9b7c-1234567890ab";
        assert_eq!(name("diskproof-", uuid), "diskproof-3f8c1b2a");
        for prefix in ["diskproof-", "diskproof-test-"] {
            let whole = format!("diskproof:{}", name(prefix, uuid));
            assert!(whole.len() < 32 && whole.len() > prefix.len() + 10 + 4, "{whole}");
        }
    }

    #[test]
    fn the_uuid_is_spelt_as_libblkid_does() {
        let export = "MD_LEVEL=raid1\nMD_DEVICES=2\nMD_METADATA=1.2\nMD_UUID=3F8C1b2a:0d4e4f6a:9b7c1234:567890ab\n\
                      MD_DEVNAME=diskproof-3f8c\nMD_NAME=diskproof:diskproof-3f8c\n";
        assert_eq!(uuid_of(export).unwrap(), "3f8c1b2a-0d4e-4f6a-9b7c-1234567890ab");
        assert_eq!(uuid_of("MD_LEVEL=raid0\n"), None);
        assert_eq!(uuid_of("MD_UUID=12:34\n"), None);
    }
}
