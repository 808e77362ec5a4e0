//! `diskproof driver check`: runs a driver through all rules of the protocol.

use super::places;
use crate::args::DriverCheck;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use driver::conformance::{Kept, News, RUN, Rule, Subject, check as through};
use driver::journal::{Entry, Held, Journal};
use driver::protocol::{Claim, MachineRequest, Settings as DriverSettings, VolumeRequest};
use driver::{PREFIX, Program, own};
use record::printable::{Shown as _, indented, printable};
use serde_json::Value;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long the check's machines may live, in seconds.
const LIFE: u64 = 2 * 3600;

pub(super) fn check(args: &DriverCheck, settings: &Settings) -> Result<Exit, Failure> {
    let program = program(&args.driver, settings)?;
    let machine = match &args.settings {
        Some(file) => read(file)?,
        None => {
            MachineRequest { name: "m1".to_owned(), settings: DriverSettings::new(), volumes: Vec::new() }
        }
    };
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let deadline = now() + LIFE;
    let journal = Journal::of(&settings.state.value);
    let mut held = Vec::new();
    for _ in 0..3 {
        held.push(journal.begin(entry(claim_id()?, &program, &machine, deadline))?);
    }
    let (left, rules) = checked(args, (&program, machine, deadline), &mut held, &wish)?;
    if left.is_empty() {
        for held in held {
            held.give_up()?;
        }
    }
    let broken = rules.iter().filter(|rule| matches!(rule.kept, Kept::No(_))).count();
    if args.json {
        output::json(&document(&program, &rules, &left)?)?;
    } else {
        left.iter().for_each(|left| output::aside(&format!("left: {}", printable(left))));
        if !left.is_empty() {
            output::aside(&format!("`diskproof undo {RUN}` tries again to destroy it"));
        }
        let unchecked = rules.iter().filter(|rule| matches!(rule.kept, Kept::Unchecked(_))).count();
        let all = rules.len();
        output::answer(&match (broken, unchecked) {
            (0, 0) => format!("driver {} keeps all {all} rules", program.name),
            (0, n) => {
                format!("driver {} keeps {} of {all} rules; {n} could not be checked", program.name, all - n)
            }
            (n, _) => format!("driver {} breaks {n} of {all} rules", program.name),
        })?;
    }
    let signal = wish.signal().and_then(|signal| u8::try_from(signal).ok());
    Ok(match (left.is_empty(), broken) {
        (false, _) => Exit::Ours,
        (true, _) if signal.is_some() => Exit::Signal(signal.unwrap_or_default()),
        (true, 0) => Exit::Fine,
        (true, _) => Exit::NotMet,
    })
}

/// A claim of the check, as it stands in the journal.
fn entry(id: String, program: &Program, machine: &MachineRequest, deadline: u64) -> Entry {
    let claim = Claim { id, run: RUN.to_owned(), deadline };
    let machines = ["m1", "m2"].map(|name| MachineRequest { name: name.to_owned(), ..machine.clone() });
    let mut entry = Entry::new(claim, RUN, &program.name, machines.to_vec(), now());
    entry.targets = ["m1", "m2"].map(str::to_owned).to_vec();
    entry
}

/// Checks the rules, and notes in the journal what exists meanwhile. Returns what could not be destroyed, and the rules.
fn checked(
    args: &DriverCheck,
    (program, machine, deadline): (&Program, MachineRequest, u64),
    held: &mut [Held],
    wish: &Wish,
) -> Result<(Vec<String>, Vec<Rule>), Failure> {
    let (mut ids, mut locks) = (Vec::new(), Vec::new());
    for held in held.iter() {
        ids.push(held.entry().claim.id.clone());
        locks.push(held.lock().try_clone().map_err(Failure::machine)?);
    }
    let mut locks = locks.iter();
    let mut each_id = ids.into_iter();
    let subject = Subject {
        program,
        machine,
        claims: [(); 3].map(|()| each_id.next().unwrap_or_default()),
        limit: Duration::from_secs_f64(args.limit),
        deadline,
        cancel: &wish.cancel,
        locks: [(); 3].map(|()| locks.next()),
    };
    let mut rules: Vec<Rule> = Vec::new();
    let mut broken = None;
    let left = through(&subject, &mut |news| match news {
        News::Rule(rule) => {
            if !args.json {
                output::aside(&line(rule));
            }
            rules.push(rule.clone());
        }
        News::Resource { claim, resource, exists } => {
            let held = held.iter_mut().find(|held| held.entry().claim.id == claim);
            let failed = held.and_then(|held| held.note(resource, exists).err());
            broken = broken.take().or(failed);
        }
    });
    match broken {
        Some(error) => Err(error.into()),
        None => Ok((left, rules)),
    }
}

fn line(rule: &Rule) -> String {
    match &rule.kept {
        Kept::Yes => format!("pass       {}", rule.text),
        Kept::No(what) => format!("BROKEN     {}: {}", rule.text, indented(what)),
        Kept::Unchecked(why) => format!("unchecked  {}: {}", rule.text, indented(why)),
    }
}

fn document(program: &Program, rules: &[Rule], left: &[String]) -> Result<String, Failure> {
    let one = |rule: &Rule| match &rule.kept {
        Kept::Yes => serde_json::json!({ "rule": rule.text, "kept": true }),
        Kept::No(what) => serde_json::json!({ "rule": rule.text, "kept": false, "difference": what }),
        Kept::Unchecked(why) => serde_json::json!({ "rule": rule.text, "kept": null, "why": why }),
    };
    let rules: Vec<Value> = rules.iter().map(one).collect();
    let all = serde_json::json!({ "driver": program.name, "rules": rules, "left": left });
    serde_json::to_string_pretty(&all).map_err(Failure::ours)
}

/// A driver by its name, or by the path of its program.
fn program(typed: &str, settings: &Settings) -> Result<Program, Failure> {
    if !typed.contains('/') {
        return Ok(places(settings)?.find(typed)?);
    }
    let path = Path::new(typed);
    let file = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(own(path, file.strip_prefix(PREFIX).unwrap_or(&file))?)
}

/// Reads the settings of a machine, which a target of an experiment has too.
fn read(file: &Path) -> Result<MachineRequest, Failure> {
    let failed = |why: String| Failure::input(format!("{}: {why}", file.shown()));
    let text = fs::read_to_string(file).map_err(|error| failed(error.to_string()))?;
    let whole: Value = serde_saphyr::from_str(&text).map_err(|error| failed(error.to_string()))?;
    let Value::Object(mut settings) = whole else {
        return Err(failed("a map of settings is expected".to_owned()));
    };
    let volumes = match settings.remove("volumes") {
        None => Vec::new(),
        Some(Value::Object(volumes)) => {
            let volume = |(name, settings): (String, Value)| match settings {
                Value::Object(settings) => volume(name, settings).map_err(failed),
                _ => Err(failed(format!("volume `{}` is not a map of settings", printable(&name)))),
            };
            volumes.into_iter().map(volume).collect::<Result<_, _>>()?
        }
        Some(_) => return Err(failed("`volumes` is not a map of volumes".to_owned())),
    };
    settings.remove("driver");
    Ok(MachineRequest { name: "m1".to_owned(), settings, volumes })
}

fn volume(name: String, mut settings: DriverSettings) -> Result<VolumeRequest, String> {
    let size_bytes = match settings.remove("size") {
        None => None,
        Some(Value::Number(size)) => size.as_u64(),
        Some(Value::String(text)) => Some(spec::bytes(&text)?),
        Some(_) => return Err(format!("the size of volume `{}` is not a size", printable(&name))),
    };
    Ok(VolumeRequest { name, size_bytes, settings })
}

/// A claim's id: 32 hexadecimal digits, drawn at random.
pub(crate) fn claim_id() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    let drawn = fs::File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    drawn.map_err(|error| Failure::machine(format!("can't read /dev/urandom: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Seconds since 1970 (UTC).
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}
