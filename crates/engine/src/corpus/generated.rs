//! Generated corpora on disk: created once, checked at every use, created again when damaged. The user may delete them.

use super::generate::{Generator, VERSION};
use super::pack;
use super::task::Failure;
use super::tree::Tree;
use super::writer::{Layout, Manner, Room, Writer};
use record::copy::{CopySync, CorpusKind, Preserve};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The parameters of a generated corpus, which determine every byte of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Recipe {
    pub(crate) kind: CorpusKind,
    pub(crate) files: u64,
    pub(crate) seed: u64,
}

/// Why a corpus could not be created.
#[derive(Debug)]
pub(crate) enum Unmade {
    Cancelled,
    Io(PathBuf, io::Error),
    Copy(Failure),
}

impl Recipe {
    /// The stored name. It contains the owner, which is part of the corpus.
    fn name(self) -> String {
        let uid = rustix::process::geteuid().as_raw();
        format!("{}-{}-{}-u{uid}-v{VERSION}", self.kind.name(), self.files, self.seed)
    }

    /// The corpus as one file; created if it doesn't exist.
    pub(crate) fn pack(
        self,
        corpora: &Path,
        cancel: &AtomicBool,
        progress: &dyn Fn(f64),
    ) -> Result<PathBuf, Unmade> {
        let path = corpora.join(format!("{}.corpus", self.name()));
        // Opening it checks every byte.
        if path.exists() && pack::open(&path).is_ok() {
            return Ok(path);
        }
        let io = |place: &Path| {
            let place = place.to_owned();
            move |error| Unmade::Io(place, error)
        };
        fs::create_dir_all(corpora).map_err(io(corpora))?;
        let generator = Generator::new(self.kind, self.files.max(1), self.seed);
        let (entries, numbers): (Vec<_>, Vec<u64>) = generator.entries().into_iter().unzip();
        let draft = corpora.join(format!("{}.{}.making", self.name(), std::process::id()));
        let count = entries.len().max(1);
        let made = pack::write(&draft, &entries, |place, out| {
            if cancel.load(Ordering::SeqCst) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if let super::tree::Kind::File { bytes, .. } = entries[place].kind {
                generator.content(numbers[place], bytes, out);
            }
            if place % 1024 == 0 {
                progress(share(place, count));
            }
            Ok(())
        });
        match made.and_then(|()| fs::rename(&draft, &path)) {
            Ok(()) => Ok(path),
            Err(error) => {
                let _ = fs::remove_file(&draft);
                let cancelled = cancel.load(Ordering::SeqCst);
                Err(if cancelled { Unmade::Cancelled } else { Unmade::Io(draft, error) })
            }
        }
    }

    /// The corpus as a tree of files, for copiers that are programs.
    pub(crate) fn tree(self, corpora: &Path, pack: &Path) -> Result<PathBuf, Unmade> {
        let path = corpora.join(format!("{}.tree", self.name()));
        let io = |error| Unmade::Io(path.clone(), error);
        let tree = pack::open(pack).map_err(io)?;
        if path.exists() && is_whole(&tree, &path) {
            return Ok(path);
        }
        let draft = path.with_extension(format!("{}.making", std::process::id()));
        for stale in [&draft, &path] {
            match fs::remove_dir_all(stale) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(io(error)),
                _ => {}
            }
        }
        fs::create_dir_all(&draft).map_err(io)?;
        write_tree(&tree, &draft).map_err(Unmade::Copy)?;
        fs::rename(&draft, &path).map_err(io)?;
        Ok(path)
    }
}

#[expect(clippy::cast_precision_loss, reason = "for a progress bar")]
fn share(place: usize, count: usize) -> f64 {
    place as f64 / count as f64
}

/// Checks kind, size and time of every file; the content is compared when a copy is verified.
fn is_whole(tree: &Tree, path: &Path) -> bool {
    tree.entries.iter().all(|entry| {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(found) = fs::symlink_metadata(path.join(&entry.path)) else { return false };
        match entry.kind {
            super::tree::Kind::File { bytes, .. } => {
                found.is_file() && found.len() == bytes && found.mtime() == entry.meta.mtime_seconds
            }
            super::tree::Kind::Directory => found.is_dir(),
            super::tree::Kind::Link(_) => found.is_symlink(),
        }
    })
}

/// Writes a tree as files, with all their metadata.
pub(crate) fn write_tree(tree: &Tree, root: &Path) -> Result<(), Failure> {
    let layout = Layout::of(tree);
    let (stop, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let preserve = Preserve { xattrs: true, ..Preserve::default() };
    let (sync, room) = (CopySync::None, Room::default());
    let manner =
        Manner { preserve, sync, stop: &stop, written: &written, shared: false, room, begin_up_to: 0 };
    let mut writer = Writer::new(root.to_owned(), &layout, &manner)?;
    let places = super::order::places(tree, record::copy::CopyOrder::Ascending, (0, 1), 0);
    writer.copy(&places, true)?;
    writer.finish()
}

#[cfg(test)]
mod tests {
    use super::Recipe;
    use crate::corpus::verify::{self, Wrong};
    use crate::corpus::{load, pack};
    use record::copy::{CorpusKind, Preserve};
    use std::os::unix::fs::FileExt as _;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn it_is_made_once_and_anew_when_it_rotted() {
        let dir = tempfile::tempdir().unwrap();
        let recipe = Recipe { kind: CorpusKind::Mail, files: 30, seed: 4 };
        let made = || recipe.pack(dir.path(), &AtomicBool::new(false), &|_| {}).unwrap();
        let path = made();
        let inode = |path: &std::path::Path| std::os::unix::fs::MetadataExt::ino(&path.metadata().unwrap());
        let first = inode(&path);
        assert_eq!((made(), inode(&path)), (path.clone(), first));
        std::fs::File::options().write(true).open(&path).unwrap().write_all_at(b"\xff\xff", 5_000).unwrap();
        assert!(pack::open(&path).is_err());
        made();
        assert!(pack::open(&path).is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no drafts are left");
    }

    #[test]
    fn a_tree_of_files_is_what_the_pack_says() {
        let dir = tempfile::tempdir().unwrap();
        let recipe = Recipe { kind: CorpusKind::SourceTree, files: 40, seed: 4 };
        let path = recipe.pack(dir.path(), &AtomicBool::new(false), &|_| {}).unwrap();
        let root = recipe.tree(dir.path(), &path).unwrap();
        let tree = pack::open(&path).unwrap();
        let kept = verify::PreservedAttributes { preserve: Preserve::default(), directory_times: true };
        let found = verify::compare(&tree, &root, kept, &AtomicBool::new(false));
        assert_eq!((found.wrong, found.bytes), (Vec::<Wrong>::new(), tree.amount().bytes));
        let again = load::directory(&root, false, u64::MAX).unwrap();
        assert!(again.entries.iter().map(|e| &e.path).eq(tree.entries.iter().map(|e| &e.path)));
        assert!(again.entries.iter().zip(&tree.entries).all(|(a, b)| again.content(a) == tree.content(b)));
        let too_large = load::directory(&root, false, 1000).err().unwrap();
        assert!(too_large.why.to_string().contains("does not fit"), "{}", too_large.why);
    }
}
