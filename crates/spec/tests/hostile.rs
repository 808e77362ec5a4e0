//! Input that tries to break parsers: the reader refuses it quickly, in bounded memory, with a message of bounded length.

use diskproof_spec::limits::{MAX_CELLS, MAX_FILE_BYTES, MAX_PROBLEMS};
use diskproof_spec::{LoadError, Loaded, load, parse, parse_bytes};
use record::workload::Ask;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

const VOLUMES: &str = "experiment: demo\nvolumes: { vol: { count: 4, emulate: { size: 1g } } }\n";
const STACKS: &str = "stacks: { raw: { on: \"vol[0]\" } }\n";
const WORKLOADS: &str = "workloads: { read: { rw: read, size: 64m } }\n";

fn parsed(text: &str) -> Result<Loaded, LoadError> {
    parse(text, "x.yaml", Path::new("/nonexistent"), &BTreeMap::new())
}

/// Returns the message about a text that must be refused.
fn refusal(text: &str) -> String {
    match parsed(text) {
        Err(LoadError::Diagnostics(diagnostics)) => {
            assert!(diagnostics.list.len() <= MAX_PROBLEMS);
            let shown = diagnostics.to_string();
            assert!(shown.len() < 64 << 10, "a message of {} bytes", shown.len());
            shown
        }
        Err(other) => panic!("refused without a place: {other}"),
        Ok(_) => panic!("accepted"),
    }
}

#[test]
fn files_beyond_the_limit_are_refused_unread() {
    let huge = format!("{VOLUMES}{STACKS}{WORKLOADS}# {}\n", "x".repeat(10 << 20));
    assert!(refusal(&huge).contains("larger than 1 MiB"));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.yaml");
    std::fs::write(&path, &huge).unwrap();
    assert!(matches!(load(&path, &BTreeMap::new()), Err(LoadError::Diagnostics(_))));
    // One byte less is accepted.
    let padding =
        usize::try_from(MAX_FILE_BYTES).unwrap() - VOLUMES.len() - STACKS.len() - WORKLOADS.len() - 2;
    let largest = format!("{VOLUMES}{STACKS}{WORKLOADS}# {}", "x".repeat(padding));
    assert_eq!(largest.len() as u64, MAX_FILE_BYTES);
    assert_eq!(parsed(&largest).unwrap().plan.cells.len(), 1);
}

#[test]
fn only_regular_files_are_read() {
    for path in ["/", "/dev/zero", "/dev/null", "/nonexistent/x.yaml"] {
        assert!(matches!(load(Path::new(path), &BTreeMap::new()), Err(LoadError::Io { .. })), "{path}");
    }
}

#[test]
fn megabytes_of_one_thing_are_refused_or_read_but_never_hang() {
    let size = 1_000_000;
    for (what, unit) in [
        ("open lists", "["),
        ("open maps", "{"),
        ("pairs", "{a: "),
        ("items", "- "),
        ("keys", "? "),
        ("colons", ": "),
        ("anchors", "&a "),
        ("tags", "! "),
        ("quotes", "\""),
        ("single quotes", "'"),
        ("stars", "*"),
        ("documents", "---\n"),
        ("document ends", "...\n"),
        ("comments", "# x\n"),
        ("blank lines", "\n"),
        ("blanks", " "),
        ("tabs", "\t"),
        ("returns", "\r"),
        ("commas", ","),
        ("bars", "|\n"),
        ("nul", "\0"),
        ("byte order marks", "\u{feff}"),
        ("surrogates", "\u{10ffff}"),
        ("deeper lines", "a:\n "),
    ] {
        let text = unit.repeat(size / unit.len());
        assert!(!refusal(&text).is_empty(), "{what}");
        refusal(&format!("experiment: {text}"));
        refusal(&format!("{VOLUMES}{STACKS}workloads: {text}"));
    }
    let mut deepening = String::new();
    for depth in 0..1300 {
        let _ = writeln!(deepening, "{}a:", " ".repeat(depth));
    }
    assert!(refusal(&deepening).contains("nested deeper than 64"));
}

#[test]
fn aliases_do_not_multiply() {
    // Nine levels of ten: a billion values if aliases were followed without a limit.
    let mut bomb = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for i in 1..9 {
        let _ = writeln!(bomb, "a{i}: &a{i} [{}]", vec![format!("*a{}", i - 1); 10].join(", "));
    }
    assert!(refusal(&bomb).contains("more than 100000 values"));
    // Few values, much text.
    let fat = format!("a: &a {}\nb: [{}]\n", "x".repeat(500_000), vec!["*a"; 10_000].join(", "));
    assert!(refusal(&fat).contains("more than 100000 values"));
    // Merge keys are followed as well.
    let mut merges = String::from("m0: &m0 { k: v }\n");
    for i in 1..3000 {
        let _ = writeln!(merges, "m{i}: &m{i} {{ <<: *m{}, k{i}: v }}", i - 1);
    }
    assert!(refusal(&merges).contains("more than 100000 values"));
}

#[test]
fn many_keys_take_no_quadratic_time() {
    let mut many = String::from("experiment: demo\n");
    for i in 0..45_000 {
        let _ = writeln!(many, "k{i}: 1");
    }
    assert!(refusal(&many).contains("there may be more"));
    let mut same = String::from("experiment: demo\n");
    same.push_str(&"k: 1\n".repeat(45_000));
    assert!(refusal(&same).contains("is there twice"));
}

#[test]
fn too_many_cells_are_counted_without_being_made() {
    let levels = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let factors = |count: usize, n: usize| {
        (0..count).map(|f| format!("f{f}: [{}]", levels(n))).collect::<Vec<_>>().join(", ")
    };
    let stacks = |with: &str| {
        format!("{VOLUMES}stacks: {{ raw: {{ with: {{ {with} }}, on: \"vol[0]\" }} }}\n{WORKLOADS}")
    };
    let refused = refusal(&stacks(&factors(8, 1000)));
    assert!(refused.contains("1000000000000000000000000 cells"), "{refused}");
    assert!(refusal(&stacks(&factors(9, 2))).contains("at most 8 are allowed"));
    // Exactly at the limit, and one more.
    let most = usize::try_from(MAX_CELLS).unwrap();
    let workloads = |n: usize| {
        format!("workloads: {{ read: {{ with: {{ x: [{}] }}, rw: read, size: 64m }} }}\n", levels(n))
    };
    let text = |s: usize, w: usize| {
        format!(
            "{VOLUMES}stacks: {{ raw: {{ with: {{ y: [{}] }}, on: \"vol[0]\" }} }}\n{}",
            levels(s),
            workloads(w)
        )
    };
    assert_eq!(parsed(&text(100, most / 100)).unwrap().plan.cells.len(), most);
    assert!(refusal(&text(101, most / 101 + 1)).contains("100091 cells: 101 stacks times 991 workloads"));
}

#[test]
fn fat_plans_are_refused() {
    let levels = (0..300).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "experiment: demo\nvolumes: {{ vol: {{ count: 256, emulate: {{ size: 1g }} }} }}\n\
         stacks: {{ all-{{s}}: {{ with: {{ s: [{levels}] }}, layers: [ btrfs: {{ on: vol }} ] }} }}\n\
         workloads: {{ read-{{x}}: {{ with: {{ x: [{levels}] }}, rw: read, size: 64m }} }}\n"
    );
    assert!(
        refusal(&text.replace("all-{s}", "\"all-{s}\"").replace("read-{x}", "\"read-{x}\""))
            .contains("the plan would take more than")
    );
}

#[test]
fn large_texts_do_not_multiply() {
    // A job file of 200 KiB in each of 100,000 workloads.
    let folder = tempfile::tempdir().unwrap();
    let job = format!("[a]\nrw=read\nsize=1m\n# {}\n", "x".repeat(200 << 10));
    std::fs::write(folder.path().join("own.fio"), job).unwrap();
    let levels = (0..50_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let text = format!(
        "{VOLUMES}{STACKS}workloads: {{ \"own-{{i}}\": {{ with: {{ i: [{levels}] }}, fio: own.fio }} }}\n"
    );
    let Err(error) = parse(&text, "x.yaml", folder.path(), &BTreeMap::new()) else { panic!("accepted") };
    assert!(error.to_string().contains("the plan would take more than"), "{error}");
    // A long parameter in thousands of arguments.
    let arguments = vec!["\"{p}\""; 50_000].join(", ");
    let text = |length: usize| {
        format!(
            "parameters: {{ p: {} }}\n{VOLUMES}stacks: {{ own: {{ on: \"vol[0]\", layers: [ command: {{ up: \
             [[{arguments}]], down: [[\"true\"]], provides: mount }} ] }} }}\n{WORKLOADS}",
            "x".repeat(length)
        )
    };
    assert!(refusal(&text(100_000)).contains("at most 500 are allowed"));
    assert_eq!(parsed(&text(400)).unwrap().plan.cells.len(), 1);
    // A list in a text.
    let text = format!(
        "parameters: {{ l: [{}] }}\n{VOLUMES}stacks: {{ own: {{ on: \"vol[0]\", layers: [ command: {{ up: \
         [[{}]], down: [[\"true\"]], provides: mount }} ] }} }}\n{WORKLOADS}",
        vec!["abcdefgh"; 1000].join(", "),
        vec!["\"{l}\""; 10_000].join(", ")
    );
    assert!(refusal(&text).contains("too long to be filled in"));
}

#[test]
fn rules_and_expectations_do_not_multiply() {
    let levels = (0..10_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let many = format!(
        "{VOLUMES}{STACKS}workloads: {{ \"r-{{i}}\": {{ with: {{ i: [{levels}] }}, rw: read, size: 1m }} }}\n"
    );
    let patterns = vec!["\"*a*b*c*d*e*f*\""; 200].join(", ");
    let rules = vec![format!("{{ stack: [{patterns}] }}"); 200].join(", ");
    assert!(refusal(&format!("{many}exclude: [{rules}]\n")).contains("too many patterns for 10000 cells"));
    let expectations = vec!["{ of: iops, is: 80 * i + 1, within: 5% }"; 250].join(", ");
    assert!(
        refusal(&format!("{many}expect: [{expectations}]\n"))
            .contains("too many expectations for 10000 cells")
    );
    let few = "expect: [{ of: iops, is: 80 * i + 1, within: 5%, for: \"r-*\" }]\n";
    assert_eq!(parsed(&format!("{many}{few}")).unwrap().plan.expectations[0].values.len(), 10_000);
}

#[test]
fn derived_metrics_do_not_multiply() {
    let levels = (0..20_000).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    let many = format!(
        "{VOLUMES}{STACKS}workloads: {{ \"r-{{i}}\": {{ with: {{ i: [{levels}] }}, rw: read, size: 1m }} }}\n"
    );
    let derive = |count: usize, expression: &str| {
        let all: Vec<String> = (0..count).map(|i| format!("m{i}: {expression}")).collect();
        format!("derive: {{ {} }}\n", all.join(", "))
    };
    let few = parsed(&format!("{many}{}", derive(2, "iops / (i + 1)"))).unwrap().plan;
    assert_eq!((few.derived.len(), few.derived[1].cells.len()), (2, 20_000));
    let text = format!("{many}{}", derive(32, "iops / (i + 1)"));
    assert!(refusal(&text).contains("too many derived metrics for 20000 cells"));
    let one = format!("{VOLUMES}{STACKS}{WORKLOADS}");
    assert!(refusal(&format!("{one}{}", derive(33, "iops"))).contains("at most 32 are allowed"));
    // As many factors as an expression can hold.
    let long = vec!["iops"; 190].join(" * ");
    assert!(refusal(&format!("{one}{}", derive(1, &long[..900]))).contains("metrics above the line"));
    let huge = ["9999999999999"; 4].join(" * ");
    assert!(refusal(&format!("{one}{}", derive(1, &format!("iops * {huge}")))).contains("too large"));
}

#[test]
fn prices_that_break_arithmetic_are_refused() {
    let priced = |price: &str, rest: &str| {
        format!(
            "experiment: demo\nvolumes: {{ vol: {{ count: 4, emulate: {{ size: 1g }}, price: \"{price}\" }} }}\n{STACKS}{WORKLOADS}{rest}"
        )
    };
    for price in [
        "",
        "/",
        "/month",
        "8/",
        "-8/month",
        "8//month",
        "8/month/month",
        "1e9/month",
        "NaN/month",
        "inf/hour",
        "8k/month",
        "(((8/month",
        "99999999999999999999999999999/hour",
        "0.0000000000000001/year",
        "8 8/month",
        "８/month",
        "8/month\u{202e}",
    ] {
        assert!(!refusal(&priced(price, "")).is_empty(), "{price}");
    }
    // Sums of prices with as many digits as there may be.
    let odd = "0.1234567890123456789012345678/year";
    let outcome =
        parsed(&priced(odd, "derive: { x: iops / (price_per_month * price_per_hour * price_per_month) }\n"));
    if let Ok(loaded) = outcome {
        assert!(loaded.plan.derived[0].cells.values().all(|formula| formula.factor.is_finite()));
    }
}

#[test]
fn chains_of_parameters_end() {
    let mut text = String::from("experiment: demo\nparameters:\n");
    for i in 0..63 {
        let _ = writeln!(text, "  p{i}: {{ default: \"{{p{}}}{{p{}}}\" }}", i + 1, i + 1);
    }
    text.push_str("  p63: { default: xx }\n");
    // Each one doubles the next one: 2^64 bytes without a limit.
    assert!(refusal(&text).contains("too long"));
}

#[test]
fn bytes_that_are_no_text_are_told_where() {
    let bytes = b"experiment: demo\nquestion: \xff\xfe\n";
    let Err(error) = parse_bytes(bytes, "x.yaml", Path::new("/"), &BTreeMap::new()) else {
        panic!("accepted")
    };
    assert!(error.to_string().starts_with("x.yaml:2:11: the file is not UTF-8 text"), "{error}");
}

#[test]
fn job_files_cannot_smuggle() {
    let folder = tempfile::tempdir().unwrap();
    let experiment = format!("{VOLUMES}{STACKS}workloads: {{ own: {{ fio: own.fio }} }}\n");
    let refused = |job: &str| {
        std::fs::write(folder.path().join("own.fio"), job).unwrap();
        let outcome = parse(&experiment, "x.yaml", folder.path(), &BTreeMap::new());
        outcome.is_err()
    };
    assert!(!refused("[a]\nrw=read\nsize=64m\n"), "the plain file must pass, or this test shows nothing");
    for (what, line) in [
        ("a program", "exec_prerun=reboot"),
        ("an engine that runs programs", "ioengine=exec"),
        ("a loaded engine", "ioengine=external:/tmp/evil.so"),
        ("an engine with its path", "ioengine=external"),
        ("an included file", "include /etc/passwd"),
        ("a keyword", "size=$mb_memory"),
        ("the environment", "offset=${HOME}"),
        ("a backtick", "offset=`reboot`"),
        ("a trace", "read_iolog=/etc/passwd"),
        ("memory from a file", "mem=mmaphuge:/dev/sda"),
        ("a pattern from a file", "buffer_pattern='/etc/shadow'"),
        ("another user", "uid=0"),
        ("an unknown option", "new_dangerous_option=1"),
        ("a scheduler", "ioscheduler=none"),
        ("a control character", "bs=4k\u{1b}"),
        ("upper case", "FILENAME=/dev/sda"),
        ("a return", "bs=4k\rfilename=/dev/sda"),
    ] {
        assert!(refused(&format!("[a]\nrw=read\nsize=64m\n{line}\n")), "{what}: {line}");
    }
    for (what, line) in [
        ("another file", "filename=/dev/sda"),
        ("a way out", "filename=../x"),
        ("a comment", "bs=4k ; filename=/dev/sda"),
        ("with blanks", "  filename = /dev/sda"),
        ("another directory", "directory=/home"),
        ("both", "directory=/home\nfilename=../../etc/passwd"),
        ("a log", "write_bw_log=/root/x"),
        ("a section that is a path", "[/etc/x]\nsize=64m"),
    ] {
        assert!(!refused(&format!("[a]\nrw=read\nsize=64m\n{line}\n")), "{what}: {line}");
        let plan = parse(&experiment, "x.yaml", folder.path(), &BTreeMap::new()).unwrap().plan;
        let Ask::JobFile { jobs, .. } = &plan.cells[0].workload.ask else { panic!("no job file") };
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        for name in jobs.iter().filter_map(|job| job.options.filename.as_deref()) {
            assert!(name.chars().all(plain) && !matches!(name, "." | ".."), "{what}: {name}");
        }
    }
    assert!(refused("rw=read\nsize=64m\n"), "no section");
    assert!(refused("[global]\nrw=read\nsize=64m\n"), "no job");
    assert!(refused(&format!("[a]\nrw=read\nsize=64m\n# {}\n", "x".repeat(300 << 10))), "too large");
    std::fs::remove_file(folder.path().join("own.fio")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("own.fio")).unwrap();
    assert!(parse(&experiment, "x.yaml", folder.path(), &BTreeMap::new()).is_err(), "a device");
}
