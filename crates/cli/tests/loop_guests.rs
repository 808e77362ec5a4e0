//! `diskproof guests` and `images` with a real libvirt, QEMU and sshd, in namespaces. No guest boots here: its disk is blank.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "guests/site.rs"]
mod guests;

use guests::{Site, stderr, stdout};
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use testkit::LibvirtMachines;

/// Runs `virsh` on a machine.
fn virsh(site: &Site, machine: &str, words: &[&str], input: &str) -> String {
    let path = site.dir.join("input");
    fs::write(&path, input).unwrap();
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(site.machines.ssh_config()).args([machine, "virsh", "-q"]).args(words);
    let output = ssh.stdin(Stdio::from(fs::File::open(&path).unwrap())).output().unwrap();
    assert!(output.status.success(), "virsh {words:?}: {}", stderr(&output));
    stdout(&output)
}

/// A disk of 4 MiB with something on it.
fn disk(site: &Site, name: &str) -> String {
    let path = site.dir.join(name);
    let mut bytes = vec![0_u8; 4 << 20];
    bytes[..name.len()].copy_from_slice(name.as_bytes());
    fs::write(&path, bytes).unwrap();
    path.to_string_lossy().into_owned()
}

#[test]
fn loop_guests_are_made_listed_stopped_and_removed_with_their_own_files_only() {
    let Some(site) = Site::new("life", &["ham0", "ham1"]) else { return };
    let file = disk(&site, "blank.raw");
    site.well(&["images", "import", &file, "--on", "ham*", "--name", "blank"]);
    // Nothing answers in a blank guest, so the build says so and leaves it.
    for (machine, guest) in [("ham0", "web0"), ("ham0", "web1"), ("ham1", "web0")] {
        let built = site.run(&[
            "guests", "build", guest, "--on", machine, "--image", "blank", "--memory", "64", "--wait", "1s",
        ]);
        assert_eq!(built.status.code(), Some(3), "{}", stderr(&built));
        assert!(
            stderr(&built).contains(&format!("{machine}:{guest} runs, but has no address after 1 s")),
            "{}",
            stderr(&built)
        );
    }
    let again = site.run(&["guests", "build", "web0", "--on", "ham0", "--image", "blank"]);
    assert!(
        again.status.code() == Some(2) && stderr(&again).contains("has a guest web0 already"),
        "{}",
        stderr(&again)
    );

    let names = |patterns: &[&str]| -> Vec<String> {
        let listed = site.well(&[&["guests", "list", "--json"], patterns].concat());
        let line = |line: &str| {
            let guest: Value = serde_json::from_str(line).unwrap();
            format!(
                "{}:{}={}",
                guest["machine"].as_str().unwrap(),
                guest["name"].as_str().unwrap(),
                guest["state"].as_str().unwrap()
            )
        };
        listed.lines().map(line).collect()
    };
    let all = ["ham0:web0=running", "ham0:web1=running", "ham1:web0=running"];
    assert_eq!(names(&[]), all);
    assert_eq!(names(&["*"]), all);
    assert_eq!(names(&["ham1:*"]), all[2..]);
    assert_eq!(names(&["ham*:*0"]), [all[0], all[2]]);
    assert_eq!(names(&["web1"]), [all[1]]);
    let table = site.well(&["guests", "list"]);
    assert!(
        table.contains("guest      state    cpus  memory\nham0:web0  running  1     64 MiB\n"),
        "{table}"
    );
    let none = site.run(&["guests", "list", "ham0:wbe*"]);
    assert!(
        none.status.code() == Some(2) && stderr(&none).contains("guests: ham0:web0, ham0:web1"),
        "{}",
        stderr(&none)
    );

    // The table of machines counts the same guests.
    let status: Value =
        serde_json::from_str(site.well(&["machines", "status", "ham0", "--json"]).trim()).unwrap();
    let seen = status["facts"]["guests"].as_array().unwrap();
    assert_eq!(seen.len(), 2);
    assert!(seen.iter().all(|guest| guest["on"] == json!(true)
        && guest["cpus"] == json!(1)
        && guest["memory_bytes"] == json!(64 << 20)));

    // A blank guest doesn't hear; switched off, it is off.
    let deaf = site.run(&["guests", "stop", "ham0:web0", "--timeout", "1s"]);
    assert!(deaf.status.code() == Some(3) && stderr(&deaf).contains("--force"), "{}", stderr(&deaf));
    site.well(&["guests", "stop", "*", "--force"]);
    assert_eq!(names(&[]), all.map(|text| text.replace("running", "off")));
    site.well(&["guests", "start", "ham0:web*"]);
    assert_eq!(names(&["ham0:*"]), all[..2]);

    // Without a yes nothing goes; a stranger's file and a stranger's guest stay.
    let asked = site.run(&["guests", "destroy", "*"]);
    assert!(asked.status.code() == Some(2) && stderr(&asked).contains("add --yes"), "{}", stderr(&asked));
    let own = site.machines.path("ham0", "/var/lib/diskproof/guests/web0");
    assert!(own.join("disk0.qcow2").exists() && own.join("seed.iso").exists());
    fs::write(own.join("notes.txt"), "mine").unwrap();
    virsh(&site, "ham1", &["define", "/dev/stdin"], STRANGER);
    let used = site.run(&["images", "remove", "blank", "--on", "ham0"]);
    assert!(
        used.status.code() == Some(2) && stderr(&used).contains("under the disks of web0, web1"),
        "{}",
        stderr(&used)
    );
    let destroyed = site.run(&["guests", "destroy", "--yes", "*"]);
    assert_eq!(destroyed.status.code(), Some(3), "the stranger's can't be removed");
    assert!(
        stdout(&destroyed).contains("ham0:web0: removed, with its disks; notes.txt in"),
        "{}",
        stdout(&destroyed)
    );
    assert!(stderr(&destroyed).contains("isn't made by diskproof"), "{}", stderr(&destroyed));
    assert_eq!(fs::read_dir(&own).unwrap().count(), 1);
    assert!(!own.with_file_name("web1").exists());
    let left = names(&[]);
    assert!(left.len() == 1 && left[0].starts_with("ham1:") && left[0].ends_with("=off"), "{left:?}");
    site.well(&["images", "remove", "blank", "--on", "ham*"]);
    assert_eq!(site.well(&["images", "list"]), "no images\n");
}

/// A guest whose name would colour a terminal.
const STRANGER: &str =
    "<domain type='qemu'><name>a&#x9b;31mb</name><memory>65536</memory><os><type>hvm</type></os></domain>";

#[test]
fn loop_guests_of_a_hostile_libvirt_stay_text() {
    let Some(site) = Site::new("hostile", &["ham0"]) else { return };
    virsh(&site, "ham0", &["define", "/dev/stdin"], STRANGER);
    let note = r#"<domain type='qemu'><name>trap</name><metadata><d:guest xmlns:d="diskproof:guest:1">{"id":"1","folder":"/etc/guests/trap","files":["../passwd"],"images":[],"host_key":""}</d:guest></metadata><memory>65536</memory><os><type>hvm</type></os></domain>"#;
    virsh(&site, "ham0", &["define", "/dev/stdin"], note);
    let table = site.well(&["guests", "list"]);
    assert!(table.contains("ham0:a\\u{9b}31mb") && !table.contains('\u{9b}'), "{table}");
    let refused = site.run(&["guests", "destroy", "--yes", "trap"]);
    assert!(
        refused.status.code() == Some(3) && stderr(&refused).contains("nothing was removed"),
        "{}",
        stderr(&refused)
    );
    // A name that looks like an option stays a name.
    let dash = site.run(&["guests", "stop", "ham0:--all"]);
    assert!(dash.status.code() == Some(2) && stderr(&dash).contains("selects no guest"), "{}", stderr(&dash));
}

#[test]
fn loop_images_are_kept_by_their_digest_and_only_whole_disks_are_taken() {
    let Some(site) = Site::new("images", &["ham0"]) else { return };
    let first = disk(&site, "first.raw");
    let said = site.well(&["images", "import", &first, "--on", "ham0"]);
    assert!(said.contains("ham0: imported first (") && said.contains("4 MiB were copied"), "{said}");
    let said = site.well(&["images", "import", &first, "--on", "ham0", "--name", "other"]);
    assert!(said.contains("has it already, as first ("), "{said}");
    let listed: Value = serde_json::from_str(site.well(&["images", "list", "--json"]).trim()).unwrap();
    let digest = listed["digest"].as_str().unwrap().to_owned();
    let kept = site.machines.path("ham0", &format!("/var/lib/diskproof/images/{digest}/disk.raw"));
    assert_eq!(fs::read(&kept).unwrap(), fs::read(&first).unwrap());

    // A layer over another file would give a guest that file.
    let layer = site.dir.join("layer.qcow2").to_string_lossy().into_owned();
    site.tool("qemu-img", &["create", "-q", "-f", "qcow2", "-F", "raw", "-b", "/etc/passwd", &layer, "1M"]);
    let wrong = "0".repeat(64);
    for (source, more, why) in [
        (layer.as_str(), &[][..], "a layer over another file (/etc/passwd)"),
        (&disk(&site, "second.raw"), &["--sha256", wrong.as_str()], "nothing was imported"),
        ("/nowhere.raw", &[], "can't read /nowhere.raw"),
    ] {
        let refused = site.run(&[&["images", "import", source, "--on", "ham0"], more].concat());
        assert!(refused.status.code() == Some(2) && stderr(&refused).contains(why), "{}", stderr(&refused));
    }
    assert_eq!(site.well(&["images", "list", "--json"]).lines().count(), 1);
    let arriving = site.machines.path("ham0", "/var/lib/diskproof/images/arriving");
    assert!(fs::read_dir(arriving).map_or(0, Iterator::count) == 0, "nothing refused stays");
}

#[test]
fn loop_images_come_from_a_url_and_a_download_that_broke_off_goes_on() {
    let Some(site) = Site::new("url", &["ham0"]) else { return };
    let bytes = fs::read(disk(&site, "far.raw")).unwrap();
    let server = TcpListener::bind("10.213.78.1:0").unwrap();
    let url = format!("http://{}/far.raw", server.local_addr().unwrap());
    let whole = bytes.clone();
    let served = std::thread::spawn(move || serve(&server, &whole));
    let anew = ["images", "import", &url, "--on", "ham0"];
    for _ in 0..2 {
        let cut = site.run(&anew);
        assert_eq!(cut.status.code(), Some(3), "the connection breaks off: {}", stderr(&cut));
    }
    // Only a digest tells that both parts are of one file.
    let summed = Command::new("sha256sum").arg(disk(&site, "far.raw")).output().unwrap();
    let digest = String::from_utf8(summed.stdout).unwrap()[..64].to_owned();
    let said = site.well(&["images", "import", &url, "--on", "ham0", "--sha256", &digest]);
    let asked = served.join().unwrap();
    let (last, before) = asked.split_last().unwrap();
    assert!(*last == Some(1 << 20) && before.len() >= 2, "{asked:?}");
    assert!(before.iter().all(Option::is_none), "without a digest a download begins anew: {asked:?}");
    assert!(said.contains("imported far (") && said.contains("3 MiB were copied"), "{said}");
    let listed: Value = serde_json::from_str(site.well(&["images", "list", "--json"]).trim()).unwrap();
    assert_eq!(listed["source"], json!(url));
}

/// Serves a file: the first answers break off after 1 MiB, until somebody asks for the rest. Returns the beginnings that were asked for.
fn serve(server: &TcpListener, whole: &[u8]) -> Vec<Option<usize>> {
    let mut asked = Vec::new();
    for stream in server.incoming() {
        let mut stream = stream.unwrap();
        let mut request = Vec::new();
        let mut byte = [0];
        while !request.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap() == 1 {
            request.push(byte[0]);
        }
        let text = String::from_utf8_lossy(&request).to_ascii_lowercase();
        let from =
            text.split("range: bytes=").nth(1).and_then(|rest| rest.split('-').next()?.parse::<usize>().ok());
        asked.push(from);
        let begin = from.unwrap_or(0);
        let status = if from.is_some() { "206 Partial Content" } else { "200 OK" };
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Length: {}\r\nContent-Range: bytes {begin}-{}/{}\r\nConnection: close\r\n\r\n",
            whole.len() - begin,
            whole.len() - 1,
            whole.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        if from.is_some() {
            let _ = stream.write_all(&whole[begin..]);
            return asked;
        }
        let _ = stream.write_all(&whole[..1 << 20]);
    }
    asked
}

#[test]
fn loop_guests_are_described_as_for_smartos_and_what_can_t_be_had_is_named() {
    let Some(site) = Site::new("vmadm", &["ham0"]) else { return };
    let file = disk(&site, "blank.raw");
    site.well(&["images", "import", &file, "--on", "ham0"]);
    let image: Value = serde_json::from_str(site.well(&["images", "list", "--json"]).trim()).unwrap();
    let mut box_ = json!({
        "brand": "kvm", "alias": "mail", "hostname": "mail", "ram": 64, "autoboot": false,
        "nics": [{ "nic_tag": "default", "ip": "192.168.122.9", "netmask": "255.255.255.0", "gateway": "192.168.122.1" }],
        "disks": [{ "image_uuid": image["uuid"], "size": 8 }, { "size": 16, "model": "scsi" }],
        "customer_metadata": { "root_authorized_keys": fs::read_to_string(site.machines.key().with_extension("pub")).unwrap() }
    });
    let path = site.dir.join("newbox.json");
    let path = path.to_string_lossy().into_owned();
    fs::write(&path, box_.to_string()).unwrap();
    let fine = site.well(&["guests", "validate", "-f", &path]);
    assert!(fine.contains("fine: mail, 64 MiB, 1 processors, 2 disks, 1 network cards"), "{fine}");
    let created = site.run(&["guests", "create", "-f", &path, "--on", "ham0", "--wait", "1s"]);
    assert!(
        stderr(&created).contains("ham0:mail runs at 192.168.122.9, but ssh gets no answer"),
        "{}",
        stderr(&created)
    );
    let xml = virsh(&site, "ham0", &["dumpxml", "mail"], "");
    assert!(
        xml.contains("filter='clean-traffic'") && xml.contains("name='IP' value='192.168.122.9'"),
        "{xml}"
    );
    let sizes = ["disk0.qcow2", "disk1.qcow2"].map(|name| {
        let info = site.tool(
            "qemu-img",
            &[
                "info",
                "-U",
                "--output=json",
                &site
                    .machines
                    .path("ham0", &format!("/var/lib/diskproof/guests/mail/{name}"))
                    .to_string_lossy(),
            ],
        );
        serde_json::from_str::<Value>(&info).unwrap()["virtual-size"].clone()
    });
    assert_eq!(sizes, [json!(8 << 20), json!(16 << 20)]);

    box_["nics"][0]["vlan_id"] = json!(3);
    box_["quota"] = json!(10);
    box_["rum"] = json!(64);
    fs::write(&path, box_.to_string()).unwrap();
    for command in
        [&["guests", "validate", "-f", &path][..], &["guests", "create", "-f", &path, "--on", "ham0"]]
    {
        let refused = site.run(command);
        assert_eq!(refused.status.code(), Some(2));
        for part in ["quota: is of zones", "rum: isn't known", "nics[0].vlan_id: can't be had"] {
            assert!(stderr(&refused).contains(part), "{}", stderr(&refused));
        }
    }
}

#[test]
fn loop_guests_need_nothing_that_is_not_said() {
    if let Some(lack) = LibvirtMachines::lacks() {
        eprintln!("SKIPPED: needs {lack}");
        return;
    }
    let Some(site) = Site::new("refusals", &["ham0"]) else { return };
    let file = disk(&site, "blank.raw");
    site.well(&["images", "import", &file, "--on", "ham0"]);
    for (more, code, why) in [
        (&["web", "--image", "blank", "--network", "other"][..], 3, "the network other is not active"),
        (&["web", "--image", "debian"], 2, "ham0 has no image debian; it has blank"),
        (&["web", "--image", "blank", "--size", "1m"], 2, "smaller than the image blank"),
        (&["Web", "--image", "blank"], 2, "no name for a guest"),
        (&["web", "--image", "blank", "--key", "/etc/hostname"], 2, "no public key"),
    ] {
        let refused = site.run(&[&["guests", "build", "--on", "ham0"], more].concat());
        assert!(
            refused.status.code() == Some(code) && stderr(&refused).contains(why),
            "{}",
            stderr(&refused)
        );
    }
    let guests = site.machines.path("ham0", "/var/lib/diskproof/guests");
    assert!(fs::read_dir(guests).map_or(0, Iterator::count) == 0, "a refused build leaves nothing");
    let made =
        site.run(&["guests", "build", "--on", "ham0", "--image", "blank", "--memory", "64", "--wait", "1s"]);
    assert!(stderr(&made).contains("ham0:blank-"), "{}", stderr(&made));
}
