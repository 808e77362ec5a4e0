//! `push`, `pull` and `search` through the binary, with Debian's docker-registry and moto's S3 on this machine.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use assert_cmd::Command;
use serde_json::Value;
use std::path::Path;

#[path = "../../share/tests/support/registry.rs"]
#[allow(dead_code, reason = "shared with the tests of share")]
mod registry;
#[path = "../../share/tests/support/s3.rs"]
#[allow(dead_code, reason = "shared with the tests of share")]
mod s3;

/// One job of fio, as its JSON reports it on a machine of alice.
const FIO: &str = r#"{
  "fio version": "fio-3.33", "timestamp": 1795000000, "time": "x",
  "global options": {"rw": "randread", "bs": "4k", "ioengine": "io_uring", "direct": "1", "size": "64m", "directory": "/home/alice-tester/work"},
  "jobs": [{"jobname": "queries", "groupid": 0, "error": 0, "eta": 0, "elapsed": 11, "job options": {"iodepth": "4"},
    "read": {"io_bytes": 40960000, "io_kbytes": 40000, "bw_bytes": 4096000, "bw": 4000, "iops": 1000.0, "runtime": 10000, "total_ios": 10000, "short_ios": 0, "drop_ios": 0,
      "slat_ns": {"min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0},
      "clat_ns": {"min": 1, "max": 2, "mean": 1.5, "stddev": 0.1, "N": 10000, "percentile": {"50.000000": 1, "99.000000": 2}},
      "lat_ns": {"min": 1, "max": 2, "mean": 1.5, "stddev": 0.1, "N": 10000}},
    "usr_cpu": 1.0, "sys_cpu": 2.0, "ctx": 1, "majf": 0, "minf": 0}]
}"#;

struct Answer {
    code: i32,
    out: String,
    err: String,
}

fn diskproof(home: &Path, args: &[&str]) -> Answer {
    let output = Command::cargo_bin("diskproof")
        .unwrap()
        .args(args)
        .env_clear()
        .env("HOME", home)
        .env("DISKPROOF_STORE", home.join("results.db"))
        .current_dir(home)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Answer { code: output.status.code().unwrap(), out: text(&output.stdout), err: text(&output.stderr) }
}

fn json(home: &Path, args: &[&str]) -> Value {
    let answer = diskproof(home, args);
    assert_eq!(answer.code, 0, "{args:?}: {}", answer.err);
    serde_json::from_str(&answer.out).unwrap()
}

#[test]
fn a_run_is_sent_found_fetched_judged_and_compared() {
    let folder = tempfile::tempdir().unwrap();
    let server = registry::docker(folder.path(), None);
    let [mine, theirs] = ["mine", "theirs"].map(|name| folder.path().join(name));
    for home in [&mine, &theirs] {
        std::fs::create_dir(home).unwrap();
        std::fs::write(home.join("a.json"), FIO).unwrap();
        assert_eq!(diskproof(home, &["import", "a.json", "--name", "queries"]).code, 0);
    }
    let at = format!("oci://{}/results:one", server.address);

    let unasked = diskproof(&mine, &["push", "latest", &at]);
    assert_eq!(unasked.code, 2);
    assert!(
        unasked.err.contains("--yes sends it") && unasked.err.contains("alice-tester"),
        "{}",
        unasked.err
    );
    assert_eq!(diskproof(&theirs, &["pull", &at]).code, 2, "nothing was sent");
    for args in [
        ["push", "latest", &at, "--yes", "--credentials", "nowhere.json"],
        ["pull", &at, "--as", "mine", "--credentials", "nowhere.json"],
    ] {
        let named = diskproof(&mine, &args);
        assert!(
            named.code == 2 && named.err.contains("nowhere.json: there is no such file"),
            "{}",
            named.err
        );
    }
    assert!(diskproof(&theirs, &["pull", &at, "--as", "latest"]).err.contains("isn't `latest`"));
    let pushed = json(&mine, &["push", "latest", &at, "--yes", "--json"]);
    assert_eq!(pushed["format"], "diskproof.push/1.0");
    assert!(pushed["replaced_names"].as_u64().unwrap() >= 2, "{pushed}");
    assert!(diskproof(&mine, &["push", "latest", &at, "--yes"]).out.contains("nothing was sent"));
    let kept = diskproof(&mine, &["push", "latest", &at, "--yes", "--keep", "all"]);
    assert!(kept.code == 2 && kept.err.contains("--replace"), "{}", kept.err);
    let odd = diskproof(&mine, &["push", "latest", &at, "--keep", "colours"]);
    assert!(
        odd.code == 2 && odd.err.contains("hosts, serials, users, homes, addresses or all"),
        "{}",
        odd.err
    );

    let repository = format!("oci://{}/results", server.address);
    let found = json(&theirs, &["search", &repository, "--workload", "quer*", "--like", "latest", "--json"]);
    assert_eq!(
        (&found["runs"][0]["tag"], &found["runs"][0]["differs"]),
        (&"one".into(), &serde_json::json!([]))
    );
    assert!(
        json(&theirs, &["search", &repository, "--device", "Samsung*", "--json"])["runs"]
            .as_array()
            .unwrap()
            .is_empty()
    );

    let pulled = diskproof(&theirs, &["pull", &at, "--as", "elsewhere"]);
    assert_eq!(pulled.code, 0, "{}", pulled.err);
    assert!(
        pulled.out.contains("not signed") && pulled.out.contains("pseudonyms stand for"),
        "{}",
        pulled.out
    );
    let shown = json(&theirs, &["show", "elsewhere", "--json"]);
    let own = json(&mine, &["show", "latest", "--json"]);
    assert_eq!(shown["cells"][0]["metrics"], own["cells"][0]["metrics"], "it is judged to the same figures");
    assert!(!shown.to_string().contains("alice-tester"));
    assert_eq!(diskproof(&theirs, &["compare", "elsewhere", "queries@last"]).code, 0);
    assert!(diskproof(&theirs, &["pull", &at]).out.contains("run elsewhere is this run already"));
    let resumed = diskproof(&theirs, &["resume", "elsewhere"]);
    assert_eq!(resumed.code, 2, "somebody else's plan isn't run: {}", resumed.err);
}

#[test]
fn a_run_travels_by_s3_as_the_files_of_aws_say() {
    let folder = tempfile::tempdir().unwrap();
    let server = s3::moto();
    let [mine, theirs] = ["mine", "theirs"].map(|name| folder.path().join(name));
    for home in [&mine, &theirs] {
        std::fs::create_dir_all(home.join(".aws")).unwrap();
        let config = format!("[default]\nregion = eu-west-1\nendpoint_url = http://{}\n", server.address);
        std::fs::write(home.join(".aws/config"), config).unwrap();
        let keys = "[default]\naws_access_key_id = AKID\naws_secret_access_key = secret-7\n";
        std::fs::write(home.join(".aws/credentials"), keys).unwrap();
    }
    std::fs::write(mine.join("a.json"), FIO).unwrap();
    assert_eq!(diskproof(&mine, &["import", "a.json", "--name", "queries"]).code, 0);
    let at = format!("s3://{}/shared/", s3::BUCKET);
    let pushed = json(&mine, &["push", "latest", &at, "--yes", "--json"]);
    let (run, one) = (pushed["run"].as_str().unwrap(), pushed["address"].as_str().unwrap());
    assert_eq!(one, format!("{at}{run}"), "a folder gives the run a place by its name");
    assert!(diskproof(&mine, &["push", "latest", one, "--yes"]).out.contains("nothing was sent"));
    let kept = diskproof(&mine, &["push", "latest", one, "--yes", "--keep", "all"]);
    assert!(kept.code == 2 && kept.err.contains("--replace"), "{}", kept.err);
    let found = diskproof(&mine, &["search", &at, "--like", "latest"]);
    assert!(found.out.contains(run) && found.out.contains(&format!("pull {at}TAG")), "{}", found.out);
    let pulled = json(&theirs, &["pull", one, "--as", "elsewhere", "--json"]);
    assert_eq!(pulled["address"], one);
    let shown = json(&theirs, &["show", "elsewhere", "--json"]);
    assert!(!shown.to_string().contains("secret-7") && !shown.to_string().contains("alice-tester"));
    let missing = diskproof(&theirs, &["pull", &format!("{at}none")]);
    assert!(missing.code == 2 && missing.err.contains("there is nothing at"), "{}", missing.err);
    let unknown = diskproof(&theirs, &["pull", "s3://no-such-bucket/a"]);
    assert!(unknown.code == 2 && unknown.err.contains("no bucket"), "{}", unknown.err);
    let other = theirs.join("keys");
    std::fs::write(&other, "[default]\nsecret-8\n").unwrap();
    let named = diskproof(&theirs, &["pull", one, "--credentials", other.to_str().unwrap()]);
    assert!(named.err.contains("line 2") && !named.err.contains("secret-8"), "{}", named.err);
}

#[test]
fn ctrl_c_ends_a_push_and_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    std::fs::write(home.join("a.json"), FIO).unwrap();
    assert_eq!(diskproof(home, &["import", "a.json", "--name", "queries"]).code, 0);
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("oci://{}/results:one", silent.local_addr().unwrap());
    let mut push = std::process::Command::new(assert_cmd::cargo::cargo_bin("diskproof"));
    push.args(["push", "latest", &at, "--yes"]).env_clear().env("HOME", home).current_dir(home);
    let mut push = push
        .env("DISKPROOF_STORE", home.join("results.db"))
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let _connection = silent.accept().unwrap();
    let kill = std::process::Command::new("kill").args(["-INT", &push.id().to_string()]).status().unwrap();
    assert!(kill.success());
    assert_eq!(push.wait().unwrap().code(), Some(130));
    let left = std::fs::read_dir(home).unwrap().filter_map(Result::ok);
    let left = left.filter(|entry| entry.file_name().to_string_lossy().starts_with("diskproof-push-"));
    assert_eq!(left.count(), 0);
}

/// A name that no resolver knows: a place that is not refused can't be reached.
const ELSEWHERE: &str = "[default]\nendpoint_url = http://no-such-host.invalid:9\n";

#[test]
fn a_bucket_without_encryption_elsewhere_needs_a_flag_or_the_setting() {
    let home = tempfile::tempdir().unwrap();
    let put = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    put(".aws/config", ELSEWHERE);
    put(
        "e.yaml",
        "experiment: e\nvolumes: { v: { directory: /nowhere } }\nstacks: { s: { on: v } }\nworkloads: { r: { rw: read, size: 1m } }\n",
    );
    put("a.json", FIO);
    assert_eq!(diskproof(home.path(), &["import", "a.json", "--name", "queries"]).code, 0);
    let verbs: [&[&str]; 4] = [
        &["run", "e.yaml", "--copy-to", "s3://bucket/copies"],
        &["resume", "--from", "s3://bucket/copies"],
        &["pull", "s3://bucket/one"],
        &["push", "latest", "s3://bucket/one", "--yes"],
    ];
    let is_refused = |args: &[&str]| {
        let answer = diskproof(home.path(), args);
        let refused = answer.err.contains("s3://bucket")
            && answer.err.contains("leads to http://no-such-host.invalid:9, without encryption");
        assert_ne!(answer.code, 0, "{args:?}");
        if refused {
            assert!(answer.err.contains("--plain-http or the setting plain_http"), "{}", answer.err);
        }
        refused
    };
    for args in verbs {
        assert!(is_refused(args), "{args:?}");
    }
    // `push` and `pull` would wait for the name for long, so two stand for all.
    let allowed: Vec<&str> = verbs[1].iter().copied().chain(["--plain-http"]).collect();
    assert!(!is_refused(&allowed), "{allowed:?}");
    put(".config/diskproof/config.yaml", "plain_http: allow\n");
    assert!(!is_refused(verbs[0]) && !is_refused(verbs[1]));
}
