//! Text for the user: results to standard output, everything else to standard error.
//!
//! Foreign text (names of files, processes, machines) is made printable where it enters a record or a message (`record::printable`). This
//! module is the last line of defence: it prints no control characters but newlines, and the colours of `report` where they are wanted.

use crate::exit::{Exit, Failure};
use record::printable::{is_hidden, printable, printable_json};
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// The assumed number of columns without a terminal.
const WIDTH: usize = 100;

/// Writes a result.
///
/// # Errors
/// As [`own`].
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    own(&safe(text, Colours::Stop))
}

/// Writes a result in JSON, with control characters escaped; the JSON means the same.
///
/// # Errors
/// As [`own`].
pub(crate) fn json(text: &str) -> Result<(), Failure> {
    own(&printable_json(text))
}

/// Writes text without foreign parts, e.g. a script for a shell, as it is. A closed pipe (`| head`) is not an error.
///
/// # Errors
/// Standard output can't be written for another reason, e.g. the disk is full.
pub(crate) fn own(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    let end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    match write!(out, "{text}{end}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(Failure::machine(format!("can't write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// Writes a line to standard error; ignores an error of that.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(text, Colours::Stop));
}

/// How the colour codes in a text are treated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// They are made printable, since none is ours.
    Stop,
    /// Those of `report` are passed on.
    Pass,
}

/// Returns a text without terminal control codes, but for the colours that pass. CR LF stays, since CSV ends its lines with it.
pub(crate) fn safe(text: &str, colours: Colours) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(is_hidden) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let ours = report::SGR.iter().find(|code| colours == Colours::Pass && from.starts_with(**code));
        let passes = ours.copied().or_else(|| ["\n", "\r\n"].into_iter().find(|end| from.starts_with(end)));
        let taken = match passes {
            Some(passes) => {
                out.push_str(passes);
                passes.len()
            }
            None => {
                let taken = from.chars().next().map_or(from.len(), char::len_utf8);
                out.push_str(&printable(&from[..taken]));
                taken
            }
        };
        rest = &from[taken..];
    }
    out.push_str(rest);
    out
}

/// Prints why the command failed; the only place that prints an error.
pub(crate) fn complain(failure: &Failure) {
    let prefix = if failure.placed { "" } else { "diskproof: " };
    aside(&format!("{prefix}{failure}"));
    if failure.exit == Exit::Ours {
        aside(
            "This should not have happened. `diskproof undo` puts back what a run left; please report the line above.",
        );
    }
}

/// Whether there is a person to ask: standard input and standard error are terminals.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// Asks for one line. `None` at the end of input.
pub(crate) fn ask(question: &str) -> Option<String> {
    let _ = write!(std::io::stderr().lock(), "{}", safe(question, Colours::Stop));
    let mut line = String::new();
    match std::io::stdin().read_line(&mut line) {
        Ok(read) if read > 0 => Some(line.trim().to_owned()),
        _ => None,
    }
}

/// The number of columns of standard output.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|s| usize::from(s.ws_col)).filter(|&columns| columns > 0);
    columns.unwrap_or(WIDTH).clamp(40, 200)
}

/// The number of columns of standard error; `None` if it is no terminal.
pub(crate) fn aside_width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(std::io::stderr()).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Rows in aligned columns, two spaces apart; the last column isn't padded.
pub(crate) fn columns<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(cell);
            let padding = width - cell.chars().count() + 2;
            line.extend(std::iter::repeat_n(' ', padding));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Colours, columns, safe};
    use record::printable::is_hidden;

    #[test]
    fn nothing_leaves_that_a_terminal_obeys() {
        let text =
            "a\u{1b}]0;x\u{7}\n\u{1b}[1;31mred\u{1b}[0m\u{1b}[2J\u{9b}5A\u{202e}\tb\rc\r\n\u{1b}[8mhidden";
        let plain = safe(text, Colours::Stop);
        assert!(!plain.replace("\r\n", "").contains(|c| c != '\n' && is_hidden(c)), "{plain:?}");
        let painted = safe(text, Colours::Pass);
        assert!(
            painted.contains("\u{1b}[1;31mred\u{1b}[0m\\x1b[2J\\u{9b}5A\\u{202e}\\tb\\rc\r\n\\x1b[8mhidden"),
            "{painted:?}"
        );
    }

    #[test]
    fn columns_align_by_characters() {
        let rows = [["µs".to_owned(), "x".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(columns(&rows), "µs    x\nlong\n");
    }
}
