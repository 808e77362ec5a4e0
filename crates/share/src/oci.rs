//! A repository of a registry (OCI distribution specification 1.1).

mod auth;
mod batch;
mod credentials;
mod options;
mod refer;
mod upload;

pub use credentials::Credentials;
pub use options::Options;

use crate::address::{Address, Reference, is_tag};
use crate::bundle::MANIFEST;
use crate::digest::Digest;
use crate::error::ShareError;
use crate::patience::{Patience, is_busy, may_pass};
use crate::remote::{Blob, ManifestRef, Referrer, Remote};
use auth::Authority;
use host::http::{Body, HttpUrl, Reply, Request, send_until};
use std::cell::RefCell;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Largest manifest: the specification lets registries refuse more.
const MANIFEST_BYTES: u64 = 4 << 20;
/// Most redirections of a blob, which registries keep elsewhere.
const REDIRECTS: u8 = 5;

/// Most tags that a search reads: each costs a request.
const MOST_TAGS: usize = 10_000;
/// Most pages of tags that a search reads: registries give 50 tags or more in a page.
const MOST_PAGES: usize = 200;
/// All kinds of manifests. A registry says 404 to somebody who doesn't accept the kind that is there, and then a push would take the
/// tag for a free one.
const ANY_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json, application/vnd.oci.image.index.v1+json, \
     application/vnd.docker.distribution.manifest.v2+json, application/vnd.docker.distribution.manifest.list.v2+json";

#[derive(serde::Deserialize)]
struct Tags {
    tags: Option<Vec<String>>,
}

/// A repository of a registry, perhaps with a tag or a digest.
pub(crate) struct Registry {
    address: Address,
    base: HttpUrl,
    authority: Authority,
    patience: Patience,
    plain_http: bool,
    cancel: Arc<AtomicBool>,
    /// The digest of the manifest that the registry says it has taken.
    taken: RefCell<Option<Digest>>,
}

impl Registry {
    pub(crate) fn new(address: Address, options: &Options) -> Result<Self, ShareError> {
        let at = |scheme: &str| HttpUrl::parse(&format!("{scheme}://{}/v2/", address.registry));
        let plain = at("http")?;
        let base = if plain.is_loopback() || options.plain_http { plain } else { at("https")? };
        let authority = Authority::new(base.clone(), &address.repository, options);
        let (patience, plain_http, cancel) =
            (options.patience, options.plain_http, Arc::clone(&options.cancel));
        Ok(Self { address, base, authority, patience, plain_http, cancel, taken: RefCell::new(None) })
    }

    /// The same registry, with the permission it has given, for another artifact of the same repository.
    pub(crate) fn at(&self, address: Address) -> Self {
        Self {
            address,
            base: self.base.clone(),
            authority: self.authority.clone(),
            patience: self.patience,
            plain_http: self.plain_http,
            cancel: Arc::clone(&self.cancel),
            taken: RefCell::new(None),
        }
    }

    /// Returns all tags of the repository. A registry may give them in pages (`Link: <URL>; rel="next"`).
    pub(crate) fn tags(&self) -> Result<Vec<String>, ShareError> {
        let mut tags = Vec::new();
        let mut next = Some(self.url("tags/list")?);
        let mut pages = 0;
        while let Some(url) = next {
            let request = Request::new("GET", url).at_most(MANIFEST_BYTES);
            let reply = self.insist("list its tags", &request)?;
            if reply.status == 404 {
                return Err(ShareError::Missing { at: self.address() });
            }
            let page: Option<Tags> = serde_json::from_slice(&reply.body).ok().filter(|_| reply.status == 200);
            let page = page.ok_or_else(|| self.unexpected("list its tags", &reply))?;
            tags.extend(page.tags.unwrap_or_default().into_iter().filter(|tag| is_tag(tag)));
            pages += 1;
            if tags.len() > MOST_TAGS || pages > MOST_PAGES {
                let why = format!("it has more than {MOST_TAGS} tags or {MOST_PAGES} pages of them");
                return Err(ShareError::Unreadable { from: self.address(), why });
            }
            let link = reply
                .header("link")
                .filter(|link| link.contains("rel=\"next\"") || link.contains("rel=next"));
            let link = link
                .and_then(|link| link.split_once('<')?.1.split_once('>'))
                .map(|(link, _)| link.to_owned());
            next = link.map(|link| reply.url.join(&link)).transpose()?;
        }
        Ok(tags)
    }

    /// The URL of something in the repository.
    fn url(&self, rest: &str) -> Result<HttpUrl, ShareError> {
        Ok(self.base.join(&format!("/v2/{}/{rest}", self.address.repository))?)
    }

    fn download(&self, blob: &Blob<'_>, resume: bool) -> Result<Request, ShareError> {
        let request = Request::new("GET", self.url(&format!("blobs/{}", blob.digest))?);
        Ok(request.into_file(blob.path, blob.bytes, resume).idle_limit(Duration::from_secs(60)))
    }

    /// Sends a request with credentials where the registry wants some. Its reply may have any status but 401 and 403.
    fn ask(&self, request: Request) -> Result<Reply, ShareError> {
        self.allowed(request.url())?;
        let reply = send_until(&self.authority.sign(request.clone()), &self.cancel)?;
        let reply = if reply.status == 401 && self.authority.answer(&reply)? {
            send_until(&self.authority.sign(request), &self.cancel)?
        } else {
            reply
        };
        if matches!(reply.status, 401 | 403) {
            return Err(ShareError::Denied {
                at: self.address(),
                said: said(&reply),
                remedy: "`docker login` or `podman login` on this machine stores credentials that diskproof uses",
            });
        }
        Ok(reply)
    }

    /// A registry says where an upload goes on. That place may have no less encryption than the registry itself.
    fn allowed(&self, url: &HttpUrl) -> Result<(), ShareError> {
        let stays_here = url.is_loopback() && self.base.is_loopback();
        if url.is_tls() || stays_here || self.plain_http {
            return Ok(());
        }
        Err(ShareError::Plain { at: self.address(), url: url.to_string() })
    }

    /// Waits before the next try; false: it is time to give up.
    fn waits(&self, failures: u32) -> bool {
        self.patience.waits(failures, &self.cancel)
    }

    fn insist(&self, doing: &'static str, request: &Request) -> Result<Reply, ShareError> {
        let mut failures = 0;
        loop {
            let result = self.ask(request.clone()).and_then(|reply| {
                if is_busy(reply.status) { Err(self.unexpected(doing, &reply)) } else { Ok(reply) }
            });
            match result {
                Err(error) if may_pass(&error) => {
                    failures += 1;
                    if !self.waits(failures) {
                        return Err(error);
                    }
                }
                result => return result,
            }
        }
    }

    fn unexpected(&self, doing: &'static str, reply: &Reply) -> ShareError {
        ShareError::Answer { at: self.address(), doing, status: reply.status, said: said(reply) }
    }

    fn reference(&self) -> Result<&Reference, ShareError> {
        self.address.reference.as_ref().ok_or_else(|| ShareError::Address {
            address: self.address.to_string(),
            why: "a tag is missing: oci://HOST/REPOSITORY:TAG".to_owned(),
        })
    }
}

/// What a registry says about an error: the messages of its JSON, or the beginning of its text.
fn said(reply: &Reply) -> String {
    let json: Option<serde_json::Value> = serde_json::from_slice(&reply.body).ok();
    let errors = json.as_ref().and_then(|json| json["errors"].as_array());
    let messages: Vec<String> = errors
        .into_iter()
        .flatten()
        .map(|error| {
            format!("{} {}", error["code"].as_str().unwrap_or("?"), error["message"].as_str().unwrap_or(""))
        })
        .collect();
    let text = if messages.is_empty() {
        String::from_utf8_lossy(&reply.body).chars().take(200).collect()
    } else {
        messages.join("; ")
    };
    let text = record::printable::printable(text.trim()).into_owned();
    if text.is_empty() { format!("status {}", reply.status) } else { text }
}

impl Remote for Registry {
    fn address(&self) -> String {
        self.address.to_string()
    }

    fn has_blob(&self, digest: &Digest, bytes: u64) -> Result<bool, ShareError> {
        let request = Request::new("HEAD", self.url(&format!("blobs/{digest}"))?).follow(REDIRECTS);
        let reply = self.insist("look for a blob", &request)?;
        let length = reply.header("content-length").and_then(|length| length.parse::<u64>().ok());
        match reply.status {
            200 => Ok(length.is_none_or(|length| length == bytes)),
            404 => Ok(false),
            _ => Err(self.unexpected("look for a blob", &reply)),
        }
    }

    fn put_blob(&self, digest: &Digest, path: &Path, bytes: u64) -> Result<(), ShareError> {
        upload::upload(self, &Blob { digest, path, bytes }, None)
    }

    fn survey(&self, blobs: &[Blob<'_>]) -> Result<(Option<Vec<u8>>, Vec<bool>), ShareError> {
        batch::survey(self, blobs)
    }

    fn put_blobs(&self, blobs: &[Blob<'_>]) -> Result<(), ShareError> {
        batch::put_blobs(self, blobs)
    }

    fn get_blobs(&self, blobs: &[Blob<'_>]) -> Result<Vec<Option<Digest>>, ShareError> {
        batch::get_blobs(self, blobs)
    }

    fn get_blob(&self, digest: &Digest, path: &Path, bytes: u64) -> Result<Option<Digest>, ShareError> {
        let there = || fs::metadata(path).map_or(0, |about| about.len());
        let blob = Blob { digest, path, bytes };
        let request = self.download(&blob, true)?.follow(REDIRECTS);
        let (mut failures, mut most) = (0, there());
        loop {
            let result = match self.ask(request.clone()) {
                Ok(reply) if matches!(reply.status, 200 | 206) && there() == bytes => {
                    return Ok(reply.sha256.as_deref().and_then(Digest::from_hex));
                }
                Ok(reply) if reply.status == 404 => return Err(ShareError::Missing { at: self.address() }),
                Ok(reply) if reply.status == 416 => {
                    // What is there can't be the beginning of it.
                    fs::remove_file(path).map_err(ShareError::file("remove", path))?;
                    self.unexpected("send the rest of a blob", &reply)
                }
                Ok(reply) => self.unexpected("send a blob", &reply),
                Err(error) => error,
            };
            let has = there();
            // More than ever before: a registry that makes pull begin anew again and again gets nowhere.
            failures = if has > most { 1 } else { failures + 1 };
            most = most.max(has);
            let passes =
                may_pass(&result) || matches!(result, ShareError::Answer { status: 200 | 206 | 416, .. });
            if !passes || !self.waits(failures) {
                return Err(result);
            }
        }
    }

    fn get_manifest(&self) -> Result<Option<Vec<u8>>, ShareError> {
        let reference = self.reference()?;
        let request = Request::new("GET", self.url(&format!("manifests/{reference}"))?);
        let request = request.header("Accept", ANY_MANIFEST).at_most(MANIFEST_BYTES);
        let reply = self.insist("send the manifest", &request)?;
        match (reply.status, reference) {
            (200, Reference::Digest(expected)) if Digest::of(&reply.body) != *expected => {
                Err(ShareError::Digest {
                    from: self.address(),
                    expected: expected.clone(),
                    found: Digest::of(&reply.body),
                })
            }
            (200, _) => Ok(Some(reply.body)),
            (404, _) => Ok(None),
            _ => Err(self.unexpected("send the manifest", &reply)),
        }
    }

    fn put_manifest(&self, bytes: &[u8]) -> Result<(), ShareError> {
        let request = Request::new("PUT", self.url(&format!("manifests/{}", self.reference()?))?);
        let request = request.header("Content-Type", MANIFEST).body(Body::Bytes(bytes.to_vec()));
        let reply = self.insist("take the manifest", &request)?;
        if !reply.is_success() {
            return Err(self.unexpected("take the manifest", &reply));
        }
        *self.taken.borrow_mut() = reply.header("docker-content-digest").and_then(Digest::parse);
        Ok(())
    }

    fn image(&self, disk: &Digest) -> Result<Option<ManifestRef>, ShareError> {
        refer::image(self, disk)
    }

    fn refer(&self, subject: &ManifestRef, referrer: &Referrer<'_>) -> Result<(), ShareError> {
        refer::refer(self, subject, referrer)
    }

    /// A registry that names the digest of what it took isn't asked again.
    fn has_manifest(&self, bytes: &[u8]) -> Result<bool, ShareError> {
        if self.taken.borrow().as_ref() == Some(&Digest::of(bytes)) {
            return Ok(true);
        }
        Ok(self.get_manifest()?.is_some_and(|there| there == bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::{Options, Registry};
    use crate::address::Address;
    use crate::error::ShareError;
    use host::http::{HttpUrl, Request};

    #[test]
    fn a_registry_leads_nobody_to_a_place_without_encryption() {
        let leads = |registry: &str, to: &str, plain_http| {
            let options = Options { plain_http, ..Options::default() };
            let registry = Registry::new(Address::parse(registry).unwrap(), &options).unwrap();
            registry.allowed(Request::new("PATCH", HttpUrl::parse(to).unwrap()).url())
        };
        let far = "oci://registry.example/r:t";
        for to in ["http://registry.example/v2/r/1", "http://127.0.0.1:80/"] {
            let refused = leads(far, to, false).unwrap_err();
            assert!(matches!(refused, ShareError::Plain { .. }), "{to}: {refused}");
            assert!(refused.to_string().contains("--plain-http"), "{refused}");
            leads(far, to, true).unwrap();
        }
        leads(far, "https://other.example/", false).unwrap();
        leads("oci://127.0.0.1:5000/r:t", "http://127.0.0.1:5001/", false).unwrap();
        leads("oci://127.0.0.1:5000/r:t", "http://other.example/", false).unwrap_err();
    }
}
