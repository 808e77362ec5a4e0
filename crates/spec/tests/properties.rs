//! Properties that hold for any input.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{LoadError, forecast, load, parse_bytes};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use proptest::prop_assert;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn corpus() -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folders = ["experiments", "tests/experiments/valid", "tests/experiments/invalid"];
    let mut files = Vec::new();
    for folder in folders {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "yaml") {
                files.push(fs::read(path).unwrap());
            }
        }
    }
    files.sort();
    assert!(files.len() > 100);
    files
}

/// Words with a meaning in the grammar.
fn word() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::sample::select(vec![
            "{",
            "}",
            "[",
            "]",
            ":",
            ": ",
            "- ",
            "\n",
            "\n  ",
            "&a ",
            "*a",
            "<<: *a",
            "\"",
            "'",
            "#",
            "|",
            ">",
            "?",
            "!",
            "---\n",
            "{n}",
            "n",
            "vol[..n]",
            "vol[0]",
            "-1",
            "0",
            "99999999999999999999",
            "1g",
            "16kB",
            "5%",
            "20s",
            "null",
            "~",
            "\t",
            "\r\n",
            "\u{feff}",
            "\u{2028}",
            "ä",
            "size",
            "bs",
            "with",
            "on",
            "fio",
            "layers",
            "is",
            "until",
            "told",
            "8/month",
            "5s..60s",
            "iops / price_per_month",
            "derive: { x: iops / n }\n",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
        any::<u8>().prop_map(|byte| vec![byte]),
    ]
}

/// A file of the corpus with a few deletions and insertions.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let edit = (any::<prop::sample::Index>(), 0_usize..12, word());
    (prop::sample::select(corpus()), prop::collection::vec(edit, 1..6)).prop_map(|(mut bytes, edits)| {
        for (at, cut, insert) in edits {
            let from = at.index(bytes.len() + 1);
            let to = (from + cut).min(bytes.len());
            bytes.splice(from..to, insert);
        }
        bytes
    })
}

/// Checks that any outcome is safe to show.
fn outcome_is_sound(bytes: &[u8]) -> bool {
    match parse_bytes(bytes, "x.yaml", Path::new("/nonexistent"), &BTreeMap::new()) {
        Ok(loaded) => !loaded.plan.cells.is_empty(),
        Err(LoadError::Diagnostics(diagnostics)) => {
            let text = diagnostics.to_string();
            let placed =
                diagnostics.list.iter().all(|one| one.line == 0 || (one.column >= 1 && one.width >= 1));
            (1..=20).contains(&diagnostics.list.len())
                && placed
                && !text.contains(|c: char| c.is_control() && c != '\n')
        }
        Err(LoadError::MissingParameters(missing)) => !missing.is_empty(),
        Err(LoadError::Io { .. }) => false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        prop_assert!(outcome_is_sound(&bytes));
    }

    #[test]
    fn any_words_are_read_or_refused(words in prop::collection::vec(word(), 0..60)) {
        prop_assert!(outcome_is_sound(&words.concat()));
    }

    #[test]
    fn files_with_slips_are_read_or_refused(bytes in mutated()) {
        prop_assert!(outcome_is_sound(&bytes));
    }

    /// A derived metric's factor equals the arithmetic; formulas are finite and above 0.
    #[test]
    fn formulas_are_what_they_say(a in 1_u32..1000, b in 1_u32..1000, c in 1_u32..1000, price in 1_u32..10_000) {
        let text = format!(
            "experiment: x\nvolumes: {{ v: {{ count: 2, emulate: {{ size: 1g }}, price: {price}/month }} }}\n\
             stacks: {{ s: {{ layers: [ btrfs: {{ on: v }} ] }} }}\nworkloads: {{ w: {{ rw: randread, size: 1m }} }}\n\
             derive: {{ m: \"({a} * bw / {b} + bw * {c}) / (price_per_month * engine_cpu)\" }}\n"
        );
        let loaded = parse_bytes(text.as_bytes(), "x.yaml", Path::new("/"), &BTreeMap::new()).unwrap();
        let formula = loaded.plan.derived[0].cells.values().next().unwrap();
        let [a, b, c, price] = [a, b, c, price].map(f64::from);
        let expected = (a / b + c) / (2.0 * price);
        prop_assert!((formula.factor / expected - 1.0).abs() < 1e-12, "{} {expected}", formula.factor);
        prop_assert!(formula.over.as_deref() == Some("bw") && formula.under.as_deref() == Some("engine_cpu"));
    }

    /// With `until`, a forecast's least is never above its most, and budgets only shorten it.
    #[test]
    fn forecasts_have_a_least_and_a_most(rounds in 1_u32..200, seconds in 1_u32..100_000, mib in 1_u32..100_000, cells in 1_usize..5) {
        let levels: Vec<String> = (0..cells).map(|i| i.to_string()).collect();
        let text = format!(
            "experiment: x\nvolumes: {{ v: {{ emulate: {{ size: 1g, iops: 100 }}, price: 1/hour }} }}\n\
             stacks: {{ s: {{ layers: [ ext4 ] }} }}\n\
             workloads: {{ w: {{ with: {{ i: [{}] }}, rw: randwrite, direct: 1, size: 16m }} }}\n\
             measure: {{ trial: 1s..9s, until: {{ interval: 5% }}, budget: {{ rounds: {rounds}, time: {seconds}s, written: {mib}m }} }}\n",
            levels.join(", ")
        );
        let loaded = parse_bytes(text.as_bytes(), "x.yaml", Path::new("/"), &BTreeMap::new()).unwrap();
        let forecast = forecast(&loaded.plan);
        let (least, most) = (forecast.least.unwrap(), forecast.most);
        prop_assert!(least.rounds <= most.rounds && least.trials <= most.trials && most.rounds == rounds);
        prop_assert!(least.seconds <= most.seconds && least.bytes_written <= most.bytes_written);
        prop_assert!(least.cost.unwrap() <= most.cost.unwrap());
        prop_assert!(forecast.seconds <= most.seconds + 1e-9 && forecast.spent.is_none_or(|spent| spent.rounds < f64::from(rounds)));
    }

    #[test]
    fn a_parameters_value_never_breaks_the_reader(value in prop_oneof![any::<String>(), Just("{size}".to_owned()), Just("size".to_owned())]) {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/striped-volumes.yaml");
        let set = BTreeMap::from([("size".to_owned(), value)]);
        match load(&file, &set) {
            Ok(loaded) => prop_assert!(loaded.plan.cells.len() == 6),
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

#[test]
fn the_same_file_gives_the_same_plan() {
    for name in ["striped-volumes.yaml", "compression-trap.yaml"] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments").join(name);
        let [one, two] = [0, 1].map(|_| load(&file, &BTreeMap::new()).unwrap().plan);
        assert_eq!(one, two);
        let mut ids: Vec<_> = one.cells.iter().map(|cell| cell.id.0.clone()).collect();
        assert!(ids.iter().all(|id| id.len() == 16 && id.chars().all(|c| c.is_ascii_hexdigit())));
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), one.cells.len(), "ids differ from cell to cell");
    }
}
