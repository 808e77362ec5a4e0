//! Runs curl for one request.

use super::config::{Given, INPUT, config};
use super::error::HttpError;
use super::head::{Head, HeadReader};
use super::request::{Body, Reply, Request, Sink};
use crate::invocation::Invocation;
use crate::resolve::resolve;
use crate::runner::command;
use crate::ssh::hex;
use crate::tool::Tool;
use record::printable::printable;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest as _, Sha256};
use std::fs::{File, OpenOptions};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::{Child, ChildStderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Bytes of an error's body that are kept.
const ERROR_BYTES: u64 = 64 << 10;
/// Bytes that wait between curl and us, at most: what Linux grants to any user.
const PIPE_BYTES: usize = 1 << 20;
/// Bytes of curl's own messages that are kept.
const SAID_BYTES: u64 = 4 << 10;
/// The variables that name the machine's proxies and certificates.
const ENVIRONMENT: [&str; 11] = [
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "CURL_CA_BUNDLE",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "HOME",
];

/// Sends a request and waits for the whole reply.
///
/// # Errors
/// curl is missing, no whole reply came, or it can't be kept. A status such as 404 is no error.
pub fn send(request: &Request) -> Result<Reply, HttpError> {
    send_until(request, &AtomicBool::new(false))
}

/// As [`send`]; ends within 0.2 s when `cancel` is set.
///
/// # Errors
/// As [`send`], and [`HttpError::Cancelled`].
pub fn send_until(request: &Request, cancel: &AtomicBool) -> Result<Reply, HttpError> {
    let mut request = request.clone();
    loop {
        let reply = once(&request, cancel)?;
        let redirected = matches!(reply.status, 301 | 302 | 303 | 307 | 308);
        let safe = matches!(request.method.as_str(), "GET" | "HEAD");
        if !redirected || !safe || request.redirects == 0 {
            return Ok(reply);
        }
        let Some(to) = reply.location() else { return Ok(reply) };
        if request.url.is_tls() && !to.is_tls() {
            return Err(odd(&request, format!("it leads from https to {to}")));
        }
        if to.origin() != request.url.origin() {
            request.headers.retain(|header| !header.secret);
        }
        request.url = to;
        request.redirects -= 1;
    }
}

fn odd(request: &Request, why: String) -> HttpError {
    HttpError::Odd { method: request.method.clone(), url: request.url.to_string(), why }
}

fn once(request: &Request, cancel: &AtomicBool) -> Result<Reply, HttpError> {
    let body = body_file(request).map_err(body_error(request))?;
    let given = match (&body, &request.body) {
        (Some(_), Body::File { .. }) => {
            can_be_sent_to(request)?;
            Given::Upload(INPUT.to_owned())
        }
        (Some(_), _) => Given::Data,
        (None, _) => Given::Nothing,
    };
    let there = resume_from(request);
    let config = config(request, &given, there)?;
    let mut curl = Curl::start(&config, body)?;
    let mut taker = Taker::new(request, there);
    let ended = curl.converse(request, cancel, &mut |bytes| taker.take(bytes))?;
    conclude(request, taker, ended)
}

/// Why the body of a request can't be sent.
pub(crate) fn body_error(request: &Request) -> impl FnOnce(io::Error) -> HttpError {
    let (method, url) = (request.method.clone(), request.url.to_string());
    move |source| HttpError::Body { method, url, source }
}

/// Refuses a URL to which curl would add the name of the file.
pub(crate) fn can_be_sent_to(request: &Request) -> Result<(), HttpError> {
    if request.url.target().ends_with('/') {
        let url = request.url.to_string();
        return Err(HttpError::Url { url, why: "a file can't be sent to a path that ends with /" });
    }
    Ok(())
}

/// The body as an open file, which becomes curl's standard input: it needs no name, and no copy on a disk.
fn body_file(request: &Request) -> io::Result<Option<File>> {
    match &request.body {
        Body::None => Ok(None),
        Body::Bytes(bytes) => nameless(&bytes[..]).map(Some),
        Body::File { path, offset, bytes } => {
            let mut file = File::open(path)?;
            let length = file.metadata()?.len();
            if *offset == 0 && *bytes == length {
                return Ok(Some(file));
            }
            if offset.checked_add(*bytes).is_none_or(|end| end > length) {
                return Err(io::Error::new(
                    io::ErrorKind::UnexpectedEof,
                    "the file is shorter than the part of it",
                ));
            }
            if *bytes > Body::PART_BYTES {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "the part of the file is too large"));
            }
            file.seek(SeekFrom::Start(*offset))?;
            nameless(file.take(*bytes)).map(Some)
        }
    }
}

pub(crate) fn nameless(mut from: impl io::Read) -> io::Result<File> {
    let mut file = File::from(memfd_create("diskproof-http", MemfdFlags::CLOEXEC)?);
    io::copy(&mut from, &mut file)?;
    Ok(file)
}

/// Where another process opens a file that has no name.
pub(crate) fn path_of(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

fn resume_from(request: &Request) -> Option<u64> {
    let Sink::File { path, resume: true, .. } = &request.sink else { return None };
    std::fs::metadata(path).ok().map(|meta| meta.len()).filter(|there| *there > 0)
}

/// A running curl, killed when it is dropped before its end, or when this process dies.
pub(crate) struct Curl {
    child: Child,
    /// Its configuration, which it opens by this process's descriptor.
    _config: File,
    said: Option<thread::JoinHandle<String>>,
    done: bool,
}

impl Drop for Curl {
    fn drop(&mut self) {
        if !self.done {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

impl Curl {
    /// If this process is dead before curl begins, curl finds no configuration, so it has no URL and sends nothing. Later, the kernel
    /// kills curl with this process.
    pub(crate) fn start(config: &str, body: Option<File>) -> Result<Self, HttpError> {
        let path = resolve(Tool::Setpriv)?;
        let call = Invocation::new(Tool::Setpriv).args(["--pdeathsig", "KILL"]).arg(resolve(Tool::Curl)?);
        let failed = |source| HttpError::Curl(crate::CommandFailure::Spawn { argv: call.argv(), source });
        let config = nameless(config.as_bytes()).map_err(failed)?;
        let call = call.clone().args(["--disable", "--config", &path_of(&config)]);
        let environment = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
        let mut command = command(&call, &path);
        if let Some(body) = body {
            command.stdin(body);
        }
        let mut child = command.envs(environment).spawn().map_err(failed)?;
        let said = child.stderr.take().map(|stderr| thread::spawn(move || first_of(stderr)));
        Ok(Self { child, _config: config, said, done: false })
    }

    /// Gives the taker everything that curl prints, piece by piece, and returns curl's status and message.
    pub(crate) fn converse(
        &mut self,
        request: &Request,
        cancel: &AtomicBool,
        taker: &mut dyn FnMut(&[u8]) -> Result<(), HttpError>,
    ) -> Result<(i32, String), HttpError> {
        let failed = |source| {
            HttpError::Curl(crate::CommandFailure::Spawn { argv: vec![Tool::Curl.name().to_owned()], source })
        };
        let mut stdout =
            self.child.stdout.take().ok_or_else(|| failed(io::Error::other("it has no output")))?;
        // So curl needn't wait for us after each piece. If the pipe stays small, everything only takes longer.
        let _ = rustix::pipe::fcntl_setpipe_size(&stdout, PIPE_BYTES);
        let mut buffer = vec![0_u8; PIPE_BYTES / 4];
        let tick = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        loop {
            if cancel.load(Ordering::Relaxed) {
                let (method, url) = (request.method.clone(), request.url.to_string());
                return Err(HttpError::Cancelled { method, url });
            }
            match poll(&mut [PollFd::new(&stdout, PollFlags::IN)], Some(&tick)) {
                Ok(0) | Err(Errno::INTR) => continue,
                Ok(_) => {}
                Err(error) => return Err(failed(error.into())),
            }
            match stdout.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => taker(&buffer[..read])?,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(error)),
            }
        }
        let status = self.child.wait().map_err(failed)?;
        self.done = true;
        let said = self.said.take().and_then(|said| said.join().ok()).unwrap_or_default();
        Ok((status.code().unwrap_or(-1), said))
    }
}

fn first_of(mut stderr: ChildStderr) -> String {
    let mut kept = Vec::new();
    let _ = (&mut stderr).take(SAID_BYTES).read_to_end(&mut kept);
    let _ = io::copy(&mut stderr, &mut io::sink());
    let text = String::from_utf8_lossy(&kept);
    let text = text.trim().strip_prefix("curl: ").unwrap_or(text.trim());
    printable(text.lines().next().unwrap_or_default()).to_string()
}

/// Sorts what arrives into head and body, and puts the body where it belongs.
pub(crate) struct Taker<'a> {
    request: &'a Request,
    there: Option<u64>,
    reader: HeadReader,
    head: Option<Head>,
    file: Option<File>,
    /// Of a file that begins anew.
    digest: Option<Sha256>,
    memory: Vec<u8>,
    received: u64,
}

impl<'a> Taker<'a> {
    pub(crate) fn new(request: &'a Request, there: Option<u64>) -> Self {
        Self {
            request,
            there,
            reader: HeadReader::default(),
            head: None,
            file: None,
            digest: None,
            memory: Vec::new(),
            received: 0,
        }
    }

    pub(crate) fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        if self.head.is_some() {
            return self.keep(bytes);
        }
        let found = self.reader.take(bytes).map_err(|why| odd(self.request, why))?;
        if let Some((head, rest)) = found {
            self.open(&head)?;
            self.head = Some(head);
            return self.keep(&rest);
        }
        Ok(())
    }

    /// Opens the file for a reply that belongs into it.
    fn open(&mut self, head: &Head) -> Result<(), HttpError> {
        if head.header("trailer").is_some() {
            // curl would print it behind the body
            return Err(odd(
                self.request,
                "it announces a trailer, which this diskproof doesn't know".to_owned(),
            ));
        }
        let Sink::File { path, .. } = &self.request.sink else { return Ok(()) };
        let append = match (head.status, self.there) {
            (206, Some(there)) => {
                let range = head.header("content-range").unwrap_or_default();
                if !range.starts_with(&format!("bytes {there}-")) {
                    let why = format!("asked for the bytes from {there}, it sends `{}`", printable(range));
                    return Err(odd(self.request, why));
                }
                true
            }
            (200, _) => false,
            (206, None) => false,
            _ => return Ok(()),
        };
        let mut options = OpenOptions::new();
        options.write(true).create(true).append(append).truncate(!append);
        self.file = Some(options.open(path).map_err(|source| self.unkept(source))?);
        self.digest = (!append).then(Sha256::new);
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.received += bytes.len() as u64;
        let succeeded = self.head.as_ref().is_some_and(|head| (200..300).contains(&head.status));
        let (limit_bytes, before) = match &self.request.sink {
            Sink::File { limit_bytes, .. } if self.file.is_some() => {
                let appended = self.head.as_ref().is_some_and(|head| head.status == 206);
                (*limit_bytes, self.there.filter(|_| appended).unwrap_or(0))
            }
            Sink::Memory { limit_bytes } if succeeded => (*limit_bytes, 0),
            _ => {
                let room = ERROR_BYTES.saturating_sub(self.memory.len() as u64);
                let kept = usize::try_from(room).map_or(bytes.len(), |room| room.min(bytes.len()));
                self.memory.extend_from_slice(&bytes[..kept]);
                return Ok(());
            }
        };
        if before.saturating_add(self.received) > limit_bytes {
            let (method, url) = (self.request.method.clone(), self.request.url.to_string());
            return Err(HttpError::TooLarge { method, url, limit_bytes });
        }
        match &mut self.file {
            Some(file) => file.write_all(bytes).map_err(|source| self.unkept(source))?,
            None => self.memory.extend_from_slice(bytes),
        }
        if let Some(digest) = &mut self.digest {
            digest.update(bytes);
        }
        Ok(())
    }

    fn unkept(&self, source: io::Error) -> HttpError {
        HttpError::Keep { method: self.request.method.clone(), url: self.request.url.to_string(), source }
    }
}

pub(crate) fn conclude(
    request: &Request,
    taker: Taker<'_>,
    (status, said): (i32, String),
) -> Result<Reply, HttpError> {
    let (method, url) = (request.method.clone(), request.url.to_string());
    match taker.head {
        // A server that refuses a body may close before it has read everything; then curl fails to send, but the reply is whole.
        Some(head) if status == 0 || (status == 55 && head.status >= 400) => Ok(Reply {
            status: head.status,
            headers: head.headers,
            body: taker.memory,
            received_bytes: taker.received,
            sha256: taker.digest.map(|digest| hex(&digest.finalize())),
            url: request.url.clone(),
        }),
        Some(_) => Err(HttpError::Cut { method, url, received_bytes: taker.received, said }),
        None => Err(HttpError::Unreachable { method, url, said, status }),
    }
}
