//! ext3, ext4 and xfs: the arguments of mkfs and mount.

use crate::act::mkfs::MadeFs;
use record::allowed::{self, Mkfs, Mounted};
use record::stack::{Filesystem, FsKind, StripeGeometry};

/// ext's block size. It also holds for small volumes, where mkfs would choose 1024: a small volume stands for a large one.
const EXT_BLOCK_BYTES: u64 = 4096;

pub(crate) fn made(kind: FsKind) -> MadeFs {
    match kind {
        FsKind::Ext3 => MadeFs::Ext3,
        FsKind::Ext4 => MadeFs::Ext4,
        FsKind::Xfs => MadeFs::Xfs,
    }
}

/// All arguments of mkfs but the device; or why a user's option is refused.
pub(crate) fn mkfs_args(fs: &Filesystem, uuid: &str, label: &str) -> Result<Vec<String>, String> {
    // Checked here again: the plan may come from a store that another user wrote.
    let checked = |program| allowed::mkfs(program, &fs.mkfs_options).map_err(|refusal| refusal.to_string());
    match fs.kind {
        FsKind::Ext3 | FsKind::Ext4 => checked(Mkfs::Ext).map(|()| ext(fs, uuid, label)),
        FsKind::Xfs => checked(Mkfs::Xfs).map(|()| xfs(fs, uuid, label)),
    }
}

/// Mount options: ours first, so that the user's override them; or why a user's option is refused.
pub(crate) fn mount_options(fs: &Filesystem) -> Result<Vec<String>, String> {
    let mounted = match fs.kind {
        FsKind::Ext3 | FsKind::Ext4 => Mounted::Ext,
        FsKind::Xfs => Mounted::Xfs,
    };
    allowed::mount(mounted, &fs.mount_options).map_err(|refusal| refusal.to_string())?;
    // mkfs leaves the inode tables to a kernel thread, which would write them during the first trials.
    let quiet = matches!(fs.kind, FsKind::Ext4).then(|| "noinit_itable".to_owned());
    Ok(quiet.into_iter().chain(fs.mount_options.iter().cloned()).collect())
}

fn ext(fs: &Filesystem, uuid: &str, label: &str) -> Vec<String> {
    let (extended, mut others) = split_extended(&fs.mkfs_options);
    let block = value_of(&others, "-b").map_or(Some(EXT_BLOCK_BYTES), |text| text.parse().ok());
    let mut args = vec!["-q".to_owned()];
    if value_of(&others, "-b").is_none() {
        args.extend(["-b".to_owned(), EXT_BLOCK_BYTES.to_string()]);
    }
    if value_of(&others, "-L").is_none() {
        args.extend(["-L".to_owned(), label.to_owned()]);
    }
    // mkfs uses only the last -E, so there is one.
    let mut own = vec!["nodiscard".to_owned()];
    if let (Some(StripeGeometry { chunk_bytes, width }), Some(block)) = (fs.stripe, block.filter(|b| *b > 0))
    {
        let stride = chunk_bytes / block;
        own.push(format!("stride={stride},stripe_width={}", stride * u64::from(width)));
    }
    own.extend(extended);
    args.append(&mut others);
    args.extend(["-E".to_owned(), own.join(","), "-U".to_owned(), uuid.to_owned()]);
    args
}

fn xfs(fs: &Filesystem, uuid: &str, label: &str) -> Vec<String> {
    let mut args = vec!["-q".to_owned(), "-K".to_owned()];
    if value_of(&fs.mkfs_options, "-L").is_none() {
        args.extend(["-L".to_owned(), label.to_owned()]);
    }
    if let Some(StripeGeometry { chunk_bytes, width }) = fs.stripe {
        args.extend(["-d".to_owned(), format!("su={chunk_bytes},sw={width}")]);
    }
    args.extend(fs.mkfs_options.iter().cloned());
    args.extend(["-m".to_owned(), format!("uuid={uuid}")]);
    args
}

/// Splits the user's options into `-E` values and all others.
fn split_extended(options: &[String]) -> (Vec<String>, Vec<String>) {
    let (mut extended, mut others) = (Vec::new(), Vec::new());
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.strip_prefix("-E") {
            Some("") => extended.extend(options.next().cloned()),
            Some(value) => extended.push(value.to_owned()),
            None => others.push(option.clone()),
        }
    }
    (extended, others)
}

/// The value of a one-letter option, separate or attached.
pub(crate) fn value_of<'a>(options: &'a [String], name: &str) -> Option<&'a str> {
    let at = options.iter().position(|option| option.starts_with(name))?;
    match options[at].strip_prefix(name) {
        Some("") => options.get(at + 1).map(String::as_str),
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use super::{mkfs_args, mount_options};
    use record::stack::{Filesystem, FsKind, StripeGeometry};

    fn fs(kind: FsKind, options: &[&str], stripe: Option<StripeGeometry>) -> Filesystem {
        let mkfs_options = options.iter().map(|&option| option.to_owned()).collect();
        Filesystem { kind, mkfs_options, mount_options: vec!["noatime".to_owned()], stripe }
    }

    const STRIPE: Option<StripeGeometry> = Some(StripeGeometry { chunk_bytes: 65_536, width: 3 });

    #[test]
    fn ext4_gets_its_stripe_and_one_merged_extended_option() {
        let args = mkfs_args(
            &fs(FsKind::Ext4, &["-E", "lazy_itable_init=0", "-Eresize=1", "-m0"], STRIPE),
            "U",
            "l",
        );
        let args = args.unwrap().join(" ");
        assert_eq!(
            args,
            "-q -b 4096 -L l -m0 -E nodiscard,stride=16,stripe_width=48,lazy_itable_init=0,resize=1 -U U"
        );
    }

    #[test]
    fn the_users_block_size_and_label_win() {
        let args =
            mkfs_args(&fs(FsKind::Ext3, &["-b1024", "-L", "mine"], STRIPE), "U", "l").unwrap().join(" ");
        assert_eq!(args, "-q -b1024 -L mine -E nodiscard,stride=64,stripe_width=192 -U U");
    }

    #[test]
    fn xfs_gets_its_stripe_in_bytes() {
        let args = mkfs_args(&fs(FsKind::Xfs, &["-i", "size=1024"], STRIPE), "U", "l").unwrap().join(" ");
        assert_eq!(args, "-q -K -L l -d su=65536,sw=3 -i size=1024 -m uuid=U");
    }

    #[test]
    fn the_uuid_is_ours() {
        for (kind, options) in [(FsKind::Ext4, &["-Uclear"][..]), (FsKind::Xfs, &["-m", "uuid=1"])] {
            let error = mkfs_args(&fs(kind, options, None), "U", "l").unwrap_err();
            assert!(error.contains("UUID") && error.contains(kind.name()), "{error}");
        }
    }

    #[test]
    fn a_plan_of_somebody_else_gets_no_more_than_a_file() {
        for options in [&["-z", "undo.e2undo"][..], &["-zundo2.e2undo"], &["-l", "plans"], &["-d", "."]] {
            let error = mkfs_args(&fs(FsKind::Ext4, options, None), "U", "l").unwrap_err();
            assert!(error.contains(options[0]) && error.contains("`command` layer"), "{error}");
        }
        let mut bound = fs(FsKind::Xfs, &[], None);
        bound.mount_options = vec!["noatime,bind".to_owned()];
        assert!(mount_options(&bound).unwrap_err().contains("`noatime,bind` of xfs is refused"));
    }

    #[test]
    fn no_background_writer_disturbs_ext4() {
        assert_eq!(mount_options(&fs(FsKind::Ext4, &[], None)).unwrap(), ["noinit_itable", "noatime"]);
        assert_eq!(mount_options(&fs(FsKind::Xfs, &[], None)).unwrap(), ["noatime"]);
    }
}
