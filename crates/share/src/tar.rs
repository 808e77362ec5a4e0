//! Archives of regular files (POSIX.1-1988 `ustar`), as bundles need them: written so that the same files give the same bytes, and
//! read with distrust.

use std::io::{self, Read, Write};

const BLOCK: usize = 512;
/// Largest record. The largest ones that are known have a few MiB; read, they take several times as much memory.
const JSON_BYTES: u64 = 32 << 20;
/// Largest other file: an engine's raw output, an experiment file.
const TEXT_BYTES: u64 = 64 << 20;
/// Longest name: the field of a header.
const NAME_BYTES: usize = 100;

/// Writes an archive. Names must ascend.
pub(crate) struct Writer<W: Write> {
    inner: W,
    last: String,
}

impl<W: Write> Writer<W> {
    pub(crate) fn new(inner: W) -> Self {
        Self { inner, last: String::new() }
    }

    /// Adds a file. Mode, owner and time are the same for all files.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let invalid = |why: String| io::Error::new(io::ErrorKind::InvalidInput, why);
        if !is_plain(name) || name <= self.last.as_str() {
            return Err(invalid(format!("`{name}` can't be archived")));
        }
        if bytes.len() as u64 > most(name) {
            return Err(invalid(format!("`{name}` is larger than {} bytes", most(name))));
        }
        name.clone_into(&mut self.last);
        self.inner.write_all(&header(name, bytes.len()))?;
        self.inner.write_all(bytes)?;
        let padding = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        self.inner.write_all(&[0; BLOCK][..padding])
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.inner.write_all(&[0; BLOCK * 2])?;
        Ok(self.inner)
    }
}

/// Largest file of that name in bytes.
fn most(name: &str) -> u64 {
    if name.ends_with(".json") { JSON_BYTES } else { TEXT_BYTES }
}

fn header(name: &str, bytes: usize) -> [u8; BLOCK] {
    let mut header = [0_u8; BLOCK];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, name.as_bytes());
    put(100, b"0000644\0");
    put(108, b"0000000\0");
    put(116, b"0000000\0");
    put(124, format!("{bytes:011o}\0").as_bytes());
    put(136, b"00000000000\0");
    put(148, b"        ");
    put(156, b"0");
    put(257, b"ustar\x0000");
    let sum = header.iter().map(|byte| u32::from(*byte)).sum::<u32>();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// Whether a name is a relative path of plain characters, without `.` and `..`.
fn is_plain(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
    };
    name.len() < NAME_BYTES && name.split('/').all(plain)
}

/// Reads an archive file by file. Everything but regular files with plain, ascending names is refused: links, folders, devices, other
/// users' paths, repeated names, and anything after the end.
pub(crate) struct Reader<R: Read> {
    inner: R,
    last: String,
    ended: bool,
}

fn hostile(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

impl<R: Read> Reader<R> {
    pub(crate) fn new(inner: R) -> Self {
        Self { inner, last: String::new(), ended: false }
    }

    /// Returns what was read from.
    pub(crate) fn into_inner(self) -> R {
        self.inner
    }

    /// Returns the next file, or `None` at the end.
    pub(crate) fn next(&mut self) -> io::Result<Option<(String, Vec<u8>)>> {
        if self.ended {
            return Ok(None);
        }
        let mut header = [0_u8; BLOCK];
        self.inner.read_exact(&mut header)?;
        if header == [0; BLOCK] {
            return self.end();
        }
        let (name, bytes) = parse(&header)?;
        if name <= self.last {
            return Err(hostile(format!("the file `{name}` is out of order")));
        }
        name.clone_into(&mut self.last);
        let length = usize::try_from(bytes).map_err(|_| hostile("a file is too large"))?;
        // What isn't there takes no memory.
        let mut content = Vec::new();
        (&mut self.inner).take(bytes).read_to_end(&mut content)?;
        if content.len() != length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut padding = [0_u8; BLOCK];
        self.inner.read_exact(&mut padding[..length.next_multiple_of(BLOCK) - length])?;
        Ok(Some((name, content)))
    }

    fn end(&mut self) -> io::Result<Option<(String, Vec<u8>)>> {
        let mut last = [0_u8; BLOCK];
        self.inner.read_exact(&mut last)?;
        let more = self.inner.read(&mut [0_u8; 1])?;
        if last != [0; BLOCK] || more != 0 {
            return Err(hostile("something stands behind its end"));
        }
        self.ended = true;
        Ok(None)
    }
}

fn parse(header: &[u8; BLOCK]) -> io::Result<(String, u64)> {
    let field = |from: usize, length: usize| {
        let bytes = &header[from..from + length];
        let end = bytes.iter().position(|b| *b == 0 || *b == b' ').unwrap_or(length);
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    };
    let octal = |from, length| {
        u64::from_str_radix(&field(from, length), 8).map_err(|_| hostile("a header is damaged"))
    };
    let mut blanked = *header;
    blanked[148..156].fill(b' ');
    let sum: u64 = blanked.iter().map(|byte| u64::from(*byte)).sum();
    if header[257..262] != *b"ustar" || octal(148, 8)? != sum {
        return Err(hostile("a header is damaged"));
    }
    let name = field(0, NAME_BYTES);
    let shown = record::printable::printable(&name);
    if header[156] != b'0' || !field(157, 100).is_empty() {
        return Err(hostile(format!("`{shown}` is no regular file")));
    }
    if !is_plain(&name) || header[345] != 0 {
        return Err(hostile(format!("`{shown}` is no name of a bundle's file")));
    }
    let bytes = octal(124, 12)?;
    if bytes > most(&name) {
        return Err(hostile(format!("`{shown}` is larger than {} bytes", most(&name))));
    }
    Ok((name, bytes))
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, Reader, Writer, header};
    use std::fs;
    use std::process::Command;

    fn archive(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new());
        files.iter().for_each(|(name, bytes)| writer.add(name, bytes).unwrap());
        writer.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> std::io::Result<Vec<(String, Vec<u8>)>> {
        let mut reader = Reader::new(bytes);
        let mut files = Vec::new();
        while let Some(file) = reader.next()? {
            files.push(file);
        }
        Ok(files)
    }

    #[test]
    fn what_is_written_is_read_and_gnu_tar_reads_it_too() {
        let long = vec![7_u8; 513];
        let files: [(&str, &[u8]); 4] = [("a", b""), ("b.json", b"x"), ("t/0", &long), ("t/1", &long[..512])];
        let bytes = archive(&files);
        assert_eq!(bytes, archive(&files), "the same files are the same bytes");
        let expected: Vec<_> = files.iter().map(|(n, b)| ((*n).to_owned(), b.to_vec())).collect();
        assert_eq!(read(&bytes).unwrap(), expected);
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x.tar"), &bytes).unwrap();
        let listed = Command::new("tar").arg("-tvf").arg(folder.path().join("x.tar")).output().unwrap();
        let listed = String::from_utf8(listed.stdout).unwrap();
        assert_eq!(listed.lines().count(), 4, "{listed}");
        assert!(listed.contains("513") && listed.contains("t/0"), "{listed}");
    }

    #[test]
    fn every_cut_is_noticed() {
        let bytes = archive(&[("a", b"12"), ("b", b"34")]);
        for length in 0..bytes.len() {
            assert!(read(&bytes[..length]).is_err(), "{length}");
        }
    }

    /// An archive whose only header is changed, with a right checksum.
    fn changed(change: impl FnOnce(&mut [u8; BLOCK])) -> Vec<u8> {
        let mut head = header("a", 0);
        change(&mut head);
        head[148..156].fill(b' ');
        let sum: u32 = head.iter().map(|b| u32::from(*b)).sum();
        head[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        [head.as_slice(), &[0; 2 * BLOCK]].concat()
    }

    #[test]
    fn hostile_archives_are_refused() {
        assert!(read(&changed(|_| ())).is_ok());
        for name in ["/etc/passwd", "../up", "a/../b", "a//b", "a/", ".ssh", "a\nb", "é", "a b"] {
            let bytes = changed(|head| head[..name.len()].copy_from_slice(name.as_bytes()));
            // a blank ends a name, as in a field that is padded with blanks
            assert!(read(&bytes).is_err() || name == "a b", "{name}");
        }
        for kind in [b'1', b'2', b'3', b'4', b'5', b'6', b'7', b'g', b'x', b'L', b'S', 0] {
            assert!(read(&changed(|head| head[156] = kind)).is_err(), "{kind}");
        }
        assert!(read(&changed(|head| head[157] = b'/')).is_err(), "a link's target");
        assert!(read(&changed(|head| head[345] = b'p')).is_err(), "a prefix");
        for size in ["77777777777\0", "00400000001\0", "00000001000\0", "-0000000001\0"] {
            assert!(
                read(&changed(|head| head[124..136].copy_from_slice(size.as_bytes()))).is_err(),
                "{size}"
            );
        }
        let mut damaged = changed(|_| ());
        damaged[0] = b'b';
        assert!(read(&damaged).is_err(), "the checksum");
        let twice = [&header("a", 0)[..], &header("a", 0), &[0; 2 * BLOCK]].concat();
        assert!(read(&twice).is_err(), "a repeated name");
        let more = [&archive(&[("a", b"")])[..], b"x"].concat();
        assert!(read(&more).is_err(), "more behind the end");
    }
}
