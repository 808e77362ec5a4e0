//! The life of a guest that boots: an image of Debian, made here; a guest made from it, which answers ssh; a move to another machine while it
//! runs; and its end. Real libvirt, QEMU (with KVM where there is one), sshd and cloud-init.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "guests/site.rs"]
mod guests;
#[path = "driver_libvirt/hosts.rs"]
mod hosts;
#[path = "../../share/tests/support/registry.rs"]
#[allow(dead_code, reason = "one of its registries is enough here")]
mod registry;

use guests::{Site, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// What the first boot leaves, and that the guest has root's rights.
const FIRST_BOOT: &str =
    "#!/bin/sh\nset -e\ntest \"$(id -u)\" = 0\necho 'it'\"'\"'s done' >/root/first-boot\n";

#[test]
fn boots_guests_live_move_and_go() {
    let Some(site) = Site::new("boots", &["ham0", "ham1"]) else { return };
    site.well(&["images", "build", "debian-12", "--on", "ham0"]);
    let image: Value =
        serde_json::from_str(site.well(&["images", "list", "--on", "ham0", "--json"]).trim()).unwrap();
    assert_eq!(image["name"], "debian-12");

    // It answers ssh, with its name, its size, its script's work, and the key that was known beforehand.
    let script = site.dir.join("first-boot.sh").to_string_lossy().into_owned();
    fs::write(&script, FIRST_BOOT).unwrap();
    let told = made(
        &site,
        &[
            "guests",
            "build",
            "web0",
            "--on",
            "ham0",
            "--image",
            "debian-12",
            "--size",
            "3G",
            "--memory",
            "512",
            "--first-boot",
            &script,
            "--json",
        ],
    );
    let made: Value = serde_json::from_str(told.trim()).unwrap();
    assert_eq!(made["logged_in"], true);
    eprintln!("built in {} s, KVM: {}", made["took_seconds"], made["kvm"]);
    let inside = |machine: &str, command: &str| {
        site.well(&["guests", "shell", &format!("{machine}:web0"), "--", "sh", "-c", command])
    };
    assert_eq!(inside("ham0", "hostname; cat /root/first-boot"), "web0\nit's done\n");
    let blocks: u64 = inside("ham0", "df -k --output=size / | tail -1").trim().parse().unwrap();
    assert!(blocks > 2_600_000, "the file system grew to the disk: {blocks} KiB");

    // A host of ssh like any other.
    let config = site.well(&["guests", "ssh-config", "ham0:web0"]);
    let own = fs::read_to_string(site.machines.ssh_config()).unwrap();
    let path = site.dir.join("both").to_string_lossy().into_owned();
    fs::write(&path, format!("{config}\n{own}")).unwrap();
    let jump = site.tool("ssh", &["-F", &path, "web0", "hostname"]);
    assert_eq!(jump, "web0\n");

    // The settings stay in it: after a reboot it is the same guest, and its script doesn't run again.
    inside("ham0", "rm /root/first-boot; sync");
    site.well(&["guests", "stop", "ham0:web0"]);
    site.well(&["guests", "start", "ham0:web0"]);
    assert_eq!(answer(&site, "ham0:web0", "ls /root; hostname"), "web0\n");

    site.well(&["guests", "destroy", "--yes", "ham0:web0"]);
    moves(&site, &image);
    created_by_the_driver(&site, &image);
}

/// A run on the driver's guest: reached through its host by the key that was told, with a volume of the serial number that was told. An agent
/// process on the host shows the file behind the volume, and the devices below. A repeated create is the same guest, and destroy leaves
/// nothing.
fn created_by_the_driver(site: &Site, image: &Value) {
    let config = site.machines.ssh_config().to_string_lossy().into_owned();
    let text = format!(
        "experiment: created\ntargets:\n  big: {{ driver: libvirt, host: ham0, image: debian-12, memory: 512m, emulate: true, \
         wait_seconds: 580, ssh_config: {config}, volumes: {{ gp: {{ size: 64m, iops: 80, aio: native, iothread: true, preallocation: full }} }} }}\n\
         stacks: {{ raw: {{ on: gp }} }}\n\
         workloads: {{ randread: {{ rw: randread, bs: 4k, iodepth: 4, direct: 1, size: 8m }} }}\n\
         measure: {{ trial: 3s, rounds: 1 }}\n"
    );
    fs::write(site.dir.join("created.yaml"), text).unwrap();
    let ran = site.run(&["run", "created.yaml", "--destroy", "never", "--progress", "lines"]);
    eprintln!("{}{}", stderr(&ran), stdout(&ran));
    assert!(ran.status.success() && !stderr(&ran).contains("is not followed"));
    let export: Value = serde_json::from_str(&site.well(&["export", "latest", "--json"])).unwrap();
    let cell = &export["cells"][0];
    let iops = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
    // The limit is exact; an emulated processor may be slower.
    assert!((5.0..=88.0).contains(&iops), "{cell}");
    // What libvirt's `blkdeviotune` says is the limit, and is known as such.
    let limits = &export["volumes"][0]["host_limits"];
    let total = json!({ "total_iops": 80 });
    for of in ["limits", "asked"] {
        let said = limits[of].as_object().unwrap().iter().filter(|(_, limit)| !limit.is_null());
        let said: Value = said.map(|(name, limit)| (name.clone(), limit.clone())).collect();
        assert_eq!(said, total, "{limits}");
    }
    assert_eq!(cell["model"]["expected"], 80.0, "{cell}");
    let leaves = cell["leaves"].to_string();
    assert!(
        leaves.contains("disk of a guest, a file on") && leaves.contains("limited there to total_iops 80"),
        "{leaves}"
    );
    let below = observe::topology(&observe::Roots::default(), &[], Some(&site.dir));
    let devices: Vec<String> = below.nodes.iter().map(|node| format!("\"host:{}\"", node.name)).collect();
    assert!(devices.iter().all(|device| leaves.contains(device)), "{devices:?}: {leaves}");
    shared_with_its_image(site, image);

    let journal = fs::read_dir(site.dir.join("state/created")).unwrap();
    let mut files = journal.map(|file| file.unwrap().path());
    let file = files.find(|path| path.extension().is_some_and(|end| end == "json")).unwrap();
    let entry: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    let made = &entry["created"][0];
    assert_eq!((&made["through"], &made["user"]), (&json!("ham0"), &json!("root")));
    followed_as_a_guest_that_exists(site, &file, &entry);
    let volume = &made["volumes"][0];
    assert_eq!((&volume["rates"], &volume["backing"]["host"]), (&json!({ "iops": 80 }), &json!("ham0")));
    let claim = entry["claim"]["id"].as_str().unwrap();
    let mut asked = hosts::create(site, claim, &[entry["machines"][0].clone()]);
    asked["claim"] = entry["claim"].clone();
    let again = hosts::done(site, &asked)["created"]["machines"][0].clone();
    assert_eq!(again, *made, "the same claim and name are the same guest");
    site.well(&["undo", "--all"]);
    assert_eq!(hosts::destroyed(site, claim, "ham0"), Vec::<String>::new());
}

/// The run and the image that its guest was made from go to a registry. Who pulls the run learns where its image is, and fetches it.
fn shared_with_its_image(site: &Site, image: &Value) {
    let folder = site.dir.join("registry");
    fs::create_dir(&folder).unwrap();
    let server = registry::docker(&folder, None);
    let repository = format!("oci://{}/results", server.address);
    let digest = image["digest"].as_str().unwrap();
    let there = site.machines.path("ham0", &format!("/var/lib/diskproof/images/{digest}"));
    site.well(&["images", "import", &there.to_string_lossy(), "--on", "local", "--name", "debian-12"]);
    let sent = site.well(&["images", "push", "debian-12", &repository, "--yes", "--json"]);
    let sent: Value = serde_json::from_str(&sent).unwrap();
    let run = format!("{repository}:created");
    site.well(&["push", "latest", &run, "--yes"]);
    let manifest = format!("http://{}/v2/results/manifests/created", server.address);
    let accept = "Accept: application/vnd.oci.image.manifest.v1+json";
    let manifest: Value =
        serde_json::from_str(&site.tool("curl", &["--silent", "--header", accept, &manifest])).unwrap();
    assert_eq!(manifest["subject"]["digest"], sent["manifest"], "{manifest}");

    let elsewhere = |args: &[&str]| {
        let mut command = testkit::program(site.dir.join("diskproof"), &site.dir, args);
        let own = site.dir.join("elsewhere");
        command.env("DISKPROOF_STATE", &own).env("DISKPROOF_STORE", own.join("diskproof.db"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", stderr(&output));
        stdout(&output)
    };
    let pulled: Value = serde_json::from_str(&elsewhere(&["pull", &run, "--json"])).unwrap();
    let made_on = &pulled["images"][0];
    assert_eq!(made_on["digest"], format!("sha256:{digest}"), "{pulled}");
    elsewhere(&["images", "import", made_on["address"].as_str().unwrap(), "--on", "local"]);
    let listed: Value =
        serde_json::from_str(elsewhere(&["images", "list", "--on", "local", "--json"]).trim()).unwrap();
    assert_eq!((&listed["name"], &listed["digest"]), (&image["name"], &image["digest"]));
}

/// The same guest as a target by ssh whose host the experiment names: its disk is found there, with the limit that somebody has set in the
/// meantime. Another guest's name is refused.
fn followed_as_a_guest_that_exists(site: &Site, journal: &std::path::Path, entry: &Value) {
    let (made, claim) = (&entry["created"][0], entry["claim"]["id"].as_str().unwrap());
    let (uuid, serial) =
        (made["id"].as_str().unwrap(), made["volumes"][0]["device"]["serial"].as_str().unwrap());
    hosts::virsh(
        site,
        "ham0",
        &["blkdeviotune", uuid, "vdb", "--live", "--total-iops-sec", "40", "--group-name", "web"],
        "",
    );
    let text = |guest: &str| {
        format!(
            "experiment: existing\ntargets: {{ web: {{ ssh: big.{claim}.diskproof, hosted_by: {{ machine: ham0, guest: {guest} }} }} }}\n\
         volumes: {{ data: {{ disks: [virtio-{serial}] }} }}\nstacks: {{ raw: {{ on: data }} }}\n\
         workloads: {{ randread: {{ rw: randread, bs: 4k, iodepth: 4, direct: 1, size: 8m }} }}\nmeasure: {{ trial: 3s, rounds: 1 }}\n"
        )
    };
    let run = |guest: &str| {
        fs::write(site.dir.join("existing.yaml"), text(guest)).unwrap();
        let args = ["run", "existing.yaml", "--progress", "lines"];
        let mut command = testkit::program(site.dir.join("diskproof"), &site.dir, &args);
        command.env("DISKPROOF_SSH_CONFIG", journal.with_extension("run")).env("XDG_RUNTIME_DIR", &site.dir);
        command.output().unwrap()
    };
    let refused = stderr(&run("nobody"));
    assert!(refused.contains("target web, `hosted_by`: ham0") && refused.contains("nobody"), "{refused}");
    let ran = run(uuid);
    eprintln!("{}{}", stderr(&ran), stdout(&ran));
    assert!(ran.status.success());
    let export: Value = serde_json::from_str(&site.well(&["export", "latest", "--json"])).unwrap();
    let (cell, limits) = (&export["cells"][0], &export["volumes"][0]["host_limits"]);
    assert_eq!((&limits["limits"]["total_iops"], &limits["group"]), (&json!(40), &json!("web")), "{limits}");
    let leaves = cell["leaves"].to_string();
    assert!(leaves.contains("limited there to total_iops 40") && leaves.contains("\"host:"), "{leaves}");
    let iops = cell["metrics"]["iops"]["estimate"].as_f64().unwrap();
    assert!((2.0..=44.0).contains(&iops), "{cell}");
}

/// What a command in a guest prints, once the guest's network answers again: on a busy machine that takes a while.
fn answer(site: &Site, guest: &str, command: &str) -> String {
    let until = Instant::now() + Duration::from_secs(600);
    loop {
        let said = site.run(&["guests", "shell", guest, "--", "sh", "-c", command]);
        if said.status.success() {
            return stdout(&said);
        }
        assert!(Instant::now() < until, "{guest}: {}", stderr(&said));
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// Makes a guest, by KVM where it works. A KVM in a guest may start one and then hang or fail: QEMU emulates the second try.
fn made(site: &Site, args: &[&str]) -> String {
    if KVM_FAILS.load(Ordering::Relaxed) {
        return site.well(&[args, &["--emulate", "--wait", "20m"]].concat());
    }
    let first = site.run(&[args, &["--wait", "40s"]].concat());
    if first.status.success() {
        return stdout(&first);
    }
    KVM_FAILS.store(true, Ordering::Relaxed);
    eprintln!("KVM fails here: {}", stderr(&first));
    assert_eq!(first.status.code(), Some(3));
    site.well(&["guests", "destroy", "--yes", "*"]);
    site.well(&[args, &["--emulate", "--wait", "20m"]].concat())
}

/// Whether a guest with KVM didn't boot.
static KVM_FAILS: AtomicBool = AtomicBool::new(false);

/// A guest with a fixed address, described as for SmartOS, moves while it runs: the same boot, and what was written before.
fn moves(site: &Site, image: &Value) {
    let described = json!({
        "brand": "kvm", "alias": "mail", "ram": 512, "vcpus": 1, "autoboot": false, "resolvers": ["192.168.122.1"],
        "nics": [{ "nic_tag": "default", "ip": "192.168.122.9", "netmask": "255.255.255.0", "gateway": "192.168.122.1" }],
        "disks": [{ "image_uuid": image["uuid"], "size": 3072 }],
        "customer_metadata": { "root_authorized_keys": fs::read_to_string(site.machines.key().with_extension("pub")).unwrap() }
    });
    let path = site.dir.join("newbox.json").to_string_lossy().into_owned();
    fs::write(&path, described.to_string()).unwrap();
    made(site, &["guests", "create", "-f", &path, "--on", "ham0"]);
    let inside = |machine: &str, command: &str| {
        site.well(&["guests", "shell", &format!("{machine}:mail"), "--", "sh", "-c", command])
    };
    let refused = site.run(&["guests", "migrate", "ham0:mail", "ham1"]);
    assert!(
        refused.status.code() == Some(3) && stderr(&refused).contains("lacks the image"),
        "{}",
        stderr(&refused)
    );
    let digest = image["digest"].as_str().unwrap();
    let folder = site.machines.path("ham0", &format!("/var/lib/diskproof/images/{digest}"));
    site.well(&["images", "import", &folder.to_string_lossy(), "--on", "ham1", "--name", "debian-12"]);
    let ask = "cat /proc/sys/kernel/random/boot_id /root/before";
    let before = inside("ham0", &format!("echo written >/root/before; {ask}"));
    site.well(&["guests", "migrate", "ham0:mail", "ham1"]);
    let listed = site.well(&["guests", "list"]);
    assert!(listed.contains("ham1:mail  running") && !listed.contains("ham0:"), "{listed}");
    assert!(!site.machines.path("ham0", "/var/lib/diskproof/guests/mail").exists(), "nothing stays behind");
    assert_eq!(answer(site, "ham1:mail", ask), before);
    // All of its disk came along, not only what was in its memory.
    inside("ham1", "echo 3 >/proc/sys/vm/drop_caches; md5sum /usr/bin/* >/dev/null; cat /root/before");

    let refused = site.run(&["guests", "migrate", "ham1:mail", "ham1"]);
    assert!(stderr(&refused).contains("it is there"), "{}", stderr(&refused));
    site.well(&["guests", "stop", "ham1:mail"]);
    let refused = site.run(&["guests", "migrate", "ham1:mail", "ham0"]);
    assert!(stderr(&refused).contains("it is off"), "{}", stderr(&refused));
    site.well(&["guests", "destroy", "--yes", "ham1:mail"]);
    assert_eq!(site.well(&["guests", "list"]), "no guests\n");
    assert!(!site.machines.path("ham1", "/var/lib/diskproof/guests/mail").exists());
}
