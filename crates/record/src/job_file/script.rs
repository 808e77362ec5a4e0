//! A job file in a shell script: the here-document that the script hands to fio. The script is read, never run.

use super::arithmetic::evaluate;
use super::sections::{Wrong, read};
use super::size::Size;
use super::text::{self, without_comment};
use crate::fio_option::{self, Access, Field};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

/// The most bytes of a value that a script sets, and the most options beside the job file.
const MAX_VALUE: usize = 100;
const MAX_OPTIONS: usize = 100;

/// A job file that a script holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InScript {
    /// The job file. Each of its lines has the number that it has in the script; the script's other lines are empty, or hold the
    /// options that the script hands to fio beside the job file.
    pub text: String,
    /// The line of the script at which it begins, from 1.
    pub line: usize,
    /// The options that the script hands to fio beside the job file, as in `--bs=4k`.
    pub options: Vec<String>,
    /// The variables of the job file that the script sets itself, each with its value.
    pub set: Vec<(String, String)>,
}

/// Why no job file can be read from a script, with the line, from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoJobFile {
    /// The line.
    pub line: usize,
    /// Why.
    pub why: ScriptTrouble,
}

/// Why no job file can be read from a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptTrouble {
    /// It has no here-document that is a job file.
    None,
    /// It has several; these are their lines.
    Several(Vec<usize>),
    /// It appends to a file, so the job file is made of pieces.
    Pieces,
    /// The job file has a value that only a shell can tell, e.g. `$(nproc)`.
    Shell(String),
    /// A variable has no value.
    Unset(String),
    /// It hands fio an option beside the job file that can't stand in a job file.
    Argument(String),
}

impl fmt::Display for ScriptTrouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => {
                f.write_str("a shell script without a job file in it (a here-document with sections)")
            }
            Self::Several(lines) => {
                let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
                write!(f, "a shell script with {} job files, in lines {}", lines.len(), lines.join(", "))
            }
            Self::Pieces => f.write_str("a shell script that writes its job file in several pieces"),
            Self::Shell(text) => {
                write!(f, "a job file in a shell script, and only a shell knows the value of `{text}`")
            }
            Self::Unset(name) => {
                write!(f, "`${name}` has no value: the script doesn't set it to a plain text")
            }
            Self::Argument(word) => write!(f, "a shell script that gives fio `{word}` beside the job file"),
        }
    }
}

/// Whether a text is a shell script, or something like it: an option before the first section, and a here-document or a first line
/// that names a shell.
#[must_use]
pub fn is_script(text: &str) -> bool {
    let no_section = || read(text).wrong.iter().any(|(_, wrong)| *wrong == Wrong::NoSection);
    (text.starts_with("#!") || text.contains("<<")) && no_section()
}

/// Reads the job file in a shell script. `value` returns the value of a variable that the script doesn't set itself.
///
/// # Errors
/// The script has no job file or several, or one that only a shell can read.
pub fn from_script(text: &str, value: &mut dyn FnMut(&str) -> Option<String>) -> Result<InScript, NoJobFile> {
    let lines: Vec<&str> = text.lines().collect();
    let documents = here_documents(&lines);
    let holds_jobs = |document: &&HereDocument<'_>| {
        let file = read(&lines[document.body.clone()].join("\n"));
        !file.sections.is_empty() && file.wrong.iter().all(|(_, wrong)| *wrong != Wrong::NoSection)
    };
    let found: Vec<&HereDocument<'_>> = documents.iter().filter(holds_jobs).collect();
    let piece = found.iter().find(|document| document.head.contains(">>"));
    if let Some(document) = piece {
        return Err(NoJobFile { line: document.body.start, why: ScriptTrouble::Pieces });
    }
    let document = match found.as_slice() {
        [] => return Err(NoJobFile { line: 1, why: ScriptTrouble::None }),
        [one] => *one,
        [first, ..] => {
            let all = found.iter().map(|document| document.body.start + 1).collect();
            return Err(NoJobFile { line: first.body.start, why: ScriptTrouble::Several(all) });
        }
    };
    let mut inside = vec![false; lines.len()];
    documents.iter().for_each(|document| inside[document.body.clone()].fill(true));
    let outside: Vec<(usize, &str)> = lines
        .iter()
        .enumerate()
        .filter(|(index, line)| !inside[*index] && !line.trim_start().starts_with('#'))
        .map(|(index, line)| (index, *line))
        .collect();
    let target = target(document.head);
    let appends = |line: &str| line.contains(">>") && target.is_some_and(|target| line.contains(target));
    if let Some((index, _)) = outside.iter().find(|(_, line)| appends(line)) {
        return Err(NoJobFile { line: index + 1, why: ScriptTrouble::Pieces });
    }
    let mut variables = Variables { plain: plain(&outside, document.body.start), used: Vec::new(), value };
    let mut made = vec![String::new(); lines.len()];
    for index in document.body.clone() {
        let at = |why| NoJobFile { line: index + 1, why };
        made[index] = match document.literal {
            true => lines[index].to_owned(),
            false => expanded(lines[index], &mut variables).map_err(at)?,
        };
    }
    let options = arguments(&outside, target, &mut variables)?;
    let used = variables.used;
    let line = document.body.start + 1;
    let mut head: Vec<String> = Vec::new();
    if !options.is_empty() {
        head.push("[global]".to_owned());
        head.extend(options.iter().cloned());
    }
    // They take the place of the script's first lines, which are empty now.
    let kept = head.len().min(document.body.start);
    drop(made.splice(..kept, head));
    let options = options.into_iter().map(|option| format!("--{option}")).collect();
    Ok(InScript { text: made.join("\n") + "\n", line, options, set: used })
}

/// Returns the names of all variables of a job file, or of the job file in a script without those that the script sets itself.
#[must_use]
pub fn variables(text: &str) -> BTreeSet<String> {
    if !is_script(text) {
        return text::variables(text);
    }
    let mut names = BTreeSet::new();
    let found = from_script(text, &mut |name| {
        names.insert(name.to_owned());
        Some("1".to_owned())
    });
    // In a quoted here-document the shell leaves them to fio. What is wrong with a script is told when it is read.
    names.extend(found.iter().flat_map(|script| text::variables(&script.text)));
    names
}

/// A here-document.
struct HereDocument<'t> {
    /// The line of the command.
    head: &'t str,
    /// Its lines, counted from 0.
    body: Range<usize>,
    /// Whether the shell takes its text as it is.
    literal: bool,
}

fn here_documents<'t>(lines: &[&'t str]) -> Vec<HereDocument<'t>> {
    // The last line of each text: a script of very many begins without an end is read once.
    let last = |of: fn(&'t str) -> &'t str| -> BTreeMap<&'t str, usize> {
        lines.iter().enumerate().map(|(index, line)| (of(line), index)).collect()
    };
    let (exact, behind_tabs) = (last(|line| line), last(|line| line.trim_start_matches('\t')));
    let mut found = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let head = lines[index];
        index += 1;
        let Some((word, literal, tabs)) = delimiter(head) else { continue };
        let last = if tabs { &behind_tabs } else { &exact };
        if last.get(word).is_none_or(|last| *last < index) {
            continue;
        }
        let ends = |line: &&str| (if tabs { line.trim_start_matches('\t') } else { *line }) == word;
        let Some(length) = lines[index..].iter().position(ends) else { continue };
        found.push(HereDocument { head, body: index..index + length, literal });
        index += length + 1;
    }
    found
}

/// Returns the word that ends the here-document of a line, whether it is quoted, and whether tabs may stand before it.
fn delimiter(line: &str) -> Option<(&str, bool, bool)> {
    let (before, after) = line.split_once("<<")?;
    if line.trim_start().starts_with('#') || before.contains("((") || after.starts_with('<') {
        return None;
    }
    let tabs = after.starts_with('-');
    let after = after.strip_prefix('-').unwrap_or(after).trim_start();
    let literal = after.starts_with(['\'', '"', '\\']);
    let after = after.trim_start_matches(['\'', '"', '\\']);
    let end = after.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(after.len());
    let word =
        after.get(..end).filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_'))?;
    Some((word, literal, tabs))
}

/// The file to which a command writes, as it is written; `None`: the here-document goes to the command itself.
fn target(head: &str) -> Option<&str> {
    let (_, after) = head.split_once('>')?;
    let after = after.trim_start_matches(['>', '|']).trim_start();
    let word = after.split([' ', '\t', '<', ';', '&', '|']).next()?.trim_matches('"');
    (!word.is_empty()).then_some(word)
}

/// The variables that a script sets once, to a word, before its line `end` (from 0), outside every block.
fn plain(outside: &[(usize, &str)], end: usize) -> BTreeMap<String, Option<String>> {
    let mut found: BTreeMap<String, Option<String>> = BTreeMap::new();
    for (index, line) in outside {
        let mut words = line.split_whitespace();
        if matches!(words.next(), Some("for" | "read"))
            && let Some(name) = words.next()
        {
            found.insert(name.to_owned(), None);
        }
        let command =
            ["export ", "readonly "].iter().find_map(|word| line.strip_prefix(word)).unwrap_or(*line);
        let Some((name, word)) = command.trim_start().split_once('=') else { continue };
        if !is_name(name) {
            continue;
        }
        let word = word.trim_end();
        let bare = ['"', '\''].iter().find_map(|quote| word.strip_prefix(*quote)?.strip_suffix(*quote));
        let bare = bare.unwrap_or(word);
        let odd = bare.contains(|c: char| c.is_whitespace() || "$`\\\"'();&|<>*?[]{}".contains(c));
        let sound = !odd
            && (1..=MAX_VALUE).contains(&bare.len())
            && !command.starts_with([' ', '\t'])
            && *index < end;
        let known = found.entry(name.to_owned()).or_insert_with(|| sound.then(|| bare.to_owned()));
        if known.as_deref() != Some(bare) || !sound {
            *known = None;
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The values of variables.
struct Variables<'v> {
    plain: BTreeMap<String, Option<String>>,
    /// Those that the script sets and the job file uses.
    used: Vec<(String, String)>,
    value: &'v mut dyn FnMut(&str) -> Option<String>,
}

impl Variables<'_> {
    fn get(&mut self, name: &str) -> Result<String, ScriptTrouble> {
        if let Some(Some(value)) = self.plain.get(name) {
            let pair = (name.to_owned(), value.clone());
            if !self.used.contains(&pair) {
                self.used.push(pair);
            }
            return Ok(value.clone());
        }
        (self.value)(name).ok_or_else(|| ScriptTrouble::Unset(name.to_owned()))
    }
}

/// Returns a line as the shell writes it: with the values of its variables. A comment of the job file stays as it is.
fn expanded(line: &str, variables: &mut Variables<'_>) -> Result<String, ScriptTrouble> {
    let option = without_comment(line);
    let mut out = String::with_capacity(line.len());
    let mut rest = option;
    while let Some(at) = rest.find(['$', '`', '\\']) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let (text, length) = one(rest, variables)?;
        out.push_str(&text);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out.push_str(&line[option.len()..]);
    Ok(out)
}

/// Returns what the shell makes of the begin of a text (`$`, a backtick or a backslash), and the number of bytes that it replaces.
fn one(text: &str, variables: &mut Variables<'_>) -> Result<(String, usize), ScriptTrouble> {
    let shell = |text: &str| ScriptTrouble::Shell(shown(text, 40));
    if let Some(rest) = text.strip_prefix('\\') {
        let escaped = rest.chars().next().filter(|c| matches!(c, '$' | '`' | '\\'));
        return Ok(escaped.map_or_else(|| ("\\".to_owned(), 1), |c| (c.to_string(), 2)));
    }
    if let Some(rest) = text.strip_prefix("$((") {
        let end = rest.find("))").ok_or_else(|| shell(text))?;
        let mut unset = None;
        let number = evaluate(&rest[..end], &mut |name| match variables.get(name) {
            Ok(value) => match Size::parse(&value, None)? {
                Size::Bytes(bytes) => Some(i128::from(bytes)),
                Size::Percent(_) => None,
            },
            Err(why) => {
                unset = Some(why);
                None
            }
        });
        return match (number, unset) {
            (Some(number), _) => Ok((number.to_string(), end + 5)),
            (None, Some(why)) => Err(why),
            (None, None) => Err(shell(&text[..end + 5])),
        };
    }
    let Some(rest) = text.strip_prefix('$') else { return Err(shell(text)) };
    if let Some(braced) = rest.strip_prefix('{') {
        let name = braced.split('}').next().filter(|name| is_name(name) && braced.len() > name.len());
        let name = name.ok_or_else(|| shell(text))?;
        return Ok((variables.get(name)?, name.len() + 3));
    }
    let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
    match &rest[..end] {
        name if is_name(name) => Ok((variables.get(name)?, end + 1)),
        "" if !rest.starts_with(['(', '@', '*', '#', '?', '$', '!', '-']) => Ok(("$".to_owned(), 1)),
        _ => Err(shell(text)),
    }
}

/// The begin of a text, for messages.
fn shown(text: &str, most: usize) -> String {
    crate::printable::printable(text).chars().take(most).collect()
}

/// Returns the options that the script hands to fio beside the job file, as lines of a job file.
fn arguments(
    outside: &[(usize, &str)],
    target: Option<&str>,
    variables: &mut Variables<'_>,
) -> Result<Vec<String>, NoJobFile> {
    let mut options: Vec<String> = Vec::new();
    for (index, line) in outside {
        let words: Vec<String> = line.split_whitespace().map(|word| word.replace(['"', '\''], "")).collect();
        let calls_fio = words.iter().any(|word| word == "fio" || word.ends_with("/fio"));
        if !calls_fio && !target.is_some_and(|target| line.contains(target)) {
            continue;
        }
        let at = |why| NoJobFile { line: index + 1, why };
        for word in &words {
            let Some(option) = word.strip_prefix("--") else { continue };
            let (name, value) =
                option.split_once('=').map_or((option, None), |(name, value)| (name, Some(value)));
            let bare = |key: &fio_option::Key| matches!(key.field, Field::Switch { bare: true, .. });
            let fits = match fio_option::find(name).map(|known| known.access) {
                // They are no options of a job, and change no I/O.
                None if matches!(name, "minimal" | "eta" | "warnings-fatal" | "terse-version") => continue,
                Some(Access::Refused(_)) if name.starts_with("output") => continue,
                Some(Access::Key(key)) => value.is_some() || bare(&key),
                Some(Access::Ours(_)) => name != "name",
                Some(Access::LeftOut(_)) => true,
                Some(_) => value.is_some(),
                None => false,
            };
            if !fits || options.len() == MAX_OPTIONS {
                return Err(at(ScriptTrouble::Argument(shown(word, 60))));
            }
            let option = expanded(option, variables).map_err(at)?;
            if !options.contains(&option) {
                options.push(option);
            }
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests;
