//! Line wrapping.

use textwrap::{Options, WordSplitter};

/// Wraps a text into lines of at most `width` characters; the first begins with `first`, the others with as many blanks. A word that is
/// longer than a line stays whole, since it may be a path.
#[must_use]
pub fn fill(first: &str, text: &str, width: usize) -> String {
    let indent = " ".repeat(first.chars().count());
    let words: Vec<&str> = text.split_whitespace().collect();
    // textwrap doesn't indent an empty line
    if words.is_empty() {
        return format!("{first}\n");
    }
    let options = Options::new(width)
        .initial_indent(first)
        .subsequent_indent(&indent)
        .break_words(false)
        .word_splitter(WordSplitter::NoHyphenation);
    textwrap::fill(&words.join(" "), options) + "\n"
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
