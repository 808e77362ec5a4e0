//! The columns of a log. fio writes no header, and the number of columns depends on its version and options.

/// The columns besides time, value, direction and block size, in fio's order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Columns {
    /// A second value: the highest one (`log_window_value=both` of newer versions).
    pub highest: bool,
    /// Offset (`log_offset=1`).
    pub offset: bool,
    /// Priority, in all versions that diskproof supports.
    pub priority: bool,
    /// Time of issue in ns (`log_issue_time=1` of newer versions).
    pub issued: bool,
}

impl Columns {
    /// The total number of columns.
    #[must_use]
    pub fn count(self) -> usize {
        4 + [self.highest, self.offset, self.priority, self.issued].into_iter().filter(|c| *c).count()
    }

    /// Guesses the columns of a log from its first line, as far as possible: a second value must be announced by the caller. A
    /// row of six columns ends in a priority, which is 0, 1 or hexadecimal, or in a time of issue, which is none of these.
    #[must_use]
    pub fn detect(first_line: &str) -> Option<Self> {
        let fields: Vec<_> = first_line.trim_end().split(',').map(str::trim).collect();
        let all = Self { highest: false, offset: true, priority: true, issued: true };
        match fields[..] {
            [_, _, _, _] => Some(Self::default()),
            [_, _, _, _, _] => Some(Self { priority: true, ..Self::default() }),
            [_, _, _, _, _, last] if matches!(last, "0" | "1") || last.starts_with("0x") => {
                Some(Self { issued: false, ..all })
            }
            [_, _, _, _, _, _] => Some(Self { offset: false, ..all }),
            [_, _, _, _, _, _, _] => Some(all),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Columns;

    #[test]
    fn columns_by_the_first_line() {
        for (line, offset, priority, issued) in [
            ("1, 5, 0, 4096", false, false, false),
            ("1, 5, 0, 4096, 0", false, true, false),
            ("1, 5, 0, 4096, 8192, 0", true, true, false),
            ("1, 5, 0, 4096, 8192, 0x4004\n", true, true, false),
            ("1, 5, 0, 4096, 0x0000, 123456789", false, true, true),
            ("1, 5, 0, 4096, 8192, 0, 123456789", true, true, true),
        ] {
            let wanted = Columns { highest: false, offset, priority, issued };
            assert_eq!(Columns::detect(line), Some(wanted), "{line}");
            assert_eq!(wanted.count(), line.split(',').count());
        }
        for line in ["", "1", "1, 2, 3", "1,2,3,4,5,6,7,8"] {
            assert_eq!(Columns::detect(line), None, "{line}");
        }
    }
}
