//! libvirt's filters of packets, which keep a guest from using others' addresses.

use super::error::GuestError;
use super::request::NewGuest;
use crate::at::At;

/// Returns the filter for a card, by what it may do; `None`: it may do both.
pub(super) fn filter(may_use_other_ips: bool, may_use_other_macs: bool) -> Option<&'static str> {
    match (may_use_other_ips, may_use_other_macs) {
        (false, false) => Some("clean-traffic"),
        (true, false) => Some("no-mac-spoofing"),
        (false, true) => Some("no-ip-spoofing"),
        (true, true) => None,
    }
}

/// Checks that a machine's libvirt has the filters of a guest.
pub(super) fn check(at: &At, wanted: &NewGuest) -> Result<(), GuestError> {
    let filters: Vec<&'static str> = wanted.nics.iter().filter_map(|nic| nic.filter).collect();
    if filters.is_empty() {
        return Ok(());
    }
    let said = at.virsh("list its filters", &["nwfilter-list"])?;
    let there = |filter: &str| said.lines().any(|line| line.split_whitespace().nth(1) == Some(filter));
    match filters.into_iter().find(|filter| !there(filter)) {
        None => Ok(()),
        Some(filter) => Err(GuestError::NoFilter { machine: at.name().to_owned(), filter }),
    }
}
