//! Requests that got no whole reply.

use crate::failure::CommandFailure;
use record::printable::printable;
use std::io;
use thiserror::Error;

/// A request that got no whole reply. A reply with any status, 500 as well, isn't an error here.
#[derive(Debug, Error)]
pub enum HttpError {
    /// curl is missing, or can't be started.
    #[error("HTTP needs curl")]
    Curl(#[from] CommandFailure),
    /// The URL can't be used.
    #[error("`{}` is no usable URL: {why}", printable(.url))]
    Url {
        /// The URL as given, without its query.
        url: String,
        /// What is wrong.
        why: &'static str,
    },
    /// A header can't be sent.
    #[error("the header `{}` can't be sent: its name or value has characters that HTTP doesn't allow", printable(.name))]
    Header {
        /// Its name.
        name: String,
    },
    /// The body can't be read, or curl can't be given it.
    #[error("cannot send the body of {method} {url}")]
    Body {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// The error.
        source: io::Error,
    },
    /// The reply can't be kept.
    #[error("cannot keep the reply of {method} {url}")]
    Keep {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// The error.
        source: io::Error,
    },
    /// The reply is larger than the caller's limit.
    #[error("the reply of {method} {url} is larger than {limit_bytes} bytes")]
    TooLarge {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// The limit.
        limit_bytes: u64,
    },
    /// No connection: the name has no address, nobody listens, the certificate is wrong, or the time is up. Nothing was received.
    #[error("{method} {url}: no reply ({said}); check the address, the network and the proxy settings")]
    Unreachable {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// What curl said.
        said: String,
        /// curl's exit status.
        status: i32,
    },
    /// The connection ended, or the time was up, before the reply was whole.
    #[error("{method} {url}: the connection ended after {received_bytes} bytes of the reply ({said})")]
    Cut {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// Bytes of the body that arrived, and are kept.
        received_bytes: u64,
        /// What curl said.
        said: String,
    },
    /// The reply isn't HTTP as it should be.
    #[error("{method} {url}: odd reply: {why}")]
    Odd {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The user cancelled; curl was ended.
    #[error("{method} {url} was ended, as the user asked")]
    Cancelled {
        /// The method.
        method: String,
        /// The URL without its query.
        url: String,
    },
}

impl HttpError {
    /// Whether the same request may succeed a little later: the connection broke or didn't come about. A wrong certificate or an
    /// impossible URL stays wrong.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        match self {
            // 35, 60, 77...: TLS. 6 (no address) may pass: resolvers fail for moments.
            Self::Unreachable { status, .. } => matches!(status, 5 | 6 | 7 | 28 | 52 | 55 | 56),
            Self::Cut { .. } => true,
            _ => false,
        }
    }
}
