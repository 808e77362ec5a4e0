//! A request and its reply.

use super::url::HttpUrl;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Largest reply that is kept in memory, unless the caller sets another limit.
const REPLY_BYTES: u64 = 16 << 20;

/// What is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// Nothing.
    None,
    /// These bytes.
    Bytes(Vec<u8>),
    /// A file, or a part of it.
    File {
        /// Its path.
        path: PathBuf,
        /// The first byte.
        offset: u64,
        /// How many. A part of a file is copied to memory before; at most [`Body::PART_BYTES`] then.
        bytes: u64,
    },
}

impl Body {
    /// The largest part of a file that is sent in one request. A whole file may have any size.
    pub const PART_BYTES: u64 = 64 << 20;
}

/// Where the body of a reply goes. The body of an error goes to memory in any case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sink {
    /// To memory; a larger reply is an error.
    Memory {
        /// The limit.
        limit_bytes: u64,
    },
    /// To a file, for the statuses 200 and 206.
    File {
        /// Its path.
        path: PathBuf,
        /// A larger file is an error.
        limit_bytes: u64,
        /// Asks for what the file lacks. If the server sends it (206), it is appended; if the server sends everything (200), the
        /// file begins anew. False: the file begins anew.
        resume: bool,
    },
}

/// A request. Its URL and its headers may be secret; curl gets them by a file without a name.
#[derive(Clone)]
pub struct Request {
    pub(crate) method: String,
    pub(crate) url: HttpUrl,
    pub(crate) headers: Vec<Header>,
    pub(crate) body: Body,
    pub(crate) sink: Sink,
    pub(crate) redirects: u8,
    pub(crate) connect_limit: Duration,
    pub(crate) idle_limit: Duration,
    pub(crate) limit: Option<Duration>,
}

#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) secret: bool,
}

/// Without headers and query, which may be secret.
impl std::fmt::Debug for Request {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.method, self.url)
    }
}

impl Request {
    /// Creates a request without a body. It may take any time as long as bytes arrive or leave: it ends after 15 s without a
    /// connection and after 60 s without a byte.
    #[must_use]
    pub fn new(method: &str, url: HttpUrl) -> Self {
        Self {
            method: method.to_owned(),
            url,
            headers: Vec::new(),
            body: Body::None,
            sink: Sink::Memory { limit_bytes: REPLY_BYTES },
            redirects: 0,
            connect_limit: Duration::from_secs(15),
            idle_limit: Duration::from_secs(60),
            limit: None,
        }
    }

    /// Returns where it goes.
    #[must_use]
    pub fn url(&self) -> &HttpUrl {
        &self.url
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.to_owned(), value: value.into(), secret: false });
        self
    }

    /// Adds a header that only this host may see: a redirection to another one doesn't carry it.
    #[must_use]
    pub fn secret_header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push(Header { name: name.to_owned(), value: value.into(), secret: true });
        self
    }

    /// Sets the body.
    #[must_use]
    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Keeps the reply in memory, up to this size.
    #[must_use]
    pub fn at_most(mut self, limit_bytes: u64) -> Self {
        self.sink = Sink::Memory { limit_bytes };
        self
    }

    /// Writes the reply to a file, up to this size; see [`Sink::File`].
    #[must_use]
    pub fn into_file(mut self, path: impl AsRef<Path>, limit_bytes: u64, resume: bool) -> Self {
        self.sink = Sink::File { path: path.as_ref().to_path_buf(), limit_bytes, resume };
        self
    }

    /// Follows up to this many redirections of a GET or HEAD; none without it. Secret headers never go to another host, and
    /// `https` never becomes `http`.
    #[must_use]
    pub fn follow(mut self, redirects: u8) -> Self {
        self.redirects = redirects;
        self
    }

    /// Sets how long the connection may take to come about, at least 1 ms.
    #[must_use]
    pub fn connect_limit(mut self, limit: Duration) -> Self {
        self.connect_limit = limit;
        self
    }

    /// Sets how long no byte may move, in whole seconds.
    #[must_use]
    pub fn idle_limit(mut self, limit: Duration) -> Self {
        self.idle_limit = limit;
        self
    }

    /// Sets how long the whole request may take.
    #[must_use]
    pub fn time_limit(mut self, limit: Duration) -> Self {
        self.limit = Some(limit);
        self
    }
}

/// A whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The status, e.g. 200.
    pub status: u16,
    /// The headers in their order; names in small letters.
    pub headers: Vec<(String, String)>,
    /// The body, if it went to memory. Of an error's body only the first 64 KiB are kept.
    pub body: Vec<u8>,
    /// Bytes of the body that arrived, wherever they went.
    pub received_bytes: u64,
    /// The SHA-256 of the file in hexadecimal digits, if this reply is all of it.
    pub sha256: Option<String>,
    /// The URL that replied: another one than asked after redirections.
    pub url: HttpUrl,
}

impl Reply {
    /// Returns the first header of this name (small letters).
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the URL of the header `Location`.
    #[must_use]
    pub fn location(&self) -> Option<HttpUrl> {
        self.header("location").and_then(|location| self.url.join(location).ok())
    }

    /// Whether the status is 2xx.
    #[must_use]
    pub fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
