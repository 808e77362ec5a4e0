//! Keys, from the bytes that a terminal sends for them.

/// A key that the view knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    Char(char),
    Escape,
    Up,
    Down,
    PageUp,
    PageDown,
    Home,
    End,
}

/// The sequences that terminals send for keys without a character (xterm's, with and without application mode).
const SEQUENCES: [(&[u8], Key); 14] = [
    (b"\x1b[A", Key::Up),
    (b"\x1bOA", Key::Up),
    (b"\x1b[B", Key::Down),
    (b"\x1bOB", Key::Down),
    (b"\x1b[5~", Key::PageUp),
    (b"\x1b[6~", Key::PageDown),
    (b"\x1b[H", Key::Home),
    (b"\x1bOH", Key::Home),
    (b"\x1b[1~", Key::Home),
    (b"\x1b[7~", Key::Home),
    (b"\x1b[F", Key::End),
    (b"\x1bOF", Key::End),
    (b"\x1b[4~", Key::End),
    (b"\x1b[8~", Key::End),
];

/// The keys in what was read at once. Sequences of other keys are left out as a whole, so that no part of one counts as a letter.
pub(super) fn keys(mut bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    while let Some(first) = bytes.first() {
        let taken = match *first {
            0x1b => {
                let known = SEQUENCES.iter().find(|(sequence, _)| bytes.starts_with(sequence));
                if let Some((sequence, key)) = known {
                    keys.push(*key);
                    sequence.len()
                } else {
                    let length = sequence_length(bytes);
                    keys.extend((length == 1).then_some(Key::Escape));
                    length
                }
            }
            byte => {
                keys.extend((byte == b' ' || byte.is_ascii_graphic()).then_some(Key::Char(char::from(byte))));
                1
            }
        };
        bytes = &bytes[taken..];
    }
    keys
}

/// The length of an unknown sequence that begins with Escape; 1 for the key Escape itself.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes.get(1) {
        None => 1,
        Some(b'[') => {
            let end = bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte));
            end.map_or(bytes.len(), |end| end + 3)
        }
        Some(b'O') => bytes.len().min(3),
        Some(_) => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::{Key, keys};

    #[test]
    fn keys_are_letters_and_sequences() {
        assert_eq!(keys(b"sq"), [Key::Char('s'), Key::Char('q')]);
        assert_eq!(keys(b"\x1b[A\x1bOB\x1b[5~d"), [Key::Up, Key::Down, Key::PageUp, Key::Char('d')]);
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x03\x04\xff"), [], "control characters and torn characters are no keys");
    }

    #[test]
    fn no_part_of_an_unknown_sequence_is_a_letter() {
        for unknown in [&b"\x1b[1;5s"[..], b"\x1b[15~", b"\x1bOq", b"\x1bq", b"\x1b[", b"\x1b[200"] {
            assert_eq!(keys(unknown), [], "{unknown:?}");
        }
        assert_eq!(keys(b"\x1b[1;5sq"), [Key::Char('q')]);
    }
}
