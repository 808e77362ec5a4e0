//! Uploads of blobs. The first try sends the whole blob in one request. If it breaks, the blob is sent in pieces, and each try goes on
//! where the registry says that the last one ended.

use super::Registry;
use crate::digest::Digest;
use crate::error::ShareError;
use crate::patience::{is_busy, may_pass};
use crate::remote::{Blob, Remote as _};
use host::http::{Body, HttpUrl, Reply, Request};

/// Largest piece in bytes. A piece stays small enough that a connection which breaks now and then carries it.
const PIECE_BYTES: u64 = 4 << 20;
/// Smallest piece in bytes: each failure halves it.
const LEAST_BYTES: u64 = 64 << 10;

/// An upload that the registry knows.
struct Session {
    /// Where the next piece goes.
    url: HttpUrl,
    /// Bytes that the registry has.
    has: u64,
}

struct Upload<'a> {
    registry: &'a Registry,
    blob: &'a Blob<'a>,
}

/// Sends a blob. `broken`: where an earlier request tried to send it and got no good reply.
pub(crate) fn upload(
    registry: &Registry,
    blob: &Blob<'_>,
    broken: Option<HttpUrl>,
) -> Result<(), ShareError> {
    let upload = Upload { registry, blob };
    let (mut session, mut piece) = (None, blob.bytes);
    if let Some(url) = broken {
        if registry.has_blob(blob.digest, blob.bytes)? {
            return Ok(());
        }
        session = upload.look(&Session { url, has: 0 })?;
        piece = piece.min(PIECE_BYTES);
    }
    let (mut failures, mut most) = (0, session.as_ref().map_or(0, |session| session.has));
    loop {
        let error = match upload.step(&mut session, piece) {
            Ok(true) => return Ok(()),
            Ok(false) => {
                let has = session.as_ref().map_or(0, |session| session.has);
                if has > most {
                    (most, failures) = (has, 0);
                }
                continue;
            }
            Err(error) => error,
        };
        failures += 1;
        let lost = matches!(error, ShareError::Answer { status: 202 | 400 | 404 | 405 | 416, .. })
            && session.is_some();
        if !(may_pass(&error) || lost) || !registry.waits(failures) {
            return Err(error);
        }
        // The last request may have arrived whole, and only its reply was lost.
        if registry.has_blob(blob.digest, blob.bytes)? {
            return Ok(());
        }
        piece = (piece / 2).clamp(LEAST_BYTES, PIECE_BYTES);
        session = match session {
            Some(session) if !lost => upload.look(&session)?,
            _ => None,
        };
        if let Some(session) = session.as_ref().filter(|session| session.has > most) {
            (most, failures) = (session.has, 0);
        }
    }
}

impl Upload<'_> {
    /// Does one request. True: the blob is there.
    fn step(&self, session: &mut Option<Session>, piece: u64) -> Result<bool, ShareError> {
        let Some(current) = session else {
            let request = Request::new("POST", self.registry.url("blobs/uploads/")?);
            let reply = self.registry.insist("begin an upload", &request)?;
            *session = Some(Session { url: self.next(&reply, 202)?, has: 0 });
            return Ok(false);
        };
        if current.has == 0 && piece >= self.blob.bytes {
            let body = Body::File { path: self.blob.path.to_path_buf(), offset: 0, bytes: self.blob.bytes };
            return self.finish(&current.url, body).map(|()| true);
        }
        if current.has == self.blob.bytes {
            return self.finish(&current.url, Body::None).map(|()| true);
        }
        let bytes = piece.min(self.blob.bytes - current.has);
        let range = format!("{}-{}", current.has, current.has + bytes - 1);
        let body = Body::File { path: self.blob.path.to_path_buf(), offset: current.has, bytes };
        let request = Request::new("PATCH", current.url.clone())
            .header("Content-Type", "application/octet-stream")
            .header("Content-Range", range)
            .body(body);
        let reply = self.registry.ask(request)?;
        let url = self.next(&reply, 202)?;
        // A registry that takes a piece has more than before, and not more than it was sent.
        let has = held(&reply).unwrap_or(current.has + bytes);
        if has <= current.has || has > current.has + bytes {
            return Err(self.registry.unexpected("take a piece of a blob", &reply));
        }
        *session = Some(Session { url, has });
        Ok(false)
    }

    fn finish(&self, url: &HttpUrl, body: Body) -> Result<(), ShareError> {
        let reply = self.registry.ask(last_request(url.clone(), self.blob.digest, body))?;
        if reply.status == 201
            || (reply.status == 204 && self.registry.has_blob(self.blob.digest, self.blob.bytes)?)
        {
            return Ok(());
        }
        Err(self.registry.unexpected("take a blob", &reply))
    }

    /// Asks how much of an upload the registry has; `None`: it no longer knows it.
    fn look(&self, session: &Session) -> Result<Option<Session>, ShareError> {
        let request = Request::new("GET", session.url.clone());
        let reply = self.registry.insist("say how much it has", &request)?;
        match (reply.status, reply.location(), held(&reply)) {
            (204, url, Some(has)) if has <= self.blob.bytes => {
                Ok(Some(Session { url: url.unwrap_or_else(|| session.url.clone()), has }))
            }
            (status, ..) if is_busy(status) => Err(self.registry.unexpected("say how much it has", &reply)),
            _ => Ok(None),
        }
    }

    fn next(&self, reply: &Reply, expected: u16) -> Result<HttpUrl, ShareError> {
        match reply.location() {
            Some(url) if reply.status == expected => Ok(url),
            _ => Err(self.registry.unexpected("take a piece of a blob", reply)),
        }
    }
}

/// The request that ends an upload, with the rest of the blob.
pub(crate) fn last_request(url: HttpUrl, digest: &Digest, body: Body) -> Request {
    let url = url.with_query("digest", &digest.to_string());
    Request::new("PUT", url).header("Content-Type", "application/octet-stream").body(body)
}

/// How many bytes the registry has, by its header `Range: 0-LAST`. Nothing and one byte look the same (`0-0`); for a piece, nothing is
/// meant.
fn held(reply: &Reply) -> Option<u64> {
    let range = reply.header("range")?;
    let last: u64 = range.trim_start_matches("bytes=").strip_prefix("0-")?.parse().ok()?;
    Some(if last == 0 { 0 } else { last + 1 })
}
