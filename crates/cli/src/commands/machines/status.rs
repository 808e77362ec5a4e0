//! `diskproof machines status`.

use super::selection::{CONNECT_SECONDS, cant_wait, chosen, reach};
use crate::args::{From, MachinesStatus};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::Statuses;
use record::machine::{Machine, MachineFacts, MachineState, MachineStatus};
use record::quantity::Bytes;
use std::collections::BTreeSet;
use std::io::IsTerminal as _;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

pub(super) fn status(args: &MachinesStatus, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = chosen(&args.patterns, from, settings)?;
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let reach = reach(settings, CONNECT_SECONDS);
    let fanout = usize::from(from.fanout);
    let mut statuses = match args.watch {
        Some(_) => Statuses::repeated(&machines, &reach, fanout).map_err(cant_wait)?,
        None => Statuses::once(&machines, &reach, fanout),
    };
    loop {
        match (args.json, args.watch) {
            (true, _) => as_json(&machines, &mut statuses, &wish)?,
            (false, None) => as_they_come(&machines, &mut statuses, &wish)?,
            (false, Some(_)) => redrawn(&machines, &mut statuses, &wish)?,
        }
        if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
            return Ok(Exit::Signal(number));
        }
        let Some(seconds) = args.watch else { return Ok(Exit::Fine) };
        pause(seconds, &wish);
    }
}

/// Waits until the next question, or until a signal.
fn pause(seconds: f64, wish: &Wish) {
    let until = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::from_secs(2));
    while Instant::now() < until && !wish.cancel.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Asks all machines; ends early if `tell` fails or the user wishes so.
fn ask(
    machines: &[Machine],
    statuses: &mut Statuses<'_>,
    wish: &Wish,
    mut tell: impl FnMut(usize, MachineStatus) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let mut failed = None;
    let mut each = |at: usize, status: MachineStatus| {
        if failed.is_none() {
            failed = tell(at, status).err();
        }
    };
    statuses.ask(0..machines.len(), &mut each, &wish.cancel).map_err(cant_wait)?;
    failed.map_or(Ok(()), Err)
}

fn as_json(machines: &[Machine], statuses: &mut Statuses<'_>, wish: &Wish) -> Result<(), Failure> {
    ask(machines, statuses, wish, |_, status| {
        output::json(&serde_json::to_string(&status).map_err(Failure::ours)?)
    })
}

fn as_they_come(machines: &[Machine], statuses: &mut Statuses<'_>, wish: &Wish) -> Result<(), Failure> {
    let table = Table::of(machines);
    let began = Instant::now();
    output::answer(&table.line(&TITLE.map(str::to_owned)))?;
    let mut all = Vec::new();
    ask(machines, statuses, wish, |_, status| {
        output::answer(&table.row(&status))?;
        all.push(status);
        Ok(())
    })?;
    output::answer(&sum(&all, machines.len(), began.elapsed()))
}

/// Draws the whole table anew, in the order of the inventory.
fn redrawn(machines: &[Machine], statuses: &mut Statuses<'_>, wish: &Wish) -> Result<(), Failure> {
    let table = Table::of(machines);
    let began = Instant::now();
    let mut rows: Vec<Option<MachineStatus>> = vec![None; machines.len()];
    ask(machines, statuses, wish, |at, status| {
        if let Some(row) = rows.get_mut(at) {
            *row = Some(status);
        }
        Ok(())
    })?;
    let all: Vec<MachineStatus> = rows.into_iter().flatten().collect();
    let lines = all.iter().map(|status| table.row(status));
    let title = std::iter::once(table.line(&TITLE.map(str::to_owned)));
    let text: Vec<String> = title.chain(lines).chain([sum(&all, machines.len(), began.elapsed())]).collect();
    if std::io::stdout().is_terminal() {
        output::own("\u{1b}[H\u{1b}[2J")?;
    }
    output::answer(&(text.join("\n") + "\n"))
}

const COLUMNS: usize = 12;
const TITLE: [&str; COLUMNS] = [
    "machine",
    "state",
    "cpus",
    "load",
    "memory",
    "used",
    "free",
    "guests on",
    "their cpus",
    "their memory",
    "unused disks",
    "journals",
];
/// Widths of the columns after the name.
const WIDTHS: [usize; COLUMNS] = [0, 9, 4, 6, 9, 9, 9, 9, 10, 12, 12, 8];

/// A table with fixed columns: a row is printed before the next one is known.
struct Table {
    widths: [usize; COLUMNS],
}

impl Table {
    fn of(machines: &[Machine]) -> Self {
        let names = machines.iter().map(|machine| machine.name.chars().count());
        let mut widths = WIDTHS;
        widths[0] = names.chain([TITLE[0].len()]).max().unwrap_or_default();
        Self { widths }
    }

    fn line(&self, cells: &[String; COLUMNS]) -> String {
        let mut text = String::new();
        for (at, (cell, width)) in cells.iter().zip(self.widths).enumerate() {
            // Words to the left, numbers to the right.
            text.push_str(&if at < 2 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") });
            if at == 0 {
                text.push_str("  ");
            }
        }
        text.trim_end().to_owned()
    }

    fn row(&self, status: &MachineStatus) -> String {
        let reason = status.reason.as_deref().unwrap_or_default();
        let Some(facts) = &status.facts else {
            let width = self.widths[0];
            return format!("{:<width$}  {:<9}  {reason}", status.machine, status.state)
                .trim_end()
                .to_owned();
        };
        let mut cells: [String; COLUMNS] = Default::default();
        cells[0].clone_from(&status.machine);
        cells[1] = status.state.to_string();
        for (cell, text) in cells.iter_mut().skip(2).zip(figures(facts)) {
            *cell = text.unwrap_or_else(|| "?".to_owned());
        }
        let line = self.line(&cells);
        if reason.is_empty() { line } else { format!("{line}  {reason}") }
    }
}

/// What the columns after the state show; `None` is unknown.
fn figures(facts: &MachineFacts) -> [Option<String>; COLUMNS - 2] {
    let bytes = |bytes: Option<u64>| bytes.map(|bytes| Bytes(bytes).to_string());
    let of = |some: usize, all: usize| format!("{some} of {all}");
    let on = |guests: &[record::machine::GuestSeen]| {
        guests.iter().filter(|guest| guest.on).cloned().collect::<Vec<_>>()
    };
    let guests = facts.guests.as_ref();
    let running = guests.map(|guests| on(guests));
    // A machine without libvirt has no guests to show; that isn't unknown.
    let none = || guests.is_none().then(|| "-".to_owned());
    let cpus = running.as_ref().and_then(|on| on.iter().map(|guest| guest.cpus).sum::<Option<u32>>());
    let memory =
        running.as_ref().and_then(|on| on.iter().map(|guest| guest.memory_bytes).sum::<Option<u64>>());
    let unused = |disks: &Vec<record::machine::DiskSeen>| {
        of(disks.iter().filter(|disk| disk.unused).count(), disks.len())
    };
    [
        facts.cpus.map(|cpus| cpus.to_string()),
        facts.load.map(|[minute, ..]| format!("{minute:.2}")),
        bytes(facts.memory_bytes),
        bytes(facts.used_bytes()),
        bytes(facts.free_bytes),
        guests.zip(running.as_ref()).map(|(all, on)| of(on.len(), all.len())).or_else(none),
        cpus.map(|cpus| cpus.to_string()).or_else(none),
        bytes(memory).or_else(none),
        facts.disks.as_ref().map(unused),
        facts.journals.as_ref().map(|journals| journals.len().to_string()),
    ]
}

/// The last line: how many are on, and what they have together.
fn sum(all: &[MachineStatus], asked: usize, took: Duration) -> String {
    let names: Vec<&MachineFacts> = all.iter().filter_map(|status| status.facts.as_ref()).collect();
    // Two names of one machine have one boot; it counts once.
    let mut boots = BTreeSet::new();
    let is_new =
        |facts: &&&MachineFacts| facts.boot_id.as_ref().is_none_or(|boot| boots.insert(boot.clone()));
    let on: Vec<&MachineFacts> = names.iter().filter(is_new).copied().collect();
    let same = match names.len() - on.len() {
        0 => String::new(),
        _ => format!(
            ", which are {}",
            if on.len() == 1 { "one machine".to_owned() } else { format!("{} machines", on.len()) }
        ),
    };
    let count = all.iter().filter(|status| status.state == MachineState::On).count();
    let cpus: Option<u32> = on.iter().map(|facts| facts.cpus).sum();
    let memory: Option<u64> = on.iter().map(|facts| facts.memory_bytes).sum();
    let free: Option<u64> = on.iter().map(|facts| facts.free_bytes).sum();
    let together = match (cpus, memory, free) {
        (Some(cpus), Some(memory), Some(free)) if count > 0 => {
            format!(": {cpus} CPUs, {} of memory, {} free", Bytes(memory), Bytes(free))
        }
        _ => String::new(),
    };
    let unasked = asked.saturating_sub(all.len());
    let unasked = if unasked > 0 { format!("; {unasked} not asked") } else { String::new() };
    format!("{count} of {asked} on{same}{together}{unasked} ({:.1} s)", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::{Table, sum};
    use record::machine::{DiskSeen, GuestSeen, Machine, MachineFacts, MachineState, MachineStatus};
    use std::time::Duration;

    fn status(facts: Option<MachineFacts>) -> MachineStatus {
        let state = if facts.is_some() { MachineState::On } else { MachineState::NoAnswer };
        let reason = facts.is_none().then(|| "connect to host ham1 port 22: Connection timed out".to_owned());
        MachineStatus { machine: "ham0".to_owned(), state, reason, took_ms: 1, facts }
    }

    #[test]
    fn a_row_shows_what_is_known_and_a_question_mark_for_what_is_not() {
        let table = Table::of(&[Machine::named("ham0", "x")]);
        let guest = |name: &str, on| GuestSeen {
            name: name.to_owned(),
            on,
            cpus: Some(2),
            memory_bytes: Some(4 << 30),
        };
        let disk = |unused| DiskSeen { name: "sda".to_owned(), size_bytes: 1 << 40, unused };
        let facts = MachineFacts {
            cpus: Some(8),
            load: Some([0.5, 0.4, 0.3]),
            memory_bytes: Some(64 << 30),
            free_bytes: Some(16 << 30),
            guests: Some(vec![guest("a", true), guest("b", true), guest("c", false)]),
            disks: Some(vec![disk(true), disk(false)]),
            journals: None,
            ..MachineFacts::default()
        };
        let row = table.row(&status(Some(facts.clone())));
        let words: Vec<&str> = row.split_whitespace().collect();
        let expected = "ham0 on 8 0.50 64 GiB 48 GiB 16 GiB 2 of 3 4 8 GiB 1 of 2 ?";
        assert_eq!(words.join(" "), expected);
        let bare = table.row(&status(Some(MachineFacts::default())));
        assert_eq!(bare.split_whitespace().collect::<Vec<_>>().join(" "), "ham0 on ? ? ? ? ? - - - ? ?");
        let off = table.row(&status(None));
        assert_eq!(off, "ham0     no answer  connect to host ham1 port 22: Connection timed out");
        let named = MachineFacts { boot_id: Some("b".to_owned()), ..facts.clone() };
        let one = sum(&[status(Some(named.clone())), status(Some(named))], 2, Duration::ZERO);
        assert_eq!(one, "2 of 2 on, which are one machine: 8 CPUs, 64 GiB of memory, 16 GiB free (0.0 s)");
        let both = [status(Some(facts)), status(None)];
        let last = sum(&both, 3, Duration::from_millis(1540));
        assert_eq!(last, "1 of 3 on: 8 CPUs, 64 GiB of memory, 16 GiB free; 1 not asked (1.5 s)");
    }
}
