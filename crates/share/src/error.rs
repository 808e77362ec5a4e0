//! Errors of sharing.

use crate::digest::Digest;
use host::http::HttpError;
use record::id::RunId;
use record::printable::{Shown as _, printable};
use std::io;
use std::path::PathBuf;
use store::StoreError;
use thiserror::Error;

/// Why a run can't be sent, fetched or read.
#[derive(Debug, Error)]
pub enum ShareError {
    /// The address isn't one.
    #[error("`{}` is no address of a run: {why}", printable(.address))]
    Address {
        /// As given.
        address: String,
        /// What is wrong.
        why: String,
    },
    /// The results file.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A file of this machine.
    #[error("cannot {doing} {}", path.shown())]
    File {
        /// What was being done.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// A record can't be written as JSON.
    #[error("cannot pack {what}")]
    Pack {
        /// Which record.
        what: String,
        /// The error.
        source: io::Error,
    },
    /// What was fetched isn't a run, or not an image.
    #[error("{from} holds nothing of this kind that this diskproof reads: {why}")]
    Unreadable {
        /// The address.
        from: String,
        /// What is wrong with it.
        why: String,
    },
    /// What was fetched isn't what its digest says.
    #[error(
        "{from} sent other bytes than its digest says: expected {expected}, got {found}; nothing was stored"
    )]
    Digest {
        /// The address.
        from: String,
        /// Expected.
        expected: Digest,
        /// Received.
        found: Digest,
    },
    /// Another run has the name.
    #[error(
        "this store already has a run {run}, and it isn't the one at {from} (names may have been replaced there); --as NAME stores \
         it under another name"
    )]
    Taken {
        /// The run.
        run: RunId,
        /// The address.
        from: String,
    },
    /// Something else has the tag.
    #[error("{at} already holds something else; choose another tag or prefix, or replace it with --replace")]
    Occupied {
        /// The address.
        at: String,
    },
    /// Nothing is there.
    #[error("there is nothing at {at}: check the address")]
    Missing {
        /// The address.
        at: String,
    },
    /// There is no such bucket.
    #[error("there is no bucket for {at}: check its name and the endpoint, or make it, e.g. by `aws s3 mb`")]
    NoBucket {
        /// The address.
        at: String,
    },
    /// The bucket is in another region.
    #[error("{at} is in the region {region}, and {asked} was asked: set AWS_REGION={region}")]
    Region {
        /// The address.
        at: String,
        /// Its region.
        region: String,
        /// The region that the settings name.
        asked: String,
    },
    /// This machine's clock or the server's is wrong.
    #[error(
        "{at} refuses the time of this request: it is {here} on this machine and {there} on the server; set the clock of this machine"
    )]
    Clock {
        /// The address.
        at: String,
        /// Time on this machine.
        here: String,
        /// Time on the server.
        there: String,
    },
    /// The server has no conditional writes.
    #[error(
        "{at} can't write only where nothing is (If-None-Match, If-Match), so two writers could replace each other's objects"
    )]
    Conditions {
        /// The address.
        at: String,
    },
    /// An object is too large.
    #[error("{at} takes objects of at most {limit_bytes} bytes, and this one has {bytes}")]
    TooLarge {
        /// The address.
        at: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit_bytes: u64,
    },
    /// No permission.
    #[error("{at} refuses: {said}; {remedy}")]
    Denied {
        /// The address.
        at: String,
        /// What the server said.
        said: String,
        /// How to give credentials.
        remedy: &'static str,
    },
    /// A registry leads to a place without encryption.
    #[error(
        "{at} leads to {url}, without encryption; --plain-http or the setting plain_http (DISKPROOF_PLAIN_HTTP=allow) allows that"
    )]
    Plain {
        /// The address.
        at: String,
        /// Where it leads.
        url: String,
    },
    /// The server answers something else than it should.
    #[error("{at} answers {status} when asked to {doing}: {said}")]
    Answer {
        /// The address.
        at: String,
        /// What was being done.
        doing: &'static str,
        /// The status.
        status: u16,
        /// What the server said.
        said: String,
    },
    /// No whole reply.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// Credentials can't be read.
    #[error("cannot read credentials: {why}")]
    Credentials {
        /// Why; never the credentials themselves.
        why: String,
    },
    /// A signature can't be made or is wrong.
    #[error("{0}")]
    Signature(String),
    /// The archives would take too much of the disk that holds the results.
    #[error(
        "it has {needed_bytes} bytes, which is more than half of the {free_bytes} bytes that are free at {}; make room, or \
         set another results file by --store", path.shown()
    )]
    Room {
        /// Where the archives would arrive.
        path: PathBuf,
        /// Bytes of the archives.
        needed_bytes: u64,
        /// Bytes that are free there.
        free_bytes: u64,
    },
    /// Another process of the same store measures the run.
    #[error("another diskproof goes on with run {run} on this machine: {} is locked", path.shown())]
    Controlled {
        /// The run.
        run: RunId,
        /// The lock.
        path: PathBuf,
    },
    /// Another pull of the same run is under way.
    #[error("another diskproof is fetching the same: {} is locked", path.shown())]
    Busy {
        /// The lock.
        path: PathBuf,
    },
}

impl ShareError {
    pub(crate) fn file(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::File { doing, path, source }
    }

    /// Whether it is the user's to correct: the address, the name, the tag.
    #[must_use]
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Address { .. }
                | Self::Taken { .. }
                | Self::Occupied { .. }
                | Self::Missing { .. }
                | Self::NoBucket { .. }
                | Self::Region { .. }
        )
    }
}
