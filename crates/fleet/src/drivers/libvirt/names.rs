//! Names and ids that follow from a claim: a repeated `create` finds what an interrupted one made.

use driver::protocol::Claim;

/// Digits of the claim in a guest's name. The whole id would leave no room for the machine's name in a host name (RFC 1123).
const SHORT: usize = 12;

/// Checks that a claim's id is one: it becomes a part of file names.
pub(super) fn is_claim_id(id: &str) -> bool {
    id.len() == 32 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a text is the name of a machine or volume, as the protocol allows them.
pub(super) fn is_name(name: &str) -> bool {
    (1..=40).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
}

/// A guest's name in libvirt.
pub(super) fn domain(claim: &Claim, machine: &str) -> String {
    format!("diskproof-{}-{}", &claim.id[..SHORT], machine.trim_end_matches('-'))
}

/// The folder of a machine's disks, in the folder `base`.
pub(super) fn folder(base: &str, claim: &str, machine: &str) -> String {
    format!("{}/diskproof-{claim}-{machine}", base.trim_end_matches('/'))
}

/// The name of a volume in a storage pool.
pub(super) fn in_pool(claim: &str, machine: &str, volume: &str) -> String {
    format!("diskproof-{claim}-{machine}-{volume}")
}

/// A guest's UUID: version 8 of RFC 9562, from SHA-256 of the claim and the name.
pub(super) fn uuid(claim: &Claim, machine: &str) -> String {
    let digest = digest(&format!("machine {} {machine}", claim.id));
    let (a, b, c, d, e) = (&digest[..8], &digest[8..12], &digest[13..16], &digest[17..20], &digest[20..32]);
    format!("{a}-{b}-8{c}-8{d}-{e}")
}

/// A volume's serial number, from SHA-256 of the claim and the names. virtio passes on 20 characters.
pub(super) fn serial(claim: &Claim, machine: &str, volume: &str) -> String {
    format!("dp{}", &digest(&format!("volume {} {machine} {volume}", claim.id))[..18])
}

fn digest(text: &str) -> String {
    // Reading from memory doesn't fail.
    host::sha256(text.as_bytes(), u64::MAX).map(|(digest, _)| digest).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{domain, is_claim_id, is_name, serial, uuid};
    use driver::protocol::Claim;

    fn claim(id: &str) -> Claim {
        Claim { id: id.repeat(32), run: "r".to_owned(), deadline: 0 }
    }

    #[test]
    fn a_claim_and_a_name_have_one_uuid_and_one_serial_and_others_have_others() {
        let (a, b) = (claim("a"), claim("b"));
        let id = uuid(&a, "big");
        assert_eq!(id, uuid(&a, "big"));
        let lengths: Vec<usize> = id.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12]);
        assert!(id != uuid(&b, "big") && id != uuid(&a, "bog"));
        let number = serial(&a, "big", "gp");
        assert_eq!(number.len(), 20);
        let others = [serial(&a, "big", "gq"), serial(&a, "bog", "gp"), serial(&b, "big", "gp")];
        assert!(!others.contains(&number));
    }

    #[test]
    fn the_longest_name_of_a_machine_makes_a_host_name() {
        let longest = "m".repeat(40);
        assert!(is_name(&longest) && !is_name(&"m".repeat(41)));
        crate::libvirt::check_name(&domain(&claim("a"), &longest)).unwrap();
        crate::libvirt::check_name(&domain(&claim("a"), "a-")).unwrap();
    }

    #[test]
    fn what_becomes_a_part_of_a_path_is_plain() {
        assert!(is_claim_id(&"0a".repeat(16)));
        for bad in ["", "a", &"A".repeat(32), &"../".repeat(11)[..32], &"*".repeat(32)] {
            assert!(!is_claim_id(bad), "{bad}");
        }
        assert!(["", "-a", "a/b", "..", "a b", "A", "1a"].into_iter().all(|name| !is_name(name)));
    }
}
