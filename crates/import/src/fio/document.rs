//! fio's JSON documents. Of several in one file (`--status-interval`) the last counts, since they are cumulative. Jobs of one group ran at
//! the same time and are one trial; groups ran one after the other (`stonewall`), and so did jobs that wait for others (`wait_for`).

use super::options::{options, texts};
use super::totals::{given, totals, whole};
use crate::error::ReadError;
use crate::measured::{Found, Measured};
use crate::source::Source;
use record::fio_json::{self, JobDirection, JobReport, Report};
use record::trial::{EngineOutput, ErrorCount, Outcome, Window};
use record::workload::{Ask, EngineKind, NamedJob, Options};
use std::collections::{BTreeMap, BTreeSet};

/// The format's name.
pub(crate) const FORMAT: &str = "fio JSON";

/// The most names of jobs in a trial's name.
const NAMED: usize = 3;

/// Whether a file has a document of fio.
pub(crate) fn is(source: &Source) -> bool {
    let text = &source.text;
    text.contains("{")
        && ["\"fio version\"", "\"jobname\"", "\"client_stats\""].iter().any(|key| text.contains(key))
}

/// Reads the last document.
pub(crate) fn read(source: &Source) -> Result<Found, ReadError> {
    let reading = fio_json::read(&source.text);
    if reading.cut_off {
        return Err(ReadError::CutOff);
    }
    let report = reading.report.ok_or(ReadError::NoDocument)?;
    let trials: Vec<Measured> =
        groups(&report).iter().filter_map(|jobs| trial(source, &report, &reading.messages, jobs)).collect();
    if trials.is_empty() { Err(ReadError::NothingDone) } else { Ok(Found::Trials(trials)) }
}

/// The jobs that ran at the same time, in the order of the document.
fn groups(report: &Report) -> Vec<Vec<&JobReport>> {
    /// The group, and the name of a job that waits.
    type Key<'r> = (Option<u64>, Option<&'r str>);
    let mut groups: Vec<(Key<'_>, Vec<&JobReport>)> = Vec::new();
    for job in &report.jobs {
        let waits = job.options.as_ref().is_some_and(|options| options.contains_key("wait_for"));
        let key = (job.group, job.name.as_deref().filter(|_| waits));
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, jobs)) => jobs.push(job),
            None => groups.push((key, vec![job])),
        }
    }
    groups.into_iter().map(|(_, jobs)| jobs).collect()
}

/// The trial of a group; `None` if its jobs did no I/O and had no error.
fn trial(source: &Source, report: &Report, messages: &[String], jobs: &[&JobReport]) -> Option<Measured> {
    let of = |side: fn(&JobReport) -> Option<&JobDirection>| {
        jobs.iter().filter_map(|job| side(job)).collect::<Vec<_>>()
    };
    let [reads, writes, trims] = [of(|j| j.read.as_ref()), of(|j| j.write.as_ref()), of(|j| j.trim.as_ref())];
    let (read, write, trim) = (totals(&reads), totals(&writes), totals(&trims));
    let outcome = outcome(jobs);
    if read.is_none() && write.is_none() && trim.is_none() && outcome == Outcome::Measured {
        return None;
    }
    let seconds = [&read, &write, &trim].into_iter().flatten().map(|t| t.seconds).fold(0.0, f64::max);
    let window = Window { start_ns: 0, end_ns: whole(seconds * 1e9) };
    let engine = report.version.clone().unwrap_or_else(|| "fio".to_owned());
    let given = given("read", &reads).chain(given("write", &writes)).chain(given("trim", &trims)).collect();
    let sections = Sections::of(jobs);
    let ended = report.ended_unix_ms.unwrap_or(source.modified_unix_ms);
    Some(Measured {
        file: source.path.clone(),
        format: FORMAT,
        folders: source.folders.clone(),
        place: sections.place(),
        job: sections.name(),
        engine: EngineKind::Fio,
        options: sections.texts(hosts(jobs), source.name()),
        ask: sections.ask(source),
        started_unix_ms: ended.saturating_sub(whole(seconds * 1e3)),
        outcome,
        notes: Vec::new(),
        output: EngineOutput {
            input: sections.text(),
            messages: messages.to_vec(),
            read,
            write,
            trim,
            given,
            errors: errors(jobs),
            cpu_user_share: cpu(jobs, |job| job.user_cpu_percent),
            cpu_system_share: cpu(jobs, |job| job.system_cpu_percent),
            shared_files: sections.are_files_shared(),
            ..EngineOutput::new(engine, window)
        },
    })
}

/// An error that ended a job ends the trial; fio counts errors that it went on after.
fn outcome(jobs: &[&JobReport]) -> Outcome {
    let ended =
        |job: &&&JobReport| job.error.is_some_and(|error| error != 0) && job.total_errors.unwrap_or(0) == 0;
    match jobs.iter().find(ended) {
        None => Outcome::Measured,
        Some(job) => {
            let (name, error) = (job.name.as_deref().unwrap_or("?"), job.error.unwrap_or(0));
            Outcome::Failed(format!("fio ended job {name} with error {error} (errno)"))
        }
    }
}

fn errors(jobs: &[&JobReport]) -> Vec<ErrorCount> {
    let survived = |job: &&JobReport| {
        let count = job.total_errors.filter(|count| *count > 0)?;
        let number = job.first_error.unwrap_or(0);
        Some(ErrorCount { errno: format!("errno {number}"), count, place: job.name.clone() })
    };
    jobs.iter().filter_map(survived).collect()
}

/// The CPU of all processes, 1.0 for one core. With `group_reporting` fio gives the mean of a job's processes.
fn cpu(jobs: &[&JobReport], of: fn(&JobReport) -> Option<f64>) -> Option<f64> {
    let clones = |job: &JobReport| {
        let same = jobs.iter().filter(|other| other.name == job.name && other.host == job.host).count();
        let asked = job.options.as_ref().and_then(|options| options.get("numjobs")?.parse::<f64>().ok());
        if same == 1 { asked.unwrap_or(1.0) } else { 1.0 }
    };
    let shares: Vec<f64> = jobs.iter().filter_map(|job| Some(of(job)? / 100.0 * clones(job))).collect();
    (!shares.is_empty()).then(|| shares.iter().sum())
}

/// The number of hosts of a client's document; 1 for other documents.
fn hosts(jobs: &[&JobReport]) -> usize {
    jobs.iter().filter_map(|job| job.host.as_deref()).collect::<BTreeSet<_>>().len().max(1)
}

/// The job sections of a group: jobs of one name are clones.
struct Sections<'r> {
    /// Name, options as written, options, number of clones in the document.
    all: Vec<Section<'r>>,
}

struct Section<'r> {
    name: String,
    written: Option<&'r BTreeMap<String, String>>,
    options: Options,
}

impl<'r> Sections<'r> {
    fn of(jobs: &[&'r JobReport]) -> Self {
        let mut all: Vec<Section<'r>> = Vec::new();
        for job in jobs {
            let name = job.name.clone().unwrap_or_else(|| "job".to_owned());
            if all.iter().any(|known| known.name == name) {
                continue;
            }
            let mut read = options(job.options.as_ref().unwrap_or(&BTreeMap::new()));
            let entries = jobs.iter().filter(|other| other.name == job.name).count();
            let clones = u32::try_from(entries / hosts(jobs).max(1)).unwrap_or(u32::MAX);
            read.numjobs = read.numjobs.max(clones);
            all.push(Section { name, written: job.options.as_ref(), options: read });
        }
        Self { all }
    }

    fn name(&self) -> String {
        let mut name: Vec<&str> = self.all.iter().take(NAMED).map(|section| section.name.as_str()).collect();
        if self.all.len() > NAMED {
            name.push("...");
        }
        name.join("+")
    }

    fn is_known(&self) -> bool {
        self.all.iter().all(|section| section.written.is_some())
    }

    fn ask(&self, source: &Source) -> Ask {
        let jobs = || {
            self.all.iter().map(|s| NamedJob { name: s.name.clone(), options: s.options.clone() }).collect()
        };
        match self.all.as_slice() {
            [only] if self.is_known() => Ask::Options(only.options.clone()),
            // Without options nobody knows what was asked.
            _ => Ask::JobFile {
                path: source.path.clone(),
                text: self.text(),
                size_bytes: self.all.iter().map(|s| s.options.data_bytes()).fold(0, u64::saturating_add),
                jobs: if self.is_known() { jobs() } else { Vec::new() },
            },
        }
    }

    /// The job file that the document tells.
    fn text(&self) -> String {
        let section = |section: &Section<'_>| {
            let options =
                section.written.into_iter().flatten().map(|(name, value)| format!("{name}={value}\n"));
            format!("[{}]\n{}", section.name, options.collect::<String>())
        };
        if self.is_known() { self.all.iter().map(section).collect() } else { String::new() }
    }

    /// The options as text; of several sections each with its section's name. Without options the file's name stands for them.
    fn texts(&self, hosts: usize, file: &str) -> BTreeMap<String, String> {
        let mut all = BTreeMap::new();
        if !self.is_known() {
            // Nobody knows whether another file is of the same job.
            all.insert("file".to_owned(), file.to_owned());
        }
        for section in self.all.iter().filter(|section| section.written.is_some()) {
            let prefix = if self.all.len() > 1 { format!("{}.", section.name) } else { String::new() };
            all.extend(
                texts(&section.options).into_iter().map(|(name, value)| (format!("{prefix}{name}"), value)),
            );
        }
        if hosts > 1 {
            all.insert("hosts".to_owned(), hosts.to_string());
        }
        all
    }

    /// The device or directory of all sections; `None`: they differ, or the document names none.
    fn place(&self) -> Option<String> {
        let of = |section: &Section<'r>| {
            section.written.and_then(|o| o.get("filename").or_else(|| o.get("directory"))).cloned()
        };
        let first = of(self.all.first()?)?;
        self.all.iter().all(|section| of(section).as_ref() == Some(&first)).then_some(first)
    }

    /// Whether several jobs used one file.
    fn are_files_shared(&self) -> bool {
        let names = || self.all.iter().filter_map(|section| section.options.filename.as_deref());
        let clones =
            self.all.iter().any(|section| section.options.filename.is_some() && section.options.numjobs > 1);
        clones || names().count() > names().collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::{is, read};
    use crate::error::ReadError;
    use crate::measured::{Found, Measured};
    use crate::source::Source;
    use record::trial::Outcome;
    use record::workload::Ask;

    fn source(text: &str) -> Source {
        Source {
            path: "r/a.json".to_owned(),
            text: text.to_owned(),
            modified_unix_ms: 5,
            ..Source::default()
        }
    }

    fn trials(text: &str) -> Vec<Measured> {
        let file = source(text);
        assert!(is(&file), "{text}");
        let Ok(Found::Trials(trials)) = read(&file) else { panic!("{:?}", read(&file)) };
        trials
    }

    fn job(name: &str, group: u64, options: &str, ios: u64) -> String {
        format!(
            r#"{{ "jobname" : "{name}", "groupid" : {group}, "error" : 0, "job options" : {{ {options} }}, "usr_cpu" : 10.0, "sys_cpu" : 5.0,
            "read" : {{ "io_bytes" : {}, "io_kbytes" : 1, "iops" : {ios}.0, "runtime" : 1000, "total_ios" : {ios},
              "clat_ns" : {{ "mean" : 1000.0, "N" : {ios}, "percentile" : {{ "50.000000" : 900, "99.000000" : 2000 }} }} }} }}"#,
            ios * 4096
        )
    }

    fn document(jobs: &[String]) -> String {
        format!(
            "fio: hello\n{{\n\"fio version\" : \"fio-3.36\", \"timestamp_ms\" : 9000,\n\"global options\" : {{ \"bs\" : \"4k\" }}, \"jobs\" : [\n{}\n]\n}}\nbye\n",
            jobs.join(",\n")
        )
    }

    #[test]
    fn a_document_between_text_is_a_trial_with_fios_own_figures() {
        let all = trials(&document(&[job(
            "a",
            0,
            r#""rw" : "randread", "numjobs" : "4", "filename" : "/dev/sdb""#,
            1000,
        )]));
        let [trial] = all.as_slice() else { panic!("{all:?}") };
        let metrics = trial.output.metrics();
        assert_eq!((metrics["iops"], metrics["read_lat_mean"], metrics["read_lat_p99"]), (1000.0, 1.0, 2.0));
        assert_eq!((trial.started_unix_ms, trial.place.as_deref()), (8000, Some("/dev/sdb")));
        assert_eq!(trial.output.messages, ["fio: hello", "bye"]);
        assert!((trial.output.cpu_user_share.unwrap() - 0.4).abs() < 1e-9, "the mean of four processes");
        assert!(trial.output.shared_files && trial.output.input.contains("bs=4k"));
        assert_eq!((trial.options["rw"].as_str(), trial.options["numjobs"].as_str()), ("randread", "4"));
    }

    #[test]
    fn groups_are_trials_and_jobs_of_a_group_are_one() {
        let all = trials(&document(&[
            job("a", 0, r#""rw" : "read""#, 100),
            job("b", 0, r#""rw" : "randread""#, 200),
            job("c", 1, r#""rw" : "read""#, 300),
            job("d", 1, r#""rw" : "read", "wait_for" : "c""#, 400),
        ]));
        let said: Vec<_> = all.iter().map(|t| (t.job.as_str(), t.output.metrics()["iops"])).collect();
        assert_eq!(said, [("a+b", 300.0), ("c", 300.0), ("d", 400.0)]);
        let Ask::JobFile { jobs, .. } = &all[0].ask else { panic!("{:?}", all[0].ask) };
        assert_eq!((jobs.len(), all[0].options["b.rw"].as_str()), (2, "randread"));
        assert!(!all[0].output.metrics().contains_key("read_lat_p99"), "percentiles don't merge");
    }

    #[test]
    fn jobs_of_one_name_are_clones() {
        let one = || job("a", 0, r#""rw" : "read", "numjobs" : "2""#, 100);
        let all = trials(&document(&[one(), one()]));
        assert_eq!((all.len(), all[0].output.metrics()["iops"]), (1, 200.0));
        assert!((all[0].output.cpu_user_share.unwrap() - 0.2).abs() < 1e-9);
        let Ask::Options(options) = &all[0].ask else { panic!("{:?}", all[0].ask) };
        assert_eq!(options.numjobs, 2);
    }

    #[test]
    fn the_last_document_counts_and_a_cut_one_is_refused() {
        let first = document(&[job("a", 0, "", 100)]);
        let last = document(&[job("a", 0, "", 250)]);
        assert_eq!(trials(&format!("{first}{last}"))[0].output.metrics()["iops"], 250.0);
        let cut = format!("{first}{}", &last[..last.len() - 30]);
        assert_eq!(read(&source(&cut)), Err(ReadError::CutOff));
        assert_eq!(
            read(&source("{\n\"fio version\" : \"fio-3.1\", \"jobs\" : []\n}")),
            Err(ReadError::NothingDone)
        );
        assert_eq!(read(&source("x {\"jobname\" : 1}")), Err(ReadError::NoDocument));
    }

    #[test]
    fn a_job_with_an_error_is_a_failed_trial() {
        let failed = document(&[job("a", 0, "", 100).replace("\"error\" : 0", "\"error\" : 28")]);
        assert_eq!(
            trials(&failed)[0].outcome,
            Outcome::Failed("fio ended job a with error 28 (errno)".to_owned())
        );
        let went_on = document(&[job("a", 0, "", 100)
            .replace("\"error\" : 0", "\"error\" : 5, \"total_err\" : 3, \"first_error\" : 5")]);
        let trial = &trials(&went_on)[0];
        assert_eq!((&trial.outcome, trial.output.errors[0].count), (&Outcome::Measured, 3));
    }

    #[test]
    fn without_options_nobody_knows_what_was_asked() {
        let text = r#"{ "jobs" : [ { "jobname" : "a", "read" : { "bw" : 40960, "iops" : 9000, "total_ios" : 5000 } } ] }"#;
        let all = trials(text);
        assert!(matches!(&all[0].ask, Ask::JobFile { jobs, text, .. } if jobs.is_empty() && text.is_empty()));
        assert_eq!((all[0].output.engine.as_str(), all[0].started_unix_ms), ("fio", 0));
        assert_eq!(all[0].options["file"], "a.json", "other files may be of other jobs");
    }
}
