//! `diskproof machines run`, and diskproof's own commands on machines.

use super::selection::{PATIENT_SECONDS, cant_wait, chosen, reach};
use crate::args::{From, MachinesRun, MachinesVerbArgs};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::{AsRoot, Command, CommandEvent, Outcome};
use record::machine::Machine;
use serde::Serialize;
use serde_json::Value;
use std::time::Duration;

pub(super) fn run(args: &MachinesRun, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(&args.patterns, from, settings)?;
    let command = Command {
        words: args.command.clone(),
        root: if args.root { AsRoot::Must } else { AsRoot::No },
        diskproof: false,
        limit: args.timeout.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
    };
    let show = match (args.json, args.fold) {
        (true, _) => Show::Json { parsed: false },
        (false, true) => Show::Folded,
        (false, false) => Show::Lines,
    };
    on_all(&machines, &command, show, from, settings)
}

/// Runs a command of diskproof on machines.
pub(super) fn verb(
    name: &str,
    args: &MachinesVerbArgs,
    from: &From,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let machines = chosen(&args.patterns, from, settings)?;
    let json = args.json.then(|| "--json".to_owned());
    let command = Command {
        words: std::iter::once(name.to_owned()).chain(json).chain(args.rest.iter().cloned()).collect(),
        // `undo` becomes root there by itself, and `doctor` tells whether it could.
        root: if name == "devices" { AsRoot::IfPossible } else { AsRoot::No },
        diskproof: true,
        limit: None,
    };
    let show = if args.json { Show::Json { parsed: true } } else { Show::Blocks };
    on_all(&machines, &command, show, from, settings)
}

/// How the output of many machines is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Show {
    /// Each line as it comes, after the machine's name.
    Lines,
    /// Each machine's whole output when it has ended.
    Blocks,
    /// Machines with equal output together, at the end.
    Folded,
    /// One line of JSON per machine; with `parsed`, its output is JSON itself.
    Json { parsed: bool },
}

/// What a machine printed, and how it ended; `None`: not yet.
#[derive(Debug, Clone, Default)]
struct Answer {
    out: String,
    err: String,
    both: String,
    outcome: Option<(Outcome, Duration)>,
}

fn on_all(
    machines: &[Machine],
    command: &Command,
    show: Show,
    from: &From,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let mut results = vec![Answer::default(); machines.len()];
    let mut failed: Option<Failure> = None;
    let mut tell = |at: usize, event: CommandEvent| {
        let (Some(machine), Some(result)) = (machines.get(at), results.get_mut(at)) else { return };
        if let Err(failure) = take(machine, result, event, show) {
            failed.get_or_insert(failure);
        }
    };
    let reach = reach(settings, PATIENT_SECONDS);
    fleet::run(machines, command, &reach, usize::from(from.fanout), &mut tell, &wish.cancel)
        .map_err(cant_wait)?;
    if let Some(failure) = failed {
        return Err(failure);
    }
    if show == Show::Folded {
        folded(machines, &results)?;
    }
    if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
        return Ok(Exit::Signal(number));
    }
    complain(machines, &results);
    Ok(exit(&results))
}

/// Takes an event of a machine, and prints what can be printed now.
fn take(machine: &Machine, result: &mut Answer, event: CommandEvent, show: Show) -> Result<(), Failure> {
    match event {
        CommandEvent::Line { to_stderr, text } => {
            if show == Show::Lines {
                let line = format!("{}: {}", machine.name, untabbed(&text));
                if to_stderr {
                    output::aside(&line);
                    return Ok(());
                }
                return output::answer(&line);
            }
            for kept in [if to_stderr { &mut result.err } else { &mut result.out }, &mut result.both] {
                kept.push_str(&text);
                kept.push('\n');
            }
        }
        CommandEvent::Ended { outcome, took } => {
            result.outcome = Some((outcome, took));
            match show {
                Show::Blocks if !result.both.is_empty() => {
                    output::answer(&block(&machine.name, &result.both))?;
                }
                Show::Json { parsed } => output::json(&json(machine, result, parsed)?)?,
                Show::Blocks | Show::Lines | Show::Folded => {}
            }
        }
    }
    Ok(())
}

fn block(title: &str, text: &str) -> String {
    let lines: Vec<String> = text.lines().map(untabbed).collect();
    format!("── {title}\n{}\n", lines.join("\n"))
}

/// Replaces the tabs of a line by blanks to the next eighth column. Others would be shown as `\t`, as all that moves the cursor.
fn untabbed(line: &str) -> String {
    let (mut text, mut column) = (String::with_capacity(line.len()), 0);
    for c in line.chars() {
        let blanks = if c == '\t' { 8 - column % 8 } else { 0 };
        column += blanks.max(1);
        if blanks == 0 {
            text.push(c);
        }
        text.extend(std::iter::repeat_n(' ', blanks));
    }
    text
}

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    machine: &'a str,
    /// `None`: the command didn't end by itself.
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    took_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout: Option<&'a str>,
    stderr: &'a str,
}

fn json(machine: &Machine, result: &Answer, parsed: bool) -> Result<String, Failure> {
    let (outcome, took) = match &result.outcome {
        Some((outcome, took)) => (Some(outcome), *took),
        None => (None, Duration::ZERO),
    };
    let answer = parsed.then(|| serde_json::from_str::<Value>(&result.out).ok()).flatten();
    let line = Line {
        machine: &machine.name,
        exit_code: match outcome {
            Some(Outcome::Code(code)) => Some(*code),
            _ => None,
        },
        reason: outcome.and_then(reason),
        took_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        stdout: answer.is_none().then_some(result.out.as_str()),
        answer,
        stderr: &result.err,
    };
    serde_json::to_string(&line).map_err(Failure::ours)
}

/// Why a command did not end with 0.
fn reason(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Code(0) => None,
        Outcome::Code(code) => Some(format!("exit code {code}")),
        Outcome::TimedOut => Some("ended here after its time limit; it may still run there".to_owned()),
        Outcome::NotReached { state, reason } => Some(format!("{state}: {reason}")),
        Outcome::NotCopied { reason } => Some(format!("diskproof can't be copied there: {reason}")),
    }
}

/// Prints equal outputs once, with the names of their machines, in the order of the inventory.
fn folded(machines: &[Machine], results: &[Answer]) -> Result<(), Failure> {
    let mut groups: Vec<(Vec<&str>, &str)> = Vec::new();
    for (machine, result) in machines.iter().zip(results).filter(|(_, result)| result.outcome.is_some()) {
        match groups.iter_mut().find(|(_, text)| *text == result.both) {
            Some((names, _)) => names.push(&machine.name),
            None => groups.push((vec![&machine.name], &result.both)),
        }
    }
    for (names, text) in groups.iter().filter(|(_, text)| !text.is_empty()) {
        let count = if names.len() > 1 { format!(" ({})", names.len()) } else { String::new() };
        output::answer(&block(&format!("{}{count}", names.join(",")), text))?;
    }
    Ok(())
}

/// Prints which machines failed.
fn complain(machines: &[Machine], results: &[Answer]) {
    let why = |result: &Answer| {
        result.outcome.as_ref().map_or(Some("not run".to_owned()), |(outcome, _)| reason(outcome))
    };
    let failed: Vec<(&str, String)> = machines
        .iter()
        .zip(results)
        .filter_map(|(machine, result)| Some((machine.name.as_str(), why(result)?)))
        .collect();
    for (name, reason) in &failed {
        output::aside(&format!("diskproof: {name}: {reason}"));
    }
    if failed.len() > 1 {
        output::aside(&format!("diskproof: {} of {} machines failed", failed.len(), machines.len()));
    }
}

/// The highest exit code; 3 where a machine wasn't reached, since then nothing is known of it.
fn exit(results: &[Answer]) -> Exit {
    let codes = results.iter().map(|result| match &result.outcome {
        Some((Outcome::Code(code), _)) => Some(*code),
        _ => None,
    });
    match codes.collect::<Option<Vec<i32>>>() {
        None => Exit::Machine,
        Some(codes) => match codes.into_iter().max() {
            None | Some(0) => Exit::Fine,
            Some(code) => Exit::Theirs(u8::try_from(code).unwrap_or(u8::MAX)),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, exit, untabbed};
    use crate::exit::Exit;
    use fleet::Outcome;
    use record::machine::MachineState;
    use std::time::Duration;

    #[test]
    fn tabs_become_columns() {
        assert_eq!(untabbed("/dev/sda\t/\text4"), "/dev/sda        /       ext4");
        assert_eq!(untabbed("plain"), "plain");
    }

    #[test]
    fn the_exit_code_is_the_highest_and_3_where_nothing_is_known() {
        let ended = |outcome| Answer { outcome: Some((outcome, Duration::ZERO)), ..Answer::default() };
        let code = |code| ended(Outcome::Code(code));
        let gone = || ended(Outcome::NotReached { state: MachineState::Off, reason: String::new() });
        assert_eq!(exit(&[code(0), code(0)]), Exit::Fine);
        assert_eq!(exit(&[code(0), code(7), code(2)]), Exit::Theirs(7));
        assert_eq!(exit(&[code(7), gone()]), Exit::Machine);
        assert_eq!(exit(&[code(0), Answer::default()]), Exit::Machine);
    }
}
