//! Writes objects: in one request up to a size, else in parts. A small object that doesn't arrive is sent whole again; a larger one goes
//! in parts then, so that a connection that breaks now and then carries it. An object becomes visible whole or not at all.

use super::bucket::Bucket;
use super::call::{Call, Failed};
use super::reply::{child, escaped, read, refusal};
use crate::base64;
use crate::error::ShareError;
use host::http::{Body, Reply, send};
use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

/// Largest object in bytes that the first try sends in one request.
const WHOLE_BYTES: u64 = 64 << 20;
/// Bytes of a part. S3 takes no less than 5 MiB but for the last one.
const PART_BYTES: u64 = 8 << 20;
/// Most parts of an object at S3.
const MOST_PARTS: u64 = 10_000;
/// Names the write that made an object, so that a writer which got no answer recognizes its own.
const WRITE: &str = "x-amz-meta-diskproof-write";

/// When a write may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// In any case.
    None,
    /// If there is no object of this key.
    IfAbsent,
    /// If the object there has this ETag.
    IfMatch(String),
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Put {
    /// The object is there.
    Done {
        /// Names its content.
        etag: String,
    },
    /// The condition doesn't hold; nothing was written.
    Refused,
}

/// What is written.
#[derive(Debug, Clone, Copy)]
pub enum Source<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// A file, which mustn't change meanwhile.
    File(&'a Path),
}

/// One write, whatever number of requests it takes.
struct Write<'a> {
    bucket: &'a Bucket,
    key: String,
    source: Source<'a>,
    bytes: u64,
    condition: &'a Condition,
    /// Its name, in the object's metadata.
    name: String,
}

impl Bucket {
    /// Writes an object. A server that can't check conditions makes it fail; one that ignores them is found out by
    /// [`Self::keeps_conditions`].
    ///
    /// # Errors
    /// No answer, no permission, or the file can't be read.
    pub fn put(&self, key: &str, source: Source<'_>, condition: &Condition) -> Result<Put, ShareError> {
        let bytes = match source {
            Source::Bytes(bytes) => bytes.len() as u64,
            Source::File(path) => fs::metadata(path).map_err(ShareError::file("read", path))?.len(),
        };
        let key = self.address.key(key);
        Write { bucket: self, key, source, bytes, condition, name: random_name()? }.perform()
    }

    /// Whether the server keeps [`Condition::IfAbsent`] and [`Condition::IfMatch`]: it writes, changes and removes an object of its own
    /// below the prefix.
    ///
    /// # Errors
    /// As for [`Self::put`].
    pub fn keeps_conditions(&self) -> Result<bool, ShareError> {
        let key = format!("conditions-{}", random_name()?);
        let tried = self.tries_conditions(&key);
        self.delete(&key)?;
        match tried {
            Err(ShareError::Conditions { .. }) => Ok(false),
            tried => tried,
        }
    }

    fn tries_conditions(&self, key: &str) -> Result<bool, ShareError> {
        let put =
            |text: &str, condition: &Condition| self.put(key, Source::Bytes(text.as_bytes()), condition);
        let Put::Done { etag } = put("1", &Condition::IfAbsent)? else { return Ok(false) };
        let held = put("2", &Condition::IfAbsent)? == Put::Refused
            && matches!(put("3", &Condition::IfMatch(etag.clone()))?, Put::Done { .. })
            && put("4", &Condition::IfMatch(etag))? == Put::Refused;
        Ok(held)
    }
}

/// 128 random bits.
fn random_name() -> Result<String, ShareError> {
    let mut bytes = [0_u8; 16];
    let random = Path::new("/dev/urandom");
    File::open(random)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(ShareError::file("read", random))?;
    Ok(crate::digest::hex(&bytes))
}

impl Write<'_> {
    fn perform(&self) -> Result<Put, ShareError> {
        if self.bytes > WHOLE_BYTES {
            return self.in_parts(false);
        }
        let call = self.content(self.call("take an object", "PUT"), 0, self.bytes)?;
        let sum = base64::encode(&call.content.raw());
        let call = self.conditional(call.header(WRITE, &self.name).header("x-amz-checksum-sha256", sum));
        let mut failures = 0;
        loop {
            let failed = match self.bucket.once(&call, &|request| request) {
                Ok(reply) => match self.judge(&call, &reply, etag_of(&reply), failures > 0)? {
                    Some(put) => return Ok(put),
                    None => Failed { error: self.bucket.unexpected(&call, &reply), may_pass: true },
                },
                Err(failed) => failed,
            };
            failures += 1;
            if !failed.may_pass || !self.bucket.waits(failures) {
                return Err(failed.error);
            }
            if self.bytes > PART_BYTES {
                return self.in_parts(true);
            }
        }
    }

    fn call(&self, doing: &'static str, method: &'static str) -> Call {
        Call::new(doing, method, self.key.clone())
    }

    fn content(&self, call: Call, offset: u64, bytes: u64) -> Result<Call, ShareError> {
        match self.source {
            Source::File(_) if bytes == 0 => Ok(call.bytes(b"")),
            Source::File(path) => call.file(path, offset, bytes),
            Source::Bytes(all) => {
                let part = usize::try_from(offset).ok().zip(usize::try_from(offset + bytes).ok());
                let part = part.and_then(|(from, to)| all.get(from..to)).unwrap_or_default();
                Ok(call.bytes(part))
            }
        }
    }

    fn conditional(&self, call: Call) -> Call {
        match self.condition {
            Condition::None => call,
            Condition::IfAbsent => call.header("if-none-match", "*"),
            Condition::IfMatch(etag) => call.header("if-match", etag),
        }
    }

    /// Judges the reply to the request that makes the object visible. `None`: others write at the same moment, and it may be tried
    /// again.
    fn judge(
        &self,
        call: &Call,
        reply: &Reply,
        etag: Option<String>,
        tried: bool,
    ) -> Result<Option<Put>, ShareError> {
        match (reply.status, self.condition) {
            (200..=299, _) => match etag {
                Some(etag) => Ok(Some(Put::Done { etag })),
                None => self.own()?.map(Some).ok_or_else(|| self.bucket.unexpected(call, reply)),
            },
            // A try without an answer may have written it.
            (412, _) | (404, Condition::IfMatch(_)) => match tried.then(|| self.own()).transpose()?.flatten()
            {
                Some(put) => Ok(Some(put)),
                None => Ok(Some(Put::Refused)),
            },
            (409, _) => Ok(None),
            _ => Err(self.bucket.unexpected(call, reply)),
        }
    }

    /// The object, if this write made it.
    fn own(&self) -> Result<Option<Put>, ShareError> {
        let reply = self.bucket.insist(&self.call("look for an object", "HEAD"), &|request| request)?;
        let is_own = reply.status == 200 && reply.header(WRITE) == Some(&self.name);
        Ok(etag_of(&reply).filter(|_| is_own).map(|etag| Put::Done { etag }))
    }

    /// Sends the object in parts. `tried`: an earlier request may have written all of it, and its answer is lost.
    fn in_parts(&self, tried: bool) -> Result<Put, ShareError> {
        let part_bytes = self.bytes.div_ceil(MOST_PARTS).max(PART_BYTES);
        if part_bytes > Body::PART_BYTES {
            return Err(ShareError::TooLarge {
                at: self.bucket.address.to_string(),
                bytes: self.bytes,
                limit_bytes: MOST_PARTS * Body::PART_BYTES,
            });
        }
        let call =
            self.call("begin an upload in parts", "POST").query("uploads", "").header(WRITE, &self.name);
        let reply = self.bucket.insist(&call, &|request| request)?;
        if !reply.is_success() {
            return Err(self.bucket.unexpected(&call, &reply));
        }
        let upload = read(&reply, "InitiateMultipartUploadResult", |node| child(node, "UploadId"))
            .map_err(|why| self.bucket.unreadable(format!("its answer to an upload can't be read: {why}")))?;
        let put = self.parts(&upload, part_bytes, tried);
        if !matches!(put, Ok(Put::Done { .. })) {
            self.abandon(&upload);
        }
        put
    }

    fn parts(&self, upload: &str, part_bytes: u64, tried: bool) -> Result<Put, ShareError> {
        let mut list =
            String::from("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">");
        for number in 0..self.bytes.div_ceil(part_bytes) {
            let offset = number * part_bytes;
            let call = self.call("take a part of an object", "PUT");
            let call = call.query("partNumber", (number + 1).to_string()).query("uploadId", upload);
            let call = self.content(call, offset, part_bytes.min(self.bytes - offset))?;
            let reply = self.bucket.insist(&call, &|request| request)?;
            let Some(etag) = etag_of(&reply).filter(|_| reply.is_success()) else {
                return Err(self.bucket.unexpected(&call, &reply));
            };
            list.push_str(&format!(
                "<Part><PartNumber>{}</PartNumber><ETag>{}</ETag></Part>",
                number + 1,
                escaped(&etag)
            ));
        }
        list.push_str("</CompleteMultipartUpload>");
        self.complete(upload, &list, tried)
    }

    fn complete(&self, upload: &str, list: &str, tried: bool) -> Result<Put, ShareError> {
        let call =
            self.call("put an object together", "POST").query("uploadId", upload).bytes(list.as_bytes());
        let call = self.conditional(call.header("content-type", "application/xml"));
        let mut failures = 0;
        loop {
            let failed = match self.bucket.once(&call, &|request| request) {
                // S3 sends 200 before it is done, so an error may follow.
                Ok(reply) if reply.status == 200 && refusal(&reply).may_pass() => {
                    Failed { error: self.bucket.unexpected(&call, &reply), may_pass: true }
                }
                // The upload is gone if a try without an answer completed it.
                Ok(reply) if reply.status == 404 && failures > 0 => match self.own()? {
                    Some(put) => return Ok(put),
                    None => self.bucket.unexpected(&call, &reply).into(),
                },
                Ok(reply) => {
                    let etag = read(&reply, "CompleteMultipartUploadResult", |node| child(node, "ETag")).ok();
                    match self.judge(&call, &reply, etag, tried || failures > 0)? {
                        Some(put) => return Ok(put),
                        None => Failed { error: self.bucket.unexpected(&call, &reply), may_pass: true },
                    }
                }
                Err(failed) => failed,
            };
            failures += 1;
            if !failed.may_pass || !self.bucket.waits(failures) {
                return Err(failed.error);
            }
        }
    }

    /// Has the server forget the parts, which cost money. It is tried once, also after the user cancelled; a failure changes nothing of
    /// what is told.
    fn abandon(&self, upload: &str) {
        let call = self.call("forget an upload", "DELETE").query("uploadId", upload);
        if let Ok(request) = self.bucket.plain(&call) {
            let _ = send(&request.time_limit(Duration::from_secs(5)));
        }
    }
}

fn etag_of(reply: &Reply) -> Option<String> {
    reply.header("etag").filter(|etag| !etag.is_empty()).map(str::to_owned)
}
