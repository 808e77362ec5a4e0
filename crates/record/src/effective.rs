//! The options in force for each job of a workload, from the experiment or from a job file.

use crate::job_file::{self, InForce};
use crate::workload::{Ask, Options, Rw, SyncMode, Workload};

/// One job and the options in force for it.
#[derive(Debug, Clone, PartialEq)]
pub struct EffectiveJob<'a> {
    /// All its options; `None`: the job is from a file that only fio can read in full.
    pub options: Option<&'a Options>,
    /// Whether it bypasses the page cache.
    pub direct: bool,
    /// Whether it writes.
    pub writes: bool,
    /// Whether each write is durable when it completes, or all writes are durable when the job ends.
    pub durable: bool,
    /// Whether the content of its blocks is checked.
    pub verifies: bool,
}

impl Workload {
    /// Returns the options in force for each job. Empty for copies and Bonnie++, which have none.
    #[must_use]
    pub fn effective_jobs(&self) -> Vec<EffectiveJob<'_>> {
        match &self.ask {
            Ask::Options(options) => vec![EffectiveJob::of(options)],
            Ask::JobFile { jobs, text, .. } if jobs.is_empty() => of_text(text),
            Ask::JobFile { jobs, .. } => jobs.iter().map(|job| EffectiveJob::of(&job.options)).collect(),
            Ask::Copy(_) | Ask::Bonnie(_) => Vec::new(),
        }
    }

    /// Returns the options of all jobs; empty if the options of one job are not known in full.
    #[must_use]
    pub fn all_options(&self) -> Vec<&Options> {
        self.effective_jobs().into_iter().map(|job| job.options).collect::<Option<_>>().unwrap_or_default()
    }

    /// Returns the options of the only job (and of its clones, `numjobs`); `None` if there are several jobs, or the options are
    /// not known in full.
    #[must_use]
    pub fn only_options(&self) -> Option<&Options> {
        match self.all_options().as_slice() {
            [only] => Some(*only),
            _ => None,
        }
    }
}

impl<'a> EffectiveJob<'a> {
    fn of(options: &'a Options) -> Self {
        let other = |name: &str| options.other.get(name).is_some_and(|value| value != "0");
        let ends_flushed = options.end_fsync || FLUSHING_ENDS.iter().any(|name| other(name));
        let each = options.fsync == 1 || options.fdatasync == 1 || options.sync != SyncMode::None;
        Self {
            options: Some(options),
            direct: options.direct,
            writes: options.rw.writes(),
            durable: options.direct || ends_flushed || each,
            verifies: options.verify.is_some(),
        }
    }
}

impl Options {
    /// Whether fio flushes after each pass over the data, where other engines flush once at the end of the time. fio 3.33 ends a
    /// pass of sequential writes, and with it the job's write stage, if the pass covers several files or if the last block does
    /// not fit into the file.
    #[must_use]
    pub fn fio_flushes_each_pass(&self) -> bool {
        let ends = self.nrfiles > 1 || !self.size_bytes.is_multiple_of(self.bs_bytes.max(1));
        self.end_fsync && self.time_based && self.rw.writes() && !self.rw.is_random() && ends
    }
}

/// Options of fio, besides `end_fsync`, that flush a job's writes at its end.
pub const FLUSHING_ENDS: [&str; 2] = ["fsync_on_close", "end_syncfs"];

/// Returns the jobs of a file that only fio reads in full.
fn of_text(text: &str) -> Vec<EffectiveJob<'static>> {
    let sections = job_file::read(text).sections;
    job_file::effective(&sections).map(|(_, options)| of_section(&options)).collect()
}

fn of_section(options: &InForce<'_>) -> EffectiveJob<'static> {
    let said = |name: &str| job_file::value(options, name);
    let on = |name: &str| said(name).is_some_and(|value| !value.starts_with('0'));
    let direct = on("direct");
    let ends_flushed = on("end_fsync") || FLUSHING_ENDS.into_iter().any(on);
    let each = ["fsync", "fdatasync"].into_iter().any(|name| said(name) == Some("1"));
    let worded = |name: &str| said(name).is_some_and(|value| !matches!(value, "0" | "none"));
    // an offset may follow: `rw=write:8k`
    let pattern = said("rw").map_or("read", |value| value.split(':').next().unwrap_or(value));
    let known = Rw::ALL.into_iter().find(|rw| rw.name() == pattern);
    EffectiveJob {
        options: None,
        direct,
        // `readwrite` and what a later fio adds may write
        writes: known.is_none_or(Rw::writes),
        durable: direct || ends_flushed || each || worded("sync"),
        verifies: worded("verify"),
    }
}

#[cfg(test)]
mod tests {
    use crate::workload::{Ask, CacheStart, EngineKind, Layout, NamedJob, Options, Rw, SyncMode, Workload};

    fn workload(ask: Ask) -> Workload {
        let (name, engine) = ("w".to_owned(), EngineKind::Native);
        Workload { name, engine, ask, layout: Layout::Written, cache: CacheStart::Cold, on: Vec::new() }
    }

    fn file(text: &str, jobs: Vec<NamedJob>) -> Workload {
        workload(Ask::JobFile { path: "j.fio".to_owned(), text: text.to_owned(), size_bytes: 1, jobs })
    }

    /// Returns, for each job: direct, writes, durable.
    fn facts(workload: &Workload) -> Vec<(bool, bool, bool)> {
        workload.effective_jobs().iter().map(|job| (job.direct, job.writes, job.durable)).collect()
    }

    #[test]
    fn options_are_the_same_wherever_they_are_written() {
        let writes = Options::new(Rw::Write, 4096, 1 << 20);
        let mut closes = writes.clone();
        closes.other.insert("fsync_on_close".to_owned(), "1".to_owned());
        let cases = [
            ("rw=write", writes.clone(), false),
            ("rw=write\nend_fsync=1", Options { end_fsync: true, ..writes.clone() }, true),
            ("rw=write\nfsync_on_close=1", closes, true),
            ("rw=write\nfsync=1", Options { fsync: 1, ..writes.clone() }, true),
            ("rw=write\nfsync=32", Options { fsync: 32, ..writes.clone() }, false),
            ("rw=write\nfdatasync=1", Options { fdatasync: 1, ..writes.clone() }, true),
            ("rw=write\nsync=dsync", Options { sync: SyncMode::Dsync, ..writes.clone() }, true),
            ("rw=write\nsync=none", writes.clone(), false),
            ("rw=write\ndirect=1", Options { direct: true, ..writes.clone() }, true),
        ];
        for (text, options, durable) in cases {
            let expected = vec![(options.direct, true, durable)];
            assert_eq!(facts(&file(&format!("[a]\n{text}\n"), Vec::new())), expected, "{text}: by fio");
            let job = NamedJob { name: "a".to_owned(), options: options.clone() };
            assert_eq!(facts(&file(&format!("[a]\n{text}\n"), vec![job])), expected, "{text}: by native");
            assert_eq!(facts(&workload(Ask::Options(options))), expected, "{text}: in the experiment");
        }
    }

    #[test]
    fn a_global_section_counts_for_the_jobs_below_it_and_what_is_said_later_counts() {
        let of = |text: &str| facts(&file(text, Vec::new())).iter().map(|f| f.0).collect::<Vec<_>>();
        assert_eq!(of("[global]\ndirect=1\n[a]\nrw=read\n[b]\n"), [true, true]);
        assert_eq!(of("[global]\nbs=4k\n[a]\n direct = 1 \n[b]\ndirect\n"), [true, true]);
        assert_eq!(of("[a]\nrw=read\n"), [false], "fio's default is buffered");
        assert_eq!(of("[global]\nbuffered=0\n[a]\n"), [true]);
        assert_eq!(of("[global]\ndirect=1\n[a]\n[b]\ndirect=0\n"), [true, false]);
        assert_eq!(of("[a]\n[global]\ndirect=1\n[b]\n"), [false, true]);
        assert_eq!(of("[a]\n#direct=1\n;direct=1\n"), [false], "comments");
        assert!(of("").is_empty());
        let patterns = |text: &str| facts(&file(text, Vec::new())).iter().map(|f| f.1).collect::<Vec<_>>();
        assert_eq!(
            patterns("[a]\nrw=write:8k\n[b]\nreadwrite=randread\n[c]\n[d]\nrw=readwrite\n"),
            [true, false, false, true]
        );
    }

    #[test]
    fn the_only_job_is_only_where_there_is_one() {
        let job = |name: &str| NamedJob { name: name.to_owned(), options: Options::new(Rw::Read, 4096, 1) };
        assert!(file("", vec![job("a")]).only_options().is_some());
        let two = file("", vec![job("a"), job("b")]);
        assert!(two.only_options().is_none());
        assert_eq!(two.all_options().len(), 2);
        assert!(file("[a]\nrw=read\n", Vec::new()).all_options().is_empty(), "not known in full");
    }
}
