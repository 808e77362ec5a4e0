//! The head of a reply, as `curl --include` prints it before the body.

/// Status and headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
}

impl Head {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// Largest head: servers allow themselves 8 to 64 KiB.
const LIMIT_BYTES: usize = 256 << 10;

/// Collects bytes until the head is whole.
#[derive(Debug, Default)]
pub(crate) struct HeadReader {
    bytes: Vec<u8>,
}

impl HeadReader {
    /// Takes bytes. Returns the head once it is whole, with the bytes of the body that came along. Interim replies (1xx) are left
    /// out.
    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<Option<(Head, Vec<u8>)>, String> {
        self.bytes.extend_from_slice(bytes);
        loop {
            let Some(end) = end_of_head(&self.bytes) else {
                return if self.bytes.len() > LIMIT_BYTES {
                    Err(format!("its headers are larger than {LIMIT_BYTES} bytes"))
                } else {
                    Ok(None)
                };
            };
            let rest = self.bytes.split_off(end);
            let head = parse(&String::from_utf8_lossy(&self.bytes))?;
            self.bytes = rest;
            if head.status >= 200 {
                return Ok(Some((head, std::mem::take(&mut self.bytes))));
            }
        }
    }
}

fn end_of_head(bytes: &[u8]) -> Option<usize> {
    let crlf = bytes.windows(4).position(|four| four == b"\r\n\r\n").map(|at| at + 4);
    let lf = bytes.windows(2).position(|two| two == b"\n\n").map(|at| at + 2);
    match (crlf, lf) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn parse(text: &str) -> Result<Head, String> {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let status =
        first.strip_prefix("HTTP/").and_then(|rest| rest.split(' ').nth(1)).and_then(|s| s.parse().ok());
    let status =
        status.ok_or_else(|| format!("its first line is `{}`", record::printable::printable(first)))?;
    let header = |line: &str| {
        line.split_once(':').map(|(name, value)| (name.trim().to_ascii_lowercase(), value.trim().to_owned()))
    };
    Ok(Head { status, headers: lines.filter_map(header).collect() })
}

#[cfg(test)]
mod tests {
    use super::{Head, HeadReader};

    #[test]
    fn a_head_in_pieces_is_read_and_interim_replies_are_not_it() {
        let all = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 206 Partial Content\r\nContent-Range: bytes 2-3/4\r\nX-Odd : a:b \r\n\r\nbody\r\n\r\n";
        for cut in 0..all.len() {
            let mut reader = HeadReader::default();
            let first = reader.take(&all[..cut]).unwrap();
            let (head, mut body) = match first {
                Some((head, mut body)) => {
                    body.extend_from_slice(&all[cut..]);
                    (head, body)
                }
                None => reader.take(&all[cut..]).unwrap().unwrap(),
            };
            let headers = vec![
                ("content-range".to_owned(), "bytes 2-3/4".to_owned()),
                ("x-odd".to_owned(), "a:b".to_owned()),
            ];
            assert_eq!(head, Head { status: 206, headers }, "{cut}");
            assert_eq!(std::mem::take(&mut body), b"body\r\n\r\n", "{cut}");
        }
    }

    #[test]
    fn endless_or_foreign_heads_are_refused() {
        assert!(HeadReader::default().take(b"SSH-2.0-x\r\n\r\n").is_err());
        let mut reader = HeadReader::default();
        let mut refused = false;
        for _ in 0..100 {
            refused |= reader.take(&[b'a'; 10_000]).is_err();
        }
        assert!(refused);
    }
}
