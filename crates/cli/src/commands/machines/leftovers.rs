//! `diskproof machines leftovers`: what runs left at providers.

use crate::args::JsonOnly;
use crate::commands::created::{day, files, now};
use crate::commands::driver::places;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use driver::journal::Journal;
use driver::protocol::ResourceKind;
use fleet::created::Leftover;
use report::money;

/// Hours of a day.
const HOURS: f64 = 24.0;

pub(super) fn leftovers(args: &JsonOnly, settings: &Settings) -> Result<Exit, Failure> {
    let journal = Journal::of(&settings.state.value);
    let (found, failed) = fleet::created::leftovers(&journal, &places(settings)?, &files(settings)?);
    failed.iter().for_each(|why| output::aside(&format!("warning: {why}")));
    if args.json {
        let list: Vec<_> = found.iter().map(document).collect();
        output::json(&serde_json::to_string_pretty(&list).map_err(Failure::ours)?)?;
    } else if found.is_empty() {
        output::answer("nothing")?;
    } else {
        let mut rows = vec![
            ["driver", "what", "name", "id", "run", "until (UTC)", "per day", "state"].map(str::to_owned),
        ];
        rows.extend(found.iter().map(row));
        output::answer(&output::columns(&rows))?;
        if found.iter().any(|one| one.known && !one.in_use) {
            output::aside("`diskproof undo --all` destroys those of this machine");
        }
    }
    Ok(if failed.is_empty() { Exit::Fine } else { Exit::Machine })
}

fn row(one: &Leftover) -> [String; 8] {
    let (resource, claim) = (&one.listed.resource, &one.listed.claim);
    let price = one.listed.price.as_ref();
    let price =
        price.map_or_else(|| "?".to_owned(), |price| money(price.per_hour * HOURS, Some(&price.currency)));
    let late = claim.deadline < now();
    let state = match (one.in_use, one.known) {
        (true, _) => "in use",
        (false, true) if late => "of this machine, past its deadline",
        (false, true) => "of this machine",
        (false, false) if late => "of another machine, past its deadline",
        (false, false) => "of another machine",
    };
    [
        one.driver.clone(),
        kind(resource.kind).to_owned(),
        resource.name.clone(),
        resource.id.clone(),
        claim.run.clone(),
        day(claim.deadline),
        price,
        state.to_owned(),
    ]
}

fn kind(kind: ResourceKind) -> &'static str {
    match kind {
        ResourceKind::Machine => "machine",
        ResourceKind::Volume => "volume",
        ResourceKind::Address => "address",
        ResourceKind::Key => "key",
        ResourceKind::Rule => "rule",
        ResourceKind::Image => "image",
    }
}

fn document(one: &Leftover) -> serde_json::Value {
    serde_json::json!({
        "driver": one.driver,
        "resource": one.listed,
        "known": one.known,
        "in_use": one.in_use,
        "per_day": one.listed.price.as_ref().map(|price| price.per_hour * HOURS),
        "currency": one.listed.price.as_ref().map(|price| &price.currency),
    })
}
