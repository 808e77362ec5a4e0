use crate::check::mark::Mark;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

const SIZE: u64 = 1 << 20;
const BYTES: usize = 1 << 20;

fn noise(seed: u64) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(BYTES).collect()
}

/// The names of the signatures that are found.
fn look(disk: &File, size: u64) -> std::io::Result<Vec<&'static str>> {
    Ok(super::look(disk, size, true)?.iter().map(|Mark { name, .. }| *name).collect())
}

fn disk(bytes: &[u8]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.write_all_at(bytes, 0).unwrap();
    file
}

#[test]
fn noise_does_not_look_signed_even_with_short_magics_in_it() {
    for seed in 1..6 {
        let mut bytes = noise(seed);
        bytes[510..512].copy_from_slice(&[0x55, 0xAA]);
        bytes[1024 + 56..1024 + 58].copy_from_slice(&[0x53, 0xEF]);
        bytes[1024 + 6..1024 + 8].copy_from_slice(&[0x34, 0x34]);
        assert_eq!(look(&disk(&bytes), SIZE).unwrap(), Vec::<&str>::new(), "seed {seed}");
    }
}

#[test]
fn a_signature_is_found_in_noise() {
    let places: [(u64, &[u8], &str); 6] = [
        (0, b"XFSB", "xfs"),
        (0x1_0040, b"_BHRfS_M", "btrfs"),
        (4096 - 10, b"SWAPSPACE2", "swap"),
        (SIZE - 512, b"EFI PART", "GPT (second copy)"),
        (SIZE - 0x1_0000, &[0xFC, 0x4E, 0x2B, 0xA9], "md member (0.90)"),
        (SIZE - 0x4_0000 + 0x2_0000 + 5 * 1024, &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0], "zfs"),
    ];
    for (offset, magic, name) in places {
        let disk = disk(&noise(7));
        disk.write_all_at(magic, offset).unwrap();
        assert_eq!(look(&disk, SIZE).unwrap(), [name]);
    }
}

#[test]
fn an_empty_partition_table_is_one() {
    let disk = disk(&vec![0; BYTES]);
    assert!(look(&disk, SIZE).unwrap().is_empty());
    disk.write_all_at(&[0x55, 0xAA], 510).unwrap();
    assert_eq!(look(&disk, SIZE).unwrap(), ["MBR or boot sector"]);
}

#[test]
fn a_boot_sector_in_noise_is_one() {
    let disk = disk(&noise(3));
    disk.write_all_at(&[0xEB, 0x3C, 0x90], 0).unwrap();
    disk.write_all_at(&[0x55, 0xAA], 510).unwrap();
    assert_eq!(look(&disk, SIZE).unwrap(), ["MBR or boot sector"]);
}

#[test]
fn a_disk_that_cannot_be_read_is_an_error_and_a_tiny_one_is_none() {
    let short = disk(&[0; 4096]);
    assert!(look(&short, SIZE).is_err(), "shorter than it says");
    assert!(look(&short, 4096).unwrap().is_empty());
    assert!(look(&disk(&[]), 0).unwrap().is_empty());
}
