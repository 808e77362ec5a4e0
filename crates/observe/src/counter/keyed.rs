//! Parses files of `key value` lines: /proc/meminfo and /proc/vmstat.

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::counter::{Memory, VmCounters};
use std::path::Path;

/// Parses /proc/meminfo, and converts KiB to bytes.
pub(crate) fn memory(path: &Path, text: &[u8]) -> Result<Memory, ReadError> {
    let mut memory = Memory::default();
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let place = match fields.next() {
            Some(b"MemTotal:") => &mut memory.total_bytes,
            Some(b"MemAvailable:") => &mut memory.available_bytes,
            Some(b"Cached:") => &mut memory.cached_bytes,
            Some(b"Dirty:") => &mut memory.dirty_bytes,
            Some(b"Writeback:") => &mut memory.writeback_bytes,
            _ => continue,
        };
        let kib = fields.next().and_then(number);
        let bytes = kib.and_then(|kib| kib.checked_mul(1024)).filter(|_| fields.next() == Some(b"kB"));
        let error = || ReadError::parse(path, line_number, line, "`Key: number kB`");
        *place = Some(bytes.ok_or_else(error)?);
    }
    Ok(memory)
}

/// Parses /proc/vmstat.
pub(crate) fn vm(path: &Path, text: &[u8]) -> Result<VmCounters, ReadError> {
    let mut vm = VmCounters::default();
    for (line_number, line) in lines(text) {
        // Nearly all of its 190 lines are not needed: the first two letters decide.
        if !matches!(line.get(..2), Some(b"pg" | b"nr" | b"ps" | b"dr" | b"wo")) {
            continue;
        }
        let Some(blank) = line.iter().position(|&byte| byte == b' ') else { continue };
        let place = match &line[..blank] {
            b"pgpgin" => &mut vm.pgpgin_kib,
            b"pgpgout" => &mut vm.pgpgout_kib,
            b"nr_dirtied" => &mut vm.nr_dirtied,
            b"nr_written" => &mut vm.nr_written,
            b"pgmajfault" => &mut vm.pgmajfault,
            b"pswpin" => &mut vm.pswpin,
            b"pswpout" => &mut vm.pswpout,
            b"pgsteal_file" => &mut vm.pgsteal_file,
            b"workingset_refault_file" => &mut vm.workingset_refault_file,
            b"drop_pagecache" => &mut vm.drop_pagecache,
            _ => continue,
        };
        let value = number(line[blank..].trim_ascii());
        *place = Some(value.ok_or_else(|| ReadError::parse(path, line_number, line, "`key number`"))?);
    }
    Ok(vm)
}

#[cfg(test)]
mod tests {
    use super::{memory, vm};
    use record::counter::{Memory, VmCounters};
    use std::path::Path;

    #[test]
    fn meminfo_in_bytes() {
        let text = b"MemTotal:       24684096 kB\nMemFree:        1 kB\nCached:          1048 kB\nSwapCached: 7 kB\n\
            Dirty:               4 kB\nHugePages_Total:       0\n";
        let expected = Memory {
            total_bytes: Some(24_684_096 * 1024),
            available_bytes: None,
            cached_bytes: Some(1048 * 1024),
            dirty_bytes: Some(4096),
            writeback_bytes: None,
        };
        assert_eq!(memory(Path::new("/proc/meminfo"), text).unwrap(), expected);
    }

    #[test]
    fn meminfo_without_its_unit_is_refused() {
        let said = memory(Path::new("/proc/meminfo"), b"MemFree: 1 kB\nDirty: 4\n").unwrap_err().to_string();
        assert_eq!(said, "/proc/meminfo:2: expected `Key: number kB`, found `Dirty: 4`");
    }

    #[test]
    fn vmstat_keys_are_matched_whole() {
        let text = b"nr_free_pages 9\nnr_dirtied 5\nnr_written 4\nnr_written_x 77\npgpgin 10\npgpgout 20\npswpin 0\n\
            pswpout 1\npgmajfault 3\npgfault 100\npgsteal_file 8\ndrop_pagecache 2\n\
            workingset_refault_anon 9\nworkingset_refault_file 6\n";
        let expected = VmCounters {
            pgpgin_kib: Some(10),
            pgpgout_kib: Some(20),
            nr_dirtied: Some(5),
            nr_written: Some(4),
            pgmajfault: Some(3),
            pswpin: Some(0),
            pswpout: Some(1),
            pgsteal_file: Some(8),
            workingset_refault_file: Some(6),
            takes_cold_pages: false,
            drop_pagecache: Some(2),
        };
        assert_eq!(vm(Path::new("/proc/vmstat"), text).unwrap(), expected);
    }

    #[test]
    fn vmstat_garbage_names_its_line() {
        let said = vm(Path::new("/proc/vmstat"), b"nr_free_pages 9\npgpgin -1\n").unwrap_err().to_string();
        assert_eq!(said, "/proc/vmstat:2: expected `key number`, found `pgpgin -1`");
    }
}
