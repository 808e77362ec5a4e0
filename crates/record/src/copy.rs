//! Copies of a tree of files: what is asked, and what one copy told.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// What the `corpus` engine is asked: to copy a tree of files to completion.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CopyAsk {
    /// What is copied.
    pub corpus: Corpus,
    /// Who copies.
    pub copier: Copier,
    /// Copiers at work at the same time.
    pub writers: u32,
    /// Whether each of them makes a whole copy.
    pub copies: Copies,
    /// In which order of names each writer goes, in turn where there are more writers than orders.
    pub order: Vec<CopyOrder>,
    /// When the data is durable.
    pub sync: CopySync,
    /// What is kept of a file beside its content.
    pub preserve: Preserve,
    /// Whether the copy is read back, cold, and compared with its source.
    pub verify: bool,
}

/// A tree of files to copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Corpus {
    /// Made from a seed, always the same.
    Generated {
        /// What it resembles.
        kind: CorpusKind,
        /// Number of files.
        files: u64,
        /// Seed of names, sizes and content.
        seed: u64,
        /// All its files together, when the plan was made.
        size_bytes: u64,
    },
    /// A directory of the target machine.
    Directory {
        /// Which.
        path: PathBuf,
    },
}

/// What a generated corpus resembles.
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
    /// As in the experiment file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mail => "mail",
            Self::SourceTree => "source-tree",
            Self::Photos => "photos",
        }
    }

    /// About how large a file is in the mean; that of a small corpus may differ by a few percent.
    #[must_use]
    pub fn mean_bytes(self) -> u64 {
        match self {
            Self::Mail => 7_831,
            Self::SourceTree => 15_634,
            Self::Photos => 4_057_500,
        }
    }

    /// Files of a corpus of full scale.
    #[must_use]
    pub fn full_scale(self) -> u64 {
        match self {
            Self::Mail => 273_273,
            Self::SourceTree => 60_000,
            Self::Photos => 5_000,
        }
    }
}

/// Who copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Copier {
    /// diskproof's own.
    Native,
    /// `cpio -p`.
    Cpio,
    /// `cp -a`.
    Cp,
    /// `rsync -a`.
    Rsync,
    /// Two `tar`, one writing into a pipe, the other reading from it.
    Tar,
}

impl Copier {
    /// As in the experiment file.
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

/// What several writers make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Copies {
    /// Each a whole copy, in a directory of its own.
    Each,
    /// One copy, divided among them.
    One,
}

/// In which order of their names files are copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopyOrder {
    /// From the first to the last, byte by byte.
    Ascending,
    /// From the last to the first.
    Descending,
    /// From both ends in turn: first, last, second, last but one.
    Interleaved,
    /// At random, by the trial's seed.
    Random,
    /// As the source's directories list them: all that `cp` can do.
    Listed,
}

impl CopyOrder {
    /// As in the experiment file.
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

/// When copied data is durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CopySync {
    /// syncfs when all is copied, inside the measured time.
    End,
    /// fsync of every file before it is closed, and syncfs when all is copied.
    File,
    /// Never: what is measured is the page cache.
    None,
}

/// What is kept of a file beside its content.
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
    /// Whole copies that are made.
    #[must_use]
    pub fn whole_copies(&self) -> u64 {
        match self.copies {
            Copies::Each => self.writers.max(1).into(),
            Copies::One => 1,
        }
    }

    /// Bytes of all copies, as far as they are known when the plan is made: 0 for a directory.
    #[must_use]
    pub fn data_bytes(&self) -> u64 {
        match self.corpus {
            Corpus::Generated { size_bytes, .. } => size_bytes.saturating_mul(self.whole_copies()),
            Corpus::Directory { .. } => 0,
        }
    }

    /// The order of a writer.
    #[must_use]
    pub fn order_of(&self, writer: u32) -> CopyOrder {
        let place = usize::try_from(writer).unwrap_or(0) % self.order.len().max(1);
        self.order.get(place).copied().unwrap_or(CopyOrder::Ascending)
    }
}

/// What a copy told.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Copied {
    /// Where the source was while it was copied, in words, e.g. `in memory`.
    pub source: String,
    /// Files of all copies.
    pub files: u64,
    /// Directories of all copies.
    pub directories: u64,
    /// Symbolic links of all copies.
    pub links: u64,
    /// Content of all files.
    pub logical_bytes: u64,
    /// By how much the space in use of the file system grew, metadata included; `None` where it doesn't tell.
    pub allocated_bytes: Option<u64>,
    /// Data in compressed and other extents before and after compression; `None` where nobody can tell.
    pub extents: Option<Extents>,
    /// The writers, in order.
    pub writers: Vec<CopiedBy>,
    /// Of the measured time, how long the final sync took.
    pub sync_seconds: f64,
    /// Whether what was read back came from the device: caches were dropped before. `None`: nothing was read back.
    #[serde(default)]
    pub verified_cold: Option<bool>,
}

/// Data of files on a file system that may compress.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extents {
    /// Uncompressed, in whole blocks as the file system keeps it.
    pub uncompressed_bytes: u64,
    /// On the device, before copies of a RAID profile.
    pub disk_bytes: u64,
}

/// What one writer did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CopiedBy {
    /// Files.
    pub files: u64,
    /// Their content.
    pub bytes: u64,
    /// Until its last file was closed.
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
