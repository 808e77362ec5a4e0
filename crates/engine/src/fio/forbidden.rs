//! Options that would make fio leave the device or file system under test, run programs, or break what a trial relies on. `spec`
//! refuses them with their line; this is the second check, at the moment of use.

/// Options that no workload may set, and why.
const FORBIDDEN: &[(&str, &str)] = &[
    ("filename", "diskproof chooses the files"),
    ("directory", "diskproof chooses the directory"),
    ("filename_format", "diskproof chooses the files"),
    ("unique_filename", "diskproof chooses the files"),
    ("opendir", "it would take any file found there"),
    ("lockfile", "it would put lock files elsewhere"),
    ("include", "it would read options from another file"),
    ("read_iolog", "it would replay accesses to files named elsewhere"),
    ("replay_redirect", "it would redirect accesses elsewhere"),
    ("merge_blktrace_file", "it would write elsewhere"),
    ("write_iolog", "it would write a file elsewhere"),
    ("write_bw_log", "it would write files elsewhere; diskproof samples by itself"),
    ("write_lat_log", "it would write files elsewhere; diskproof keeps histograms"),
    ("write_iops_log", "it would write files elsewhere; diskproof samples by itself"),
    ("write_hist_log", "it would write files elsewhere; diskproof keeps histograms"),
    ("exec_prerun", "it would run a program"),
    ("exec_postrun", "it would run a program"),
    ("ioscheduler", "it would change the device; set it in the stack"),
    ("cgroup", "diskproof places the processes"),
    ("cgroup_weight", "diskproof places the processes"),
    ("cgroup_nodelete", "diskproof places the processes"),
    ("allow_mounted_write", "the guard decides what may be written"),
    ("profile", "it would replace the job"),
    ("client", "the job runs here"),
    ("hostname", "it would speak to the network"),
    ("uid", "it would change who opens the files"),
    ("gid", "it would change who opens the files"),
    ("fill_device", "it would fill the device or file system"),
    ("fill_fs", "it would fill the device or file system"),
    ("file_append", "it would grow the files beyond what was laid out"),
    ("unlink", "the data must outlive the trial to be examined"),
    ("unlink_each_loop", "the data must outlive the trial to be examined"),
    ("create_only", "there would be nothing to measure"),
    ("verify_only", "there would be nothing to measure"),
    ("error_dump", "diskproof reads the errors itself"),
    ("group_reporting", "diskproof needs every job by itself"),
    ("unified_rw_reporting", "diskproof needs every direction by itself"),
    ("stats", "there would be nothing to read"),
    ("thread", "diskproof watches the jobs' processes"),
];

/// fio's I/O engines that do I/O on the files and devices of the job. All others use something else (network, object stores,
/// other programs) or nothing at all.
const IO_ENGINES: &[&str] =
    &["libaio", "io_uring", "sync", "psync", "vsync", "pvsync", "pvsync2", "posixaio", "mmap", "splice"];

/// Why an option may not be set by a workload; `None` when it may.
pub(crate) fn reason(name: &str, value: &str) -> Option<String> {
    let canonical = name.trim().replace('-', "_").to_ascii_lowercase();
    if let Some((_, why)) = FORBIDDEN.iter().find(|(forbidden, _)| *forbidden == canonical) {
        return Some(format!("the option {name} can't be set: {why}"));
    }
    if !canonical.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_') || canonical.is_empty() {
        return Some(format!("{name:?} is no option name of fio"));
    }
    if canonical == "ioengine" {
        return ioengine(value);
    }
    if !spec::fio_takes(name.trim()) {
        return Some(format!("{name:?} is not among the options that were checked to stay on the volumes"));
    }
    if matches!(canonical.as_str(), "buffer_pattern" | "verify_pattern") && value.contains('\'') {
        return Some(format!("the option {name} can't be read from a file; write the pattern itself"));
    }
    unsafe_text(value).map(|c| format!("the option {name} can't hold {c:?}: fio would expand or cut it"))
}

/// Why an I/O engine may not be used; `None` when it may.
pub(crate) fn ioengine(value: &str) -> Option<String> {
    (!IO_ENGINES.contains(&value)).then(|| {
        format!(
            "the ioengine {value:?} doesn't do I/O on the storage under test; use one of {}",
            IO_ENGINES.join(", ")
        )
    })
}

/// A character that fio's job file parser would not take literally: comments, expansion of variables, line ends.
pub(crate) fn unsafe_text(value: &str) -> Option<char> {
    value.chars().find(|c| c.is_control() || matches!(c, '$' | ';' | '#'))
}

#[cfg(test)]
mod tests {
    use super::{ioengine, reason};

    #[test]
    fn places_and_programs_are_refused() {
        for name in
            ["filename", "directory", "exec_prerun", "include", "opendir", "read_iolog", "write-lat-log"]
        {
            assert!(reason(name, "x").is_some(), "{name}");
        }
        assert!(reason("FILENAME", "x").is_some());
        assert!(reason("a b", "x").is_some());
        assert!(reason("", "x").is_some());
        assert!(reason("buffer_pattern", "'/etc/shadow'").unwrap().contains("from a file"));
    }

    #[test]
    fn what_nobody_checked_is_refused() {
        for name in [
            "trigger",
            "trigger-file",
            "aux-path",
            "iomem",
            "program",
            "arguments",
            "std_redirect",
            "mem_of_2040",
        ] {
            assert!(reason(name, "x").is_some(), "{name}");
        }
    }

    #[test]
    fn text_that_fio_would_expand_is_refused() {
        for value in ["$ncpus", "${HOME}", "1\nfilename=/dev/sda", "1;x", "1#x"] {
            assert!(reason("thinktime", value).is_some(), "{value}");
        }
    }

    #[test]
    fn ordinary_options_pass() {
        for (name, value) in
            [("thinktime", "10"), ("bssplit", "4k/50:8k/50"), ("ioengine", "io_uring"), ("rate", "1m,1m")]
        {
            assert_eq!(reason(name, value), None, "{name}");
        }
    }

    #[test]
    fn engines_that_do_no_io_here_are_refused() {
        for engine in ["null", "net", "external:/tmp/x.so", "rbd", "exec", "cpuio", "filecreate"] {
            assert!(ioengine(engine).unwrap().contains("use one of libaio"), "{engine}");
        }
    }
}
