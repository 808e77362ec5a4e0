//! Disks with contents: refused before a byte is written, whatever the signature.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::{Check, Refusal, disk};
use host::{CommandFailure, Invocation, LocalRunner, Output, Runner, Tool};
use support::{Bench, MIB, NAME, mkfs, run, start, write_at};

/// Both must find it: libblkid and our own search.
fn refused_by_both(bench: &Bench, blkid: &str, own: &str) {
    let refusal = bench.refused(Check::Signature, &["blkid found", "found the mark of", "wipefs -a"]);
    let says = |start: &str, what: &str| {
        refusal
            .dissent
            .iter()
            .any(|d| d.witness == Check::Signature && d.saw.starts_with(start) && d.saw.contains(what))
    };
    assert!(says("blkid found", blkid), "blkid doesn't say {blkid}:\n{refusal}");
    assert!(says("found the mark of", own), "our own look doesn't say {own}:\n{refusal}");
}

/// Only our own search finds it: libblkid doesn't know it or doesn't read there.
fn refused_by_own_look(bench: &Bench, own: &str) -> Refusal {
    bench.refused(Check::Signature, &["found the mark of", own, "by hand"])
}

#[test]
fn loop_ext4_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    refused_by_both(&bench, "ext4", "ext2/3/4");
}

#[test]
fn loop_ext3_is_refused() {
    let Some(bench) = start(16) else { return };
    mkfs("ext3", bench.disk.path());
    refused_by_both(&bench, "ext3", "ext2/3/4");
}

#[test]
fn loop_xfs_is_refused() {
    let Some(bench) = start(320) else { return };
    mkfs("xfs", bench.disk.path());
    refused_by_both(&bench, "xfs", "xfs");
}

#[test]
fn loop_btrfs_is_refused() {
    let Some(bench) = start(128) else { return };
    mkfs("btrfs", bench.disk.path());
    refused_by_both(&bench, "btrfs", "btrfs");
    // Only the second copy is left: a disk with a wiped first megabyte isn't empty.
    write_at(bench.disk.path(), 0, &vec![0; 1 << 20]);
    let refusal = refused_by_own_look(&bench, "btrfs (second copy)");
    assert!(
        refusal.to_string().contains("wipefs doesn't see it")
            && refusal.to_string().contains("blkdiscard --zeroout")
    );
    run("btrfs", &["device", "scan", "--forget"]);
}

#[test]
fn loop_inactive_swap_is_refused() {
    let Some(bench) = start(16) else { return };
    run("mkswap", &[bench.path()]);
    refused_by_both(&bench, "swap", "swap");
}

#[test]
fn loop_lvm_physical_volume_is_refused() {
    let Some(bench) = start(16) else { return };
    let config = "devices { scan=[\"/dev\"] filter=[\"a|.*|\"] use_devicesfile=0 }";
    run("pvcreate", &["-q", "-ff", "-y", "--config", config, bench.path()]);
    refused_by_both(&bench, "LVM2_member", "LVM physical volume");
    // The remedy in the refusal works.
    run("wipefs", &["-a", bench.path()]);
    drop(bench.accepted());
}

/// An md superblock of version 1 (md(4), `struct mdp_superblock_1`), with the right checksum.
fn md1(sectors: u64, super_sector: u64) -> Vec<u8> {
    let mut block = vec![0_u8; 256];
    let put =
        |block: &mut Vec<u8>, at: usize, bytes: &[u8]| block[at..at + bytes.len()].copy_from_slice(bytes);
    put(&mut block, 0, &0xA92B_4EFC_u32.to_le_bytes());
    put(&mut block, 4, &1_u32.to_le_bytes());
    put(&mut block, 16, &[0x42; 16]);
    put(&mut block, 32, b"host:precious");
    put(&mut block, 72, &1_u32.to_le_bytes());
    put(&mut block, 80, &(sectors - 2048).to_le_bytes());
    put(&mut block, 92, &1_u32.to_le_bytes());
    put(&mut block, 128, &2048_u64.to_le_bytes());
    put(&mut block, 136, &(sectors - 2048).to_le_bytes());
    put(&mut block, 144, &super_sector.to_le_bytes());
    let words = block.chunks_exact(4).map(|w| u64::from(u32::from_le_bytes(w.try_into().unwrap())));
    let sum: u64 = words.sum();
    let folded = (sum & 0xFFFF_FFFF) + (sum >> 32);
    let checksum = u32::try_from(folded & 0xFFFF_FFFF).unwrap();
    put(&mut block, 216, &checksum.to_le_bytes());
    block
}

#[test]
fn loop_md_1_2_member_is_refused() {
    let Some(bench) = start(16) else { return };
    write_at(bench.disk.path(), 4096, &md1(16 * 2048, 8));
    refused_by_both(&bench, "linux_raid_member", "md member (1.2)");
}

#[test]
fn loop_md_1_0_member_is_refused() {
    let Some(bench) = start(16) else { return };
    let sector = (16 * 2048 - 16) & !7;
    write_at(bench.disk.path(), sector * 512, &md1(16 * 2048, sector));
    refused_by_both(&bench, "linux_raid_member", "md member (1.0)");
}

#[test]
fn loop_md_0_90_member_is_refused() {
    let Some(bench) = start(16) else { return };
    // The superblock is the last whole 64 KiB; magic, then version 0.90 (linux/raid/md_p.h).
    let words = [0xA92B_4EFC_u32, 0, 90, 0, 0, 0x1234_5678, 0, 1];
    let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    write_at(bench.disk.path(), 16 * MIB - (64 << 10), &bytes);
    refused_by_both(&bench, "linux_raid_member", "md member (0.90)");
}

/// Uberblocks in all four labels (ZFS On-Disk Specification, 1.3).
fn write_zfs(bench: &Bench, labels: &[u64]) {
    for label in labels {
        for slot in 0..8 {
            let words = [0x00BA_B10C_u64, 5000, 100 + slot, 1, 1_700_000_000];
            let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
            write_at(bench.disk.path(), label + (128 << 10) + slot * 1024, &bytes);
        }
    }
}

#[test]
fn loop_zfs_member_is_refused() {
    let Some(bench) = start(64) else { return };
    write_zfs(&bench, &[0, 256 << 10, 64 * MIB - (512 << 10), 64 * MIB - (256 << 10)]);
    refused_by_both(&bench, "zfs_member", "zfs");
}

#[test]
fn loop_zfs_label_at_the_end_alone_is_refused() {
    let Some(bench) = start(64) else { return };
    write_zfs(&bench, &[64 * MIB - (256 << 10)]);
    refused_by_own_look(&bench, "zfs");
}

#[test]
fn loop_luks1_header_is_refused() {
    let Some(bench) = start(16) else { return };
    let mut header = vec![0_u8; 592];
    header[..8].copy_from_slice(b"LUKS\xba\xbe\0\x01");
    header[8..11].copy_from_slice(b"aes");
    header[168..204].copy_from_slice(b"12345678-1234-1234-1234-123456789abc");
    write_at(bench.disk.path(), 0, &header);
    refused_by_both(&bench, "crypto_LUKS", "LUKS");
}

fn luks2(magic: &[u8; 6], offset: u64) -> Vec<u8> {
    let mut header = vec![0_u8; 4096];
    header[..6].copy_from_slice(magic);
    header[6..8].copy_from_slice(&2_u16.to_be_bytes());
    header[8..16].copy_from_slice(&0x4000_u64.to_be_bytes());
    header[168..204].copy_from_slice(b"12345678-1234-1234-1234-123456789abc");
    header[256..264].copy_from_slice(&offset.to_be_bytes());
    header
}

#[test]
fn loop_luks2_header_is_refused() {
    let Some(bench) = start(16) else { return };
    write_at(bench.disk.path(), 0, &luks2(b"LUKS\xba\xbe", 0));
    refused_by_both(&bench, "crypto_LUKS", "LUKS");
}

#[test]
fn loop_luks2_second_header_alone_is_refused() {
    let Some(bench) = start(16) else { return };
    write_at(bench.disk.path(), 0x4000, &luks2(b"SKUL\xba\xbe", 0x4000));
    refused_by_own_look(&bench, "LUKS2 (second header)");
}

#[test]
fn loop_mbr_is_refused() {
    let Some(bench) = start(16) else { return };
    let mut sector = vec![0_u8; 512];
    sector[446 + 4] = 0x83;
    sector[446 + 8..446 + 12].copy_from_slice(&2048_u32.to_le_bytes());
    sector[446 + 12..446 + 16].copy_from_slice(&8192_u32.to_le_bytes());
    sector[510..].copy_from_slice(&[0x55, 0xAA]);
    write_at(bench.disk.path(), 0, &sector);
    refused_by_both(&bench, "a partition table (dos)", "MBR");
}

/// CRC-32 (IEEE 802.3), bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ 0xEDB8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, b| (0..8).fold(crc ^ u32::from(*b), |c, _| step(c)))
}

/// A GPT header for an empty table (UEFI 2.10, 5.3.2).
fn gpt(own: u64, other: u64, table: u64, sectors: u64) -> Vec<u8> {
    let mut header = vec![0_u8; 92];
    let mut put = |at: usize, bytes: &[u8]| header[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, b"EFI PART");
    put(8, &0x0001_0000_u32.to_le_bytes());
    put(12, &92_u32.to_le_bytes());
    put(24, &own.to_le_bytes());
    put(32, &other.to_le_bytes());
    put(40, &34_u64.to_le_bytes());
    put(48, &(sectors - 34).to_le_bytes());
    put(56, &[0x11; 16]);
    put(72, &table.to_le_bytes());
    put(80, &128_u32.to_le_bytes());
    put(84, &128_u32.to_le_bytes());
    put(88, &crc32(&vec![0; 128 * 128]).to_le_bytes());
    let sum = crc32(&header);
    header[16..20].copy_from_slice(&sum.to_le_bytes());
    header.resize(512, 0);
    header
}

#[test]
fn loop_gpt_is_refused() {
    let Some(bench) = start(16) else { return };
    let sectors = 16 * 2048;
    let mut protective = vec![0_u8; 512];
    protective[446 + 4] = 0xEE;
    protective[446 + 8..446 + 12].copy_from_slice(&1_u32.to_le_bytes());
    protective[446 + 12..446 + 16].copy_from_slice(&u32::try_from(sectors - 1).unwrap().to_le_bytes());
    protective[510..].copy_from_slice(&[0x55, 0xAA]);
    write_at(bench.disk.path(), 0, &protective);
    write_at(bench.disk.path(), 512, &gpt(1, sectors - 1, 2, sectors));
    write_at(bench.disk.path(), (sectors - 1) * 512, &gpt(sectors - 1, 1, sectors - 33, sectors));
    refused_by_both(&bench, "a partition table (gpt)", "GPT");
}

#[test]
fn loop_backup_gpt_alone_is_refused() {
    let Some(bench) = start(16) else { return };
    let sectors = 16 * 2048;
    write_at(bench.disk.path(), (sectors - 1) * 512, &gpt(sectors - 1, 1, sectors - 33, sectors));
    refused_by_own_look(&bench, "GPT (second copy)");
}

#[test]
fn loop_contradicting_signatures_are_refused() {
    let Some(bench) = start(320) else { return };
    mkfs("xfs", bench.disk.path());
    // An md superblock of version 1.0 at the end beside a file system at the start.
    let sector = (320 * 2048 - 16) & !7;
    write_at(bench.disk.path(), sector * 512, &md1(320 * 2048, sector));
    write_at(bench.disk.path(), 4096 - 10, b"SWAPSPACE2");
    let refusal = bench.refused(Check::Signature, &["blkid found", "found the mark of"]);
    for what in ["xfs", "swap", "md member (1.0)"] {
        assert!(refusal.to_string().contains(what), "{what} is not named:\n{refusal}");
    }
}

/// A fake blkid with the given result; all other programs are real.
struct Blkid(fn(&Invocation) -> Result<Output, CommandFailure>);

impl Runner for Blkid {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        assert_eq!(cmd.program, host::Program::Tool(Tool::Blkid), "the guard runs nothing else");
        (self.0)(cmd)
    }
}

fn refused_with(bench: &Bench, blkid: &Blkid, words: &[&str]) -> Refusal {
    let ask = || disk(&bench.roots(), blkid, &bench.book, NAME, 0).map(drop).unwrap_err();
    bench.unchanged(ask, Check::Signature, words)
}

#[test]
fn loop_missing_blkid_is_refused() {
    let Some(bench) = start(16) else { return };
    let missing = Blkid(|_| {
        Err(CommandFailure::NotFound {
            program: "blkid".into(),
            package: Some("util-linux"),
            looked_in: vec![],
        })
    });
    let refusal = refused_with(&bench, &missing, &["blkid was not found", "apt-get install util-linux"]);
    assert!(
        refusal.dissent.iter().all(|d| !d.heard),
        "an empty disk; only blkid couldn't be asked: {refusal}"
    );
}

#[test]
fn loop_blkid_that_sees_nothing_is_not_believed_alone() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    let blind = Blkid(|cmd| Ok(Output { status: 2, argv: cmd.argv(), ..Output::default() }));
    refused_with(&bench, &blind, &["found the mark of", "ext2/3/4"]);
}

#[test]
fn loop_ambivalent_probe_is_refused() {
    let Some(bench) = start(16) else { return };
    let ambivalent = Blkid(|cmd| Ok(Output { status: 8, argv: cmd.argv(), ..Output::default() }));
    refused_with(&bench, &ambivalent, &["several kinds", "contradict"]);
}

#[test]
fn loop_blkid_that_fails_is_refused() {
    let Some(bench) = start(16) else { return };
    let failing = Blkid(|cmd| {
        Err(CommandFailure::Failed {
            argv: cmd.argv(),
            status: -11,
            stdout: String::new(),
            stderr: String::new(),
        })
    });
    refused_with(&bench, &failing, &["signal 11"]);
}

#[test]
fn loop_wiped_disk_is_accepted_again() {
    let Some(bench) = start(16) else { return };
    mkfs("ext4", bench.disk.path());
    bench.refused(Check::Signature, &["ext4"]);
    LocalRunner.run(&Invocation::new(Tool::Wipefs).arg("-a").arg(bench.disk.path())).unwrap();
    drop(bench.accepted());
}
