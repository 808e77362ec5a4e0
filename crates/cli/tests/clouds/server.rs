//! Servers that stand for clouds.

use serde_json::Value;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A server in Python; it ends with its standard input.
pub(crate) struct Server {
    child: Child,
    pub(crate) endpoint: String,
}

impl Server {
    /// Moto behind a strict door, whose machines all have this host key.
    pub(crate) fn ec2(host_key: Option<&str>) -> Self {
        let mut command = python(&root().join("tests/cloud/ec2_server.py"));
        command.env("PYTHONPATH", root().join("target/cloud"));
        if let Some(key) = host_key {
            command.env("DISKPROOF_TEST_HOST_KEY", key.trim());
        }
        Self::start(command, |line| {
            let told: Value = serde_json::from_str(line).expect("run scripts/setup.sh cloud");
            told["port"].to_string()
        })
    }

    /// Starts a server; `port` finds its port in the first line that it prints.
    pub(crate) fn start(mut command: Command, port: impl Fn(&str) -> String) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        Self { child, endpoint: format!("http://127.0.0.1:{}", port(&line)) }
    }
}

/// A script, to be started.
pub(crate) fn python(script: &Path) -> Command {
    let mut command = Command::new("/usr/bin/python3");
    command.arg("-B").arg(script);
    command
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
