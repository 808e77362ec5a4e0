//! Tests that docs/metrics.md documents everything that this crate can report.

use crate::testing;
use record::finding::Claim;
use record::lvm_cache::{CacheRecord, Flushed};
use record::metric::{METRICS, MetricOf, PRICE_PER_JOB};
use record::stack::BtrfsProfile;
use record::trial::GeneratorCost;
use std::collections::BTreeSet;

fn metrics_md() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    std::fs::read_to_string(path).unwrap()
}

/// The row of docs/metrics.md that describes a metric: families of names share one.
fn row_of<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let family = match name {
        n if n.starts_with("sync_lat_p") => "`sync_lat_p50`",
        n if n.starts_with("durable_lat_p") => "`durable_lat_p50`",
        n if n.starts_with("sync_lat") || n.starts_with("durable_lat") => &format!("`{n}`"),
        n if n.contains("_lat_p") => "`read_lat_p50`",
        n if n.ends_with("_lat_max") => "`…_lat_max`",
        n if n.ends_with("_cpu") && n != "engine_cpu" => "`…_cpu`",
        n => &format!("`{n}`"),
    };
    text.lines().find(|line| {
        line.starts_with('|') && line.split('|').nth(1).is_some_and(|names| names.contains(family))
    })
}

#[test]
fn every_metric_is_documented_with_its_unit() {
    let text = metrics_md();
    for metric in METRICS {
        let row = row_of(&text, metric.name).unwrap_or_else(|| panic!("{} has no row", metric.name));
        assert_eq!(row.split('|').nth(2).map(str::trim), Some(metric.unit), "{row}");
    }
}

#[test]
fn every_metric_of_a_trial_is_registered() {
    let mut load = testing::engine();
    let totals = || Some(testing::totals(5000, 4096));
    (load.read, load.write, load.trim) = (totals(), totals(), totals());
    let waits = record::latency::Latencies {
        count: 5000,
        mean_ns: None,
        max_ns: Some(9_000_000),
        histogram: testing::totals(5000, 4096).latency,
    };
    (load.sync, load.durable) = (Some(waits.clone()), Some(waits));
    load.generator = Some(GeneratorCost {
        busiest_thread_seconds: Some(1.0),
        cpu_ns_per_io: Some(1.0),
        user_instructions_per_io: Some(1.0),
        ..GeneratorCost::default()
    });
    let mut copy = testing::engine();
    copy.window = record::trial::Window { start_ns: 0, end_ns: 1_000_000_000 };
    copy.copied = Some(record::copy::Copied {
        files: 1,
        logical_bytes: 1,
        allocated_bytes: Some(1),
        extents: Some(record::copy::Extents { uncompressed_bytes: 1, disk_bytes: 1 }),
        ..record::copy::Copied::default()
    });
    let mut trial =
        testing::Truth::new(record::workload::Rw::Read, 4096, true, testing::btrfs(BtrfsProfile::Single), 1)
            .trial;
    let flushed = Some(Flushed { owed_bytes: Some(1), seconds: 1.0, compared_bytes: None });
    trial.caches = vec![CacheRecord { volume: "g-data".to_owned(), before: None, after: None, flushed }];
    let all = [load.metrics(), copy.metrics(), trial.metrics()];
    let given: BTreeSet<&str> = all.iter().flat_map(|metrics| metrics.keys().map(String::as_str)).collect();
    let registered = |bonnie| -> BTreeSet<&str> {
        METRICS.iter().filter(|m| (m.of == MetricOf::Bonnie) == bonnie).map(|m| m.name).collect()
    };
    // Bonnie++'s come from its own output; crates/engine checks their names. A price comes from a plan with prices.
    let given = given.into_iter().chain([PRICE_PER_JOB]).collect();
    assert_eq!(registered(false), given);
    assert_eq!(registered(true).len(), 36);
}

#[test]
fn every_claim_is_documented() {
    let text = metrics_md();
    let schema = serde_json::to_value(schemars::schema_for!(Claim)).unwrap();
    let claims: Vec<&str> =
        schema["oneOf"].as_array().unwrap().iter().filter_map(|c| c["const"].as_str()).collect();
    assert!(claims.len() >= 33, "{claims:?}");
    for claim in claims {
        assert!(text.contains(&format!("| `{claim}` |")), "{claim}");
    }
}
