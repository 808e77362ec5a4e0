//! Reads the rows of a log one at a time, through a buffer of fixed size.

use super::columns::Columns;
use super::error::LogError;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The bytes per read, and the longest line: much longer than any line of fio.
const BUFFER_BYTES: usize = 256 << 10;

/// The bytes of a bad line that an error shows.
const SHOWN_BYTES: usize = 80;

/// The direction of an I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Direction {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Trim.
    Trim,
}

/// A row of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The time in ms since the job's start, or on the clock that the job chose.
    pub time_ms: u64,
    /// The logged value: ns in latency logs, KiB/s in bandwidth logs, I/Os per second in IOPS logs.
    pub value: u64,
    /// The highest value of the interval, if the log has it.
    pub highest: Option<u64>,
    /// The direction of the I/O.
    pub direction: Direction,
    /// The block size in bytes.
    pub bytes: u64,
    /// The offset.
    pub offset_bytes: Option<u64>,
    /// The priority: 0 or 1, or the 16-bit class and level with `log_prio`.
    pub priority: Option<u64>,
    /// The time of issue.
    pub issued_ns: Option<u64>,
}

/// A reader of one log.
#[derive(Debug)]
pub struct Reader<R> {
    input: R,
    path: PathBuf,
    buffer: Box<[u8]>,
    /// The position of the next row.
    at: usize,
    /// The end of the last complete line in the buffer; at the end of the log, that of its last byte.
    whole: usize,
    /// The end of the bytes in the buffer.
    filled: usize,
    ended: bool,
    lines: u64,
    columns: Option<Columns>,
}

impl Reader<File> {
    /// Opens a log.
    ///
    /// # Errors
    /// When it can't be opened.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        let input = File::open(path).map_err(|source| LogError::Io { path: path.to_owned(), source })?;
        Ok(Self::new(input, path))
    }
}

impl<R: Read> Reader<R> {
    /// Reads from any source; the path is for errors.
    pub fn new(input: R, path: &Path) -> Self {
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        let path = path.to_owned();
        Self { input, path, buffer, at: 0, whole: 0, filled: 0, ended: false, lines: 0, columns: None }
    }

    /// Sets the columns, instead of guessing them from the first line.
    #[must_use]
    pub fn with_columns(mut self, columns: Columns) -> Self {
        self.columns = Some(columns);
        self
    }

    /// The number of lines read so far.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.lines
    }

    /// The next row; `None` at the end.
    ///
    /// # Errors
    /// When the log can't be read, or a line isn't in fio's format; the error names the line.
    #[inline]
    pub fn next_row(&mut self) -> Result<Option<Row>, LogError> {
        loop {
            if self.at >= self.whole && !self.refill()? {
                return Ok(None);
            }
            self.lines += 1;
            let Some(columns) = self.columns.or_else(|| self.detect()) else {
                return Err(self.malformed(self.at, "4 to 7 numbers, separated by commas"));
            };
            let start = self.at;
            let line = self.buffer.get(start..self.whole).unwrap_or_default();
            let mut cursor = Cursor { bytes: line, at: 0 };
            match cursor.row(columns) {
                Ok(row) => {
                    self.at = start + cursor.at;
                    return Ok(Some(row));
                }
                Err(Problem::Empty) => self.at = start + cursor.at,
                Err(Problem::Expected(what)) => return Err(self.malformed(start, what)),
            }
        }
    }

    /// Guesses the columns from the first non-empty line.
    fn detect(&mut self) -> Option<Columns> {
        let rest = self.buffer.get(self.at..self.whole)?;
        let line = rest.split(|b| *b == b'\n').next()?;
        let text = std::str::from_utf8(line).ok()?;
        if text.trim().is_empty() {
            return Some(Columns::default());
        }
        self.columns = Some(Columns::detect(text)?);
        self.columns
    }

    /// Moves the rest of the buffer to the front and reads more; returns whether there is anything to parse.
    fn refill(&mut self) -> Result<bool, LogError> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.filled -= self.at;
        (self.at, self.whole) = (0, 0);
        while !self.ended {
            let Some(room) = self.buffer.get_mut(self.filled..).filter(|room| !room.is_empty()) else {
                self.lines += 1;
                return Err(self.malformed(0, "a line of a few numbers"));
            };
            let count = match self.input.read(room) {
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(source) => return Err(LogError::Io { path: self.path.clone(), source }),
            };
            let before = self.filled;
            self.filled += count;
            self.ended = count == 0;
            let fresh = self.buffer.get(before..self.filled).unwrap_or_default();
            if let Some(newline) = fresh.iter().rposition(|b| *b == b'\n') {
                self.whole = before + newline + 1;
                return Ok(true);
            }
        }
        self.whole = self.filled;
        Ok(self.filled > 0)
    }

    fn malformed(&self, start: usize, expected: &'static str) -> LogError {
        let rest = self.buffer.get(start..self.filled).unwrap_or_default();
        let line = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        let shown = line.get(..SHOWN_BYTES).unwrap_or(line);
        let found = String::from_utf8_lossy(shown).into_owned();
        LogError::Malformed { path: self.path.clone(), line: self.lines, found, expected }
    }
}

/// Why a line has no row.
enum Problem {
    Empty,
    Expected(&'static str),
}

/// A position in a line, which moves forward only.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Cursor<'_> {
    #[inline]
    fn row(&mut self, columns: Columns) -> Result<Row, Problem> {
        if self.line_ends() {
            return Err(Problem::Empty);
        }
        let time_ms = self.number("a time in milliseconds first")?;
        let value = self.next("a value second")?;
        let highest = columns.highest.then(|| self.next("a highest value third")).transpose()?;
        let direction = match self.next("a direction after the value")? {
            0 => Direction::Read,
            1 => Direction::Write,
            2 => Direction::Trim,
            _ => return Err(Problem::Expected("a direction of 0, 1 or 2")),
        };
        let bytes = self.next("a block size after the direction")?;
        let offset = columns.offset.then(|| self.next("an offset after the block size")).transpose()?;
        let priority = columns.priority.then(|| self.priority()).transpose()?;
        let issued = columns.issued.then(|| self.next("a time of issue last")).transpose()?;
        if !self.line_ends() {
            return Err(Problem::Expected("as many columns as in the first line"));
        }
        Ok(Row {
            time_ms,
            value,
            highest,
            direction,
            bytes,
            offset_bytes: offset,
            priority,
            issued_ns: issued,
        })
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    /// Whether the line ends here; skips its end.
    #[inline]
    fn line_ends(&mut self) -> bool {
        while matches!(self.peek(), Some(b' ' | b'\r' | b'\t')) {
            self.at += 1;
        }
        match self.peek() {
            None => true,
            Some(b'\n') => {
                self.at += 1;
                true
            }
            Some(_) => false,
        }
    }

    /// Skips `, `.
    #[inline]
    fn comma(&mut self, expected: &'static str) -> Result<(), Problem> {
        if self.peek() != Some(b',') {
            return Err(Problem::Expected(expected));
        }
        self.at += 1;
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        Ok(())
    }

    #[inline]
    fn next(&mut self, expected: &'static str) -> Result<u64, Problem> {
        self.comma(expected)?;
        self.number(expected)
    }

    #[inline]
    fn number(&mut self, expected: &'static str) -> Result<u64, Problem> {
        let start = self.at;
        let mut number = 0_u64;
        while let Some(digit) = self.peek().map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
            // 19 digits always fit; longer numbers are counted below.
            number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
            self.at += 1;
        }
        match self.at - start {
            1..=19 => Ok(number),
            _ => Err(Problem::Expected(expected)),
        }
    }

    fn priority(&mut self) -> Result<u64, Problem> {
        const EXPECTED: &str = "a priority, e.g. 0 or 0x4004";
        self.comma(EXPECTED)?;
        if !self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(b"0x")) {
            return self.number(EXPECTED);
        }
        self.at += 2;
        let digits = self.bytes.get(self.at..).unwrap_or_default();
        let length = digits.iter().take_while(|b| b.is_ascii_hexdigit()).count();
        let text = digits.get(..length).and_then(|d| std::str::from_utf8(d).ok()).unwrap_or_default();
        self.at += length;
        u64::from_str_radix(text, 16).map_err(|_| Problem::Expected(EXPECTED))
    }
}

#[cfg(test)]
mod tests;
