//! Reads objects.

use super::bucket::Bucket;
use super::call::{Call, Failed};
use crate::base64;
use crate::digest::Digest;
use crate::error::ShareError;
use host::http::{Reply, Request};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The content of a small object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Content {
    /// The content.
    pub bytes: Vec<u8>,
    /// Names this content; [`super::Condition::IfMatch`] takes it.
    pub etag: String,
}

impl Bucket {
    /// Fetches an object to memory; `None`: there is none of this key. If the server has a SHA-256 of it, it is checked.
    ///
    /// # Errors
    /// No answer, no permission, or it is larger than the limit.
    pub fn get(&self, key: &str, limit_bytes: u64) -> Result<Option<Content>, ShareError> {
        let call = Call::new("send an object", "GET", self.address.key(key))
            .header("x-amz-checksum-mode", "ENABLED");
        let reply = self.insist(&call, &|request| request.at_most(limit_bytes))?;
        match reply.status {
            200 => {
                let etag = reply.header("etag").unwrap_or_default().to_owned();
                self.check(&reply)?;
                Ok(Some(Content { bytes: reply.body, etag }))
            }
            404 => Ok(None),
            _ => Err(self.unexpected(&call, &reply)),
        }
    }

    /// A checksum of an upload in parts covers the checksums of the parts, and is none of the content.
    fn check(&self, reply: &Reply) -> Result<(), ShareError> {
        let Some(expected) = reply.header("x-amz-checksum-sha256").filter(|sum| !sum.contains('-')) else {
            return Ok(());
        };
        let found = Digest::of(&reply.body);
        let expected = base64::decode(expected).and_then(|bytes| Digest::from_raw(&bytes));
        let expected = expected.ok_or_else(|| self.unreadable("its checksum isn't one".to_owned()))?;
        if found == expected {
            return Ok(());
        }
        Err(ShareError::Digest { from: self.address.to_string(), expected, found })
    }

    /// Fetches an object to a file, and returns its size in bytes. With `resume`, what the file has already is taken as the
    /// beginning of the object, and only the rest is fetched; else the file begins anew.
    ///
    /// # Errors
    /// There is none, it changes while it is fetched, no answer, no permission, or the file can't be written.
    pub fn get_to(&self, key: &str, path: &Path, resume: bool) -> Result<u64, ShareError> {
        let object = self.head(key)?.ok_or_else(|| self.missing(key))?;
        if !resume {
            fs::File::create(path).map_err(ShareError::file("write", path))?;
        }
        self.fetch(key, path, object.bytes, Some(&object.etag))?;
        Ok(object.bytes)
    }

    /// Fetches an object of a known size, and goes on where the file ends. Returns its digest if all of it came at once.
    pub(crate) fn fetch(
        &self,
        key: &str,
        path: &Path,
        bytes: u64,
        etag: Option<&str>,
    ) -> Result<Option<Digest>, ShareError> {
        let there = || fs::metadata(path).map_or(0, |about| about.len());
        let mut call = Call::new("send an object", "GET", self.address.key(key));
        if let Some(etag) = etag.filter(|etag| !etag.is_empty()) {
            call = call.header("if-match", etag);
        }
        let shape =
            |request: Request| request.into_file(path, bytes, true).idle_limit(Duration::from_secs(60));
        let (mut failures, mut most) = (0, there());
        if there() > bytes {
            fs::remove_file(path).map_err(ShareError::file("remove", path))?;
        }
        loop {
            if there() == bytes && path.exists() {
                return Ok(None);
            }
            let failed = match self.once(&call, &shape) {
                Ok(reply) if matches!(reply.status, 200 | 206) && there() == bytes => {
                    return Ok(reply.sha256.as_deref().and_then(Digest::from_hex));
                }
                Ok(reply) if reply.status == 404 => return Err(self.missing(key)),
                Ok(reply) if reply.status == 412 => {
                    return Err(self.unreadable(format!("the object {key} changed while it was fetched")));
                }
                Ok(reply) => {
                    if reply.status == 416 {
                        // What is there can't be the beginning of it.
                        fs::remove_file(path).map_err(ShareError::file("remove", path))?;
                    }
                    let may_pass = matches!(reply.status, 200 | 206 | 416);
                    Failed { error: self.unexpected(&call, &reply), may_pass }
                }
                Err(failed) => failed,
            };
            let has = there();
            // More than ever before: a server that makes us begin anew again and again gets nowhere.
            failures = if has > most { 1 } else { failures + 1 };
            most = most.max(has);
            if !failed.may_pass || !self.waits(failures) {
                return Err(failed.error);
            }
        }
    }

    pub(crate) fn missing(&self, key: &str) -> ShareError {
        ShareError::Missing { at: self.address.join(key).to_string() }
    }
}
