//! The server that pretends to be GCE, and the driver as a process.

use diskproof_driver::gce::{Gce, Pace};
use diskproof_driver::protocol::{Event, Outcome, Resource};
use diskproof_driver::serve::serve;
use host::http::{Body, HttpUrl, Request, send};
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const AS_DRIVER: &str = "DISKPROOF_TEST_AS_DRIVER";

/// The server; it ends with the process that holds its standard input.
pub(crate) struct Server {
    pub(crate) endpoint: String,
    pub(crate) ssh_port: u16,
    _child: Child,
    _input: ChildStdin,
}

/// The server of this test program.
pub(crate) fn server() -> &'static Server {
    static SERVER: OnceLock<Server> = OnceLock::new();
    SERVER.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let described = Command::new(here.join("../../scripts/google-api.sh"))
            .output()
            .expect("scripts/google-api.sh runs");
        assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
        let description = String::from_utf8_lossy(&described.stdout).trim().to_owned();
        let mut child = Command::new("python3")
            .arg("-B")
            .arg(here.join("tests/gce/server.py"))
            .arg(description)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 runs");
        let mut ports = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut ports).unwrap();
        let (api, ssh) = ports.trim().split_once(' ').expect("the server prints its ports");
        let (endpoint, ssh_port) = (format!("http://127.0.0.1:{api}"), ssh.parse().unwrap());
        Server { endpoint, ssh_port, _input: child.stdin.take().unwrap(), _child: child }
    })
}

fn control(method: &str, path: &str, body: &Value) -> Value {
    let url = HttpUrl::parse(&format!("{}/test/{path}", server().endpoint)).unwrap();
    let body = Body::Bytes(body.to_string().into_bytes());
    let reply = send(&Request::new(method, url).body(body)).unwrap();
    assert!(reply.is_success(), "{method} {path}: {}", String::from_utf8_lossy(&reply.body));
    serde_json::from_slice(&reply.body).unwrap()
}

/// A project of its own at the server.
pub(crate) struct Project {
    pub(crate) name: String,
}

impl Project {
    /// Makes one; the settings are those of server.py.
    pub(crate) fn new(settings: &Value) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("project-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        control("PUT", &name, settings);
        Self { name }
    }

    /// What is left of ours and what was changed of others', once nothing is on its way.
    pub(crate) fn verdict(&self) -> Value {
        control("POST", &self.name, &json!({}))
    }

    /// Fails if anything of ours is left, if anything of others was touched, or if a request was not valid.
    pub(crate) fn assert_clean(&self) -> Value {
        let verdict = self.verdict();
        for key in ["ours", "foreign_changed", "invalid"] {
            assert_eq!(verdict[key], json!([]), "{key} of {}: {verdict:#}", self.name);
        }
        verdict
    }
}

/// The driver as a process; its request waits.
pub(crate) struct Process {
    child: Child,
    request: String,
}

/// The driver as a program that speaks the protocol and nothing else: without the lines that a test program prints.
pub(crate) fn as_script(folder: &Path) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let text = format!(
        "#!/bin/sh\nexport {AS_DRIVER}=1 GOOGLE_OAUTH_ACCESS_TOKEN=test-token\n\
         '{}' rig::driver_process --exact --nocapture --quiet | grep --line-buffered '^{{'\n",
        exe.to_string_lossy(),
    );
    let path = folder.join("driver");
    testkit::script(&path, &text);
    path
}

/// What a driver's process told.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) events: Vec<Event>,
    /// `None`: it was killed, or told nothing.
    pub(crate) outcome: Option<Outcome>,
    pub(crate) output: String,
}

impl Process {
    /// Starts the driver in a process of its own: this test program, as [`driver_process`].
    pub(crate) fn start(task: Value, has_token: bool) -> Self {
        let mut request = json!({"protocol": "1.0"});
        request.as_object_mut().unwrap().extend(task.as_object().unwrap().clone());
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["rig::driver_process", "--exact", "--nocapture", "--quiet"])
            .env_clear()
            .env("HOME", env!("CARGO_TARGET_TMPDIR"));
        command.env(AS_DRIVER, "1");
        if has_token {
            command.env("GOOGLE_OAUTH_ACCESS_TOKEN", "test-token");
        }
        let child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, request: request.to_string() }
    }

    /// Tells the server whom to kill.
    pub(crate) fn doomed_by(self, project: &Project) -> Self {
        control("POST", &format!("{}/victim", project.name), &json!({"pid": self.child.id()}));
        self
    }

    /// Gives it its request and waits for its end; kills it after a time, if one is given.
    pub(crate) fn run(mut self, kill_after: Option<Duration>) -> Told {
        let mut input = self.child.stdin.take().unwrap();
        input.write_all(self.request.as_bytes()).unwrap();
        drop(input);
        if let Some(time) = kill_after {
            std::thread::sleep(time);
            let _ = self.child.kill();
        }
        let mut output = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut output).unwrap();
        self.child.wait().unwrap();
        let lines = output.lines().filter(|line| line.starts_with('{'));
        // A killed process may leave a part of a line.
        let mut events: Vec<Event> = lines.filter_map(|line| serde_json::from_str(line).ok()).collect();
        let outcome = match events.pop() {
            Some(Event::Result { outcome }) => Some(outcome),
            other => {
                events.extend(other);
                None
            }
        };
        Told { events, outcome, output }
    }
}

/// Performs a task in a process of its own.
pub(crate) fn perform(task: Value) -> Told {
    Process::start(task, true).run(None)
}

impl Told {
    /// The answer as JSON; the test fails without one.
    pub(crate) fn answer(&self) -> Value {
        match &self.outcome {
            Some(Outcome::Done(answer)) => serde_json::to_value(answer).unwrap(),
            _ => panic!("no answer:\n{}", self.output),
        }
    }

    /// The text of the failure; the test fails without one.
    pub(crate) fn failure(&self) -> String {
        match &self.outcome {
            Some(Outcome::Failed(failure)) => failure.text.clone(),
            _ => panic!("no failure:\n{}", self.output),
        }
    }

    /// The resources that it told of, made or removed.
    pub(crate) fn resources(&self, wanted: bool) -> Vec<Resource> {
        let of = |event: &'_ Event| match event {
            Event::Resource { resource, exists } if *exists == wanted => Some(resource.clone()),
            _ => None,
        };
        self.events.iter().filter_map(of).collect()
    }
}

/// Not a test: the driver, where [`Process::start`] runs this program.
#[test]
fn driver_process() {
    if std::env::var_os(AS_DRIVER).is_none() {
        return;
    }
    let pace = Pace {
        first_pause: Duration::from_millis(20),
        longest_pause: Duration::from_millis(400),
        settle: Duration::from_millis(1000),
        patience: Duration::from_secs(60),
        ..Pace::default()
    };
    serve(&Gce { pace }, std::io::stdin(), &mut std::io::stdout());
}
