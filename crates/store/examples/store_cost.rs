//! Measures how long `list` and `show` wait for a store of 100,000 trials; `bench/store/run.sh` runs it.
//!
//! `store_cost DIRECTORY`
#![expect(clippy::unwrap_used, reason = "a benchmark that can't measure should stop")]

#[path = "../tests/support/bulk.rs"]
mod bulk;
#[path = "../tests/support/sample.rs"]
mod sample;

use diskproof_store::Store;
use sample::{environment, plan, run_id, trial};
use std::io::Write;
use std::path::Path;
use std::time::Instant;

/// About the length of a judgement of a run with 1000 cells.
const JUDGEMENT_BYTES: usize = 2 << 20;
const REPEATS: usize = 21;

fn main() {
    let directory = std::env::args().nth(1).unwrap();
    let path = Path::new(&directory).join("diskproof.db");
    for (name, runs, cells, rounds) in
        [("one run of 100,000 trials", 1, 1000, 100), ("1,000 runs of 100", 1000, 10, 10)]
    {
        let _ = std::fs::remove_file(&path);
        make(&path, runs, cells, rounds);
        let megabytes = std::fs::metadata(&path).unwrap().len() >> 20;
        say(&format!("{name}, {megabytes} MiB:"));
        measure("list: open, runs", || {
            let runs = Store::open(&path).unwrap().runs().unwrap();
            assert_eq!(runs.iter().map(|run| run.trials_done).sum::<u64>(), 100_000);
        });
        measure("show: open, find, judgement", || {
            let store = Store::open(&path).unwrap();
            let run = store.find("latest").unwrap();
            assert_eq!(store.judgement(&run, "bench").unwrap().unwrap().len(), JUDGEMENT_BYTES);
        });
        measure("resume: open, head, done", || {
            let store = Store::open(&path).unwrap();
            let run = store.find("latest").unwrap();
            assert_eq!(store.head(&run).unwrap().trials_done, store.done(&run).unwrap().len() as u64);
        });
    }
    measure("all trials of a run of 100, one by one", || {
        let store = Store::open(&path).unwrap();
        let mut seen = 0;
        store.trials(&store.find("latest").unwrap(), |_| seen += 1).unwrap();
        assert_eq!(seen, 100);
    });
    measure("one trial stored durably (the disk's word)", || {
        let store = Store::open(&path).unwrap();
        let run = store.find("latest").unwrap();
        let next = u32::try_from(store.done(&run).unwrap().len()).unwrap();
        store.append_trial(&run, &trial(5000, next)).unwrap();
    });
}

fn make(path: &Path, runs: u32, cells: u32, rounds: u32) {
    let store = Store::open(path).unwrap();
    let plan = plan(cells, rounds);
    let mut body = trial(0, 0);
    // As many samples as one second of a real trial has; a list doesn't depend on their number.
    body.evidence.samples.truncate(2);
    for index in 0..runs {
        store.create_run(&run_id(&format!("20261121-{index:06}-bench")), &plan, &environment("6.1")).unwrap();
        bulk::fill(path, cells, rounds, &body).unwrap();
    }
    let run = store.find("latest").unwrap();
    let revision = store.head(&run).unwrap().revision;
    store.cache_judgement(&run, "bench", revision, &figures(JUDGEMENT_BYTES)).unwrap();
}

/// Returns figures, so that they compress no better than real ones.
fn figures(bytes: usize) -> String {
    let mut text = String::with_capacity(bytes + 32);
    let mut n = 0_u64;
    while text.len() < bytes {
        n += 1;
        text += &(n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20).to_string();
        text.push(',');
    }
    text.truncate(bytes);
    text
}

fn measure(what: &str, work: impl Fn()) {
    let mut milliseconds: Vec<f64> = (0..REPEATS)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    milliseconds.sort_by(f64::total_cmp);
    say(&format!(
        "  {what:<44} median {:8.2} ms   worst {:8.2} ms",
        milliseconds[REPEATS / 2],
        milliseconds[REPEATS - 1]
    ));
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
}
