//! Any bytes given as a fio job file: jobs for one of the engines or an explanation, never a panic, a hang or a flood of memory.
//! Jobs that native is to perform lie in its subset.
#![no_main]

use diskproof_record::workload::{Ask, EngineKind};
use diskproof_spec::{LoadError, forecast, native_lacks, parse};
use libfuzzer_sys::fuzz_target;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The job file stands in memory: a file of its own for every process that fuzzes.
fn folder() -> PathBuf {
    let folder = PathBuf::from(format!("/dev/shm/diskproof-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder in /dev/shm");
    folder
}

thread_local! {
    static FOLDER: RefCell<PathBuf> = RefCell::new(folder());
}

const EXPERIMENT: &str = "experiment: fuzz\nvolumes: { d: { directory: /tmp } }\nstacks: { d: {} }\n\
                          workloads: { w: { fio: x.fio, size: 64m } }\n";

fuzz_target!(|bytes: &[u8]| {
    let folder = FOLDER.with(|folder| folder.borrow().clone());
    std::fs::write(folder.join("x.fio"), bytes).expect("a file in /dev/shm");
    match parse(EXPERIMENT, "fuzz.yaml", &folder, &BTreeMap::new()) {
        Ok(loaded) => {
            assert!(forecast(&loaded.plan).seconds.is_finite());
            let workload = &loaded.plan.cells[0].workload;
            let Ask::JobFile { jobs, text, .. } = &workload.ask else { panic!("no job file") };
            assert_eq!(text.as_bytes(), bytes);
            assert_eq!(workload.engine == EngineKind::Native, !jobs.is_empty());
            let names: std::collections::BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
            assert_eq!(names.len(), jobs.len());
            for job in jobs {
                assert_eq!(native_lacks(&job.options, workload.layout), []);
                assert!(job.options.bs_bytes > 0 && job.options.size_bytes >= job.options.bs_bytes);
            }
        }
        Err(LoadError::Diagnostics(diagnostics)) => {
            assert!((1..=20).contains(&diagnostics.list.len()));
            let shown = diagnostics.to_string();
            assert!(shown.len() < 64 << 10 && !shown.contains(|c: char| c.is_control() && c != '\n'));
        }
        Err(other) => panic!("{other}"),
    }
});
