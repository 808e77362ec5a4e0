//! The driver `libvirt` with a real libvirt, QEMU and sshd, in namespaces: over ssh, as for any host. No guest boots here: its disk is blank.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "guests/site.rs"]
mod guests;

#[path = "driver_libvirt/faults.rs"]
mod faults;
#[path = "driver_libvirt/hosts.rs"]
mod hosts;

use guests::Site;
use hosts::{CLAIM, DRIVER, OTHER, about, create, destroyed, done, events, machine, virsh};
use serde_json::{Value, json};
use std::fs;

#[test]
fn loop_driver_libvirt_makes_what_was_asked_for_and_removes_that_alone() {
    let Some(site) = Site::new("driver", &["ham0"]) else { return };
    hosts::import_blank(&site, "ham0");
    hosts::neighbours(&site, "ham0");
    let pool = hosts::pool(&site, "ham0", "fast");
    let before = hosts::picture(&site, "ham0");

    // Nothing answers in a blank guest, so the driver says so, and the guest stays. One volume is in a storage pool.
    let mut small = machine("small", "ham0");
    small["volumes"][0]["settings"] = json!({ "pool": "fast", "iops": 50 });
    let asked = create(&site, CLAIM, &[machine("big", "ham0"), small]);
    let told = events(&site, &asked);
    let failed = &told.last().unwrap()["failed"];
    assert_eq!(failed["blame"], "provider");
    assert!(failed["text"].as_str().unwrap().contains("runs, but has no address after 1 s"), "{failed}");
    let made: Vec<&Value> = told.iter().filter(|event| event["event"] == "resource").collect();
    assert_eq!(made.len(), 4);
    assert!(made.iter().all(|event| event["exists"] == true));

    let status = done(&site, &about("status", CLAIM, "ham0"));
    let mut states: Vec<String> = status["status"]["machines"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| format!("{} {}", one["name"], one["state"]).replace('"', ""))
        .collect();
    states.sort();
    assert_eq!(states, ["big running", "small running"]);

    // libvirt enforces the rates, and the guest sees the serial number.
    let name = format!("diskproof-{}-big", &CLAIM[..12]);
    let limits = virsh(&site, "ham0", &["blkdeviotune", &name, "vdb"], "");
    assert!(
        limits.contains("total_iops_sec : 80") && limits.contains("total_bytes_sec: 1048576"),
        "{limits}"
    );
    let in_pool = format!("diskproof-{CLAIM}-small-gp");
    assert_eq!(fs::metadata(pool.join(&in_pool)).unwrap().len(), 8 << 20);
    let xml = virsh(&site, "ham0", &["dumpxml", &name], "");
    assert!(
        xml.contains("<serial>dp") && xml.contains("io='native'") && xml.contains("iothread='1'"),
        "{xml}"
    );

    // The same claim and name again are the same guests.
    let uuids = |site: &Site| virsh(site, "ham0", &["list", "--all", "--uuid"], "");
    let first = uuids(&site);
    virsh(&site, "ham0", &["destroy", &name], "");
    let again = events(&site, &asked);
    assert!(again.last().unwrap()["failed"]["text"].as_str().unwrap().contains("no address"));
    assert_eq!(uuids(&site).len(), first.len());
    assert_eq!(virsh(&site, "ham0", &["domstate", &name], "").trim(), "running", "it is started again");

    let listed = done(&site, &json!({ "protocol": "1.0", "do": "list", "settings": { "host": "ham0" } }));
    let of = |id: &str| {
        let all = listed["listed"]["resources"].as_array().unwrap();
        all.iter().filter(|one| one["claim"]["id"] == id).count()
    };
    assert_eq!((of(CLAIM), of(OTHER)), (4, 2));
    let used = site.run(&["images", "remove", "blank", "--on", "ham0"]);
    assert!(
        guests::stderr(&used).contains("big"),
        "an image under a guest's disk stays: {}",
        guests::stderr(&used)
    );

    // A guest that exists is checked against the machine that the experiment means: this one is none of libvirt's.
    let existing = format!(
        "experiment: existing\ntargets: {{ web: {{ ssh: ham0, hosted_by: {{ machine: ham0, guest: {name} }} }} }}\n\
         volumes: {{ data: {{ disks: [virtio-a] }} }}\nstacks: {{ raw: {{ on: data }} }}\nworkloads: {{ read: {{ rw: randread, size: 1m }} }}\n"
    );
    fs::write(site.dir.join("existing.yaml"), existing).unwrap();
    let refused = site.run(&["run", "existing.yaml"]);
    let said = guests::stderr(&refused);
    assert!(refused.status.code() == Some(2) && said.contains("`hosted_by`: "), "{said}");
    let is_told = ["they are two machines", "can't be checked that both are one guest"];
    assert!(is_told.iter().any(|why| said.contains(why)), "{said}");

    hosts::copy_metadata(&site, "ham0", &name);
    let mut removed = destroyed(&site, CLAIM, "ham0");
    removed.sort();
    assert_eq!(
        removed,
        [
            format!("machine {name}"),
            format!("machine diskproof-{}-small", &CLAIM[..12]),
            format!("volume {in_pool}"),
            "volume gp".to_owned(),
        ]
    );
    assert_eq!(destroyed(&site, CLAIM, "ham0"), Vec::<String>::new());
    virsh(&site, "ham0", &["undefine", "clone"], "");
    assert_eq!(hosts::picture(&site, "ham0"), before, "the neighbours are as they were");
    let left: Vec<_> = fs::read_dir(&pool).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, [format!("diskproof-{OTHER}-small-gp").as_str()]);
}

#[test]
fn loop_driver_libvirt_names_what_a_host_lacks_and_keeps_what_it_did_not_make() {
    let Some(site) = Site::new("driver-lacks", &["ham0", "ham1"]) else { return };
    hosts::import_blank(&site, "ham0");
    let ask =
        |machines: Value| done(&site, &json!({ "protocol": "1.0", "do": "validate", "machines": machines }));
    let fine = ask(json!([machine("big", "ham0")]));
    assert_eq!(fine["valid"]["problems"], json!([]));
    assert_eq!(
        fine["valid"]["offers"][0]["volumes"][0]["rates"],
        json!({ "iops": 80, "bytes_per_second": 1 << 20 })
    );
    for (key, value, part) in [
        ("image", json!("debian"), "has no image debian; it has blank"),
        ("network", json!("other"), "no active network other"),
        ("folder", json!("/nowhere"), "/nowhere"),
        ("host", json!("ham9"), "ham9 can't be reached"),
        ("disk_size", json!(1 << 20), "smaller than the image"),
        ("region", json!("eu"), "isn't a setting"),
    ] {
        let mut wrong = machine("big", "ham0");
        wrong["settings"][key] = value;
        let problems = ask(json!([wrong]))["valid"]["problems"].clone();
        assert_eq!(problems.as_array().unwrap().len(), 1, "{problems}");
        assert!(
            problems[0]["key"] == key && problems[0]["text"].as_str().unwrap().contains(part),
            "{problems}"
        );
    }

    // Two hosts, and a folder of the user's choice, where somebody else's file lies.
    hosts::import_blank(&site, "ham1");
    let folder = "/root/disks";
    for host in ["ham0", "ham1"] {
        fs::create_dir_all(site.machines.path(host, folder)).unwrap();
    }
    let both = json!(["ham0", "ham1"]);
    let spread: Vec<Value> = [("a", "ham0"), ("b", "ham1")]
        .map(|(name, host)| {
            let mut one = machine(name, host);
            one["settings"]["hosts"] = both.clone();
            one["settings"]["folder"] = json!(folder);
            one
        })
        .into();
    assert!(events(&site, &create(&site, CLAIM, &spread)).last().unwrap()["failed"].is_object());
    let own = site.machines.path("ham1", folder).join(format!("diskproof-{CLAIM}-b"));
    assert!(own.join(format!("{CLAIM}-gp.raw")).exists());
    fs::write(own.join("notes.txt"), "mine").unwrap();
    // The folder is known from the notes, also where the machines' settings don't agree on it.
    let ask = json!({ "protocol": "1.0", "do": "destroy", "claim": hosts::claim(CLAIM), "settings": { "hosts": both } });
    let answer = done(&site, &ask);
    let left = answer["destroyed"]["left"].as_array().unwrap();
    assert_eq!(left.len(), 1);
    assert!(left[0]["why"].as_str().unwrap().contains("notes.txt"), "{left:?}");
    assert_eq!(fs::read_dir(&own).unwrap().count(), 1, "only what isn't ours");
    fs::remove_file(own.join("notes.txt")).unwrap();
    assert_eq!(done(&site, &ask)["destroyed"]["left"], json!([]));
    for host in ["ham0", "ham1"] {
        assert_eq!(virsh(&site, host, &["list", "--all", "--name"], "").trim(), "");
        for path in [folder, DRIVER] {
            assert_eq!(fs::read_dir(site.machines.path(host, path)).unwrap().count(), 0, "{host}:{path}");
        }
    }
    let nowhere = events(
        &site,
        &json!({ "protocol": "1.0", "do": "destroy", "claim": hosts::claim(CLAIM), "settings": {} }),
    );
    assert_eq!(nowhere.last().unwrap()["failed"]["blame"], "user", "what isn't looked for isn't called gone");
}

/// Ten faults with a fixed seed; `bench/driver-faults/libvirt.sh` does hundreds.
#[test]
fn loop_driver_libvirt_leaves_nothing_after_kills_and_failures() {
    let number =
        |name: &str, or: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(or);
    let Some(site) = Site::new("driver-faults", &["ham0"]) else { return };
    faults::run(&site, number("DISKPROOF_TEST_FAULTS", 10), number("DISKPROOF_TEST_SEED", 7));
}
