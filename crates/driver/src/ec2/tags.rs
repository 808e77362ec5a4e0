//! The tags that tell what is ours.

use crate::protocol::Claim;
use serde_json::{Value, json};

/// The claim's id.
pub(super) const CLAIM: &str = "diskproof-claim";
/// The run, for people.
const RUN: &str = "diskproof-run";
/// The claim's deadline, in seconds since 1970.
const DEADLINE: &str = "diskproof-deadline";
/// Names of the machines of one launch, in the order of their launch index, with blanks between; `-2` and so on where they don't fit into one.
const MACHINES: &str = "diskproof-machines";
/// Longest value of a tag, in characters.
const LONGEST_VALUE: usize = 256;

/// Returns the tags of a claim's resources.
pub(super) fn of_claim(claim: &Claim) -> Vec<Value> {
    let run = allowed(&claim.run);
    vec![
        tag(CLAIM, &claim.id),
        tag(RUN, &run),
        tag(DEADLINE, &claim.deadline.to_string()),
        tag("Name", &format!("diskproof-{run}")),
    ]
}

/// Returns the tags with the names of machines that are launched together: they have one set of tags, and their launch index is the place
/// in it. A tag for each would be a call for each.
pub(super) fn of_machines(names: &[&str]) -> Vec<Value> {
    let mut values = vec![String::new()];
    for name in names {
        match values.last_mut() {
            Some(last) if last.is_empty() => last.push_str(name),
            Some(last) if last.len() + 1 + name.len() <= LONGEST_VALUE => {
                last.push(' ');
                last.push_str(name);
            }
            _ => values.push((*name).to_owned()),
        }
    }
    values.iter().enumerate().map(|(index, value)| tag(&machines_key(index), value)).collect()
}

fn machines_key(index: usize) -> String {
    if index == 0 { MACHINES.to_owned() } else { format!("{MACHINES}-{}", index + 1) }
}

fn tag(key: &str, value: &str) -> Value {
    json!({"Key": key, "Value": value})
}

/// The characters that a tag may have everywhere; others become `-`.
fn allowed(text: &str) -> String {
    let may = |c: char| c.is_ascii_alphanumeric() || " +-=._:/@".contains(c);
    text.chars().take(200).map(|c| if may(c) { c } else { '-' }).collect()
}

/// Returns a filter for the resources of a claim. EC2 takes `*` and `?` in values for wildcards; an id has only hexadecimal digits.
pub(super) fn filter(claim_id: &str) -> Value {
    json!([{"Name": format!("tag:{CLAIM}"), "Values": [claim_id]}])
}

/// Returns a filter for the resources of any claim.
pub(super) fn filter_any() -> Value {
    json!([{"Name": "tag-key", "Values": [CLAIM]}])
}

/// Returns the value of a resource's tag.
pub(super) fn value<'a>(resource: &'a Value, key: &str) -> Option<&'a str> {
    let tags = resource["Tags"].as_array()?;
    tags.iter().find(|tag| tag["Key"] == key)?["Value"].as_str()
}

/// Whether a resource carries exactly this claim's id. The filter has asked for it already; nothing is removed by the filter's word alone.
pub(super) fn is_of(resource: &Value, claim_id: &str) -> bool {
    value(resource, CLAIM) == Some(claim_id)
}

/// Returns the claim that a resource belongs to; `None`: its tags are not ours.
pub(super) fn claim(resource: &Value) -> Option<Claim> {
    let id = value(resource, CLAIM)?;
    let is_id = id.len() == 32 && id.bytes().all(|b| b.is_ascii_hexdigit());
    is_id.then(|| Claim {
        id: id.to_owned(),
        run: value(resource, RUN).unwrap_or_default().to_owned(),
        deadline: value(resource, DEADLINE).and_then(|d| d.parse().ok()).unwrap_or(0),
    })
}

/// Returns the name of a machine in its claim.
pub(super) fn machine_name(instance: &Value) -> Option<&str> {
    let index = usize::try_from(instance["AmiLaunchIndex"].as_u64().unwrap_or(0)).ok()?;
    launched_with(instance).nth(index)
}

/// Returns the names of all machines that were launched together with this one: they exist, even if EC2 doesn't show each of them yet.
pub(super) fn launched_with(instance: &Value) -> impl Iterator<Item = &str> {
    (0..).map_while(|n| value(instance, &machines_key(n))).flat_map(|names| names.split(' '))
}

#[cfg(test)]
mod tests {
    use super::{CLAIM, claim, is_of, machine_name, of_machines};
    use serde_json::json;

    #[test]
    fn names_of_machines_are_found_by_their_launch_index() {
        let names: Vec<_> = (0..20).map(|n| format!("machine-with-a-long-name-{n}")).collect();
        let tags = of_machines(&names.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(tags.len() > 1, "they don't fit into one tag");
        assert!(tags.iter().all(|tag| tag["Value"].as_str().unwrap().len() <= 256));
        for (index, name) in names.iter().enumerate() {
            let instance = json!({"AmiLaunchIndex": index, "Tags": tags});
            assert_eq!(machine_name(&instance), Some(name.as_str()));
        }
        assert_eq!(machine_name(&json!({"AmiLaunchIndex": 20, "Tags": tags})), None);
    }

    #[test]
    fn only_the_exact_tag_makes_a_resource_ours() {
        let id = "0123456789abcdef0123456789abcdef";
        let with = |key: &str, value: &str| json!({"Tags": [{"Key": key, "Value": value}]});
        assert!(is_of(&with(CLAIM, id), id));
        for other in [
            with("diskproof-claims", id),
            with("Diskproof-Claim", id),
            with(CLAIM, &format!("{id}-2")),
            with("Name", id),
            json!({}),
        ] {
            assert!(!is_of(&other, id), "{other}");
        }
        assert!(claim(&with(CLAIM, "somebody's own use of this key")).is_none());
    }
}
