//! File systems with a damaged first superblock and intact copies: refused before a byte is written.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{Check, Refusal};
use support::{Bench, MIB, run, start, write_at};

/// Makes a file system, overwrites the first `head` bytes, and runs the guard: the refusal names the copy with its offset.
fn damaged(bench: &Bench, mkfs: &[&str], head: u64, noise: u8, words: &[&str]) -> Refusal {
    let mut args = mkfs[1..].to_vec();
    args.push(bench.path());
    run(mkfs[0], &args);
    write_at(bench.disk.path(), 0, &vec![noise; usize::try_from(head).unwrap()]);
    refused(bench, words)
}

/// Only the signature check fails, with these words. Other tests check that nothing is written: checksums of so many disks take
/// long.
fn refused(bench: &Bench, words: &[&str]) -> Refusal {
    let refusal = bench.ask().map(drop).unwrap_err();
    assert!(refusal.dissent.iter().all(|d| d.witness == Check::Signature), "nobody else can know: {refusal}");
    for word in words {
        assert!(refusal.to_string().contains(word), "{word} isn't said: {refusal}");
    }
    refusal
}

const EXT4_1K: [&str; 6] = ["mkfs.ext4", "-q", "-F", "-b", "1024", "-Elazy_itable_init=0"];
const EXT4_4K: [&str; 6] = ["mkfs.ext4", "-q", "-F", "-b", "4096", "-Elazy_itable_init=0"];
const XFS: [&str; 3] = ["mkfs.xfs", "-q", "-f"];

#[test]
fn loop_ext4_with_a_damaged_superblock_is_refused_by_its_copies() {
    let Some(bench) = start(300) else { return };
    // 8193 and 24577 blocks of 1 KiB; 32768 blocks of 4 KiB.
    let text = damaged(&bench, &EXT4_1K, 4096, 0, &["copy", "at byte 8389632", "25166848"]).to_string();
    assert!(text.contains("e2fsck -b"), "it can be saved: {text}");
    damaged(&bench, &EXT4_1K, 4096, 0x5A, &["at byte 8389632"]);
    run("blkdiscard", &["--zeroout", bench.path()]);
    damaged(&bench, &EXT4_4K, MIB, 0, &["copy", "at byte 134217728"]);
    run("blkdiscard", &["--zeroout", bench.path()]);
    drop(bench.accepted());
    // The search itself wrote nothing.
    write_at(bench.disk.path(), 8193 << 10, &superblock_with_magic());
    bench.refused(Check::Signature, &["ext2/3/4 (copy) at byte 8389632"]);
}

/// The least content that counts as an ext superblock.
fn superblock_with_magic() -> [u8; 1024] {
    let mut block = [0; 1024];
    (block[4], block[32], block[40]) = (1, 1, 1);
    (block[56], block[57]) = (0x53, 0xEF);
    block
}

#[test]
fn loop_ext4_of_which_only_a_late_group_is_left_is_refused() {
    let Some(bench) = start(1100) else { return };
    // Everything before group 81, of 8 MiB each, is gone.
    run(EXT4_1K[0], &[&EXT4_1K[1..], &[bench.path()]].concat());
    run("blkdiscard", &["--zeroout", "--length", &(80 * 8 * MIB).to_string(), bench.path()]);
    refused(&bench, &["ext2/3/4", &format!("at byte {}", 81 * 8 * MIB + 1024)]);
}

#[test]
fn loop_ext_of_every_block_size_and_with_large_clusters_is_refused() {
    let Some(bench) = start(300) else { return };
    let cases: [(&[&str], u64); 5] = [
        (&["-b", "2048"], 32 * MIB),
        (&["-b", "4096", "-O", "bigalloc", "-C", "8192"], 256 * MIB),
        (&["-b", "4096", "-O", "^resize_inode,sparse_super2"], 128 * MIB),
        (&["-b", "4096", "-O", "meta_bg,^resize_inode"], 128 * MIB),
        (&["-b", "1024", "-t", "ext2"], 8 * MIB + 1024),
    ];
    for (options, first) in cases {
        let all = [&["mkfs.ext4", "-q", "-F"], options].concat();
        damaged(&bench, &all, MIB, 0, &["ext2/3/4", &format!("at byte {first}")]);
        run("blkdiscard", &["--zeroout", bench.path()]);
    }
}

#[test]
fn loop_xfs_with_a_damaged_superblock_is_refused_by_its_allocation_groups() {
    let Some(bench) = start(1100) else { return };
    let text = damaged(&bench, &XFS, MIB, 0, &["xfs", "copy", &format!("at byte {}", 275 * MIB)]).to_string();
    assert!(text.contains("xfs_repair"), "it can be saved: {text}");
    for (options, head) in [
        (&["-d", "agcount=2"][..], 512),
        (&["-d", "agcount=7"][..], MIB),
        (&["-d", "agcount=8,su=64k,sw=4"][..], MIB),
        (&["-d", "agsize=128m"][..], MIB),
        (&["-m", "crc=0"][..], MIB),
        (&["-b", "size=1024"][..], MIB),
        (&["-s", "size=4096"][..], MIB),
    ] {
        run("blkdiscard", &["--zeroout", bench.path()]);
        let all = [&XFS, options].concat();
        damaged(&bench, &all, head, 0x5A, &["xfs", "copy"]);
    }
}

#[test]
fn loop_xfs_of_which_the_first_half_is_gone_is_refused() {
    let Some(bench) = start(320) else { return };
    run(XFS[0], &[&XFS[1..], &[bench.path()]].concat());
    run("blkdiscard", &["--zeroout", "--length", &(150 * MIB).to_string(), bench.path()]);
    refused(&bench, &["xfs", &format!("at byte {}", 160 * MIB)]);
}

/// The owner removes only what wipefs removes: the rest of the first superblock still equals the copies.
#[test]
fn loop_wiped_by_hand_is_accepted_though_copies_are_left() {
    let Some(bench) = start(320) else { return };
    for mkfs in [&EXT4_1K[..], &EXT4_4K[..], &XFS[..]] {
        run(mkfs[0], &[&mkfs[1..], &[bench.path()]].concat());
        run("wipefs", &["-q", "-a", bench.path()]);
        drop(bench.accepted());
        // The rest of the first superblock goes too: now nothing shows that it was removed on purpose.
        write_at(bench.disk.path(), 0, &[0; 4096]);
        refused(&bench, &["copy"]);
        run("blkdiscard", &["--zeroout", bench.path()]);
    }
}

/// The command in the refusal really helps.
#[test]
fn loop_copies_go_by_the_command_that_the_refusal_names() {
    let Some(bench) = start(320) else { return };
    for mkfs in [&EXT4_1K[..], &XFS[..]] {
        let refusal = damaged(&bench, mkfs, MIB, 0, &["copy", "zero each place"]);
        let text = refusal.to_string();
        let places = text
            .split("at byte ")
            .nth(1)
            .unwrap()
            .split(|c: char| !c.is_ascii_digit() && c != ',' && c != ' ');
        for place in places.flat_map(|list| list.split(", ")).take_while(|place| !place.trim().is_empty()) {
            let seek = format!("seek={}", place.trim().parse::<u64>().unwrap());
            let of = format!("of={}", bench.path());
            run(
                "dd",
                &[
                    "if=/dev/zero",
                    &of,
                    "bs=1024",
                    "count=1",
                    "oflag=seek_bytes",
                    "conv=notrunc,fsync",
                    "status=none",
                    &seek,
                ],
            );
        }
        let left = bench.ask();
        assert!(left.is_ok(), "{mkfs:?}: {}", left.unwrap_err());
    }
}

#[test]
fn loop_second_copies_at_fixed_places_are_refused() {
    let Some(bench) = start(64) else { return };
    let last = 64 * MIB;
    let places: [(u64, &[u8], &str); 6] = [
        (4096 + 1024, &[0x10, 0x20, 0xF5, 0xF2], "f2fs"),
        (16384 + 1024, &[0x10, 0x20, 0xF5, 0xF2], "f2fs"),
        (last - 512 + 3, b"NTFS    ", "ntfs"),
        (last - 1024, b"H+\0\x04", "hfs+"),
        (0xF000, b"JFS1", "jfs"),
        (6 * 512 + 82, b"FAT32", "fat32"),
    ];
    for (offset, magic, name) in places {
        write_at(bench.disk.path(), offset, magic);
        refused(&bench, &[name, "copy", &format!("at byte {offset}")]);
        write_at(bench.disk.path(), offset, &vec![0; magic.len()]);
    }
    drop(bench.accepted());
}
