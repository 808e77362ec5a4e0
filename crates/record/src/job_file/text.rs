//! The text of a job file before it is read: other files that it includes, variables, comments.

use std::collections::BTreeSet;
use std::fmt;

/// How deep files may include each other.
const MAX_DEPTH: usize = 8;

/// Returns a line without its comment. fio cuts every line at the first `;` or `#`.
pub(super) fn without_comment(line: &str) -> &str {
    line.split([';', '#']).next().unwrap_or_default()
}

/// Returns the file that a line includes; `None`: the line is something else.
pub(super) fn included(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("include")?;
    (rest.is_empty() || rest.starts_with([' ', '\t', '='])).then(|| rest.trim_start_matches([' ', '\t', '=']))
}

/// A line that includes a file, and why that fails. `E` is the error of reading the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotIncluded<E> {
    /// The line in the outer text, from 1.
    pub line: usize,
    /// Why.
    pub why: IncludeTrouble<E>,
}

/// Why a file can't be included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum IncludeTrouble<E> {
    /// It can't be read.
    File(E),
    /// Files include each other, or too deep.
    TooDeep,
    /// It has a section of its own; this is its head.
    Section(String),
}

impl<E: fmt::Display> fmt::Display for IncludeTrouble<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::TooDeep => write!(f, "files include each other more than {MAX_DEPTH} deep"),
            Self::Section(head) => write!(f, "an included file has a section of its own: {head}"),
        }
    }
}

/// Returns the text with every `include FILE` replaced by that file's lines. `load` reads a file by its name.
///
/// # Errors
/// What `load` says, a section in an included file, or files that include each other.
pub fn expand<E>(
    text: &str,
    load: &mut dyn FnMut(&str) -> Result<String, E>,
) -> Result<String, NotIncluded<E>> {
    let mut out = String::with_capacity(text.len());
    for (index, line) in text.split_inclusive('\n').enumerate() {
        match included(without_comment(line).trim()) {
            Some(file) => {
                splice(file, load, 1, &mut out).map_err(|why| NotIncluded { line: index + 1, why })?
            }
            None => out.push_str(line),
        }
    }
    Ok(out)
}

fn splice<E>(
    file: &str,
    load: &mut dyn FnMut(&str) -> Result<String, E>,
    depth: usize,
    out: &mut String,
) -> Result<(), IncludeTrouble<E>> {
    if depth > MAX_DEPTH {
        return Err(IncludeTrouble::TooDeep);
    }
    for line in load(file).map_err(IncludeTrouble::File)?.lines() {
        let bare = without_comment(line).trim();
        if bare.starts_with('[') {
            return Err(IncludeTrouble::Section(bare.to_owned()));
        }
        match included(bare) {
            Some(inner) => splice(inner, load, depth + 1, out)?,
            None => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    Ok(())
}

/// A variable of a job file that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unfilled {
    /// Its name.
    pub name: String,
    /// Where it stands, in bytes from the begin of the text.
    pub at: std::ops::Range<usize>,
}

/// Returns the text with each `${NAME}` in an option replaced by its value. Comments and section heads stay as they are, as in fio.
///
/// # Errors
/// The first variable that has no value.
pub fn filled(text: &str, value: &dyn Fn(&str) -> Option<String>) -> Result<String, Unfilled> {
    let mut out = String::with_capacity(text.len());
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let option = without_comment(line);
        let head = option.trim_start().starts_with('[');
        let mut done = 0;
        while let Some((from, name, to)) = variable(option, done).filter(|_| !head) {
            let at = start + from..start + to;
            let filling = value(name).ok_or_else(|| Unfilled { name: name.to_owned(), at })?;
            out.push_str(&option[done..from]);
            out.push_str(&filling);
            done = to;
        }
        out.push_str(&line[done..]);
        start += line.len();
    }
    Ok(out)
}

/// Returns the names of all variables of a job file.
pub(super) fn variables(text: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for line in text.lines() {
        let option = without_comment(line);
        let mut done = 0;
        while let Some((_, name, to)) =
            variable(option, done).filter(|_| !option.trim_start().starts_with('['))
        {
            names.insert(name.to_owned());
            done = to;
        }
    }
    names
}

/// Returns begin, name and end of the first `${NAME}` from this byte on.
fn variable(line: &str, from: usize) -> Option<(usize, &str, usize)> {
    let mut at = from;
    loop {
        let begin = at + line.get(at..)?.find("${")?;
        let end = begin + 2 + line.get(begin + 2..)?.find('}')?;
        let name = line.get(begin + 2..end)?;
        let word = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if word && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            return Some((begin, name, end + 1));
        }
        at = begin + 2;
    }
}

#[cfg(test)]
mod tests {
    use super::{Unfilled, expand, filled, variables};

    fn load(name: &str) -> Result<String, String> {
        match name {
            "a" => Ok("bs=4k ; blocks\ninclude b".to_owned()),
            "b" => Ok("direct=1\n".to_owned()),
            "loop" => Ok("include loop\n".to_owned()),
            "section" => Ok("[x]\n".to_owned()),
            other => Err(format!("no {other}")),
        }
    }

    #[test]
    fn included_lines_take_the_place_of_the_directive() {
        let of = |text: &str| expand(text, &mut load);
        assert_eq!(
            of("[a]\ninclude a # here\nsize=1m\n").unwrap(),
            "[a]\nbs=4k ; blocks\ndirect=1\nsize=1m\n"
        );
        assert_eq!(of("[a]\nincludes=1\n").unwrap(), "[a]\nincludes=1\n", "another word");
        for (text, line, why) in [
            ("[a]\ninclude nobody", 2, "no nobody"),
            ("include loop\n", 1, "8 deep"),
            ("[a]\n\ninclude section\n", 3, "a section of its own: [x]"),
        ] {
            let told = of(text).unwrap_err();
            assert!(told.line == line && told.why.to_string().contains(why), "{text:?}: {told:?}");
        }
    }

    #[test]
    fn variables_are_filled_in_options_only() {
        let value = |name: &str| (name == "BS").then(|| "16k".to_owned());
        let text = "[x${NO}]\n# ${NO}\nbs=${BS},${BS} ; ${NO}\nfilename_format=$jobnum\n";
        let filling = filled(text, &value).unwrap();
        assert_eq!(filling, "[x${NO}]\n# ${NO}\nbs=16k,16k ; ${NO}\nfilename_format=$jobnum\n");
        assert_eq!(filled("a=${NO}", &value), Err(Unfilled { name: "NO".to_owned(), at: 2..7 }));
        assert_eq!(
            filled("a=${rw:+x}$((1)){", &value).unwrap(),
            "a=${rw:+x}$((1)){",
            "no variables of fio's"
        );
        assert_eq!(Vec::from_iter(variables("[a${X}]\nb=${B_1}${A}\n;c=${C}\n")), ["A", "B_1"]);
    }
}
