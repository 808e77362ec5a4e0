//! fio's `verify`: every block has a header with its place and a checksum. The layout writes them, reads of an unmixed read
//! workload check them as they complete, writes renew them, and after the measured time everything is read back.
//!
//! fio's own read-back (`do_verify`) is off: with `time_based` it takes part of the measured time, and in a mix it compares reads
//! with later writes. Its exit code isn't reliable either: after a failed check at the end of a job it is 0.

use super::ini::Section;
use crate::data::{UNIT_BYTES, whole_blocks};
use record::fio_option::VERIFY_WORDS;
use record::trial::{ErrorCount, FaultKind, VerifyFault};
use record::workload::Options;
use std::collections::BTreeMap;

/// Options that would move fio's headers or switch checks off.
const AGAINST: &[&str] = &[
    "ba",
    "blockalign",
    "blocksize_unaligned",
    "bs_unaligned",
    "buffer_pattern",
    "do_verify",
    "experimental_verify",
    "verify_fatal",
    "verify_interval",
    "verify_offset",
    "verify_pattern",
    "zero_buffers",
    "zonemode",
];

/// The most offsets that are reported of each file.
const MOST_OFFSETS: usize = 16;

/// The kernel's error for wrong content.
const ERRNO: &str = "EILSEQ";

/// Why fio can't check a workload's blocks, besides what `spec` knows; `None` when it can, or needn't.
pub(super) fn refusal(options: &Options) -> Option<String> {
    let method = options.verify.as_deref()?;
    if !VERIFY_WORDS.contains(&method) {
        let why = match method {
            "sha512" => "fio 3.33 doesn't notice a changed byte with it",
            "null" | "meta" => "it checks no content",
            "pattern" => "blocks of one pattern can't tell their place",
            _ => "it is none of the methods that were tried",
        };
        return Some(format!("verify: {method}: {why}"));
    }
    if let Some(other) = AGAINST.iter().find(|name| options.other.contains_key(**name)) {
        return Some(format!("verify with {other}: diskproof places the headers itself"));
    }
    let block = options.bs_bytes.max(1);
    let laid_out = whole_blocks(options.offset_bytes.saturating_add(options.size_bytes), UNIT_BYTES);
    (!laid_out.is_multiple_of(block))
        .then(|| format!("verify with offset or size that are no multiple of {block} and of {UNIT_BYTES}"))
}

/// Sets headers and checksums on every block of the smallest size.
pub(super) fn set(section: &mut Section, options: &Options) {
    let Some(method) = &options.verify else { return };
    section.set("verify", method);
    section.set("verify_interval", options.bs_bytes);
    section.flag("do_verify", false);
}

/// Two writes in flight to one block could mix, so this allows one at a time.
pub(super) fn one_write_at_a_time(section: &mut Section, options: &Options) {
    if options.verify.is_some() && options.rw.writes() && options.iodepth > 1 {
        section.flag("serialize_overlap", true);
    }
}

/// Blocks that fio found wrong, by file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WrongBlocks(BTreeMap<String, BTreeMap<u64, String>>);

impl WrongBlocks {
    /// Records the wrong block, if the line reports one.
    pub(super) fn note(&mut self, line: &str) {
        if let Some((path, offset)) = place_in(line) {
            self.0.entry(path).or_default().entry(offset).or_insert_with(|| line.to_owned());
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// fio doesn't report whether a block is lost, stale, torn or misdirected, so all are `Corrupt`, with fio's message.
    pub(super) fn faults(&self) -> Vec<VerifyFault> {
        let fault = |(path, blocks): (&String, &BTreeMap<u64, String>)| VerifyFault {
            kind: FaultKind::Corrupt,
            count: u64::try_from(blocks.len()).unwrap_or(u64::MAX),
            path: path.clone(),
            offsets_bytes: blocks.keys().copied().take(MOST_OFFSETS).collect(),
            example: blocks.values().next().map(|line| format!("fio says: {line}")).unwrap_or_default(),
        };
        self.0.iter().map(fault).collect()
    }

    /// Adds them to the trial's errors; fio's own count has one per I/O, or none.
    pub(super) fn add_to(&self, errors: &mut Vec<ErrorCount>) {
        if self.is_empty() {
            return;
        }
        errors.retain(|error| !is_content(error));
        errors.extend(self.0.iter().map(|(path, blocks)| ErrorCount {
            errno: ERRNO.to_owned(),
            count: u64::try_from(blocks.len()).unwrap_or(u64::MAX),
            place: Some(path.clone()),
        }));
    }
}

/// Whether an error is wrong content.
pub(super) fn is_content(error: &ErrorCount) -> bool {
    error.errno == ERRNO
}

/// Whether the user wants to continue after wrong content, and nothing else failed.
pub(super) fn is_tolerated(options: &Options, errors: &[ErrorCount]) -> bool {
    let on = options.other.get("continue_on_error").map(String::as_str);
    matches!(on, Some("all" | "verify" | "1")) && errors.iter().all(is_content)
}

/// The file and offset of a wrong block, e.g. `crc32c: verify failed at file /m/x offset 4096, length 512 (requested block:
/// ...)`.
fn place_in(line: &str) -> Option<(String, u64)> {
    let (what, rest) = line.split_once(" at file ")?;
    if !what.contains("verify") {
        return None;
    }
    let (place, _) = rest.split_once(", length ")?;
    let (path, offset) = place.rsplit_once(" offset ")?;
    Some((path.to_owned(), offset.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::{AGAINST, WrongBlocks, is_tolerated, refusal};
    use record::fio_option::find;
    use record::trial::{ErrorCount, FaultKind};
    use record::workload::{Options, Rw};

    /// Output of fio 3.33 for a changed byte and for a block copied elsewhere.
    const SAID: &str = "verify: bad header offset 2097152, wanted 3145728 at file /m/a b offset 3145728, length 4096 (requested block: offset=3145728, length=1048576)\n\
        crc32c: verify failed at file /m/a b offset 4997120, length 4096 (requested block: offset=4194304, length=1048576, flags=8)\n       \
        Expected CRC: a63fb129\n       Received CRC: 9a02444d\n\
        crc32c: verify failed at file /m/a b offset 4997120, length 4096 (requested block: offset=4194304, length=1048576, flags=8)\n\
        verify: bad magic header 5958, wanted acca at file /m/c offset 491520, length 4096 (requested block: offset=458752, length=65536)\n\
        fio: pid=1, err=84/file:io_u.c:2180, func=io_u_sync_complete, error=Invalid or incomplete multibyte or wide character";

    #[test]
    fn wrong_blocks_are_told_by_file_and_offset() {
        let mut found = WrongBlocks::default();
        assert!(found.is_empty() && found.faults().is_empty());
        SAID.lines().for_each(|line| found.note(line));
        let faults = found.faults();
        assert_eq!((faults.len(), faults[0].path.as_str(), faults[0].count), (2, "/m/a b", 2));
        assert_eq!(faults[0].offsets_bytes, [3_145_728, 4_997_120]);
        assert_eq!((faults[1].kind, &faults[1].offsets_bytes[..]), (FaultKind::Corrupt, &[491_520][..]));
        assert!(faults[0].example.contains("bad header offset 2097152"), "{}", faults[0].example);
        let error = |errno: &str, place: &str, count| ErrorCount {
            errno: errno.into(),
            count,
            place: Some(place.into()),
        };
        let mut errors = vec![error("EILSEQ", "job0", 1), error("EIO", "job1", 2)];
        found.add_to(&mut errors);
        assert_eq!(
            errors,
            [error("EIO", "job1", 2), error("EILSEQ", "/m/a b", 2), error("EILSEQ", "/m/c", 1)]
        );
    }

    fn checked(rw: Rw) -> Options {
        Options { verify: Some("crc32c".into()), ..Options::new(rw, 8192, 1 << 20) }
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        let other = |name: &str| {
            let mut options = checked(Rw::Write);
            options.other.insert(name.into(), "1".into());
            options
        };
        for (options, part) in [
            (Options { verify: Some("null".into()), ..checked(Rw::Read) }, "checks no content"),
            (Options { verify: Some("rot13".into()), ..checked(Rw::Read) }, "that were tried"),
            (Options { size_bytes: 12288, ..checked(Rw::Read) }, "multiple of 8192"),
            (other("verify_interval"), "verify_interval"),
        ] {
            assert!(refusal(&options).unwrap().contains(part), "{part}");
        }
        assert_eq!((refusal(&checked(Rw::Randrw)), refusal(&other("verify_async"))), (None, None));
        assert!(AGAINST.iter().all(|name| find(name).is_some()), "options have fio's names");
    }

    #[test]
    fn only_wrong_content_is_tolerated_and_only_if_asked() {
        let wrong = [ErrorCount { errno: "EILSEQ".into(), count: 1, place: None }];
        let broken = [ErrorCount { errno: "EIO".into(), count: 1, place: None }];
        let mut options = checked(Rw::Read);
        assert!(!is_tolerated(&options, &wrong));
        options.other.insert("continue_on_error".into(), "verify".into());
        assert!(is_tolerated(&options, &wrong) && !is_tolerated(&options, &broken));
        options.other.insert("continue_on_error".into(), "read".into());
        assert!(!is_tolerated(&options, &wrong));
    }
}
