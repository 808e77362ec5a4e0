//! Root measures in a directory of another user, who replaces diskproof's sub-directory; or root keeps its state in a directory that
//! others may write. diskproof must not write, read or remove root's files, and must leave nothing behind.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

const NOBODY: u32 = 65534;
const ENGINES: [(&str, &str); 4] = [
    ("native", "rw: randrw, bs: 4k, size: 8m, numjobs: 2"),
    ("fio", "engine: fio, rw: randrw, bs: 4k, size: 8m, numjobs: 2"),
    ("bonnie", "engine: bonnie, bonnie: { s: 8m, n: 1, r: 0, f: 1 }"),
    ("corpus", "engine: corpus, corpus: mail, files: 200"),
];

struct Scene {
    dir: PathBuf,
    given: PathBuf,
    secret: PathBuf,
    _alone: testkit::Exclusive,
}

impl Scene {
    /// A directory of the user nobody to measure in, and one that only root may enter. Without root, prints a message and returns `None`.
    fn new(name: &str) -> Option<Self> {
        if !testkit::is_root() {
            eprintln!("SKIPPED {name}: needs root");
            return None;
        }
        let alone = testkit::exclusive();
        let dir = testkit::fresh_dir(&format!("hostile-{name}"));
        let (given, secret) = (dir.join("given"), dir.join("secret"));
        for path in [&given, &secret] {
            fs::create_dir(path).unwrap();
        }
        chown(&given, Some(NOBODY), Some(NOBODY)).unwrap();
        fs::set_permissions(&secret, Permissions::from_mode(0o700)).unwrap();
        for name in ["diskproof-data.0", "diskproof-data.1"] {
            fs::write(secret.join(name), "precious").unwrap();
        }
        Some(Self { dir, given, secret, _alone: alone })
    }

    fn experiment(&self, workload: &str) {
        let text = format!(
            "experiment: hostile\nvolumes: {{ lent: {{ directory: {} }} }}\nstacks: {{ directory: {{ on: lent }} }}\n\
             workloads: {{ load: {{ {workload} }} }}\nmeasure: {{ trial: 1s, ramp: 0s, rounds: 2 }}\n",
            self.given.to_str().unwrap()
        );
        fs::write(self.dir.join("e.yaml"), text).unwrap();
    }

    /// Runs diskproof, with an attacker in parallel.
    fn run_beside(&self, args: &[&str], beside: impl Fn(&AtomicBool) + Sync) -> Output {
        let mut command = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &self.dir, args);
        let end = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let attacker = scope.spawn(|| beside(&end));
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
            let output = child.and_then(std::process::Child::wait_with_output);
            end.store(true, Ordering::Relaxed);
            attacker.join().unwrap();
            output.unwrap()
        })
    }

    /// diskproof's sub-directory, if it exists already.
    fn ours(&self) -> Option<PathBuf> {
        let entries = fs::read_dir(&self.given).ok()?.flatten();
        let mut dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        dirs.find(|entry| entry.file_name().to_string_lossy().starts_with("diskproof-")).map(|e| e.path())
    }

    fn await_ours(&self, end: &AtomicBool) -> Option<PathBuf> {
        let until = Instant::now() + Duration::from_secs(60);
        while !end.load(Ordering::Relaxed) && Instant::now() < until {
            if let Some(path) = self.ours() {
                return Some(path);
            }
        }
        None
    }

    #[track_caller]
    fn assert_unharmed(&self, what: &str, output: &Output) {
        let said = format!(
            "{what}: {:?}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        let mut names: Vec<_> = fs::read_dir(&self.secret).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["diskproof-data.0", "diskproof-data.1"], "{said}");
        for name in names {
            assert_eq!(fs::read(self.secret.join(name)).unwrap(), b"precious", "{said}");
        }
    }

    /// The directories of root's below the user's one.
    fn left(&self) -> Vec<PathBuf> {
        fn below(dir: &Path, found: &mut Vec<PathBuf>) {
            for entry in fs::read_dir(dir).unwrap().flatten() {
                let about = fs::symlink_metadata(entry.path()).unwrap();
                if about.is_dir() {
                    below(&entry.path(), found);
                }
                if std::os::unix::fs::MetadataExt::uid(&about) == 0 && !about.is_symlink() {
                    found.push(entry.path());
                }
            }
        }
        let mut found = Vec::new();
        below(&self.given, &mut found);
        found
    }

    /// Empties the owner's directory.
    fn clear(&self) {
        for entry in fs::read_dir(&self.given).unwrap().flatten() {
            let _ = fs::remove_file(entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Replaces diskproof's sub-directory, as soon as it exists, by a link to root's directory or by a directory full of links.
fn replace(scene: &Scene, end: &AtomicBool, by_links: bool) -> bool {
    let Some(ours) = scene.await_ours(end) else { return false };
    fs::rename(&ours, scene.given.join("stolen")).unwrap();
    if by_links {
        fs::create_dir(&ours).unwrap();
        chown(&ours, Some(NOBODY), Some(NOBODY)).unwrap();
        for name in ["diskproof-data.0", "diskproof-data.1"] {
            symlink(scene.secret.join(name), ours.join(name)).unwrap();
        }
    } else {
        symlink(&scene.secret, &ours).unwrap();
    }
    true
}

#[test]
fn loop_the_owner_of_a_lent_directory_cannot_lead_any_engine_elsewhere() {
    let Some(scene) = Scene::new("replace") else { return };
    for (engine, workload) in ENGINES {
        for by_links in [false, true] {
            let what = format!("{engine}, by {}", if by_links { "a directory of links" } else { "a link" });
            scene.experiment(workload);
            let output = loop {
                let replaced = AtomicBool::new(false);
                let output = scene.run_beside(&["run", "e.yaml"], |end| {
                    replaced.store(replace(&scene, end, by_links), Ordering::Relaxed);
                });
                assert!(replaced.load(Ordering::Relaxed), "{what}: there was nothing to replace");
                scene.assert_unharmed(&what, &output);
                // exchanged even before the guard opened it, for a link or for a directory of the owner's: the run is refused, and no
                // engine was led anywhere
                let said = String::from_utf8_lossy(&output.stderr);
                let refused = output.status.code() == Some(3)
                    && ["was made and is something else now", "was made and belongs to user"]
                        .iter()
                        .any(|why| said.contains(why));
                if !refused {
                    break output;
                }
                scene.clear();
            };
            assert_eq!(output.status.code(), Some(0), "{what}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(scene.left(), Vec::<PathBuf>::new(), "{what}: ours is found where it was moved to");
            scene.clear();
        }
    }
}

#[test]
fn loop_exchanging_it_during_run_and_undo_harms_nobody() {
    let Some(scene) = Scene::new("exchange") else { return };
    let times = AtomicU32::new(0);
    for (engine, workload) in ENGINES {
        scene.experiment(workload);
        let output = scene.run_beside(&["run", "e.yaml"], |end| {
            let Some(ours) = scene.await_ours(end) else { return };
            let link = scene.given.join("link");
            let _ = fs::remove_file(&link);
            symlink(&scene.secret, &link).unwrap();
            while !end.load(Ordering::Relaxed) {
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                if rustix::fs::renameat_with(rustix::fs::CWD, &ours, rustix::fs::CWD, &link, flags).is_ok() {
                    times.fetch_add(1, Ordering::Relaxed);
                }
                std::thread::sleep(Duration::from_micros(50));
            }
        });
        scene.assert_unharmed(engine, &output);
        let undo = scene.run_beside(&["undo"], |_| {});
        scene.assert_unharmed(engine, &undo);
        assert_eq!(scene.left(), Vec::<PathBuf>::new(), "{engine}");
    }
    assert!(times.load(Ordering::Relaxed) > 1000, "{times:?} exchanges show nothing");
}

#[test]
fn loop_a_lent_directory_that_is_moved_away_in_mid_run_keeps_nothing_of_ours() {
    let Some(scene) = Scene::new("moved") else { return };
    for owner in [NOBODY, 0] {
        chown(&scene.given, Some(owner), Some(owner)).unwrap();
        scene.experiment(ENGINES[0].1);
        let moved = scene.dir.join("moved");
        let output = scene.run_beside(&["run", "e.yaml"], |end| {
            if scene.await_ours(end).is_some() {
                std::thread::sleep(Duration::from_millis(300));
                fs::rename(&scene.given, &moved).unwrap();
            }
        });
        assert!(moved.exists());
        assert_eq!(fs::read_dir(&moved).unwrap().count(), 0, "{}", String::from_utf8_lossy(&output.stderr));
        fs::rename(&moved, &scene.given).unwrap();
    }
}

#[test]
fn loop_undo_says_where_somebody_had_moved_what_a_killed_run_left() {
    let Some(scene) = Scene::new("left") else { return };
    scene.experiment(ENGINES[0].1);
    let mut command =
        testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &scene.dir, &["run", "e.yaml"]);
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let ours = scene.await_ours(&AtomicBool::new(false)).unwrap();
    // its mark and the journal's line follow immediately
    while fs::read_dir(&ours).unwrap().count() == 0 {
        assert!(run.try_wait().unwrap().is_none(), "it was to be killed while it measures");
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", run.id())).unwrap();
    for pid in
        children.split_whitespace().map(|pid| pid.parse().unwrap()).chain([run.id().try_into().unwrap()])
    {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    run.wait().unwrap();
    let stolen = scene.given.join("stolen");
    fs::rename(&ours, &stolen).unwrap();
    let undo = scene.run_beside(&["undo"], |_| {});
    let said = String::from_utf8_lossy(&undo.stdout).replace('\n', " ");
    assert_eq!((undo.status.code(), scene.left()), (Some(0), Vec::new()), "{said}");
    assert!(
        said.contains(&format!("undone at {}, where somebody had moved it", stolen.to_str().unwrap())),
        "{said}"
    );
}

#[test]
fn loop_a_state_directory_with_parts_that_others_may_write_is_refused() {
    let Some(scene) = Scene::new("state") else { return };
    let volumes = "volumes: { vol: { emulate: { size: 300m } } }\nstacks: { raw: { on: vol } }";
    let text = format!(
        "experiment: state\n{volumes}\nworkloads: {{ load: {{ rw: read, bs: 64k, size: 8m }} }}\n\
         measure: {{ trial: 1s, ramp: 0s, rounds: 1 }}\n"
    );
    fs::write(scene.dir.join("e.yaml"), text).unwrap();
    let state = scene.dir.join("state");
    let parts = ["", "volumes", "mnt", "journal", "scratch"];
    for (part, (owner, mode)) in parts.iter().flat_map(|part| [(*part, (NOBODY, 0o755)), (*part, (0, 0o777))])
    {
        let _ = fs::remove_dir_all(&state);
        fs::create_dir(&state).unwrap();
        fs::set_permissions(&state, Permissions::from_mode(0o700)).unwrap();
        let path = if part.is_empty() { state.clone() } else { state.join(part) };
        let _ = fs::create_dir(&path);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        chown(&path, Some(owner), Some(owner)).unwrap();
        let output = scene.run_beside(&["run", "e.yaml"], |_| {});
        let said = String::from_utf8_lossy(&output.stderr);
        assert_ne!(output.status.code(), Some(0), "{part} {owner} {mode:o}: {said}");
        assert!(said.contains(path.to_str().unwrap()), "{part}: it is named: {said}");
        for untouched in ["volumes", "mnt", "journal"].map(|part| state.join(part)) {
            let inside = fs::read_dir(&untouched).into_iter().flatten().flatten().count();
            assert_eq!(inside, 0, "{part} {owner} {mode:o}: something was made in {untouched:?}");
        }
    }
}

#[test]
fn loop_nothing_is_wide_open_when_the_umask_is() {
    let Some(scene) = Scene::new("umask") else { return };
    scene.experiment(ENGINES[0].1);
    chown(&scene.given, Some(0), Some(0)).unwrap();
    let inner = testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), &scene.dir, &["run", "e.yaml"]);
    let mut shell = testkit::program("/bin/sh", &scene.dir, &["-c", "umask 000 && exec \"$0\" \"$@\""]);
    let output = shell.arg(inner.get_program()).args(inner.get_args()).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    fn open(dir: &Path, found: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(dir).unwrap().flatten() {
            let about = fs::symlink_metadata(entry.path()).unwrap();
            if about.is_dir() {
                open(&entry.path(), found);
            }
            if !about.is_symlink() && about.permissions().mode() & 0o022 != 0 {
                found.push(entry.path());
            }
        }
    }
    let (mut found, state) = (Vec::new(), scene.dir.join("state"));
    open(&state, &mut found);
    assert_eq!(found, Vec::<PathBuf>::new());
    assert_eq!(fs::metadata(&state).unwrap().permissions().mode() & 0o022, 0);
}
