//! One request to S3, signed, and the judgement of its reply.

use super::bucket::Bucket;
use super::credentials::{self, Keys};
use super::reply::{Refusal, refusal};
use super::sign::{Signed, query_text};
use crate::digest::{Counted, Digest};
use crate::error::ShareError;
use crate::patience::is_busy;
use host::http::{Body, HttpUrl, Reply, Request, send_until};
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::sync::PoisonError;

/// What a request asks for.
#[derive(Clone)]
pub(crate) struct Call {
    /// What it does, for messages: "take an object".
    pub(crate) doing: &'static str,
    pub(crate) method: &'static str,
    /// The whole key; empty: the bucket itself.
    pub(crate) key: String,
    pub(crate) query: Vec<(String, String)>,
    /// Headers besides those of the signature, with names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Body,
    /// SHA-256 of the body.
    pub(crate) content: Digest,
}

impl Call {
    pub(crate) fn new(doing: &'static str, method: &'static str, key: String) -> Self {
        Self {
            doing,
            method,
            key,
            query: Vec::new(),
            headers: Vec::new(),
            body: Body::None,
            content: Digest::of(b""),
        }
    }

    pub(crate) fn query(mut self, name: &str, value: impl Into<String>) -> Self {
        self.query.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.content = Digest::of(bytes);
        self.body = Body::Bytes(bytes.to_vec());
        self
    }

    /// Sends a part of a file, whose digest is read first.
    pub(crate) fn file(mut self, path: &Path, offset: u64, bytes: u64) -> Result<Self, ShareError> {
        let read = || -> io::Result<Digest> {
            let mut file = File::open(path)?;
            file.seek(SeekFrom::Start(offset))?;
            let mut counted = Counted::new(file.take(bytes));
            io::copy(&mut counted, &mut io::sink())?;
            Ok(counted.finish().1)
        };
        self.content = read().map_err(ShareError::file("read", path))?;
        self.body = Body::File { path: path.to_path_buf(), offset, bytes };
        Ok(self)
    }
}

/// Why a try failed, and whether the next one may succeed.
pub(crate) struct Failed {
    pub(crate) error: ShareError,
    pub(crate) may_pass: bool,
}

impl From<ShareError> for Failed {
    fn from(error: ShareError) -> Self {
        Self { error, may_pass: false }
    }
}

impl Bucket {
    /// Makes one try. The reply has a status of 2xx, 304, 404, 409, 412 or 416; everything else is a failure.
    pub(crate) fn once(&self, call: &Call, shape: &dyn Fn(Request) -> Request) -> Result<Reply, Failed> {
        for renewed in [false, true] {
            let keys = self.keys(renewed)?;
            let request = shape(self.request(call, keys.as_ref())?);
            let reply = send_until(&request, &self.cancel)
                .map_err(|error| Failed { may_pass: error.may_pass(), error: error.into() })?;
            if reply.is_success() || matches!(reply.status, 304 | 404 | 409 | 412 | 416) {
                if reply.status == 404 && refusal(&reply).code == "NoSuchBucket" {
                    return Err(ShareError::NoBucket { at: self.address.to_string() }.into());
                }
                return Ok(reply);
            }
            let refusal = refusal(&reply);
            if refusal.has_expired_keys() && !renewed && keys.is_some() {
                continue;
            }
            let may_pass = is_busy(reply.status) || refusal.may_pass();
            return Err(Failed { error: self.refused(call, &reply, &refusal, keys.is_some()), may_pass });
        }
        Err(ShareError::Credentials { why: "the keys of AWS expire at once".to_owned() }.into())
    }

    /// Tries until the patience ends.
    pub(crate) fn insist(
        &self,
        call: &Call,
        shape: &dyn Fn(Request) -> Request,
    ) -> Result<Reply, ShareError> {
        let mut failures = 0;
        loop {
            match self.once(call, shape) {
                Ok(reply) => return Ok(reply),
                Err(failed) => {
                    failures += 1;
                    if !failed.may_pass || !self.waits(failures) {
                        return Err(failed.error);
                    }
                }
            }
        }
    }

    /// Waits before the next try; false: it is time to give up.
    pub(crate) fn waits(&self, failures: u32) -> bool {
        self.patience.waits(failures, &self.cancel)
    }

    /// An answer that nobody expects.
    pub(crate) fn unexpected(&self, call: &Call, reply: &Reply) -> ShareError {
        ShareError::Answer {
            at: self.address.to_string(),
            doing: call.doing,
            status: reply.status,
            said: refusal(reply).said(reply.status),
        }
    }

    /// The request as it is sent, with the keys that are known.
    pub(crate) fn plain(&self, call: &Call) -> Result<Request, ShareError> {
        self.request(call, self.keys(false)?.as_ref())
    }

    fn keys(&self, anew: bool) -> Result<Option<Keys>, ShareError> {
        let mut kept = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        if anew || kept.is_none() {
            *kept = Some(credentials::find(&self.settings)?);
        }
        Ok(kept.clone().flatten())
    }

    fn request(&self, call: &Call, keys: Option<&Keys>) -> Result<Request, ShareError> {
        let path = self.endpoint.path(&call.key);
        let query = query_text(&call.query);
        let mark = if query.is_empty() { "" } else { "?" };
        let url = HttpUrl::parse(&format!("{}{path}{mark}{query}", self.endpoint.origin.origin()))?;
        let mut request = Request::new(call.method, url).body(call.body.clone());
        let mut headers = call.headers.clone();
        if let Some(keys) = keys {
            let time = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ").to_string();
            headers.push(("x-amz-content-sha256".to_owned(), call.content.hex().to_owned()));
            headers.push(("x-amz-date".to_owned(), time.clone()));
            if let Some(token) = &keys.token {
                headers.push(("x-amz-security-token".to_owned(), token.clone()));
            }
            headers.push(("host".to_owned(), self.endpoint.host().to_owned()));
            let signed = Signed {
                method: call.method,
                path: &path,
                query: &call.query,
                headers: &headers,
                content: &call.content,
                time: &time,
                region: &self.endpoint.region,
            };
            request = request.secret_header("Authorization", signed.authorization(keys));
        }
        for (name, value) in headers.into_iter().filter(|(name, _)| name != "host") {
            request = request.secret_header(&name, value);
        }
        Ok(request)
    }

    fn refused(&self, call: &Call, reply: &Reply, refusal: &Refusal, has_keys: bool) -> ShareError {
        let at = self.address.to_string();
        if refusal.code == "RequestTimeTooSkewed" {
            let here = jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M:%S UTC").to_string();
            return ShareError::Clock { at, here, there: refusal.server_time(reply) };
        }
        if let Some(region) = refusal.region(reply).filter(|region| *region != self.endpoint.region) {
            return ShareError::Region { at, region, asked: self.endpoint.region.clone() };
        }
        if refusal.code == "NotImplemented" && call.headers.iter().any(|(name, _)| name.starts_with("if-")) {
            return ShareError::Conditions { at };
        }
        if matches!(reply.status, 401 | 403) || refusal.has_expired_keys() {
            let remedy = if has_keys {
                "check the keys of AWS, and that they allow s3:GetObject, s3:PutObject, and s3:ListBucket (without it, S3 refuses to say that an object isn't there)"
            } else {
                "no keys were found: AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or `aws configure`, give some"
            };
            return ShareError::Denied { at, said: refusal.said(reply.status), remedy };
        }
        self.unexpected(call, reply)
    }
}
