use super::{budget, usable};
use driver::Program;
use driver::journal::Entry;
use driver::protocol::{Capabilities, Claim, MachineRequest, Offer};
use fleet::created::Group;
use record::plan::Plan;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::Path;

fn machine(kind: &str) -> MachineRequest {
    let settings = json!({ "type": kind }).as_object().cloned().unwrap();
    MachineRequest { name: "a".to_owned(), settings, volumes: Vec::new() }
}

/// A machine of 3.60 a started hour.
fn group(kind: &str, currency: Option<&str>) -> Group {
    let price = currency.map(
        |currency| json!({ "per_hour": 3.6, "currency": currency, "unit_seconds": 3600, "least_seconds": 0 }),
    );
    let offer: Offer = serde_json::from_value(json!({ "price": price, "volumes": [] })).unwrap();
    Group {
        program: Program { name: "d".to_owned(), path: "/d".into(), args: Vec::new() },
        capabilities: Capabilities {
            protocol: "1.0".to_owned(),
            name: "d".to_owned(),
            about: "a".to_owned(),
            settings: BTreeMap::new(),
            volume_settings: BTreeMap::new(),
            secrets: Vec::new(),
            enforces_deadline: false,
        },
        targets: vec!["a".to_owned()],
        machines: vec![machine(kind)],
        offers: vec![offer],
    }
}

fn entry(deadline: u64) -> Entry {
    let claim = Claim { id: "aa".to_owned(), run: "r1".to_owned(), deadline };
    let mut entry = Entry::new(claim, "e", "d", vec![machine("small")], 5);
    entry.targets = vec!["a".to_owned()];
    entry
}

#[test]
fn only_the_machines_that_the_plan_asks_for_are_used_and_only_in_time() {
    let existing = entry(1000);
    let small = group("small", None);
    assert!(usable(&[&existing], std::slice::from_ref(&small), 999).is_ok());
    assert!(usable(&[], std::slice::from_ref(&small), 999).is_ok(), "none is there, so all are created");
    for (groups, until, part) in [
        (vec![group("large", None)], 999, "other settings"),
        (vec![small.clone(), group("large", None)], 999, "other settings"),
        (vec![small], 1001, "before the trials would"),
    ] {
        let said = usable(&[&existing], &groups, until).unwrap_err().to_string();
        assert!(said.contains(part) && said.contains("diskproof undo r1"), "{said}");
    }
}

fn plan(price: &str, budget: &str) -> Plan {
    let text = format!(
        "experiment: demo\ncurrency: EUR\ntargets: {{ a: {{ driver: d, {price} volumes: {{ v: {{ size: 1g }} }} }} }}\n\
         stacks: {{ s: {{ on: v }} }}\nworkloads: {{ w: {{ rw: read, bs: 4k, size: 64m }} }}\n\
         measure: {{ trial: 60s, rounds: 100, budget: {{ money: {budget} }} }}\n"
    );
    spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new()).unwrap().plan
}

fn said(price: &str, budget: &str, group: Group) -> String {
    let plan = plan(price, budget);
    let bill = budget::cost(&plan, &[group]);
    budget::within(&plan, bill.as_ref()).map_or_else(|failure| failure.to_string(), |()| "fits".to_owned())
}

#[test]
fn a_budget_sees_all_rounds_all_prices_and_one_currency() {
    // 100 rounds of a minute and their overhead are more than one hour; a forecast that the budget cuts would hide that.
    let eur = || group("small", Some("EUR"));
    let refused = said("", "5", eur());
    assert!(refused.contains("would cost") && !refused.contains("cost 3.60"), "{refused}");
    assert_eq!(said("", "50", eur()), "fits");
    let unpriced = said("", "50", group("small", None));
    assert!(unpriced.contains("1 of the machines and volumes have no price"), "{unpriced}");
    assert_eq!(said("price: 2/hour,", "50", group("small", None)), "fits");
    assert!(said("price: 2/hour,", "1", group("small", None)).contains("would cost"));
    assert!(said("", "50", group("small", Some("USD"))).contains("several currencies"));
}

#[test]
fn a_run_that_goes_on_pays_its_earlier_sessions_too() {
    let plan = plan("", "50");
    let cost = |earlier| budget::cost_again(&plan, &[group("small", Some("EUR"))], earlier).unwrap().amount;
    assert!(cost(1800.0) >= cost(0.0) + 3.5, "a started hour more: {} and {}", cost(0.0), cost(1800.0));
}
