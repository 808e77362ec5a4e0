//! Counts modules that import each other in a circle: they can't be understood, tested or moved one by one. A crate may have as many as
//! `LEFT` lists, and no more.

use crate::Complaints;
use crate::source::{collect, shipped_lines};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The number of modules in circles, by crate; crates that aren't listed have none. Lower a number when a circle is gone.
const LEFT: &[(&str, usize)] = &[
    ("device", 9),
    ("engine", 22),
    ("lab", 4),
    ("observe", 2),
    ("record", 2),
    ("run", 15),
    ("spec", 25),
    ("stack", 22),
    ("testkit", 2),
    ("verdict", 38),
];

/// A module's path below the root of its crate; the root's is empty.
type Module = Vec<String>;

/// Complains about each crate with more modules in circles than listed, or fewer.
pub(crate) fn check(root: &Path) -> Result<Complaints, String> {
    let mut complaints = Vec::new();
    let crates = fs::read_dir(root.join("crates")).map_err(|e| format!("crates: {e}"))?;
    let mut folders: Vec<_> = crates.flatten().map(|entry| entry.path()).collect();
    folders.sort();
    for folder in folders {
        let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let circles = in_circles(&modules(&folder.join("src"))?);
        let left = LEFT.iter().find(|(known, _)| *known == name).map_or(0, |(_, count)| *count);
        if circles.len() != left {
            let names: Vec<String> = circles.iter().map(|module| module.join("::")).collect();
            complaints.push(format!(
                "crates/{name}: {} modules import each other in circles, and xtask/src/circles.rs says {left}: {}",
                names.len(),
                names.join(", ")
            ));
        }
    }
    Ok(complaints)
}

/// The text of each module below a `src` folder, without tests.
fn modules(src: &Path) -> Result<BTreeMap<Module, String>, String> {
    let mut files = Vec::new();
    collect(src, &mut files)?;
    let mut modules = BTreeMap::new();
    for file in files {
        let place = file.strip_prefix(src).unwrap_or(&file).with_extension("");
        let mut module: Module =
            place.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
            module.pop();
        }
        let is_test = |part: &String| {
            part == "tests" || part == "testing" || part == "workshop" || part.ends_with("_tests")
        };
        if module.iter().any(is_test) || module.first().is_some_and(|first| first == "bin") {
            continue;
        }
        let text = fs::read_to_string(&file).map_err(|e| format!("{}: {e}", file.display()))?;
        let shipped: Vec<&str> = shipped_lines(&text).map(|(_, line)| line).collect();
        modules.insert(module, shipped.join("\n"));
    }
    Ok(modules)
}

/// The modules whose imports lead back to themselves, without the root, which only lists its modules.
fn in_circles(modules: &BTreeMap<Module, String>) -> Vec<Module> {
    let imports: BTreeMap<&Module, BTreeSet<Module>> =
        modules.iter().map(|(module, text)| (module, imported(module, text, modules))).collect();
    let leads_back = |module: &Module| {
        let mut seen = BTreeSet::new();
        let mut next: Vec<&Module> = imports[module].iter().collect();
        while let Some(at) = next.pop() {
            if at == module {
                return true;
            }
            if seen.insert(at) {
                next.extend(imports.get(at).into_iter().flatten());
            }
        }
        false
    };
    modules.keys().filter(|module| !module.is_empty() && leads_back(module)).cloned().collect()
}

fn imported(module: &Module, text: &str, modules: &BTreeMap<Module, String>) -> BTreeSet<Module> {
    let found = paths(text).into_iter().filter_map(|path| resolve(module, &path, modules));
    found.filter(|target| target != module && !target.is_empty()).collect()
}

/// The deepest module on a path; `None` if it is another crate's.
fn resolve(module: &Module, path: &[String], modules: &BTreeMap<Module, String>) -> Option<Module> {
    let (mut target, rest) = match path.first()?.as_str() {
        "crate" => (Vec::new(), &path[1..]),
        "self" => (module.clone(), &path[1..]),
        "super" => {
            let up = path.iter().take_while(|part| *part == "super").count();
            (module[..module.len().saturating_sub(up)].to_vec(), &path[up..])
        }
        first => {
            let child = [module.as_slice(), &[first.to_owned()]].concat();
            modules.contains_key(&child).then_some((module.clone(), path))?
        }
    };
    for part in rest {
        target.push(part.clone());
        if !modules.contains_key(&target) {
            target.pop();
            break;
        }
    }
    Some(target)
}

/// All paths in `use` statements, and paths elsewhere that begin with `crate` or `super`.
fn paths(text: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut code = String::new();
    let mut rest = text;
    while let Some(at) = keyword(rest) {
        code.push_str(&rest[..at]);
        let statement = &rest[at + "use ".len()..];
        let end = statement.find(';').unwrap_or(statement.len());
        spread(&[], &statement[..end], &mut found);
        rest = &statement[end..];
    }
    code.push_str(rest);
    let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
    let ours = words.filter(|word| word.starts_with("crate::") || word.starts_with("super::"));
    found.extend(ours.map(|word| word.split("::").map(str::to_owned).collect()));
    found
}

/// The position of the next `use` at the beginning of a statement.
fn keyword(text: &str) -> Option<usize> {
    text.match_indices("use ").map(|(at, _)| at).find(|&at| {
        let line = text[..at].rsplit('\n').next().unwrap_or_default().trim();
        line.is_empty() || line.starts_with("pub")
    })
}

/// Expands a use tree: `a::{b, c::d}` is `a::b` and `a::c::d`.
fn spread(before: &[String], tree: &str, found: &mut Vec<Vec<String>>) {
    let tree = tree.trim();
    if let Some(inner) = tree.strip_prefix('{').and_then(|tree| tree.strip_suffix('}')) {
        let mut depth = 0;
        let parts = inner.split(|c: char| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            c == ',' && depth == 0
        });
        parts.filter(|part| !part.trim().is_empty()).for_each(|part| spread(before, part, found));
        return;
    }
    let (first, rest) = tree.split_once("::").map_or((tree, None), |(first, rest)| (first, Some(rest)));
    let name = first.split(" as ").next().unwrap_or(first).trim().to_owned();
    let path = [before, &[name]].concat();
    match rest {
        Some(rest) => spread(&path, rest, found),
        None => found.push(path),
    }
}

#[cfg(test)]
mod tests {
    use super::{Module, in_circles};
    use std::collections::BTreeMap;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let module = |path: &str| -> Module { path.split("::").map(str::to_owned).collect() };
        let modules: BTreeMap<Module, String> =
            files.iter().map(|(path, text)| (module(path), (*text).to_owned())).collect();
        in_circles(&modules).iter().map(|module| module.join("::")).collect()
    }

    #[test]
    fn modules_that_import_each_other_are_found_at_any_length() {
        let ring =
            [("a", "use crate::b::B;"), ("b", "fn b(c: crate::c::C) {}"), ("c", "use super::a::{A, X};")];
        assert_eq!(circles(&ring), ["a", "b", "c"]);
        assert_eq!(circles(&ring[..2]), [""; 0]);
    }

    #[test]
    fn a_child_that_imports_from_its_dispatcher_is_in_a_circle_with_it() {
        let back = [("act", "mod md;\nuse md::Md;"), ("act::md", "use super::{Act, Doing};\nuse std::fs;")];
        assert_eq!(circles(&back), ["act", "act::md"]);
        let beside = [
            ("act", "use doing::Doing;\nuse self::md::Md;"),
            ("act::md", "use super::doing::Doing;"),
            ("act::doing", ""),
        ];
        assert_eq!(circles(&beside), [""; 0]);
    }

    #[test]
    fn trees_of_imports_are_spread() {
        let tree = [
            ("a", "pub(crate) use crate::{\n    b::{B, C as D},\n    c::{self, e::E},\n};"),
            ("b", ""),
            ("c", ""),
            ("c::e", "use crate::a;"),
        ];
        assert_eq!(circles(&tree), ["a", "c::e"]);
    }
}
