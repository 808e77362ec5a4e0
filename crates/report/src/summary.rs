//! The answer of a run that compares nothing: what one stack gives, in a sentence.

use crate::number::{interval, with_interval};
use record::finding::Severity;
use record::judged::{Asked, CellView, Metric, RunView};
use record::quantity::Bytes;
use record::volume::VolumeFacts;
use record::workload::Rw;

/// With more cells the table is the answer.
const MOST_CELLS: usize = 8;
/// From this block size on, bandwidth is asked about and not I/Os per second; in bytes.
const LARGE: u64 = 128 << 10;

/// `None` where stacks are compared, where there are many cells, or where no cell has a storage figure.
pub(crate) fn summary(view: &RunView) -> Option<String> {
    let first = view.cells.first()?;
    let is_one = view.cells.iter().all(|cell| (&cell.stack, &cell.target) == (&first.stack, &first.target));
    let is_answered = !view.answers.is_empty() || !view.contrasts.is_empty() || !view.searches.is_empty();
    if !is_one || is_answered || view.cells.len() > MOST_CELLS {
        return None;
    }
    let valid = view.cells.iter().filter(|cell| !cell.void);
    let figures: Vec<(&CellView, String, String)> =
        valid.filter_map(|cell| figure(cell).map(|(figure, of)| (cell, figure, of))).collect();
    if figures.is_empty() {
        return None;
    }
    let alike = |of: &String| figures.iter().filter(|(_, _, other)| other == of).count();
    let said = figures.iter().map(|(cell, figure, of)| match alike(of) {
        1 => format!("{figure} {of}"),
        _ => format!("{figure} {of} ({})", cell.workload),
    });
    let told: Vec<String> = said.collect();
    let place = place(first).map_or_else(String::new, |place| format!("{place}: "));
    let unseen = unseen(view, figures.iter().map(|(cell, ..)| *cell)).unwrap_or_default();
    let doubted = view.findings.iter().any(|finding| finding.severity >= Severity::Caveat);
    let doubt = if doubted { " The caveats below say what else is in these figures." } else { "" };
    Some(format!("{place}{}.{unseen}{doubt}", told.join("; ")))
}

/// What figures of existing directories and disks can't exclude: caches that this machine doesn't see. `None` for volumes with limits of
/// their own, which no cache gets round, and for I/O through the page cache to less data than the memory: a finding is about that.
fn unseen<'a>(view: &RunView, cells: impl Iterator<Item = &'a CellView>) -> Option<String> {
    let asked: Vec<(&CellView, &Asked)> =
        cells.filter_map(|cell| Some((cell, cell.asked.as_ref()?))).collect();
    let (first, _) = asked.first()?;
    let is_limited = |volume: &VolumeFacts| {
        let by_host = volume.host_limits.as_ref().is_some_and(|of| !of.is_unlimited());
        !volume.verified.is_empty() || volume.burst.is_some() || by_host
    };
    let limited = view.volumes.iter().any(is_limited) || !view.emulated.is_empty();
    let memory = view.environment.of(&first.target).memory_bytes.filter(|_| !limited)?;
    let data = asked.iter().map(|(_, a)| a.size_bytes.saturating_mul(u64::from(a.numjobs))).min()?;
    // some file systems serve direct I/O from memory all the same
    let bypasses = |cell: &CellView| cell.served.is_none_or(|served| served.page_cache < 0.005);
    let direct = asked.iter().all(|(cell, asked)| asked.direct && bypasses(cell));
    let (size, of_memory) = (Bytes(data), Bytes(memory));
    let seen = match (data > memory, direct) {
        (true, _) => format!("The file is {size}, more than the {of_memory} of memory of this machine"),
        (false, true) => {
            format!("The file is {size}, this machine has {of_memory} of memory: direct I/O bypasses it")
        }
        (false, false) => return None,
    };
    Some(format!(
        " {seen}; a cache below the machine may have helped: a disk's own, a RAID controller's or a host's page cache."
    ))
}

/// The deepest device that can be seen below the load.
fn place(cell: &CellView) -> Option<String> {
    let deepest = cell.leaves.iter().max_by_key(|node| node.depth)?;
    // what else is said of it stands in the tree of devices
    let kind = deepest.kind.split(';').next().unwrap_or_default();
    Some(format!("On {} ({kind})", deepest.name))
}

/// A cell's figure and what it is of: the time until a write is durable, the latency at depth 1, the bandwidth of large blocks, else I/Os per second.
fn figure(cell: &CellView) -> Option<(String, String)> {
    let asked = cell.asked.as_ref()?;
    let metric = |name: &str| cell.metrics.get(name).map(shown);
    let block = Bytes(asked.bs_bytes);
    if let Some(durable) = metric("durable_lat_mean") {
        return Some((durable, format!("until a write of {block} is durable")));
    }
    let io = io(asked.rw);
    if asked.iodepth == 1 && asked.numjobs == 1 && asked.bs_bytes < LARGE {
        let side = if asked.rw.reads() { "read_lat_mean" } else { "write_lat_mean" };
        return Some((metric(side)?, format!("for a {io} of {block} at depth 1")));
    }
    let rate = if asked.bs_bytes >= LARGE { "bw" } else { "iops" };
    Some((metric(rate)?, format!("in {io}s of {block}{}", depth(asked))))
}

fn shown(metric: &Metric) -> String {
    let (figure, unit) = match metric.low.zip(metric.high).filter(|_| metric.is_too_wide()) {
        Some((low, high)) => interval(low, high, &metric.unit),
        None => with_interval(metric),
    };
    format!("{figure} {unit}").trim_end().to_owned()
}

fn depth(asked: &Asked) -> String {
    match asked.numjobs {
        1 => format!(" at depth {}", asked.iodepth),
        jobs => format!(" at depth {} by {jobs} jobs", asked.iodepth),
    }
}

fn io(rw: Rw) -> &'static str {
    match rw {
        Rw::Read => "sequential read",
        Rw::Write => "sequential write",
        Rw::Randread => "random read",
        Rw::Randwrite => "random write",
        Rw::Rw => "sequential read and write",
        Rw::Randrw => "random read and write",
        Rw::Trim | Rw::Randtrim => "trim",
        Rw::Trimwrite | Rw::Randtrimwrite => "trim and write",
    }
}

#[cfg(test)]
mod tests {
    use super::summary;
    use crate::testing;
    use record::judged::NodeView;
    use record::workload::Rw;

    #[test]
    fn one_sentence_names_device_depth_and_figures() {
        let mut many = testing::cell("a", "directory", "randread", Rw::Randread, 4096);
        testing::side(&mut many, "read", (75_000.0, Some(900.0)), 400.0);
        many.metrics.insert("iops".to_owned(), many.metrics["read_iops"].clone());
        many.leaves = vec![NodeView {
            name: "vda".to_owned(),
            kind: "virtual disk".to_owned(),
            depth: 1,
            read_per_asked: Some(1.0),
            write_per_asked: None,
            iops: None,
            busy_share: None,
        }];
        let mut one = testing::cell("b", "directory", "durable", Rw::Randwrite, 4096);
        one.asked.as_mut().unwrap().iodepth = 1;
        let mut durable = many.metrics["iops"].clone();
        (durable.estimate, durable.low, durable.high) = (200.0, Some(190.0), Some(210.0));
        "us".clone_into(&mut durable.unit);
        one.metrics.insert("durable_lat_mean".to_owned(), durable);
        let mut view = testing::run("quick", "?", vec![many, one]);
        view.findings.clear();
        view.environment.memory_bytes = None;
        assert_eq!(
            summary(&view).unwrap(),
            "On vda (virtual disk): 75,000 ± 900 IOPS in random reads of 4 KiB at depth 64; 200 ± 10 us until a write of 4 KiB is \
             durable."
        );
        view.environment.memory_bytes = Some(24 << 30);
        let told = summary(&view).unwrap();
        assert!(
            told.ends_with(
                "durable. The file is 256 MiB, this machine has 24 GiB of memory: direct I/O bypasses it; a cache below the machine \
                 may have helped: a disk's own, a RAID controller's or a host's page cache."
            ),
            "{told}"
        );
        view.environment.memory_bytes = Some(128 << 20);
        let told = summary(&view).unwrap();
        assert!(
            told.contains("The file is 256 MiB, more than the 128 MiB of memory of this machine; a cache"),
            "{told}"
        );
        view.environment.memory_bytes = Some(24 << 30);
        view.cells[0].asked.as_mut().unwrap().direct = false;
        assert!(!summary(&view).unwrap().contains("memory"), "a finding is about the page cache");
        view.cells[1].stack = "other".to_owned();
        assert_eq!(summary(&view), None, "the answers compare stacks");
    }
}
