//! Text in XML.

/// Escapes a text for XML.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '\'' => out.push_str("&apos;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

/// The text of an element.
pub(crate) fn unescaped(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&apos;", "'"), ("&quot;", "\""), ("&amp;", "&")]
        .into_iter()
        .fold(text.to_owned(), |text, (from, to)| text.replace(from, to))
}

#[cfg(test)]
mod tests {
    use super::{escaped, unescaped};

    #[test]
    fn text_stays_text() {
        for text in ["a", "</name><devices>&'\"", "&amp;lt;"] {
            assert!(!escaped(text).contains(['<', '>', '\'', '"']));
            assert_eq!(unescaped(&escaped(text)), text);
        }
    }
}
