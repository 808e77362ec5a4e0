//! Fetches a run.

use crate::bundle::{Descriptor, Manifest, RUN, RunInfo, Trials, annotation, head};
use crate::digest::{Counted, Digest};
use crate::error::ShareError;
use crate::remote::{Blob, Remote};
use record::id::RunId;
use rustix::fs::{FlockOperation, flock, statvfs};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use store::{Origin, Received, Store};

/// Largest description or signature.
const SMALL_BYTES: u64 = 4 << 20;

/// Fetches runs into a store.
pub struct Puller<'a> {
    /// The store.
    pub store: &'a Store,
    /// Where blobs arrive. A pull that was interrupted goes on with what is there.
    pub folder: &'a Path,
    /// The name that the run gets here; `None`: the one that it has there.
    pub name: Option<&'a str>,
}

/// What a pull did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pulled {
    /// The run's name here.
    pub run: RunId,
    /// What it is.
    pub info: RunInfo,
    /// Bytes that were received.
    pub received_bytes: u64,
    /// The run was here already; nothing was stored.
    pub was_here: bool,
    /// Whether it carries a signature.
    pub is_signed: bool,
    /// Whose signature it is, if it was checked.
    pub signer: Option<String>,
}

/// Checks a signature of these bytes, and returns whose it is.
pub type Verify<'a> = &'a dyn Fn(&[u8], &[u8]) -> Result<String, ShareError>;

impl Puller<'_> {
    /// Fetches a run and stores it: all of it or nothing. With `verify`, a run without a signature, or with a wrong one, is refused.
    ///
    /// # Errors
    /// There is no run, it isn't what its digests say, its signature is wrong, or another run has its name.
    pub fn pull(&self, remote: &dyn Remote, verify: Option<Verify<'_>>) -> Result<Pulled, ShareError> {
        let from = remote.address();
        let unreadable = |why: String| ShareError::Unreadable { from: from.clone(), why };
        let bytes = remote.get_manifest()?.ok_or_else(|| ShareError::Missing { at: from.clone() })?;
        let manifest = Manifest::read(&bytes, RUN).map_err(unreadable)?;
        let folder = Folder::lock(self.folder, &manifest.config.digest)?;
        let pulled = self.pull_into(&folder, remote, verify, &manifest);
        // What a broken connection left is of use to the next pull; what was stored or refused is of none.
        if matches!(
            pulled,
            Ok(_) | Err(ShareError::Signature(_) | ShareError::Unreadable { .. } | ShareError::Taken { .. })
        ) {
            folder.remove();
        }
        pulled
    }

    fn pull_into(
        &self,
        folder: &Folder,
        remote: &dyn Remote,
        verify: Option<Verify<'_>>,
        manifest: &Manifest,
    ) -> Result<Pulled, ShareError> {
        let from = remote.address();
        let unreadable = |why: String| ShareError::Unreadable { from: from.clone(), why };
        let small: Vec<&Descriptor> = std::iter::once(&manifest.config).chain(manifest.signature()).collect();
        let small = fetch_small(remote, &small, folder)?;
        let (config, signature) = (&small[0], small.get(1));
        let info = RunInfo::read(config).map_err(unreadable)?;
        check(manifest, &info).map_err(unreadable)?;
        let signer = match (verify, signature) {
            (Some(verify), Some(signature)) => Some(verify(config, signature)?),
            (Some(_), None) => return Err(ShareError::Signature(format!("the run at {from} isn't signed"))),
            (None, _) => None,
        };
        let origin = Origin {
            from: from.clone(),
            digest: manifest.config.digest.to_string(),
            name: info.run.clone(),
            signer: signer.clone(),
        };
        let run = RunId(self.name.unwrap_or(&info.run).to_owned());
        let is_signed = signature.is_some();
        let done = |run, info, received_bytes, was_here| {
            Ok(Pulled { run, info, received_bytes, was_here, is_signed, signer: signer.clone() })
        };
        if let Some(here) = self.store.received(&origin.digest)? {
            return done(here, info, 0, true);
        }
        if self.store.runs()?.iter().any(|known| known.id == run) {
            return Err(ShareError::Taken { run, from });
        }
        let received_bytes = self.store_it(remote, folder, &info, &run, &origin)?;
        done(run, info, received_bytes, false)
    }

    fn store_it(
        &self,
        remote: &dyn Remote,
        folder: &Folder,
        info: &RunInfo,
        run: &RunId,
        origin: &Origin,
    ) -> Result<u64, ShareError> {
        let from = &origin.from;
        folder
            .has_room(info.layers.iter().fold(0, |sum: u64, layer| sum.saturating_add(layer.size_bytes)))?;
        let layers: Vec<_> = info.layers.iter().map(|layer| (&layer.digest, layer.size_bytes)).collect();
        let paths = fetch(remote, &layers, folder)?;
        let head = head(&paths[0], &info.layers[0], from)?;
        let trials = Trials::open(&paths[1], &info.layers[1], from, &head.plan, info.trials)?;
        let received = Received {
            run,
            plan: &head.plan,
            raised: head.raised.as_ref(),
            environment: &head.environment,
            volumes: &head.volumes,
            stopped: &head.stopped,
            started_unix_ms: info.started_unix_ms,
            trials_planned: info.trials_planned,
            origin: Some(origin),
        };
        self.store.receive_run(&received, trials)?;
        Ok(info.layers.iter().map(|layer| layer.size_bytes).sum())
    }
}

/// The manifest is what a registry shows; the description is what is signed. They must say the same.
fn check(manifest: &Manifest, info: &RunInfo) -> Result<(), String> {
    let ours = Manifest::of(info, b"", None);
    let travelled = manifest.layers.iter().filter(|layer| Some(*layer) != manifest.signature());
    if !travelled.eq(ours.layers.iter()) {
        return Err("its manifest lists other archives than its description".to_owned());
    }
    // Those of others, such as a copying tool, say nothing that diskproof reads.
    let prefix = annotation("");
    let theirs = manifest.annotations.iter().filter(|(name, _)| name.starts_with(&prefix));
    if !theirs.eq(ours.annotations.iter()) {
        return Err("its annotations say something else than its description".to_owned());
    }
    Ok(())
}

/// Where the blobs of one run or image arrive.
#[derive(Debug)]
pub(crate) struct Folder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl Folder {
    pub(crate) fn lock(parent: &Path, digest: &Digest) -> Result<Self, ShareError> {
        let path = parent.join(format!("diskproof-pull-{}", &digest.hex()[..16]));
        fs::create_dir_all(&path).map_err(ShareError::file("make the folder", &path))?;
        let lock = path.join("lock");
        let file = File::create(&lock).map_err(ShareError::file("make the lock", &lock))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { path, _lock: file }),
            Err(_) => Err(ShareError::Busy { path: lock }),
        }
    }

    /// Refuses files that fill the disk: what takes in their content usually lies on the same one.
    pub(crate) fn has_room(&self, needed_bytes: u64) -> Result<(), ShareError> {
        let about = statvfs(&self.path)
            .map_err(|error| ShareError::file("read the free space of", &self.path)(error.into()))?;
        let free_bytes = about.f_bavail.saturating_mul(about.f_frsize);
        if needed_bytes <= free_bytes / 2 {
            return Ok(());
        }
        Err(ShareError::Room { path: self.path.clone(), needed_bytes, free_bytes })
    }

    /// What arrived is of no more use. If the folder can't be removed, it does no harm.
    pub(crate) fn remove(&self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

pub(crate) fn fetch_small(
    remote: &dyn Remote,
    blobs: &[&Descriptor],
    folder: &Folder,
) -> Result<Vec<Vec<u8>>, ShareError> {
    if blobs.iter().any(|blob| blob.size > SMALL_BYTES) {
        let why = "its description or signature is too large".to_owned();
        return Err(ShareError::Unreadable { from: remote.address(), why });
    }
    let blobs: Vec<_> = blobs.iter().map(|blob| (&blob.digest, blob.size)).collect();
    let read = |path: PathBuf| fs::read(&path).map_err(ShareError::file("read", &path));
    fetch(remote, &blobs, folder)?.into_iter().map(read).collect()
}

/// Fetches blobs of these sizes in bytes, and checks their digests. A file that is wrong is removed, so that the next try begins anew.
pub(crate) fn fetch(
    remote: &dyn Remote,
    blobs: &[(&Digest, u64)],
    folder: &Folder,
) -> Result<Vec<PathBuf>, ShareError> {
    let paths: Vec<PathBuf> = blobs.iter().map(|(digest, _)| folder.path.join(digest.hex())).collect();
    let mut lacking: Vec<Blob<'_>> = Vec::new();
    for ((digest, bytes), path) in blobs.iter().zip(&paths) {
        let there = fs::metadata(path).map_or(0, |about| about.len());
        if there > *bytes {
            fs::remove_file(path).map_err(ShareError::file("remove", path))?;
        }
        if there != *bytes && lacking.iter().all(|blob| blob.digest != *digest) {
            lacking.push(Blob { digest, path, bytes: *bytes });
        }
    }
    let came = remote.get_blobs(&lacking)?;
    let mut came: BTreeMap<&Digest, Option<Digest>> =
        lacking.iter().map(|blob| blob.digest).zip(came).collect();
    for ((expected, _), path) in blobs.iter().zip(&paths) {
        let found = came.remove(expected).flatten().map_or_else(|| digest_of(path), Ok)?;
        if found != **expected {
            fs::remove_file(path).map_err(ShareError::file("remove", path))?;
            return Err(ShareError::Digest { from: remote.address(), expected: (*expected).clone(), found });
        }
    }
    Ok(paths)
}

fn digest_of(path: &Path) -> Result<Digest, ShareError> {
    let mut counted = Counted::new(File::open(path).map_err(ShareError::file("read", path))?);
    io::copy(&mut counted, &mut io::sink()).map_err(ShareError::file("read", path))?;
    Ok(counted.finish().1)
}
