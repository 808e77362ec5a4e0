use super::Generator;
use crate::corpus::tree::Kind;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::copy::CorpusKind;
use std::collections::BTreeSet;
use std::io::Write as _;

const RECORD_BYTES: usize = 128 << 10;

/// The content of all files, in the order of their names.
fn content(kind: CorpusKind, files: u64) -> Vec<u8> {
    let generator = Generator::new(kind, files, 1);
    let mut out = Vec::new();
    for (entry, number) in generator.entries() {
        if let Kind::File { bytes, .. } = entry.kind {
            generator.content(number, bytes, &mut out);
        }
    }
    out
}

/// The compression ratio of an archive, with each record of 128 KiB compressed by gzip -6.
fn gzip_ratio(content: &[u8]) -> f64 {
    content.len() as f64 / content.chunks(RECORD_BYTES).map(gzipped).sum::<usize>() as f64
}

fn gzipped(record: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::new(6));
    encoder.write_all(record).unwrap();
    encoder.finish().unwrap().len()
}

/// The real archive has a ratio of 2.743 with gzip -6.
#[test]
fn mail_compresses_like_the_archive() {
    let ratio = gzip_ratio(&content(CorpusKind::Mail, 3_000));
    assert!((2.55..=2.85).contains(&ratio), "{ratio}");
}

/// The figure is in docs/corpora.md.
#[test]
#[ignore = "two minutes of a release build: cargo test --release --package diskproof-engine -- --ignored full_scale --nocapture"]
fn mail_compresses_like_the_archive_at_full_scale() {
    let generator = Generator::new(CorpusKind::Mail, 273_273, 1);
    let (mut records, mut all, mut compressed) = (Vec::new(), 0, 0);
    for (entry, number) in generator.entries() {
        let Kind::File { bytes, .. } = entry.kind else { continue };
        generator.content(number, bytes, &mut records);
        all += bytes;
        while records.len() >= RECORD_BYTES {
            compressed += gzipped(&records[..RECORD_BYTES]);
            records.drain(..RECORD_BYTES);
        }
    }
    let ratio = all as f64 / (compressed + gzipped(&records)) as f64;
    println!("{all} bytes, {ratio:.3}");
    assert!((2.55..=2.85).contains(&ratio), "{ratio}");
}

#[test]
fn headers_of_mail_repeat_and_attachments_do_not() {
    let mail = content(CorpusKind::Mail, 3_000);
    let is_base64 = |line: &&[u8]| {
        line.len() >= 60 && line.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b))
    };
    let attached: Vec<u8> = mail.split(|b| *b == b'\n').filter(is_base64).flatten().copied().collect();
    // Six bits of information in eight.
    let ratio = gzip_ratio(&attached);
    assert!(
        attached.len() > mail.len() / 20 && (1.2..=1.4).contains(&ratio),
        "{} bytes, {ratio}",
        attached.len()
    );
    let begins = |line: &&[u8]| {
        ["Received: ", "Message-ID: ", "X-Mailer: ", "User-Agent: "]
            .iter()
            .any(|h| line.starts_with(h.as_bytes()))
    };
    let headers: Vec<u8> = mail.split(|b| *b == b'\n').filter(begins).flatten().copied().collect();
    let ratio = gzip_ratio(&headers);
    assert!(headers.len() > mail.len() / 100 && ratio > 3.0, "{} bytes, {ratio}", headers.len());
}

#[test]
fn source_compresses_well_and_photos_do_not() {
    let ratio = gzip_ratio(&content(CorpusKind::SourceTree, 400));
    assert!((3.0..=5.0).contains(&ratio), "{ratio}");
    let ratio = gzip_ratio(&content(CorpusKind::Photos, 2));
    assert!((0.99..=1.02).contains(&ratio), "{ratio}");
}

#[test]
fn names_are_unique_sorted_and_stay_inside() {
    for kind in [CorpusKind::Mail, CorpusKind::SourceTree, CorpusKind::Photos] {
        let entries = Generator::new(kind, 2_000, 5).entries();
        let paths: Vec<_> = entries.iter().map(|(entry, _)| entry.path.clone()).collect();
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len(), "{kind:?}");
        assert!(paths.is_sorted_by_key(|path| path.as_os_str().to_owned()));
        for (place, path) in paths.iter().enumerate() {
            assert!(path.is_relative() && !path.to_string_lossy().into_owned().contains(".."), "{path:?}");
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                let before = &paths[..place];
                assert!(before.iter().any(|p| p == parent), "{path:?} comes before its directory");
            }
        }
        assert_eq!(entries.iter().filter(|(e, _)| matches!(e.kind, Kind::File { .. })).count(), 2_000);
    }
}

#[test]
fn the_same_seed_makes_the_same_corpus() {
    let of = |seed| {
        let generator = Generator::new(CorpusKind::Mail, 50, seed);
        let mut all = Vec::new();
        for (entry, number) in generator.entries() {
            all.extend_from_slice(entry.path.as_os_str().as_encoded_bytes());
            if let Kind::File { bytes, .. } = entry.kind {
                generator.content(number, bytes, &mut all);
            }
        }
        crc32c::crc32c(&all)
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
    // A change of any generated byte must also change `VERSION`.
    assert_eq!(of(1), 191_892_267, "pinned");
}
