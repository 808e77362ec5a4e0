//! HTTP requests, by `curl`. Everything secret (the URL with its query, the headers, the body) reaches curl by files without a name and by
//! its standard input, never by arguments. Memory stays flat: files are sent and received piece by piece.
//!
//! Nothing is retried here: only the caller knows whether a request may be sent twice.

mod batch;
mod config;
mod error;
mod exchange;
mod head;
mod request;
mod url;

pub use batch::send_batch;
pub use error::HttpError;
pub use exchange::{send, send_until};
pub use request::{Body, Reply, Request, Sink};
pub use url::{HttpUrl, percent_encoded};
