//! Checks that the targets of links between documents exist.

use crate::Complaints;
use std::fs;
use std::path::Path;

/// Complains about each relative link in a Markdown file whose target doesn't exist.
pub(crate) fn check(root: &Path) -> Result<Complaints, String> {
    let mut complaints = Vec::new();
    for folder in ["", "docs", "docs/decisions", "bench", "fuzz"] {
        let Ok(entries) = fs::read_dir(root.join(folder)) else { continue };
        let mut paths: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths.iter().filter(|path| path.extension().is_some_and(|e| e == "md")) {
            let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
            let beside = path.parent().unwrap_or(root);
            let shown = path.strip_prefix(root).unwrap_or(path).display();
            for (number, target) in links(&text) {
                if !beside.join(target).exists() {
                    complaints.push(format!("{shown}:{number}: points to {target}, which is not there"));
                }
            }
        }
    }
    Ok(complaints)
}

/// The targets of `[text](target)` that are paths, with their line numbers and without anchors.
fn links(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for rest in line.split("](").skip(1) {
            let Some((target, _)) = rest.split_once(')') else { continue };
            let path = target.split('#').next().unwrap_or_default();
            let is_path = !path.is_empty() && !path.contains("://") && !path.contains(' ');
            if is_path && !path.starts_with("mailto:") {
                found.push((index + 1, path));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::links;

    #[test]
    fn only_paths_count() {
        let text = "[a](b.md) [c](https://d.e/f)\n[g](#h) [i](j/k.md#l) [m](n o)\n";
        assert_eq!(links(text), [(1, "b.md"), (2, "j/k.md")]);
    }
}
