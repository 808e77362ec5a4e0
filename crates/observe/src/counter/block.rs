//! Counters of block devices: /sys/class/block/NAME/stat (Documentation/block/stat.rst).

use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, number};
use record::counter::BlockCounters;
use record::roots::Roots;
use std::path::Path;

/// The unit of the kernel's counters: sectors of 512 bytes, regardless of the device's own sector size.
const SECTOR_BYTES: u64 = 512;

const EXPECTED: &str = "at least 11 numbers (Documentation/block/stat.rst)";

/// Reads the counters of one block device or partition.
#[derive(Debug)]
pub(crate) struct BlockReader {
    pub(crate) name: String,
    file: KernelFile,
}

impl BlockReader {
    /// Opens a device's counters. `None` when there is no such device.
    pub(crate) fn open(roots: &Roots, name: &str) -> Result<Option<Self>, ReadError> {
        let file = KernelFile::open(roots.block(name).join("stat"), Shape::OneRecord)?;
        Ok(file.map(|file| Self { name: name.to_owned(), file }))
    }

    /// Reads the counters. `None` when the device is gone.
    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Result<Option<BlockCounters>, ReadError> {
        self.file.read(buffer)?.map(|text| parse(self.file.path(), text)).transpose()
    }
}

/// Parses the counters of one device.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<BlockCounters, ReadError> {
    let error = || ReadError::parse(path, 1, text.trim_ascii_end(), EXPECTED);
    let mut values = [0_u64; 17];
    let mut count = 0;
    for (value, field) in values.iter_mut().zip(fields(text)) {
        *value = number(field).ok_or_else(error)?;
        count += 1;
    }
    if count < 11 {
        return Err(error());
    }
    let bytes = |sectors: u64| sectors.checked_mul(SECTOR_BYTES).ok_or_else(error);
    Ok(BlockCounters {
        reads: values[0],
        read_bytes: bytes(values[2])?,
        read_wait_ms: values[3],
        writes: values[4],
        write_bytes: bytes(values[6])?,
        write_wait_ms: values[7],
        in_flight: values[8],
        busy_ms: values[9],
        weighted_ms: values[10],
        discards: (count > 11).then_some(values[11]),
        flushes: (count > 15).then_some(values[15]),
    })
}

#[cfg(test)]
mod tests {
    use super::parse;
    use record::counter::BlockCounters;
    use std::path::Path;

    const LINE: &str = "   17367        3   563280    12134    15691     9151  2441344    16356        0     6804    30057        8        0 16777216     1475      144       90\n";

    #[test]
    fn seventeen_fields_are_read_in_the_kernels_order() {
        let counters = parse(Path::new("/sys/stat"), LINE.as_bytes()).unwrap();
        let expected = BlockCounters {
            reads: 17367,
            read_bytes: 563_280 * 512,
            read_wait_ms: 12134,
            writes: 15691,
            write_bytes: 2_441_344 * 512,
            write_wait_ms: 16356,
            in_flight: 0,
            busy_ms: 6804,
            weighted_ms: 30057,
            discards: Some(8),
            flushes: Some(144),
        };
        assert_eq!(counters, expected);
    }

    #[test]
    fn a_kernel_without_discard_and_flush_counters_gives_none_not_zero() {
        let eleven = LINE.split_whitespace().take(11).collect::<Vec<_>>().join(" ");
        let counters = parse(Path::new("stat"), eleven.as_bytes()).unwrap();
        assert_eq!((counters.discards, counters.flushes), (None, None));
        let fifteen = LINE.split_whitespace().take(15).collect::<Vec<_>>().join(" ");
        let counters = parse(Path::new("stat"), fifteen.as_bytes()).unwrap();
        assert_eq!((counters.discards, counters.flushes), (Some(8), None));
    }

    #[test]
    fn a_line_that_is_not_numbers_is_an_error_with_path_and_line() {
        for bad in ["", "1 2 3", "1 2 3 4 5 x 7 8 9 10 11", "1 2 99999999999999999999 4 5 6 7 8 9 10 11"] {
            let error = parse(Path::new("/sys/class/block/sda/stat"), bad.as_bytes()).unwrap_err();
            let said = error.to_string();
            assert!(said.starts_with("/sys/class/block/sda/stat:1: expected at least 11"), "{said}");
            assert!(said.ends_with(&format!("found `{bad}`")), "{said}");
        }
    }
}
