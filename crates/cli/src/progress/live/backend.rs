//! Frames as control codes of a terminal (ECMA-48), written at once.

use super::screen::Screen;
use ratatui_core::backend::{Backend, ClearType, WindowSize};
use ratatui_core::buffer::Cell;
use ratatui_core::layout::{Position, Size};
use ratatui_core::style::{Color, Modifier};
use std::fmt::Write as _;
use std::io;
use std::sync::Arc;

/// The size of a terminal that doesn't tell its own.
const USUAL: Size = Size { width: 80, height: 24 };

/// The control codes of one frame, until they are written.
#[derive(Debug)]
pub(super) struct Codes {
    screen: Arc<Screen>,
    colours: bool,
    text: String,
    /// Where the next character appears; `None`: unknown.
    at: Option<(u16, u16)>,
    /// The attributes that are in force.
    style: (Color, Modifier),
}

impl Codes {
    pub(super) fn new(screen: Arc<Screen>, colours: bool) -> Self {
        Self { screen, colours, text: String::new(), at: None, style: (Color::Reset, Modifier::empty()) }
    }

    fn put(&mut self, (x, y): (u16, u16), cell: &Cell) {
        if self.at != Some((x, y)) {
            let _ = write!(self.text, "\x1b[{};{}H", y + 1, x + 1);
        }
        let colour = if self.colours { cell.fg } else { Color::Reset };
        if (colour, cell.modifier) != self.style {
            self.text.push_str(&attributes(colour, cell.modifier));
            self.style = (colour, cell.modifier);
        }
        self.text.push_str(cell.symbol());
        // A wide character moves the cursor by two columns: after it, the next position is given anew.
        self.at = cell.symbol().is_ascii().then_some((x + 1, y));
    }
}

/// The control code that sets these attributes and no others. The view uses no other colours.
fn attributes(colour: Color, modifier: Modifier) -> String {
    let mut codes = String::from("\x1b[0");
    for (of, code) in [
        (Modifier::BOLD, ";1"),
        (Modifier::DIM, ";2"),
        (Modifier::REVERSED, ";7"),
        (Modifier::CROSSED_OUT, ";9"),
    ] {
        if modifier.contains(of) {
            codes.push_str(code);
        }
    }
    codes.push_str(match colour {
        Color::Red => ";31",
        Color::Green => ";32",
        Color::Yellow => ";33",
        Color::Cyan => ";36",
        _ => "",
    });
    codes.push('m');
    codes
}

impl Backend for Codes {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        self.at = None;
        for (x, y, cell) in content {
            self.put((x, y), cell);
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        Ok(Position::ORIGIN)
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, _: P) -> io::Result<()> {
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.text.push_str("\x1b[0m\x1b[2J");
        self.style = (Color::Reset, Modifier::empty());
        Ok(())
    }

    fn clear_region(&mut self, _: ClearType) -> io::Result<()> {
        self.clear()
    }

    fn size(&self) -> io::Result<Size> {
        let size = rustix::termios::tcgetwinsize(self.screen.output())?;
        let known = size.ws_col > 0 && size.ws_row > 0;
        Ok(if known { Size { width: size.ws_col, height: size.ws_row } } else { USUAL })
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        Ok(WindowSize { columns_rows: self.size()?, pixels: Size::default() })
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.text.is_empty() {
            return Ok(());
        }
        let text = std::mem::take(&mut self.text);
        self.screen.write(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::attributes;
    use ratatui_core::style::{Color, Modifier};

    #[test]
    fn attributes_replace_all_earlier_ones() {
        assert_eq!(attributes(Color::Reset, Modifier::empty()), "\x1b[0m");
        assert_eq!(attributes(Color::Red, Modifier::BOLD | Modifier::REVERSED), "\x1b[0;1;7;31m");
    }
}
