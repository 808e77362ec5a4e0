//! A client and worker of Gearman's binary protocol (the file PROTOCOL of gearmand).
//!
//! A packet is `\0REQ` or `\0RES`, its type and the length of its data (big-endian, 32 bits each), then the data: arguments that are
//! separated by NUL bytes, of which only the last may contain any.

use super::error::QueueError;
use record::printable::printable;
use std::io::{self, Read as _, Write as _};
use std::net::{TcpStream, ToSocketAddrs as _};
use std::time::{Duration, Instant};

/// The function under which blocks are queued.
pub const FUNCTION: &str = "diskproof";
/// Gearman's port.
const PORT: u16 = 4730;
/// Most bytes of a packet's data; blocks are far smaller.
const MOST: usize = 1 << 20;
/// Time limit for connections and answers.
const PATIENCE: Duration = Duration::from_secs(10);
/// A unique key of a job has at most this many bytes.
const KEY_BYTES: usize = 64;

/// Types of packets.
mod kind {
    pub(super) const CAN_DO: u32 = 1;
    pub(super) const PRE_SLEEP: u32 = 4;
    pub(super) const NOOP: u32 = 6;
    pub(super) const JOB_CREATED: u32 = 8;
    pub(super) const NO_JOB: u32 = 10;
    pub(super) const WORK_COMPLETE: u32 = 13;
    pub(super) const WORK_FAIL: u32 = 14;
    pub(super) const SUBMIT_JOB_BG: u32 = 18;
    pub(super) const ERROR: u32 = 19;
    pub(super) const SET_CLIENT_ID: u32 = 22;
    pub(super) const GRAB_JOB_UNIQ: u32 = 30;
    pub(super) const JOB_ASSIGN_UNIQ: u32 = 31;
}

/// A job that the server gave out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The server's name of it.
    pub handle: String,
    /// Its data.
    pub data: Vec<u8>,
}

/// A connection to a server.
#[derive(Debug)]
pub struct Connection {
    stream: TcpStream,
    server: String,
    /// What came and is no whole packet yet.
    unread: Vec<u8>,
}

struct Packet {
    kind: u32,
    data: Vec<u8>,
}

impl Connection {
    /// Connects to `HOST` or `HOST:PORT`.
    ///
    /// # Errors
    /// The server can't be reached.
    pub fn open(server: &str) -> Result<Self, QueueError> {
        let failed = |source| QueueError::Gearman { server: server.to_owned(), doing: "to connect", source };
        let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
        for address in address(server).to_socket_addrs().map_err(failed)? {
            match TcpStream::connect_timeout(&address, PATIENCE) {
                Ok(stream) => {
                    stream.set_write_timeout(Some(PATIENCE)).map_err(failed)?;
                    return Ok(Self { stream, server: server.to_owned(), unread: Vec::new() });
                }
                Err(error) => last = error,
            }
        }
        Err(failed(last))
    }

    /// Queues a job in the background. A job with the same key that waits or is being done is the same job.
    ///
    /// # Errors
    /// The server refuses, or the connection broke.
    pub fn submit(&mut self, key: &str, data: &[u8]) -> Result<String, QueueError> {
        let doing = "to queue a block";
        if key.len() > KEY_BYTES {
            let said = format!("the key `{key}` has more than {KEY_BYTES} bytes");
            return Err(QueueError::GearmanRefuses { server: self.server.clone(), said });
        }
        self.send(doing, kind::SUBMIT_JOB_BG, &[FUNCTION.as_bytes(), key.as_bytes(), data])?;
        let answer = self.answer(doing, &[kind::JOB_CREATED])?;
        Ok(text(&answer.data))
    }

    /// Offers to do blocks, under a name that the server's status shows.
    ///
    /// # Errors
    /// The connection broke.
    pub fn offer(&mut self, name: &str) -> Result<(), QueueError> {
        let doing = "to offer work";
        self.send(doing, kind::SET_CLIENT_ID, &[name.as_bytes()])?;
        self.send(doing, kind::CAN_DO, &[FUNCTION.as_bytes()])
    }

    /// Takes a job if there is one.
    ///
    /// # Errors
    /// The connection broke.
    pub fn grab(&mut self) -> Result<Option<Job>, QueueError> {
        let doing = "to take a block";
        self.send(doing, kind::GRAB_JOB_UNIQ, &[])?;
        let answer = self.answer(doing, &[kind::NO_JOB, kind::JOB_ASSIGN_UNIQ])?;
        if answer.kind == kind::NO_JOB {
            return Ok(None);
        }
        let mut parts = answer.data.splitn(4, |byte| *byte == 0);
        match (parts.next(), parts.next(), parts.next(), parts.next()) {
            (Some(handle), Some(_function), Some(_key), Some(data)) => {
                Ok(Some(Job { handle: text(handle), data: data.to_vec() }))
            }
            _ => Err(self.garbled(doing)),
        }
    }

    /// Asks the server to send a word when there is a job.
    ///
    /// # Errors
    /// The connection broke.
    pub fn doze(&mut self) -> Result<(), QueueError> {
        self.send("to wait for a block", kind::PRE_SLEEP, &[])
    }

    /// Waits at most this long for the word; `false`: it didn't come.
    ///
    /// # Errors
    /// The connection broke.
    pub fn is_woken(&mut self, patience: Duration) -> Result<bool, QueueError> {
        let doing = "to wait for a block";
        Ok(self.next(doing, patience)?.is_some_and(|packet| packet.kind == kind::NOOP))
    }

    /// Reports that a job is done.
    ///
    /// # Errors
    /// The connection broke.
    pub fn complete(&mut self, job: &Job) -> Result<(), QueueError> {
        self.send("to report a block", kind::WORK_COMPLETE, &[job.handle.as_bytes(), b""])
    }

    /// Reports that a job failed. The server doesn't give it out again.
    ///
    /// # Errors
    /// The connection broke.
    pub fn fail(&mut self, job: &Job) -> Result<(), QueueError> {
        self.send("to report a block", kind::WORK_FAIL, &[job.handle.as_bytes()])
    }

    fn send(&mut self, doing: &'static str, kind: u32, args: &[&[u8]]) -> Result<(), QueueError> {
        let packet = packet(*b"\0REQ", kind, args);
        self.stream.write_all(&packet).map_err(|source| self.broken(doing, source))
    }

    /// The next packet of one of these types. What else comes meanwhile (a late [`kind::NOOP`]) is passed over.
    fn answer(&mut self, doing: &'static str, wanted: &[u32]) -> Result<Packet, QueueError> {
        let until = Instant::now() + PATIENCE;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.next(doing, left)? {
                Some(packet) if wanted.contains(&packet.kind) => return Ok(packet),
                Some(packet) if packet.kind == kind::ERROR => {
                    let said = text(&packet.data).replace('\0', ": ");
                    let said = printable(&said).into_owned();
                    return Err(QueueError::GearmanRefuses { server: self.server.clone(), said });
                }
                Some(_) => {}
                None if left.is_zero() => return Err(self.broken(doing, io::ErrorKind::TimedOut.into())),
                None => {}
            }
        }
    }

    /// The next packet, if it comes in time.
    fn next(&mut self, doing: &'static str, patience: Duration) -> Result<Option<Packet>, QueueError> {
        let until = Instant::now() + patience;
        loop {
            match take(&mut self.unread) {
                Ok(None) => {}
                Ok(whole) => return Ok(whole),
                Err(Garbled) => return Err(self.garbled(doing)),
            }
            // Zero would mean no limit.
            let left = until.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
            self.stream.set_read_timeout(Some(left)).map_err(|source| self.broken(doing, source))?;
            let mut buffer = [0; 8192];
            match self.stream.read(&mut buffer) {
                Ok(0) => return Err(self.broken(doing, io::ErrorKind::UnexpectedEof.into())),
                Ok(n) => self.unread.extend_from_slice(&buffer[..n]),
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted
                    ) =>
                {
                    if Instant::now() >= until {
                        return Ok(None);
                    }
                }
                Err(source) => return Err(self.broken(doing, source)),
            }
        }
    }

    fn broken(&self, doing: &'static str, source: io::Error) -> QueueError {
        QueueError::Gearman { server: self.server.clone(), doing, source }
    }

    fn garbled(&self, doing: &'static str) -> QueueError {
        self.broken(doing, io::Error::other("it answers something else than Gearman's protocol"))
    }
}

struct Garbled;

fn packet(magic: [u8; 4], kind: u32, args: &[&[u8]]) -> Vec<u8> {
    let data = args.join(&0);
    let length = u32::try_from(data.len()).unwrap_or(u32::MAX);
    [&magic[..], &kind.to_be_bytes(), &length.to_be_bytes(), &data].concat()
}

/// Takes the first packet out of what was received; `None` if it isn't whole yet.
fn take(unread: &mut Vec<u8>) -> Result<Option<Packet>, Garbled> {
    let Some(head) = unread.first_chunk::<12>() else { return Ok(None) };
    let word = |at: usize| u32::from_be_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (kind, length) = (word(4), usize::try_from(word(8)).map_err(|_| Garbled)?);
    if head[..4] != *b"\0RES" || length > MOST {
        return Err(Garbled);
    }
    if unread.len() < 12 + length {
        return Ok(None);
    }
    let data = unread[12..12 + length].to_vec();
    unread.drain(..12 + length);
    Ok(Some(Packet { kind, data }))
}

/// The address with a port.
fn address(server: &str) -> String {
    let has_port = match server.rsplit_once(':') {
        Some((host, port)) => port.parse::<u16>().is_ok() && (!host.contains(':') || host.ends_with(']')),
        None => false,
    };
    match has_port {
        true => server.to_owned(),
        false if server.contains(':') && !server.starts_with('[') => format!("[{server}]:{PORT}"),
        false => format!("{server}:{PORT}"),
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{Connection, address, kind, packet, take};
    use crate::queue::error::QueueError;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;
    use std::time::Duration;

    #[test]
    fn a_server_has_gearmans_port_unless_it_says_another() {
        let known = [
            ("queue", "queue:4730"),
            ("queue:99", "queue:99"),
            ("10.0.0.1", "10.0.0.1:4730"),
            ("::1", "[::1]:4730"),
            ("[::1]", "[::1]:4730"),
            ("[::1]:99", "[::1]:99"),
        ];
        for (server, full) in known {
            assert_eq!(address(server), full);
        }
    }

    #[test]
    fn a_packet_is_that_of_the_protocol() {
        // As the example of a worker in PROTOCOL: CAN_DO with the function `reverse`.
        assert_eq!(packet(*b"\0REQ", kind::CAN_DO, &[b"reverse"]), b"\0REQ\0\0\0\x01\0\0\0\x07reverse");
        let mut unread = packet(*b"\0RES", kind::JOB_ASSIGN_UNIQ, &[b"H:lap:1", b"f", b"key", b"a\0b"]);
        let rest = unread.split_off(20);
        assert!(matches!(take(&mut unread), Ok(None)), "half a packet");
        unread.extend(rest);
        unread.extend(b"\0RES");
        let whole = take(&mut unread).unwrap_or_default_packet();
        assert_eq!((whole.0, whole.1.as_slice()), (kind::JOB_ASSIGN_UNIQ, &b"H:lap:1\0f\0key\0a\0b"[..]));
        assert_eq!(unread, b"\0RES");
        assert!(take(&mut b"HTTP/1.1 400".to_vec()).is_err());
        assert!(take(&mut b"\0RES\0\0\0\x01\xff\xff\xff\xff".to_vec()).is_err(), "4 GB");
    }

    trait Whole {
        fn unwrap_or_default_packet(self) -> (u32, Vec<u8>);
    }

    impl Whole for Result<Option<super::Packet>, super::Garbled> {
        fn unwrap_or_default_packet(self) -> (u32, Vec<u8>) {
            self.ok().flatten().map(|packet| (packet.kind, packet.data)).unwrap_or_default()
        }
    }

    /// A server that answers the first request with these bytes.
    fn server(answer: Vec<u8>) -> (String, std::thread::JoinHandle<()>) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = socket.local_addr().unwrap().to_string();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = socket.accept().unwrap();
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer).unwrap();
            for part in answer.chunks(7) {
                stream.write_all(part).unwrap();
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        (at, thread)
    }

    #[test]
    fn answers_come_in_pieces_and_errors_are_said() {
        let late = packet(*b"\0RES", kind::NOOP, &[]);
        let (at, thread) = server([late, packet(*b"\0RES", kind::JOB_CREATED, &[b"H:x:1"])].concat());
        assert_eq!(Connection::open(&at).unwrap().submit("key", b"data").unwrap(), "H:x:1");
        thread.join().unwrap();
        let (at, thread) = server(packet(*b"\0RES", kind::ERROR, &[b"queue", b"is full"]));
        let refused = Connection::open(&at).unwrap().submit("key", b"data").unwrap_err();
        assert!(refused.to_string().ends_with("refuses: queue: is full"), "{refused}");
        thread.join().unwrap();
        let (at, thread) = server(Vec::new());
        assert!(matches!(Connection::open(&at).unwrap().grab(), Err(QueueError::Gearman { .. })));
        thread.join().unwrap();
    }
}
