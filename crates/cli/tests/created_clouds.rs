//! The sweep over created volumes is planned for EC2 and GCE, against the servers that stand for them: settings, prices, budget.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

#[path = "clouds/server.rs"]
mod server;

use server::{Server, root};
use std::process::Command;

/// Plans the sweep with these settings of drivers; returns the exit code and what is said.
fn plan(drivers: &str, endpoint: &str, set: &[&str]) -> (i32, String) {
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(home.path().join(".config/diskproof")).unwrap();
    std::fs::write(home.path().join(".config/diskproof/drivers.yaml"), drivers).unwrap();
    let sets = set.iter().flat_map(|one| ["--set", one]);
    let said = Command::new(assert_cmd::cargo::cargo_bin("diskproof"))
        .arg("plan")
        .arg(root().join("experiments/raid0-by-width-created.yaml"))
        .args(["--set", "disk=20g", "--set", "each=3000"])
        .args(sets)
        .env_clear()
        .env("HOME", home.path())
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("AWS_ENDPOINT_URL_EC2", endpoint)
        .env("AWS_ACCESS_KEY_ID", "test")
        .env("AWS_SECRET_ACCESS_KEY", "test")
        .env("GOOGLE_OAUTH_ACCESS_TOKEN", "test-token")
        .output()
        .unwrap();
    let text = [said.stdout, said.stderr].concat();
    (said.status.code().unwrap(), String::from_utf8_lossy(&text).into_owned())
}

const EC2: &str = "ec2:\n  region: eu-west-1\n  ssh_from: 192.0.2.7/32\n  \
    prices: { m6id.large: 0.13, m6id.2xlarge: 0.53, gp3_gib: 0.088, gp3_iops: 0.0055, gp3_mibps: 0.044 }\n";

#[test]
fn the_sweep_is_planned_and_priced_on_ec2() {
    let server = Server::ec2(None);
    let (code, said) = plan(EC2, &server.endpoint, &["provider=ec2"]);
    assert_eq!(code, 0, "{said}");
    for part in [
        "driver ec2 creates ec2-m6id.large with 17 volumes for the run",
        "driver ec2 creates ec2-m6id.2xlarge with 17 volumes for the run",
        "ec2-m6id.large: each round draws anew which of the 16 volumes",
        "they cost about",
        "USD",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(!said.contains("driver gce") && !said.contains("driver lab"), "{said}");
    let (code, said) = plan(EC2, &server.endpoint, &["provider=ec2", "money=0.01"]);
    assert!(code == 2 && said.contains("the budget is 0.010 USD"), "{code} {said}");
    let (code, said) = plan(EC2, &server.endpoint, &["provider=ec2", "ec2_types=m6id.large,no.such"]);
    assert!(
        code == 2 && said.contains("ec2-no.such: machine_type: EC2 has no type no.such"),
        "{code} {said}"
    );
}

#[test]
fn the_sweep_is_planned_and_priced_on_gce() {
    let gce = "gce: { project: project-1 }\n";
    let (code, said) = plan(gce, "http://127.0.0.1:9", &["provider=gce"]);
    assert_eq!(code, 0, "{said}");
    for part in [
        "driver gce creates gce-n2-standard-4 with 17 volumes for the run",
        "driver gce creates gce-n2-standard-8 with 17 volumes for the run",
        "they cost about",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let (code, said) = plan("gce: {}\n", "http://127.0.0.1:9", &["provider=gce"]);
    assert!(code == 2 && said.contains("project is missing"), "{code} {said}");
}
