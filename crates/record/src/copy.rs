//! Copies of a tree of files: the options of a copy and its results.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// The options of the `corpus` engine, which copies a tree of files to completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyAsk {
    /// The files that are copied.
    pub corpus: Corpus,
    /// The program that copies.
    pub copier: Copier,
    /// Number of copies that run at the same time.
    pub writers: u32,
    /// Whether each writer makes a whole copy, or all share one.
    pub copies: Copies,
    /// The order of names in which each writer copies. If there are more writers than orders, the list starts again.
    pub order: Vec<CopyOrder>,
    /// When the copied data is made durable.
    pub sync: CopySync,
    /// The attributes of a file that are kept besides its content.
    pub preserve: Preserve,
    /// Whether the copy is read back with cold caches and compared with its source.
    pub verify: bool,
}

/// A tree of files to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corpus {
    /// Generated from a seed, and identical each time.
    Generated {
        /// The kind of data that it resembles.
        kind: CorpusKind,
        /// Number of files.
        files: u64,
        /// Seed of names, sizes and content.
        seed: u64,
        /// Total size of its files in bytes, computed with the plan.
        size_bytes: u64,
    },
    /// A directory on the machine under test.
    Directory {
        /// Path of the directory.
        path: PathBuf,
    },
}

/// The kind of data that a generated corpus resembles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CorpusKind {
    /// An archive of mail: many small files that compress well.
    Mail,
    /// A tree of source code.
    SourceTree,
    /// Photos: large files that don't compress.
    Photos,
}

impl CorpusKind {
    /// Returns the name that the experiment file uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::SourceTree => "source-tree",
            Self::Photos => "photos",
        }
    }

    /// Returns the approximate mean size of a file in bytes; the mean of a small corpus may differ by a few percent.
    #[must_use]
    pub fn mean_bytes(self) -> u64 {
        match self {
            Self::Mail => 7_831,
            Self::SourceTree => 15_634,
            Self::Photos => 4_057_500,
        }
    }

    /// Returns the number of files of a full-scale corpus.
    #[must_use]
    pub fn full_scale(self) -> u64 {
        match self {
            Self::Mail => 273_273,
            Self::SourceTree => 60_000,
            Self::Photos => 5_000,
        }
    }
}

/// The program that copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Copier {
    /// diskproof's own copier.
    Native,
    /// `cpio -p`.
    Cpio,
    /// `cp -a`.
    Cp,
    /// `rsync -a`.
    Rsync,
    /// Two `tar` processes: one writes into a pipe, the other reads from it.
    Tar,
}

impl Copier {
    /// Returns the name that the experiment file uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Cpio => "cpio",
            Self::Cp => "cp",
            Self::Rsync => "rsync",
            Self::Tar => "tar",
        }
    }
}

/// How several writers share the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Copies {
    /// Each writer makes a whole copy, in a directory of its own.
    Each,
    /// All writers share one copy.
    One,
}

/// The order of names in which files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopyOrder {
    /// From the first name to the last, compared byte by byte.
    Ascending,
    /// From the last name to the first.
    Descending,
    /// From both ends alternately: first, last, second, last but one.
    Interleaved,
    /// In a random order from the trial's seed.
    Random,
    /// In the order in which the source's directories list them: the only order that `cp` supports.
    Listed,
}

impl CopyOrder {
    /// Returns the name that the experiment file uses.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ascending => "ascending",
            Self::Descending => "descending",
            Self::Interleaved => "interleaved",
            Self::Random => "random",
            Self::Listed => "listed",
        }
    }
}

/// When copied data is made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopySync {
    /// syncfs after the whole copy, inside the measured time.
    End,
    /// fsync of every file before it is closed, and syncfs after the whole copy.
    File,
    /// Never: the trial measures the page cache.
    None,
}

/// The attributes of a file that are kept besides its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preserve {
    /// Permissions.
    pub mode: bool,
    /// User and group.
    pub owner: bool,
    /// Time of the last modification.
    pub mtime: bool,
    /// Extended attributes.
    pub xattrs: bool,
}

impl Default for Preserve {
    fn default() -> Self {
        Self { mode: true, owner: true, mtime: true, xattrs: false }
    }
}

impl CopyAsk {
    /// Returns the number of whole copies.
    #[must_use]
    pub fn whole_copies(&self) -> u64 {
        match self.copies {
            Copies::Each => self.writers.max(1).into(),
            Copies::One => 1,
        }
    }

    /// Returns the bytes of all copies, as far as the plan knows them: 0 for a directory.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match self.corpus {
            Corpus::Generated { size_bytes, .. } => size_bytes.saturating_mul(self.whole_copies()),
            Corpus::Directory { .. } => 0,
        }
    }

    /// Returns the order of a writer.
    #[must_use]
    pub fn order_of(&self, writer: u32) -> CopyOrder {
        let place = usize::try_from(writer).unwrap_or(0) % self.order.len().max(1);
        self.order.get(place).copied().unwrap_or(CopyOrder::Ascending)
    }
}

/// The results of a copy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Copied {
    /// Where the source was during the copy, in words, e.g. `in memory`.
    pub source: String,
    /// Number of files of all copies.
    pub files: u64,
    /// Number of directories of all copies.
    pub directories: u64,
    /// Number of symbolic links of all copies.
    pub links: u64,
    /// Size of the content of all files, in bytes.
    pub logical_bytes: u64,
    /// Growth of the file system's used space, metadata included; `None` where the file system doesn't report it.
    pub allocated_bytes: Option<u64>,
    /// Extents on a file system that compresses; `None` where they can't be read.
    pub extents: Option<Extents>,
    /// What each writer did, in order.
    pub writers: Vec<CopiedBy>,
    /// Duration of the final sync, which is part of the measured time.
    pub sync_seconds: f64,
    /// Whether the data that was read back came from the device, because caches were dropped before; `None`: nothing was read back.
    #[serde(default)]
    pub verified_cold: Option<bool>,
}

/// File data on a file system that may compress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extents {
    /// Size before compression, in whole blocks.
    pub uncompressed_bytes: u64,
    /// Size on the device, counted once even where a RAID profile keeps several copies.
    pub disk_bytes: u64,
}

/// The work of one writer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CopiedBy {
    /// Number of files.
    pub files: u64,
    /// Size of their content in bytes.
    pub bytes: u64,
    /// Time until its last file was closed.
    pub seconds: f64,
}

#[cfg(test)]
mod tests {
    use super::{Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind, Preserve};

    fn ask(writers: u32, copies: Copies) -> CopyAsk {
        CopyAsk {
            corpus: Corpus::Generated { kind: CorpusKind::Mail, files: 10, seed: 1, size_bytes: 1000 },
            copier: Copier::Native,
            writers,
            copies,
            order: vec![CopyOrder::Ascending, CopyOrder::Descending],
            sync: CopySync::End,
            preserve: Preserve::default(),
            verify: true,
        }
    }

    #[test]
    fn whole_copies_count_by_writer_unless_they_share_one() {
        assert_eq!(ask(2, Copies::Each).data_bytes(), 2000);
        assert_eq!(ask(2, Copies::One).data_bytes(), 1000);
    }

    #[test]
    fn orders_are_taken_in_turn() {
        let ask = ask(3, Copies::Each);
        assert_eq!([0, 1, 2].map(|w| ask.order_of(w).name()), ["ascending", "descending", "ascending"]);
    }
}
