//! The floor of copying a tree: its files are in memory, and each is open, write and close, then one syncfs. No times, owners, modes or checks
//! (bench/corpus/run.sh).
//!
//!   corpus_floor TREE TARGET...     one writer for each target; prints files per second

use std::fs::File;
use std::io::Write as _;
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

fn main() -> std::io::Result<()> {
    let args: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [source, targets @ ..] = args.as_slice() else { return Err(std::io::Error::other("TREE TARGET...")) };
    let mut tree = Tree { directories: Vec::new(), files: Vec::new() };
    read(source, Path::new(""), &mut tree)?;
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let writers: Vec<_> = targets.iter().map(|target| scope.spawn(|| write(&tree, target))).collect();
        writers.into_iter().try_for_each(|writer| {
            writer.join().unwrap_or_else(|_| Err(std::io::Error::other("a writer panicked")))
        })
    })?;
    #[expect(clippy::cast_precision_loss, reason = "a number of files")]
    let files = (tree.files.len() * targets.len()) as f64;
    println!("{:.0}", files / begun.elapsed().as_secs_f64());
    Ok(())
}
