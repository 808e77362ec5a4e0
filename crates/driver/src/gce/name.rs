//! Names, labels and request ids, as GCE takes them.

use crate::protocol::Claim;
use sha2::{Digest as _, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The label with the claim's id: it alone tells whether a resource is ours.
pub(super) const CLAIM: &str = "diskproof-claim";
/// The label with the run, for people.
const RUN: &str = "diskproof-run";
/// The label with the deadline, in seconds since 1970.
const DEADLINE: &str = "diskproof-deadline";

/// What descriptions begin with.
const DESCRIBED: &str = "made by diskproof for the run ";

/// Most characters of a machine's or volume's name in a request.
const MOST_OF_A_NAME: usize = 40;
/// Characters of a run's name that a machine's name shows.
const OF_THE_RUN: usize = 7;
/// Digits of a claim's id in a machine's name.
const OF_THE_ID: usize = 10;

/// Whether an id is one of the protocol: 32 hexadecimal digits in lower case. Others would have to be quoted in filters.
pub(super) fn is_claim_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a name of a request can be a part of GCE's names: `[a-z]([-a-z0-9]*[a-z0-9])?`, at most 40 characters.
pub(super) fn is_usable(name: &str) -> bool {
    name.len() <= MOST_OF_A_NAME
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && !name.ends_with('-')
        && name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-'))
}

/// What the names of all machines of a claim begin with. It shows the run's beginning and a part of the claim's id.
pub(super) fn prefix(claim: &Claim) -> String {
    let run = plain(&claim.run, OF_THE_RUN);
    let run = run.trim_matches('-');
    let digits = &claim.id[..OF_THE_ID.min(claim.id.len())];
    match run.chars().next() {
        None => format!("run-{digits}-"),
        Some(first) if first.is_ascii_lowercase() => format!("{run}-{digits}-"),
        Some(_) => format!("r{}-{digits}-", run[..run.len().min(OF_THE_RUN - 1)].trim_end_matches('-')),
    }
}

/// The name of a machine in the account. It has at most 59 characters: GCE appends `-1` and so on for the names of its disks, and takes 63.
pub(super) fn of_machine(claim: &Claim, name: &str) -> String {
    format!("{}{name}", prefix(claim))
}

/// The name in the request of a machine with this name in the account.
pub(super) fn in_request<'a>(claim: &Claim, name: &'a str) -> Option<&'a str> {
    name.strip_prefix(&prefix(claim))
}

/// The labels of everything that a claim has.
pub(super) fn labels(claim: &Claim) -> BTreeMap<String, String> {
    BTreeMap::from([
        (CLAIM.to_owned(), claim.id.clone()),
        (RUN.to_owned(), plain(&claim.run, 63)),
        (DEADLINE.to_owned(), claim.deadline.to_string()),
    ])
}

/// The description of everything that a claim has: labels take few characters, so the run's whole name stands here.
pub(super) fn description(claim: &Claim) -> String {
    format!("{DESCRIBED}{}", claim.run.chars().take(400).collect::<String>())
}

/// The claim that labels and description tell of; `None`: none, or not in a form that diskproof writes.
pub(super) fn claim_of(labels: &BTreeMap<String, String>, description: &str) -> Option<Claim> {
    let run = description.strip_prefix(DESCRIBED).or_else(|| labels.get(RUN).map(String::as_str));
    Some(Claim {
        id: labels.get(CLAIM).filter(|id| is_claim_id(id))?.clone(),
        run: run.unwrap_or_default().to_owned(),
        deadline: labels.get(DEADLINE)?.parse().ok()?,
    })
}

/// A text in the characters of labels and names; all others become hyphens.
fn plain(text: &str, most: usize) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    text.chars().take(most).map(kept).collect()
}

/// A request id: the same parts give the same UUID (RFC 9562, version 8), so that the API recognizes a repeated request.
pub(super) fn request_id(parts: &[&str]) -> String {
    let mut digest = Sha256::new();
    for part in parts {
        digest.update((part.len() as u64).to_be_bytes());
        digest.update(part.as_bytes());
    }
    let mut bytes: [u8; 16] = [0; 16];
    bytes.copy_from_slice(&digest.finalize()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests;
