//! Any bytes given as a fio job file: jobs for one of the engines or an explanation, never a panic, a hang or a flood of memory.
//! Jobs that native is to perform lie in its subset.
#![no_main]

use diskproof_record::job_file::is_script;
use diskproof_record::workload::{Ask, EngineKind};
use diskproof_spec::{LoadError, forecast, native_lacks, parse};
use libfuzzer_sys::fuzz_target;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::LazyLock;

/// The job file stands in memory: a file of its own for every process that fuzzes.
fn folder() -> PathBuf {
    let folder = PathBuf::from(format!("/dev/shm/diskproof-fuzz-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder in /dev/shm");
    folder
}

static FOLDER: LazyLock<PathBuf> = LazyLock::new(folder);

const EXPERIMENT: &str = "experiment: fuzz\nvolumes: { d: { directory: /tmp } }\nstacks: { d: {} }\n\
                          workloads: { w: { fio: x.fio, size: 64m } }\n";

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(FOLDER.join("x.fio"), bytes).expect("a file in /dev/shm");
    match parse(EXPERIMENT, "fuzz.yaml", &FOLDER, &BTreeMap::new()) {
        Ok(loaded) => {
            assert!(forecast(&loaded.plan).seconds.is_finite());
            let workload = &loaded.plan.cells[0].workload;
            let (jobs, text) = match &workload.ask {
                Ask::JobFile { jobs, text, .. } => (jobs, text),
                Ask::Options(options) => {
                    assert!(options.find.is_some(), "only a search has no job file");
                    return;
                }
                other => panic!("{other:?}"),
            };
            // Of a shell script, only its job file is kept.
            assert!(text.as_bytes() == bytes || std::str::from_utf8(bytes).is_ok_and(is_script));
            assert_eq!(workload.engine == EngineKind::Native, !jobs.is_empty());
            let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
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
