//! Job files: which ones the native engine runs, with which options, and which option makes fio the engine.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{LoadError, Loaded, native_lacks, parse};
use record::find::FindBy;
use record::workload::{
    Ask, EngineKind, Layout, NamedJob, Options, RateProcess, Rw, SizeRange, SizeShare, SyncMode,
};
use std::collections::BTreeMap;

/// Loads an experiment with this job file; `more` is added to the workload.
fn load(job_file: &str, more: &str) -> Result<Loaded, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("mine.fio"), job_file).unwrap();
    let text = format!(
        "experiment: demo\nvolumes: {{ d: {{ directory: /tmp }} }}\nstacks: {{ d: {{}} }}\n\
         workloads: {{ w: {{ fio: mine.fio{more} }} }}\n"
    );
    parse(&text, "demo.yaml", dir.path(), &BTreeMap::new())
}

/// Returns engine, jobs and notes of an accepted job file.
fn taken(job_file: &str, more: &str) -> (EngineKind, Vec<NamedJob>, Vec<String>) {
    let loaded = load(job_file, more).unwrap_or_else(|error| panic!("{job_file}\n{error}"));
    let workload = loaded.plan.cells.into_iter().next().unwrap().workload;
    let Ask::JobFile { jobs, .. } = workload.ask else { panic!("no job file") };
    (workload.engine, jobs, loaded.notes)
}

/// Returns fio's options for a job with only these values.
fn plain(rw: Rw, size_bytes: u64) -> Options {
    Options { ioengine: "psync".to_owned(), ramp_time_ms: Some(0), ..Options::new(rw, 4096, size_bytes) }
}

#[test]
fn each_option_of_the_subset_is_read_as_fio_reads_it() {
    let base = || plain(Rw::Randwrite, 64 << 20);
    let uring = || Options { ioengine: "io_uring".to_owned(), ..base() };
    for (text, expected) in [
        ("", base()),
        ("readwrite=readwrite\nrwmixwrite=30", Options { rw: Rw::Rw, rwmixread: 70, ..base() }),
        ("blocksize=16K\nbuffered=0", Options { bs_bytes: 16_384, direct: true, ..base() }),
        (
            "blocksize_range=4k-64k",
            Options { bsrange: Some(SizeRange { low_bytes: 4096, high_bytes: 65_536 }), ..base() },
        ),
        (
            "bssplit=4k/60:1k",
            Options {
                bs_bytes: 1024,
                bssplit: vec![
                    SizeShare { bs_bytes: 4096, percent: 60 },
                    SizeShare { bs_bytes: 1024, percent: 40 },
                ],
                ..base()
            },
        ),
        ("fileoffset=1m", Options { offset_bytes: 1 << 20, ..base() }),
        ("nr_files=4", Options { nrfiles: 4, ..base() }),
        (
            "filename=data.one\nnumjobs=3",
            Options { filename: Some("data.one".to_owned()), numjobs: 3, ..base() },
        ),
        ("ioengine=io_uring\niodepth=32", Options { iodepth: 32, ..uring() }),
        ("ioengine=libaio\niodepth=32\ndirect=1", Options { iodepth: 32, direct: true, ..uring() }),
        ("ioengine=pvsync2\niodepth=32", base()),
        ("fsync=8\nfdatasync=4\nend_fsync=1", Options { fsync: 8, fdatasync: 4, end_fsync: true, ..base() }),
        ("sync=1", Options { sync: SyncMode::Sync, ..base() }),
        ("sync=dsync", Options { sync: SyncMode::Dsync, ..base() }),
        ("thinktime=250\nthinktime_blocks=4", Options { thinktime_us: 250, thinktime_blocks: 4, ..base() }),
        ("thinktime=2ms\nthinktime_spin=30", Options { thinktime_us: 2000, thinktime_spin_us: 30, ..base() }),
        ("runtime=30", Options { runtime_ms: Some(30_000), time_based: false, ..base() }),
        (
            "timeout=1m\nramp_time=500ms\ntime_based",
            Options { runtime_ms: Some(60_000), ramp_time_ms: Some(500), ..base() },
        ),
        (
            "rate=10m\nrate_process=poisson",
            Options { rate_bytes_per_second: Some(10 << 20), rate_process: RateProcess::Poisson, ..base() },
        ),
        ("rate_iops=500", Options { rate_iops: Some(500), ..base() }),
        ("verify=crc32c\ndo_verify=0", Options { verify: Some("crc32c".to_owned()), ..base() }),
        (
            "norandommap\nrandom_distribution=zipf:1.2",
            Options { norandommap: true, random_distribution: "zipf:1.2".to_owned(), ..base() },
        ),
        ("norandommap=0", base()),
        ("rate_iops=50\nio_submit_mode=offload", Options { rate_iops: Some(50), ..base() }),
        (
            "buffer_compress_percentage=50\ndedupe_percentage=10",
            Options { buffer_compress_percentage: 50, dedupe_percentage: 10, ..base() },
        ),
        (
            "name=x\ndescription=why not\ngroup_reporting\nthread\nrandrepeat=0\nstonewall\nloops=1\ninvalidate=1",
            base(),
        ),
        ("percentile_list=50:99\nfallocate=none\nrefill_buffers\noverwrite=1", base()),
        (
            "ioengine=io_uring\ndirect=1\nhipri\nregisterfiles=1\ncontinue_on_error=all",
            Options {
                direct: true,
                other: [("hipri", "1"), ("registerfiles", "1"), ("continue_on_error", "all")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                ..uring()
            },
        ),
        (
            "ioengine=libaio\ndirect=1\niodepth=32\niodepth_batch=16\niodepth_batch_complete_min=8\niodepth_low=4",
            Options {
                direct: true,
                iodepth: 32,
                other: [("iodepth_batch", "16"), ("iodepth_batch_complete_min", "8"), ("iodepth_low", "4")]
                    .map(|(name, value)| (name.to_owned(), value.to_owned()))
                    .into(),
                ..uring()
            },
        ),
        // fio's synchronous engines have one I/O in flight, so there are no batches.
        ("iodepth_batch_submit=16\niodepth_low=2", base()),
    ] {
        let (engine, jobs, notes) = taken(&format!("[a]\nrw=randwrite\nsize=64m\n{text}\n"), "");
        assert_eq!(engine, EngineKind::Native, "{text}: {notes:?}");
        let [job] = jobs.as_slice() else { panic!("{jobs:?}") };
        assert_eq!((job.name.as_str(), &job.options), ("a", &expected), "{text}");
        assert_eq!(native_lacks(&job.options, Layout::Written), [], "{text}");
    }
}

#[test]
fn what_makes_fio_the_engine_is_named() {
    for (text, option) in [
        ("startdelay=5", "`startdelay=5` ([a], line 4)"),
        ("bs=4k,8k", "`bs=4k,8k` ([a], line 4)"),
        ("bs=4kB", "`bs=4kB` ([a], line 4)"),
        ("blocksize=4096.5", "`blocksize=4096.5` ([a], line 4)"),
        ("rw=randread:8", "`rw=randread:8` ([a], line 4)"),
        ("size=50%", "`size=50%` ([a], line 4)"),
        ("filesize=1m", "`filesize=1m` ([a], line 4)"),
        ("filename=a:b", "`filename=a:b` ([a], line 4)"),
        ("ioengine=mmap", "`ioengine=mmap` ([a], line 4)"),
        (
            "ioengine=libaio\niodepth=4",
            "`ioengine=libaio` with buffered I/O: libaio does it one at a time ([a], line 4)",
        ),
        ("hipri", "`hipri` without `ioengine=io_uring` ([a], line 4)"),
        ("randrepeat=1", "`randrepeat=1` ([a], line 4)"),
        ("randseed=7", "`randseed=7` ([a], line 4)"),
        ("invalidate=0", "`invalidate=0` ([a], line 4)"),
        ("loops=2", "`loops=2` ([a], line 4)"),
        ("iodepth_batch_submit=many", "`iodepth_batch_submit=many` ([a], line 4)"),
        ("ioengine=io_uring\niodepth_batch_complete_min=0", "`iodepth_batch_complete_min=0` ([a], line 5)"),
        ("bs=4k\nbssplit=4k/50:8k/50", "`bssplit=4k/50:8k/50` beside another block size ([a], line 5)"),
        ("rate=1m,500k", "`rate=1m,500k` ([a], line 4)"),
        ("rw=randrw\nrate=1m", "`rate` with `rw: randrw`: fio applies it to each direction ([a], line 5)"),
        ("number_ios=9", "`number_ios=9` ([a], line 4)"),
        ("numjobs=1000\n[b]\nsize=1m\nnumjobs=25", "more than 1024 jobs ([b], line 7)"),
        ("verify=md5", "`verify: md5`, only crc32c ([a], line 4)"),
        ("runtime=25h", "`runtime=25h` ([a], line 4)"),
        ("direct=1\nbs=1000", "`direct: 1` with blocks of 1000 bytes ([a], line 5)"),
        ("\n[b]\nrw=read\nsize=1m\nstonewall", "`stonewall` ([b], line 8)"),
        ("\n[b]\nrw=read\nsize=1m\nruntime=3", "jobs with different times ([b], line 8)"),
        (
            "filename=x\n[b]\nfilename=x\nsize=1m",
            "jobs that share a file but have different sizes or offsets ([a], line 4)",
        ),
        (
            "filename=1.b\n[b]\nsize=1m",
            "a file name that begins with a number and a dot, as native's own do ([a], line 4)",
        ),
        (
            "filename=x\nverify=crc32c\ndo_verify=0\n[b]\nfilename=x\nsize=64m",
            "`verify` of a file that several jobs use and one of them writes ([a], line 4)",
        ),
    ] {
        let text = format!("[a]\nrw=randwrite\nsize=64m\n{text}\n");
        let (engine, jobs, notes) = taken(&text, ", size: 64m");
        assert_eq!((engine, jobs.len()), (EngineKind::Fio, 0), "{text}");
        let why = format!("`mine.fio` is performed by fio: the native engine does not know {option}");
        assert!(notes.iter().any(|note| note.ends_with(&why)), "{text}: {notes:?}, not {why}");
        let refused = load(&text, ", size: 64m, engine: native").unwrap_err().to_string();
        assert!(refused.contains("the native engine does not know"), "{refused}");
    }
}

/// Returns the times of the only job, and the number of notes about them.
fn times(text: &str, more: &str) -> (bool, Option<u64>, usize) {
    let (_, jobs, notes) = taken(&format!("[a]\nrw=randwrite\nsize=1m\n{text}"), more);
    let said = notes.iter().filter(|note| note.contains("repeats until the trial's time is up"));
    (jobs[0].options.time_based, jobs[0].options.runtime_ms, said.count())
}

#[test]
fn what_a_job_file_says_of_its_time_counts_and_what_it_does_not_say_is_noted() {
    for engine in ["", ", engine: fio"] {
        assert_eq!(times("time_based=0\n", engine), (false, None, 0), "one pass, as it says");
        assert_eq!(times("time_based=1\n", engine), (true, None, 0));
        assert_eq!(times("time_based=0\nruntime=3\n", engine), (false, Some(3000), 0));
        assert_eq!(times("runtime=3\n", engine), (false, Some(3000), 0), "fio's own default");
        assert_eq!(times("", engine), (true, None, 1), "the trial's time, and said");
        assert_eq!(times("runtime=0\n", engine), (true, None, 1));
    }
    let (engine, _, notes) = taken("[a]\nrw=read\nsize=1m\nstartdelay=5\n", "");
    assert_eq!(engine, EngineKind::Fio);
    assert!(notes.iter().any(|note| note.contains("[a] of `mine.fio` says no `runtime`")), "{notes:?}");
}

#[test]
fn where_fio_flushes_after_each_pass_a_job_file_is_fios() {
    let of = |text: &str| taken(&format!("[a]\nsize=1m\nend_fsync=1\nruntime=2\n{text}"), "").0;
    for each in
        ["rw=write\nnrfiles=4\ntime_based", "rw=rw\nbs=48k\ntime_based=1", "rw=write\nbs=48k\ntime_based"]
    {
        assert_eq!(of(each), EngineKind::Fio, "{each}");
    }
    for once in [
        "rw=write\ntime_based",
        "rw=write\nnrfiles=4",
        "rw=randwrite\nnrfiles=4\ntime_based",
        "rw=write\nnrfiles=4\ntime_based\nend_fsync=0",
    ] {
        assert_eq!(of(once), EngineKind::Native, "{once}");
    }
    let text = "[a]\nsize=1m\nend_fsync=1\nrw=write\nbs=48k\nruntime=2\ntime_based\n";
    let why = load(text, ", engine: native").unwrap_err().to_string();
    assert!(why.contains("`end_fsync=1` after each pass"), "{why}");
}

#[test]
fn global_sections_count_for_the_jobs_below_them() {
    let text = "[global]\nbs=8k\nsize=1m\ndirect=1\n[one]\nrw=write\nblocksize=16k\n\
                [global]\nbuffered=1\nrw=randread\n[two]\n[two]\nsize=2m\n";
    let (engine, jobs, _) = taken(text, "");
    assert_eq!(engine, EngineKind::Native);
    let seen: Vec<(&str, Rw, u64, u64, bool)> = jobs
        .iter()
        .map(|job| {
            let o = &job.options;
            (job.name.as_str(), o.rw, o.bs_bytes, o.size_bytes >> 20, o.direct)
        })
        .collect();
    let expected = [
        ("one", Rw::Write, 16_384, 1, true),
        ("two", Rw::Randread, 8192, 1, false),
        ("two-2", Rw::Randread, 8192, 2, false),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn the_experiment_may_choose_the_engine() {
    let text = "[a]\nrw=read\nsize=1m\nioengine=libaio\nruntime=3\n";
    let (engine, jobs, notes) = taken(text, ", engine: fio");
    assert_eq!((engine, jobs.len(), notes.len()), (EngineKind::Fio, 1, 0), "{notes:?}");
    let (engine, _, notes) = taken(text, "");
    assert_eq!(engine, EngineKind::Native);
    assert!(notes[0].ends_with("asks for libaio: the native engine issues its I/O by io_uring"), "{notes:?}");
}

#[test]
fn very_many_jobs_are_fios_at_once() {
    let (engine, jobs, notes) = taken(&format!("[global]\nsize=4k\n{}", "[a]\n".repeat(60_000)), "");
    assert_eq!((engine, jobs.len()), (EngineKind::Fio, 0));
    assert!(notes[0].ends_with("does not know more than 1024 jobs ([a])"), "{notes:?}");
}

#[test]
fn what_only_adds_files_or_takes_figures_away_is_left_out_and_said() {
    let text = "[a]\nsize=1m\nwrite_bw_log=/etc/x\nlog_avg_msec=10\ngtod_reduce=1\nunlink=1\ngroup_reporting\nthread\n";
    let (engine, _, notes) = taken(text, "");
    assert_eq!(engine, EngineKind::Native, "{notes:?}");
    for said in [
        "runs without `write_bw_log`, `log_avg_msec`: the record has every I/O in histograms",
        "runs without `gtod_reduce`: the record needs the latencies",
        "runs without `unlink`: every trial lays its files out",
        "runs without `thread`: diskproof sets it itself",
    ] {
        assert!(notes.iter().any(|note| note.contains(said)), "{said}: {notes:?}");
    }
    assert!(!notes.iter().any(|note| note.contains("group_reporting")), "{notes:?}");
}

#[test]
fn every_file_that_a_job_names_gets_a_place_and_the_plan_prints_it() {
    let text = "[global]\nsize=1m\n[a]\nfilename=/dev/nvme0n1\n[b]\nfilename=../../etc/passwd\n[c]\ndirectory=/dev\nfilename=./nvme0n1\n[d]\nfilename=\n";
    let (engine, jobs, notes) = taken(text, "");
    assert_eq!(engine, EngineKind::Native, "{notes:?}");
    let names: Vec<Option<&str>> = jobs.iter().map(|job| job.options.filename.as_deref()).collect();
    assert_eq!(names, [Some("dev_nvme0n1"), Some(".._.._etc_passwd"), Some("dev_nvme0n1"), None]);
    let map = "in the volume: /dev/nvme0n1 -> dev_nvme0n1, ../../etc/passwd -> .._.._etc_passwd; without a file system";
    assert!(notes.iter().any(|note| note.contains(map)), "{notes:?}");
}

#[test]
fn values_that_fio_refuses_are_refused_with_their_line() {
    for (line, said) in [
        ("rw=rnadread", "did you mean `randread`?"),
        ("rwmixread=150", "a whole number from 0 to 100"),
        ("iodepth=0", "a whole number from 1 on"),
        ("time_based=true", "`time_based` takes 0 or 1"),
        ("direct", "`direct` takes 0 or 1"),
        ("verify=foo", "`verify` takes one of none"),
        ("size=lots", "size=lots is not a size"),
        ("numjobs=0", "`numjobs` takes a whole number from 1 on"),
        ("io_submit_mode=offload\nnice=5", "fio 3.33 often hangs at the end"),
        ("randseed==5", "write `randseed=5`"),
        ("mem=mmaphuge:/huge/x", "it would map another file"),
        ("buffer_pattern='/etc/passwd'", "write the pattern itself"),
        ("pi_act=1", "NVMe commands past the block layer"),
        ("filename_format=$clientuid", "known here: $jobname, $jobnum, $filenum"),
        ("directory=a:b\nfilename=f\nnumjobs=2", "write a section for each folder"),
    ] {
        let why = load(&format!("[a]\nsize=1m\n{line}\n"), "").unwrap_err().to_string();
        assert!(why.contains(said) && why.contains("mine.fio:3:1"), "{line}: {why}");
    }
    for line in [
        "rw=randread:8",
        "rw=read:-8k",
        "iodepth=1k",
        "rwmixread=50,50",
        "verify=meta",
        "time_based",
        "stats=0",
    ] {
        taken(&format!("[a]\nsize=1m\n{line}\n"), "");
    }
}

#[test]
fn comments_and_names_are_as_fio_takes_them() {
    let text = "[global-more] ; defaults\nsize=1m\t# each\n[4k/rand]\nbs=4k ; small\n";
    let (engine, jobs, notes) = taken(text, "");
    assert_eq!((engine, jobs.len()), (EngineKind::Native, 1), "{notes:?}");
    assert_eq!((jobs[0].name.as_str(), jobs[0].options.size_bytes), ("4k/rand", 1 << 20));
}

#[test]
fn a_size_that_the_device_decides_needs_room_and_one_that_the_file_says_counts() {
    let open = "[a]\nfilename=/dev/sdb\nrw=randread\n";
    assert!(load(open, "").unwrap_err().to_string().contains("`size: ...` here"));
    let size = |text: &str, more: &str| {
        let loaded = load(text, more).unwrap();
        let Ask::JobFile { size_bytes, .. } = loaded.plan.cells[0].workload.ask else {
            panic!("no job file")
        };
        (size_bytes >> 20, loaded.notes)
    };
    assert_eq!(size(open, ", size: 64m").0, 64);
    let (own, notes) = size("[a]\nsize=8m\nnumjobs=2\nstartdelay=1\n", ", size: 64m");
    assert_eq!(own, 16);
    assert!(
        notes.iter().any(|note| note.contains("16 MiB together: `size` beside it has no effect")),
        "{notes:?}"
    );
    let why = load("[a]\nsize=80m\n[b]\nsize=50%\n", ", size: 64m").unwrap_err().to_string();
    assert!(why.contains("[b] takes its size from the file or device, and 0 bytes are left"), "{why}");
}

/// Loads an experiment with variables, beside the files of a folder.
fn with_files(files: &[(&str, &str)], workload: &str) -> Result<Loaded, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let outside = dir.path().join("jobs/link.fio");
    std::os::unix::fs::symlink("/etc/hostname", outside).unwrap();
    let text = format!(
        "experiment: demo\nparameters: {{ DEPTH: 8 }}\nvolumes: {{ d: {{ directory: /tmp }} }}\nstacks: {{ d: {{}} }}\n\
         workloads: {{ {workload} }}\n"
    );
    parse(&text, "demo.yaml", dir.path(), &BTreeMap::new())
}

fn text_of(loaded: &Loaded, cell: usize) -> &str {
    let Ask::JobFile { text, .. } = &loaded.plan.cells[cell].workload.ask else { panic!("no job file") };
    text
}

#[test]
fn variables_are_filled_from_parameters_and_factors() {
    let file = [("jobs/a.fio", "[a]\nsize=1m\niodepth=${DEPTH}\nbs=${BS} ; ${NOT}\n")];
    let loaded = with_files(&file, "\"w-{BS}\": { with: { BS: [4k, 8k] }, fio: jobs/a.fio }").unwrap();
    assert_eq!(text_of(&loaded, 0), "[a]\nsize=1m\niodepth=8\nbs=4k ; ${NOT}\n");
    assert!(text_of(&loaded, 1).contains("bs=8k"));
    let why = with_files(&file, "w: { fio: jobs/a.fio }").unwrap_err().to_string();
    assert!(why.contains("`${BS}` has no value") && why.contains("a.fio:4:4"), "{why}");
}

#[test]
fn included_files_lie_below_the_job_file_and_are_in_the_record() {
    let common = ("jobs/parts/common.fio", "bs=16k\n");
    let job = |include: &str| format!("[a]\nsize=1m\ninclude {include}\nrw=randread\n");
    let good =
        with_files(&[common, ("jobs/a.fio", &job("parts/common.fio"))], "w: { fio: jobs/a.fio }").unwrap();
    assert_eq!(text_of(&good, 0), "[a]\nsize=1m\nbs=16k\nrw=randread\n");
    for outside in ["/etc/hostname", "../secret.fio", "link.fio", "parts/../../secret.fio", "nobody.fio"] {
        let files = [common, ("secret.fio", "bs=1k\n"), ("jobs/a.fio", &job(outside))];
        let why = with_files(&files, "w: { fio: jobs/a.fio }").unwrap_err().to_string();
        assert!(why.contains("a.fio:3:1") && why.contains("`include`"), "{outside}: {why}");
    }
}

#[test]
fn the_job_file_in_a_shell_script_is_read_with_the_scripts_lines() {
    let script = "#!/bin/sh\nJ=/tmp/j\nDEPTH=4\nOPTS=\"$J --ioengine=io_uring\"\ncat >$J <<END\n[a]\nrw=randread\nsize=1m\n\
                  iodepth=$DEPTH\nEND\nfio $OPTS\n";
    let loaded = load(script, "").unwrap();
    let Ask::JobFile { text, jobs, .. } = &loaded.plan.cells[0].workload.ask else { panic!("no job file") };
    assert_eq!(text, "[global]\nioengine=io_uring\n\n\n\n[a]\nrw=randread\nsize=1m\niodepth=4\n");
    assert_eq!((jobs[0].options.ioengine.as_str(), jobs[0].options.iodepth), ("io_uring", 4));
    let note = "its job file, from line 6 on, is read, with `--ioengine=io_uring` of the script's command line as defaults, with DEPTH=4";
    assert!(loaded.notes.iter().any(|said| said.contains(note)), "{:?}", loaded.notes);
    for (text, said, line) in [
        (script.replace("rw=randread", "rw=rnadread"), "did you mean `randread`?", 7),
        (script.replace("$DEPTH", "$(nproc)"), "only a shell knows the value of `$(nproc)`", 9),
        (script.replace("DEPTH=4", "DEPTH=$1"), "`$DEPTH` has no value", 9),
        (script.replace(" --io", " --section=a --io"), "gives fio `--section=a` beside the job file", 4),
        ("#!/bin/sh\nfio --name=a --rw=read\n".to_owned(), "a shell script without a job file", 1),
    ] {
        let why = load(&text, "").unwrap_err().to_string();
        assert!(why.contains(said) && why.contains(&format!("mine.fio:{line}:")), "{why}");
    }
}

#[test]
fn a_parameter_fills_the_arithmetic_of_a_script() {
    let file = [("jobs/a.sh", "#!/bin/sh\nfio - <<E\n[a]\nsize=$((DEPTH*1048576/2))\nE\n")];
    let loaded = with_files(&file, "w: { fio: jobs/a.sh }").unwrap();
    assert_eq!(text_of(&loaded, 0), "[a]\nsize=4194304\n");
}

/// Returns the options and the engine of the search that a job file becomes.
fn search(job_file: &str, more: &str) -> (Options, EngineKind, Vec<String>) {
    let loaded = load(job_file, more).unwrap_or_else(|error| panic!("{job_file}\n{error}"));
    let workload = loaded.plan.cells.into_iter().next().unwrap().workload;
    let Ask::Options(options) = workload.ask else { panic!("no search") };
    (options, workload.engine, loaded.notes)
}

#[test]
fn a_latency_target_becomes_a_search_for_the_depth() {
    let text = "[a]\nfilename=/dev/sda\nrw=randrw\nbs=8k\ndirect=1\nioengine=libaio\niodepth=64\nruntime=60\n\
                latency_target=2500\nlatency_window=5s\nlatency_percentile=99\n";
    let (options, engine, notes) = search(text, ", size: 64m");
    let find = options.find.clone().unwrap();
    assert_eq!((find.most.as_str(), find.by, find.from, find.to), ("iops", FindBy::Iodepth, 1, 64));
    let limits: Vec<(&str, f64)> =
        find.limits.iter().map(|limit| (limit.of.as_str(), limit.at_most)).collect();
    assert_eq!(limits, [("read_lat_p99", 2500.0), ("write_lat_p99", 2500.0)]);
    assert_eq!((engine, options.size_bytes, options.bs_bytes), (EngineKind::Native, 64 << 20, 8192));
    assert_eq!(
        (options.filename.as_deref(), options.time_based, options.runtime_ms),
        (Some("dev_sda"), true, None)
    );
    let note = "becomes a search: most iops while read_lat_p99 <= 2500us and write_lat_p99 <= 2500us, by iodepth from 1 to 64";
    assert!(
        notes.iter().any(|said| said.contains(note) && said.contains("`latency_window`, `runtime`")),
        "{notes:?}"
    );

    let (options, engine, notes) =
        search(&format!("{text}random_generator=lfsr\nlatency_percentile=100\n"), ", size: 64m");
    assert_eq!((engine, options.ioengine.as_str()), (EngineKind::Fio, "libaio"));
    assert_eq!(options.other.get("random_generator").map(String::as_str), Some("lfsr"));
    assert_eq!(options.find.unwrap().limits[0].of, "read_lat_p999");
    assert!(
        notes.iter().any(|said| said.contains("the record has percentiles up to the 99.9th")),
        "{notes:?}"
    );
}

#[test]
fn what_no_search_can_do_is_refused_with_its_line() {
    let with =
        |more: &str| format!("[a]\nsize=1m\nioengine=io_uring\niodepth=8\nlatency_target=10ms\n{more}");
    for (text, said, line) in [
        (with("[b]\nsize=1m\n"), "with several jobs", 5),
        (with("latency_percentile=95\n"), "no such percentile", 6),
        (with("loops=2\n"), "a search does not know `loops=2` (in [a])", 6),
        (with("iodepth=1\n"), "one I/O at a time", 5),
        (with("latency_target=soon\n"), "`latency_target=soon` is not a time", 6),
        (with("filename=x:y\n"), "with several files", 6),
    ] {
        let why = load(&text, "").unwrap_err().to_string();
        assert!(why.contains(said) && why.contains(&format!("mine.fio:{line}:1")), "{why}");
    }
    let open = load("[a]\nioengine=io_uring\niodepth=8\nlatency_target=10ms\n", "").unwrap_err();
    assert!(open.lacks_size(), "{open}");
    let (engine, _, _) = taken("[a]\nsize=1m\nlatency_target=0\n", "");
    assert_eq!(engine, EngineKind::Fio, "no target, no search");
}
