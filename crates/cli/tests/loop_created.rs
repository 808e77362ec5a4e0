//! Runs on machines that a driver creates. The driver is the example in Python; its machines are an sshd on this one.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "clouds/server.rs"]
mod server;

use serde_json::Value;
use server::Server;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use testkit::Sshd;

const EXAMPLE: &str = include_str!("../../../examples/drivers/diskproof-driver-folder");

/// What a price turns the example's offers into: 3.60 EUR per started hour and machine.
const PRICED: (&str, &str) = (
    "[{\"volumes\": [{} for _ in one[\"volumes\"]]}",
    "[{\"price\": {\"per_hour\": 3.6, \"currency\": \"EUR\", \"unit_seconds\": 3600, \"least_seconds\": 60}, \"volumes\": [{} for _ in one[\"volumes\"]]}",
);

/// The folders of the controller and of the created machines, and the sshd that all of them are.
struct Site {
    dir: PathBuf,
    sshd: Sshd,
    _alone: testkit::Exclusive,
}

impl Site {
    /// Without root, prints a message and returns `None`.
    fn new(name: &str, changes: &[(&str, &str)]) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("created-{name}"));
        testkit::stripped(assert_cmd::cargo::cargo_bin("diskproof"), &dir);
        let at = dir.to_string_lossy().into_owned();
        let sshd = Sshd::start(&dir, &format!("SetEnv DISKPROOF_STATE={at}/far XDG_CACHE_HOME={at}/cache"));
        let host_key = fs::read_to_string(dir.join("host.pub")).unwrap();
        let reached = format!(
            "\"address\": \"127.0.0.1\", \"port\": {}, \"host_keys\": [\"{}\"]",
            sshd.port(),
            host_key.trim()
        );
        let key = format!(
            "\"create\": lambda: open('{at}/user.pub', 'a').write(_['ssh_public_key'] + '\\n') and {{"
        );
        let own = [
            ("\"address\": \"192.0.2.1\"", reached.as_str()),
            ("\"create\": lambda: {", key.as_str()),
            ("SETTINGS = {", "SETTINGS = {\"model\": {\"kind\": \"text\", \"about\": \"its kind\"}, "),
        ];
        let mut text = EXAMPLE.to_owned();
        for (from, to) in own.iter().chain(changes) {
            assert!(text.contains(from), "the example has no `{from}` any more");
            text = text.replace(from, to);
        }
        fs::create_dir_all(dir.join("bin")).unwrap();
        let driver = dir.join("bin/diskproof-driver-folder");
        testkit::script(&driver, &text);
        for folder in ["data/a", "data/b", "root"] {
            fs::create_dir_all(dir.join(folder)).unwrap();
        }
        Some(Self { dir, sshd, _alone: alone })
    }

    /// Writes an experiment with two machines of this driver.
    fn experiment(&self, more: &str) {
        let at = self.dir.to_string_lossy();
        let text = format!(
            "experiment: demo\ntargets:\n  big: {{ driver: folder, root: {at}/root, model: m1 }}\n  small: {{ driver: folder, root: {at}/root, model: m2 }}\n\
             volumes: {{ a: {{ directory: {at}/data/a, target: big }}, b: {{ directory: {at}/data/b, target: small }} }}\n\
             stacks: {{ a: {{ on: a }}, b: {{ on: b }} }}\nworkloads: {{ r: {{ rw: read, size: 1m }} }}\nmeasure: {{ trial: 500ms, ramp: 0s, rounds: 1 }}\n{more}"
        );
        fs::write(self.dir.join("e.yaml"), text).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = testkit::program(self.dir.join("diskproof"), &self.dir, args);
        command
            .env("DISKPROOF_STATE", self.dir.join("here"))
            .env("PATH", format!("{}/bin:/usr/sbin:/usr/bin:/sbin:/bin", self.dir.to_string_lossy()));
        command
    }

    fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command(args).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout), text(&output.stderr))
    }

    /// The names of what the driver has.
    fn exists(&self) -> Vec<String> {
        let Ok(entries) = fs::read_dir(self.dir.join("root")) else { return Vec::new() };
        let names = entries.flatten().map(|entry| {
            let note = fs::read_to_string(entry.path()).unwrap_or_default();
            let note: Value = serde_json::from_str(&note).unwrap_or_default();
            format!("{} of {}", note["name"], note["claim"]["run"])
        });
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    /// The files of claims, and keys that log in. A kill before a claim is written leaves its empty lock file.
    fn journal(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.dir.join("here/created")).into_iter().flatten().flatten();
        let paths = files.map(|file| file.path());
        paths.filter(|path| path.extension().is_none_or(|end| end != "lock")).collect()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if !testkit::keep_wreck() {
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

#[test]
fn loop_a_run_creates_its_machines_and_destroys_them() {
    let Some(site) = Site::new("run", &[PRICED]) else { return };
    site.experiment("");
    fs::create_dir(site.dir.join("copies")).unwrap();
    let copies = format!("file://{}/copies", site.dir.to_string_lossy());
    let (code, out, err) = site.run(&["run", "e.yaml", "--quiet", "--copy-to", &copies]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(err.contains("creating big, small") && err.contains("destroying"), "{err}");
    // Two machines for one started hour: so it was expected, and so it was.
    let billed = "by started billing unit; the forecast was 7.20 EUR.";
    assert!(err.contains("which costs 7.20 EUR") && err.contains(billed), "{err}");
    assert_eq!((site.exists(), site.journal()), (vec![], vec![]));
    let (_, out, _) = site.run(&["export", "latest", "--json"]);
    let run: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(run["cells"].as_array().unwrap().len(), 2, "{out}");
    // The price came from the driver.
    assert!(out.contains("3.6"), "{out}");
    let bill = &run["environment"]["bills"][0];
    assert_eq!((&bill["amount"], &bill["forecast"]), (&7.2.into(), &7.2.into()), "{bill}");
    assert_eq!((&bill["stays"], bill["items"].as_array().unwrap().len()), (&false.into(), 2), "{bill}");
    assert!(bill["ended_unix"].as_u64() >= bill["begun_unix"].as_u64(), "{bill}");
    // The copy has the bill, although it is known only after the last trial.
    let copy = site.dir.join("copies").join(run["run"].as_str().unwrap());
    let head: Value = serde_json::from_slice(&fs::read(copy.join("run.json")).unwrap()).unwrap();
    assert_eq!(head["environment"]["bills"], run["environment"]["bills"], "{err}");
    let lease: Value = serde_json::from_slice(&fs::read(copy.join("lease.json")).unwrap()).unwrap();
    assert!(lease["expires_unix_ms"].as_u64() <= lease["renewed_unix_ms"].as_u64(), "{lease}");
    let (_, shown, _) = site.run(&["show"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("which costs 7.20 EUR") && shown.contains(billed), "{shown}");
    // A budget below one started hour of two machines is refused before anything is created.
    site.experiment("currency: EUR\n");
    let text = fs::read_to_string(site.dir.join("e.yaml")).unwrap();
    fs::write(site.dir.join("e.yaml"), text.replace("rounds: 1 }", "rounds: 1, budget: { money: 5 } }"))
        .unwrap();
    let (code, _, err) = site.run(&["run", "e.yaml", "--quiet"]);
    assert!(code == 2 && err.contains("7.20 EUR") && err.contains("5.00 EUR"), "{code} {err}");
    assert_eq!(site.exists(), Vec::<String>::new());
}

#[test]
fn loop_a_run_on_ec2_says_what_it_was_to_cost_and_what_it_cost() {
    let Some(site) = Site::new("billed", &[]) else { return };
    let at = site.dir.to_string_lossy();
    let cloud = Server::ec2(Some(&fs::read_to_string(site.dir.join("host.pub")).unwrap()));
    let text = format!(
        "experiment: demo\ntargets:\n  big: {{ driver: ec2, region: eu-west-1, machine_type: t3.micro, ssh_from: 192.0.2.7/32, \
         ssh_port: {}, user: root, endpoint: '{}', prices: {{ t3.micro: 3.6, gp3_gib: 0.073 }} }}\n\
         volumes: {{ a: {{ directory: {at}/data/a, target: big }} }}\nstacks: {{ a: {{ on: a }} }}\n\
         workloads: {{ r: {{ rw: read, size: 1m }} }}\nmeasure: {{ trial: 500ms, ramp: 0s, rounds: 1 }}\n",
        site.sshd.port(),
        cloud.endpoint
    );
    fs::write(site.dir.join("e.yaml"), text).unwrap();
    // What cloud-init does: it lets the run's key in.
    let (keys, user) = (site.dir.join("here/created"), site.dir.join("user.pub"));
    let fresh = site.dir.join("user.pub.new");
    let done = Arc::new(AtomicBool::new(false));
    let lets_in = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            while !done.load(Ordering::Relaxed) {
                let found = fs::read_dir(&keys).into_iter().flatten().flatten().map(|entry| entry.path());
                let key = found.into_iter().find(|path| path.to_string_lossy().ends_with(".key.pub"));
                if let Some(key) = key.and_then(|path| fs::read(path).ok()).filter(|key| key.ends_with(b"\n"))
                {
                    // sshd reads it at each login.
                    fs::write(&fresh, key).unwrap();
                    fs::rename(&fresh, &user).unwrap();
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
    });
    let account = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let output = site.command(&["run", "e.yaml", "--quiet"]).envs(account).output().unwrap();
    done.store(true, Ordering::Relaxed);
    lets_in.join().unwrap();
    let err = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{err}");
    let (_, out, _) = site.run(&["show", "--json"]);
    let run: Value = serde_json::from_str(&out).unwrap();
    let bill = &run["environment"]["bills"][0];
    let [amount, forecast] = ["amount", "forecast"].map(|key| bill[key].as_f64().unwrap());
    // EC2 bills by the second, and at least a minute. The machine's price includes the volume that it boots from.
    let existed = bill["ended_unix"].as_f64().unwrap() - bill["begun_unix"].as_f64().unwrap();
    let per_hour = bill["items"][0]["per_hour"].as_f64().unwrap();
    assert!(per_hour > 3.6 && (amount - per_hour * existed.max(60.0) / 3600.0).abs() < 1e-9, "{bill}");
    assert!(forecast > 0.5 && bill["currency"] == "USD", "ten minutes for coming and going: {bill}");
    let (_, shown, _) = site.run(&["show"]);
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    let [amount, forecast] = [amount, forecast].map(|money| record::quantity::money(money, Some("USD")));
    let sentence = format!("which costs {amount} by started billing unit; the forecast was {forecast}.");
    assert!(shown.contains(&sentence), "{sentence}: {shown}");
}

#[test]
fn loop_each_verb_works_from_any_state() {
    let Some(site) = Site::new("verbs", &[]) else { return };
    site.experiment("provision: [ { shell: tune.sh } ]\n");
    fs::write(site.dir.join("tune.sh"), format!("#!/bin/sh\ndate >> {}/tuned\n", site.dir.to_string_lossy()))
        .unwrap();
    let (code, _, err) = site.run(&["login", "e.yaml", "--target", "big"]);
    assert!(code == 2 && err.contains("diskproof create"), "{code} {err}");
    let (code, out, err) = site.run(&["create", "e.yaml"]);
    assert!(code == 0 && out.contains("big: root@127.0.0.1, created"), "{out}{err}");
    let first = site.exists();
    assert_eq!(first.len(), 2, "{first:?}");
    assert_eq!(site.run(&["create", "e.yaml"]).0, 0);
    assert_eq!(site.exists(), first, "a second create makes nothing more");
    let (code, out, err) = site.run(&["login", "e.yaml", "--target", "big", "--", "echo", "a  b"]);
    assert_eq!((code, out.as_str()), (0, "a  b\n"), "{err}");
    let (code, out, err) = site.run(&["undo"]);
    assert!(code == 0 && site.exists() == first, "undo leaves kept machines alone: {out}{err}");
    let (code, out, err) = site.run(&["converge", "e.yaml"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(site.dir.join("tuned").exists());
    let (code, out, err) = site.run(&["verify", "e.yaml", "--quiet"]);
    assert_eq!(code, 0, "{out}{err}");
    assert_eq!(site.exists(), first, "verify leaves the machines");
    let (_, out, _) = site.run(&["list", "--live"]);
    assert!(out.contains("verified") && out.contains("running"), "{out}");
    let (code, out, err) = site.run(&["machines", "leftovers", "--json"]);
    let left: Value = serde_json::from_str(&out).unwrap();
    assert!(code == 0 && left.as_array().unwrap().len() == 2, "{out}{err}");
    let (code, _, err) = site.run(&["destroy", "e.yaml"]);
    assert_eq!((code, site.exists(), site.journal()), (0, vec![], vec![]), "{err}");
    assert_eq!(site.run(&["destroy", "e.yaml"]).1, "nothing\n");
    // A run that fails keeps the machines, where the user wished so.
    fs::write(site.dir.join("tune.sh"), "#!/bin/sh\nexit 7\n").unwrap();
    let (code, _, err) = site.run(&["test", "e.yaml", "--quiet"]);
    assert!(code == 3 && site.exists().len() == 2, "{code} {err}");
    let (code, out, err) = site.run(&["undo", "--all"]);
    assert_eq!((code, site.exists(), site.journal()), (0, vec![], vec![]), "{out}{err}");
}

#[test]
fn loop_a_wrong_setting_is_shown_at_its_line_and_nothing_is_created() {
    let Some(site) = Site::new("wrong", &[]) else { return };
    site.experiment("");
    let text = fs::read_to_string(site.dir.join("e.yaml")).unwrap().replace("model: m1", "modle: m1");
    fs::write(site.dir.join("e.yaml"), text).unwrap();
    for verb in ["plan", "run", "create"] {
        let (code, _, err) = site.run(&[verb, "e.yaml"]);
        assert!(
            code == 2 && err.contains("e.yaml:3:") && err.contains("did you mean `model`?"),
            "{verb}: {code} {err}"
        );
    }
    let (code, _, err) = site.run(&["plan", "e.yaml", "--set", "small.modle=x"]);
    assert!(code == 2 && err.contains("small: modle"), "{code} {err}");
    let (code, _, err) = site.run(&["plan", "e.yaml", "--set", "other.model=x"]);
    assert!(code == 2 && err.contains("no target `other`"), "{code} {err}");
    assert_eq!((site.exists(), site.journal()), (vec![], vec![]));
}

#[test]
fn loop_a_controller_killed_at_any_moment_loses_no_machine() {
    // Each step of the driver takes a while, so that kills hit every part of it.
    let slow = (
        "        say(\"resource\", exists=True, **resource)",
        "        import time; time.sleep(0.1); say(\"resource\", exists=True, **resource)",
    );
    let Some(site) = Site::new("killed", &[slow]) else { return };
    site.experiment("");
    // A neighbour's machine with a lookalike name.
    let note = r#"{"kind":"machine","name":"big","id":"neighbour","claim":{"id":"00000000000000000000000000000000","run":"theirs","deadline":1}}"#;
    fs::write(site.dir.join("root/neighbour.json"), note).unwrap();
    let (mut kill, mut found) = (0, 0);
    // On a busy machine, the driver needs longer to create the first one.
    while kill < 10 || found < 3 {
        assert!(kill < 20, "only {found} of 20 killed runs had left machines");
        let mut child = site
            .command(&["run", "e.yaml", "--quiet"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        std::thread::sleep(Duration::from_millis(150 + kill * 250));
        child.kill().unwrap();
        child.wait().unwrap();
        let (code, out, err) = site.run(&["undo"]);
        assert_eq!(code, 0, "{kill}: {out}{err}");
        assert_eq!(site.exists(), ["\"big\" of \"theirs\""], "{kill}: {out}{err}");
        assert_eq!(site.journal(), Vec::<PathBuf>::new(), "{kill}: {out}{err}");
        found += usize::from(out.contains("destroyed"));
        kill += 1;
    }
}
