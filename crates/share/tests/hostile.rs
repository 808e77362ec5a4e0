//! Bundles that aren't what they say: nothing of them is stored.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/runs.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod runs;

use diskproof_share::{Digest, Puller, Remote, RunInfo, ShareError, push};
use runs::{pack, store_with};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use store::Store;

/// A place in memory.
#[derive(Clone, Default)]
struct Shelf {
    manifest: RefCell<Option<Vec<u8>>>,
    blobs: RefCell<BTreeMap<Digest, Vec<u8>>>,
}

impl Remote for Shelf {
    fn address(&self) -> String {
        "shelf".to_owned()
    }

    fn has_blob(&self, digest: &Digest, _bytes: u64) -> Result<bool, ShareError> {
        Ok(self.blobs.borrow().contains_key(digest))
    }

    fn put_blob(&self, digest: &Digest, path: &Path, _bytes: u64) -> Result<(), ShareError> {
        self.blobs.borrow_mut().insert(digest.clone(), fs::read(path).unwrap());
        Ok(())
    }

    fn get_blob(&self, digest: &Digest, path: &Path, _bytes: u64) -> Result<Option<Digest>, ShareError> {
        let blobs = self.blobs.borrow();
        let blob = blobs.get(digest).ok_or_else(|| ShareError::Missing { at: digest.to_string() })?;
        fs::write(path, blob).unwrap();
        Ok(None)
    }

    fn get_manifest(&self) -> Result<Option<Vec<u8>>, ShareError> {
        Ok(self.manifest.borrow().clone())
    }

    fn put_manifest(&self, bytes: &[u8]) -> Result<(), ShareError> {
        *self.manifest.borrow_mut() = Some(bytes.to_vec());
        Ok(())
    }
}

impl Shelf {
    fn manifest(&self) -> Value {
        serde_json::from_slice(self.manifest.borrow().as_ref().unwrap()).unwrap()
    }

    fn set(&self, manifest: &Value) {
        *self.manifest.borrow_mut() = Some(serde_json::to_vec(manifest).unwrap());
    }

    fn add(&self, bytes: Vec<u8>) -> Digest {
        let digest = Digest::of(&bytes);
        self.blobs.borrow_mut().insert(digest.clone(), bytes);
        digest
    }

    /// Changes the description and everything that names it, as a liar with patience would.
    fn lie(&self, change: impl FnOnce(&mut RunInfo)) {
        let mut manifest = self.manifest();
        let old = Digest::parse(manifest["config"]["digest"].as_str().unwrap()).unwrap();
        let mut info: RunInfo = serde_json::from_slice(&self.blobs.borrow()[&old]).unwrap();
        change(&mut info);
        let bytes = serde_json::to_vec(&info).unwrap();
        manifest["config"]["size"] = bytes.len().into();
        for (place, layer) in manifest["layers"].as_array_mut().unwrap().iter_mut().zip(&info.layers) {
            place["digest"] = layer.digest.to_string().into();
            place["size"] = layer.size_bytes.into();
        }
        manifest["config"]["digest"] = self.add(bytes).to_string().into();
        self.set(&manifest);
    }
}

/// A shelf with a good bundle, and its trials before compression.
fn good(folder: &Path) -> (Shelf, Vec<u8>) {
    let (store, run) = store_with(folder, 4, 0);
    let packed = pack(&store, &run, folder);
    let shelf = Shelf::default();
    push(&packed, &shelf, false).unwrap();
    (shelf, zstd::decode_all(fs::File::open(&packed.layers[1].path).unwrap()).unwrap())
}

/// Puts other trials in place of the right ones, with right digests.
fn with_trials(shelf: &Shelf, content: &[u8]) {
    let bytes = zstd::encode_all(content, 3).unwrap();
    let size = bytes.len() as u64;
    let digest = shelf.add(bytes);
    shelf.lie(|info| {
        let layer = &mut info.layers[1];
        (layer.digest, layer.size_bytes) = (digest, size);
        (layer.content_digest, layer.content_bytes) = (Digest::of(content), content.len() as u64);
    });
}

#[test]
fn nothing_of_a_bundle_that_lies_is_stored() {
    type Lie = Box<dyn Fn(&Shelf, &[u8])>;
    let lies: Vec<(&str, Lie)> = vec![
        (
            "a changed archive",
            Box::new(|shelf, _| {
                let digest = shelf.manifest()["layers"][1]["digest"]
                    .as_str()
                    .map(|d| Digest::parse(d).unwrap())
                    .unwrap();
                let mut blobs = shelf.blobs.borrow_mut();
                let last = blobs.get_mut(&digest).unwrap().last_mut().unwrap();
                *last ^= 1;
            }),
        ),
        (
            "other annotations",
            Box::new(|shelf, _| {
                let mut manifest = shelf.manifest();
                manifest["annotations"]["vnd.diskproof.experiment"] = "better".into();
                shelf.set(&manifest);
            }),
        ),
        (
            "another archive in the manifest",
            Box::new(|shelf, _| {
                let mut manifest = shelf.manifest();
                manifest["layers"][1]["digest"] = shelf.add(b"x".to_vec()).to_string().into();
                shelf.set(&manifest);
            }),
        ),
        (
            "another kind of artifact",
            Box::new(|shelf, _| {
                let mut manifest = shelf.manifest();
                manifest["config"]["mediaType"] = "application/vnd.oci.image.config.v1+json".into();
                shelf.set(&manifest);
            }),
        ),
        ("a name that is a path", Box::new(|shelf, _| shelf.lie(|info| info.run = "../../x".to_owned()))),
        ("the name `latest`", Box::new(|shelf, _| shelf.lie(|info| info.run = "latest".to_owned()))),
        (
            "a beginning in the far future",
            Box::new(|shelf, _| shelf.lie(|info| info.started_unix_ms = u64::MAX)),
        ),
        (
            "an archive that fills the disk",
            Box::new(|shelf, _| shelf.lie(|info| info.layers[1].size_bytes = 1 << 39)),
        ),
        (
            "one annotation too many",
            Box::new(|shelf, _| {
                let mut manifest = shelf.manifest();
                manifest["annotations"]["vnd.diskproof.award"] = "first".into();
                shelf.set(&manifest);
            }),
        ),
        ("a newer format", Box::new(|shelf, _| shelf.lie(|info| info.format.major += 1))),
        (
            "another content digest",
            Box::new(|shelf, _| shelf.lie(|info| info.layers[1].content_digest = Digest::of(b""))),
        ),
        ("more trials than there are", Box::new(|shelf, _| shelf.lie(|info| info.trials += 1))),
        ("fewer trials than there are", Box::new(|shelf, _| shelf.lie(|info| info.trials -= 1))),
        ("content beyond its size", Box::new(|shelf, _| shelf.lie(|info| info.layers[1].content_bytes -= 1))),
        (
            "content beyond all measure",
            Box::new(|shelf, _| shelf.lie(|info| info.layers[1].content_bytes = 1 << 39)),
        ),
        (
            "an archive that ends early",
            Box::new(|shelf, content| with_trials(shelf, &content[..content.len() / 2])),
        ),
        (
            "something behind the end",
            Box::new(|shelf, content| with_trials(shelf, &[content, b"x"].concat())),
        ),
        (
            "a record that is none",
            Box::new(|shelf, content| {
                let mut content = content.to_vec();
                let at = content.windows(9).position(|window| window == b"\"outcome\"").unwrap();
                content[at + 1] = b'0';
                with_trials(shelf, &content);
            }),
        ),
    ];
    for (what, lie) in lies {
        let folder = tempfile::tempdir().unwrap();
        let (shelf, content) = good(folder.path());
        lie(&shelf, &content);
        let to = Store::open(&folder.path().join("to.db")).unwrap();
        let pulled = Puller { store: &to, folder: folder.path(), name: None }.pull(&shelf, None);
        let refused = matches!(pulled, Err(ShareError::Unreadable { .. } | ShareError::Digest { .. }));
        assert!(refused, "{what}: {pulled:?}");
        assert!(to.runs().unwrap().is_empty(), "{what}");
        let left = fs::read_dir(folder.path()).unwrap().filter_map(Result::ok);
        let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("diskproof-pull-"));
        let is_digest = matches!(pulled, Err(ShareError::Digest { .. }));
        assert!(left.count() == 0 || is_digest, "{what} leaves a folder");
    }
}

#[test]
fn a_push_removes_what_a_killed_one_left_and_nothing_of_a_running_one() {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = store_with(folder.path(), 2, 0);
    let dead = folder.path().join("diskproof-push-dead");
    fs::create_dir(&dead).unwrap();
    fs::write(dead.join("lock"), "").unwrap();
    let first = pack(&store, &run, folder.path());
    assert!(!dead.exists());
    let second = pack(&store, &run, folder.path());
    for packed in [&first, &second] {
        assert!(packed.layers.iter().all(|layer| layer.path.is_file()));
    }
    drop((first, second));
    let left = fs::read_dir(folder.path()).unwrap().filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("diskproof-push-"));
    assert_eq!(left.count(), 0);
}

#[test]
fn the_same_trials_packed_anew_are_taken() {
    let folder = tempfile::tempdir().unwrap();
    let (shelf, content) = good(folder.path());
    with_trials(&shelf, &content);
    let to = Store::open(&folder.path().join("to.db")).unwrap();
    Puller { store: &to, folder: folder.path(), name: None }.pull(&shelf, None).unwrap();
    assert_eq!(to.runs().unwrap().len(), 1, "the lies above are refused for what they change alone");
}
