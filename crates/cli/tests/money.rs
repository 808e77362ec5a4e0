//! `cost` and `choose` from the command line, without root and without a run.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;

use home::Home;

/// The figures of docs/field-cases.md, "The price of a machine".
#[test]
fn cost_computes_without_a_run_and_changes_nothing() {
    let home = Home::new();
    let list = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/prices/2009-three-offers.yaml");
    let answer = home.diskproof(&["cost", list]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    for figure in ["10,512.00", "31,536.00", "5,312.53", "15,937.60", "8,409.60"] {
        assert!(answer.out.contains(figure), "{figure}: {}", answer.out);
    }
    assert!(answer.out.contains("these prices were valid until 2009;"), "{}", answer.out);
    assert!(answer.out.contains("reserved is the cheapest of 4 offers over 3 years"), "{}", answer.out);
    let json = home.diskproof(&["cost", list, "--for", "1y", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(json["format"], "diskproof.cost/1.0");
    assert_eq!(json["offers"][1]["sum"]["total"]["text"], "8579.20");
    let wrong = "prices.yaml";
    home.put(wrong, "offers:\n  x: { per_huor: 1 }\n");
    let refused = home.diskproof(&["cost", wrong]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    assert!(refused.err.starts_with("prices.yaml:2:8: unknown key `per_huor`"), "{}", refused.err);
    let volumes = "volumes.yaml";
    home.put(volumes, "offers: { x: { per_gb_month: 0.1 } }\n");
    let lacking = home.diskproof(&["cost", volumes]);
    assert_eq!(lacking.code, 2, "{}", lacking.out);
    assert!(lacking.err.contains("--size 500g"), "{}", lacking.err);
    assert_eq!(home.diskproof(&["cost", volumes, "--size", "500g"]).code, 0);
    assert!(!home.file("state").exists());
}

#[test]
fn choose_needs_limits_and_a_run() {
    let home = Home::new();
    for args in [&["choose"][..], &["choose", "--want", "iops > 3"], &["choose", "--want", "iops >= 3"]] {
        assert_eq!(home.diskproof(args).code, 2, "{args:?}");
    }
    let refused = home.diskproof(&["choose", "--want", "read_lat_p99 <= 5"]);
    assert!(refused.err.contains("write `5s` for seconds"), "{}", refused.err);
}

#[test]
fn plan_choose_ranks_by_model_and_price_and_measures_nothing() {
    let home = Home::new();
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/cheapest-for-a-target.yaml");
    let answer = home.diskproof(&["plan", file, "--choose", "--want", "iops >= 250"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let text = answer.out.split_whitespace().collect::<Vec<_>>().join(" ");
    let told = "by the model the cheapest that should meet the limits is stripe-of-4 (8.00 EUR a month): iops 313 IOPS; 3 cheaper ones can't.";
    assert!(text.contains(told), "{text}");
    assert!(text.contains("Nothing was measured."), "{text}");
    // without --want: the limits of the experiment, of which the model can't say the percentile
    let own = home.diskproof(&["plan", file, "--choose", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&own.out).unwrap();
    assert_eq!(json["format"], "diskproof.prospect/1.0");
    let four = &json["workloads"][0]["cells"][3];
    assert_eq!((&four["cell"]["stack"], &four["does"]), (&"stripe-of-4".into(), &"open".into()));
    assert_eq!(four["figures"][1]["expected"], serde_json::Value::Null);
    let none = "a.yaml";
    home.put(none, "experiment: a\nvolumes: { v: { directory: /srv } }\nstacks: { s: { on: v } }\nworkloads: { r: { rw: read, size: 64m } }\n");
    let refused = home.diskproof(&["plan", none, "--choose"]);
    assert_eq!(refused.code, 2, "{}", refused.out);
    assert!(refused.err.contains("--want 'iops >= 3000'"), "{}", refused.err);
    assert_eq!(home.diskproof(&["plan", file, "--want", "iops >= 250"]).code, 2, "--want needs --choose");
    assert!(!home.file("state").exists());
}
