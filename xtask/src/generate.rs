//! Files that the program generates: schemas, man pages, completions, the command reference.
//!
//! The binary writes them (`diskproof generate DIR`, hidden), so they match its behaviour.

use crate::Complaints;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Folders and files with generated text only.
const MADE: &[&str] = &["schema", "man", "completions", "docs/cli.md"];

/// What `cargo binary` builds.
const BINARY: &str = "target/x86_64-unknown-linux-gnu/debug/diskproof";

/// Writes all of them and removes those that are no longer generated.
pub(crate) fn write(root: &Path) -> Result<Complaints, String> {
    let made = make(root)?;
    for stale in present(root)?.keys().filter(|path| !made.contains_key(*path)) {
        fs::remove_file(root.join(stale)).map_err(|e| format!("{}: {e}", stale.display()))?;
    }
    for (path, text) in &made {
        let to = root.join(path);
        let folder = to.parent().unwrap_or(root);
        fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        fs::write(&to, text).map_err(|e| format!("{}: {e}", to.display()))?;
    }
    Ok(vec![])
}

/// Complains about each file that differs from what the program would write now, with the first difference.
pub(crate) fn check(root: &Path) -> Result<Complaints, String> {
    let (made, present) = (make(root)?, present(root)?);
    let mut complaints = differences(&made, &present);
    if !complaints.is_empty() {
        complaints.push("run `make generate` and commit what it writes".to_owned());
    }
    Ok(complaints)
}

fn differences(made: &BTreeMap<PathBuf, String>, present: &BTreeMap<PathBuf, String>) -> Complaints {
    let mut complaints = Vec::new();
    for (path, text) in made {
        match present.get(path) {
            None => complaints.push(format!("{}: missing", path.display())),
            Some(old) if old != text => complaints.push(first_difference(path, old, text)),
            Some(_) => {}
        }
    }
    let stale = present.keys().filter(|path| !made.contains_key(*path));
    complaints.extend(stale.map(|path| format!("{}: no longer generated", path.display())));
    complaints
}

fn first_difference(path: &Path, old: &str, new: &str) -> String {
    let (mut olds, mut news) = (old.lines(), new.lines());
    let mut number = 1;
    loop {
        match (olds.next(), news.next()) {
            (a, b) if a == b && a.is_some() => number += 1,
            (a, b) => {
                let shown = |line: Option<&str>| line.unwrap_or("(end of file)").to_owned();
                return format!("{}:{number}: outdated\n  - {}\n  + {}", path.display(), shown(a), shown(b));
            }
        }
    }
}

/// The files that the program would write now, by path below the workspace.
fn make(root: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let folder = root.join("target/generated");
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    done(Command::new(env!("CARGO")).arg("binary").current_dir(root), "cargo binary")?;
    done(Command::new(root.join(BINARY)).arg("generate").arg(&folder), "diskproof generate")?;
    let mut files = BTreeMap::new();
    read_below(&folder, &folder, &mut files)?;
    Ok(files)
}

fn done(command: &mut Command, what: &str) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{what}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{what}: {status}")) }
}

/// The files in the workspace now.
fn present(root: &Path) -> Result<BTreeMap<PathBuf, String>, String> {
    let mut files = BTreeMap::new();
    for made in MADE {
        read_below(root, &root.join(made), &mut files)?;
    }
    Ok(files)
}

fn read_below(root: &Path, path: &Path, files: &mut BTreeMap<PathBuf, String>) -> Result<(), String> {
    let failed = |e: std::io::Error| format!("{}: {e}", path.display());
    if path.is_dir() {
        for entry in fs::read_dir(path).map_err(failed)? {
            read_below(root, &entry.map_err(failed)?.path(), files)?;
        }
    } else if path.exists() {
        let text = fs::read_to_string(path).map_err(failed)?;
        files.insert(path.strip_prefix(root).unwrap_or(path).to_path_buf(), text);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::differences;
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    fn files(list: &[(&str, &str)]) -> BTreeMap<PathBuf, String> {
        list.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
    }

    #[test]
    fn equal_trees_differ_in_nothing() {
        let tree = files(&[("man/a.1", "x\ny\n")]);
        assert!(differences(&tree, &tree).is_empty());
    }

    #[test]
    fn missing_outdated_and_stale_are_told_apart() {
        let made = files(&[("a", "1\n2\n"), ("b", "1\n")]);
        let present = files(&[("a", "1\n3\n"), ("c", "")]);
        assert_eq!(
            differences(&made, &present),
            ["a:2: outdated\n  - 3\n  + 2", "b: missing", "c: no longer generated"]
        );
    }

    #[test]
    fn a_lost_last_line_is_seen() {
        let complaints = differences(&files(&[("a", "1\n2\n")]), &files(&[("a", "1\n")]));
        assert_eq!(complaints, ["a:2: outdated\n  - (end of file)\n  + 2"]);
    }
}
