//! Line wrapping.

/// Wraps a text into lines of at most `width` characters; the first begins with `first`, the others with as many blanks. A word that is
/// longer than a line stays whole, since it may be a path.
pub(crate) fn fill(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let mut out = String::from(first);
    let mut column = indent;
    let mut fresh = true;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if !fresh && column + 1 + length > width {
            out.push('\n');
            out.push_str(&" ".repeat(indent));
            column = indent;
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        fresh = false;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn fills_and_indents() {
        assert_eq!(fill("* ", "aa bb cc dd", 8), "* aa bb\n  cc dd\n");
        assert_eq!(fill("", "averyveryverylongword x", 5), "averyveryverylongword\nx\n");
        assert_eq!(fill("- ", "", 10), "- \n");
    }
}
