//! Messages about a directory on a stacked file system, before and after a measurement in it. Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Mount points, unmounted in reverse order.
struct Mounted(Vec<PathBuf>);

impl Drop for Mounted {
    fn drop(&mut self) {
        while let Some(point) = self.0.pop() {
            let _ = Command::new("umount").arg(&point).status();
        }
        testkit::cleanup();
    }
}

fn run(program: &str, args: &[&str]) {
    let output = Command::new(program).args(args).output().unwrap();
    assert!(output.status.success(), "{program} {args:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn diskproof(dir: &Path, args: &[&str]) -> Output {
    testkit::program(assert_cmd::cargo::cargo_bin("diskproof"), dir, args).output().unwrap()
}

fn said(output: &Output) -> String {
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    // paragraphs are wrapped
    String::from_utf8(text).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn loop_plan_and_quick_say_what_lies_below_a_directory() {
    if !testkit::is_root() {
        eprintln!("SKIPPED: needs root");
        return;
    }
    let _machine = testkit::exclusive();
    testkit::cleanup();
    let dir = testkit::fresh_dir("cli-stacked");
    let at = |name: &str| {
        let path = dir.join(name);
        std::fs::create_dir_all(&path).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let mut mounted = Mounted(Vec::new());
    let (memory, merged, served, fuse) = (at("memory"), at("merged"), at("vda"), at("fuse"));
    run("mount", &["-t", "tmpfs", "tmpfs", &memory]);
    mounted.0.push(PathBuf::from(&memory));
    let [low, up, work] = ["memory/low", "memory/up", "memory/work"].map(at);
    let options = format!("lowerdir={low},upperdir={up},workdir={work}");
    run("mount", &["-t", "overlay", "overlay", "-o", &options, &merged]);
    mounted.0.push(PathBuf::from(&merged));
    run("bindfs", &[&served, &fuse]);
    mounted.0.push(PathBuf::from(&fuse));

    let experiment = concat!(env!("CARGO_MANIFEST_DIR"), "/../../experiments/lent-directory.yaml");
    let on_memory = format!("{merged} is memory, not storage: it lies on tmpfs (through overlay)");
    let on_fuse = format!(
        "{fuse} is on FUSE (`{served}`), and what lies below can't be seen from here; the share of the device will be unknown"
    );
    for (path, words) in [(&merged, &on_memory), (&fuse, &on_fuse)] {
        let set = format!("dir={path}");
        let plan = diskproof(&dir, &["plan", experiment, "--set", &set]);
        assert!(said(&plan).contains(words), "{}", said(&plan));
        let plan = diskproof(&dir, &["plan", experiment, "--set", &set, "--json"]);
        let document: serde_json::Value = serde_json::from_slice(&plan.stdout).unwrap();
        assert_eq!(document["remarks"], serde_json::json!([words]));
    }
    let quick = |path: &str| {
        said(&diskproof(&dir, &["quick", path, "--seconds", "1", "--rounds", "1", "--size", "16m"]))
    };
    let text = quick(&merged);
    assert!(text.contains(&format!("note: {on_memory}")), "{text}");
    assert!(text.contains("The storage under test is memory: it lies on tmpfs (through overlay)."), "{text}");
    let text = quick(&fuse);
    assert!(text.contains(&format!("note: {on_fuse}")), "{text}");
    assert!(text.contains("the share of the device is unknown") && !text.contains("100 % device"), "{text}");
}
