//! Debian's docker-registry on OpenStack Swift, all on loopback.

use super::registry::{Server, registry_on, start};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use testkit::free_port;

/// Swift, and the registry that keeps its blobs there.
pub(crate) struct OnSwift {
    pub(crate) registry: Server,
    _swift: Server,
}

/// Starts Swift with version 1 of TempAuth below `folder`, which lies on a file system with extended attributes, and a registry on it.
pub(crate) fn docker_on_swift(folder: &Path) -> OnSwift {
    let swift = folder.join("swift");
    fs::create_dir(&swift).unwrap();
    let ports: Vec<String> = (0..5).map(|_| free_port().to_string()).collect();
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child"]);
    command.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/support/swift.sh")).arg(&swift).args(&ports);
    let server = start(command, format!("127.0.0.1:{}", ports[0]));
    let login = format!("http://{}/auth/v1.0", server.address);
    let began = Instant::now();
    // The proxy gives tokens before the servers behind it answer, and the registry ends if it can't make its container.
    while !makes_container(&server.address, &login) {
        let log = || fs::read_to_string(swift.join("proxy.log")).unwrap_or_default();
        assert!(began.elapsed() < Duration::from_secs(120), "Swift makes no container: {}", log());
        std::thread::sleep(Duration::from_millis(100));
    }
    let storage = format!(
        "swift: {{ authurl: \"{login}\", authversion: 1, username: \"test:tester\", password: testing, container: registry }}"
    );
    OnSwift { registry: registry_on(folder, &storage, ""), _swift: server }
}

fn makes_container(address: &str, login: &str) -> bool {
    let token = curl(&[
        "--include",
        "--header",
        "X-Auth-User: test:tester",
        "--header",
        "X-Auth-Key: testing",
        login,
    ]);
    let Some(token) =
        token.as_deref().and_then(|said| said.lines().find(|line| line.starts_with("X-Auth-Token:")))
    else {
        return false;
    };
    let container = format!("http://{address}/v1/AUTH_test/ready");
    curl(&["--request", "PUT", "--header", token, &container]).is_some()
}

/// What curl prints; `None` if it fails, also at the status of an error.
fn curl(args: &[&str]) -> Option<String> {
    let ran = Command::new("curl").args(["--silent", "--fail"]).args(args).output().unwrap();
    ran.status.success().then(|| String::from_utf8(ran.stdout).unwrap())
}
