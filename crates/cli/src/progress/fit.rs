//! Texts that fit the width of a terminal, if there is one.

use std::borrow::Cow;

/// Stands for what is left out of a name.
const LEFT_OUT: char = '…';
/// A name keeps this many characters, however narrow the terminal is.
const LEAST: usize = 12;
/// Further lines of a text are indented by this many columns.
const HANGING: usize = 4;

/// Returns `before`, a name and `after` as one text. The name loses its middle if the text doesn't fit into `width` columns otherwise.
pub(super) fn around(before: &str, name: &str, after: &str, width: Option<usize>) -> String {
    let taken = before.chars().count() + after.chars().count();
    let room = width.map_or(usize::MAX, |width| width.saturating_sub(taken).max(LEAST));
    format!("{before}{}{after}", shortened(name, room))
}

/// Returns a name of at most half a line: what is said of it has the other half.
pub(super) fn halved(name: &str, width: Option<usize>) -> Cow<'_, str> {
    shortened(name, width.map_or(usize::MAX, |width| (width / 2).max(LEAST)))
}

/// Returns a name without its middle if it is longer than `room` characters. A number is left out as a whole: half of it would be another
/// number.
pub(super) fn shortened(name: &str, room: usize) -> Cow<'_, str> {
    let all: Vec<char> = name.chars().collect();
    if all.len() <= room {
        return Cow::Borrowed(name);
    }
    let kept = room.saturating_sub(1);
    let (mut head, mut tail) = (kept.div_ceil(2), all.len() - kept / 2);
    let is_part = |at: usize| all.get(at).is_some_and(|c| c.is_ascii_digit() || matches!(c, '.' | ','));
    while head > 0 && is_part(head) && is_part(head - 1) {
        head -= 1;
    }
    while tail < all.len() && is_part(tail) && is_part(tail - 1) {
        tail += 1;
    }
    let (begin, end): (String, String) = (all[..head].iter().collect(), all[tail..].iter().collect());
    Cow::Owned(format!("{begin}{LEFT_OUT}{end}"))
}

/// Returns as much of the begin of a text as fits into `room` columns.
pub(super) fn cut(text: &str, room: usize) -> Cow<'_, str> {
    if text.chars().count() <= room {
        return Cow::Borrowed(text);
    }
    let begin: String = text.chars().take(room.saturating_sub(1)).collect();
    Cow::Owned(if room > 0 { format!("{}{LEFT_OUT}", begin.trim_end()) } else { begin })
}

/// Returns a text in lines of at most `width` columns. They break between words only, so a longer word stays whole.
pub(super) fn wrapped(text: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return text.to_owned() };
    text.split('\n').map(|line| line_in_lines(line, width)).collect::<Vec<_>>().join("\n")
}

fn line_in_lines(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    let begin: String = line.chars().take_while(|c| *c == ' ').collect();
    let filled = report::fill(&begin, line, width.saturating_sub(HANGING));
    filled.trim_end().replace('\n', &format!("\n{:HANGING$}", ""))
}

#[cfg(test)]
mod tests {
    use super::{around, shortened, wrapped};

    fn widest(text: &str) -> usize {
        text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
    }

    #[test]
    fn a_long_name_loses_its_middle_and_nothing_else_is_cut() {
        let name = "lvm-raid0-with-a-very-long-name randwrite-of-a-long-name";
        let at = |width| around("trial 3/12: ", name, ", round 2", width);
        assert_eq!(at(None), format!("trial 3/12: {name}, round 2"));
        assert_eq!(at(Some(60)), "trial 3/12: lvm-raid0-with-a-ve…rite-of-a-long-name, round 2");
        for width in 33..120 {
            let text = at(Some(width));
            assert!(widest(&text) <= width, "{width}: {text}");
            assert!(text.starts_with("trial 3/12: lvm") && text.ends_with("name, round 2"), "{text}");
        }
    }

    #[test]
    fn a_number_in_a_name_is_whole_or_left_out() {
        let name = "btrfs-raid10-128k randread-4096k-depth-512";
        let numbers = |text: &str| -> Vec<String> {
            text.split(|c: char| !c.is_ascii_digit()).filter(|n| !n.is_empty()).map(str::to_owned).collect()
        };
        for room in 0..50 {
            let short = shortened(name, room);
            assert!(short.chars().count() <= room.max(1), "{room}: {short}");
            for number in numbers(&short) {
                assert!(numbers(name).contains(&number), "{room}: {short}");
            }
        }
        assert_eq!(shortened(name, 42), name);
    }

    #[test]
    fn lines_break_between_words_and_further_ones_are_indented() {
        let text = "round 7 of at most 30: ext4 randread-4k ±6.1 %, asked ±5 %; about 3 more rounds";
        assert_eq!(wrapped(text, None), text);
        assert_eq!(wrapped(text, Some(120)), text);
        let narrow = wrapped(text, Some(50));
        assert_eq!(
            narrow,
            "round 7 of at most 30: ext4 randread-4k ±6.1\n    %, asked ±5 %; about 3 more rounds"
        );
        for width in 25..90 {
            let lines = wrapped(&format!("  {text}\n    {text}"), Some(width));
            assert!(widest(&lines) <= width, "{width}: {lines}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&lines), words(&format!("{text} {text}")), "{width}");
        }
    }
}
