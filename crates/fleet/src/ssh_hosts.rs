//! The names of hosts in ssh's configuration. ssh itself reads the rest of it; see `ssh -G`.

use crate::select::glob;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that may include each other.
const DEEPEST: usize = 16;
/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;

/// Returns the names after `Host` that stand for one host, in the order of the files, and of the files that they include. A file that
/// can't be read counts as empty: ssh complains of it where it matters.
pub(crate) fn hosts(config: &Path, home: Option<&Path>) -> Vec<String> {
    let mut found = Vec::new();
    let base = home.map_or_else(|| PathBuf::from("/"), |home| home.join(".ssh"));
    read(config, &base, home, 0, &mut found);
    let mut seen = BTreeSet::new();
    found.retain(|name: &String| seen.insert(name.clone()));
    found
}

fn read(file: &Path, base: &Path, home: Option<&Path>, depth: usize, found: &mut Vec<String>) {
    let small = std::fs::metadata(file).is_ok_and(|about| about.is_file() && about.len() <= MAX_BYTES);
    let (true, Ok(text)) = (small && depth < DEEPEST, std::fs::read_to_string(file)) else { return };
    for line in text.lines() {
        let line = line.trim();
        let end = line.find(|c: char| c.is_whitespace() || c == '=').unwrap_or(line.len());
        let (key, rest) = line.split_at(end);
        let words = rest.trim_start_matches(|c: char| c.is_whitespace() || c == '=').split_whitespace();
        let words = words.map(|word| word.trim_matches('"')).take_while(|word| !word.starts_with('#'));
        if key.eq_ignore_ascii_case("host") {
            let is_name = |word: &&str| !word.contains(['*', '?', '!']) && !word.starts_with('-');
            found.extend(words.filter(is_name).map(str::to_owned));
        } else if key.eq_ignore_ascii_case("include") {
            for word in words {
                for file in included(word, base, home) {
                    read(&file, base, home, depth + 1, found);
                }
            }
        }
    }
}

/// Returns the files of an `Include`: globs in the last part of a path; relative paths begin at ~/.ssh.
fn included(word: &str, base: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let path = match (word.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => base.join(word),
    };
    let (Some(dir), Some(pattern)) = (path.parent(), path.file_name().map(|name| name.to_string_lossy()))
    else {
        return Vec::new();
    };
    if !pattern.contains(['*', '?', '[']) {
        return vec![path];
    }
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let fits = entries.filter(|entry| glob(&pattern, &entry.file_name().to_string_lossy()));
    let mut files: Vec<PathBuf> = fits.map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[cfg(test)]
mod tests {
    use super::hosts;

    #[test]
    fn names_are_read_also_from_included_files_and_patterns_are_none() {
        let home = tempfile::tempdir().unwrap();
        let ssh = home.path().join(".ssh");
        std::fs::create_dir_all(ssh.join("conf.d")).unwrap();
        let config = "Host ham0 ham1 *.lan !bad # comment\n  HostName x\nInclude conf.d/*.conf ~/.ssh/own\nhost=\"nas\"\nMatch all\n";
        std::fs::write(ssh.join("config"), config).unwrap();
        std::fs::write(ssh.join("conf.d/a.conf"), "HOST web1 ham0\nInclude conf.d/*.conf\n").unwrap();
        std::fs::write(ssh.join("conf.d/b.txt"), "Host no\n").unwrap();
        std::fs::write(ssh.join("own"), "Host mine\n").unwrap();
        let found = hosts(&ssh.join("config"), Some(home.path()));
        assert_eq!(found, ["ham0", "ham1", "web1", "mine", "nas"]);
        assert!(hosts(&ssh.join("none"), None).is_empty());
    }
}
