//! A run outlives its controller: kill -9 of the controller, its store gone, and another one goes on from the copy, which is
//! away for a while.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::fs;
use std::io::{Write as _, copy};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const TRIALS: usize = 8;
/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(240);

fn experiment(dir: &Path, at: &str) -> String {
    format!(
        "experiment: outlive\nvolumes: {{ lent: {{ directory: '{}' }} }}\nstacks: {{ plain: {{ on: lent }} }}\n\
         workloads: {{ w: {{ rw: randwrite, bs: 4k, size: 2m, rate_iops: 300 }} }}\n\
         measure: {{ trial: 1s, ramp: 0s, rounds: {TRIALS} }}\nstore: {{ copy_to: '{at}' }}\n",
        dir.to_str().unwrap()
    )
}

/// Where copies go; it can be away.
trait Place {
    fn address(&self) -> String;
    fn shut(&self, is_shut: bool);
    /// The names of all trials there, `RUN/trials/ROUND/NAME` at their ends.
    fn trials(&self) -> Vec<String>;
    /// What the environment must say to reach it.
    fn environment(&self) -> Vec<(&'static str, String)>;
}

/// A folder, as one of NFS.
struct Folder {
    folder: PathBuf,
}

impl Folder {
    fn start(dir: &Path) -> Self {
        Self { folder: home(dir, "copies") }
    }
}

impl Place for Folder {
    fn environment(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn address(&self) -> String {
        format!("file://{}", self.folder.to_str().unwrap())
    }

    fn shut(&self, is_shut: bool) {
        let away = self.folder.with_extension("away");
        let (from, to) = if is_shut { (&self.folder, &away) } else { (&away, &self.folder) };
        fs::rename(from, to).unwrap();
    }

    /// There are none while it is away.
    fn trials(&self) -> Vec<String> {
        let below = |path: PathBuf| -> Vec<PathBuf> {
            fs::read_dir(path)
                .map_or(Vec::new(), |entries| entries.flatten().map(|entry| entry.path()).collect())
        };
        let rounds = below(self.folder.clone()).into_iter().flat_map(|run| below(run.join("trials")));
        let files = rounds.flat_map(below).map(|path| path.to_str().unwrap().to_owned());
        files.filter(|name| name.ends_with(".json.zst")).collect()
    }
}

/// moto's server, and a relay before it that can be shut.
struct Bucket {
    moto: Child,
    port: u16,
    relay: u16,
    is_shut: Arc<AtomicBool>,
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.moto.kill();
        let _ = self.moto.wait();
    }
}

impl Bucket {
    fn start() -> Self {
        let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cloud");
        assert!(modules.join("moto").exists(), "moto isn't installed: run scripts/setup.sh cloud");
        let port = testkit::free_port();
        let mut python = Command::new("/usr/bin/python3");
        python.args(["-B", "-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()]);
        python.env("PYTHONPATH", modules).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let moto = python.spawn().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let relay = listener.local_addr().unwrap().port();
        let is_shut = Arc::new(AtomicBool::new(false));
        let shut = Arc::clone(&is_shut);
        thread::spawn(move || {
            for stream in listener.incoming().flatten().filter(|_| !shut.load(Ordering::Relaxed)) {
                thread::spawn(move || forward(&stream, port));
            }
        });
        let bucket = Self { moto, port, relay, is_shut };
        wait("moto", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        assert!(bucket.ask("PUT", "/results").starts_with("HTTP/1.1 200"));
        bucket
    }

    /// Sends a request without a body, past the relay.
    fn ask(&self, method: &str, target: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let key = "AWS4-HMAC-SHA256 Credential=test/20261126/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0";
        write!(stream, "{method} {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: {key}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n").unwrap();
        let mut reply = Vec::new();
        copy(&mut stream, &mut reply).unwrap();
        String::from_utf8_lossy(&reply).into_owned()
    }
}

impl Place for Bucket {
    fn address(&self) -> String {
        "s3://results/lab".to_owned()
    }

    fn shut(&self, is_shut: bool) {
        self.is_shut.store(is_shut, Ordering::Relaxed);
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        vec![
            ("AWS_ENDPOINT_URL_S3", format!("http://127.0.0.1:{}", self.relay)),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
        ]
    }

    fn trials(&self) -> Vec<String> {
        let list = self.ask("GET", "/results?list-type=2&prefix=lab/");
        let keys =
            list.split("<Key>").skip(1).filter_map(|rest| Some(rest.split_once("</Key>")?.0.to_owned()));
        keys.filter(|key| key.contains("/trials/")).collect()
    }
}

fn forward(stream: &TcpStream, port: u16) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)) else { return };
    let (mut from, mut to) = (stream.try_clone().unwrap(), server.try_clone().unwrap());
    let sending = thread::spawn(move || {
        let _ = copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
    let _ = copy(&mut &server, &mut &*stream);
    let _ = stream.shutdown(Shutdown::Both);
    let _ = sending.join();
}

fn wait(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < PATIENCE, "{what} doesn't come");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A machine: a home of its own, with store and state.
fn diskproof(home: &Path, place: &dyn Place, args: &[&str]) -> Command {
    let mut command = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), home, args);
    command.envs(place.environment());
    command
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn home(dir: &Path, name: &str) -> PathBuf {
    let home = dir.join(name);
    fs::create_dir(&home).unwrap();
    home
}

#[test]
fn loop_a_run_goes_on_from_a_bucket_after_its_controller_is_gone() {
    let _alone = testkit::exclusive();
    goes_on_elsewhere(&testkit::fresh_dir("outlive-bucket"), &Bucket::start());
}

#[test]
fn loop_a_run_goes_on_from_a_folder_after_its_controller_is_gone() {
    let _alone = testkit::exclusive();
    let dir = testkit::fresh_dir("outlive-folder");
    goes_on_elsewhere(&dir, &Folder::start(&dir));
}

fn goes_on_elsewhere(dir: &Path, place: &dyn Place) {
    let at = &place.address();
    let (first, second) = (home(dir, "first"), home(dir, "second"));
    let lent = home(dir, "lent");
    fs::write(first.join("x.yaml"), experiment(&lent, at)).unwrap();

    let mut controller = diskproof(&first, place, &["run", "x.yaml"]);
    let mut controller = controller.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait("the first trial", || !place.trials().is_empty());
    controller.kill().unwrap();
    controller.wait().unwrap();
    let sent = place.trials().len();
    assert!((1..TRIALS).contains(&sent), "{sent}");
    // Its agent process undoes and ends by itself; then its machine is no more.
    wait("the undo", || {
        let undo = diskproof(&first, place, &["undo"]).output().unwrap();
        undo.status.success() && String::from_utf8_lossy(&undo.stdout).contains("nothing")
    });
    fs::remove_dir_all(&first).unwrap();

    let refused = diskproof(&second, place, &["resume", "--from", at]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("--take-over"), "{}", said(&refused));
    let mut resumed =
        diskproof(&second, place, &["resume", "--from", at, "--take-over", "--progress", "lines"]);
    let resumed = resumed.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait("a trial of the second controller", || place.trials().len() > sent);
    place.shut(true);
    let resumed = resumed.wait_with_output().unwrap();
    let text = said(&resumed);
    assert!(resumed.status.success(), "a destination that is away ends no run: {text}");
    assert!(text.contains("is taken over from the controller on"), "{text}");
    assert_eq!(text.matches("can't copy trials to").count(), 1, "{text}");
    assert!(text.contains(&format!(" not copied to {at} yet")), "{text}");

    place.shut(false);
    let rest = diskproof(&second, place, &["resume", "latest"]).output().unwrap();
    assert!(rest.status.success() && said(&rest).contains(&format!("copied to {at}")), "{}", said(&rest));
    let trials = place.trials();
    assert_eq!(trials.len(), TRIALS, "{trials:?}");

    // A third machine gets the same run, each trial once, and has nothing to do.
    let third = home(dir, "third");
    let run = trials[0].rsplit('/').nth(3).unwrap();
    let complete = diskproof(&third, place, &["resume", "--from", at, run]).output().unwrap();
    assert!(complete.status.success() && said(&complete).contains("is complete"), "{}", said(&complete));
    let cells = |home: &Path| {
        let output = diskproof(home, place, &["export", run, "--json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["cells"].clone()
    };
    let (there, here) = (cells(&second), cells(&third));
    assert_eq!(there[0]["trials"]["done"], TRIALS);
    assert_eq!(there, here, "judged anew, from the same records");
    fs::remove_dir_all(dir).unwrap();
}
