//! Counters of a process: /proc/PID/stat and /proc/PID/io (proc(5)).

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use std::ops::AddAssign;
use std::path::Path;

/// PF_KTHREAD of the kernel's include/linux/sched.h.
const KERNEL_THREAD: u64 = 0x0020_0000;

/// The content of /proc/PID/stat (or of a thread's).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stat<'t> {
    pub(crate) comm: &'t [u8],
    pub(crate) parent: u32,
    /// Whether a signal (`T`) or a debugger (`t`) stopped it.
    pub(crate) stopped: bool,
    pub(crate) kernel_thread: bool,
    pub(crate) threads: u32,
    /// Ticks of the process itself.
    pub(crate) own: Ticks,
    /// Ticks of the children that it has waited for, including their waited children.
    pub(crate) waited: Ticks,
}

/// CPU time in ticks of USER_HZ.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Ticks {
    pub(crate) user: u64,
    pub(crate) system: u64,
}

impl Ticks {
    pub(crate) fn sum(self) -> u64 {
        self.user + self.system
    }
}

impl AddAssign for Ticks {
    fn add_assign(&mut self, other: Self) {
        self.user += other.user;
        self.system += other.system;
    }
}

/// The content of /proc/PID/io: counters of the process, its ended threads, and the children that it has waited for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Io {
    pub(crate) read_chars: u64,
    pub(crate) write_chars: u64,
    pub(crate) read_bytes: u64,
    pub(crate) write_bytes: u64,
}

impl AddAssign for Io {
    fn add_assign(&mut self, other: Self) {
        self.read_chars += other.read_chars;
        self.write_chars += other.write_chars;
        self.read_bytes += other.read_bytes;
        self.write_bytes += other.write_bytes;
    }
}

/// Parses one line: `pid (comm) state ppid ...`. comm may have spaces and brackets, so the last `)` ends it.
pub(crate) fn stat<'t>(path: &Path, text: &'t [u8]) -> Result<Stat<'t>, ReadError> {
    fields_of(text).ok_or_else(|| {
        ReadError::parse(path, 1, text.trim_ascii_end(), "`pid (comm) state ppid` and at least 18 numbers")
    })
}

fn fields_of(text: &[u8]) -> Option<Stat<'_>> {
    let open = text.iter().position(|&byte| byte == b'(')?;
    let close = text.iter().rposition(|&byte| byte == b')')?;
    let comm = text.get(open + 1..close)?;
    // Field 3 (state) is index 0 here.
    let mut rest = fields(&text[close + 1..]);
    let stopped = matches!(rest.next()?, b"T" | b"t");
    let parent = small(rest.next()?)?;
    // Fields 5 to 8 (group, session, tty and its group) may be negative and aren't needed.
    let mut rest = rest.skip(4);
    let flags = number(rest.next()?)?;
    // Fields 10 to 13 are fault counters.
    let mut rest = rest.skip(4);
    let mut next = || number(rest.next()?);
    let own = Ticks { user: next()?, system: next()? };
    let waited = Ticks { user: next()?, system: next()? };
    // Skips priority and nice; priority may be negative too.
    let mut rest = rest.skip(2);
    let threads = small(rest.next()?)?;
    Some(Stat { comm, parent, stopped, kernel_thread: flags & KERNEL_THREAD != 0, threads, own, waited })
}

fn small(field: &[u8]) -> Option<u32> {
    number(field).and_then(|value| value.try_into().ok())
}

/// Parses the four keys. All must be there: the kernel writes all or none.
pub(crate) fn io(path: &Path, text: &[u8]) -> Result<Io, ReadError> {
    let (mut read_chars, mut write_chars, mut read_bytes, mut write_bytes) = (None, None, None, None);
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let place = match fields.next() {
            Some(b"rchar:") => &mut read_chars,
            Some(b"wchar:") => &mut write_chars,
            Some(b"read_bytes:") => &mut read_bytes,
            Some(b"write_bytes:") => &mut write_bytes,
            _ => continue,
        };
        let error = || ReadError::parse(path, line_number, line, "`key: number`");
        *place = Some(fields.next().and_then(number).ok_or_else(error)?);
    }
    let complete = || {
        Some(Io {
            read_chars: read_chars?,
            write_chars: write_chars?,
            read_bytes: read_bytes?,
            write_bytes: write_bytes?,
        })
    };
    complete().ok_or_else(|| ReadError::parse(path, 1, b"", "rchar, wchar, read_bytes and write_bytes"))
}

#[cfg(test)]
mod tests {
    use super::{Io, Stat, Ticks, io, stat};
    use std::path::Path;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let text =
            b"77 (a) b (c) R 10635 1 -1 0 -1 4194304 101 0 0 0 5 6 70 80 20 -5 3 0 113018 3133440 362\n";
        let expected = Stat {
            comm: b"a) b (c",
            parent: 10635,
            stopped: false,
            kernel_thread: false,
            threads: 3,
            own: Ticks { user: 5, system: 6 },
            waited: Ticks { user: 70, system: 80 },
        };
        assert_eq!(stat(Path::new("stat"), text).unwrap(), expected);
    }

    #[test]
    fn kernel_threads_are_told_by_their_flag() {
        let text = b"9 (kworker/0:1) I 2 0 0 0 -1 69238880 0 0 0 0 0 12 0 0 20 0 1 0 5 0 0\n";
        assert!(stat(Path::new("stat"), text).unwrap().kernel_thread);
    }

    #[test]
    fn a_stopped_process_is_told_by_its_state() {
        for (state, stopped) in [("S", false), ("D", false), ("T", true), ("t", true)] {
            let text = format!("9 (fio) {state} 2 0 0 0 -1 4194304 0 0 0 0 0 12 0 0 20 0 1 0 5 0 0\n");
            assert_eq!(stat(Path::new("stat"), text.as_bytes()).unwrap().stopped, stopped, "{state}");
        }
    }

    #[test]
    fn a_broken_stat_is_an_error() {
        let texts: [&[u8]; 3] =
            [b"", b"77 fio R 1", b"77 (fio) R 1 1 1 0 -1 4194304 101 0 0 0 5 x 70 80 20 0 3"];
        for text in texts {
            let said = stat(Path::new("/proc/77/stat"), text).unwrap_err().to_string();
            assert!(said.starts_with("/proc/77/stat:1: expected `pid (comm)"), "{said}");
        }
    }

    #[test]
    fn io_needs_all_four() {
        let text = b"rchar: 6976\nwchar: 1\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n";
        let expected = Io { read_chars: 6976, write_chars: 1, read_bytes: 4096, write_bytes: 8192 };
        assert_eq!(io(Path::new("io"), text).unwrap(), expected);
        assert!(io(Path::new("io"), b"rchar: 1\n").is_err());
        let said = io(Path::new("io"), b"rchar: 1\nwchar: ?\n").unwrap_err().to_string();
        assert_eq!(said, "io:2: expected `key: number`, found `wchar: ?`");
    }
}
