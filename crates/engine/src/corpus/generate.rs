//! Corpora made from a seed: the same seed gives the same bytes on every machine, for ever.

mod mail;
mod others;
mod sizes;
mod words;

use super::tree::{Entry, Kind, Meta};
use crate::native::random::Random;
use record::copy::CorpusKind;
use sizes::{MAIL, PHOTOS, Quantiles, SOURCE_TREE, Sizes};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use words::{Words, pick};

/// Part of the name of what is kept; a change of anything here that changes a byte needs another one.
pub(crate) const VERSION: u32 = 1;

/// What a corpus is made of, without its content.
pub(crate) struct Generator {
    kind: CorpusKind,
    seed: u64,
    files: u64,
    sizes: Sizes,
}

/// 2010-11-22 00:00:00 UTC: the newest file is of that time.
const NEWEST: i64 = 1_290_384_000;
/// Eight years.
const SPAN_SECONDS: u64 = 8 * 365 * 86_400;

impl Generator {
    /// `files` must not be 0.
    pub(crate) fn new(kind: CorpusKind, files: u64, seed: u64) -> Self {
        let quantiles: Quantiles = match kind {
            CorpusKind::Mail => MAIL,
            CorpusKind::SourceTree => SOURCE_TREE,
            CorpusKind::Photos => PHOTOS,
        };
        Self { kind, seed, files, sizes: Sizes::new(quantiles, files, seed) }
    }

    /// Names, sizes and metadata of all entries, in ascending order of their paths; and the number of the file behind each.
    pub(crate) fn entries(&self) -> Vec<(Entry, u64)> {
        let mut entries: Vec<(Entry, u64)> = (0..self.files).map(|number| self.file(number)).collect();
        entries.extend(self.links().map(|entry| (entry, 0)));
        let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
        for (entry, _) in &entries {
            let parents = entry.path.ancestors().skip(1).filter(|path| !path.as_os_str().is_empty());
            directories.extend(parents.map(Path::to_path_buf));
        }
        let meta = || Meta { mode: 0o755, mtime_seconds: NEWEST, ..self.owner() };
        entries.extend(
            directories.into_iter().map(|path| (Entry { path, kind: Kind::Directory, meta: meta() }, 0)),
        );
        entries.sort_by(|(a, _), (b, _)| a.path.as_os_str().cmp(b.path.as_os_str()));
        let mut offset = 0;
        for (entry, _) in &mut entries {
            if let Kind::File { offset: place, bytes } = &mut entry.kind {
                *place = offset;
                offset += *bytes;
            }
        }
        entries
    }

    /// Whoever makes it: only root may give files away.
    fn owner(&self) -> Meta {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Meta { uid, gid, ..Meta::default() }
    }

    fn file(&self, number: u64) -> (Entry, u64) {
        // The first stream of a number names its file, the second fills it.
        let mut random = Random::new(self.seed, number * 2);
        let age = i64::try_from(random.below(SPAN_SECONDS)).unwrap_or(0);
        let time = NEWEST - age;
        let (path, mode) = match self.kind {
            CorpusKind::Mail => (self.mail_name(&mut random, number, time), 0o600),
            CorpusKind::SourceTree => source_name(&mut random, self.files, number),
            CorpusKind::Photos => (photo_name(number, time), 0o644),
        };
        let ns = u32::try_from(random.below(1_000_000_000)).unwrap_or(0);
        let meta = Meta { mode, mtime_seconds: time, mtime_ns: ns, ..self.owner() };
        (Entry { path, kind: Kind::File { offset: 0, bytes: self.sizes.of(number) }, meta }, number)
    }

    /// Maildirs of several users: folders of about 350 mails, some much larger than others.
    fn mail_name(&self, random: &mut Random, number: u64, time: i64) -> PathBuf {
        let folders = (self.files / 350).max(1);
        let folder = random.below(folders).min(random.below(folders));
        let (user, box_number) = (folder / 12, folder % 12);
        let state = if random.percent(96) { "cur" } else { "new" };
        let flags = if state == "cur" { ":2,S" } else { "" };
        let (micros, process) = (random.below(1_000_000), random.below(30_000));
        let mailbox = if box_number == 0 { "INBOX".to_owned() } else { format!(".folder{box_number:02}") };
        PathBuf::from(format!(
            "user{user:03}/{mailbox}/{state}/{time}.M{micros:06}P{process}Q{number}.mx1{flags}"
        ))
    }

    /// A source tree has a few symbolic links.
    fn links(&self) -> impl Iterator<Item = Entry> {
        let links = if self.kind == CorpusKind::SourceTree { (self.files / 500).max(1) } else { 0 };
        let meta = Meta { mode: 0o777, mtime_seconds: NEWEST, ..self.owner() };
        (0..links).map(move |number| Entry {
            path: PathBuf::from(format!("include/link{number:03}")),
            kind: Kind::Link(PathBuf::from(format!("../arch/generic/header{number:03}.h"))),
            meta: meta.clone(),
        })
    }

    /// Appends the content of a file.
    pub(crate) fn content(&self, number: u64, bytes: u64, out: &mut Vec<u8>) {
        let mut random = Random::new(self.seed, number * 2 + 1);
        let bytes = usize::try_from(bytes).unwrap_or(0);
        match self.kind {
            CorpusKind::Mail => mail::mail(&mut random, bytes, out),
            CorpusKind::SourceTree => others::source(&mut random, bytes, out),
            CorpusKind::Photos => others::photo(&mut random, bytes, out),
        }
    }
}

/// Directories of about 25 files, up to four deep.
fn source_name(random: &mut Random, files: u64, number: u64) -> (PathBuf, u32) {
    const TOPS: [&str; 8] = ["arch", "block", "drivers", "fs", "include", "kernel", "net", "sound"];
    const ENDINGS: [&str; 6] = ["c", "c", "c", "h", "h", "S"];
    let directory = random.below((files / 25).max(1));
    // What is in the name of a directory depends on its number alone.
    let mut of_directory = Random::new(directory, 0x736f_7572_6365);
    let words = Words::get();
    let mut path = PathBuf::from(pick(&TOPS, &mut of_directory));
    for _ in 0..of_directory.below(3) {
        path.push(words.draw(&mut of_directory));
    }
    path.push(format!("{}{directory}", words.draw(&mut of_directory)));
    let script = random.percent(2);
    let ending = if script { "sh" } else { pick(&ENDINGS, random) };
    path.push(format!("{}-{number}.{ending}", words.draw(random)));
    (path, if script { 0o755 } else { 0o644 })
}

/// By year and month.
fn photo_name(number: u64, time: i64) -> PathBuf {
    let days = time / 86_400;
    PathBuf::from(format!("{}/{:02}/IMG_{number:06}.jpg", 1970 + days / 365, 1 + days % 365 / 31))
}

#[cfg(test)]
mod tests;
