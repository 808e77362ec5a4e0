//! Finds the fault of a wrong unit: the slow way, for the few.
//!
//! The data of each write can be generated again, so a unit is compared sector by sector with what it should contain and with
//! what it contained earlier.

use super::ledger::Expected;
use super::stamp::{HEADER_BYTES, Header, SECTOR_BYTES, Spot, Stamper, is_whole};
use crate::native::buffer::PIECE_BYTES;
use record::trial::FaultKind;
use std::fmt::Write as _;

/// The most pieces that are generated again to find out which write a sector belongs to.
const MOST_PIECES: usize = 1 << 14;

/// The least number of earlier writes that are tried, however large the unit.
const LEAST_WRITES: usize = 64;

/// The fault of a unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub(crate) kind: FaultKind,
    /// The offset of the first wrong byte where the kind has one, else of the unit; from the beginning of the file or device.
    pub(crate) offset_bytes: u64,
    /// A description as text.
    pub(crate) example: String,
}

/// Finds the fault of a unit. `None` when it contains parts of writes that may all be there, because they were in flight during
/// the read, or failed.
#[cold]
pub(crate) fn diagnose(stamper: &Stamper, spot: Spot, expected: Expected, unit: &[u8]) -> Option<Fault> {
    let difference = difference(stamper, spot, expected, unit)?;
    let place = format!("the block of {} bytes at {}", unit.len(), spot.offset_bytes);
    let due = due(expected);
    let whole = |kind, there: String| Fault {
        kind,
        offset_bytes: spot.offset_bytes,
        example: format!("{place} should hold {due}; {there}"),
    };
    if unit.iter().all(|byte| *byte == 0) {
        return Some(whole(FaultKind::Lost, "it holds only zeros".to_owned()));
    }
    if let Some(header) = Header::read(unit).filter(|_| is_whole(unit)) {
        if let Some((kind, there)) = by_header(stamper, spot, expected, header) {
            return Some(whole(kind, there));
        }
    } else if let Some(sectors) = sectors(stamper, spot, expected, unit) {
        let offset_bytes = spot.offset_bytes + difference.first as u64;
        return Some(Fault { offset_bytes, ..whole(FaultKind::Torn, runs(&sectors)) });
    }
    let offset_bytes = spot.offset_bytes + difference.first as u64;
    let there = difference.words(offset_bytes) + &strange(stamper, spot, unit);
    Some(Fault { offset_bytes, ..whole(FaultKind::Corrupt, there) })
}

/// The difference of a unit from everything that it may contain.
struct Difference {
    first: usize,
    count: usize,
    found: u8,
    wanted: u8,
}

impl Difference {
    fn words(&self, offset_bytes: u64) -> String {
        let Self { count, found, wanted, .. } = self;
        let bytes = if *count == 1 { "byte is" } else { "bytes are" };
        format!("the byte at {offset_bytes} is {found:#04x} instead of {wanted:#04x}, {count} {bytes} wrong")
    }
}

/// `None` when every byte is that of an allowed generation.
fn difference(stamper: &Stamper, spot: Spot, expected: Expected, unit: &[u8]) -> Option<Difference> {
    let mut right = vec![0; unit.len()];
    let mut wrong = vec![true; unit.len()];
    for generation in (expected.oldest..=expected.newest).rev() {
        stamper.stamp(spot, generation, &mut right);
        for ((wrong, found), right) in wrong.iter_mut().zip(unit).zip(&right) {
            *wrong &= found != right;
        }
        if !wrong.contains(&true) {
            return None;
        }
    }
    // `right` now has the last acknowledged write.
    let first = wrong.iter().position(|wrong| *wrong)?;
    let count = wrong.iter().filter(|wrong| **wrong).count();
    Some(Difference { first, count, found: *unit.get(first)?, wanted: *right.get(first)? })
}

/// The fault of a complete unit, by its header; `None` for an impossible header.
fn by_header(
    stamper: &Stamper,
    spot: Spot,
    expected: Expected,
    header: Header,
) -> Option<(FaultKind, String)> {
    let Header { generation, .. } = header;
    if header.trial != stamper.trial() {
        return Some((
            FaultKind::Lost,
            format!("it holds what another trial wrote{}", elsewhere(spot, header)),
        ));
    }
    if header.spot != spot {
        let there = format!("it holds {}{}", name(generation), elsewhere(spot, header));
        return Some((FaultKind::Misdirected, there));
    }
    if generation >= expected.oldest {
        return None;
    }
    let kind = if generation == 0 { FaultKind::Lost } else { FaultKind::Stale };
    Some((kind, format!("it holds {}", name(generation))))
}

fn elsewhere(spot: Spot, header: Header) -> String {
    let mut text = String::new();
    if header.spot.offset_bytes != spot.offset_bytes {
        let _ = write!(text, " to {}", header.spot.offset_bytes);
    }
    if header.spot.file != spot.file {
        let _ = write!(text, " of file number {}", header.spot.file);
    }
    text
}

/// Other observations about bytes that aren't ours.
fn strange(stamper: &Stamper, spot: Spot, unit: &[u8]) -> String {
    let header = Header::read(unit).filter(|h| h.trial == stamper.trial() && h.spot != spot);
    header.map_or_else(String::new, |h| {
        format!("; its header says {}{}", name(h.generation), elsewhere(spot, h))
    })
}

fn name(generation: u32) -> String {
    match generation {
        0 => "what was laid out".to_owned(),
        n => format!("write {n}"),
    }
}

fn due(expected: Expected) -> String {
    let Expected { oldest, newest } = expected;
    let oldest_name = name(oldest);
    match newest.saturating_sub(oldest) {
        0 => oldest_name,
        1 => format!("{oldest_name} or {}", name(newest)),
        _ => format!("{oldest_name} or one up to write {newest}"),
    }
}

/// The write that each sector belongs to; `None` if one belongs to no write to this place.
fn sectors(stamper: &Stamper, spot: Spot, expected: Expected, unit: &[u8]) -> Option<Vec<u32>> {
    let mut found = Vec::with_capacity(unit.len() / SECTOR_BYTES);
    let pieces = unit.len().div_ceil(PIECE_BYTES);
    let most = u32::try_from((MOST_PIECES / pieces.max(1)).max(LEAST_WRITES)).unwrap_or(u32::MAX);
    for (piece, bytes) in (0..).zip(unit.chunks(PIECE_BYTES)) {
        let mut open: Vec<(&[u8], Option<u32>)> = bytes.chunks(SECTOR_BYTES).map(|s| (s, None)).collect();
        // The writes of other sectors are the most likely.
        let mut likely: Vec<u32> = found.clone();
        likely.sort_unstable();
        likely.dedup();
        let told = Header::read(unit).map(|header| header.generation).filter(|g| *g <= expected.newest);
        let all = (0..=expected.newest).rev().take(most as usize).chain([0]).chain(told);
        let mut body = vec![0; bytes.len()];
        for generation in likely.into_iter().chain(all) {
            stamper.body(spot, generation, piece, &mut body);
            for (index, (sector, of)) in open.iter_mut().enumerate().filter(|(_, (_, of))| of.is_none()) {
                let made = body.get(index * SECTOR_BYTES..).unwrap_or_default();
                let is_first = piece == 0 && index == 0;
                if is_of(sector, made, is_first) && (!is_first || has_header(stamper, spot, generation, unit))
                {
                    *of = Some(generation);
                }
            }
            if open.iter().all(|(_, of)| of.is_some()) {
                break;
            }
        }
        for (_, of) in open {
            found.push(of?);
        }
    }
    Some(found)
}

fn is_of(sector: &[u8], body: &[u8], is_first: bool) -> bool {
    let from = if is_first { HEADER_BYTES } else { 0 };
    body.get(from..sector.len()) == sector.get(from..)
}

fn has_header(stamper: &Stamper, spot: Spot, generation: u32, unit: &[u8]) -> bool {
    let mut made = vec![0; unit.len()];
    stamper.stamp(spot, generation, &mut made);
    made.get(..HEADER_BYTES) == unit.get(..HEADER_BYTES)
}

/// The sectors in ranges, e.g. `sectors 0 to 3 hold write 2, 4 to 7 write 1`.
fn runs(sectors: &[u32]) -> String {
    const TOLD: usize = 6;
    let mut parts = Vec::new();
    let mut first = 0;
    for run in sectors.chunk_by(|a, b| a == b) {
        let last = first + run.len() - 1;
        let which = if last == first { format!("{first}") } else { format!("{first} to {last}") };
        parts.push(format!("{which} {}", run.first().map_or_else(String::new, |g| name(*g))));
        first = last + 1;
    }
    let more = if parts.len() > TOLD { ", ..." } else { "" };
    parts.truncate(TOLD);
    format!("its sectors hold: {}{more}", parts.join(", "))
}
