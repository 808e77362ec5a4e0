//! Commits of file system journals: transactions of jbd2 (/proc/fs/jbd2/DEVICE-INODE/info), and writes to the log of xfs
//! (/sys/fs/xfs/DEVICE/stats/stats), each of which commits.

use crate::error::ReadError;
use crate::text::{fields, lines, number, required};
use record::roots::Roots;
use std::fs;
use std::path::{Path, PathBuf};

/// The journal of one device. The file is opened for each reading, because jbd2 shows an open file the values at the time of its opening.
#[derive(Debug)]
pub(crate) struct JournalReader {
    pub(crate) name: String,
    path: PathBuf,
    parse: fn(&Path, &[u8]) -> Result<u64, ReadError>,
}

impl JournalReader {
    /// Finds the journal. `None` when no file system with a readable journal is mounted from this device.
    pub(crate) fn find(roots: &Roots, name: &str) -> Option<Self> {
        let reader = |path, parse| Some(Self { name: name.to_owned(), path, parse });
        let xfs = roots.sys.join("fs/xfs").join(name).join("stats/stats");
        if xfs.exists() {
            return reader(xfs, xfs_log_writes);
        }
        let jbd2 = roots.proc.join("fs/jbd2");
        // `loop3-8` has the journal's inode; an external journal has only the device's name.
        let of_device =
            |entry: &str| entry == name || entry.rsplit_once('-').is_some_and(|(of, _)| of == name);
        let mut entries = fs::read_dir(&jbd2).ok()?.flatten();
        let found = entries.find(|entry| entry.file_name().to_str().is_some_and(of_device))?;
        reader(found.path().join("info"), jbd2_transactions)
    }

    /// Reads the number of commits. `None` when the file system was unmounted.
    pub(crate) fn read(&self) -> Result<Option<u64>, ReadError> {
        required(&self.path)?.map(|text| (self.parse)(&self.path, &text)).transpose()
    }
}

/// Parses the first line: `10 transactions (10 requested), each up to 2730 blocks`.
fn jbd2_transactions(path: &Path, text: &[u8]) -> Result<u64, ReadError> {
    let (line_number, line) = lines(text).next().unwrap_or((1, b""));
    let mut fields = fields(line);
    let count = fields.next().and_then(number).filter(|_| fields.next() == Some(b"transactions"));
    count.ok_or_else(|| ReadError::parse(path, line_number, line, "`number transactions ...`"))
}

/// Parses the line `log writes blocks noiclogs force force_sleep`.
fn xfs_log_writes(path: &Path, text: &[u8]) -> Result<u64, ReadError> {
    let found = lines(text).find(|(_, line)| line.starts_with(b"log "));
    let (line_number, line) = found.unwrap_or((1, b""));
    let writes = fields(line).nth(1).and_then(number);
    writes.ok_or_else(|| ReadError::parse(path, line_number, line, "`log number ...`"))
}

#[cfg(test)]
mod tests {
    use super::JournalReader;
    use record::roots::Roots;
    use std::fs;

    fn put(path: std::path::PathBuf, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(roots: &Roots, name: &str) -> Option<u64> {
        JournalReader::find(roots, name)?.read().unwrap()
    }

    #[test]
    fn jbd2_is_found_by_the_devices_whole_name() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        assert_eq!(read(&roots, "dm-1"), None);
        let info = |name: &str, n: u32| {
            put(
                roots.proc.join("fs/jbd2").join(name).join("info"),
                &format!(
                    "{n} transactions ({n} requested), each up to 2730 blocks\naverage: \n  0ms waiting for transaction\n"
                ),
            );
        };
        info("dm-11-8", 5);
        assert_eq!(read(&roots, "dm-1"), None);
        info("dm-1-8", 7);
        info("sdb", 3);
        assert_eq!(
            (read(&roots, "dm-1"), read(&roots, "dm-11"), read(&roots, "sdb")),
            (Some(7), Some(5), Some(3))
        );
        info("dm-1-8", 9);
        assert_eq!(read(&roots, "dm-1"), Some(9));
    }

    #[test]
    fn xfs_tells_its_log_writes_and_garbage_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        let stats = roots.sys.join("fs/xfs/loop3/stats/stats");
        put(stats.clone(), "extent_alloc 1 2\nlog 10 51 0 12 10\nxpc 1 2 3\n");
        assert_eq!(read(&roots, "loop3"), Some(10));
        put(stats, "extent_alloc 1 2\n");
        let reader = JournalReader::find(&roots, "loop3").unwrap();
        let said = reader.read().unwrap_err().to_string();
        assert!(said.ends_with("stats:1: expected `log number ...`, found ``"), "{said}");
    }
}
