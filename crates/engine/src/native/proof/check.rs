//! Checks that a block has the right content: the fast way, for every block.

use super::diagnose::{Fault, diagnose};
use super::ledger::Expected;
use super::stamp::{Header, Spot, Stamper, is_whole};

/// The fault of a unit, if it has one.
#[inline]
pub(crate) fn check(stamper: &Stamper, spot: Spot, expected: Expected, unit: &[u8]) -> Option<Fault> {
    if is_right(stamper, spot, expected, unit) { None } else { diagnose(stamper, spot, expected, unit) }
}

/// Whether header and checksum are both right.
#[inline]
fn is_right(stamper: &Stamper, spot: Spot, expected: Expected, unit: &[u8]) -> bool {
    let Some(header) = Header::read(unit) else { return false };
    expected.admits(header.generation)
        && header == stamper.header(spot, header.generation, unit.len())
        && is_whole(unit)
}

#[cfg(test)]
mod tests;
