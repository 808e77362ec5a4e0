//! Names and levels of imported cells: what differs between the files.

use crate::measured::Measured;
use std::collections::{BTreeMap, BTreeSet};

/// The stack of files that all lie in one place.
const ONE_STACK: &str = "imported";
/// The level of an option that a job doesn't set.
const UNSET: &str = "default";

/// The options that come first in a job's name: people know jobs by these.
const FIRST: [&str; 7] = ["rw", "bs", "iodepth", "numjobs", "rwmixread", "direct", "ioengine"];

/// The names of a trial's cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    /// The stack: what the files say about where the data lay.
    pub(crate) stack: String,
    /// The workload: the job, with as many of its differing options as tell its trials apart.
    pub(crate) workload: String,
    /// Levels of the folders, and of all options that differ between the trials of this job.
    pub(crate) levels: BTreeMap<String, String>,
}

/// The names of each trial. With a given `stack`, folders and places don't tell trials apart.
pub(crate) fn names(trials: &[Measured], stack: Option<&str>) -> Vec<Names> {
    let folders = match stack {
        Some(_) => vec![Vec::new(); trials.len()],
        None => folders(trials),
    };
    let stacks = match stack {
        Some(name) => vec![name.to_owned(); trials.len()],
        None => stacks(trials, &folders),
    };
    let differing = differing(trials);
    let positions = positions(&folders);
    let of = |((trial, folders), stack): ((&Measured, &Vec<String>), String)| {
        let mut workload = trial.job.clone();
        let mut levels = BTreeMap::new();
        for position in &positions {
            levels.insert(format!("folder_{}", position + 1), folders[*position].clone());
        }
        let options = differing.get(trial.job.as_str()).into_iter().flatten();
        for Differing { option, names } in options {
            let value = value(trial, option);
            if *names {
                workload = format!("{workload} {option}={value}");
            }
            levels.insert((*option).to_owned(), value.to_owned());
        }
        Names { stack, workload, levels }
    };
    trials.iter().zip(&folders).zip(stacks).map(of).collect()
}

fn value<'t>(trial: &'t Measured, option: &str) -> &'t str {
    trial.options.get(option).map_or(UNSET, String::as_str)
}

/// The folders of each trial. Folders that all trials share, or that only repeat an option (as bench-fio's do), are left out.
fn folders(trials: &[Measured]) -> Vec<Vec<String>> {
    let shared = |at: usize| {
        let first = trials.first().and_then(|trial| trial.folders.get(at));
        first.is_some() && trials.iter().all(|trial| trial.folders.get(at) == first)
    };
    let common = (0..).take_while(|at| shared(*at)).count();
    let own = |trial: &Measured| {
        let repeats = |folder: &String| {
            let of = |name: &str| trial.options.get(name).map(String::as_str).unwrap_or_default();
            let mix = format!("{}{}", of("rw"), of("rwmixread"));
            [of("bs"), of("rw"), mix.as_str()].contains(&folder.as_str())
        };
        trial.folders.iter().skip(common).filter(|folder| !repeats(folder)).cloned().collect()
    };
    trials.iter().map(own).collect()
}

/// Positions of folders that are factors: at least two differ, and all trials have equally many folders.
fn positions(folders: &[Vec<String>]) -> Vec<usize> {
    let depth = folders.first().map_or(0, Vec::len);
    if folders.iter().any(|own| own.len() != depth) {
        return Vec::new();
    }
    let differs = |at: &usize| folders.iter().map(|own| &own[*at]).collect::<BTreeSet<_>>().len() > 1;
    let found: Vec<usize> = (0..depth).filter(differs).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// The stack of each trial: its folders, and its device or directory where the folders don't tell.
fn stacks(trials: &[Measured], folders: &[Vec<String>]) -> Vec<String> {
    let mut places: BTreeMap<&[String], BTreeSet<Option<&str>>> = BTreeMap::new();
    for (trial, own) in trials.iter().zip(folders) {
        places.entry(own).or_default().insert(trial.place.as_deref());
    }
    let is_told = places.values().all(|of_folder| of_folder.len() == 1);
    let name = |(trial, own): (&Measured, &Vec<String>)| {
        let mut name = own.join("/");
        if let (false, Some(place)) = (is_told, &trial.place) {
            let gap = if name.is_empty() { "" } else { " " };
            name = format!("{name}{gap}{place}");
        }
        if name.is_empty() { ONE_STACK.to_owned() } else { name }
    };
    trials.iter().zip(folders).map(name).collect()
}

/// An option with several values among the trials of a job.
struct Differing<'t> {
    option: &'t str,
    /// Whether it is part of the name: without it two jobs would have one name.
    names: bool,
}

/// By job: the options with several values among its trials, in the order of names.
fn differing(trials: &[Measured]) -> BTreeMap<&str, Vec<Differing<'_>>> {
    let mut jobs: BTreeMap<&str, Vec<&Measured>> = BTreeMap::new();
    for trial in trials {
        jobs.entry(trial.job.as_str()).or_default().push(trial);
    }
    jobs.into_iter().map(|(job, trials)| (job, of_job(&trials))).collect()
}

fn of_job<'t>(trials: &[&'t Measured]) -> Vec<Differing<'t>> {
    let all: BTreeSet<&str> =
        trials.iter().flat_map(|trial| trial.options.keys()).map(String::as_str).collect();
    let several = |option: &&str| trials.iter().any(|trial| value(trial, option) != value(trials[0], option));
    let mut options: Vec<&str> = all.into_iter().filter(several).collect();
    options.sort_by_key(|option| FIRST.iter().position(|first| first == option).unwrap_or(FIRST.len()));
    // The trials by the values of the options that are in the name so far.
    let mut parts: BTreeSet<Vec<&str>> = [Vec::new()].into();
    let mut named: Vec<&str> = Vec::new();
    let found = options.iter().copied().map(|option| {
        named.push(option);
        let finer: BTreeSet<Vec<&str>> =
            trials.iter().map(|trial| named.iter().map(|option| value(trial, option)).collect()).collect();
        let names = finer.len() > parts.len();
        if names {
            parts = finer;
        } else {
            named.pop();
        }
        Differing { option, names }
    });
    found.collect()
}

#[cfg(test)]
mod tests {
    use super::names;
    use crate::measured::Measured;
    use record::trial::{EngineOutput, Outcome, Window};
    use record::workload::{Ask, EngineKind};

    fn trial(folders: &[&str], place: Option<&str>, options: &[(&str, &str)]) -> Measured {
        Measured {
            notes: Vec::new(),
            file: "f".to_owned(),
            format: "fio JSON",
            folders: folders.iter().map(|folder| (*folder).to_owned()).collect(),
            place: place.map(str::to_owned),
            job: "iotest".to_owned(),
            engine: EngineKind::Fio,
            ask: Ask::JobFile { path: String::new(), text: String::new(), size_bytes: 0, jobs: Vec::new() },
            options: options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            started_unix_ms: 0,
            outcome: Outcome::Measured,
            output: EngineOutput::new("fio".to_owned(), Window::default()),
        }
    }

    fn stacks(trials: &[Measured]) -> Vec<String> {
        names(trials, None).into_iter().map(|names| names.stack).collect()
    }

    #[test]
    fn options_that_differ_are_levels_and_part_of_the_name() {
        let all = names(
            &[
                trial(&[], None, &[("bs", "4k"), ("iodepth", "1")]),
                trial(&[], None, &[("bs", "4k"), ("iodepth", "16")]),
                trial(&[], None, &[("bs", "4k")]),
            ],
            None,
        );
        let workloads: Vec<&str> = all.iter().map(|names| names.workload.as_str()).collect();
        assert_eq!(workloads, ["iotest iodepth=1", "iotest iodepth=16", "iotest iodepth=default"]);
        assert_eq!(all[1].levels.iter().map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>(), ["iodepth=16"]);
        assert_eq!(all[0].stack, "imported");
    }

    #[test]
    fn a_name_has_only_the_options_that_tell_jobs_apart() {
        let of = |rw: &str, bs: &str, size: &str| trial(&[], None, &[("rw", rw), ("bs", bs), ("size", size)]);
        let all = names(&[of("read", "1m", "8g"), of("randread", "4k", "1g"), of("read", "1m", "4g")], None);
        let workloads: Vec<&str> = all.iter().map(|names| names.workload.as_str()).collect();
        assert_eq!(
            workloads,
            ["iotest rw=read size=8g", "iotest rw=randread size=1g", "iotest rw=read size=4g"]
        );
        assert_eq!(
            all[1].levels.keys().collect::<Vec<_>>(),
            ["bs", "rw", "size"],
            "all that differs is a level"
        );
    }

    #[test]
    fn folders_are_stacks_and_factors_unless_they_repeat_an_option() {
        let of =
            |folders: &[&str]| trial(folders, None, &[("bs", "4k"), ("rw", "randrw"), ("rwmixread", "75")]);
        let trees = [
            of(&["server", "highpoint", "raid5", "4k"]),
            of(&["server", "highpoint", "raid10", "randrw75", "4k"]),
            of(&["server", "lsi", "raid5", "4k"]),
        ];
        assert_eq!(stacks(&trees), ["highpoint/raid5", "highpoint/raid10", "lsi/raid5"]);
        let levels = &names(&trees, None)[1].levels;
        assert_eq!((levels["folder_1"].as_str(), levels["folder_2"].as_str()), ("highpoint", "raid10"));
        let named = names(&trees, Some("mine"));
        assert!(named.iter().all(|names| names.stack == "mine" && names.levels.is_empty()), "{named:?}");
    }

    #[test]
    fn devices_are_stacks_where_folders_do_not_tell_them_apart() {
        let of = |folder: &str, place: &str| trial(&[folder], Some(place), &[]);
        assert_eq!(stacks(&[of("a", "/dev/sda"), of("b", "/dev/sdb")]), ["a", "b"]);
        assert_eq!(stacks(&[of("a", "/dev/sda"), of("a", "/dev/sdb")]), ["/dev/sda", "/dev/sdb"]);
        assert_eq!(
            stacks(&[of("a", "/dev/sda"), of("a", "/dev/sdb"), of("b", "/dev/sda")]),
            ["a /dev/sda", "a /dev/sdb", "b /dev/sda"]
        );
        assert_eq!(stacks(&[of("a", "/dev/sda"), of("a", "/dev/sda")]), ["imported", "imported"]);
    }
}
