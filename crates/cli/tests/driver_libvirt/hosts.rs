//! Hosts with a real libvirt, neighbours that look like ours, and requests to the driver.

#![allow(dead_code, reason = "the test that boots a guest needs no neighbours")]

use crate::guests::{Site, stderr, stdout};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The claim under test.
pub(crate) const CLAIM: &str = "0123456789abcdef0123456789abcdef";
/// A claim of a neighbour: the same up to its last digit.
pub(crate) const OTHER: &str = "0123456789abcdef0123456789abcdee";
/// The driver's folder on a host.
pub(crate) const DRIVER: &str = "/var/lib/diskproof/driver";

/// The settings of a machine on a host.
fn settings(host: &str) -> Value {
    json!({ "host": host, "image": "blank", "memory": 64 << 20, "emulate": true, "wait_seconds": 1 })
}

/// A machine with a volume of 8 MiB that libvirt limits.
pub(crate) fn machine(name: &str, host: &str) -> Value {
    let limits = json!({ "iops": 80, "bps": 1 << 20, "aio": "native", "iothread": true });
    json!({ "name": name, "settings": settings(host), "volumes": [{ "name": "gp", "size_bytes": 8 << 20, "settings": limits }] })
}

/// A claim with an id.
pub(crate) fn claim(id: &str) -> Value {
    json!({ "id": id, "run": "faults", "deadline": 4_000_000_000_u64 })
}

/// A request to create machines.
pub(crate) fn create(site: &Site, id: &str, machines: &[Value]) -> Value {
    let key = fs::read_to_string(site.machines.key().with_extension("pub")).unwrap();
    json!({ "protocol": "1.0", "do": "create", "claim": claim(id), "machines": machines, "ssh_public_key": key.trim() })
}

/// A request about what a claim has.
pub(crate) fn about(what: &str, id: &str, host: &str) -> Value {
    json!({ "protocol": "1.0", "do": what, "claim": claim(id), "settings": { "host": host } })
}

/// Starts the driver with a request.
pub(crate) fn started(site: &Site, request: &Value) -> Child {
    let path = site.dir.join("request.json");
    fs::write(&path, request.to_string()).unwrap();
    let mut command = testkit::program(site.dir.join("diskproof"), &site.dir, &["driver", "libvirt"]);
    command.env("DISKPROOF_SSH_CONFIG", site.machines.ssh_config()).env("XDG_RUNTIME_DIR", &site.dir);
    command.stdin(Stdio::from(fs::File::open(&path).unwrap())).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// Has the driver perform a request; returns its events, the result last.
pub(crate) fn events(site: &Site, request: &Value) -> Vec<Value> {
    let output = started(site, request).wait_with_output().unwrap();
    let said = stdout(&output);
    eprintln!("{request}\n{said}{}", stderr(&output));
    let events: Vec<Value> = said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let results = events.iter().filter(|event| event["event"] == "result").count();
    assert!(results == 1 && events.last().unwrap()["event"] == "result", "one result, the last line");
    assert_eq!(output.status.success(), !events.last().unwrap()["done"].is_null());
    events
}

/// The answer to a request that must be done.
pub(crate) fn done(site: &Site, request: &Value) -> Value {
    let answer = events(site, request).pop().unwrap()["done"].clone();
    assert!(!answer.is_null(), "{request}");
    answer
}

/// Destroys a claim, and checks that nothing of it is left to tell. Returns the kinds and names of what was removed.
pub(crate) fn destroyed(site: &Site, id: &str, host: &str) -> Vec<String> {
    let answer = done(site, &about("destroy", id, host));
    assert_eq!(answer["destroyed"]["left"], json!([]));
    let removed = answer["destroyed"]["removed"].as_array().unwrap();
    removed.iter().map(|one| format!("{} {}", one["kind"], one["name"]).replace('"', "")).collect()
}

/// Runs a command on a host.
pub(crate) fn on(site: &Site, host: &str, words: &[&str], input: &str) -> String {
    let path = site.dir.join("input");
    fs::write(&path, input).unwrap();
    let mut ssh = Command::new("ssh");
    ssh.arg("-F").arg(site.machines.ssh_config()).arg(host).args(words);
    let output = ssh.stdin(Stdio::from(fs::File::open(&path).unwrap())).output().unwrap();
    assert!(output.status.success(), "{words:?}: {}", stderr(&output));
    stdout(&output)
}

/// Runs `virsh` on a host.
pub(crate) fn virsh(site: &Site, host: &str, words: &[&str], input: &str) -> String {
    on(site, host, &[&["virsh", "-q"], words].concat(), input)
}

/// Imports an image with nothing on it.
pub(crate) fn import_blank(site: &Site, hosts: &str) {
    let path = site.dir.join("blank.raw");
    fs::write(&path, vec![7; 4 << 20]).unwrap();
    site.well(&["images", "import", &path.to_string_lossy(), "--on", hosts, "--name", "blank"]);
}

/// Makes neighbours that a careless driver would take for its own: a guest of another claim, with files; a guest with the beginning of our
/// guests' names; a guest with a copy of our metadata; and folders and files with names like ours.
pub(crate) fn neighbours(site: &Site, host: &str) {
    let made = events(site, &create(site, OTHER, &[machine("big-1", host)]));
    assert!(made.last().unwrap()["failed"]["text"].as_str().unwrap().contains("no address"), "{made:?}");
    let prefix = &CLAIM[..12];
    let plain = "<memory>65536</memory><os><type>hvm</type></os></domain>";
    let like = format!("<domain type='qemu'><name>diskproof-{prefix}-big-2</name>{plain}");
    virsh(site, host, &["define", "/dev/stdin"], &like);
    let root = site.machines.path(host, DRIVER);
    for name in
        [format!("diskproof-{OTHER}x-big"), format!("diskproof-{}-big", &CLAIM[..31]), format!("{CLAIM}x")]
    {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join(format!("{CLAIM}-gp.raw")), "a neighbour's").unwrap();
    }
    fs::write(root.join(format!("{CLAIM}-gp.raw")), "a neighbour's").unwrap();
}

/// Makes a storage pool with a neighbour's volume, and returns its folder as this computer sees it.
pub(crate) fn pool(site: &Site, host: &str, name: &str) -> std::path::PathBuf {
    let path = format!("/root/{name}");
    fs::create_dir_all(site.machines.path(host, &path)).unwrap();
    virsh(site, host, &["pool-create-as", name, "dir", "--target", &path], "");
    let other = format!("diskproof-{OTHER}-small-gp");
    virsh(site, host, &["vol-create-as", name, &other, "1M"], "");
    site.machines.path(host, &path)
}

/// Gives a neighbour a copy of the metadata of our machine, as a clone of our guest would have it.
pub(crate) fn copy_metadata(site: &Site, host: &str, from: &str) {
    let note = virsh(site, host, &["metadata", from, "--uri", "diskproof:driver:1"], "");
    let clone = format!(
        "<domain type='qemu'><name>clone</name><metadata>{note}</metadata><memory>65536</memory><os><type>hvm</type></os></domain>"
    );
    virsh(site, host, &["define", "/dev/stdin"], &clone);
}

/// All guests of a host with their descriptions, and all files of the driver with their contents. Notes of libvirt that change by
/// themselves aren't in it.
pub(crate) fn picture(site: &Site, host: &str) -> BTreeMap<String, String> {
    let mut picture = BTreeMap::new();
    let all = r#"virsh -q list --all --uuid | while read -r u; do [ -z "$u" ] || { echo "guest $u $(virsh -q domstate "$u" </dev/null)"; virsh -q dumpxml --inactive "$u" </dev/null; }; done"#;
    for guest in on(site, host, &["sh", "-s"], all).split("guest ").filter(|guest| !guest.is_empty()) {
        let (name, rest) = guest.split_once(' ').unwrap();
        picture.insert(name.to_owned(), rest.to_owned());
    }
    files(&site.machines.path(host, DRIVER), &mut picture);
    picture
}

fn files(folder: &Path, into: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        into.insert(path.to_string_lossy().into_owned(), String::new());
        if path.is_dir() {
            files(&path, into);
        } else if path.extension().is_none_or(|end| end != "lock") {
            into.insert(path.to_string_lossy().into_owned(), format!("{:?}", md5(&path)));
        }
    }
}

fn md5(path: &Path) -> String {
    stdout(&Command::new("md5sum").arg(path).output().unwrap())
}
