//! Tests of the binary without root: help, exit codes, bad input, settings.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use assert_cmd::Command;
use std::path::Path;
use tempfile::TempDir;

/// A temporary home, so that the tests don't touch the user's settings, store or state.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn write(&self, name: &str, text: &str) -> String {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path.to_string_lossy().into_owned()
    }

    fn diskproof(&self, args: &[&str]) -> Answer {
        let output = Command::cargo_bin("diskproof")
            .unwrap()
            .args(args)
            .env_clear()
            .env("HOME", self.path())
            .env("DISKPROOF_STATE", self.path().join("state"))
            .current_dir(self.path())
            .output()
            .unwrap();
        Answer::of(&output, self.path())
    }
}

/// The output of a command, with the home's path replaced.
struct Answer {
    code: i32,
    out: String,
    err: String,
}

impl Answer {
    fn of(output: &std::process::Output, home: &Path) -> Self {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*home.to_string_lossy(), "HOME");
        Self {
            code: output.status.code().expect("ended by itself"),
            out: text(&output.stdout),
            err: text(&output.stderr),
        }
    }
}

const VERBS: [&str; 33] = [
    "quick",
    "calibrate",
    "new",
    "plan",
    "run",
    "resume",
    "show",
    "report",
    "list",
    "import",
    "export",
    "compare",
    "gate",
    "history",
    "tag",
    "choose",
    "cost",
    "judge",
    "undo",
    "devices",
    "claim",
    "unclaim",
    "create",
    "converge",
    "verify",
    "destroy",
    "login",
    "test",
    "driver",
    "lab",
    "doctor",
    "completions",
    "node",
];

#[test]
fn help_of_the_whole() {
    let answer = Home::new().diskproof(&["--help"]);
    assert_eq!((answer.code, answer.err.as_str()), (0, ""));
    insta::assert_snapshot!(answer.out);
}

#[test]
fn every_verb_has_help() {
    for verb in VERBS {
        let answer = Home::new().diskproof(&[verb, "--help"]);
        assert_eq!(answer.code, 0, "{verb}: {}", answer.err);
        assert!(answer.out.contains(&format!("Usage: diskproof {verb}")), "{verb}: {}", answer.out);
    }
    for verb in [
        "quick",
        "calibrate",
        "new",
        "plan",
        "run",
        "resume",
        "show",
        "report",
        "export",
        "compare",
        "gate",
        "history",
        "tag",
        "choose",
        "cost",
        "judge",
        "undo",
        "claim",
        "completions",
    ] {
        assert!(Home::new().diskproof(&[verb, "--help"]).out.contains("Examples:"), "{verb} has no examples");
    }
}

#[test]
fn help_fits_the_width_of_the_terminal() {
    let home = Home::new();
    for width in [60, 80, 100, 140] {
        for verb in VERBS.iter().filter(|verb| **verb != "node").map(Some).chain([None]) {
            let mut command = Command::cargo_bin("diskproof").unwrap();
            command.args(verb).arg("--help").env_clear().env("HOME", home.path());
            let output = command.env("COLUMNS", width.to_string()).output().unwrap();
            let help = String::from_utf8_lossy(&output.stdout).into_owned();
            // the usage is one line
            let wraps = |line: &&str| !line.starts_with("Usage: ");
            for line in help.lines().filter(wraps) {
                assert!(line.chars().count() <= width, "{verb:?} at {width}: {line}");
            }
            assert!(help.contains("Usage: diskproof"), "{help}");
        }
    }
}

#[test]
fn hidden_verbs_are_hidden() {
    let help = Home::new().diskproof(&["--help"]).out;
    for verb in ["  node", "  look", "  generate"] {
        assert!(!help.contains(verb), "{verb}");
    }
}

#[test]
fn wrong_arguments_end_with_2() {
    let cases: [(&[&str], &str); 9] = [
        (&[], "Usage: diskproof"),
        (&["frobnicate"], "unrecognized subcommand"),
        (&["run"], "<FILE>"),
        (&["run", "x.yaml", "--frob"], "unexpected argument"),
        (&["export", "latest"], "--json"),
        (&["export", "latest", "--json", "--csv"], "cannot be used with"),
        (&["quick", ".", "--seconds", "0"], "0 is not in 1..=3600"),
        (&["completions", "tcsh"], "possible values"),
        (&["list", "--quiet", "--progress", "live"], "cannot be used with"),
    ];
    for (args, said) in cases {
        let answer = Home::new().diskproof(args);
        assert_eq!(answer.code, 2, "{args:?}: {}", answer.err);
        assert!(answer.err.contains(said), "{args:?}: {}", answer.err);
    }
}

#[test]
fn wrong_experiments_end_with_2_and_name_the_place() {
    let home = Home::new();
    let absent = home.diskproof(&["plan", "absent.yaml"]);
    assert_eq!(absent.code, 2, "{}", absent.err);
    assert!(absent.err.contains("absent.yaml"), "{}", absent.err);

    home.write("typo.yaml", "experiment: x\nvolumes: {}\nstaks: {}\nworkloads: {}\n");
    for verb in ["plan", "run"] {
        let typo = home.diskproof(&[verb, "typo.yaml"]);
        assert_eq!(typo.code, 2, "{verb}");
        assert!(typo.err.starts_with("typo.yaml:"), "{}", typo.err);
        assert!(typo.err.contains("typo.yaml:3:1") && typo.err.contains("stacks"), "{}", typo.err);
    }
    assert!(!home.path().join(".local").exists(), "a refused experiment leaves no store");
}

#[test]
fn parameters_must_be_given_where_nobody_can_be_asked() {
    let home = Home::new();
    let file = home.write("new.yaml", &home.diskproof(&["new", "--kind", "directory"]).out);
    let missing = home.diskproof(&["plan", &file]);
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("dir") && missing.err.contains("--set"), "{}", missing.err);

    for (set, said) in [("dir", "NAME=VALUE"), ("die=/tmp", "dir")] {
        let wrong = home.diskproof(&["plan", &file, "--set", set]);
        assert_eq!(wrong.code, 2, "{set}");
        assert!(wrong.err.contains(said), "{set}: {}", wrong.err);
    }
    let twice = home.diskproof(&["plan", &file, "--set", "dir=/tmp", "--set", "dir=/var"]);
    assert_eq!(
        (twice.code, twice.err.as_str()),
        (2, "diskproof: --set dir: given twice; which one is meant?\n")
    );
}

/// Runs a command line under a pseudo-terminal and types `typed` into it; `None` without script(1).
fn on_a_terminal(home: &Home, line: &str, typed: &str) -> Option<(i32, String)> {
    let mut child = std::process::Command::new("script")
        .args(["--quiet", "--return", "--command", line, "/dev/null"])
        .env("HOME", home.path())
        .current_dir(home.path())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .map_err(|error| eprintln!("SKIPPED: script(1): {error}"))
        .ok()?;
    std::io::Write::write_all(child.stdin.as_mut().unwrap(), typed.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    Some((output.status.code().unwrap(), String::from_utf8_lossy(&output.stdout).into_owned()))
}

#[test]
fn a_person_is_asked_for_what_is_missing() {
    let home = Home::new();
    home.write("new.yaml", &home.diskproof(&["new", "--kind", "directory"]).out);
    let line = format!("'{}' plan new.yaml", assert_cmd::cargo::cargo_bin("diskproof").to_string_lossy());
    let Some((code, said)) = on_a_terminal(&home, &line, "/srv\n") else { return };
    assert_eq!(code, 0, "{said}");
    assert!(said.contains("dir (a directory on the storage in question): "), "{said}");
    assert!(said.contains("directory /srv"), "{said}");
}

#[test]
fn the_experiments_that_are_shipped_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "yaml") {
            continue;
        }
        let path = path.to_str().unwrap();
        let text = std::fs::read_to_string(path).unwrap();
        let set: &[&str] = if text.contains("  dir: {") { &["--set", "dir=/tmp"] } else { &[] };
        let plan = Home::new().diskproof(&[&["plan", path], set].concat());
        assert_eq!(plan.code, 0, "{path}: {}", plan.err);
        seen += 1;
    }
    assert!(seen >= 4, "{seen}");
}

#[test]
fn plan_tells_matrix_order_and_cost_and_changes_nothing() {
    let home = Home::new();
    home.write("my.yaml", &home.diskproof(&["new"]).out);
    let plan = home.diskproof(&["plan", "my.yaml", "--seed", "7"]);
    assert_eq!(plan.code, 0, "{}", plan.err);
    for word in [
        "btrfs-raid0-4",
        "randrw-16k",
        "round 1 (seed 7)",
        "Forecast",
        "needs root",
        "of space",
        "is within ±5 %",
        "72 to 240 trials: 12 cells x 6 to 20 rounds",
        "vol[0] to vol[3]",
    ] {
        assert!(plan.out.contains(word), "{word}: {}", plan.out);
    }
    let again = home.diskproof(&["plan", "my.yaml", "--seed", "7"]);
    assert_eq!(plan.out, again.out, "the same seed gives the same order");

    let json = home.diskproof(&["plan", "my.yaml", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(document["order"].as_array().unwrap().len(), 20);
    let forecast = &document["forecast"];
    assert_eq!([&forecast["least"]["rounds"], &forecast["most"]["rounds"]], [6, 20]);
    assert!(forecast["least"]["seconds"].as_f64() < forecast["most"]["seconds"].as_f64(), "{forecast}");
    let left: Vec<_> = std::fs::read_dir(home.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left, ["my.yaml"]);
}

#[test]
fn plan_says_every_layer_and_option_and_what_is_missing_here() {
    let home = Home::new();
    let file = |dir: &str| {
        format!(
            "experiment: demo\nvolumes: {{ d: {{ directory: {dir} }} }}\nstacks: {{ xfs: {{}} }}\nworkloads:\n  w: {{ rw: randwrite, \
             size: 1m, fsync: 8, norandommap: 1, engine: native }}\nmeasure: {{ rounds: 3 }}\n"
        )
    };
    home.write("there.yaml", &file("."));
    home.write("gone.yaml", &file("no-such-place"));
    let there = home.diskproof(&["plan", "there.yaml", "--here"]);
    assert_eq!(there.code, 0, "{}{}", there.out, there.err);
    for part in ["xfs: no layers", "fsync per 8 writes", "norandommap", "everything that this needs is here"]
    {
        assert!(there.out.contains(part), "{part}: {}", there.out);
    }
    let gone = home.diskproof(&["plan", "gone.yaml", "--here"]);
    assert_eq!(gone.code, 3, "{}{}", gone.out, gone.err);
    assert!(gone.out.contains("missing here: directory HOME/no-such-place"), "{}", gone.out);
    assert_eq!(home.diskproof(&["plan", "gone.yaml"]).code, 0, "without --here it is only said");
    let json: serde_json::Value =
        serde_json::from_str(&home.diskproof(&["plan", "gone.yaml", "--json"]).out).unwrap();
    assert_eq!(json["missing_here"].as_array().map(Vec::len), Some(1), "{json}");
}

#[test]
fn a_file_in_place_of_a_verb_gets_the_way_out() {
    let typed = Home::new().diskproof(&["my.yaml"]);
    assert_eq!(typed.code, 2);
    assert!(typed.err.contains("`diskproof run my.yaml` does it"), "{}", typed.err);
    let job = Home::new().diskproof(&["my.fio"]);
    assert_eq!(job.code, 2);
    assert!(job.err.contains("`diskproof run my.fio --on DIR` does it"), "{}", job.err);
}

#[test]
fn plan_tells_what_becomes_of_the_resync_of_mirrors() {
    let home = Home::new();
    let mirrors = [
        ("one", "md: { level: raid1 }"),
        ("two", "md: { level: raid10, resync: skip }"),
        ("three", "md: { level: raid1, resync: wait }"),
        ("four", "lvm: { raid: raid1, resync: wait }"),
        ("five", "md: { level: raid0 }"),
    ];
    let stacks: String = mirrors
        .iter()
        .map(|(name, layer)| format!("  {name}: {{ on: v, layers: [ {{ {layer} }} ] }}\n"))
        .collect();
    home.write(
        "my.yaml",
        &format!(
            "experiment: mirrors\nvolumes: {{ v: {{ count: 4, emulate: {{ size: 64m }} }} }}\nstacks:\n{stacks}\
             workloads: {{ r: {{ rw: randread, bs: 4k, size: 1m }} }}\nmeasure: {{ trial: 1s }}\n"
        ),
    );
    let plan = home.diskproof(&["plan", "my.yaml"]);
    assert_eq!(plan.code, 0, "{}", plan.err);
    let said = [
        "Building",
        "  four: initial resync of lvm waited for",
        "  three: initial resync of md waited for",
        "  one, two: initial resync of md left out, so what was never written may differ between the copies",
    ];
    assert!(plan.out.contains(&said.join("\n")), "{}", plan.out);
}

#[test]
fn new_never_overwrites() {
    let home = Home::new();
    assert_eq!(home.diskproof(&["new", "a.yaml"]).code, 0);
    let again = home.diskproof(&["new", "a.yaml"]);
    assert_eq!(again.code, 2);
    assert_eq!(again.err, "diskproof: a.yaml is there already; it is not overwritten\n");
    let nowhere = home.diskproof(&["new", "no/such/dir/a.yaml"]);
    assert_eq!(nowhere.code, 3, "{}", nowhere.err);
}

#[test]
fn without_a_store_there_is_nothing_to_show() {
    let home = Home::new();
    for args in [&["show"][..], &["export", "latest", "--json"], &["resume"]] {
        let answer = home.diskproof(args);
        assert_eq!(answer.code, 2, "{args:?}");
        assert!(answer.err.contains("no run is kept yet"), "{args:?}: {}", answer.err);
    }
    let list = home.diskproof(&["list"]);
    assert_eq!((list.code, list.out.as_str()), (0, ""));
    assert_eq!(home.diskproof(&["list", "--json"]).out, "[]\n");
    assert!(!home.path().join(".local").exists(), "looking makes nothing");
}

#[test]
fn a_file_that_is_no_store_is_refused_and_kept() {
    let home = Home::new();
    let file = home
        .write("notes.txt", "these are no results, but they are dear to me, and long enough to be read\n");
    let answer = home.diskproof(&["list", "--store", "notes.txt"]);
    assert_eq!(answer.code, 2, "{}", answer.err);
    assert!(answer.err.contains("not a diskproof results file"), "{}", answer.err);
    let text = std::fs::read_to_string(file.replace("HOME", &home.path().to_string_lossy())).unwrap();
    assert!(text.starts_with("these are no results"));
}

#[test]
fn settings_are_shown_with_their_origin() {
    let home = Home::new();
    home.write(".config/diskproof/config.yaml", "color: never\nsudo: never\n");
    let doctor = home.diskproof(&["doctor", "--no-noise", "--no-ceiling", "--json", "--sudo", "auto"]);
    let document: serde_json::Value = serde_json::from_str(&doctor.out).expect(&doctor.err);
    let setting = |name: &str| {
        let all = document["settings"].as_array().unwrap();
        let found = all.iter().find(|s| s["name"] == name).unwrap();
        format!("{} from {}", found["value"].as_str().unwrap(), found["origin"].as_str().unwrap())
    };
    assert_eq!(setting("color"), "never from HOME/.config/diskproof/config.yaml:1");
    assert_eq!(setting("sudo"), "auto from command line --sudo");
    assert_eq!(setting("state"), "HOME/state from environment DISKPROOF_STATE");
    assert_eq!(setting("progress"), "auto from default");
    assert!(document["ceiling"]["ceiling"].is_null());
    assert_eq!(document["ceiling"]["note"], "never measured on this machine");
}

#[test]
fn a_broken_configuration_stops_what_needs_it_and_nothing_else() {
    let home = Home::new();
    home.write(".config/diskproof/config.yaml", "colour: never\n");
    let list = home.diskproof(&["list"]);
    assert_eq!(list.code, 2);
    assert_eq!(
        list.err,
        "diskproof: HOME/.config/diskproof/config.yaml:1: unknown setting `colour`; did you mean `color`?\n"
    );
    assert_eq!(home.diskproof(&["new"]).code, 0);
    assert_eq!(home.diskproof(&["completions", "bash"]).code, 0);
}

#[test]
fn doctor_names_tools_privileges_kernel_clock_and_noise() {
    let doctor = Home::new().diskproof(&["doctor"]);
    assert_eq!(doctor.code, 0, "{}", doctor.err);
    for word in [
        "fio",
        "privileges",
        "loop devices",
        "btrfs",
        "throttle",
        "clock",
        "watched the clock",
        "I/Os per second",
        "store",
        "state",
    ] {
        assert!(doctor.out.contains(word), "{word}: {}", doctor.out);
    }
}

#[test]
fn doctor_measures_the_native_engine_s_ceiling_and_keeps_it() {
    let home = Home::new();
    let ask = |arguments: &[&str]| -> serde_json::Value {
        let doctor = home.diskproof(&[&["doctor", "--no-noise", "--json"], arguments].concat());
        assert_eq!(doctor.code, 0, "{}", doctor.err);
        serde_json::from_str(&doctor.out).expect(&doctor.err)
    };
    let now = ask(&[]);
    let ceiling = &now["ceiling"]["ceiling"];
    assert_eq!(ceiling["repetitions"].as_array().unwrap().len(), 3, "{now}");
    assert!(ceiling["iops"].as_f64().unwrap() > 0.0 && now["ceiling"]["note"].is_null(), "{now}");
    assert!(home.path().join("state/native-ceiling.json").is_file());
    let later = ask(&["--no-ceiling"]);
    assert_eq!((&later["ceiling"]["ceiling"], &later["ceiling"]["measured_now"]), (ceiling, &false.into()));
}

#[test]
fn devices_says_why() {
    let home = Home::new();
    let answer = home.diskproof(&["devices", "--json"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    let disks: serde_json::Value = serde_json::from_str(&answer.out).unwrap();
    for disk in disks.as_array().unwrap() {
        assert_eq!(disk["free"] == true, disk["dissent"].as_array().unwrap().is_empty(), "{disk}");
    }
}

#[test]
fn unclaiming_what_was_never_claimed_is_a_mistake() {
    let answer = Home::new().diskproof(&["unclaim", "nvme-nobody"]);
    let expected = if testkit::is_root() { 2 } else { 3 };
    assert_eq!(answer.code, expected, "{}", answer.err);
    let claim = Home::new().diskproof(&["claim", "nvme-nobody", "--yes-i-own", "x"]);
    assert_eq!(claim.code, expected, "{}", claim.err);
}

#[test]
fn quick_refuses_what_is_no_directory() {
    let home = Home::new();
    home.write("file", "");
    for (dir, said) in [("file", "is not a directory"), ("absent", "No such file")] {
        let answer = home.diskproof(&["quick", dir]);
        assert_eq!(answer.code, 2, "{dir}: {}", answer.err);
        assert!(answer.err.contains(said), "{dir}: {}", answer.err);
    }
    let nothing = home.diskproof(&["quick", "/proc"]);
    assert_eq!(nothing.code, 3, "{}", nothing.err);
}

#[test]
fn calibrate_refuses_what_it_can_not_measure_or_judge() {
    let home = Home::new();
    for (args, code, said) in [
        (&["nvme-nobody"][..], 2, "neither a directory nor the name of a disk"),
        (&["/proc"], 3, "no file can be made in /proc"),
        (&["--run", "latest"], 2, "no run is kept yet"),
        (&[".", "--iops", "80"], 2, "cannot be used with"),
        (&[".", "--run", "latest"], 2, "cannot be used with"),
        (&[".", "--workload", "copy"], 2, "possible values"),
        (&[".", "--rate-margin", "0"], 2, "more than 0"),
        (&[".", "--size", "1MB"], 2, "1MB"),
    ] {
        let answer = home.diskproof(&[&["calibrate"], args].concat());
        assert_eq!(answer.code, code, "{args:?}: {}", answer.err);
        assert!(answer.err.contains(said), "{args:?}: {}", answer.err);
    }
    if !testkit::is_root() {
        let answer = home.diskproof(&["calibrate", "--sudo", "never"]);
        assert_eq!(answer.code, 3, "{}", answer.err);
    }
    assert!(!home.path().join(".local").exists(), "what is refused leaves no store");
}

/// A real but very short calibration in an existing directory: the output is complete; whether the engines agree depends on the machine.
#[test]
fn calibrate_measures_a_lent_directory_by_both_engines() {
    if host::resolve(host::Tool::Fio).is_err() {
        eprintln!("SKIPPED: there is no fio");
        return;
    }
    let home = Home::new();
    let lent = home.path().join("lent");
    std::fs::create_dir(&lent).unwrap();
    let short =
        ["--seconds", "1", "--rounds", "2", "--size", "16m", "--workload", "randread", "--workload", "mix"];
    let answer = home.diskproof(&[&["calibrate", "lent"], &short[..]].concat());
    assert!([0, 1].contains(&answer.code), "{}\n{}", answer.out, answer.err);
    assert!(answer.err.contains("2 workloads by native and by fio, 2 rounds: about"), "{}", answer.err);
    for word in ["randread-4k-d16", "mix70-4k-d16", "read iops", "write lat p99", "comparisons agree"] {
        assert!(answer.out.contains(word), "{word}: {}", answer.out);
    }
    assert_eq!(std::fs::read_dir(&lent).unwrap().count(), 0, "nothing is left");

    let again = home.diskproof(&["calibrate", "--run", "latest", "--json"]);
    assert_eq!(again.code, answer.code, "the same trials, the same verdict: {}", again.err);
    let document: serde_json::Value = serde_json::from_str(&again.out).unwrap();
    assert_eq!(document["format"], "diskproof.agreement/1.0");
    let lines = document["lines"].as_array().unwrap();
    let metrics: Vec<&str> = lines.iter().map(|l| l["metric"].as_str().unwrap()).collect();
    let side = |side: &str| ["iops", "lat_mean", "lat_p50", "lat_p99"].map(|m| format!("{side}_{m}"));
    assert_eq!(metrics, [side("read"), side("read"), side("write")].concat());
    for line in lines {
        assert_eq!(line["rounds"], 2);
        let [low, ratio, high] = ["low", "ratio", "high"].map(|n| line[n].as_f64().unwrap());
        assert!(low <= ratio && ratio <= high, "{line}");
        let both = [line["native"].as_f64().unwrap(), line["fio"].as_f64().unwrap()];
        assert!(both.iter().all(|x| *x > 0.0), "{line}");
    }
    for evidence in document["evidence"].as_array().unwrap() {
        assert!(evidence["fio"]["submission_us"].as_f64().unwrap() > 0.0, "{evidence}");
        assert!(evidence["native"]["issued_by"].as_str().is_some(), "{evidence}");
    }

    let list = home.diskproof(&["list", "--json"]);
    let runs: serde_json::Value = serde_json::from_str(&list.out).unwrap();
    assert_eq!((runs.as_array().unwrap().len(), runs[0]["trials"]["done"].as_u64()), (1, Some(8)));
    assert_eq!(home.diskproof(&["show"]).code, 0);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let home = Home::new();
    let status = std::process::Command::new("sh")
        .arg("-c")
        .arg(format!(
            "'{}' completions bash | true",
            assert_cmd::cargo::cargo_bin("diskproof").to_string_lossy()
        ))
        .env("HOME", home.path())
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&status.stderr), "");
}

#[test]
fn undo_of_nothing_says_nothing_and_can_be_repeated() {
    let home = Home::new();
    for _ in 0..2 {
        let answer = home.diskproof(&["undo", "--sudo", "never"]);
        assert_eq!((answer.code, answer.out.as_str()), (0, "nothing\n"), "{}", answer.err);
    }
}
