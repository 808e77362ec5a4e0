//! Rules on source text that neither rustc nor clippy checks.

use crate::Complaints;
use std::fs;
use std::path::{Path, PathBuf};

/// The most lines of a file.
const MAX_LINES: usize = 600;
/// Crates that may print: the binary, and tools for developers.
const PRINTING: &[&str] = &["crates/cli", "crates/testkit", "xtask"];
/// Crates that may hold `unsafe`.
const UNSAFE: &[&str] = &["crates/engine", "crates/device"];
/// Module names that say nothing about the content.
const EMPTY_NAMES: &[&str] = &["common", "util", "utils", "helper", "helpers", "misc"];
const PRINTERS: &[&str] = &["println!", "eprintln!", "print!", "eprint!", "dbg!"];

/// Checks every Rust file and every Cargo.toml of the workspace.
pub(crate) fn check(root: &Path) -> Result<Complaints, String> {
    let mut files = Vec::new();
    for folder in ["crates", "xtask", "bench", "fuzz"] {
        collect(&root.join(folder), &mut files)?;
    }
    let mut complaints = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(&file);
        complaints.extend(check_file(&shown.to_string_lossy(), &text));
    }
    Ok(complaints)
}

/// Collects every `.rs` file and `Cargo.toml` below `folder`, in a stable order and without build output.
pub(crate) fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    let mut paths = Vec::new();
    for entry in entries {
        paths.push(entry.map_err(|e| format!("{}: {e}", folder.display()))?.path());
    }
    paths.sort();
    for path in paths {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        if path.is_dir() && !["target", "corpus", "artifacts"].contains(&name) {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "rs") || name == "Cargo.toml" {
            files.push(path);
        }
    }
    Ok(())
}

/// All complaints about one file; `path` is relative to the workspace.
fn check_file(path: &str, text: &str) -> Complaints {
    if path.ends_with("Cargo.toml") {
        let lints = text.contains("[lints]\nworkspace = true");
        let own_workspace = text.contains("[workspace]");
        return if lints || own_workspace {
            vec![]
        } else {
            vec![format!("{path}: lacks `[lints] workspace = true`")]
        };
    }
    let mut complaints = Vec::new();
    let lines = text.lines().count();
    if lines > MAX_LINES {
        complaints.push(format!("{path}: {lines} lines, more than {MAX_LINES}"));
    }
    let stem = Path::new(path).file_stem().and_then(|s| s.to_str()).unwrap_or_default();
    if EMPTY_NAMES.contains(&stem) || EMPTY_NAMES.iter().any(|n| path.contains(&format!("/{n}/"))) {
        complaints.push(format!("{path}: name it after what it holds"));
    }
    // A file `foo/tests.rs` is the test module of `foo.rs`.
    let in_src = path.contains("/src/") && stem != "tests";
    let allowed = |crates: &[&str]| crates.iter().any(|folder| path.starts_with(&format!("{folder}/")));
    for (number, line) in shipped_lines(text) {
        let at = format!("{path}:{number}");
        if in_src && !allowed(PRINTING) && prints(line) {
            complaints.push(format!("{at}: only cli may print; emit an event or return a String"));
        }
        if in_src && path.starts_with("crates/") && !allowed(UNSAFE) && has_unsafe(line) {
            complaints.push(format!("{at}: unsafe is for engine and device only"));
        }
        if in_src && stem == "mod" && (line.trim_start().starts_with("impl") || has_word(line, "fn")) {
            complaints.push(format!("{at}: no logic in mod.rs"));
        }
    }
    complaints
}

/// Numbered lines up to the test module, without comments. It would take string literals that look like code for code; there are none.
pub(crate) fn shipped_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines: Vec<&str> = text.lines().collect();
    let is_here = |line: &str| line.trim().starts_with("mod ") && line.trim().ends_with('{');
    let tests = lines.windows(2).position(|w| w[0].trim() == "#[cfg(test)]" && is_here(w[1]));
    let end = tests.unwrap_or(lines.len());
    lines
        .into_iter()
        .take(end)
        .enumerate()
        .map(|(index, line)| (index + 1, line.split_once("//").map_or(line, |(code, _)| code)))
}

fn prints(line: &str) -> bool {
    PRINTERS.iter().any(|printer| {
        line.match_indices(printer).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            !before.is_some_and(|c| c.is_alphanumeric() || c == '_')
        })
    })
}

fn has_unsafe(line: &str) -> bool {
    has_word(line, "unsafe") || line.contains("expect(unsafe_code") || line.contains("allow(unsafe_code")
}

fn has_word(line: &str, word: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word)
}

#[cfg(test)]
mod tests {
    use super::check_file;

    #[test]
    fn printing_below_cli_is_refused() {
        let text = "fn f() {\n    println!(\"x\");\n}\n";
        assert_eq!(
            check_file("crates/run/src/node.rs", text),
            ["crates/run/src/node.rs:2: only cli may print; emit an event or return a String"]
        );
        assert!(check_file("crates/cli/src/main.rs", text).is_empty());
        assert!(check_file("crates/run/tests/loop_node.rs", text).is_empty());
        assert!(check_file("crates/run/src/node/tests.rs", text).is_empty());
    }

    #[test]
    fn comments_and_test_modules_are_not_shipped() {
        let text = "// println!(\"x\")\n#[cfg(test)]\nmod tests {\n    fn f() { dbg!(1); }\n}\n";
        assert!(check_file("crates/run/src/node.rs", text).is_empty());
        let elsewhere = "#[cfg(test)]\nmod tests;\nfn f() { dbg!(1); }\n";
        assert_eq!(check_file("crates/run/src/node.rs", elsewhere).len(), 1, "what follows is shipped");
    }

    #[test]
    fn unsafe_stays_in_its_rooms() {
        let text = "#[expect(unsafe_code, reason = \"ioctl\")]\nlet x = unsafe { f() };\n";
        assert_eq!(check_file("crates/stack/src/a.rs", text).len(), 2);
        assert!(check_file("crates/device/src/a.rs", text).is_empty());
    }

    #[test]
    fn long_files_and_empty_names_are_refused() {
        let long = "x\n".repeat(601);
        assert_eq!(
            check_file("crates/run/src/a.rs", &long),
            ["crates/run/src/a.rs: 601 lines, more than 600"]
        );
        assert_eq!(
            check_file("crates/run/src/util.rs", ""),
            ["crates/run/src/util.rs: name it after what it holds"]
        );
    }

    #[test]
    fn mod_rs_only_lists() {
        assert!(check_file("crates/run/src/a/mod.rs", "pub mod b;\nuse x::y;\n").is_empty());
        assert_eq!(
            check_file("crates/run/src/a/mod.rs", "fn f() {}\n"),
            ["crates/run/src/a/mod.rs:1: no logic in mod.rs"]
        );
    }

    #[test]
    fn every_crate_takes_the_lints() {
        assert_eq!(check_file("crates/run/Cargo.toml", "[package]\n").len(), 1);
        assert!(check_file("crates/run/Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
    }
}
