//! The driver keeps the rules of the protocol that `diskproof driver check` checks.

use crate::cases::settings;
use crate::rig::{Project, as_script};
use diskproof_driver::Program;
use diskproof_driver::conformance::{Kept, News, Rule, Subject, check};
use diskproof_driver::protocol::{MachineRequest, VolumeRequest};
use serde_json::json;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

#[test]
fn the_rules_of_the_protocol_are_kept() {
    let project = Project::new(&json!({"operation": 0.1}));
    let folder = tempfile::tempdir().unwrap();
    let path = as_script(folder.path());
    let volumes = json!([
        {"name": "gp", "size_bytes": 20_u64 << 30, "settings": {"type": "pd-ssd"}},
        {"name": "near", "settings": {"type": "local-ssd"}},
    ]);
    let subject = Subject {
        program: &Program { name: "gce".to_owned(), path, args: Vec::new() },
        machine: MachineRequest {
            name: "m".to_owned(),
            settings: settings(&project).as_object().unwrap().clone(),
            volumes: serde_json::from_value::<Vec<VolumeRequest>>(volumes).unwrap(),
        },
        claims: ["a", "b", "c"].map(|digit| digit.repeat(32)),
        limit: Duration::from_secs(60),
        deadline: 4_000_000_000,
        cancel: &AtomicBool::new(false),
        locks: [None; 3],
    };
    let mut rules: Vec<Rule> = Vec::new();
    let left = check(&subject, &mut |news| {
        if let News::Rule(rule) = news {
            rules.push(rule.clone());
        }
    });
    let broken: Vec<_> = rules.iter().filter(|rule| matches!(rule.kept, Kept::No(_))).collect();
    assert!(broken.is_empty() && left.is_empty(), "{broken:#?}\n{left:#?}");
    let kept = rules.iter().filter(|rule| rule.kept == Kept::Yes).count();
    assert!(kept >= 16, "{rules:#?}");
    // A driver that is killed while its curl starts no longer holds the body for it: the API refuses the request.
    let verdict = project.verdict();
    assert_eq!((&verdict["ours"], &verdict["foreign_changed"]), (&json!([]), &json!([])), "{verdict:#}");
}
