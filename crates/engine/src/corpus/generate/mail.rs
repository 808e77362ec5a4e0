//! Generates mail: headers that repeat from mail to mail, text with quotes, HTML with boilerplate, base64 attachments that don't
//! compress.

use super::words::{Words, pick};
use crate::native::random::Random;
use std::io::Write as _;

const HOSTS: [&str; 12] = [
    "mx1.example.org",
    "mx2.example.org",
    "lists.example.net",
    "smtp.example.com",
    "mail-relay.example.com",
    "vger.example.net",
    "localhost",
    "out3.example.info",
    "mailhub.example.edu",
    "gw.example.org",
    "imap.example.org",
    "news.example.net",
];
const PEOPLE: [&str; 16] = [
    "anna", "bert", "carla", "dmitri", "eva", "felix", "greta", "hans", "ines", "jan", "kim", "lea", "marco",
    "nina", "otto", "pia",
];
const AGENTS: [&str; 6] = [
    "Mutt/1.5.20 (2009-06-14)",
    "Thunderbird 2.0.0.23 (X11/20090817)",
    "KMail/1.12.4",
    "Gnus/5.13 (Gnus v5.13)",
    "Sylpheed 2.7.1",
    "Apple Mail (2.936)",
];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
const TYPES: [(&str, &str); 5] = [
    ("application/pdf", "pdf"),
    ("image/jpeg", "jpg"),
    ("application/zip", "zip"),
    ("application/msword", "doc"),
    ("image/png", "png"),
];
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The least size of a mail with attachments or HTML.
const LARGE: usize = 3_500;

/// Appends a mail of exactly `size` bytes.
pub(crate) fn mail(random: &mut Random, size: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    let words = Words::get();
    let boundary = format!("----=_Part_{:08x}_{:010}", random.below(1 << 32), random.below(10_000_000_000));
    let shape = if size < LARGE { Shape::Plain } else { Shape::draw(random, size) };
    headers(random, size, shape, &boundary, out);
    let end = begin + size;
    while out.len() < end {
        let left = end - out.len();
        match shape {
            Shape::Plain => text(random, words, left, out),
            Shape::Html => html(random, words, left, &boundary, out),
            Shape::Attached => attached(random, words, left, &boundary, out),
        }
    }
    out.truncate(end);
    if let Some(last) = out[begin..].last_mut() {
        *last = b'\n';
    }
}

/// The kind of a mail.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Shape {
    Plain,
    Html,
    Attached,
}

impl Shape {
    /// Draws the kind: the larger a mail, the more likely it has an attachment.
    fn draw(random: &mut Random, size: usize) -> Self {
        let (attached, html) = match size {
            0..=20_000 => (3, 47),
            20_001..=100_000 => (8, 44),
            _ => (12, 44),
        };
        match random.below(100) {
            n if n < attached => Self::Attached,
            n if n < attached + html => Self::Html,
            _ => Self::Plain,
        }
    }
}

fn date(random: &mut Random) -> String {
    let pick_day = pick(&DAYS, random);
    let (day, month) = (1 + random.below(28), pick(&MONTHS, random));
    let (hour, minute, second) = (random.below(24), random.below(60), random.below(60));
    format!("{pick_day}, {day} {month} {} {hour:02}:{minute:02}:{second:02} +0100", 2004 + random.below(8))
}

fn person(random: &mut Random) -> String {
    format!("{}@{}", pick(&PEOPLE, random), pick(&HOSTS, random))
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // A write to memory can't fail.
    let _ = out.write_fmt(text);
    out.push(b'\n');
}

fn headers(random: &mut Random, size: usize, shape: Shape, boundary: &str, out: &mut Vec<u8>) {
    let hops = match size {
        0..=699 => 0,
        700..=1_299 => 1,
        1_300..=2_199 => 2,
        _ => 3,
    };
    let to = person(random);
    if hops > 0 {
        line(out, format_args!("Return-Path: <{}>", person(random)));
        line(out, format_args!("Delivered-To: {to}"));
    }
    for _ in 0..hops {
        let (from, by) = (pick(&HOSTS, random), pick(&HOSTS, random));
        let ip = random.below(1 << 16);
        line(out, format_args!("Received: from {from} ({from} [192.168.{}.{}])", ip >> 8, ip & 255));
        line(out, format_args!("\tby {by} (Postfix) with ESMTP id {:010X}", random.below(1 << 40)));
        line(out, format_args!("\tfor <{to}>; {} (CET)", date(random)));
    }
    let host = pick(&HOSTS, random);
    line(out, format_args!("Message-ID: <{:x}.{:x}@{host}>", random.below(1 << 32), random.below(1 << 40)));
    line(out, format_args!("Date: {}", date(random)));
    line(out, format_args!("From: {}", person(random)));
    line(out, format_args!("To: {to}"));
    let words = Words::get();
    let mut subject = String::from(if random.percent(60) { "Re:" } else { "" });
    for _ in 0..3 + random.below(5) {
        subject.push(' ');
        subject.push_str(words.draw(random));
    }
    line(out, format_args!("Subject: {}", subject.trim_start()));
    if hops > 1 {
        line(out, format_args!("User-Agent: {}", pick(&AGENTS, random)));
        line(out, format_args!("MIME-Version: 1.0"));
        let kind = match shape {
            Shape::Plain => "text/plain; charset=us-ascii".to_owned(),
            Shape::Html => format!("multipart/alternative; boundary=\"{boundary}\""),
            Shape::Attached => format!("multipart/mixed; boundary=\"{boundary}\""),
        };
        line(out, format_args!("Content-Type: {kind}"));
        line(out, format_args!("Content-Transfer-Encoding: 7bit"));
        line(
            out,
            format_args!("X-Spam-Status: No, score={}.{} required=5.0", random.below(3), random.below(10)),
        );
    }
    out.push(b'\n');
}

/// Appends paragraphs, some of them quoted, and a signature.
fn text(random: &mut Random, words: &Words, bytes: usize, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    let author = pick(&PEOPLE, random);
    while out.len() < end {
        let begin = out.len();
        words.paragraph(random, "", 160, 500, out);
        let paragraph = begin..out.len();
        out.push(b'\n');
        if random.percent(30) {
            line(out, format_args!("On {}, {} wrote:", date(random), person(random)));
            words.paragraph(random, "> ", 120, 400, out);
            out.push(b'\n');
        } else if random.percent(20) {
            // The text of a paragraph above, quoted in the answer.
            let said: Vec<u8> = out[paragraph].to_vec();
            for said in said.split(|byte| *byte == b'\n').filter(|said| !said.is_empty()) {
                out.extend_from_slice(b"> ");
                out.extend_from_slice(said);
                out.push(b'\n');
            }
            out.push(b'\n');
        }
    }
    line(out, format_args!("-- \n{author}"));
}

/// Appends plain text, then the same length in HTML.
fn html(random: &mut Random, words: &Words, bytes: usize, boundary: &str, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    line(out, format_args!("--{boundary}\nContent-Type: text/plain; charset=utf-8\n"));
    text(random, words, bytes / 3, out);
    line(out, format_args!("--{boundary}\nContent-Type: text/html; charset=utf-8\n"));
    line(
        out,
        format_args!(
            "<html><head><meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\"></head>"
        ),
    );
    line(
        out,
        format_args!(
            "<body bgcolor=\"#ffffff\" text=\"#000000\"><table border=\"0\" cellspacing=\"0\" cellpadding=\"0\">"
        ),
    );
    while out.len() < end {
        let colour = random.below(1 << 24);
        out.extend_from_slice(
            b"<tr><td align=\"left\" valign=\"top\" style=\"font-family: Arial, sans-serif; ",
        );
        line(out, format_args!("font-size: 10pt; color: #{colour:06x}\"><p>"));
        words.paragraph(random, "", 120, 300, out);
        if random.percent(30) {
            let host = pick(&HOSTS, random);
            line(
                out,
                format_args!(
                    "<a href=\"http://{host}/{}/{:x}\">{}</a>",
                    words.draw(random),
                    random.below(1 << 32),
                    words.draw(random)
                ),
            );
        }
        line(out, format_args!("</p></td></tr>"));
    }
    line(out, format_args!("</table></body></html>\n--{boundary}--"));
}

/// Appends a few lines of text, then one attachment that takes the rest.
fn attached(random: &mut Random, words: &Words, bytes: usize, boundary: &str, out: &mut Vec<u8>) {
    let end = out.len() + bytes;
    line(out, format_args!("--{boundary}\nContent-Type: text/plain; charset=utf-8\n"));
    text(random, words, (bytes / 8).min(1_500), out);
    let (kind, ending) = TYPES[usize::try_from(random.below(TYPES.len() as u64)).unwrap_or(0)];
    let name = words.draw(random);
    line(out, format_args!("--{boundary}\nContent-Type: {kind}; name=\"{name}.{ending}\""));
    line(
        out,
        format_args!(
            "Content-Transfer-Encoding: base64\nContent-Disposition: attachment; filename=\"{name}.{ending}\"\n"
        ),
    );
    while out.len() + boundary.len() + 6 < end {
        base64_line(random, out);
    }
    line(out, format_args!("--{boundary}--"));
}

/// Appends 76 characters of random bytes in base64.
fn base64_line(random: &mut Random, out: &mut Vec<u8>) {
    let mut column = 0;
    while column < 76 {
        let mut bits = random.next();
        for _ in 0..10.min(76 - column) {
            out.push(BASE64[usize::try_from(bits & 63).unwrap_or(0)]);
            bits >>= 6;
            column += 1;
        }
    }
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::mail;
    use crate::native::random::Random;

    #[test]
    fn a_mail_is_as_long_as_asked_and_begins_with_headers() {
        for (number, size) in [(0, 310), (1, 700), (2, 1_700), (3, 2_500), (4, 9_000), (5, 200_000)] {
            let mut out = b"before".to_vec();
            mail(&mut Random::new(7, number), size, &mut out);
            assert_eq!(out.len(), size + 6);
            let text = String::from_utf8(out[6..].to_vec()).unwrap();
            assert!(text.contains("Message-ID: <") && text.contains("\nFrom: "), "{text}");
            assert!(text.ends_with('\n'));
        }
    }

    #[test]
    fn the_same_seed_makes_the_same_mail() {
        let made = |seed| {
            let mut out = Vec::new();
            mail(&mut Random::new(seed, 3), 5_000, &mut out);
            out
        };
        assert!(made(1) == made(1) && made(1) != made(2));
    }
}
