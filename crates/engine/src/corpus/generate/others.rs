//! Generates source files and photos.

use super::words::{Words, pick};
use crate::native::random::Random;
use std::io::Write as _;

const TYPES: [&str; 8] =
    ["int", "unsigned long", "struct device *", "void *", "u64", "bool", "size_t", "const char *"];

/// Appends a source file of exactly `size` bytes: a licence that all files share, functions, comments.
pub(crate) fn source(random: &mut Random, size: usize, out: &mut Vec<u8>) {
    let begin = out.len();
    let words = Words::get();
    let end = begin + size;
    out.extend_from_slice(b"/*\n * This program is free software; you can redistribute it and/or modify\n * it under the terms of the licence\n");
    out.extend_from_slice(b" * in the file COPYING, or (at your option) any later version.\n */\n\n");
    while out.len() < end {
        if random.percent(40) {
            out.extend_from_slice(b"/*\n");
            words.paragraph(random, " * ", 200, 0, out);
            out.extend_from_slice(b" */\n");
        }
        let name = format!("{}_{}", words.draw(random), words.draw(random));
        line(
            out,
            format_args!(
                "static {} {name}({} {})\n{{",
                pick(&TYPES, random),
                pick(&TYPES, random),
                words.draw(random)
            ),
        );
        for _ in 0..3 + random.below(20) {
            statement(random, words, out);
        }
        line(out, format_args!("\treturn {};\n}}\n", random.below(3)));
    }
    out.truncate(end);
}

fn statement(random: &mut Random, words: &Words, out: &mut Vec<u8>) {
    let (a, b) = (words.draw(random), words.draw(random));
    match random.below(5) {
        0 => line(out, format_args!("\tif (!{a}->{b})\n\t\treturn -EINVAL;")),
        1 => line(out, format_args!("\t{a}->{b} = {}({a}, {});", words.draw(random), random.below(4096))),
        2 => line(out, format_args!("\tfor (i = 0; i < {}; i++)\n\t\t{a}[i] = {b}(i);", random.below(256))),
        3 => line(out, format_args!("\tdev_dbg({a}, \"{b} %d\\n\", {});", words.draw(random))),
        _ => line(out, format_args!("\t{} {a} = {b};", pick(&TYPES, random))),
    }
}

fn line(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // A write to memory can't fail.
    let _ = out.write_fmt(text);
    out.push(b'\n');
}

/// Appends a photo of exactly `size` bytes: a header like a JPEG's, then data that don't compress.
pub(crate) fn photo(random: &mut Random, size: usize, out: &mut Vec<u8>) {
    let end = out.len() + size;
    out.extend_from_slice(b"\xff\xd8\xff\xe1\x1f\xfeExif\0\0II*\0\x08\0\0\0");
    let head = out.len() + 640;
    while out.len() < head {
        out.extend_from_slice(b"\0\0\x01\0\x02\0Camera Maker \0");
    }
    while out.len() < end {
        out.extend_from_slice(&random.next().to_le_bytes());
    }
    out.truncate(end);
}
