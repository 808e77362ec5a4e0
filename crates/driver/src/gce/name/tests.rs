use super::*;
use proptest::prelude::{Strategy, any, prop_assert, prop_assert_eq, prop_assert_ne, proptest};

fn claims() -> impl Strategy<Value = Claim> {
    ("[0-9a-f]{32}", any::<String>(), any::<u64>()).prop_map(|(id, run, deadline)| Claim {
        id,
        run,
        deadline,
    })
}

/// GCE's rule: `[a-z]([-a-z0-9]{0,61}[a-z0-9])?`.
fn gce_takes(name: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    (1..=63).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.ends_with(inner)
        && name.chars().all(|c| inner(c) || c == '-')
}

/// GCE's rule for a label's value: at most 63 of lower-case letters, digits, `_` and `-`.
fn is_label(value: &str) -> bool {
    value.len() <= 63
        && value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-')
}

proptest! {
    #[test]
    fn any_run_and_machine_give_a_name_that_gce_takes(claim in claims(), name in "[a-z]([-a-z0-9]{0,38}[a-z0-9])?") {
        prop_assert!(is_usable(&name));
        let made = of_machine(&claim, &name);
        prop_assert!(gce_takes(&made), "{made}");
        prop_assert!(made.len() <= 59, "{made}");
        prop_assert_eq!(in_request(&claim, &made), Some(name.as_str()));
    }

    #[test]
    fn different_machines_or_claims_have_different_names(
        one in claims(), other in claims(), name in "[a-z][a-z0-9]{0,39}", another in "[a-z][a-z0-9]{0,39}",
    ) {
        if name != another {
            prop_assert_ne!(of_machine(&one, &name), of_machine(&one, &another));
        }
        if one.id[..10] != other.id[..10] {
            prop_assert_ne!(of_machine(&one, &name), of_machine(&other, &name));
        }
    }

    #[test]
    fn labels_are_taken_and_read_back(claim in claims()) {
        let made = labels(&claim);
        prop_assert!(made.values().all(|value| is_label(value)));
        let described = description(&claim);
        if claim.run.chars().count() <= 400 {
            prop_assert_eq!(claim_of(&made, &described), Some(claim));
        }
    }
}

#[test]
fn names_that_gce_refuses_are_not_usable() {
    for bad in ["", "1a", "A", "a-", "-a", "a_b", "ä", &"a".repeat(41)] {
        assert!(!is_usable(bad), "{bad}");
    }
}

#[test]
fn a_request_id_is_a_uuid_that_its_parts_decide() {
    let id = request_id(&["claim", "name"]);
    assert_eq!(id, request_id(&["claim", "name"]));
    assert_ne!(id, request_id(&["claimn", "ame"]));
    let lengths: Vec<_> = id.split('-').map(str::len).collect();
    assert_eq!(lengths, [8, 4, 4, 4, 12]);
    assert_eq!(id.as_bytes()[14], b'8');
}

#[test]
fn other_ids_are_no_claims() {
    for bad in ["", "0123", &"A".repeat(32), "0123456789abcdef0123456789abcdeg"] {
        assert!(!is_claim_id(bad), "{bad}");
    }
}
