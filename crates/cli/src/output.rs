//! Text for the user: answers to standard output, everything else to standard error.

use crate::exit::{Exit, Failure};
use std::io::{ErrorKind, IsTerminal as _, Write as _};

/// Columns assumed where there is no terminal.
const WIDTH: usize = 100;

/// Writes an answer. A reader that has seen enough (`| head`) is not an error.
///
/// # Errors
/// Standard output can't be written for another reason, e.g. a full disk behind a redirection.
pub(crate) fn answer(text: &str) -> Result<(), Failure> {
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
    let _ = writeln!(std::io::stderr().lock(), "{text}");
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
    let _ = write!(std::io::stderr().lock(), "{question}");
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
    use super::columns;

    #[test]
    fn columns_align_by_characters() {
        let rows = [["µs".to_owned(), "x".to_owned()], ["long".to_owned(), String::new()]];
        assert_eq!(columns(&rows), "µs    x\nlong\n");
    }
}
