use super::{Region, distinct, of_options};
use device::Place;
use record::workload::{Options, Rw};
use std::path::PathBuf;

fn directory() -> Place {
    Place::Directory(PathBuf::from("/m"))
}

fn device() -> Place {
    Place::Block(PathBuf::from("/dev/x"))
}

fn options(size_bytes: u64) -> Options {
    Options { numjobs: 2, ..Options::new(Rw::Read, 4096, size_bytes) }
}

fn names(jobs: &[Vec<Region>]) -> Vec<Vec<String>> {
    let name = |r: &Region| r.path.to_string_lossy().into_owned();
    jobs.iter().map(|files| files.iter().map(name).collect()).collect()
}

#[test]
fn each_job_has_its_own_file() {
    let jobs = of_options(&directory(), &options(7)).unwrap();
    assert_eq!(names(&jobs), [["/m/diskproof-data.0"], ["/m/diskproof-data.1"]]);
    assert_eq!((jobs[1][0].offset_bytes, jobs[1][0].size_bytes), (0, 7));
}

#[test]
fn each_job_has_its_own_aligned_span() {
    let o = Options { numjobs: 3, offset_bytes: 8192, ..options((1 << 20) + 4096) };
    let jobs = of_options(&device(), &o).unwrap();
    let begins: Vec<_> = jobs.iter().map(|files| (files[0].begin_bytes(), files[0].offset_bytes)).collect();
    assert_eq!(begins, [(0, 8192), (2 << 20, (2 << 20) + 8192), (4 << 20, (4 << 20) + 8192)]);
    assert_eq!(jobs[2][0].end_bytes(), (5 << 20) + 8192 + 4096);
    assert_eq!(jobs[2][0].laid_out_bytes(), (1 << 20) + 8192 + 4096);
    assert!(of_options(&device(), &options(u64::MAX)).is_err());
    let o = Options { offset_bytes: u64::MAX, ..options(4096) };
    assert!(of_options(&device(), &o).is_err());
}

#[test]
fn files_of_a_job_share_its_size_in_whole_blocks() {
    let o = Options { nrfiles: 3, offset_bytes: 4096, ..options(1 << 20) };
    let jobs = of_options(&directory(), &o).unwrap();
    assert_eq!(jobs[1][2].path, PathBuf::from("/m/diskproof-data.1.2"));
    assert!(jobs.iter().flatten().all(|r| r.size_bytes == 85 * 4096 && r.offset_bytes == 4096));
    assert_eq!(distinct(&jobs).len(), 6);
    let too_small = Options { nrfiles: 300, ..options(1 << 20) };
    assert!(of_options(&directory(), &too_small).unwrap_err().to_string().contains("less than one block"));
    assert!(of_options(&device(), &o).unwrap_err().to_string().contains("needs a directory"));
}

#[test]
fn a_named_file_is_shared() {
    let o = Options { filename: Some("both".into()), ..options(1 << 20) };
    for (place, path) in [(directory(), "/m/diskproof-data.both"), (device(), "/dev/x")] {
        let jobs = of_options(&place, &o).unwrap();
        assert_eq!(names(&jobs), [[path], [path]]);
        assert_eq!(jobs[0], jobs[1]);
        assert_eq!(distinct(&jobs).len(), 1);
    }
    for bad in ["", "../x", "/dev/sda", "a:b", "a b", "$x"] {
        let o = Options { filename: Some(bad.into()), ..options(1 << 20) };
        assert!(of_options(&directory(), &o).unwrap_err().to_string().contains("filename"), "{bad}");
    }
    let o = Options { filename: Some("both".into()), nrfiles: 2, ..options(1 << 20) };
    assert!(of_options(&directory(), &o).is_err());
}

#[test]
fn paths_that_a_job_file_cannot_hold_are_refused() {
    let at = |dir: &str| of_options(&Place::Directory(PathBuf::from(dir)), &options(1));
    for dir in ["/a#b", "/a;b", "/$ncpus", "/a\nb"] {
        assert!(at(dir).is_err(), "{dir}");
    }
    assert!(at("/a b:c\\d").is_ok());
}
