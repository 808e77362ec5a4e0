//! Makes a plan of an experiment file: asks for missing parameters and chooses the seed.

use super::job_file::{self, Refused};
use crate::args::Experiment;
use crate::exit::Failure;
use crate::output;
use crate::parameters;
use record::id::RunId;
use record::plan::Plan;
use record::printable::Shown as _;
use record::printable::printable;
use record::target::TargetKind;
use spec::{LoadError, Loaded};
use std::collections::BTreeMap;
use std::time::{SystemTime, UNIX_EPOCH};

/// Reads an experiment file; on a terminal, asks for parameters without a value.
///
/// # Errors
/// The file or a parameter is wrong; the error names the place.
pub(crate) fn load(args: &Experiment) -> Result<Plan, Failure> {
    let (of_drivers, set) =
        parameters::parse(&args.set)?.into_iter().partition(|(name, _)| name.contains('.'));
    let loaded = match &args.on {
        Some(on) => of_job_file(args, on, set)?,
        None if job_file::is_job_file(&args.file) => {
            let file = args.file.shown();
            return Err(Failure::input(format!(
                "{file} is a fio job file: say where it runs, `--on DIR` or `--on DISK`; or write an experiment, `diskproof new --from {file}`"
            )));
        }
        None => with_parameters(set, |set| spec::load(&args.file, set))?,
    };
    for note in &loaded.notes {
        output::aside(&format!("note: {note}"));
    }
    let mut plan = loaded.plan;
    put_settings(&mut plan, of_drivers)?;
    let today = today();
    if let Some(list) = plan.prices.list.as_ref().filter(|list| list.is_past(&today)) {
        let last = list.valid_until.as_deref().unwrap_or_default();
        output::aside(&format!("note: the prices were valid until {last}; today is {today}"));
    }
    if let Some(seed) = args.seed {
        plan.seed = seed;
    } else if !loaded.seeded {
        plan.seed = seed_of_the_clock();
    }
    Ok(plan)
}

/// Makes a plan of a job file and the place where it runs.
fn of_job_file(args: &Experiment, on: &str, set: BTreeMap<String, String>) -> Result<Loaded, Failure> {
    let place = job_file::Place::read(on)?;
    let (loaded, chosen) =
        with_parameters(set, |set| job_file::load(&args.file, &place, args.size.as_deref(), set))?;
    if let Some(note) = chosen {
        output::aside(&format!("note: {note}"));
    }
    Ok(loaded)
}

/// Calls `load` until all parameters have values, or until there is nobody to ask.
fn with_parameters<T, E: Into<Refused>>(
    mut set: BTreeMap<String, String>,
    load: impl Fn(&BTreeMap<String, String>) -> Result<T, E>,
) -> Result<T, Failure> {
    loop {
        match load(&set).map_err(Into::into) {
            Err(Refused::Load(LoadError::MissingParameters(missing))) if output::can_ask() => {
                for parameter in missing {
                    let help = parameter.help.map(|help| format!(" ({help})")).unwrap_or_default();
                    let Some(value) = output::ask(&format!("{}{help}: ", parameter.name)) else {
                        return Err(Failure::input(format!("parameter `{}` was not given", parameter.name)));
                    };
                    set.insert(parameter.name, value);
                }
            }
            Ok(loaded) => return Ok(loaded),
            Err(Refused::Load(error)) => return Err(failure(error)),
            Err(Refused::Failure(failure)) => return Err(failure),
        }
    }
}

/// The failure of a wrong or unreadable experiment file: the user's fault.
pub(crate) fn failure(error: LoadError) -> Failure {
    match error {
        LoadError::Diagnostics(_) => Failure::diagnostics(error),
        _ => Failure::input(error),
    }
}

/// The day in UTC, as YYYY-MM-DD.
pub(crate) fn today() -> String {
    jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y-%m-%d").to_string()
}

/// A seed from the clock's nanoseconds, so that two runs hardly share one.
pub(crate) fn seed_of_the_clock() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Below 2^53, so that every JSON reader reads it exactly.
    (u64::from(now.subsec_nanos()) << 22 ^ now.as_secs()) & ((1 << 53) - 1) | 1
}

/// The id of a new run: its start in UTC, and four hexadecimal digits for two runs in one second.
pub(crate) fn run_id() -> RunId {
    let now = jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC);
    let mixed = now.timestamp().subsec_nanosecond().unsigned_abs() ^ std::process::id().rotate_left(16);
    let digits = (mixed ^ (mixed >> 16)) & 0xffff;
    RunId(format!("{}-{digits:04x}", now.strftime("%Y%m%d-%H%M%S")))
}

/// Puts settings of drivers from the command line (`TARGET.KEY`) into a plan, over those of the experiment.
///
/// # Errors
/// There is no such target, or no driver creates it.
fn put_settings(plan: &mut Plan, all: BTreeMap<String, String>) -> Result<(), Failure> {
    for (name, value) in all {
        // A target's name may have dots, e.g. those of a machine type. Keys have none.
        let (target, key) = name.rsplit_once('.').unwrap_or((&name, ""));
        let created = plan.targets.iter_mut().find(|one| one.name == target).map(|one| &mut one.kind);
        let Some(TargetKind::Created { settings, .. }) = created else {
            let name = printable(&name);
            return Err(Failure::input(format!(
                "--set {name}: no target `{}` has a driver",
                printable(target)
            )));
        };
        settings.insert(key.to_owned(), value.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{run_id, seed_of_the_clock};

    #[test]
    fn run_ids_sort_by_time_and_are_safe_in_file_names() {
        let (a, b) = (run_id(), run_id());
        assert_eq!(a.0.len(), "20261121-201455-3f9a".len());
        assert!(a.0.chars().all(|c| c.is_ascii_hexdigit() || c == '-'), "{a}");
        assert!(a.0[..15] <= b.0[..15]);
    }

    #[test]
    fn seeds_fit_every_json_reader() {
        let seed = seed_of_the_clock();
        assert!(seed > 0 && seed < 1 << 53);
    }
}
