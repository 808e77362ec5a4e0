//! Documents: what they link to must be there, headings included, and their lines must not be long.

use crate::Complaints;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// Where documents are.
const FOLDERS: [&str; 6] = ["", "docs", "docs/decisions", "docs/how-to", "bench", "fuzz"];
/// What a line of prose may have, in characters. Tables, code and what has no blank to break at may be longer.
const WIDTH: usize = 120;
/// Written by `generate`, which keeps the lines of the comments that it is made of.
const GENERATED: &str = "docs/cli.md";

/// Complains of links to files or headings that are not there, and of long lines.
pub(crate) fn check(root: &Path) -> Result<Complaints, String> {
    let mut documents = BTreeMap::new();
    for path in paths(root) {
        let text = fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        documents.insert(path, text);
    }
    let headings: BTreeMap<PathBuf, BTreeSet<String>> =
        documents.iter().map(|(path, text)| (path.clone(), anchors(text))).collect();
    let mut complaints = Vec::new();
    for (path, text) in &documents {
        let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
        for (number, target, anchor) in links(text) {
            let file =
                if target.is_empty() { path.clone() } else { path.parent().unwrap_or(root).join(target) };
            let Ok(file) = file.canonicalize() else {
                complaints.push(format!("{shown}:{number}: points to {target}, which is not there"));
                continue;
            };
            let known = headings.get(&file);
            if !anchor.is_empty() && known.is_some_and(|all| !all.contains(anchor)) {
                complaints
                    .push(format!("{shown}:{number}: points to the heading #{anchor}, which {target} lacks"));
            }
        }
        if shown != GENERATED {
            let long = |number| format!("{shown}:{number}: longer than {WIDTH} characters");
            complaints.extend(long_lines(text).into_iter().map(long));
        }
    }
    Ok(complaints)
}

/// Markdown files of the folders, and of those one below `bench`; canonical paths.
fn paths(root: &Path) -> Vec<PathBuf> {
    let in_folder = |folder: &Path| -> Vec<PathBuf> {
        fs::read_dir(folder).map(|all| all.flatten().map(|entry| entry.path()).collect()).unwrap_or_default()
    };
    let mut found: Vec<PathBuf> = FOLDERS.iter().flat_map(|folder| in_folder(&root.join(folder))).collect();
    let benches: Vec<PathBuf> =
        in_folder(&root.join("bench")).iter().flat_map(|bench| in_folder(bench)).collect();
    found.extend(benches);
    let documents = found.iter().filter(|path| path.extension().is_some_and(|e| e == "md"));
    documents.filter_map(|path| path.canonicalize().ok()).collect()
}

/// Lines outside code blocks, with their numbers.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

/// Targets of `[text](target#anchor)` that are paths or headings, with their line.
fn links(text: &str) -> Vec<(usize, &str, &str)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        for rest in line.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else { continue };
            let outside = target.contains("://") || target.contains(' ') || target.starts_with("mailto:");
            if !outside {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                found.push((number, path, anchor));
            }
        }
    }
    found
}

/// What links to headings call them: in lower case, without punctuation, with `-` for blanks; the second of a name ends in `-1`.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (_, line) in prose(text) {
        let Some(title) = line.strip_prefix('#').map(|rest| rest.trim_start_matches('#')) else { continue };
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let name: String =
            kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect();
        let again = (1..).map(|n| format!("{name}-{n}"));
        let free = std::iter::once(name.clone()).chain(again).find(|name| !found.contains(name));
        found.extend(free);
    }
    found
}

/// Numbers of the lines of prose that are too long and could be broken.
fn long_lines(text: &str) -> Vec<usize> {
    let is_long = |line: &str| {
        let table = line.trim_start().starts_with('|');
        !table && line.chars().count() > WIDTH && line.trim().contains(' ')
    };
    prose(text).filter(|(_, line)| is_long(line)).map(|(number, _)| number).collect()
}

#[cfg(test)]
mod tests {
    use super::{anchors, links, long_lines};

    #[test]
    fn only_paths_and_headings_count() {
        let text = "[a](b.md) [c](https://d.e/f)\n[g](#h) [i](j/k.md#l) [m](n o)\n```\n[code](no.md)\n```\n";
        assert_eq!(links(text), [(1, "b.md", ""), (2, "", "h"), (2, "j/k.md", "l")]);
    }

    #[test]
    fn headings_are_called_as_links_call_them() {
        let text = "# Two `Words`, one\n## A_b-c: d\n```\n# no heading\n```\n## A_b-c: d\n";
        assert_eq!(anchors(text).into_iter().collect::<Vec<_>>(), ["a_b-c-d", "a_b-c-d-1", "two-words-one"]);
    }

    #[test]
    fn long_prose_is_found_and_tables_and_code_are_not() {
        let long = "word ".repeat(25);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\n{}\n", "x".repeat(130));
        assert_eq!(long_lines(&text), [1]);
    }
}
