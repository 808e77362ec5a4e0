//! The two processes that stand for EC2 and for `aws`.

use super::Relay;
use diskproof_driver::ec2::{Ec2, Pace};
use diskproof_driver::protocol::{
    Answer, Claim, Event, MachineRequest, Outcome, Request, Settings, Task, VERSION,
};
use diskproof_driver::serve::serve;
use host::LocalRunner;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// EC2 in one process of Python, `aws` in another; both end with this value.
pub(crate) struct Service {
    server: Child,
    relay: Child,
    directory: tempfile::TempDir,
    port: u16,
    sshd: u16,
}

impl Service {
    pub(crate) fn start() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (files, modules) = (root.join("tests/cloud"), root.join("target/cloud"));
        assert!(modules.join("moto").exists(), "moto is not installed: run scripts/setup.sh cloud");
        let python = || Command::new("/usr/bin/python3");
        let mut server =
            begin(python().env("PYTHONPATH", modules).arg("-B").arg(files.join("ec2_server.py")));
        let socket = directory.path().join("aws");
        // Debian's Python, as the first line of /usr/bin/aws says.
        let mut relay =
            begin(Command::new("/usr/bin/python3").arg("-B").arg(files.join("aws_relay.py")).arg(socket));
        let told: Value = serde_json::from_str(&first_line(&mut server)).unwrap();
        assert_eq!(
            first_line(&mut relay).trim(),
            "ready",
            "Debian's awscli is not installed: run scripts/setup.sh cloud"
        );
        let port = |key: &str| u16::try_from(told[key].as_u64().unwrap()).unwrap();
        Self { server, relay, directory, port: port("port"), sshd: port("sshd") }
    }

    /// The socket of `aws`.
    pub(crate) fn socket(&self) -> PathBuf {
        self.directory.path().join("aws")
    }

    /// A file below the test's directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// Has the driver do a task in this process; returns its events and its answer.
    pub(crate) fn perform(&self, task: Task) -> (Vec<Event>, Outcome) {
        let request = Request { protocol: VERSION.to_owned(), task };
        let mut output = Vec::new();
        serve(&driver_by(&self.socket()), serde_json::to_vec(&request).unwrap().as_slice(), &mut output);
        events_of(&String::from_utf8(output).unwrap())
    }

    /// As [`Self::perform`], for what must succeed.
    pub(crate) fn done(&self, task: Task) -> Answer {
        match self.perform(task).1 {
            Outcome::Done(answer) => answer,
            Outcome::Failed(failure) => panic!("{failure:?}"),
        }
    }

    /// The URL of EC2.
    pub(crate) fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Settings that lead here.
    pub(crate) fn settings(&self) -> Settings {
        let settings = json!({
            "region": "eu-west-1",
            "endpoint": self.endpoint(),
            "machine_type": "m7i.large",
            "ssh_from": "192.0.2.7/32",
            "ssh_port": self.sshd,
            "wait_seconds": 30,
        });
        settings.as_object().unwrap().clone()
    }

    /// A machine with volumes of these settings.
    pub(crate) fn machine(&self, name: &str, more: &Value, volumes: &[Value]) -> MachineRequest {
        let mut settings = self.settings();
        settings.extend(more.as_object().unwrap().clone());
        let volumes = volumes.iter().enumerate().map(|(index, volume)| {
            json!({"name": format!("v{index}"), "size_bytes": volume["size_bytes"], "settings": volume["settings"]})
        });
        let volumes: Vec<_> = volumes.collect();
        serde_json::from_value(json!({"name": name, "settings": settings, "volumes": volumes})).unwrap()
    }

    /// Gives the server an order; see tests/cloud/ec2_server.py.
    pub(crate) fn order(&self, name: &str, body: &Value) -> Value {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let body = body.to_string();
        let head =
            format!("POST /_test/{name} HTTP/1.0\r\nHost: ec2\r\nContent-Length: {}\r\n\r\n", body.len());
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        let mut reply = String::new();
        stream.read_to_string(&mut reply).unwrap();
        let (_, body) = reply.split_once("\r\n\r\n").unwrap();
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{name}: {error}: {reply}"))
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        for child in [&mut self.server, &mut self.relay] {
            drop(child.stdin.take());
            let _ = child.wait();
        }
    }
}

/// The driver as it is shipped, but for its patience and the start of `aws`.
pub(crate) fn driver_by(socket: &Path) -> Ec2 {
    Ec2::new(Box::new(Relay { socket: socket.to_path_buf() }), pace())
}

/// The driver as it is shipped, but for its patience.
pub(crate) fn driver_of_aws() -> Ec2 {
    Ec2::new(Box::new(LocalRunner), pace())
}

fn pace() -> Pace {
    Pace {
        first_wait: Duration::from_millis(20),
        patience: Duration::from_secs(20),
        poll: Duration::from_millis(60),
        looks: 3,
        console: Duration::from_secs(2),
    }
}

/// The events of an output, and its result.
pub(crate) fn events_of(output: &str) -> (Vec<Event>, Outcome) {
    let mut events: Vec<Event> = output.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    match events.pop() {
        Some(Event::Result { outcome }) => (events, outcome),
        other => panic!("the last event is no result: {other:?}"),
    }
}

/// A claim with that id.
pub(crate) fn claim(number: u64) -> Claim {
    Claim {
        id: format!("{:032x}", u128::from(number) + (0xd15c_u128 << 100)),
        run: "faults".into(),
        deadline: 2_000_000_000,
    }
}

fn begin(command: &mut Command) -> Child {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test").spawn().unwrap()
}

fn first_line(child: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    line
}
