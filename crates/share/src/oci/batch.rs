//! Several things at once: a push of a run asks for all its blobs by one curl, and sends them by another; a pull fetches several by one.
//! What fails here is done again one by one, with patience.

use super::{ANY_MANIFEST, MANIFEST_BYTES, Registry, upload};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::patience::is_busy;
use crate::remote::{Blob, Remote as _};
use host::http::{Body, HttpUrl, Reply, Request, send_batch};
use std::collections::BTreeMap;
use std::fs;

/// Asks whether the manifest and these blobs are there.
pub(super) fn survey(
    registry: &Registry,
    blobs: &[Blob<'_>],
) -> Result<(Option<Vec<u8>>, Vec<bool>), ShareError> {
    let manifest = Request::new("GET", registry.url(&format!("manifests/{}", registry.reference()?))?);
    let mut requests = vec![manifest.header("Accept", ANY_MANIFEST).at_most(MANIFEST_BYTES)];
    for blob in blobs {
        requests.push(Request::new("HEAD", registry.url(&format!("blobs/{}", blob.digest))?));
    }
    let mut replies = ask_all(registry, requests)?.into_iter();
    // Only "there is none" needs no further look.
    let manifest = match replies.next().flatten() {
        Some(reply) if reply.status == 404 => None,
        _ => registry.get_manifest()?,
    };
    let mut there = Vec::with_capacity(blobs.len());
    for (blob, reply) in blobs.iter().zip(replies) {
        there.push(match reply {
            Some(reply) if reply.status == 404 => false,
            Some(reply) if reply.status == 200 && length(&reply) == Some(blob.bytes) => true,
            _ => registry.has_blob(blob.digest, blob.bytes)?,
        });
    }
    Ok((manifest, there))
}

/// Sends blobs that aren't there: one curl begins all uploads, and another one sends the blobs.
pub(super) fn put_blobs(registry: &Registry, blobs: &[Blob<'_>]) -> Result<(), ShareError> {
    let url = registry.url("blobs/uploads/")?;
    let begun = ask_all(registry, blobs.iter().map(|_| Request::new("POST", url.clone())).collect())?;
    let url =
        |reply: Option<Reply>| reply.filter(|reply| reply.status == 202).and_then(|reply| reply.location());
    let urls: Vec<Option<HttpUrl>> = begun.into_iter().map(url).collect();
    let begun: Vec<(&Blob<'_>, &HttpUrl)> =
        blobs.iter().zip(&urls).filter_map(|(blob, url)| Some((blob, url.as_ref()?))).collect();
    let put = |(blob, url): &(&Blob<'_>, &HttpUrl)| {
        let body = Body::File { path: blob.path.to_path_buf(), offset: 0, bytes: blob.bytes };
        upload::last_request((*url).clone(), blob.digest, body)
    };
    let mut replies = ask_all(registry, begun.iter().map(put).collect())?.into_iter();
    for (blob, url) in blobs.iter().zip(urls) {
        let reply = url.is_some().then(|| replies.next().flatten()).flatten();
        if reply.is_none_or(|reply| reply.status != 201) {
            upload::upload(registry, blob, url)?;
        }
    }
    Ok(())
}

/// Fetches blobs. One curl fetches all those whose files are empty or missing.
pub(super) fn get_blobs(registry: &Registry, blobs: &[Blob<'_>]) -> Result<Vec<Option<Digest>>, ShareError> {
    let is_new = |blob: &&Blob<'_>| fs::metadata(blob.path).map_or(true, |about| about.len() == 0);
    let new: Vec<&Blob<'_>> = blobs.iter().filter(is_new).collect();
    let mut came = BTreeMap::new();
    // A single one is fetched where redirections are followed.
    if new.len() > 1 {
        let requests: Result<Vec<Request>, ShareError> =
            new.iter().map(|blob| registry.download(blob, false)).collect();
        for (blob, reply) in new.into_iter().zip(ask_all(registry, requests?)?) {
            let whole = reply.filter(|reply| reply.status == 200 && reply.received_bytes == blob.bytes);
            if let Some(digest) = whole.and_then(|reply| Digest::from_hex(&reply.sha256?)) {
                came.insert(blob.digest, digest);
            }
        }
    }
    let get = |blob: &Blob<'_>| match came.remove(blob.digest) {
        Some(digest) => Ok(Some(digest)),
        None => registry.get_blob(blob.digest, blob.path, blob.bytes),
    };
    blobs.iter().map(get).collect()
}

/// Sends requests by one curl, with credentials where the registry wants some. `None`: no reply that says anything.
fn ask_all(registry: &Registry, requests: Vec<Request>) -> Result<Vec<Option<Reply>>, ShareError> {
    for request in &requests {
        registry.allowed(request.url())?;
    }
    let send = || {
        let signed: Vec<Request> =
            requests.iter().map(|request| registry.authority.sign(request.clone())).collect();
        send_batch(&signed, &registry.cancel)
    };
    let mut replies = send()?;
    let refused = replies.iter().flatten().find(|reply| reply.status == 401);
    if let Some(refused) = refused
        && registry.authority.answer(refused)?
    {
        replies = send()?;
    }
    let says = |reply: &Reply| !matches!(reply.status, 300..=399 | 401 | 403) && !is_busy(reply.status);
    Ok(replies.into_iter().map(|reply| reply.filter(says)).collect())
}

fn length(reply: &Reply) -> Option<u64> {
    reply.header("content-length")?.parse().ok()
}
