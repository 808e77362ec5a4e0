//! The least time of copying a tree: its files are in memory, each takes open, write and close, and one syncfs follows. No times,
//! owners, modes or checks. It also measures the time to read that tree from the page cache: a copy program reads while it
//! copies, native reads before (bench/corpus/run.sh).
//!
//!   corpus_floor TREE TARGET...     one writer for each target; prints files per second, and the seconds of each reading the whole tree

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

struct Tree {
    directories: Vec<PathBuf>,
    files: Vec<(PathBuf, Vec<u8>)>,
}

fn read(root: &Path, below: &Path, tree: &mut Tree) -> std::io::Result<()> {
    let mut entries: Vec<_> = std::fs::read_dir(root.join(below))?.collect::<Result<_, _>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = below.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            tree.directories.push(path.clone());
            read(root, &path, tree)?;
        } else if entry.file_type()?.is_file() {
            let content = std::fs::read(root.join(&path))?;
            tree.files.push((path, content));
        }
    }
    Ok(())
}

fn write(tree: &Tree, target: &Path) -> std::io::Result<()> {
    for directory in &tree.directories {
        std::fs::create_dir(target.join(directory))?;
    }
    for (path, content) in &tree.files {
        File::create_new(target.join(path))?.write_all(content)?;
    }
    rustix::fs::syncfs(File::open(target)?)?;
    Ok(())
}

/// Opens, reads and closes all files, like a copier with one buffer.
fn read_again(tree: &Tree, source: &Path) -> std::io::Result<()> {
    let mut buffer = vec![0; 128 << 10];
    for (path, _) in &tree.files {
        let mut file = File::open(source.join(path))?;
        while file.read(&mut buffer)? > 0 {}
    }
    Ok(())
}

/// Does it once in each of several threads at the same time; returns the seconds that all took.
fn at_once(targets: &[PathBuf], act: impl Fn(&Path) -> std::io::Result<()> + Sync) -> std::io::Result<f64> {
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let threads: Vec<_> = targets.iter().map(|target| scope.spawn(|| act(target))).collect();
        threads.into_iter().try_for_each(|thread| {
            thread.join().unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked")))
        })
    })?;
    Ok(begun.elapsed().as_secs_f64())
}

fn main() -> std::io::Result<()> {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [source, targets @ ..] = args.as_slice() else { return Err(std::io::Error::other("TREE TARGET...")) };
    let mut tree = Tree { directories: Vec::new(), files: Vec::new() };
    read(source, Path::new(""), &mut tree)?;
    let read_seconds = at_once(targets, |_| read_again(&tree, source))?;
    let write_seconds = at_once(targets, |target| write(&tree, target))?;
    #[expect(clippy::cast_precision_loss, reason = "a number of files")]
    let files = (tree.files.len() * targets.len()) as f64;
    println!("{:.0} {read_seconds:.3}", files / write_seconds);
    Ok(())
}
