//! `report` through the binary: the page, each picture, the folder of pages, and what it refuses.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod home;

use home::Home;
use record::printable::Shown as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A name that tries to become markup, a path and an end of line.
const EVIL: &str = "..<script>alert('x')</script>&\"-\u{202e}-name";

impl Home {
    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The names of all pictures of the latest run, as the refusal of a wrong one lists them.
    fn pictures(&self) -> Vec<String> {
        let answer = self.diskproof(&["report", "--chart", "no-such"]);
        assert_eq!((answer.code, answer.out.as_str()), (2, ""), "{}", answer.err);
        let (_, names) = answer.err.split_once("the run has no picture `no-such`; it has ").unwrap();
        names.trim().split(", ").map(str::to_owned).collect()
    }
}

/// What fio prints for one job of 10 s.
fn fio(rw: &str, iodepth: u32, iops: u32, ended: u32) -> String {
    format!(
        r#"{{ "fio version": "fio-3.36", "timestamp": {ended}, "global options": {{ "bs": "4k", "direct": "1", "runtime": "10" }},
  "jobs": [ {{ "jobname": "iotest", "groupid": 0, "error": 0,
    "job options": {{ "rw": "{rw}", "iodepth": "{iodepth}", "ioengine": "libaio", "filename": "/dev/sdb" }},
    "read": {{ "io_bytes": {bytes}, "io_kbytes": {kib}, "iops": {iops}.0, "runtime": 10000, "total_ios": {ios},
      "clat_ns": {{ "mean": 1000000.0, "N": {ios}, "percentile": {{ "50.000000": 900000, "99.000000": 2000000 }} }} }} }} ] }}"#,
        bytes = iops * 10 * 4096,
        kib = iops * 10 * 4,
        ios = iops * 10,
    )
}

/// Bonnie++'s line of a RAID 0 of `n` volumes; its rewriting and its reads were too fast to be measured.
fn bonnie(machine: &str, n: u32) -> String {
    format!(
        "1.98,2.00a,{machine},1,5,16M,,8192,5,,,{output},11,+++++,+++,,,+++++,+++,{seeks}.5,3,1,,,,,{create},9,+++++,+++,+++++,+++,{random},8,+++++,+++,+++++,+++,,8070us,16093us,,20096us,72082us,,,,,,\n",
        output = 15_000 * n,
        seeks = 290 * n,
        create = 900 * n,
        random = 850 * n,
    )
}

/// Two devices at three depths, three times each.
fn home() -> Home {
    let home = Home::new();
    for (device, factor) in [("sda", 1), ("sdb", 2)] {
        for (depth, iops) in [(1, 1000), (4, 3500), (16, 9000)] {
            for repeat in 0..3 {
                let name = format!("bench/{device}/4k/randread-{depth}-1-{repeat}.json");
                home.put(&name, &fio("randread", depth, (iops + 10 * repeat) * factor, 1000 + repeat));
            }
        }
    }
    home.fine(&["import", "bench"]);
    home
}

/// A picture as a tree. Its texts are text, it has its own style and background, and it names itself.
fn check_picture(name: &str, text: &str) -> usize {
    let tree = roxmltree::Document::parse(text).unwrap_or_else(|e| panic!("{name}: {e}\n{text}"));
    let root = tree.root_element();
    assert_eq!(root.tag_name().namespace(), Some("http://www.w3.org/2000/svg"), "{name}");
    assert!(root.attribute("aria-label").is_some_and(|label| label.len() > 10), "{name}");
    let known =
        ["svg", "style", "g", "title", "text", "line", "circle", "rect", "path", "polyline", "polygon"];
    let elements = || tree.descendants().filter(roxmltree::Node::is_element);
    for element in elements() {
        let tag = element.tag_name().name();
        assert!(known.contains(&tag), "{name}: {tag}");
        assert!(
            element.attributes().all(|a| !a.name().starts_with("on") && !a.name().ends_with("href")),
            "{name}"
        );
    }
    let first: Vec<&str> = root.children().map(|node| node.tag_name().name()).take(2).collect();
    assert_eq!(first, ["style", "rect"], "{name}: a style of its own, then the background");
    let style = root.first_child().unwrap().text().unwrap();
    assert!(style.contains(".background { fill: var(--paper, #ffffff); }"), "{name}: {style}");
    assert!(!style.contains("url(") && !style.contains("@import"), "{name}");
    let said = elements().filter(|node| node.tag_name().name() == "text" && node.text().is_some());
    said.count()
}

#[test]
fn a_page_goes_to_a_file_or_to_standard_output_and_replaces_a_file() {
    let home = home();
    assert_eq!(home.fine(&["report", "-o", "answer.html"]), "");
    let page = home.read("answer.html");
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("id=\"dots-1\""), "{page:.300}");
    assert_eq!(home.fine(&["report"]), page, "the same page");
    home.put("old.html", &"old ".repeat(1_000_000));
    home.fine(&["report", "latest", "-o", "old.html"]);
    assert_eq!(home.read("old.html"), page, "nothing of the old file is left");
    let shown = home.fine(&["show"]);
    assert!(shown.contains("●") && shown.contains("\n  sda"), "the same cells in characters: {shown}");
}

#[test]
fn each_picture_is_a_file_and_a_wrong_name_is_answered_with_all_names() {
    let home = home();
    let names = home.pictures();
    for name in ["dots-1", "sweep-1"] {
        assert!(names.iter().any(|known| known == name), "{names:?} lacks {name}");
    }
    for name in &names {
        home.fine(&["report", "--chart", name, "-o", "one.svg"]);
        let picture = home.read("one.svg");
        assert_eq!(home.fine(&["report", "--chart", name]), picture);
        assert!(check_picture(name, &picture) > 3, "{name} says nothing");
    }
}

#[test]
fn bonnie_s_charts_have_names_and_what_was_too_fast_is_no_number() {
    let home = Home::new();
    let lines: String = (1..=3).map(|n| bonnie(&format!("md-{n}"), n)).collect();
    home.put("raid0.csv", &lines);
    home.fine(&["import", "raid0.csv"]);
    let names = home.pictures();
    for name in ["bonnie-bandwidth", "bonnie-files", "bonnie-seeks"] {
        assert!(names.iter().any(|known| known == name), "{names:?} lacks {name}");
    }
    for name in &names {
        check_picture(name, &home.fine(&["report", "--chart", name]));
    }
    let bandwidth = home.fine(&["report", "--chart", "bonnie-bandwidth"]);
    assert_eq!(bandwidth.matches("class=\"fast\"").count(), 6, "{bandwidth}");
    assert_eq!(bandwidth.matches("class=\"mean\"").count(), 3, "{bandwidth}");
    let page = home.fine(&["report"]);
    assert!(page.contains("id=\"bonnie-seeks\"") && page.contains("<td class=\"t\">too fast"));
}

#[test]
fn a_run_that_is_not_there_and_a_file_that_cannot_be_written_are_refused() {
    let home = Home::new();
    let nothing = home.diskproof(&["report", "-o", "x.html"]);
    assert_eq!(nothing.code, 2, "{}", nothing.err);
    assert!(nothing.err.contains("no run is kept yet"), "{}", nothing.err);
    assert!(!home.file("results.db").exists() && !home.file("x.html").exists(), "reading creates nothing");
    let all = home.diskproof(&["report", "--all", "site"]);
    assert!(all.code == 2 && !home.file("site").exists(), "{}", all.err);

    let home = self::home();
    let unknown = home.diskproof(&["report", "20010101", "-o", "x.html"]);
    assert!(unknown.code == 2 && unknown.err.contains("20010101"), "{}", unknown.err);
    assert!(!home.file("x.html").exists());
    let lost = home.diskproof(&["report", "-o", "no/such/folder/x.html"]);
    assert!(lost.code == 3 && lost.err.contains("can't write no/such/folder/x.html"), "{}", lost.err);
    home.put("file", "");
    let under = home.diskproof(&["report", "-o", "file/"]);
    assert!(under.code == 3 && under.err.contains("file"), "{}", under.err);
    let onto = home.diskproof(&["report", "--all", "file"]);
    assert!(onto.code == 3 && onto.err.contains("can't create file"), "{}", onto.err);
    let both = home.diskproof(&["report", "--all", "site", "-o", "x.html"]);
    assert!(both.code == 2 && both.err.contains("cannot be used with"), "{}", both.err);
}

#[test]
fn a_folder_that_cannot_be_written_is_refused_by_its_name() {
    let home = home();
    let closed = home.file("closed");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o555)).unwrap();
    // Root may write there all the same; then nothing is refused and nothing is tested.
    if fs::write(closed.join("probe"), "").is_ok() {
        fs::remove_file(closed.join("probe")).unwrap();
        // A file in the place of a page is as unwritable for root as for others.
        fs::create_dir_all(home.file("site/index.html")).unwrap();
        let refused = home.diskproof(&["report", "--all", "site"]);
        assert!(refused.code == 3 && refused.err.contains("can't write site/index.html"), "{}", refused.err);
        return;
    }
    for args in [["report", "-o", "closed/x.html"], ["report", "--all", "closed/site"]] {
        let refused = home.diskproof(&args);
        assert!(refused.code == 3 && refused.err.contains("closed/"), "{args:?}: {}", refused.err);
    }
}

/// The links of a page, without those into the page itself.
fn links(page: &str) -> Vec<String> {
    let parts = page.split("href=\"").skip(1);
    parts
        .filter_map(|rest| rest.split('"').next())
        .map(str::to_owned)
        .filter(|l| !l.starts_with('#'))
        .collect()
}

#[test]
fn a_folder_has_a_page_for_each_run_and_every_link_leads_to_a_file() {
    let home = home();
    home.fine(&["import", "bench", "--name", "bench"]);
    home.fine(&["import", "bench", "--name", "other"]);
    let answer = home.diskproof(&["report", "--all", "site"]);
    assert_eq!(answer.code, 0, "{}", answer.err);
    assert!(answer.err.contains("wrote 3 runs of 2 experiments: site/index.html"), "{}", answer.err);
    let files: Vec<PathBuf> =
        fs::read_dir(home.file("site")).unwrap().map(|entry| entry.unwrap().path()).collect();
    // An index, three runs, two histories, and a comparison of the second run with the first.
    assert_eq!(files.len(), 7, "{files:?}");
    for file in &files {
        for link in links(&fs::read_to_string(file).unwrap()) {
            assert!(home.file("site").join(&link).is_file(), "{} leads to {link}", file.shown());
        }
    }
    let compared = files.iter().find(|file| file.to_string_lossy().contains("compare")).unwrap();
    assert!(
        fs::read_to_string(compared).unwrap().contains("<svg"),
        "a comparison has a picture of its ratios"
    );
    home.put("site/mine.txt", "mine");
    home.fine(&["report", "--all", "site"]);
    assert_eq!(home.read("site/mine.txt"), "mine", "other files stay");
}

#[test]
fn hostile_names_stay_text_in_every_page_and_no_path_leaves_the_folder() {
    let home = Home::new();
    for repeat in 0..3 {
        for (place, iops) in [("one", 500), ("two", 900)] {
            home.put(&format!("r/{place}/{repeat}.json"), &fio("randread", 4, iops + repeat, 100 + repeat));
        }
    }
    home.fine(&["import", "r", "--name", EVIL]);
    home.fine(&["import", "r/one", "--name", EVIL, "--stack", EVIL]);
    home.fine(&["report", "--all", "site"]);
    let before: Vec<PathBuf> =
        fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(before.len(), 3, "the files, the store and the site: {before:?}");
    let mut pages = 0;
    for entry in fs::read_dir(home.file("site")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(name.chars().all(|c| c.is_ascii_alphanumeric() || "-.".contains(c)), "{name}");
        is_harmless(&path);
        pages += 1;
    }
    assert_eq!(pages, 5);
    for name in home.pictures() {
        check_picture(&name, &home.fine(&["report", "--chart", &name]));
    }
    let refused = home.diskproof(&["report", "--chart", "\u{1b}[31mred"]);
    assert!(refused.code == 2 && refused.err.contains("\\x1b[31mred"), "{}", refused.err);
    let shown = home.fine(&["show"]);
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

fn is_harmless(path: &Path) {
    let page = fs::read_to_string(path).unwrap();
    assert!(!page.contains("<script") && !page.contains('\u{202e}'), "{}", path.shown());
    assert!(page.contains("default-src 'none'"), "{}", path.shown());
    assert!(page.contains("&lt;script&gt;"), "{} has the name as text", path.shown());
}
