use super::{jobs, sized};
use crate::fio::ini::Section;
use crate::fio::userfile::block::on_device;
use crate::fio::userfile::directory::in_directory;
use proptest::prelude::{ProptestConfig, any, proptest};
use std::path::Path;

fn directory(text: &str) -> Result<super::Rewritten, super::UserFileError> {
    in_directory(&sized(&jobs(text)?, 100 << 20)?, Path::new("/mnt/a:b"))
}

fn device(text: &str) -> Result<super::Rewritten, super::UserFileError> {
    on_device(&sized(&jobs(text)?, 100 << 20)?, Path::new("/dev/x"), 1)
}

fn get<'a>(sections: &'a [Section], name: &str, option: &str) -> Option<&'a str> {
    sections.iter().find(|s| s.name == name).unwrap_or_else(|| panic!("[{name}]")).get(option)
}

const VIRT: &str = "[global]\nrw=randread\nsize=64m\ndirectory=/somewhere/else\ngroup_reporting\nbs=4k\n\
    [a]\nnumjobs=2\n[b/c]\nstonewall\nbs=16k\n[d]\nfilename=/dev/sda:x\\:y\n";

#[test]
fn places_are_replaced_and_the_rest_is_kept() {
    let file = directory(VIRT).unwrap();
    let run = &file.run.sections;
    assert_eq!(get(run, "a", "directory"), Some("/mnt/a\\:b"));
    assert_eq!(get(run, "a", "filename_format"), Some("diskproof-data.a.$jobnum.$filenum"));
    assert_eq!(get(run, "b/c", "filename_format"), Some("diskproof-data.b_c.$jobnum.$filenum"));
    let names = "diskproof-data.somewhere_else_dev_sda:diskproof-data.somewhere_else_x_y";
    assert_eq!(get(run, "d", "filename"), Some(names), "a folder and a name are one path, as in fio");
    assert_eq!(get(run, "b/c", "bs"), Some("16k"));
    assert_eq!(get(run, "a", "bs"), Some("4k"));
    assert_eq!(get(run, "b/c", "stonewall"), Some(""));
    assert_eq!(get(run, "a", "group_reporting"), None);
    assert!(!file.shared_files);
    assert!(!file.run.to_string().contains("/somewhere/else"));
    assert_eq!(get(&file.layout.sections, "layout-b/c", "stonewall"), None);
    assert_eq!(get(&file.layout.sections, "global", "create_only"), Some("1"));
}

#[test]
fn shared_files_are_noticed() {
    for shared in [
        "[global]\nsize=1m\nfilename=f\n[a]\n[b]\n",
        "[a]\nsize=1m\nnumjobs=2\nfilename=f\n",
        "[a]\nsize=1m\nnumjobs=2\nfilename_format=x.$filenum\n",
    ] {
        assert!(directory(shared).unwrap().shared_files, "{shared}");
    }
    for own in [
        "[global]\nsize=1m\nfilename=f\n[a]\n[b]\nstonewall\n",
        "[a]\nnumjobs=3\n[b]\n",
        "[a]\nnumjobs=2\nfilename_format=$jobname.$jobnum\n",
    ] {
        assert!(!directory(own).unwrap().shared_files, "{own}");
    }
}

#[test]
fn names_that_differ_stay_different() {
    let file = directory("[x]\nfilename=a/b\n[y]\nfilename=a_b\n[z]\nfilename=../../a/b\n").unwrap();
    let names: std::collections::BTreeSet<_> =
        ["x", "y", "z"].iter().map(|s| get(&file.run.sections, s, "filename").unwrap()).collect();
    assert_eq!(names.len(), 3, "{names:?}");
    assert!(names.iter().all(|n| n.starts_with("diskproof-data.") && !n.contains('/')));
    let twice = directory("[a]\n[a]\n").unwrap();
    assert_eq!(twice.run.sections.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["a", "a-2"]);
}

#[test]
fn a_later_global_speaks_for_later_sections_only() {
    let file = directory("[global]\nbs=4k\n[a]\n[global]\nbs=8k\n[b]\n").unwrap();
    assert_eq!(get(&file.run.sections, "a", "bs"), Some("4k"));
    assert_eq!(get(&file.run.sections, "b", "bs"), Some("8k"));
}

#[test]
fn what_leads_elsewhere_is_refused() {
    for (line, word) in [
        ("exec_prerun=rm -rf /", "run other programs"),
        ("read_iolog=/tmp/x", "replay"),
        ("include other.fio", "include"),
        ("ioengine=net", "doesn't do I/O on the storage under test"),
        ("mem=mmaphuge:/huge/x", "another file"),
        ("rw=randtrim", "block devices only"),
        ("zonemode=zbd", "zoned block devices"),
        ("directory=a:b\nnumjobs=2\nfilename=f", "several folders"),
        ("opendir=/etc", "other files"),
        ("bs=$ncpus", "'$'"),
        ("numjobs=0", "numjobs=0"),
        ("numjobs=99999999", "numjobs"),
        ("filename_format=$clientuid", "$clientuid"),
    ] {
        let why = directory(&format!("[a]\nsize=1m\n{line}\n")).unwrap_err().to_string();
        assert!(why.contains(word), "{line}: {why}");
        assert!(
            why.contains("[a]") || line.starts_with("include") || line.starts_with("filename_format"),
            "{why}"
        );
    }
    assert!(jobs("[global]\nbs=4k\n").unwrap().is_empty());
}

#[test]
fn on_a_device_every_file_is_a_span() {
    let text = "[global]\nsize=10m\n[a]\nnumjobs=3\n[b]\nfilename=f\noffset=1m\n[c]\nfilename=f\nsize=4m\n";
    let file = device(text).unwrap();
    let run = &file.run.sections;
    let number = |section: &str, option: &str| get(run, section, option).unwrap().parse::<u64>().unwrap();
    assert_eq!(number("a", "offset_increment"), 10 << 20);
    assert_eq!(number("b", "offset"), number("c", "offset") + (1 << 20), "the same file is the same span");
    let spans = [(number("a", "offset"), 30 << 20), (number("c", "offset"), 11 << 20)];
    let [(low, low_size), (high, _)] = if spans[0].0 < spans[1].0 { spans } else { [spans[1], spans[0]] };
    assert!(low + low_size <= high, "{spans:?}");
    assert_eq!(file.needed_bytes, 41 << 20);
    assert!(file.shared_files);
    assert!(!device("[a]\nsize=1m\nnumjobs=2\n[b]\nsize=1m\n").unwrap().shared_files);
    assert!(run.iter().all(|s| s.get("filename") == Some("/dev/x")));
    let covered: u64 =
        file.layout.sections[1..].iter().map(|s| s.get("size").unwrap().parse::<u64>().unwrap()).sum();
    assert!(covered >= 41 << 20, "all of it is written beforehand");
}

#[test]
fn on_a_device_one_job_has_one_file() {
    for (text, word) in [
        ("[a]\nsize=1m\nnrfiles=4\n", "file system"),
        ("[a]\nsize=1m\nfilename=x:y\n", "file system"),
        ("[a]\nsize=16000p\nnumjobs=4096\n", "2^64"),
        ("[a]\nsize=lots\n", "size=lots"),
    ] {
        let why = device(text).unwrap_err().to_string();
        assert!(why.contains(word), "{text:?}: {why}");
    }
}

#[test]
fn a_size_that_the_device_decides_becomes_a_number() {
    let text = "[global]\nfilename=/dev/sda\n[a]\nsize=20%\n[b]\noffset=50%\n[c]\nfilename=/dev/sdb\n";
    for file in [directory(text).unwrap(), device(text).unwrap()] {
        let run = &file.run.sections;
        let number =
            |section: &str, option: &str| get(run, section, option).map(|text| text.parse::<u64>().unwrap());
        assert_eq!(number("a", "size"), Some(10 << 20), "20 % of half of the 100 MiB");
        assert_eq!(number("b", "size"), Some(25 << 20));
        assert_eq!(number("c", "size"), Some(50 << 20));
        assert_eq!(number("b", "offset").unwrap() - number("a", "offset").unwrap_or(0), 25 << 20);
        assert_eq!(file.needed_bytes, 100 << 20);
        assert!(!file.run.to_string().contains('%'));
    }
}

#[test]
fn what_only_adds_files_or_takes_figures_away_is_left_out() {
    let text = "[a]\nsize=1m\nwrite_bw_log=/etc/x\nlog_avg_msec=10\ngtod_reduce=1\ndisable_slat=1\nunlink=1\n\
        create_on_open=1\nallow_file_create=0\nverify_dump=1\nverify_state_save=0\nstats=0\nstatus-interval=1\n";
    let run = directory(text).unwrap().run;
    let names: Vec<&str> = run.sections[0].options.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(
        names,
        ["size", "stats", "directory", "filename_format"],
        "a job without statistics stays without"
    );
}

#[test]
fn the_layout_has_only_what_decides_the_files() {
    let text = "[a]\nsize=1m\nbs=16k\nrw=randread\nio_submit_mode=inline\nrate_iops=5\nthinktime=1s\nstartdelay=9\n\
        ioengine=libaio\ndirect=1\nloops=9\nbuffer_compress_percentage=50\nexitall\n";
    let layout = directory(text).unwrap().layout;
    let names: Vec<&str> = layout.sections[1].options.iter().map(|(name, _)| name.as_str()).collect();
    let expected =
        ["bs", "buffer_compress_percentage", "size", "directory", "filename_format", "rw", "overwrite"];
    assert_eq!(names, expected);
}

#[test]
fn what_a_reader_checks_is_laid_out_for_it_after_all_else() {
    let text = "[global]\nfilename=f\nsize=1m\nverify=md5\n[check]\nrw=read\nbs=8k\nverify_interval=4k\n[w]\nrw=write\n";
    for file in [directory(text).unwrap(), device(text).unwrap()] {
        let check = file.layout.sections.iter().find(|s| s.name == "layout-check").unwrap();
        let told = ["verify", "verify_interval", "bs", "rw", "do_verify"]
            .map(|name| check.get(name).unwrap_or("write"));
        assert_eq!(told, ["md5", "4k", "8k", "write", "0"]);
        assert_eq!(get(&file.layout.sections, "layout-w", "verify"), None);
    }
    let last = directory(text).unwrap().layout.sections.pop().unwrap();
    assert_eq!((last.name.as_str(), last.get("create_only")), ("layout-check", Some("0")));
}

#[test]
fn nothing_lies_outside_whatever_the_names_are() {
    for name in ["../../etc/passwd", "/etc/passwd", "x\\:y", "a b", "..", ".", "/", "-rf", "\u{e9}", "a\\"] {
        for line in [
            format!("filename={name}"),
            format!("directory={name}"),
            format!("filename_format={name}$jobnum"),
        ] {
            let text = format!("[a]\nsize=1m\n{line}\n");
            let run = directory(&text).unwrap().run.sections.remove(0);
            assert_eq!(run.get("directory"), Some("/mnt/a\\:b"), "{line}");
            let file = run.get("filename").or(run.get("filename_format")).unwrap();
            let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | '$');
            assert!(file.starts_with("diskproof-data.") && file.chars().all(plain), "{line}: {file}");
            assert_eq!(device(&text).unwrap().run.sections[0].get("filename"), Some("/dev/x"), "{line}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn nothing_panics_and_no_place_survives(
        text in "(\\[(global|a|b/c)\\]\n|(directory|filename|size|numjobs|offset|nrfiles|filename_format)=[a-z0-9/$:\\\\]{0,9}\n){0,12}",
        any_text in any::<String>(),
    ) {
        for text in [&text, &any_text] {
            if let Ok(file) = directory(text) {
                for section in &file.run.sections {
                    assert_eq!(section.get("directory"), Some("/mnt/a\\:b"));
                    for file in section.get("filename").unwrap_or_default().split(':').filter(|name| !name.is_empty()) {
                        assert!(file.starts_with("diskproof-data.") && !file.contains('/'), "{file}");
                    }
                }
            }
            if let Ok(file) = device(text) {
                assert!(file.run.sections.iter().all(|s| s.get("filename") == Some("/dev/x")));
            }
        }
    }
}
