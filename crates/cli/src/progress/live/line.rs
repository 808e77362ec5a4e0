//! One line of a frame.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier, Style};
use record::printable::printable;

/// How a line looks. The words say all that the colour says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Strong,
    Faint,
    /// Of the cell that is measured now.
    Active,
    Good,
    Doubtful,
    Bad,
    /// Of a cell that takes no part any more.
    Struck,
}

impl Paint {
    pub(super) fn style(self) -> Style {
        let plain = Style::new();
        match self {
            Self::Plain => plain,
            Self::Strong => plain.add_modifier(Modifier::BOLD),
            Self::Faint => plain.add_modifier(Modifier::DIM),
            Self::Active => plain.fg(Color::Cyan).add_modifier(Modifier::BOLD),
            Self::Good => plain.fg(Color::Green),
            Self::Doubtful => plain.fg(Color::Yellow),
            Self::Bad => plain.fg(Color::Red).add_modifier(Modifier::BOLD),
            Self::Struck => plain.add_modifier(Modifier::DIM | Modifier::CROSSED_OUT),
        }
    }
}

/// Writes a text into a row of an area, counted from its top; nothing below its end.
pub(super) fn put(buffer: &mut Buffer, area: Rect, row: u16, text: &str, paint: Paint) {
    put_at(buffer, area, (0, row), text, paint);
}

/// The same from a column of the area on.
pub(super) fn put_at(buffer: &mut Buffer, area: Rect, (column, row): (u16, u16), text: &str, paint: Paint) {
    if row < area.height && column < area.width {
        let room = usize::from(area.width - column);
        buffer.set_stringn(area.x + column, area.y + row, printable(text), room, paint.style());
    }
}
