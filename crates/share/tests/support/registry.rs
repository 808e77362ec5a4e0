//! Registries on this machine, each as a process of the test.

use std::fs;
use std::io::{Read as _, Seek as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testkit::free_port;

/// A running server; ends when it is dropped.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn start(mut command: Command, address: String) -> Server {
    let mut log = tempfile::tempfile().unwrap();
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.try_clone().unwrap());
    let mut server = Server { child: command.spawn().unwrap(), address };
    let began = Instant::now();
    while TcpStream::connect(&server.address).is_err() {
        let ended = server.child.try_wait().unwrap();
        if let Some(ended) = ended {
            let mut said = String::new();
            log.rewind().unwrap();
            log.read_to_string(&mut said).unwrap();
            panic!("{command:?} ended ({ended}): {said}");
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{command:?} doesn't listen");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

/// Debian's docker-registry on its file system driver; with a file of htpasswd, it wants a password.
pub(crate) fn docker(folder: &Path, passwords: Option<&Path>) -> Server {
    let auth = passwords.map_or(String::new(), |path| {
        format!("auth: {{ htpasswd: {{ realm: test, path: {} }} }}\n", path.to_string_lossy())
    });
    let storage = format!("filesystem: {{ rootdirectory: {}/data }}", folder.to_string_lossy());
    registry_on(folder, &storage, &auth)
}

/// Debian's docker-registry on a storage driver.
pub(crate) fn registry_on(folder: &Path, storage: &str, auth: &str) -> Server {
    let address = format!("127.0.0.1:{}", free_port());
    let config = format!(
        "version: 0.1\nlog: {{ level: error }}\nstorage: {{ {storage}, delete: {{ enabled: true }} }}\nhttp: {{ addr: \"{address}\" }}\n{auth}"
    );
    let file = folder.join("registry.yml");
    fs::write(&file, config).unwrap();
    let mut command = Command::new("docker-registry");
    command.arg("serve").arg(&file);
    start(command, address)
}

/// crane's registry, a second and independent one; `None` where it isn't installed (it needs Go, which not every machine has).
pub(crate) fn crane(folder: &Path) -> Option<Server> {
    let program = crane_program()?;
    let address = format!("127.0.0.1:{}", free_port());
    let data = folder.join("crane");
    fs::create_dir(&data).unwrap();
    let mut command = Command::new(program);
    command.args(["registry", "serve", "--address", &address, "--disk"]).arg(data);
    Some(start(command, address))
}

pub(crate) fn crane_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|dir| dir.join("crane")).find(|program| program.is_file())
}
