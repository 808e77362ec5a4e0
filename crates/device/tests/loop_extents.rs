//! The extents that real file systems report.
#![allow(clippy::unwrap_used, reason = "a test that can't set up its scene fails")]

mod support;

use diskproof_device::extents::{drop_file_cache, of_file, residency};
use record::extents::FileExtents;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use support::{MIB, Mounted, mkfs, run};
use testkit::{LoopDevice, exclusive, fresh_dir, is_root};

/// Runs a test in a directory on a fresh file system.
fn on(kind: &str, options: &str, body: fn(&Path)) {
    if !is_root() {
        println!("skipped: needs root and loop devices");
        return;
    }
    let _exclusive = exclusive();
    let disk = LoopDevice::new(384 * MIB, "extents");
    mkfs(kind, disk.path());
    let target = fresh_dir("extents").join("mnt");
    let mount = Mounted::new(&["-o", options, disk.path().to_str().unwrap()], &target);
    body(mount.path());
}

fn noise(bytes: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    };
    std::iter::repeat_with(&mut next).flatten().take(bytes).collect()
}

/// A file of 8 MiB with data written at an offset, synced.
fn file(dir: &Path, name: &str, offset: u64, data: &[u8]) -> PathBuf {
    let path = dir.join(name);
    let file = File::create(&path).unwrap();
    file.set_len(8 * MIB).unwrap();
    file.write_all_at(data, offset).unwrap();
    file.sync_all().unwrap();
    path
}

fn classes(found: &FileExtents) -> [u64; 6] {
    [
        found.written_bytes,
        found.unwritten_bytes,
        found.hole_bytes,
        found.encoded_bytes,
        found.inline_bytes,
        found.delalloc_bytes,
    ]
}

/// The expectations on every file system that neither compresses nor inlines such files.
fn plain_files(dir: &Path) {
    let data = noise(8 << 20);
    let written = of_file(&file(dir, "written", 0, &data)).unwrap();
    assert_eq!(classes(&written), [8 * MIB, 0, 0, 0, 0, 0], "{written:?}");
    assert!(written.extents >= 1);
    let hole = of_file(&file(dir, "hole", 0, &[])).unwrap();
    assert_eq!(classes(&hole), [0, 0, 8 * MIB, 0, 0, 0], "{hole:?}");
    assert_eq!(hole.extents, 0);
    let half = of_file(&file(dir, "half", 4 * MIB, &data[..4 << 20])).unwrap();
    assert_eq!(classes(&half), [4 * MIB, 0, 4 * MIB, 0, 0, 0], "{half:?}");
    let reserved = dir.join("reserved");
    run("fallocate", &["-l", "8M", reserved.to_str().unwrap()]);
    let found = of_file(&reserved).unwrap();
    assert_eq!(classes(&found), [0, 8 * MIB, 0, 0, 0, 0], "{found:?}");
    File::options().write(true).open(&reserved).unwrap().write_all_at(&data[..1 << 20], 2 * MIB).unwrap();
    run("sync", &[]);
    let found = of_file(&reserved).unwrap();
    assert_eq!(classes(&found), [MIB, 7 * MIB, 0, 0, 0, 0], "{found:?}");
    // Preallocated beyond the end: not part of the file.
    run("fallocate", &["-n", "-o", "8M", "-l", "4M", reserved.to_str().unwrap()]);
    let found = of_file(&reserved).unwrap();
    assert_eq!((found.size_bytes, classes(&found).iter().sum()), (8 * MIB, 8 * MIB), "{found:?}");
    cached(&dir.join("written"));
}

fn cached(path: &Path) {
    // A kernel that reclaims cold pages (DAMON) may do so between the read and the check.
    let read = |_| {
        std::fs::read(path).unwrap();
        residency(path).unwrap()
    };
    let warm: Vec<_> = (0..10).map(read).collect();
    assert!(warm.iter().all(|seen| seen.size_bytes == 8 * MIB && seen.cached_bytes > 4 * MIB), "{warm:?}");
    assert!(warm.iter().any(|seen| seen.cached_bytes == 8 * MIB), "{warm:?}");
    File::options().write(true).open(path).unwrap().write_all_at(&[1; 4096], 0).unwrap();
    if let Some(dirty) = residency(path).unwrap().dirty_bytes {
        assert!((4096..8 * MIB).contains(&dirty), "{dirty} bytes dirty after writing 4096");
    }
    drop_file_cache(path).unwrap();
    let cold = residency(path).unwrap();
    assert_eq!((cold.cached_bytes, cold.dirty_bytes.unwrap_or(0)), (0, 0));
}

#[test]
fn loop_ext4_tells_written_from_reserved_and_hole() {
    on("ext4", "defaults", |dir| {
        plain_files(dir);
        assert_eq!(of_file(&dir.join("written")).unwrap().disk_bytes, None, "ext4 doesn't tell");
    });
}

#[test]
fn loop_xfs_tells_written_from_reserved_and_hole() {
    on("xfs", "defaults", |dir| {
        plain_files(dir);
        assert_eq!(of_file(&dir.join("written")).unwrap().disk_bytes, None, "xfs doesn't tell");
    });
}

#[test]
fn loop_btrfs_tells_what_data_takes_on_the_device() {
    on("btrfs", "defaults", |dir| {
        plain_files(dir);
        let disk_bytes = |name: &str| of_file(&dir.join(name)).unwrap().disk_bytes;
        assert_eq!(disk_bytes("written"), Some(8 * MIB));
        assert_eq!(disk_bytes("half"), Some(4 * MIB));
        assert_eq!(disk_bytes("hole"), Some(0));
        assert_eq!(disk_bytes("reserved"), Some(MIB), "reserved, unwritten space holds no data");
    });
}

#[test]
fn loop_btrfs_tells_compressed_from_plain() {
    on("btrfs", "compress=zstd:3", |dir| {
        let data = b"compressible ".repeat(700_000);
        let zeros = file(dir, "text", 0, &data[..8 << 20]);
        let found = of_file(&zeros).unwrap();
        assert_eq!(classes(&found), [0, 0, 0, 8 * MIB, 0, 0], "{found:?}");
        let taken = found.disk_bytes.unwrap();
        assert!(taken > 0 && taken < MIB, "8 MiB of one word take {taken} bytes");
        let noise_bytes = noise(4 << 20);
        let noise = of_file(&file(dir, "noise", 0, &noise(8 << 20))).unwrap();
        assert_eq!(
            (noise.written_bytes, noise.encoded_bytes),
            (8 * MIB, 0),
            "noise isn't compressed: {noise:?}"
        );
        assert_eq!(noise.disk_bytes, Some(8 * MIB));
        // Half of an extent is overwritten: the rest counts in proportion.
        let file = File::options().write(true).open(&zeros).unwrap();
        file.write_all_at(&noise_bytes, 0).unwrap();
        file.sync_all().unwrap();
        let mixed = of_file(&zeros).unwrap();
        assert_eq!(mixed.written_bytes + mixed.encoded_bytes, 8 * MIB, "{mixed:?}");
        assert!(mixed.disk_bytes.unwrap() < 4 * MIB + MIB, "{mixed:?}");
        let small = dir.join("small");
        std::fs::write(&small, "inline").unwrap();
        File::open(&small).unwrap().sync_all().unwrap();
        let found = of_file(&small).unwrap();
        assert_eq!((found.inline_bytes, found.size_bytes), (6, 6), "{found:?}");
    });
}

#[test]
fn loop_many_extents_are_all_counted() {
    on("ext4", "defaults", |dir| {
        let path = dir.join("many");
        let file = File::create(&path).unwrap();
        // Every other block: more extents than fit into one call.
        for block in 0..700_u64 {
            file.write_all_at(&[7; 4096], block * 8192).unwrap();
        }
        file.sync_all().unwrap();
        let found = of_file(&path).unwrap();
        assert_eq!(found.extents, 700);
        assert_eq!((found.written_bytes, found.hole_bytes), (700 * 4096, 699 * 4096));
    });
}
