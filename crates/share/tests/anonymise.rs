//! No byte of a bundle holds a name that was to be replaced.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/runs.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod runs;

use diskproof_share::anonymise::{Machine, NameKind, find};
use diskproof_share::{Packed, Packer};
use record::event::Stopped;
use record::id::RunId;
use record::target::{HostedBy, Target, TargetKind};
use record::volume::{Volume, VolumeFacts, VolumeKind};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use store::Store;

/// Names of each kind, as they stand in the run below. The last ones are recognized by their form alone.
const NAMES: [(NameKind, &str); 15] = [
    (NameKind::Hosts, "bigiron"),
    (NameKind::Hosts, "nas7.acme.example"),
    (NameKind::Hosts, "nas7"),
    (NameKind::Hosts, "rack9.acme.example"),
    (NameKind::Hosts, "crm-prod"),
    (NameKind::Users, "alice"),
    (NameKind::Users, "bob"),
    (NameKind::Users, "carol"),
    (NameKind::Serials, "S7KHNJ0W123456"),
    (NameKind::Serials, "0x5000c500a1b2c3d4"),
    (NameKind::Serials, "QX99001"),
    (NameKind::Homes, "merger-talks"),
    (NameKind::Addresses, "10.20.30.40"),
    (NameKind::Addresses, "fe80::a00:27ff:fe4e:66a1"),
    (NameKind::Addresses, "52:54:00:12:34:56"),
];

fn run_with_names(folder: &Path) -> (Store, RunId) {
    let store = Store::open(&folder.join("names.db")).unwrap();
    let run = RunId(runs::RUN.to_owned());
    let mut plan = runs::plan();
    "question for alice on bigiron".clone_into(plan.question.get_or_insert_default());
    plan.source = "# by alice\nvolumes: { v: { disks: [nvme-Samsung_SSD_990_S7KHNJ0W123456] } }\n# /home/bob/merger-talks\n".to_owned();
    plan.targets.push(Target {
        name: "nas7".to_owned(),
        kind: TargetKind::Ssh { destination: "bob@nas7.acme.example".to_owned() },
        address: Some("10.20.30.40".to_owned()),
        ceiling: None,
        shares: Vec::new(),
        hosted_by: Some(HostedBy {
            machine: "carol@rack9.acme.example".to_owned(),
            guest: "crm-prod".to_owned(),
        }),
    });
    plan.cells[0].target = "nas7".to_owned();
    let disk = VolumeKind::Disk { id: "nvme-Samsung_SSD_990_S7KHNJ0W123456".to_owned() };
    plan.cells[0].stack.volumes.push(Volume { name: "v".to_owned(), kind: disk });
    let mut environment = runs::environment();
    environment.elsewhere.insert("nas7".to_owned(), runs::environment());
    store.create_run(&run, &plan, &environment).unwrap();
    let mut trial = runs::trial();
    trial.built = vec![vec!["mount".to_owned(), "10.20.30.40:/home/bob/merger-talks".to_owned()]];
    trial.unread = vec!["/home/alice/merger-talks/diskproof-data.0".to_owned()];
    let engine = trial.engine.as_mut().unwrap();
    engine.raw = r#"{"hostname":"bigiron","dir":"/home/alice/merger-talks","mac":"52:54:00:12:34:56","peer":"fe80::a00:27ff:fe4e:66a1"}"#.to_owned();
    engine.messages = vec!["ssh alice@bigiron: disk QX99001 (wwn-0x5000c500a1b2c3d4)".to_owned()];
    store.append_trial(&run, &trial).unwrap();
    let identity = "Samsung SSD 990, serial S7KHNJ0W123456, wwn 0x5000c500a1b2c3d4, 2000 bytes";
    let facts = VolumeFacts {
        name: "v".to_owned(),
        target: "nas7".to_owned(),
        device: Some("/dev/disk/by-id/nvme-Samsung_SSD_990_S7KHNJ0W123456".into()),
        size_bytes: 2000,
        identity: Some(identity.to_owned()),
        verified: Vec::new(),
        burst: None,
        backing_fs: None,
        loop_direct_io: None,
        host_limits: None,
    };
    store.set_volumes(&run, &[facts]).unwrap();
    store.finish_run(&run, &Stopped::Failed { error: "nas7 is away".to_owned() }).unwrap();
    (store, run)
}

fn machine() -> Machine {
    let set = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Machine { hosts: set(&["bigiron"]), users: set(&["alice", "root"]), serials: set(&["QX99001"]) }
}

/// Everything that travels, unpacked.
fn bytes(packed: &Packed) -> Vec<u8> {
    let mut all = packed.config.clone();
    for layer in &packed.layers {
        all.extend(zstd::decode_all(fs::File::open(&layer.path).unwrap()).unwrap());
    }
    all
}

fn holds(bytes: &[u8], name: &str) -> bool {
    bytes.windows(name.len()).any(|window| window.eq_ignore_ascii_case(name.as_bytes()))
}

#[test]
fn no_byte_holds_a_name_and_kept_kinds_stay() {
    let folder = tempfile::tempdir().unwrap();
    let (store, run) = run_with_names(folder.path());
    let packer = Packer { store: &store, program: "0.1.0", judge: "judge 1", folder: folder.path() };
    let plain = bytes(&packer.pack(&run, None).unwrap());
    for (_, name) in NAMES {
        assert!(holds(&plain, name), "the test's own run lacks {name}");
    }
    let names = find(&store, &run, &machine(), &BTreeSet::new()).unwrap();
    let packed = packer.pack(&run, Some(&names)).unwrap();
    let hidden = bytes(&packed);
    let listed: Vec<&str> = names.replaced().iter().map(|(_, name, _)| *name).collect();
    for (_, name) in NAMES {
        assert!(!holds(&hidden, name), "{name} travels");
        assert!(listed.contains(&name), "{name} isn't listed: {listed:?}");
    }
    assert!(holds(&hidden, "Samsung SSD 990") && holds(&hidden, "diskproof-data.0"), "the model stays");
    assert_eq!(packed.info.facts["device"], "Samsung SSD 990");
    assert_eq!(
        packer.pack(&run, Some(&names)).unwrap().config,
        packed.config,
        "the same run is the same bytes"
    );
    for kept in NameKind::ALL {
        let names = find(&store, &run, &machine(), &BTreeSet::from([kept])).unwrap();
        let sent = bytes(&packer.pack(&run, Some(&names)).unwrap());
        for (kind, name) in NAMES {
            assert_eq!(holds(&sent, name), kind == kept, "{name} when {kept} are kept");
        }
    }
}
