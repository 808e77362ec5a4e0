//! Checks the Cargo.toml files against the table of allowed imports, which is that of docs/architecture.md.

use crate::Complaints;
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A crate and the crates it may import. `testkit` is for tests only, so nobody may import it except as a dev-dependency.
const CRATES: &[(&str, &[&str])] = &[
    ("record", &[]),
    ("spec", &["record"]),
    ("import", &["record"]),
    ("stats", &[]),
    ("host", &["record"]),
    ("observe", &["record"]),
    ("device", &["record", "host"]),
    ("stack", &["record", "spec", "host", "device"]),
    ("engine", &["record", "spec", "host", "device"]),
    ("run", &["record", "spec", "stats", "host", "observe", "device", "stack", "engine"]),
    ("store", &["record"]),
    ("share", &["record", "host", "store"]),
    ("lab", &["record", "host"]),
    ("verdict", &["record", "stats"]),
    ("report", &["record", "stats"]),
    ("page", &["record", "report"]),
    ("driver", &["record", "host"]),
    ("fleet", &["record", "spec", "host", "lab", "run", "driver"]),
    (
        "cli",
        &[
            "record", "spec", "stats", "host", "observe", "device", "stack", "engine", "run", "store", "lab",
            "driver", "fleet", "share", "verdict", "report", "import", "page",
        ],
    ),
    ("testkit", &["record", "host", "device", "stack"]),
    ("xtask", &[]),
];

/// `cargo metadata` of the workspace, without dependencies' own metadata.
pub(crate) fn metadata(root: &Path) -> Result<Value, String> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--format-version", "1", "--locked", "--offline"])
        .current_dir(root)
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|e| format!("cargo metadata: {e}"))
}

/// Every import that the table doesn't allow, and every crate that isn't in it.
pub(crate) fn check(metadata: &Value) -> Result<Complaints, String> {
    let packages = metadata["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let mut complaints = Vec::new();
    for package in packages {
        let name = package["name"].as_str().ok_or("a package has no name")?;
        let importer = short(name);
        let Some((_, allowed)) = CRATES.iter().find(|(known, _)| *known == importer) else {
            complaints.push(format!("crates/{importer}: no such crate in xtask/src/dependencies.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().into_iter().flatten() {
            let is_ours = !dependency["path"].is_null();
            let is_dev = dependency["kind"] == "dev";
            let imported = short(dependency["name"].as_str().unwrap_or_default());
            if is_ours && !is_dev && !allowed.contains(&imported) {
                complaints
                    .push(format!("{importer} may not import {imported} (allowed: {})", allowed.join(", ")));
            }
        }
    }
    Ok(complaints)
}

/// A package's name in the docs: `diskproof-device` is `device`, `diskproof` itself is `cli`.
fn short(package: &str) -> &str {
    if package == "diskproof" { "cli" } else { package.strip_prefix("diskproof-").unwrap_or(package) }
}

#[cfg(test)]
mod tests {
    use super::{CRATES, check};
    use serde_json::json;

    fn with(importer: &str, imported: &str, kind: Option<&str>) -> Vec<String> {
        let metadata = json!({"packages": [{
            "name": importer,
            "dependencies": [{"name": imported, "path": "/somewhere", "kind": kind}],
        }]});
        check(&metadata).unwrap()
    }

    #[test]
    fn report_cannot_judge() {
        let complaints = with("diskproof-report", "diskproof-verdict", None);
        assert_eq!(complaints, ["report may not import verdict (allowed: record, stats)"]);
    }

    #[test]
    fn run_does_not_know_the_store() {
        assert_eq!(with("diskproof-run", "diskproof-store", None).len(), 1);
        assert_eq!(with("diskproof-run", "diskproof-engine", None), Vec::<String>::new());
    }

    #[test]
    fn testkit_is_for_tests_only() {
        assert_eq!(with("diskproof-device", "diskproof-testkit", Some("dev")), Vec::<String>::new());
        assert_eq!(with("diskproof-device", "diskproof-testkit", None).len(), 1);
    }

    #[test]
    fn an_unknown_room_is_named() {
        assert_eq!(
            with("diskproof-common", "serde", None)[0],
            "crates/common: no such crate in xtask/src/dependencies.rs"
        );
    }

    #[test]
    fn the_table_has_no_cycle() {
        let position = |name: &str| CRATES.iter().position(|(known, _)| *known == name).unwrap();
        for (importer, imports) in CRATES {
            for import in *imports {
                assert!(
                    position(import) < position(importer),
                    "{importer} imports {import}, which stands below it"
                );
            }
        }
    }
}
