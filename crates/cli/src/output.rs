//! Text for the user: answers to standard output, everything else to standard error.
//!
//! Text of strangers is made printable where it enters a record or a message (`record::printable`). Here is the last line of defence: no
//! control character leaves but a newline, and the colours of `report` where they are wanted.

use crate::exit::{Exit, Failure};
use record::printable::{is_hidden, printable, printable_json};
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// Columns assumed where there is no terminal.
const WIDTH: usize = 100;

/// Writes an answer.
///
/// # Errors
/// As [`own`].
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
    own(&safe(text, Colours::Stop))
}

/// Writes an answer that `report` may have coloured.
///
/// # Errors
/// As [`own`].
pub(crate) fn painted(text: &str) -> Result<(), Failure> {
    own(&safe(text, Colours::Pass))
}

/// Writes an answer in JSON, whose texts mean the same however their control characters are written.
///
/// # Errors
/// As [`own`].
pub(crate) fn json(text: &str) -> Result<(), Failure> {
    own(&printable_json(text))
}

/// Writes what holds no text of strangers, e.g. a script for a shell, as it is. A reader that has seen enough (`| head`) is not an error.
///
/// # Errors
/// Standard output can't be written for another reason, e.g. a full disk behind a redirection.
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

/// Says something beside the answer. Nobody listening is no reason to stop.
pub(crate) fn aside(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{}", safe(text, Colours::Stop));
}

/// What becomes of the colours in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Colours {
    /// There are none of ours in it.
    Stop,
    /// Those of `report` pass.
    Pass,
}

/// A text in which nothing is left that a terminal obeys. CSV ends its lines in CR LF, which moves nothing.
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

/// Says why the program could not do its work; the only place where an error is printed.
pub(crate) fn complain(failure: &Failure) {
    let prefix = if failure.placed { "" } else { "diskproof: " };
    aside(&format!("{prefix}{failure}"));
    if failure.exit == Exit::Ours {
        aside(
            "This should not have happened. `diskproof undo` puts back what a run left; please report the line above.",
        );
    }
}

/// Whether a person may be asked: both ends are a terminal.
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

/// Columns of standard output.
pub(crate) fn width() -> usize {
    let size = rustix::termios::tcgetwinsize(std::io::stdout()).ok();
    let columns = size.map(|s| usize::from(s.ws_col)).filter(|&columns| columns > 0);
    columns.unwrap_or(WIDTH).clamp(60, 200)
}

/// Rows in aligned columns, two spaces apart; the last column is as long as it is.
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
