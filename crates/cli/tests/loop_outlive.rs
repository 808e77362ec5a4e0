//! A run outlives its controller: kill -9 of the controller, its store gone, and another one goes on from the copy, which is
//! away for a while.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
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
        dir.display()
    )
}

/// A folder that can be away, as one of NFS.
struct Place {
    folder: PathBuf,
}

impl Place {
    fn start(dir: &Path) -> Self {
        Self { folder: home(dir, "copies") }
    }

    fn address(&self) -> String {
        format!("file://{}", self.folder.display())
    }

    fn shut(&self, shut: bool) {
        let away = self.folder.with_extension("away");
        let (from, to) = if shut { (&self.folder, &away) } else { (&away, &self.folder) };
        fs::rename(from, to).unwrap();
    }

    /// The names of all trials; none while the folder is away.
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

fn wait(what: &str, mut is_there: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_there() {
        assert!(began.elapsed() < PATIENCE, "{what} doesn't come");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A machine: a home of its own, with store and state.
fn diskproof(home: &Path, args: &[&str]) -> Command {
    testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), home, args)
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
fn loop_a_run_goes_on_elsewhere_after_its_controller_is_gone() {
    let dir = testkit::fresh_dir("outlive");
    let place = Place::start(&dir);
    let at = &place.address();
    let (first, second) = (home(&dir, "first"), home(&dir, "second"));
    let lent = home(&dir, "lent");
    fs::write(first.join("x.yaml"), experiment(&lent, at)).unwrap();

    let mut controller = diskproof(&first, &["run", "x.yaml"]);
    let mut controller = controller.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait("the first trial", || !place.trials().is_empty());
    controller.kill().unwrap();
    controller.wait().unwrap();
    let sent = place.trials().len();
    assert!((1..TRIALS).contains(&sent), "{sent}");
    // Its agent process undoes and ends by itself; then its machine is no more.
    wait("the undo", || {
        let undo = diskproof(&first, &["undo"]).output().unwrap();
        undo.status.success() && String::from_utf8_lossy(&undo.stdout).contains("nothing")
    });
    fs::remove_dir_all(&first).unwrap();

    let refused = diskproof(&second, &["resume", "--from", at]).output().unwrap();
    assert_eq!(refused.status.code(), Some(3), "{}", said(&refused));
    assert!(said(&refused).contains("--take-over"), "{}", said(&refused));
    let mut resumed = diskproof(&second, &["resume", "--from", at, "--take-over", "--progress", "lines"]);
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
    let rest = diskproof(&second, &["resume", "latest"]).output().unwrap();
    assert!(rest.status.success() && said(&rest).contains(&format!("copied to {at}")), "{}", said(&rest));
    let trials = place.trials();
    assert_eq!(trials.len(), TRIALS, "{trials:?}");

    // A third machine gets the same run, each trial once, and has nothing to do.
    let third = home(&dir, "third");
    let run = trials[0].rsplit('/').nth(3).unwrap();
    let complete = diskproof(&third, &["resume", "--from", at, run]).output().unwrap();
    assert!(complete.status.success() && said(&complete).contains("is complete"), "{}", said(&complete));
    let cells = |home: &Path| {
        let output = diskproof(home, &["export", run, "--json"]).output().unwrap();
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        document["cells"].clone()
    };
    let (there, here) = (cells(&second), cells(&third));
    assert_eq!(there[0]["trials"]["done"], TRIALS);
    assert_eq!(there, here, "judged anew, from the same records");
    fs::remove_dir_all(&dir).unwrap();
}
