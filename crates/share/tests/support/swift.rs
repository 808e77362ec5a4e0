//! Debian's docker-registry on OpenStack Swift, all on loopback.

use super::registry::{Server, free_port, registry_on, start};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

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
    // The proxy answers when it knows its cache and its rings.
    while !logs_in(&login) {
        assert!(began.elapsed() < Duration::from_secs(120), "Swift gives no token");
        std::thread::sleep(Duration::from_millis(100));
    }
    let storage = format!(
        "swift: {{ authurl: \"{login}\", authversion: 1, username: \"test:tester\", password: testing, container: registry }}"
    );
    OnSwift { registry: registry_on(folder, &storage, ""), _swift: server }
}

fn logs_in(login: &str) -> bool {
    let asked = [
        "--silent",
        "--fail",
        "--header",
        "X-Auth-User: test:tester",
        "--header",
        "X-Auth-Key: testing",
        login,
    ];
    Command::new("curl").args(asked).output().unwrap().status.success()
}
