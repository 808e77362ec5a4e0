//! Persistent stacks, which stay up over the rounds: what can't be combined with them.

use crate::problems::Problems;
use crate::source::Span;
use record::find::FindBy;
use record::knobs::KnobPlace;
use record::plan::Cell;
use record::stack::{Layer, Rebuild, Stack};
use record::workload::{Ask, CacheStart, Workload};
use std::collections::BTreeSet;

/// A cell, and the place of its stack's name.
pub(crate) type Placed<'c> = (&'c Cell, Span);

/// Refuses what a persistent stack makes impossible. Each problem is reported once, for the first cell that has it.
pub(crate) fn check(cells: &[Placed<'_>], problems: &mut Problems<'_>) {
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for (place, (cell, span)) in cells.iter().enumerate() {
        if cell.stack.rebuild != Rebuild::Run || told.contains(cell.stack.name.as_str()) {
            continue;
        }
        let others =
            cells.iter().enumerate().filter(|(other, _)| *other != place).map(|(_, (other, _))| *other);
        let others = others.filter(|other| other.target == cell.target);
        let why = others.clone().find_map(|other| crowded(cell, other));
        let why = why.or_else(|| others.clone().find_map(|other| emptied(cell, other)));
        let why = why.or_else(|| others.clone().next().and_then(|_| machine_wide(&cell.stack)));
        let why = why.or_else(|| taken_apart(&cell.stack));
        let Some((message, help)) = why.or_else(|| unfit(&cell.workload)) else { continue };
        told.insert(&cell.stack.name);
        problems
            .add(
                *span,
                format!("stack `{}` stays up over the rounds (`rebuild: run`), {message}", cell.stack.name),
            )
            .help(help);
    }
}

/// Finds two cells that need the same volumes, one of them all the time.
fn crowded(cell: &Cell, other: &Cell) -> Option<(String, &'static str)> {
    if cell.stack == other.stack {
        let message = format!(
            "and so takes one workload, but `{}` and `{}` both ask it: each would change what the other finds in its \
             caches, and their data lie in the same place",
            cell.workload.name, other.workload.name
        );
        return Some((
            message,
            "keep one of them with `only` or `exclude`, or declare a second such stack on volumes of its own",
        ));
    }
    let shared =
        cell.stack.all_volumes().find(|one| other.stack.all_volumes().any(|two| two.name == one.name))?;
    let message = format!(
        "so `{}` can't be built between its rounds: both need volume `{}`",
        other.stack.name, shared.name
    );
    Some((message, "give it volumes of its own (emulated ones cost nothing), or an experiment of its own"))
}

/// Finds a conflict over the page cache: it belongs to the whole machine, and a trial with a cold start drops all of it.
fn emptied(cell: &Cell, other: &Cell) -> Option<(String, &'static str)> {
    let [keeps, cold] =
        [(cell, CacheStart::Keep), (other, CacheStart::Cold)].map(|(c, s)| c.workload.cache == s);
    (keeps && cold).then(|| {
        let message = format!(
            "so the memory that `cache: keep` keeps would be emptied before each trial of `{}` on `{}`, which begins cold",
            other.workload.name, other.stack.name
        );
        (message, "give the stack a target or an experiment of its own")
    })
}

/// Finds settings that would also apply to the trials of all other cells.
fn machine_wide(stack: &Stack) -> Option<(String, &'static str)> {
    const HELP: &str = "leave the setting out, or give the stack an experiment of its own";
    stack.layers.iter().find_map(|layer| match layer {
        Layer::Knobs(knobs) => {
            let knob = knobs.set.iter().find(|knob| !matches!(knob.name.place(), KnobPlace::Device(_)))?;
            Some((
                format!("so its `{}` would hold for the trials of all other cells", knob.name.word()),
                HELP,
            ))
        }
        Layer::Zfs(zfs) => {
            zfs.arc_max_bytes?;
            Some(("so its `arc_max` would hold for the trials of all other cells".to_owned(), HELP))
        }
        Layer::Nfs(_) => Some((
            "so the NFS server that it needs would run during the trials of all other cells".to_owned(),
            "leave `rebuild` out, or give the stack an experiment of its own",
        )),
        _ => None,
    })
}

/// Finds parts that would be missing in the next trial.
fn taken_apart(stack: &Stack) -> Option<(String, &'static str)> {
    stack.flushes().then(|| {
        let message = "but its cache would be gone after the first trial (`detach: flush`)".to_owned();
        (message, "leave `detach` out, or `rebuild`")
    })
}

/// Finds workloads that need a fresh stack for each trial.
fn unfit(workload: &Workload) -> Option<(String, &'static str)> {
    let name = &workload.name;
    match &workload.ask {
        Ask::Copy(_) | Ask::Bonnie(_) => {
            let message = format!(
                "but workload `{name}` makes and removes its own files, and each trial needs an empty file system"
            );
            Some((
                message,
                "leave `rebuild` out, or ask for reads and writes of one set of data (rw, bs, size)",
            ))
        }
        _ if workload.effective_jobs().iter().any(|job| job.verifies) => {
            let message = format!(
                "but workload `{name}` verifies what this very trial laid out, and the data are laid out once"
            );
            Some((message, "leave `verify` out, or `rebuild`"))
        }
        Ask::Options(options) if options.find.as_ref().is_some_and(|find| find.by == FindBy::Numjobs) => {
            let message = format!(
                "but workload `{name}` searches by numjobs, each job has data of its own, and the data are laid out once"
            );
            Some((message, "leave `rebuild` out, or search by iodepth or rate_iops"))
        }
        Ask::Options(_) | Ask::JobFile { .. } => None,
    }
}
