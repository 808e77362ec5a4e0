//! Every file in tests/experiments/valid gives exactly the plan beside it. After an intended change, `UPDATE=1 cargo test -p
//! diskproof-spec --test valid` writes new plans: read the difference.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{forecast, load};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/experiments/valid")
}

/// The plan without the file's text, its notes and its forecast, as readable JSON.
fn summary(path: &Path) -> String {
    let loaded =
        load(path, &BTreeMap::new()).unwrap_or_else(|error| panic!("{}:\n{error}", path.to_string_lossy()));
    let mut plan = serde_json::to_value(&loaded.plan).unwrap();
    plan.as_object_mut().unwrap().remove("source");
    let forecast = forecast(&loaded.plan);
    let whole = serde_json::json!({
        "plan": plan,
        "notes": loaded.notes,
        "forecast": {
            "trials": forecast.trials,
            "seconds": forecast.seconds.round(),
            "bytes_written": forecast.bytes_written,
            "space_bytes": forecast.space_bytes,
            "needs_root": forecast.needs_root,
            "needs_tools": forecast.needs_tools,
        },
    });
    let folder = folder().to_string_lossy().into_owned();
    format!("{:#}\n", sorted(whole)).replace(&folder, "")
}

/// Sorts keys by their bytes, regardless of the features of serde_json.
fn sorted(value: serde_json::Value) -> serde_json::Value {
    match value {
        serde_json::Value::Object(map) => {
            let ordered: BTreeMap<String, serde_json::Value> =
                map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            ordered.into_iter().collect::<serde_json::Map<_, _>>().into()
        }
        serde_json::Value::Array(items) => items.into_iter().map(sorted).collect::<Vec<_>>().into(),
        other => other,
    }
}

#[test]
fn every_valid_file_gives_its_plan() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= 4, "only {} files", files.len());
    for file in files {
        let got = summary(&file);
        let beside = file.with_extension("json");
        if update {
            fs::write(&beside, &got).unwrap();
        } else {
            let expected = fs::read_to_string(&beside).unwrap_or_default();
            assert!(expected == got, "{} differs; now:\n{got}", beside.to_string_lossy());
        }
    }
}
