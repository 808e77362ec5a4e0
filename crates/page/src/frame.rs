//! The frame of every page: its head with the style sheet, and a policy that lets a browser load nothing and run nothing but the page's own
//! script.

use crate::enlarge::{Courses, script};
use crate::style::{CHART, PAGE, VIEWER};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use record::printable::one_line;
use sha2::{Digest as _, Sha256};

/// A link to another page of the same folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// The file, as [`crate::FileNames`] named it.
    pub file: String,
    /// The text.
    pub text: String,
}

/// A page.
pub(crate) struct Frame<'a> {
    /// Its title, which may come from outside.
    pub(crate) title: &'a str,
    /// Links to other pages, at the top.
    pub(crate) links: &'a [Link],
    /// Its content.
    pub(crate) body: Markup,
    /// The values of its courses, which a reader can enlarge; `None`: it has no script.
    pub(crate) courses: Option<Courses>,
}

/// A page as one HTML file.
pub(crate) fn frame(page: &Frame<'_>) -> String {
    let enlarging = page.courses.is_some();
    let style = format!("{PAGE}{CHART}{}", if enlarging { VIEWER } else { "" });
    let script =
        if enlarging { format!("script-src 'sha256-{}'; ", digest(&script())) } else { String::new() };
    let policy = format!(
        "default-src 'none'; {script}style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
        digest(&style)
    );
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (one_line(page.title)) " · diskproof" }
                style { (PreEscaped(&style)) }
            }
            body {
                @if !page.links.is_empty() {
                    nav aria-label="Pages" { @for link in page.links { a href=(link.file) { (one_line(&link.text)) } " " } }
                }
                main { (page.body) }
                @if let Some(courses) = &page.courses { (courses.markup()) }
            }
        }
    };
    page.into_string() + "\n"
}

/// The digest of a style sheet or a script, as a policy has it.
pub(crate) fn digest(text: &str) -> String {
    base64(&Sha256::digest(text.as_bytes()))
}

/// Base64 with padding (RFC 4648), as a policy has it.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for group in bytes.chunks(3) {
        let byte = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let all = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4_usize {
            let letter = all >> (18 - 6 * place) & 63;
            let letter = LETTERS.get(usize::try_from(letter).unwrap_or(0)).copied().unwrap_or(b'A');
            out.push(if place <= group.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::base64;

    #[test]
    fn base64_of_the_standard() {
        let all = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(all, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
