//! Base64 (RFC 4648, section 4), with padding.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let word =
            (0..3).fold(0_usize, |word, i| word << 8 | usize::from(group.get(i).copied().unwrap_or(0)));
        for place in 0..4 {
            let digit = char::from(DIGITS[word >> (18 - 6 * place) & 63]);
            text.push(if place <= group.len() { digit } else { '=' });
        }
    }
    text
}

/// `None` if the text is no Base64.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let digits = text.trim_end_matches('=');
    if text.len() - digits.len() > 2 {
        return None;
    }
    let mut bytes = Vec::with_capacity(digits.len() / 4 * 3);
    for group in digits.as_bytes().chunks(4) {
        let mut word = 0_u32;
        for place in 0..4 {
            let value = group.get(place).map_or(Some(0), |c| DIGITS.iter().position(|digit| digit == c))?;
            word = word << 6 | u32::try_from(value).ok()?;
        }
        let [_, bytes_of_group @ ..] = word.to_be_bytes();
        bytes.extend(&bytes_of_group[..(group.len() * 6 / 8).min(3)]);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::{decode, encode};

    #[test]
    fn it_is_that_of_the_rfc() {
        // RFC 4648, section 10
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, text) in vectors.into_iter().enumerate() {
            let bytes = &b"foobar"[..length];
            assert_eq!(encode(bytes), text);
            assert_eq!(decode(text).as_deref(), Some(bytes));
        }
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(&encode(&all)), Some(all));
    }

    #[test]
    fn what_is_no_base64_is_refused() {
        for text in ["Z", "Zg=", "Z===", "Zg!=", "Zm9v\n", "Zm 9"] {
            assert_eq!(decode(text), None, "{text:?}");
        }
    }
}
