//! A corpus as one file: created once, stored, and mapped into memory to copy or compare it.
//!
//! Header (64 bytes, little endian): magic (16), CRC-32C of the table (4), CRC-32C of the content (4), entries (8), bytes of the
//! table (8), bytes of the content (8), padding. Then the table, then the content. An entry of the table: kind (1: file, 2:
//! directory, 3: link), three zeros, mode, uid, gid, mtime's nanoseconds, length of the path, length of the link's target (u32
//! each), mtime's seconds (i64), offset, bytes (u64 each), path, target.

use super::tree::{Entry, Kind, Meta, Tree};
use record::printable::Shown as _;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, BufWriter, Read as _, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 16] = b"diskproof-corpus";
const HEAD_BYTES: usize = 64;
const FIXED_BYTES: usize = 56;

/// Writes a corpus: first its table, then the content that `fill` appends for each entry.
pub(crate) fn write(
    path: &Path,
    entries: &[Entry],
    mut fill: impl FnMut(usize, &mut Vec<u8>) -> io::Result<()>,
) -> io::Result<()> {
    let table = table(entries)?;
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    file.write_all(&[0; HEAD_BYTES])?;
    file.write_all(&table)?;
    let (mut crc, mut written, mut buffer) = (0, 0_u64, Vec::new());
    for (number, entry) in entries.iter().enumerate() {
        let Kind::File { bytes, .. } = entry.kind else { continue };
        buffer.clear();
        fill(number, &mut buffer)?;
        if buffer.len() as u64 != bytes {
            return Err(io::Error::other(format!(
                "{} has {} bytes instead of {bytes}",
                entry.path.shown(),
                buffer.len()
            )));
        }
        crc = crc32c::crc32c_append(crc, &buffer);
        file.write_all(&buffer)?;
        written += bytes;
    }
    let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    let mut head = Vec::with_capacity(HEAD_BYTES);
    head.extend_from_slice(MAGIC);
    head.extend_from_slice(&crc32c::crc32c(&table).to_le_bytes());
    head.extend_from_slice(&crc.to_le_bytes());
    for word in [entries.len() as u64, table.len() as u64, written] {
        head.extend_from_slice(&word.to_le_bytes());
    }
    std::os::unix::fs::FileExt::write_all_at(&file, &head, 0)?;
    file.sync_all()
}

fn table(entries: &[Entry]) -> io::Result<Vec<u8>> {
    let mut out = Vec::with_capacity(entries.len() * 128);
    for entry in entries {
        let (kind, offset, bytes, target) = match &entry.kind {
            Kind::File { offset, bytes } => (1_u8, *offset, *bytes, Path::new("")),
            Kind::Directory => (2, 0, 0, Path::new("")),
            Kind::Link(target) => (3, 0, 0, target.as_path()),
        };
        let (path, target) = (entry.path.as_os_str().as_bytes(), target.as_os_str().as_bytes());
        let length = |text: &[u8]| u32::try_from(text.len()).map_err(io::Error::other);
        let meta = &entry.meta;
        out.extend_from_slice(&[kind, 0, 0, 0]);
        for word in [meta.mode, meta.uid, meta.gid, meta.mtime_ns, length(path)?, length(target)?] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&meta.mtime_seconds.to_le_bytes());
        out.extend_from_slice(&offset.to_le_bytes());
        out.extend_from_slice(&bytes.to_le_bytes());
        out.extend_from_slice(path);
        out.extend_from_slice(target);
    }
    Ok(out)
}

/// Maps a whole corpus into memory. Checks every byte: its own damage must not look like a fault of a copy.
pub(crate) fn open(path: &Path) -> io::Result<Tree> {
    let wrong = |what: &str| {
        io::Error::new(io::ErrorKind::InvalidData, format!("{} is not a valid corpus: {what}", path.shown()))
    };
    let mut file = host::open_regular(path, host::StateAccess::Read)?;
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head)?;
    if head[..16] != *MAGIC {
        return Err(wrong("it doesn't begin as a corpus does"));
    }
    let word = |at: usize| head[at..at + 8].try_into().map(u64::from_le_bytes).unwrap_or(0);
    let crc = |at: usize| head[at..at + 4].try_into().map(u32::from_le_bytes).unwrap_or(0);
    let (count, table_bytes, content_bytes) = (word(24), word(32), word(40));
    let all = (HEAD_BYTES as u64).saturating_add(table_bytes).saturating_add(content_bytes);
    if file.metadata()?.len() != all {
        return Err(wrong("its length differs from what its head says"));
    }
    let map = Map::new(&file, usize::try_from(all).map_err(io::Error::other)?)?;
    let begin = usize::try_from(HEAD_BYTES as u64 + table_bytes).map_err(io::Error::other)?;
    let (table, content) = map.as_ref().split_at(begin);
    let table = &table[HEAD_BYTES..];
    if crc32c::crc32c(table) != crc(16) || crc32c::crc32c(content) != crc(20) {
        return Err(wrong("a checksum differs"));
    }
    let mut entries = Vec::with_capacity(usize::try_from(count).unwrap_or(0).min(table.len() / FIXED_BYTES));
    let mut rest = table;
    while !rest.is_empty() {
        let (entry, after) = entry(rest).ok_or_else(|| wrong("an entry is cut off"))?;
        entries.push(entry);
        rest = after;
    }
    Ok(Tree { entries, content: Box::new(From { map, begin }) })
}

fn entry(bytes: &[u8]) -> Option<(Entry, &[u8])> {
    let (fixed, rest) = bytes.split_at_checked(FIXED_BYTES)?;
    let short = |at: usize| fixed.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
    let long = |at: usize| fixed.get(at..at + 8)?.try_into().ok().map(u64::from_le_bytes);
    let (path, rest) = rest.split_at_checked(usize::try_from(short(20)?).ok()?)?;
    let (target, rest) = rest.split_at_checked(usize::try_from(short(24)?).ok()?)?;
    let kind = match fixed[0] {
        1 => Kind::File { offset: long(40)?, bytes: long(48)? },
        2 => Kind::Directory,
        3 => Kind::Link(PathBuf::from(OsStr::from_bytes(target))),
        _ => return None,
    };
    let meta = Meta {
        mode: short(4)?,
        uid: short(8)?,
        gid: short(12)?,
        mtime_ns: short(16)?,
        mtime_seconds: long(32)?.cast_signed(),
        xattrs: Vec::new(),
    };
    Some((Entry { path: PathBuf::from(OsStr::from_bytes(path)), kind, meta }, rest))
}

/// The content, as a part of a mapping.
struct From {
    map: Map,
    begin: usize,
}

impl AsRef<[u8]> for From {
    fn as_ref(&self) -> &[u8] {
        self.map.as_ref().get(self.begin..).unwrap_or(&[])
    }
}

/// A file that is mapped for reading.
struct Map {
    base: *mut std::ffi::c_void,
    bytes: usize,
}

// SAFETY: the memory is only read, and its single owner unmaps it.
#[expect(
    unsafe_code,
    reason = "a raw pointer isn't Send by itself; writers in several threads read the same content"
)]
unsafe impl Send for Map {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "as above")]
unsafe impl Sync for Map {}

impl Map {
    fn new(file: &File, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping of our own file, private and read-only; nothing shortens the file: it is replaced, never
        // rewritten.
        #[expect(unsafe_code, reason = "a source in memory that two processes share without a copy")]
        let base = unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_POPULATE;
            libc::mmap(std::ptr::null_mut(), bytes, libc::PROT_READ, flags, file.as_raw_fd(), 0)
        };
        if base == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(Self { base, bytes }) }
    }
}

impl AsRef<[u8]> for Map {
    fn as_ref(&self) -> &[u8] {
        // SAFETY: the mapping has this length and lives as long as this value.
        #[expect(unsafe_code, reason = "a mapping is a pointer and a length")]
        unsafe {
            std::slice::from_raw_parts(self.base.cast(), self.bytes)
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: no reference into it can exist any more.
        #[expect(unsafe_code, reason = "gives back what `new` mapped")]
        let _ = unsafe { libc::munmap(self.base, self.bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::{open, write};
    use crate::corpus::tree::{Entry, Kind, Meta};
    use std::os::unix::fs::FileExt as _;
    use std::path::PathBuf;

    fn entries() -> Vec<Entry> {
        let meta = |mode| Meta { mode, uid: 3, gid: 4, mtime_seconds: -5, mtime_ns: 6, xattrs: vec![] };
        vec![
            Entry { path: "a".into(), kind: Kind::Directory, meta: meta(0o755) },
            Entry { path: "a/b".into(), kind: Kind::File { offset: 0, bytes: 3 }, meta: meta(0o640) },
            Entry { path: "a/empty".into(), kind: Kind::File { offset: 3, bytes: 0 }, meta: meta(0o600) },
            Entry { path: "c".into(), kind: Kind::Link(PathBuf::from("../d")), meta: meta(0o777) },
        ]
    }

    #[test]
    fn what_is_written_can_be_opened() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack");
        write(&path, &entries(), |number, out| {
            out.extend_from_slice(if number == 1 { b"xyz" } else { b"" });
            Ok(())
        })
        .unwrap();
        let tree = open(&path).unwrap();
        assert_eq!(tree.entries, entries());
        assert_eq!((tree.content(&tree.entries[1]), tree.content(&tree.entries[2])), (&b"xyz"[..], &b""[..]));
        assert_eq!((tree.amount().files, tree.amount().bytes, tree.amount().links), (2, 3, 1));
    }

    #[test]
    fn a_flipped_bit_and_a_cut_are_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("pack");
        let fill = |number: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(if number == 1 { b"xyz" } else { b"" });
            Ok(())
        };
        write(&path, &entries(), fill).unwrap();
        let length = std::fs::metadata(&path).unwrap().len();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        for (place, what) in [(length - 1, "checksum"), (70, "checksum"), (0, "doesn't begin as")] {
            write(&path, &entries(), fill).unwrap();
            file.write_all_at(b"!", place).unwrap();
            let error = open(&path).err().unwrap().to_string();
            assert!(error.contains(what), "{error}");
        }
        write(&path, &entries(), fill).unwrap();
        file.set_len(length - 1).unwrap();
        assert!(open(&path).err().unwrap().to_string().contains("length"));
        let short = write(&path, &entries(), |_, _| Ok(()));
        assert!(short.unwrap_err().to_string().contains("0 bytes instead of 3"));
    }
}
