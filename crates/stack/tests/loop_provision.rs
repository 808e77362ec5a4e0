//! Playbooks and manifests that really run; they touch only files in a folder of the test.

#![allow(clippy::unwrap_used, reason = "a test that can't go on panics")]

use device::Roots;
use diskproof_stack::{Machine, NoHooks, ProvisionError, Provisioning, provision};
use host::LocalRunner;
use record::provision::{ProvisionStep, Provisioned, Provisioner};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use testkit::exclusive;

const PLAYBOOK: &str = "
- hosts: localhost
  gather_facts: false
  tasks:
    - copy: { dest: '{{ dir }}/ansible.conf', content: 'depth {{ depth }}' }
";
const MANIFEST: &str = r#"
file { "${facts['dir']}/puppet.conf": content => "depth ${facts['depth']}" }
file { "${facts['dir']}/more.conf": content => 'more' }
"#;

fn step(by: Provisioner, path: &str, text: &str, dir: &Path) -> ProvisionStep {
    let vars = [("dir", dir.to_string_lossy().into_owned()), ("depth", "64".to_owned())];
    ProvisionStep {
        by,
        path: path.to_owned(),
        text: text.to_owned(),
        args: Vec::new(),
        vars: vars.map(|(name, value)| (name.to_owned(), value)).into_iter().collect::<BTreeMap<_, _>>(),
        target: None,
        digest: text.to_owned(),
    }
}

fn carry_out(state: &Path, steps: &[ProvisionStep]) -> (Vec<Provisioned>, Result<(), ProvisionError>) {
    let roots = Roots::default();
    let machine = Machine::local(&LocalRunner, &roots, state, &NoHooks);
    let wanted = Provisioning { steps, boot_id: Some("boot"), anew: false };
    provision(&machine, wanted, &AtomicBool::new(false), &mut |_| {})
}

#[test]
fn loop_ansible_and_puppet_say_what_they_changed() {
    let _exclusive = exclusive();
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let steps = [
        step(Provisioner::Ansible, "site.yml", PLAYBOOK, dir.path()),
        step(Provisioner::Puppet, "site.pp", MANIFEST, dir.path()),
    ];
    let (done, outcome) = carry_out(state.path(), &steps);
    outcome.unwrap();
    let changed = |i: usize| done[i].runs.iter().map(|run| run.changed).collect::<Vec<_>>();
    assert_eq!((changed(0), changed(1)), (vec![Some(1), Some(0)], vec![Some(2), Some(0)]));
    assert!(done[0].tool.as_ref().unwrap().contains("core 2."), "{:?}", done[0].tool);
    assert!(done[1].tool.as_ref().unwrap().starts_with(|first: char| first.is_ascii_digit()));
    for file in ["ansible.conf", "puppet.conf"] {
        assert_eq!(std::fs::read_to_string(dir.path().join(file)).unwrap(), "depth 64", "{file}");
    }
    let (again, outcome) = carry_out(state.path(), &steps);
    outcome.unwrap();
    assert!(again.iter().all(|step| step.skipped));
}

#[test]
fn loop_what_goes_on_changing_is_seen() {
    let _exclusive = exclusive();
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let playbook = "- { hosts: all, gather_facts: false, tasks: [ { command: /bin/true } ] }";
    let manifest = "exec { '/bin/true': }";
    let steps = [
        step(Provisioner::Ansible, "site.yml", playbook, dir.path()),
        step(Provisioner::Puppet, "site.pp", manifest, dir.path()),
    ];
    let (done, outcome) = carry_out(state.path(), &steps);
    outcome.unwrap();
    assert_eq!(done.iter().map(Provisioned::is_idempotent).collect::<Vec<_>>(), [Some(false); 2]);
}

#[test]
fn loop_failures_of_ansible_and_puppet_end_the_provisioning() {
    let _exclusive = exclusive();
    let (state, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let elsewhere = "- { hosts: storage, tasks: [] }";
    let failing = "- { hosts: localhost, gather_facts: false, tasks: [ { command: /bin/false } ] }";
    let cases = [
        (Provisioner::Ansible, "site.yml", elsewhere, "no play of it is for `localhost`"),
        (Provisioner::Ansible, "site.yml", failing, "ended with status 2"),
        (Provisioner::Puppet, "site.pp", "exec { '/bin/false': }", "ended with status 4"),
        (Provisioner::Puppet, "site.pp", "file {", "ended with status 1"),
    ];
    for (by, path, text, words) in cases {
        let (done, outcome) = carry_out(state.path(), &[step(by, path, text, dir.path())]);
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains(words) && error.starts_with(&format!("step 1 of 1, `{by} {path}`")),
            "{error}"
        );
        assert_eq!(done[0].runs.len(), 1);
    }
}
