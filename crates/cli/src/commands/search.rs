//! `diskproof search ADDRESS`: runs of a registry or a bucket that fit.

use super::judged::unreadable;
use super::share::{failure, options_of};
use super::show::{find, open_existing};
use crate::args::Search;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use share::Place;
use share::anonymise::{self, Machine};
use share::search::{Listed, fits, list};
use std::collections::{BTreeMap, BTreeSet};

/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.search/1.0";
/// Facts in which two runs must be alike for their figures to be comparable.
const ALIKE: [&str; 4] = ["device", "stacks", "workloads", "virtualization"];

/// A run that fits, and what differs from the user's own.
struct Found {
    listed: Listed,
    differs: Vec<&'static str>,
}

pub(crate) fn search(args: &Search, settings: &Settings) -> Result<Exit, Failure> {
    let address = Place::parse(&args.at).map_err(failure)?.of_many();
    let own = args.like.as_deref().map(|name| own_facts(name, settings)).transpose()?;
    let options = options_of(&args.place, settings)?;
    let listing = list(&address, &options.registry, &options.bucket).map_err(failure)?;
    let patterns = [("device", &args.device), ("stacks", &args.stack), ("workloads", &args.workload)];
    let wanted = |run: &Listed| {
        patterns.iter().all(|(fact, pattern)| {
            let fact = run.facts.get(*fact).map_or("", String::as_str);
            pattern.as_deref().is_none_or(|pattern| fits(pattern, fact))
        })
    };
    let count = listing.runs.len();
    let found: Vec<Found> = listing
        .runs
        .into_iter()
        .filter(wanted)
        .map(|listed| Found {
            differs: own.as_ref().map(|own| differences(own, &listed)).unwrap_or_default(),
            listed,
        })
        .collect();
    if args.json {
        output::json(&document(&address.to_string(), &found, own.is_some())?)?;
    } else if found.is_empty() {
        output::aside(&format!("none of {count} runs in {address} fits"));
    } else {
        output::answer(&table(&found, own.is_some()))?;
        output::answer(&format!("`diskproof pull {}` fetches one\n", address.of_each("TAG")))?;
    }
    if listing.others > 0 {
        output::aside(&format!("left out: {} tags or folders that are no runs of diskproof", listing.others));
    }
    Ok(Exit::Fine)
}

/// The facts of a run of this store as they are, and as a push writes them: with pseudonyms.
struct Own([BTreeMap<String, String>; 2]);

fn own_facts(name: &str, settings: &Settings) -> Result<Own, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, name)?;
    let head = store.head(&run).map_err(unreadable)?;
    let facts = share::facts(&head.plan, &head.volumes, &head.environment);
    let names = anonymise::find(&store, &run, &Machine::here(), &BTreeSet::new()).map_err(failure)?;
    let hidden = |(name, fact): (&String, &String)| {
        (name.clone(), names.rewrite(fact).unwrap_or_else(|| fact.clone()))
    };
    let hidden = facts.iter().map(hidden).collect();
    Ok(Own([facts, hidden]))
}

/// The facts that aren't the same. One that is known of neither run is no difference; one that is known of one alone is.
fn differences(Own(own): &Own, listed: &Listed) -> Vec<&'static str> {
    let differs = |fact: &&str| own.iter().all(|own| own.get(*fact) != listed.facts.get(*fact));
    ALIKE.into_iter().filter(differs).collect()
}

fn table(found: &[Found], compared: bool) -> String {
    let last = if compared { "against yours" } else { "" };
    let mut rows = vec![["tag", "device", "stacks", "workloads", last].map(str::to_owned)];
    for Found { listed, differs } in found {
        let fact = |name: &str| listed.facts.get(name).map_or_else(|| "?".to_owned(), |fact| cut(fact));
        let against = match (compared, differs.as_slice()) {
            (false, _) => String::new(),
            (true, []) if !listed.facts.contains_key("device") => {
                "alike, but no device is recorded".to_owned()
            }
            (true, []) => "alike".to_owned(),
            (true, differs) => format!("not comparable: other {}", differs.join(", ")),
        };
        rows.push([
            listed.tag.shown().to_string(),
            fact("device"),
            fact("stacks"),
            fact("workloads"),
            against,
        ]);
    }
    output::columns(&rows)
}

/// As much of a fact as a column has room for.
fn cut(fact: &str) -> String {
    const COLUMN: usize = 32;
    if fact.chars().count() <= COLUMN {
        return fact.shown().to_string();
    }
    let beginning: String = fact.chars().take(COLUMN - 3).collect();
    format!("{}...", beginning.shown())
}

fn document(address: &str, found: &[Found], compared: bool) -> Result<String, Failure> {
    let run = |found: &Found| {
        serde_json::json!({
            "tag": found.listed.tag,
            "facts": found.listed.facts,
            "differs": compared.then_some(&found.differs),
        })
    };
    let runs: Vec<_> = found.iter().map(run).collect();
    let document = serde_json::json!({ "format": FORMAT, "address": address, "runs": runs });
    serde_json::to_string_pretty(&document).map_err(Failure::ours)
}

#[cfg(test)]
mod tests {
    use super::{Own, differences, table};
    use share::search::Listed;
    use std::collections::BTreeMap;

    #[test]
    fn unlike_runs_are_named_by_their_difference() {
        let facts = |device: &str| {
            let all = [("device", device), ("stacks", "xfs"), ("kernel", "6.1")];
            all.map(|(name, fact)| (name.to_owned(), fact.to_owned())).into_iter().collect::<BTreeMap<_, _>>()
        };
        let own = Own([facts("A"), facts("serial-1")]);
        let found = ["A", "B", "serial-1"].map(|device| {
            let listed = Listed { tag: device.to_lowercase(), facts: facts(device) };
            super::Found { differs: differences(&own, &listed), listed }
        });
        let text = table(&found, true);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].starts_with('a') && lines[1].ends_with("alike"), "{text}");
        assert!(lines[2].ends_with("not comparable: other device"), "{text}");
        assert!(lines[3].ends_with("alike"), "a push replaced its name: {text}");
    }
}
