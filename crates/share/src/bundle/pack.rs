//! Packs a run.

use super::facts::facts;
use super::info::{FORMAT, Layer, LayerKind, RunInfo};
use crate::anonymise::Pseudonyms;
use crate::digest::Counted;
use crate::error::ShareError;
use crate::tar::Writer;
use record::id::RunId;
use record::plan::Raised;
use record::trial::TrialRecord;
use rustix::fs::{FlockOperation, flock};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use store::Store;
use tempfile::TempDir;

/// Beginning of the names of folders that pushes make.
const PREFIX: &str = "diskproof-push-";
/// zstd's own default.
const LEVEL: i32 = 3;

/// Rewrites a text, or leaves it (`None`).
pub(crate) type Rewrite<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Packs runs of a store.
pub struct Packer<'a> {
    /// The store.
    pub store: &'a Store,
    /// This diskproof, as it names itself.
    pub program: &'a str,
    /// Its judge.
    pub judge: &'a str,
    /// Where the archives are written; they go with [`Packed`].
    pub folder: &'a Path,
}

/// A packed run.
#[derive(Debug)]
pub struct Packed {
    /// What it is.
    pub info: RunInfo,
    /// The description as bytes: what a signature covers.
    pub config: Vec<u8>,
    /// The archives.
    pub layers: Vec<PackedLayer>,
    /// A signature of [`Packed::config`].
    pub signature: Option<Signature>,
    _folder: TempDir,
    /// Says to other pushes that the folder is in use.
    _lock: File,
}

/// An archive as a file.
#[derive(Debug)]
pub struct PackedLayer {
    /// What it is.
    pub layer: Layer,
    /// Where it is.
    pub path: PathBuf,
}

/// A signature as `ssh-keygen -Y sign` writes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature(pub Vec<u8>);

impl Packer<'_> {
    /// Packs a run, with pseudonyms for its names if some are given.
    ///
    /// # Errors
    /// The run can't be read, a pseudonym would change what a record means, or the archives can't be written.
    pub fn pack(&self, run: &RunId, names: Option<&Pseudonyms>) -> Result<Packed, ShareError> {
        let rewrite = |text: &str| names.and_then(|names| names.rewrite(text));
        let rewrite: Rewrite<'_> = &rewrite;
        let replaced = names.map(|names| names.kinds().iter().map(|kind| kind.name().to_owned()).collect());
        let replaced = replaced.unwrap_or_default();
        let (folder, lock) = self.make_folder().map_err(ShareError::file("make a folder in", self.folder))?;
        let text = |text: &str| rewrite(text).unwrap_or_else(|| text.to_owned());
        let head = self.store.head(run)?;
        let summary = self.store.runs()?.into_iter().find(|summary| summary.id == *run);
        let mut layers = vec![self.pack_head(run, rewrite, folder.path())?];
        let (trials, count) = self.pack_trials(run, rewrite, folder.path())?;
        layers.push(trials);
        let facts = facts(&head.plan, &head.volumes, &head.environment);
        let info = RunInfo {
            format: FORMAT,
            run: run.0.clone(),
            experiment: text(&head.plan.experiment),
            started_unix_ms: summary.as_ref().map_or(0, |summary| summary.started_unix_ms),
            trials: count,
            trials_planned: summary.map_or(0, |summary| summary.trials_planned),
            measured_by: head.environment.diskproof,
            packed_by: self.program.to_owned(),
            judge: self.judge.to_owned(),
            replaced,
            facts: facts.into_iter().map(|(name, fact)| (name, text(&fact))).collect(),
            layers: layers.iter().map(|packed| packed.layer.clone()).collect(),
        };
        let config = json(&info, &|_| None)
            .map_err(|source| ShareError::Pack { what: "its description".to_owned(), source })?;
        Ok(Packed { info, config, layers, signature: None, _folder: folder, _lock: lock })
    }

    /// Makes a folder, and removes those of pushes that were killed: their lock is free.
    fn make_folder(&self) -> io::Result<(TempDir, File)> {
        // One at a time, so that no folder is seen before its lock is taken.
        let _parent = locked(File::open(self.folder)?, FlockOperation::LockExclusive)?;
        for entry in fs::read_dir(self.folder)? {
            let entry = entry?;
            if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
                continue;
            }
            let lock = File::open(entry.path().join("lock"));
            if lock.and_then(|lock| locked(lock, FlockOperation::NonBlockingLockExclusive)).is_ok() {
                // If it can't be removed, it does no harm.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        let folder = tempfile::Builder::new().prefix(PREFIX).tempdir_in(self.folder)?;
        let lock = File::create(folder.path().join("lock"))?;
        Ok((folder, locked(lock, FlockOperation::NonBlockingLockExclusive)?))
    }

    fn pack_head(&self, run: &RunId, rewrite: Rewrite<'_>, folder: &Path) -> Result<PackedLayer, ShareError> {
        let head = self.store.head(run)?;
        let made = self.store.plan_as_made(run)?;
        // Effective budgets differ from the plan as made only if somebody raised them.
        let raised = (head.plan != made).then(|| Raised::of(&head.plan));
        let path = folder.join("head.tar.zst");
        let unpacked = |source| ShareError::Pack { what: format!("run {run}"), source };
        let mut archive = Archive::create(LayerKind::Head, &path)?;
        let write = || -> io::Result<()> {
            archive.add("environment.json", &json(&head.environment, rewrite)?)?;
            let source = rewrite(&made.source);
            archive.add("experiment.yaml", source.as_ref().unwrap_or(&made.source).as_bytes())?;
            archive.add("plan.json", &json(&made, rewrite)?)?;
            if let Some(raised) = raised {
                archive.add("raised.json", &json(&raised, rewrite)?)?;
            }
            archive.add("stopped.json", &json(&head.stopped, rewrite)?)?;
            archive.add("volumes.json", &json(&head.volumes, rewrite)?)
        };
        write().map_err(unpacked)?;
        archive.finish()
    }

    fn pack_trials(
        &self,
        run: &RunId,
        rewrite: Rewrite<'_>,
        folder: &Path,
    ) -> Result<(PackedLayer, u64), ShareError> {
        let path = folder.join("trials.tar.zst");
        let mut archive = Archive::create(LayerKind::Trials, &path)?;
        let (mut count, mut failed) = (0_u64, None);
        self.store.trials(run, |trial| {
            if failed.is_none() {
                let what = format!("trial {} round {} of run {run}", trial.id.cell, trial.id.round);
                failed = archive
                    .add_trial(count, trial, rewrite)
                    .err()
                    .map(|source| ShareError::Pack { what, source });
                count += 1;
            }
        })?;
        match failed {
            Some(error) => Err(error),
            None => Ok((archive.finish()?, count)),
        }
    }
}

fn locked(file: File, operation: FlockOperation) -> io::Result<File> {
    flock(&file, operation)?;
    Ok(file)
}

/// JSON with every text rewritten, names of fields included.
fn json<T: Serialize + DeserializeOwned>(value: &T, rewrite: Rewrite<'_>) -> io::Result<Vec<u8>> {
    let before = serde_json::to_value(value)?;
    let mut value = before.clone();
    rewrite_all(&mut value, rewrite);
    let bytes = serde_json::to_vec(&value)?;
    if value == before {
        return Ok(bytes);
    }
    // A machine that is called like a word of the format would make the record unreadable, or drop one of its fields.
    let unread = |why: String| {
        let why = format!("with pseudonyms it no longer reads ({why}): keep the kind of that name by --keep");
        io::Error::new(io::ErrorKind::InvalidData, why)
    };
    let back: T = serde_json::from_slice(&bytes).map_err(|error| unread(error.to_string()))?;
    if serde_json::to_value(&back)? != value || count_of(&value) != count_of(&before) {
        return Err(unread("a name is that of a field".to_owned()));
    }
    Ok(bytes)
}

/// Number of values: two names of fields that become one lose some.
fn count_of(value: &serde_json::Value) -> usize {
    use serde_json::Value;
    match value {
        Value::Array(items) => 1 + items.iter().map(count_of).sum::<usize>(),
        Value::Object(fields) => 1 + fields.values().map(count_of).sum::<usize>(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => 1,
    }
}

fn rewrite_all(value: &mut serde_json::Value, rewrite: Rewrite<'_>) {
    use serde_json::Value;
    match value {
        Value::String(text) => {
            if let Some(new) = rewrite(text) {
                *text = new;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| rewrite_all(item, rewrite)),
        Value::Object(fields) => {
            let renamed: Vec<(String, String)> =
                fields.keys().filter_map(|name| Some((name.clone(), rewrite(name)?))).collect();
            for (old, new) in renamed {
                if let Some(value) = fields.remove(&old) {
                    fields.insert(new, value);
                }
            }
            fields.values_mut().for_each(|value| rewrite_all(value, rewrite));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

type Compressed = zstd::Encoder<'static, Counted<BufWriter<File>>>;

/// An archive that is being written.
struct Archive {
    kind: LayerKind,
    path: PathBuf,
    writer: Writer<Counted<Compressed>>,
}

impl Archive {
    fn create(kind: LayerKind, path: &Path) -> Result<Self, ShareError> {
        let file = File::create(path).and_then(|file| {
            let file = Counted::new(BufWriter::new(file));
            zstd::Encoder::new(file, LEVEL)
        });
        let encoder = file.map_err(ShareError::file("write", path))?;
        Ok(Self { kind, path: path.to_path_buf(), writer: Writer::new(Counted::new(encoder)) })
    }

    fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.writer.add(name, bytes)
    }

    /// Adds a trial: the raw text of its engine and its samples are files of their own, as in the store.
    fn add_trial(&mut self, number: u64, mut trial: TrialRecord, rewrite: Rewrite<'_>) -> io::Result<()> {
        let folder = format!("trials/{number:08}");
        let samples = std::mem::take(&mut trial.evidence.samples);
        if let Some(engine) = &mut trial.engine {
            let raw = std::mem::take(&mut engine.raw);
            let raw = rewrite(&raw).unwrap_or(raw);
            self.add(&format!("{folder}/raw.txt"), raw.as_bytes())?;
        }
        self.add(&format!("{folder}/record.json"), &json(&trial, rewrite)?)?;
        self.add(&format!("{folder}/samples.json"), &json(&samples, rewrite)?)
    }

    fn finish(self) -> Result<PackedLayer, ShareError> {
        let Self { kind, path, writer } = self;
        let ended = || -> io::Result<Layer> {
            let (encoder, content_digest, content_bytes) = writer.finish()?.finish();
            let (mut file, digest, size_bytes) = encoder.finish()?.finish();
            file.flush()?;
            Ok(Layer { kind, digest, size_bytes, content_digest, content_bytes })
        };
        let layer = ended().map_err(ShareError::file("write", &path))?;
        Ok(PackedLayer { layer, path })
    }
}

#[cfg(test)]
mod tests {
    use super::json;
    use serde::{Deserialize, Serialize};
    use std::collections::BTreeMap;

    #[derive(Serialize, Deserialize)]
    struct Record {
        #[serde(default)]
        latency: Option<u32>,
        by: BTreeMap<String, u32>,
    }

    #[test]
    fn a_name_that_is_a_field_drops_nothing_in_silence() {
        let by = [("a".to_owned(), 1), ("b".to_owned(), 2)].into();
        let record = Record { latency: Some(7), by };
        let with = |name: &str, new: &str| json(&record, &|text| (text == name).then(|| new.to_owned()));
        for refused in [with("latency", "host-1"), with("by", "host-1"), with("a", "b")] {
            assert!(refused.unwrap_err().to_string().contains("--keep"));
        }
        with("a", "host-1").unwrap();
        with("c", "host-1").unwrap();
    }
}
