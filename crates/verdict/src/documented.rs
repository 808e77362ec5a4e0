//! Tests that docs/metrics.md documents everything that this crate can report.

use crate::testing;
use record::finding::Claim;
use record::lvm_cache::{CacheRecord, Flushed};
use record::stack::BtrfsProfile;
use record::trial::GeneratorCost;

fn metrics_md() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn every_metric_is_documented() {
    let text = metrics_md();
    let mut engine = testing::engine();
    let totals = || Some(testing::totals(5000, 4096));
    (engine.read, engine.write, engine.trim) = (totals(), totals(), totals());
    engine.generator = Some(GeneratorCost {
        busiest_thread_seconds: Some(1.0),
        cpu_ns_per_io: Some(1.0),
        user_instructions_per_io: Some(1.0),
        ..GeneratorCost::default()
    });
    let mut names = engine.metrics();
    assert_eq!(names.len(), 24, "{names:?}");
    let mut trial =
        testing::Truth::new(record::workload::Rw::Read, 4096, true, testing::btrfs(BtrfsProfile::Single), 1)
            .trial;
    let flushed = Some(Flushed { owed_bytes: Some(1), seconds: 1.0, compared_bytes: None });
    trial.caches = vec![CacheRecord { volume: "g-data".to_owned(), before: None, after: None, flushed }];
    names.extend(trial.metrics());
    assert!(names.contains_key("flush_seconds") && names.contains_key("owed_bytes"), "{names:?}");
    for name in names.keys().filter(|n| !n.contains("_lat_p") || *n == "read_lat_p50") {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
}

#[test]
fn every_metric_of_copies_and_of_bonnie_is_documented() {
    let text = metrics_md();
    let mut engine = testing::engine();
    engine.window = record::trial::Window { start_ns: 0, end_ns: 1_000_000_000 };
    engine.copied = Some(record::copy::Copied {
        files: 1,
        logical_bytes: 1,
        allocated_bytes: Some(1),
        extents: Some(record::copy::Extents { uncompressed_bytes: 1, disk_bytes: 1 }),
        ..record::copy::Copied::default()
    });
    let names = engine.metrics();
    assert!(names.len() >= 8, "{names:?}");
    for name in names.keys() {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
    for name in ["char_output_bw", "seeks", "seq_stat", "random_delete", "rewrite_bw"] {
        assert!(text.contains(&format!("`{name}`")), "{name}");
    }
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
