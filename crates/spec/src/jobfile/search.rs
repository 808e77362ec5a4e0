//! fio's `latency_target` and its relatives: the search for a depth becomes a search of diskproof's own, with a trial for each depth.

use super::jobs::{How, Outside, checked, job};
use super::value::parse;
use super::{Asked, span};
use crate::diagnostic::printable;
use crate::find::WITHIN;
use crate::fio_lacks::fio_lacks;
use crate::problems::Problems;
use crate::source::Source;
use record::find::{Find, FindBy, FindLimit};
use record::fio_option::is_own;
use record::job_file::{Given, InForce, Names, Placed, Room, Section, effective, resolve, value};
use record::workload::{EngineKind, Options};

/// fio's options of a search.
const OPTIONS: [&str; 4] = ["latency_target", "latency_window", "latency_percentile", "latency_run"];
/// Options about the length of fio's whole search.
const TIMES: [&str; 2] = ["runtime", "time_based"];
/// Options that say how much of its file a job uses.
const SIZES: [&str; 4] = ["size", "filesize", "offset", "offset_increment"];
/// Percentiles of latency that the record has, with the end of their metrics' names. fio's default is 100.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "p50"), (99.0, "p99"), (99.9, "p999"), (100.0, "p999")];

/// A job file as a search.
pub(super) struct Search {
    pub(super) options: Options,
    pub(super) engine: EngineKind,
    /// A sentence about what is done differently.
    pub(super) note: String,
}

/// Why a job file is no search, with the option at fault.
struct Unfit<'s> {
    given: &'s Given,
    message: String,
    help: &'static str,
}

/// Returns the option that asks for a search.
pub(super) fn asks(sections: &[Section]) -> Option<&Given> {
    let mut jobs = effective(sections);
    jobs.find_map(|(_, given)| {
        let target = given.get("latency_target").copied()?;
        is_own("latency_target", target.value_or_set()).then_some(target)
    })
}

/// Makes a search of a job file that asks for one. `Some(None)`: its size is needed first.
pub(super) fn read(
    asked: &Asked<'_>,
    source: &Source,
    sections: &[Section],
    placed: &[Placed],
    problems: &mut Problems<'_>,
) -> Option<Option<Search>> {
    match search(asked, sections, placed) {
        Ok(search) => Some(search),
        Err(Unfit { given, message, help }) => {
            problems.add_in(source, span(&given.at), message).help(help);
            None
        }
    }
}

fn search<'s>(
    asked: &Asked<'_>,
    sections: &'s [Section],
    placed: &[Placed],
) -> Result<Option<Search>, Unfit<'s>> {
    let Some(target) = asks(sections) else { return Ok(None) };
    let jobs: Vec<(&'s Section, InForce<'s>)> = effective(sections).collect();
    let ([(section, given)], [place]) = (jobs.as_slice(), placed) else {
        let help = "a search varies the depth of one job: write a job file for it";
        return Err(unfit(target, "`latency_target` in a job file with several jobs".to_owned(), help));
    };
    if let [_, second, ..] = place.files.as_slice() {
        let message = format!("`latency_target` with several files (`{}`...)", printable(second, 40));
        return Err(unfit(given.get("filename").copied().unwrap_or(target), message, "name one file"));
    }
    let limit = limit_us(target)?;
    let percentile = percentile(given)?;
    let Some(reader) = Reader::of(asked, section, given, place) else { return Ok(None) };
    let (mut options, engine) = reader.options(asked, target)?;
    let deep = matches!(options.ioengine.as_str(), "libaio" | "io_uring" | "posixaio");
    if options.iodepth < 2 || !deep {
        let message = "`latency_target` searches a depth up to `iodepth`, and this job has one I/O at a time"
            .to_owned();
        return Err(unfit(target, message, "write `iodepth`, with `ioengine=io_uring` or `libaio`"));
    }
    let find = find(&options, limit, percentile);
    let note = note(asked.path, given, &find);
    options.find = Some(find);
    Ok(Some(Search { options, engine, note }))
}

fn unfit<'s>(given: &'s Given, message: String, help: &'static str) -> Unfit<'s> {
    Unfit { given, message, help }
}

/// The limit of the latency, in microseconds.
fn limit_us(target: &Given) -> Result<u64, Unfit<'_>> {
    parse(target.value_or_set(), "us", 1_000_000).filter(|us| *us > 0).ok_or_else(|| {
        let message = format!("`{}` is not a time", printable(&target.written, 60));
        unfit(target, message, "a time in microseconds, or with its unit, e.g. `10ms`")
    })
}

/// A job as the options of a search.
struct Reader<'s, 'p> {
    section: &'s Section,
    /// Its options without those of fio's search.
    given: InForce<'s>,
    place: &'p Placed,
    /// Its part of the file, where the file or device decides that.
    room: Option<Room>,
}

impl<'s, 'p> Reader<'s, 'p> {
    /// `None`: its size is needed first.
    fn of(asked: &Asked<'_>, section: &'s Section, given: &InForce<'s>, place: &'p Placed) -> Option<Self> {
        let mut given = given.clone();
        given.retain(|name, _| !OPTIONS.contains(name) && !TIMES.contains(name));
        let mut room = None;
        if place.is_relative() {
            let (rooms, _) = resolve(std::slice::from_ref(place), Some(asked.room?)).ok()?;
            given.retain(|name, _| !SIZES.contains(name));
            room = rooms.first().copied();
        }
        Some(Self { section, given, place, room })
    }

    /// The options and the engine that performs them: native where it can.
    fn options(&self, asked: &Asked<'_>, target: &'s Given) -> Result<(Options, EngineKind), Unfit<'s>> {
        let outside = |outside: Outside<'s>| {
            let message = format!(
                "`latency_target` becomes a search, and a search does not know {} (in [{}])",
                outside.what, outside.section
            );
            unfit(outside.given.unwrap_or(target), message, "leave one of the two out")
        };
        if asked.engine != Some(EngineKind::Fio) {
            let native = self.read(false).and_then(|options| {
                checked(&options, self.section, &self.given, asked.layout)?;
                Ok(options)
            });
            match native {
                Ok(options) => return Ok((options, EngineKind::Native)),
                Err(why) if asked.engine.is_some() => return Err(outside(why)),
                Err(_) => {}
            }
        }
        let options = self.read(true).map_err(outside)?;
        match fio_lacks(&options, asked.layout) {
            Some(lack) => Err(unfit(target, lack, "leave `latency_target` out, or the other option")),
            None => Ok((options, EngineKind::Fio)),
        }
    }

    fn read(&self, by_fio: bool) -> Result<Options, Outside<'s>> {
        let how = How { alone: true, by_fio, size_bytes: self.room.map(|room| room.size_bytes) };
        let mut options = job(self.section, &self.given, &how)?;
        options.filename = self.place.files.first().map(|file| Names::default().of(file));
        options.offset_bytes = self.room.map_or(options.offset_bytes, |room| room.offset_bytes);
        options.time_based = true;
        Ok(options)
    }
}

/// The end of the name of the metric that has the limit.
fn percentile<'s>(given: &InForce<'s>) -> Result<&'static str, Unfit<'s>> {
    let Some(option) = given.get("latency_percentile").copied() else { return Ok("p999") };
    let wanted: Option<f64> = option.value_or_set().parse().ok();
    let known =
        PERCENTILES.iter().find(|(known, _)| wanted.is_some_and(|wanted| (known - wanted).abs() < 1e-9));
    known.map(|(_, name)| *name).ok_or_else(|| {
        let message = format!("`{}`: the record has no such percentile", printable(&option.written, 60));
        unfit(option, message, "one of 50, 99 and 99.9; 100 counts as 99.9")
    })
}

fn find(options: &Options, limit_us: u64, percentile: &str) -> Find {
    let sides = [("read", options.rw.reads()), ("write", options.rw.writes()), ("trim", options.rw.trims())];
    let written = match limit_us % 1000 {
        0 => format!("{}ms", limit_us / 1000),
        _ => format!("{limit_us}us"),
    };
    let at_most = limit_us as f64;
    let limit =
        |side: &str| FindLimit { of: format!("{side}_lat_{percentile}"), at_most, written: written.clone() };
    Find {
        most: "iops".to_owned(),
        limits: sides.iter().filter(|(_, does)| *does).map(|(side, _)| limit(side)).collect(),
        by: FindBy::Iodepth,
        from: 1,
        to: options.iodepth.into(),
        within: WITHIN,
    }
}

fn note(path: &str, given: &InForce<'_>, find: &Find) -> String {
    let left: Vec<String> = ["latency_window", "latency_run", "runtime", "time_based"]
        .iter()
        .filter(|name| given.contains_key(**name))
        .map(|name| format!("`{name}`"))
        .collect();
    let left = match left.as_slice() {
        [] => String::new(),
        names => format!(
            "; {} would say how long fio searches: here each trial has the time of `measure`",
            names.join(", ")
        ),
    };
    let all = match value(given, "latency_percentile") {
        None | Some("100" | "100.0") => {
            "; fio asks it of all I/Os, the record has percentiles up to the 99.9th"
        }
        Some(_) => "",
    };
    format!(
        "`latency_target` of `{}` becomes a search: most iops while {}, by iodepth from 1 to {}, with trials of their own at each depth, since fio \
         would change the depth while it measures{all}{left}",
        super::shown(path),
        find.limits_in_words(),
        find.to
    )
}
