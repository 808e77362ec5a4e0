//! `diskproof devices`: every disk, free or not, and why.

use crate::args::JsonOnly;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use device::{Check, ClaimBook, DiskReport, Roots, Strength};
use host::LocalRunner;
use record::printable::Shown as _;
use record::quantity::Bytes;
use std::fmt::Write as _;

pub(crate) fn devices(args: &JsonOnly, settings: &Settings) -> Result<Exit, Failure> {
    let book = ClaimBook::open(&settings.state.value).ok();
    let disks = device::inventory(&Roots::default(), &LocalRunner, book.as_ref());
    if args.json {
        let text = serde_json::to_string_pretty(&disks).map_err(Failure::ours)?;
        output::json(&text)?;
        return Ok(Exit::Fine);
    }
    for disk in &disks {
        output::answer(&describe(disk))?;
    }
    if disks.is_empty() {
        output::aside("this kernel shows no disks");
    }
    if !fleet::is_root() {
        output::aside(
            "without root some checks can't be made and the disks can't be sampled; sudo diskproof devices does both",
        );
    }
    Ok(Exit::Fine)
}

fn describe(disk: &DiskReport) -> String {
    let model = disk.model.as_deref().unwrap_or("unknown model").shown();
    let claimed = if disk.claimed { "claimed" } else { "not claimed" };
    let free = match (disk.free, disk.dissent.iter().any(|dissent| dissent.heard)) {
        (true, _) => "free",
        (false, true) => "NOT free",
        (false, false) => "not known whether free",
    };
    let mut text = format!("{}  {}  {model}  {free}, {claimed}\n", disk.path.shown(), Bytes(disk.size_bytes));
    for id in &disk.ids {
        let _ = writeln!(text, "  id {}", id.shown());
    }
    if disk.strength == Strength::None {
        text.push_str("  it has no serial number, no WWN and no known slot, so it can't be claimed\n");
    }
    if let Some(sample) = &disk.sample {
        let _ = writeln!(text, "  data: {sample}");
    }
    // What the machine runs from can't be freed, so there is nothing to advise.
    let runs_from_it = disk.dissent.iter().any(|dissent| dissent.witness == Check::Root && dissent.heard);
    for dissent in &disk.dissent {
        let unheard = if dissent.heard { "" } else { "could not be checked: " };
        let remedy = if runs_from_it { String::new() } else { format!("; {}", dissent.remedy) };
        let _ = writeln!(text, "  {}: {unheard}{}{remedy}", dissent.witness, dissent.saw);
    }
    for hidden in &disk.spoken_for {
        let speaks = match hidden.witness {
            Check::Openers => "its owner vouched for that when claiming it",
            _ => "but the disk could be opened exclusively, so nothing else holds it",
        };
        let _ = writeln!(text, "  note: {}: {}; {speaks}", hidden.witness, hidden.saw);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::describe;
    use device::{Check, DiskReport, Dissent, Sample, Strength};
    use std::path::PathBuf;

    fn disk(dissent: Vec<Dissent>) -> DiskReport {
        DiskReport {
            path: PathBuf::from("/dev/sda"),
            ids: vec!["ata-x".to_owned()],
            size_bytes: 1 << 40,
            model: Some("X".to_owned()),
            serial: None,
            wwn: None,
            strength: Strength::Weak,
            free: dissent.is_empty(),
            dissent,
            claimed: false,
            spoken_for: vec![],
            sample: None,
        }
    }

    fn says(witness: Check, saw: &str, remedy: &str) -> Dissent {
        Dissent { witness, heard: true, saw: saw.to_owned(), remedy: remedy.to_owned() }
    }

    #[test]
    fn nobody_is_told_to_unmount_what_the_machine_runs_from() {
        let mounted = says(Check::Mounts, "sda is mounted at /", "umount /");
        let data = describe(&disk(vec![mounted.clone()]));
        assert!(data.contains("NOT free") && data.contains("; umount /"), "{data}");
        let root = says(Check::Root, "the root file system rests on sda", "choose another disk");
        let text = describe(&disk(vec![mounted, root]));
        assert!(!text.contains("umount"), "{text}");
        assert!(text.contains("  root: the root file system rests on sda\n"), "{text}");
    }

    #[test]
    fn what_is_on_it_is_told_as_a_sample() {
        let sample = Sample {
            block_bytes: 4096,
            disk_blocks: 1 << 28,
            read_blocks: 128,
            data_blocks: 32,
            unreadable_blocks: 0,
            taken_unix_ms: 1,
        };
        let text = describe(&DiskReport { sample: Some(sample.clone()), ..disk(vec![]) });
        assert!(
            text.contains("\n  data: 32 of a sample of 128 blocks of 4 KiB hold data (25 %)\n"),
            "{text}"
        );
        let blank = Sample { data_blocks: 0, ..sample };
        let text = describe(&DiskReport { sample: Some(blank), ..disk(vec![]) });
        assert!(text.contains("at most 2.3 % of the disk does (95 % confidence)"), "{text}");
        assert!(!text.contains("blank"), "a sample doesn't prove that: {text}");
    }

    #[test]
    fn a_witness_that_is_spoken_for_is_told_with_who_speaks() {
        let unseen = Dissent { heard: false, ..says(Check::Openers, "process 1 can't be seen", "") };
        let text = describe(&DiskReport { spoken_for: vec![unseen], ..disk(vec![]) });
        assert!(text.contains("note: open files: process 1 can't be seen; its owner vouched"), "{text}");
    }

    #[test]
    fn a_free_disk_is_shown_with_its_names() {
        let text = describe(&disk(vec![]));
        assert_eq!(text, "/dev/sda  1 TiB  X  free, not claimed\n  id ata-x\n");
    }
}
