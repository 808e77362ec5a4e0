//! The sweep over created volumes on the drivers `ec2` and `gce`, from the creation to the bill. The servers in Python create nothing that
//! runs, so a guest of the lab is the machine: it lets the run's key in and gets a disk for each volume, with the name that the cloud would
//! give it. Needs root, QEMU and the image.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "clouds/server.rs"]
mod server;

use host::http::{Body, HttpUrl, Request, send};
use lab::{DiskSpec, Lab, Shape};
use serde_json::{Value, json};
use server::{Server, python, root};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const NAME: &str = "diskproof-test-cloud";
const LIMIT: Duration = Duration::from_secs(120);
/// A short sweep: two widths and the machine's own disk, both schedulers, without flushes.
const SHORT: &[&str] = &[
    "widths=1,2",
    "odd=1",
    "even=2",
    "count=2",
    "flushes=0",
    "rounds=1",
    "trial=1s",
    "size=16m",
    "data=64m",
];
const CELLS: usize = 3 * 2 * 3;

/// A volume that a cloud shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Volume {
    /// The serial number of its disk.
    serial: String,
    /// The name in /dev/disk/by-id that the cloud's own rules give it.
    link: Option<String>,
    bytes: u64,
}

/// The guest that is the machine of a cloud, and what runs there.
struct Machine {
    lab: Lab,
    dir: PathBuf,
    _alone: testkit::Lock,
}

impl Drop for Machine {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = self.lab.down();
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}

impl Machine {
    fn up(name: &str) -> Self {
        let alone = testkit::exclusive_guests();
        let dir = testkit::fresh_dir(name);
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let lab = Lab::open(&testkit::state_dir(), NAME).unwrap();
        lab.down().unwrap();
        lab.ensure_up(&Shape::default(), &|_| ()).unwrap();
        let machine = Self { lab, dir, _alone: alone };
        // The guest has no sudo, so the drivers' user is root by another name; without a password, sshd would refuse it.
        machine
            .says("useradd --non-unique --uid 0 --home-dir /root --no-create-home --shell /bin/sh --password '*' diskproof");
        machine
    }

    fn says(&self, script: &str) -> String {
        self.lab.run(&["sh", "-c", script], LIMIT).unwrap().stdout
    }

    fn host_key(&self) -> String {
        self.says("cat /etc/ssh/ssh_host_ed25519_key.pub")
    }

    fn port(&self) -> u16 {
        self.lab.status().unwrap().port.unwrap()
    }

    /// Writes what a user writes into drivers.yaml.
    fn drivers(&self, text: &str) {
        std::fs::create_dir_all(self.dir.join(".config/diskproof")).unwrap();
        std::fs::write(self.dir.join(".config/diskproof/drivers.yaml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command.envs([
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("GOOGLE_OAUTH_ACCESS_TOKEN", "test-token"),
        ]);
        command.env("DISKPROOF_STATE", self.dir.join("here"));
        command
    }

    /// Runs the sweep while the guest does what the cloud's machine would do. Returns the run.
    fn sweep(&self, set: &[&str], volumes: &(dyn Fn() -> BTreeSet<Volume> + Sync)) -> Value {
        let file = root().join("experiments/raid0-by-width-created.yaml");
        let mut command = self.command(&["run", file.to_str().unwrap(), "--progress", "lines"]);
        command.args(SHORT.iter().chain(set).flat_map(|one| ["--set", one]));
        let is_over = AtomicBool::new(false);
        let ran = std::thread::scope(|scope| {
            let machine = scope.spawn(|| {
                let mut there = BTreeSet::new();
                while !is_over.load(Ordering::Relaxed) {
                    self.let_in();
                    for volume in volumes() {
                        if there.insert(volume.clone()) {
                            self.plug(&volume);
                        }
                    }
                    std::thread::sleep(Duration::from_millis(500));
                }
            });
            let ran = command.output().unwrap();
            is_over.store(true, Ordering::Relaxed);
            machine.join().unwrap();
            ran
        });
        let said =
            [ran.stdout, ran.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        // The emulated machine is slower than the volumes that were asked for, so an expectation may be missed.
        assert!(matches!(ran.status.code(), Some(0 | 1)), "{said}");
        let export = self.command(&["export", "latest", "--json"]).output().unwrap();
        let run: Value = serde_json::from_slice(&export.stdout).unwrap();
        let cells = run["cells"].as_array().unwrap();
        assert_eq!(cells.len(), CELLS, "{said}");
        for cell in cells {
            assert_eq!(
                (&cell["trials"]["done"], &cell["trials"]["failed"]),
                (&1.into(), &0.into()),
                "{cell:#}"
            );
        }
        run
    }

    /// What cloud-init does: it lets the run's key in.
    fn let_in(&self) {
        let files = std::fs::read_dir(self.dir.join("here/created")).into_iter().flatten().flatten();
        let keys = files.map(|file| file.path()).filter(|path| path.to_string_lossy().ends_with(".key.pub"));
        for key in
            keys.filter_map(|path| std::fs::read_to_string(path).ok()).filter(|key| key.ends_with('\n'))
        {
            let key = key.trim();
            self.says(&format!(
                "cd /root/.ssh; grep -qxF '{key}' authorized_keys || echo '{key}' >>authorized_keys"
            ));
        }
    }

    fn plug(&self, volume: &Volume) {
        let disk = DiskSpec::new(&volume.serial, volume.bytes);
        let by_id = disk.by_id();
        self.lab.attach(&[disk]).unwrap();
        if let Some(link) = &volume.link {
            self.says(&format!("ln -s \"$(readlink -e /dev/disk/by-id/{by_id})\" /dev/disk/by-id/{link}"));
        }
    }
}

/// Checks that the run says what was to be paid and what was paid.
fn assert_billed(run: &Value) {
    let bill = &run["environment"]["bills"][0];
    let [amount, forecast] = ["amount", "forecast"].map(|key| bill[key].as_f64().unwrap());
    assert!(amount > 0.0 && forecast > 0.0 && bill["stays"] == false, "{bill}");
}

fn get(url: &str) -> Value {
    let request =
        Request::new("GET", HttpUrl::parse(url).unwrap()).header("Authorization", "Bearer test-token");
    serde_json::from_slice(&send(&request).unwrap().body).unwrap()
}

fn control(method: &str, url: &str, body: &Value) -> Value {
    let body = Body::Bytes(body.to_string().into_bytes());
    let reply = send(&Request::new(method, HttpUrl::parse(url).unwrap()).body(body)).unwrap();
    assert!(reply.is_success(), "{method} {url}: {}", String::from_utf8_lossy(&reply.body));
    serde_json::from_slice(&reply.body).unwrap()
}

#[test]
fn boots_the_sweep_on_ec2() {
    let machine = Machine::up("cloud-ec2");
    let cloud = Server::ec2(Some(&machine.host_key()));
    let snapshot = format!("{}/_test/snapshot", cloud.endpoint);
    let before = get(&snapshot);
    machine.drivers(&format!(
        "ec2:\n  region: eu-west-1\n  ssh_from: 192.0.2.7/32\n  ssh_port: {}\n  endpoint: {}\n  \
         prices: {{ m6id.large: 0.13, gp3_gib: 0.088, gp3_iops: 0.0055, gp3_mibps: 0.044 }}\n",
        machine.port(),
        cloud.endpoint
    ));
    let volumes = || {
        let all = get(&snapshot);
        let facts = all.as_object().unwrap().iter().filter(|(id, _)| id.starts_with("vol-"));
        let facts =
            facts.map(|(id, fact)| (id, serde_json::from_str::<Value>(fact.as_str().unwrap()).unwrap()));
        // What the machine boots from has 8 GiB.
        let ours = facts.filter(|(_, fact)| fact[3] == 1).map(|(id, _)| Volume {
            serial: id.replace('-', ""),
            link: None,
            bytes: 1 << 30,
        });
        let own = Volume {
            serial: "ephemeral".to_owned(),
            link: Some("diskproof-ephemeral-0".to_owned()),
            bytes: 1 << 30,
        };
        ours.chain([own]).collect()
    };
    let set = ["provider=ec2", "ec2_types=m6id.large", "disk=1g", "each=3000"];
    let run = machine.sweep(&set, &volumes);
    assert_billed(&run);
    assert_eq!(get(&snapshot), before, "nothing is left");
}

/// GCE, which takes what Google's description of the API allows.
fn gce() -> Server {
    let described = Command::new(root().join("scripts/google-api.sh")).output().unwrap();
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    let mut command = python(&root().join("crates/driver/tests/gce/server.py"));
    command.arg(String::from_utf8_lossy(&described.stdout).trim());
    Server::start(command, |line| line.split(' ').next().unwrap().to_owned())
}

#[test]
fn boots_the_sweep_on_gce() {
    let machine = Machine::up("cloud-gce");
    let cloud = gce();
    let key = machine.host_key();
    let project = format!("{}/test/p1", cloud.endpoint);
    control("PUT", &project, &json!({"host_key": key.split(' ').nth(1).unwrap()}));
    machine.drivers(&format!(
        "gce: {{ project: p1, ssh_port: {}, endpoint: '{}' }}\n",
        machine.port(),
        cloud.endpoint
    ));
    let list = format!("{}/compute/v1/projects/p1/aggregated/instances", cloud.endpoint);
    let volumes = || {
        let all = get(&list);
        let zones = all["items"].as_object().unwrap().values();
        let instances = zones.flat_map(|zone| zone["instances"].as_array().into_iter().flatten());
        let ours = instances.filter(|instance| instance["status"] == "RUNNING");
        let disks = ours.flat_map(|instance| instance["disks"].as_array().unwrap());
        let volume = |disk: &Value| {
            let (name, link) = match disk["type"].as_str().unwrap() {
                "SCRATCH" => ("local-ssd", "google-local-nvme-ssd-0".to_owned()),
                _ => {
                    let name = disk["deviceName"].as_str().unwrap();
                    (name, format!("google-{name}"))
                }
            };
            Volume { serial: name.to_owned(), link: Some(link), bytes: 1 << 30 }
        };
        disks.filter(|disk| disk["boot"] != true).map(volume).collect()
    };
    let set = ["provider=gce", "gce_types=n2-standard-4", "disk=10g", "each=3000"];
    let run = machine.sweep(&set, &volumes);
    assert_billed(&run);
    let verdict = control("POST", &project, &json!({}));
    for what in ["ours", "foreign_changed", "invalid"] {
        assert_eq!(verdict[what], json!([]), "{what}: {verdict:#}");
    }
}
