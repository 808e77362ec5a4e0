//! The tables refuse each known attack and allow useful options.

use super::{Mkfs, Mounted, mkfs, mount};

fn list(options: &[&str]) -> Vec<String> {
    options.iter().map(|&option| option.to_owned()).collect()
}

#[test]
fn attacks_on_mkfs_are_refused() {
    const ATTACKS: &[(Mkfs, &[&str], &str)] = &[
        (Mkfs::Ext, &["-z", "undo.e2undo"], "undo file"),
        (Mkfs::Ext, &["-zundo2.e2undo"], "undo file"),
        (Mkfs::Ext, &["-qz", "undo"], "an element of its own"),
        (Mkfs::Ext, &["-q", "-vzundo"], "an element of its own"),
        (Mkfs::Ext, &["-l", "plans"], "list of bad blocks"),
        (Mkfs::Ext, &["-d", "."], "copy a directory"),
        (Mkfs::Ext, &["-J", "device=UUID=1"], "no part of the stack"),
        (Mkfs::Ext, &["-J", "size=4,device=LABEL=x"], "no part of the stack"),
        (Mkfs::Ext, &["-E", "nodiscard,offset=512"], "elsewhere on the device"),
        (Mkfs::Ext, &["-O", "journal_dev"], "not a file system"),
        (Mkfs::Ext, &["-F"], "diskproof's checks"),
        (Mkfs::Ext, &["-n"], "no file system would be made"),
        (Mkfs::Ext, &["-c"], "another program"),
        (Mkfs::Ext, &["-U", "clear"], "UUID"),
        (Mkfs::Ext, &["-b", "-z"], "`command` layer"),
        (Mkfs::Ext, &["sdb"], "`command` layer"),
        (Mkfs::Ext, &["--", "sdb"], "`command` layer"),
        (Mkfs::Ext, &["-L", "-z"], "`command` layer"),
        (Mkfs::Ext, &["-L"], "next element"),
        (Mkfs::Xfs, &["-d", "name=disk.img"], "no part of the stack"),
        (Mkfs::Xfs, &["-dfile,name=x,size=1g"], "no part of the stack"),
        (Mkfs::Xfs, &["-p", "protofile"], "copy files"),
        (Mkfs::Xfs, &["-l", "logdev=sdb"], "no part of the stack"),
        (Mkfs::Xfs, &["-lsize=10m,logdev=sdb"], "no part of the stack"),
        (Mkfs::Xfs, &["-r", "rtdev=sdb"], "no part of the stack"),
        (Mkfs::Xfs, &["-c", "options=FILE"], "settings from a file"),
        (Mkfs::Xfs, &["-m", "uuid=1"], "UUID"),
        (Mkfs::Xfs, &["-qp", "protofile"], "an element of its own"),
        (Mkfs::Xfs, &["-f"], "diskproof's checks"),
        (Mkfs::Btrfs, &["--rootdir", "."], "copy a directory"),
        (Mkfs::Btrfs, &["--rootdir=."], "copy a directory"),
        (Mkfs::Btrfs, &["--root=."], "`command` layer"),
        (Mkfs::Btrfs, &["-r."], "copy a directory"),
        (Mkfs::Btrfs, &["-Kr", "."], "an element of its own"),
        (Mkfs::Btrfs, &["--node", "16k"], "`command` layer"),
        (Mkfs::Btrfs, &["-O", "list-all"], "no file system would be made"),
        (Mkfs::Btrfs, &["-d", "raid5"], "beside `mkfs_options`"),
        (Mkfs::Btrfs, &["--uuid=1"], "UUID"),
        (Mkfs::Btrfs, &["-f"], "diskproof's checks"),
        (Mkfs::Btrfs, &["--nodesize", "--rootdir=."], "`command` layer"),
        (Mkfs::Btrfs, &["--quiet=x"], "`command` layer"),
    ];
    for (program, options, why) in ATTACKS {
        let refusal = mkfs(*program, &list(options)).expect_err(&options.join(" "));
        assert!(refusal.help.contains(why), "{options:?}: {refusal}");
        assert!(refusal.message.contains("mkfs") && !refusal.allowed.is_empty(), "{options:?}: {refusal}");
    }
}

#[test]
fn useful_options_of_mkfs_pass() {
    const USEFUL: &[(Mkfs, &[&str])] = &[
        (Mkfs::Ext, &["-b", "1024", "-I", "512", "-m0", "-i", "64k", "-L", "disk-ext4", "-q"]),
        (Mkfs::Ext, &["-E", "lazy_itable_init=0,stride=16,stripe_width=48", "-Eresize=1g", "-J", "size=64"]),
        (Mkfs::Ext, &["-O", "^has_journal,bigalloc", "-C", "64k", "-T", "largefile", "-m", "0.5"]),
        (
            Mkfs::Xfs,
            &["-d", "agcount=8,su=64k,sw=3", "-i", "size=1024", "-m", "crc=1,reflink=0", "-b", "size=4k"],
        ),
        (Mkfs::Xfs, &["-l", "size=64m,internal", "-s", "size=4096", "-nftype=1", "-K", "-L", "x"]),
        (
            Mkfs::Btrfs,
            &["-n", "16k", "--nodesize=32k", "-s", "4096", "--sectorsize", "4k", "--csum", "xxhash"],
        ),
        (Mkfs::Btrfs, &["-O", "^no-holes,block-group-tree", "-R", "free-space-tree", "--nodiscard", "-M"]),
        (Mkfs::Btrfs, &[]),
    ];
    for (program, options) in USEFUL {
        assert_eq!(mkfs(*program, &list(options)), Ok(()), "{options:?}");
    }
}

#[test]
fn mounts_that_reach_farther_are_refused() {
    for what in [Mounted::Ext, Mounted::Xfs, Mounted::Btrfs, Mounted::Nfs] {
        for option in [
            "ro",
            "bind",
            "rbind",
            "move",
            "remount",
            "loop",
            "loop=/dev/loop0",
            "offset=512",
            "suid",
            "dev",
            "user",
            "owner",
            "x-mount.mkdir",
            "X-mount.subdir=a",
            "x-systemd.automount",
            "helper=evil",
            "context=a",
            "journal_dev=1",
            "logdev=a",
            "rtdev=a",
            "device=sdb",
            "subvol=a",
            "journal_path=a",
            "noatime=1",
            "commit=x",
            "errors=panic",
            "shared",
            "rslave",
            "uid=0",
            "",
            "noatime,bind",
            "noatime\n",
            "source=a",
            "tracefs",
        ] {
            let refusal = mount(what, &list(&["noatime", option])).expect_err(option);
            assert!(refusal.at == 1 && refusal.message.contains("refused"), "{option}: {refusal}");
            assert!(!refusal.allowed.is_empty() && !refusal.help.is_empty(), "{option}: {refusal}");
        }
    }
}

#[test]
fn useful_mounts_pass() {
    const USEFUL: &[(Mounted, &[&str])] = &[
        (
            Mounted::Ext,
            &["noatime", "data=writeback", "commit=30", "nobarrier", "barrier=0", "init_itable=0"],
        ),
        (Mounted::Ext, &["nodelalloc", "stripe=16", "discard", "lazytime", "inode_readahead_blks=32"]),
        (Mounted::Xfs, &["allocsize=64m", "logbsize=256k", "logbufs=8", "inode64", "largeio", "nodiscard"]),
        (
            Mounted::Btrfs,
            &["thread_pool=1", "discard=async", "space_cache=v2", "nodatacow", "ssd", "commit=5"],
        ),
        (Mounted::Nfs, &["nconnect=4", "noac", "nordirplus", "actimeo=1", "hard", "proto=tcp", "sec=sys"]),
    ];
    for (what, options) in USEFUL {
        assert_eq!(mount(*what, &list(options)), Ok(()), "{options:?}");
    }
}
