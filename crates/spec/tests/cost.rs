//! Price lists: what they cost to the cent, and what is wrong with them, by line.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{CostAsk, LoadError, costs, load};
use record::cost::{Costs, OfferCost};
use std::collections::BTreeMap;
use std::path::Path;

const YEAR: u64 = 8760 * 3600;

fn shipped(name: &str, ask: &CostAsk) -> Costs {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/prices").join(name);
    costs(&path, ask).unwrap_or_else(|error| panic!("{error}"))
}

fn offer<'c>(costs: &'c Costs, name: &str) -> &'c OfferCost {
    costs.offers.iter().find(|offer| offer.offer == name).unwrap()
}

fn written(text: &str, ask: &CostAsk) -> Result<Costs, LoadError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("prices.yaml");
    std::fs::write(&path, text).unwrap();
    costs(&path, ask)
}

/// Field case 7, to the cent.
#[test]
fn three_offers_of_2009_cost_what_was_published() {
    let all = shipped("2009-three-offers.yaml", &CostAsk::default());
    assert_eq!((all.seconds, all.currency.as_deref()), (3 * YEAR, Some("USD")), "the longest term");
    let year = |name: &str| offer(&all, name).sum.per_year.text.clone();
    let total = |name: &str| offer(&all, name).sum.total.text.clone();
    assert_eq!((year("on-demand"), total("on-demand")), ("10512.00".to_owned(), "31536.00".to_owned()));
    // Published as 5,312.54, as if a third of 4,900 were rounded up. The exact sum is a third of a cent above 5,312.53.
    assert_eq!((year("reserved"), total("reserved")), ("5312.53".to_owned(), "15937.60".to_owned()));
    assert_eq!(year("a-la-carte"), "8409.60");
    assert_eq!(year("a-la-carte-with-network"), "15417.60", "4 x 0.20 an hour more");
    let parts: Vec<(&str, &str)> = offer(&all, "reserved")
        .parts
        .iter()
        .map(|part| (part.key.as_str(), part.cost.per_year.text.as_str()))
        .collect();
    assert_eq!(parts, [("upfront", "1633.33"), ("per_hour", "3679.20")]);
    let for_a_year =
        shipped("2009-three-offers.yaml", &CostAsk { seconds: Some(YEAR), ..CostAsk::default() });
    assert_eq!(offer(&for_a_year, "reserved").sum.total.text, "8579.20");
    assert!(all.list.is_past("2010-01-01") && !all.list.is_past("2009-12-31"));
}

#[test]
fn provisioned_volumes_cost_what_is_beyond_their_allowance() {
    let ask = CostAsk {
        seconds: None,
        size_bytes: Some(500 << 30),
        iops: Some(4000),
        throughput_bps: Some(250 << 20),
    };
    let all = shipped("2021-cloud-volumes.yaml", &ask);
    let parts = |name: &str| -> Vec<String> {
        let offer = offer(&all, name);
        offer.parts.iter().map(|part| format!("{} {}", part.text, part.cost.per_month.text)).collect()
    };
    assert_eq!(parts("gp2"), ["500 GB 50.00"]);
    assert_eq!(parts("gp3"), ["500 GB 40.00", "4000 IOPS 5.00", "250 MB/s 5.00"]);
    assert_eq!((all.left_out.len(), all.seconds), (0, YEAR));
    let lacking = shipped("2021-cloud-volumes.yaml", &CostAsk::default());
    assert_eq!((lacking.offers.len(), lacking.left_out.len()), (0, 2));
    assert!(lacking.left_out[0].text.contains("--size 500g"), "{:?}", lacking.left_out);
}

#[test]
fn what_is_wrong_is_told_with_its_line() {
    let refusal = |text: &str| written(text, &CostAsk::default()).unwrap_err().to_string();
    for (offers, told) in [
        ("x: { per_huor: 1 }", "did you mean `per_hour`"),
        ("x: { per_hour: 1e3 }", "not an amount of money"),
        ("x: { per_hour: -1 }", "not an amount of money"),
        ("x: { billed_by: second }", "offer `x` has no price"),
        ("x: { upfront: 100 }", "`upfront` and no `term`"),
        ("x: { per_hour: 1, term: 3y }", "`term` has nothing to spread"),
        ("x: { upfront: 100, term: 3 }", "no unit of time"),
        ("x: { per_hour: { free: 3, price: 1 } }", "counts nothing"),
        ("x: { per_iops_month: [ { up_to: 3000, price: 0 } ] }", "the last tier ends"),
        ("x: { per_iops_month: [ { price: 0 }, { price: 1 } ] }", "no end"),
        (
            "x: { per_iops_month: [ { up_to: 9, price: 0 }, { up_to: 9, price: 1 }, { price: 2 } ] }",
            "rising order",
        ),
        ("x: { per_iops_month: { free: 3k, price: 1 } }", "not a plain number"),
        ("x: { per_hour: 1, billed_by: day }", "not known here"),
        ("x: { per_hour: 1, discounts: [ { from: 500, off: 110% } ] }", "out of range"),
        ("x: { per_hour: 1, usage: { count: 0 } }", "out of range"),
        ("X Y: { per_hour: 1 }", "an offer"),
    ] {
        let refused = refusal(&format!("offers:\n  {offers}\n"));
        assert!(refused.contains(told) && refused.contains("prices.yaml:2:"), "{offers}: {refused}");
    }
    assert!(refusal("date: 2009-02-30\noffers: { x: { per_hour: 1 } }\n").contains("not a date"));
    assert!(refusal("offers: {}\n").contains("there are no offers"));
    assert!(refusal("experiment: demo\nvolumes: {}\n").contains("no price list"));
}

#[test]
fn what_is_no_price_list_is_refused_and_nothing_panics() {
    let ask = CostAsk {
        seconds: Some(u64::MAX),
        size_bytes: Some(u64::MAX),
        iops: Some(u64::MAX),
        throughput_bps: None,
    };
    let nines = "9".repeat(30);
    for text in [
        String::new(),
        "# nothing\n".to_owned(),
        "[]".to_owned(),
        "offers: [a, b]".to_owned(),
        "offers: { x: 3 }".to_owned(),
        "offers: { x: { per_gb_month: [ { up_to: [], price: {} } ] } }".to_owned(),
        "experiment: x\nprices: 7\n".to_owned(),
        "experiment: x\nprices: .\n".to_owned(),
        format!("{}1{}", "[".repeat(500), "]".repeat(500)),
    ] {
        assert!(written(&text, &ask).is_err(), "{text}");
    }
    let huge = format!(
        "offers: {{ x: {{ per_hour: {nines}, per_gb_month: {nines}, upfront: {nines}, term: 1s }} }}"
    );
    let costs = written(&huge, &ask).unwrap();
    assert_eq!(costs.left_out[0].text, "its price is out of range");
    let folder = tempfile::tempdir().unwrap();
    let refused = diskproof_spec::costs(folder.path(), &ask).unwrap_err();
    assert!(matches!(refused, LoadError::Io { .. }), "{refused}");
    std::fs::write(folder.path().join("bytes"), b"offers: \xff").unwrap();
    assert!(diskproof_spec::costs(&folder.path().join("bytes"), &ask).is_err());
}

/// An experiment with a price list: the volumes take what they declare, or what `usage` says.
#[test]
fn volumes_cost_what_their_offer_says() {
    let folder = tempfile::tempdir().unwrap();
    let list = "currency: EUR\ndate: 2026-01-01\nvalid_until: 2026-06-30\noffers:\n  \
                general: { per_gb_month: 0.08, per_iops_month: { free: 3000, price: 0.005 } }\n";
    std::fs::write(folder.path().join("prices.yaml"), list).unwrap();
    let experiment = |price: &str, prices: &str| {
        format!(
            "experiment: demo\nprices: {prices}\n\
             volumes: {{ vol: {{ count: 2, emulate: {{ size: 1g, iops: 80 }}, price: {price} }} }}\n\
             stacks: {{ s: {{ on: vol, layers: [ btrfs: {{ data: raid0 }} ] }} }}\n\
             workloads: {{ w: {{ rw: randread, bs: 4k, size: 64m }} }}\n\
             derive: {{ per_year: iops / (price_per_month * 12) }}\n"
        )
    };
    let loaded = |price: &str, prices: &str| {
        let path = folder.path().join("experiment.yaml");
        std::fs::write(&path, experiment(price, prices)).unwrap();
        load(&path, &BTreeMap::new())
    };
    let month = |price: &str| {
        let plan = loaded(price, "prices.yaml").unwrap_or_else(|error| panic!("{error}")).plan;
        (plan.prices.per_hour["vol[1]"] * 730.0 * 100.0).round() / 100.0
    };
    assert_eq!(month("general"), 0.08, "1 GB, and 80 of 3000 free IOPS");
    assert_eq!(month("{ offer: general, usage: { size: 500g, iops: 4000 } }"), 45.0);
    let plan = loaded("general", "prices.yaml").unwrap().plan;
    assert_eq!(plan.prices.currency.as_deref(), Some("EUR"));
    assert_eq!(plan.prices.list.unwrap().valid_until.as_deref(), Some("2026-06-30"));
    let refusal = |price: &str, prices: &str| loaded(price, prices).unwrap_err().to_string();
    assert!(refusal("genral", "prices.yaml").contains("did you mean `general`"));
    assert!(refusal("general", "none.yaml").contains("can't read the price list"));
    assert!(
        refusal("general", "{ offers: { general: { per_cpu_hour: 1 } } }").contains("usage: { cpus: 2 }")
    );
    assert!(
        refusal("general", "{ offers: { general: { per_huor: 1 } } }").contains("did you mean `per_hour`")
    );
    std::fs::write(folder.path().join("prices.yaml"), "offers:\n  general: { per_gb: 1 }\n").unwrap();
    let elsewhere = refusal("general", "prices.yaml");
    assert!(elsewhere.contains("prices.yaml:2:14: unknown key `per_gb`"), "{elsewhere}");
    assert!(elsewhere.contains("write `per_gb_month`"), "{elsewhere}");
}
