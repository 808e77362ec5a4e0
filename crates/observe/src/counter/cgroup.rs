//! I/O that is charged to a cgroup: v1 `blkio.throttle.*`, v2 `io.stat`.

use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, lines, number};
use record::counter::CgroupIo;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the I/O counters of one cgroup, v1 or v2.
#[derive(Debug)]
pub(crate) enum CgroupReader {
    V1 { serviced: KernelFile, bytes: KernelFile },
    V2(KernelFile),
}

impl CgroupReader {
    /// Opens the counters. `None` when the directory has the files of neither version.
    pub(crate) fn open(directory: &Path) -> Result<Option<Self>, ReadError> {
        let open = |name: &str| KernelFile::open(directory.join(name), Shape::OneRecord);
        if let Some(stat) = open("io.stat")? {
            return Ok(Some(Self::V2(stat)));
        }
        let serviced = open("blkio.throttle.io_serviced")?;
        let bytes = open("blkio.throttle.io_service_bytes")?;
        Ok(serviced.zip(bytes).map(|(serviced, bytes)| Self::V1 { serviced, bytes }))
    }

    /// Returns counters by `major:minor`; devices without I/O so far are absent.
    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Result<BTreeMap<String, CgroupIo>, ReadError> {
        let mut devices = BTreeMap::new();
        match self {
            Self::V1 { serviced, bytes } => {
                if let Some(text) = serviced.read(buffer)? {
                    v1(serviced.path(), text, &mut devices, |io| (&mut io.reads, &mut io.writes))?;
                }
                if let Some(text) = bytes.read(buffer)? {
                    v1(bytes.path(), text, &mut devices, |io| (&mut io.read_bytes, &mut io.write_bytes))?;
                }
            }
            Self::V2(stat) => {
                if let Some(text) = stat.read(buffer)? {
                    v2(stat.path(), text, &mut devices)?;
                }
            }
        }
        Ok(devices)
    }
}

/// The pair of counters (read, write) for a v1 file.
type Pair = fn(&mut CgroupIo) -> (&mut Option<u64>, &mut Option<u64>);

/// Parses lines `7:0 Read 12`; the last one, `Total 12`, has no device.
fn v1(
    path: &Path,
    text: &[u8],
    devices: &mut BTreeMap<String, CgroupIo>,
    pair: Pair,
) -> Result<(), ReadError> {
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let (device, kind) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        if !matches!(kind, b"Read" | b"Write") {
            continue;
        }
        let error = || ReadError::parse(path, line_number, line, "`major:minor Read|Write number`");
        let value = fields.next().and_then(number).ok_or_else(error)?;
        let io = devices.entry(key(device).ok_or_else(error)?).or_default();
        let (read, write) = pair(io);
        *(if kind == b"Read" { read } else { write }) = Some(value);
    }
    Ok(())
}

/// Parses lines `7:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`; unknown keys may follow.
fn v2(path: &Path, text: &[u8], devices: &mut BTreeMap<String, CgroupIo>) -> Result<(), ReadError> {
    for (line_number, line) in lines(text) {
        let error = || ReadError::parse(path, line_number, line, "`major:minor rbytes=number ...`");
        let mut fields = fields(line);
        let device = key(fields.next().unwrap_or_default()).ok_or_else(error)?;
        let mut io = CgroupIo::default();
        for field in fields {
            let (place, value) = if let Some(value) = field.strip_prefix(b"rbytes=") {
                (&mut io.read_bytes, value)
            } else if let Some(value) = field.strip_prefix(b"wbytes=") {
                (&mut io.write_bytes, value)
            } else if let Some(value) = field.strip_prefix(b"rios=") {
                (&mut io.reads, value)
            } else if let Some(value) = field.strip_prefix(b"wios=") {
                (&mut io.writes, value)
            } else {
                continue;
            };
            *place = Some(number(value).ok_or_else(error)?);
        }
        // The kernel lists a device without counters as a bare number.
        if io != CgroupIo::default() {
            devices.insert(device, io);
        }
    }
    Ok(())
}

fn key(device: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(device).ok()?;
    crate::text::devno(text)?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::CgroupReader;
    use record::counter::CgroupIo;
    use std::fs;

    #[test]
    fn v1_joins_its_two_files_by_device() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        write(
            "blkio.throttle.io_serviced",
            "7:3 Read 125\n7:3 Write 4418\n7:3 Sync 4458\n7:3 Total 4543\n7:2 Read 213\n7:2 Write 0\nTotal 4756\n",
        );
        write("blkio.throttle.io_service_bytes", "7:3 Read 1000\n7:3 Write 2000\nTotal 3000\n");
        let io = CgroupReader::open(dir.path()).unwrap().unwrap().read(&mut Vec::new()).unwrap();
        let loop3 = CgroupIo {
            reads: Some(125),
            read_bytes: Some(1000),
            writes: Some(4418),
            write_bytes: Some(2000),
        };
        assert_eq!(io["7:3"], loop3);
        assert_eq!((io["7:2"].reads, io["7:2"].read_bytes), (Some(213), None));
        assert_eq!(io.len(), 2);
    }

    #[test]
    fn v2_reads_what_it_knows_and_skips_bare_devices() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(
            dir.path().join("io.stat"),
            "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0 cost.usage=1\n8:0\n",
        )
        .unwrap();
        let io = CgroupReader::open(dir.path()).unwrap().unwrap().read(&mut Vec::new()).unwrap();
        let expected = CgroupIo {
            reads: Some(192),
            read_bytes: Some(1_459_200),
            writes: Some(353),
            write_bytes: Some(314_773_504),
        };
        assert_eq!(io.into_iter().collect::<Vec<_>>(), [("8:16".to_owned(), expected)]);
    }

    #[test]
    fn garbage_names_its_line_and_no_files_is_no_reader() {
        let dir = tempfile::tempdir().unwrap();
        assert!(CgroupReader::open(dir.path()).unwrap().is_none());
        fs::write(dir.path().join("io.stat"), "8:0 rios=1\nsda rios=2\n").unwrap();
        let error = CgroupReader::open(dir.path()).unwrap().unwrap().read(&mut Vec::new()).unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("io.stat:2: expected `major:minor rbytes=number ...`, found `sda rios=2`")
        );
    }
}
