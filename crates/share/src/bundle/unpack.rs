//! Reads a bundle. It comes from others: nothing is believed that can be checked.

use super::info::{FORMAT, Layer, LayerKind, RunInfo};
use crate::digest::Counted;
use crate::error::ShareError;
use crate::tar::Reader;
use record::environment::Environment;
use record::event::Stopped;
use record::id::CellId;
use record::plan::{Plan, Raised};
use record::trial::TrialRecord;
use record::version::FormatVersion;
use record::volume::VolumeFacts;
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Largest archive before compression.
const CONTENT_BYTES: u64 = 1 << 40;
/// More than this times its size, no archive of records grows: counters compress 10 to 60 times.
const GROWTH: u64 = 2000;
/// Largest window of zstd, as a power of two: 8 MiB. Level 3 uses 2 MiB; a hostile archive could ask for 2 GiB.
const WINDOW: u32 = 23;
/// How far the clocks of two machines may lie apart: a day, since some clocks run in local time.
const CLOCKS_APART_MS: u64 = 24 * 60 * 60 * 1000;
/// Largest run without its trials.
const HEAD_BYTES: u64 = 64 << 20;

/// A run without its trials.
#[derive(Debug)]
pub(crate) struct Head {
    pub(crate) plan: Plan,
    pub(crate) raised: Option<Raised>,
    pub(crate) environment: Environment,
    pub(crate) volumes: Vec<VolumeFacts>,
    pub(crate) stopped: Stopped,
}

impl RunInfo {
    /// Reads a description; the error says what is wrong.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let info: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("its description can't be read ({error})"))?;
        if !FORMAT.reads(info.format) {
            return Err(format!(
                "it has format {}, this diskproof reads {FORMAT}: use a newer one",
                info.format
            ));
        }
        if !is_run_name(&info.run) {
            return Err("its name isn't one".to_owned());
        }
        let latest_unix_ms = now_unix_ms().saturating_add(CLOCKS_APART_MS);
        if info.started_unix_ms > latest_unix_ms {
            return Err("it began in the future, so it would stay the latest run".to_owned());
        }
        let kinds: Vec<LayerKind> = info.layers.iter().map(|layer| layer.kind).collect();
        if kinds != [LayerKind::Head, LayerKind::Trials] {
            return Err("it doesn't consist of a head and trials".to_owned());
        }
        let believable = |layer: &Layer| {
            // What can't be compressed grows by a few bytes.
            let most_bytes =
                layer.content_bytes.saturating_add(layer.content_bytes / 64).saturating_add(4096);
            layer.content_bytes <= CONTENT_BYTES
                && layer.content_bytes / GROWTH <= layer.size_bytes
                && layer.size_bytes <= most_bytes
        };
        if !info.layers.iter().all(believable) || info.layers[0].content_bytes > HEAD_BYTES {
            return Err(
                "the sizes of an archive before and after compression do not fit each other".to_owned()
            );
        }
        Ok(info)
    }
}

/// Whether a text can name a run: it stands in messages, file names and addresses. `latest` names the run that began last.
#[must_use]
pub fn is_run_name(name: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    let is_latest = name.eq_ignore_ascii_case("latest");
    (1..=64).contains(&name.len()) && name.bytes().all(plain) && !name.starts_with(['.', '-']) && !is_latest
}

fn now_unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}

type Archive = Reader<Counted<zstd::Decoder<'static, BufReader<File>>>>;

fn archive(path: &Path, layer: &Layer) -> Result<Archive, ShareError> {
    let opened = || {
        let mut decoder = zstd::Decoder::new(File::open(path)?)?;
        decoder.window_log_max(WINDOW)?;
        Ok(Reader::new(Counted::limited(decoder, layer.content_bytes)))
    };
    opened().map_err(ShareError::file("read", path))
}

/// Checks that all was read, and that it is what the description says.
fn whole(archive: Archive, layer: &Layer) -> io::Result<()> {
    let (_, digest, bytes) = archive.into_inner().finish();
    if digest == layer.content_digest && bytes == layer.content_bytes {
        Ok(())
    } else {
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its content has another digest than its description says",
        ))
    }
}

fn parse<T: DeserializeOwned>(name: &str, bytes: &[u8]) -> io::Result<T> {
    serde_json::from_slice(bytes)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("{name}: {error}")))
}

/// Reads the run without its trials.
pub(crate) fn head(path: &Path, layer: &Layer, from: &str) -> Result<Head, ShareError> {
    let unreadable = |why: String| ShareError::Unreadable { from: from.to_owned(), why };
    let mut archive = archive(path, layer)?;
    let mut read = || {
        let mut files = BTreeMap::new();
        while let Some((name, bytes)) = archive.next()? {
            files.insert(name, bytes);
        }
        Ok::<_, io::Error>(files)
    };
    let files = read().and_then(|files| whole(archive, layer).map(|()| files));
    let mut files = files.map_err(|error| unreadable(error.to_string()))?;
    let mut take = |name: &str| files.remove(name).ok_or_else(|| unreadable(format!("{name} is missing")));
    let (plan, environment) = (take("plan.json")?, take("environment.json")?);
    let (stopped, volumes) = (take("stopped.json")?, take("volumes.json")?);
    take("experiment.yaml")?;
    let raised = files.remove("raised.json");
    if let Some(name) = files.keys().next() {
        return Err(unreadable(format!("it has a file `{name}` that this diskproof doesn't know")));
    }
    let parsed = || {
        Ok::<_, io::Error>(Head {
            plan: parse("plan.json", &plan)?,
            raised: raised.as_ref().map(|bytes| parse("raised.json", bytes)).transpose()?,
            environment: parse("environment.json", &environment)?,
            volumes: parse("volumes.json", &volumes)?,
            stopped: parse("stopped.json", &stopped)?,
        })
    };
    let head = parsed().map_err(|error| unreadable(error.to_string()))?;
    readable(head.plan.format).map_err(unreadable)?;
    Ok(head)
}

fn readable(found: FormatVersion) -> Result<(), String> {
    let ours = FormatVersion::RECORD;
    if ours.reads(found) {
        Ok(())
    } else {
        Err(format!("its records have format {found}, this diskproof reads {ours}: use a newer one"))
    }
}

/// The trials of a bundle, one in memory at a time. The last item is an error if the archive isn't what its description says.
pub(crate) struct Trials<'a> {
    archive: Option<Archive>,
    layer: &'a Layer,
    from: String,
    cells: BTreeSet<CellId>,
    expected: u64,
    read: u64,
}

impl<'a> Trials<'a> {
    /// Opens the trials of a run with this plan, of which there must be so many.
    pub(crate) fn open(
        path: &Path,
        layer: &'a Layer,
        from: &str,
        plan: &Plan,
        expected: u64,
    ) -> Result<Self, ShareError> {
        let cells = plan.cells.iter().map(|cell| cell.id.clone()).collect();
        Ok(Self {
            archive: Some(archive(path, layer)?),
            layer,
            from: from.to_owned(),
            cells,
            expected,
            read: 0,
        })
    }

    fn read(&mut self) -> io::Result<Option<TrialRecord>> {
        let Some(archive) = &mut self.archive else { return Ok(None) };
        let folder = format!("trials/{:08}", self.read);
        let bad = |why: String| io::Error::new(io::ErrorKind::InvalidData, why);
        let mut next = archive.next()?;
        let mut raw = None;
        if next.as_ref().is_some_and(|(name, _)| *name == format!("{folder}/raw.txt")) {
            raw = next
                .map(|(_, bytes)| String::from_utf8(bytes))
                .transpose()
                .map_err(|e| bad(e.to_string()))?;
            next = archive.next()?;
        }
        let Some((name, record)) = next else {
            if self.read != self.expected || raw.is_some() {
                return Err(bad(format!("it has {} trials instead of {}", self.read, self.expected)));
            }
            return self.archive.take().map_or(Ok(()), |archive| whole(archive, self.layer)).map(|()| None);
        };
        let samples = archive.next()?.filter(|(name, _)| *name == format!("{folder}/samples.json"));
        let Some((_, samples)) = samples.filter(|_| name == format!("{folder}/record.json")) else {
            return Err(bad(format!("{folder} isn't a trial")));
        };
        let mut trial: TrialRecord = parse(&name, &record)?;
        readable(trial.format).map_err(bad)?;
        if !self.cells.contains(&trial.id.cell) {
            return Err(bad(format!("{folder} is of a cell that the plan doesn't have")));
        }
        trial.evidence.samples = parse(&folder, &samples)?;
        match (&mut trial.engine, raw) {
            (Some(engine), Some(raw)) => engine.raw = raw,
            (None, Some(_)) => return Err(bad(format!("{folder} has the output of no engine"))),
            (_, None) => {}
        }
        self.read += 1;
        Ok(Some(trial))
    }
}

impl Iterator for Trials<'_> {
    type Item = Result<TrialRecord, ShareError>;

    fn next(&mut self) -> Option<Self::Item> {
        let read = self.read();
        if read.is_err() {
            self.archive = None;
        }
        let unreadable =
            |error: io::Error| ShareError::Unreadable { from: self.from.clone(), why: error.to_string() };
        read.map_err(unreadable).transpose()
    }
}
