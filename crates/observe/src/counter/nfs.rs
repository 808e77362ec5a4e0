//! Byte counters of one NFS mount: /proc/self/mountstats.

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::nfs::NfsCounters;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Parses `device SERVER:/PATH mounted on /MOUNT with fstype nfs4 ...`, then the lines of that mount; the one with `bytes:` has
/// eight numbers. `None`: the mount is not in the file.
pub(crate) fn parse(path: &Path, text: &[u8], mount: &Path) -> Result<Option<NfsCounters>, ReadError> {
    let mut ours = false;
    for (line_number, line) in lines(text) {
        let mut words = fields(line);
        match words.next() {
            Some(b"device") => ours = words.nth(3) == Some(mount.as_os_str().as_bytes()),
            Some(b"bytes:") if ours => {
                let numbers: Vec<u64> = words.map_while(number).collect();
                let [buffered_read, buffered_write, direct_read, direct_write, server_read, server_write, ..] =
                    numbers[..]
                else {
                    return Err(ReadError::parse(path, line_number, line, "`bytes:` and eight numbers"));
                };
                return Ok(Some(NfsCounters {
                    buffered_read_bytes: buffered_read,
                    buffered_write_bytes: buffered_write,
                    direct_read_bytes: direct_read,
                    direct_write_bytes: direct_write,
                    server_read_bytes: server_read,
                    server_write_bytes: server_write,
                }));
            }
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use record::nfs::NfsCounters;
    use std::path::Path;

    const TEXT: &str = "device proc mounted on /proc with fstype proc\n\
        device 127.0.0.1:/a mounted on /a with fstype nfs4 statvers=1.1\n\
        \topts:\trw,vers=4.2\n\tage:\t3\n\tbytes:\t9 9 9 9 9 9 9 9\n\
        device 127.0.0.1:/b mounted on /b with fstype nfs4 statvers=1.1\n\
        \tage:\t3\n\tbytes:\t1 2 3 4 5 6 7 8\n\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n";

    #[test]
    fn the_bytes_of_our_mount_are_found_among_others() {
        let found = parse(Path::new("mountstats"), TEXT.as_bytes(), Path::new("/b")).unwrap().unwrap();
        let expected = NfsCounters {
            buffered_read_bytes: 1,
            buffered_write_bytes: 2,
            direct_read_bytes: 3,
            direct_write_bytes: 4,
            server_read_bytes: 5,
            server_write_bytes: 6,
        };
        assert_eq!(found, expected);
        assert_eq!(parse(Path::new("mountstats"), TEXT.as_bytes(), Path::new("/c")).unwrap(), None);
    }

    #[test]
    fn garbage_is_named_with_its_line() {
        let text = "device 127.0.0.1:/b mounted on /b with fstype nfs4\n\tbytes:\tmany\n";
        let said = parse(Path::new("/p/mountstats"), text.as_bytes(), Path::new("/b")).unwrap_err();
        assert!(said.to_string().starts_with("/p/mountstats:2: expected"), "{said}");
    }
}
