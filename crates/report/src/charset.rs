//! Text for media that have only the characters of ASCII.

/// Each drawing character of this crate and what stands for it: as wide as it is, so that columns stay aligned.
const IN_PLACE: [(char, char); 25] = [
    ('─', '-'),
    ('│', '|'),
    ('┊', '|'),
    ('┼', '+'),
    ('┴', '+'),
    ('└', '+'),
    ('├', '['),
    ('┤', ']'),
    ('·', '.'),
    ('●', '*'),
    ('○', 'o'),
    ('◇', '^'),
    ('◈', '#'),
    ('…', '.'),
    ('▁', '_'),
    ('▂', '.'),
    ('▃', ','),
    ('▄', '-'),
    ('▅', '='),
    ('▆', '+'),
    ('▇', '*'),
    ('█', '#'),
    ('±', '~'),
    ('→', '>'),
    ('≤', '<'),
];

/// Signs with the blank behind them, and as many characters of ASCII.
const WITH_BLANK: [(&str, &str); 3] = [("± ", "+-"), ("→ ", "->"), ("≤ ", "<=")];

/// The same text with the characters of this crate's drawings and its signs in ASCII. Letters of names stay as they are.
#[must_use]
pub fn ascii(text: &str) -> String {
    let signs = WITH_BLANK.iter().fold(text.to_owned(), |text, (sign, plain)| text.replace(sign, plain));
    let one = |c: char| IN_PLACE.iter().find(|(drawn, _)| *drawn == c).map_or(c, |(_, plain)| *plain);
    signs.chars().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::{IN_PLACE, WITH_BLANK, ascii};
    use crate::testing::{durable, page, striped, trap};

    #[test]
    fn a_page_of_plain_names_is_ascii_and_as_wide_as_before() {
        for view in [striped(), trap(), durable()] {
            for width in [60, 80, 120] {
                let text = page(&view, width);
                let plain = ascii(&text);
                assert!(plain.is_ascii(), "{:?}", plain.chars().find(|c| !c.is_ascii()));
                for (before, after) in text.lines().zip(plain.lines()) {
                    assert_eq!(before.chars().count(), after.chars().count(), "{before}\n{after}");
                }
            }
        }
    }

    #[test]
    fn names_keep_their_letters() {
        assert_eq!(ascii("größe ● 5 ± 1"), "größe * 5 +-1");
        assert!(WITH_BLANK.iter().all(|(sign, plain)| sign.chars().count() == plain.len()));
        assert!(IN_PLACE.iter().all(|(drawn, plain)| !drawn.is_ascii() && plain.is_ascii()));
    }
}
