//! Sections of a job file, and the options in force for each job.
//!
//! A line may be blank, a section head, or an option. As in fio, a `#` or `;` anywhere in a line begins a comment.

use super::text;
use crate::fio_option::{self, Access};
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;

/// A place in the text, in bytes.
pub type At = Range<usize>;

/// A section as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Place of its head.
    pub at: At,
    /// Its options in order; of several with one name, the last counts.
    pub options: Vec<Given>,
}

/// An option as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// fio's main name of it.
    pub name: String,
    /// Value of the main option; `None`: the name stands alone, which fio allows for some switches.
    pub value: Option<String>,
    /// The text, for messages: with its value, unless the text is an alias for the opposite value.
    pub written: String,
    /// Its place.
    pub at: At,
}

/// What a line is that has no place in a job file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// A section head without an end or a name.
    Head,
    /// An option before the first section.
    NoSection,
    /// A directive to read another file.
    Include,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "this is not a section",
            Self::NoSection => "an option before the first section",
            Self::Include => "`include` of a file that was not read",
        })
    }
}

/// The content of a job file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct JobFile {
    /// Its sections in order.
    pub sections: Vec<Section>,
    /// The lines that belong to no section, in order.
    pub wrong: Vec<(At, Wrong)>,
}

/// The options in force for a job, by fio's main names.
pub type InForce<'s> = BTreeMap<&'s str, &'s Given>;

/// Reads a job file.
#[must_use]
pub fn read(text: &str) -> JobFile {
    let mut file = JobFile::default();
    let mut start = 0;
    for whole in text.split('\n') {
        let line = text::without_comment(whole).trim();
        let lead = start + whole.len() - whole.trim_start().len();
        start += whole.len() + 1;
        if line.is_empty() {
            continue;
        }
        let at = lead..lead + line.len();
        if let Err(wrong) = take(line, at.clone(), &mut file.sections) {
            file.wrong.push((at, wrong));
        }
    }
    file
}

fn take(line: &str, at: At, sections: &mut Vec<Section>) -> Result<(), Wrong> {
    if let Some(rest) = line.strip_prefix('[') {
        let name = rest.strip_suffix(']').map(str::trim);
        let name = name.filter(|name| !name.is_empty()).ok_or(Wrong::Head)?;
        sections.push(Section { name: name.to_owned(), at, options: Vec::new() });
        return Ok(());
    }
    if text::included(line).is_some() {
        return Err(Wrong::Include);
    }
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim(), Some(value.trim())),
        None => (line, None),
    };
    let section = sections.last_mut().ok_or(Wrong::NoSection)?;
    section.options.push(Given::new(name, value, at));
    Ok(())
}

impl Section {
    /// Whether it holds defaults for the sections after it. In fio, that is every name that begins with `global`.
    #[must_use]
    pub fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

impl Given {
    /// Returns an option under its main name.
    fn new(name: &str, value: Option<&str>, at: At) -> Self {
        let mut given = Self {
            name: name.to_owned(),
            value: value.map(str::to_owned),
            written: value.map_or_else(|| name.to_owned(), |value| format!("{name}={value}")),
            at,
        };
        let Some(Access::Alias(alias)) = fio_option::find(name).map(|option| option.access) else {
            return given;
        };
        let Some(sum) = alias.minus_from else {
            alias.of.clone_into(&mut given.name);
            return given;
        };
        if let Some(rest) = value.and_then(|value| sum.checked_sub(value.parse().ok()?)) {
            alias.of.clone_into(&mut given.name);
            given.value = Some(rest.to_string());
            name.clone_into(&mut given.written);
        }
        given
    }

    /// Returns its value, `1` for a name that stands alone.
    #[must_use]
    pub fn value_or_set(&self) -> &str {
        self.value.as_deref().unwrap_or("1")
    }
}

/// Returns every job with all its options. A global section applies to the jobs below it, and a later option overrides an earlier
/// one (fio's HOWTO).
pub fn effective(sections: &[Section]) -> impl Iterator<Item = (&Section, InForce<'_>)> {
    let mut defaults = InForce::new();
    sections.iter().filter_map(move |section| {
        let own = section.options.iter().map(|given| (given.name.as_str(), given));
        if section.is_global() {
            defaults.extend(own);
            return None;
        }
        let mut all = defaults.clone();
        all.extend(own);
        Some((section, all))
    })
}

/// Returns the value of an option in force, `1` for a name that stands alone; `None` if the job does not have the option.
#[must_use]
pub fn value<'s>(options: &InForce<'s>, name: &str) -> Option<&'s str> {
    options.get(name).map(|given| given.value_or_set())
}

/// Options that say how much a job does: such a job ends by itself.
const AMOUNTS: [&str; 4] = ["io_limit", "io_size", "number_ios", "steadystate"];

/// Whether a job has no option about its duration. A `runtime` of 0 is none, and so is a single loop.
#[must_use]
pub fn is_untimed(options: &InForce<'_>) -> bool {
    let none = |runtime: &str| runtime.trim_end_matches(|c: char| c.is_ascii_alphabetic()) == "0";
    let once = value(options, "loops").is_none_or(|loops| matches!(loops, "0" | "1"));
    let endless = !AMOUNTS.iter().any(|name| options.contains_key(name)) && !verifies_its_writes(options);
    value(options, "runtime").is_none_or(none) && !options.contains_key("time_based") && once && endless
}

/// Whether a job writes its data and then checks it: a pass is writing and checking.
fn verifies_its_writes(options: &InForce<'_>) -> bool {
    let method = value(options, "verify").is_some_and(|method| !matches!(method, "0" | "none"));
    let writes =
        value(options, "rw").is_some_and(|rw| !rw.starts_with("read:") && !matches!(rw, "read" | "randread"));
    method && writes && value(options, "do_verify") != Some("0")
}

/// Whether a switch is on; a name that stands alone is on.
#[must_use]
pub fn is_on(options: &InForce<'_>, name: &str) -> bool {
    value(options, name).is_some_and(|value| value != "0")
}

#[cfg(test)]
mod tests {
    use super::{Given, JobFile, Wrong, effective, is_untimed, read, value};
    use proptest::prelude::{ProptestConfig, any, proptest};

    /// Returns the values of an option in all jobs.
    fn values(text: &str, name: &str) -> Vec<Option<String>> {
        let JobFile { sections, wrong } = read(text);
        assert!(wrong.is_empty(), "{wrong:?}");
        effective(&sections).map(|(_, options)| value(&options, name).map(str::to_owned)).collect()
    }

    fn some(values: &[&str]) -> Vec<Option<String>> {
        values.iter().map(|value| Some((*value).to_owned())).collect()
    }

    #[test]
    fn a_global_section_counts_for_the_jobs_below_it_and_what_is_said_later_counts() {
        assert_eq!(values("[global]\nbs=4k\n[a]\nbs=8k\n[b]\n", "bs"), some(&["8k", "4k"]));
        assert_eq!(values("[a]\nbs=4k\n bs = 8k \n", "bs"), some(&["8k"]));
        assert_eq!(values("[a]\n[global2]\nstonewall\n[b]\n", "stonewall"), [None, Some("1".to_owned())]);
        assert_eq!(values("; c\n[a]\n#bs=4k\n\n;bs=4k\r\n", "bs"), [None]);
    }

    #[test]
    fn a_comment_may_follow_an_option_and_a_head_may_hold_what_fio_takes() {
        assert_eq!(values("[a] # first\nbs=4k\t; blocks\nsize=1m # all\n", "bs"), some(&["4k"]));
        let name = |text: &str| read(text).sections[0].name.clone();
        assert_eq!(
            [name("[4k/rand]"), name("[a[0]]"), name("[job-/tmp/x] ;")],
            ["4k/rand", "a[0]", "job-/tmp/x"]
        );
    }

    #[test]
    fn aliases_have_the_main_name_and_its_value() {
        for (line, name, expected) in [
            ("readwrite=randrw", "rw", "randrw"),
            ("blocksize=4k", "bs", "4k"),
            ("timeout=30", "runtime", "30"),
            ("wait_for_previous", "stonewall", "1"),
            ("buffered=0", "direct", "1"),
            ("rwmixwrite=30", "rwmixread", "70"),
            ("rwmixwrite=130", "rwmixwrite", "130"),
        ] {
            assert_eq!(values(&format!("[a]\n{line}\n"), name), some(&[expected]), "{line}");
        }
        let written = |line: &str| read(&format!("[a]\n{line}")).sections[0].options[0].written.clone();
        assert_eq!([written("blocksize = 4k"), written("buffered=0")], ["blocksize=4k", "buffered"]);
    }

    #[test]
    fn lines_without_a_place_are_told_with_it() {
        let text = "rw=read\n[a]\n  include x\n[]\n[b\n[c] d\n";
        let file = read(text);
        let told: Vec<_> = file.wrong.iter().map(|(at, wrong)| (&text[at.clone()], *wrong)).collect();
        let heads = ["[]", "[b", "[c] d"].map(|head| (head, Wrong::Head));
        assert_eq!(told[..2], [("rw=read", Wrong::NoSection), ("include x", Wrong::Include)]);
        assert_eq!(told[2..], heads);
        assert_eq!(&text[file.sections[0].at.clone()], "[a]");
    }

    #[test]
    fn a_job_is_timed_by_a_runtime_or_by_time_based() {
        let untimed = |text: &str| {
            let sections = read(&format!("[a]\n{text}\n")).sections;
            effective(&sections).all(|(_, options)| is_untimed(&options))
        };
        assert!(["", "runtime=0", "timeout=0s"].into_iter().all(untimed));
        for timed in [
            "runtime=30",
            "timeout=30s",
            "time_based=0",
            "time_based",
            "loops=2",
            "number_ios=9",
            "io_size=1m",
        ] {
            assert!(!untimed(timed), "{timed}");
        }
        assert!(
            untimed("loops=1")
                && untimed("verify=md5\nrw=read")
                && untimed("verify=md5\nrw=write\ndo_verify=0")
        );
        assert!(!untimed("verify=md5\nrw=randwrite"), "it ends when it has checked what it wrote");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn every_text_is_read_and_every_place_lies_in_it(text in any::<String>(), lines in "(\\[a\\]\n|bs=4k\r?\n| #x\n|x)*") {
            for text in [text, lines] {
                let JobFile { sections, wrong } = read(&text);
                let options = sections.iter().flat_map(|section| &section.options).map(|Given { at, .. }| at);
                for at in options.chain(sections.iter().map(|section| &section.at)).chain(wrong.iter().map(|(at, _)| at)) {
                    assert!(text.get(at.clone()).is_some_and(|line| !line.is_empty()), "{at:?}");
                }
            }
        }
    }
}
