//! `diskproof devices`: every disk, free or not, and why.

use crate::args::JsonOnly;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::privilege;
use crate::settings::Settings;
use device::{ClaimBook, DiskReport, Roots, Strength};
use host::LocalRunner;
use record::quantity::Bytes;
use std::fmt::Write as _;

pub(crate) fn devices(args: &JsonOnly, settings: &Settings) -> Result<Exit, Failure> {
    let book = ClaimBook::open(&settings.state.value).ok();
    let disks = device::inventory(&Roots::default(), &LocalRunner, book.as_ref());
    if args.json {
        let text = serde_json::to_string_pretty(&disks).map_err(Failure::ours)?;
        output::answer(&text)?;
        return Ok(Exit::Fine);
    }
    for disk in &disks {
        output::answer(&describe(disk))?;
    }
    if disks.is_empty() {
        output::aside("this kernel shows no disks");
    }
    if !privilege::is_root() {
        output::aside("without root some witnesses can't be heard; sudo diskproof devices hears all of them");
    }
    Ok(Exit::Fine)
}

fn describe(disk: &DiskReport) -> String {
    let model = disk.model.as_deref().unwrap_or("unknown model");
    let claimed = if disk.claimed { "claimed" } else { "not claimed" };
    let free = match (disk.free, disk.dissent.iter().any(|dissent| dissent.heard)) {
        (true, _) => "free",
        (false, true) => "NOT free",
        (false, false) => "can't be told",
    };
    let mut text =
        format!("{}  {}  {model}  {free}, {claimed}\n", disk.path.display(), Bytes(disk.size_bytes));
    for id in &disk.ids {
        let _ = writeln!(text, "  id {id}");
    }
    if disk.strength == Strength::None {
        text.push_str("  nothing tells it from another disk, so it can't be claimed\n");
    }
    for dissent in &disk.dissent {
        let _ = writeln!(text, "  {dissent}");
    }
    text
}
