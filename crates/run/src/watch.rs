//! What a guest can't see of its disks: the files on this machine that back them, and the devices below these files.

use crate::device_prefix::{HOST, SERVER};
use crate::guest_disks::HostedDisk;
use crate::schedule::{Schedule, ScheduleError};
use observe::{Collector, Roots, Subjects};
use record::counter::{HostChange, Sample};
use record::event::Event;
use record::extents::Residency;
use record::plan::Cell;
use record::printable::chain;
use record::topology::{BlockKind, Stacked, Topology, Unseen};
use record::trial::{Outcome, TrialRecord, TrialStep};
use record::volume::{VolumeFacts, VolumeKind};

/// Samples the backing files of a trial's disks just before and just after the guest measures. In between it changes the disks'
/// limits where the experiment says so.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The disks by their kernel name in the guest, as in the trial's record.
    disks: Vec<(String, HostedDisk)>,
    counters: Collector,
    before: Option<Look>,
    after: Option<Look>,
    schedule: Option<Schedule>,
    changes: Result<Vec<HostChange>, ScheduleError>,
}

/// A snapshot of the backing files and the host's counters.
#[derive(Debug)]
struct Look {
    files: Vec<Residency>,
    sample: Sample,
}

impl Watch {
    /// Selects the disks that a cell's volumes are on.
    pub(crate) fn new(hosted: &[HostedDisk], cell: &Cell, volumes: &[VolumeFacts]) -> Self {
        let disks = cell.stack.all_volumes().filter_map(|volume| {
            let VolumeKind::Guest { id, .. } = &volume.kind else { return None };
            let disk = hosted.iter().find(|disk| disk.id == *id)?;
            let facts = volumes.iter().find(|v| v.target == cell.target && v.name == volume.name)?;
            let name = facts.device.as_ref()?.file_name()?.to_str()?;
            let name = if cell.is_mounted_elsewhere() { SERVER.name(name) } else { name.to_owned() };
            Some((name, disk.clone()))
        });
        let disks: Vec<(String, HostedDisk)> = disks.collect();
        let roots = Roots::default();
        let under =
            disks.iter().flat_map(|(_, disk)| observe::topology(&roots, &[], disk.file.parent()).nodes);
        let mut devices: Vec<String> = under.map(|node| node.name).collect();
        devices.sort();
        devices.dedup();
        let counters = Collector::new(&roots, &Subjects { devices, ..Subjects::default() });
        Self { disks, counters, before: None, after: None, schedule: None, changes: Ok(Vec::new()) }
    }

    /// Follows the trial's steps: starts at `measure`, and ends at the next step.
    pub(crate) fn heard(&mut self, event: &Event) {
        let Event::Step { step, .. } = event else { return };
        let measures = step == TrialStep::Measure.name();
        if measures && self.before.is_none() {
            self.before = self.look();
            self.schedule = Schedule::begin(&self.disks);
        } else if !measures {
            self.ended();
        }
    }

    /// Ends the schedule after the load. The last snapshot is taken before the limits are put back, so it shows the limits as
    /// they were.
    fn ended(&mut self) {
        let mut schedule = self.schedule.take();
        if let Some(schedule) = &mut schedule {
            self.changes = schedule.end();
        }
        if self.before.is_some() && self.after.is_none() {
            self.after = self.look();
        }
        if let Some(Err(why)) = schedule.map(|mut schedule| schedule.put_back()) {
            self.changes = Err(why);
        }
    }

    /// Adds this machine's data to a finished trial.
    pub(crate) fn tell(mut self, record: &mut TrialRecord) {
        self.ended();
        for (name, disk) in &self.disks {
            follow(&mut record.topology, name, disk);
        }
        if let Some((before, after)) = self.before.zip(self.after) {
            record.backing_before.extend(before.files);
            record.backing_after.extend(after.files);
            record.evidence.host = vec![before.sample, after.sample];
        }
        match self.changes {
            Ok(changes) => record.evidence.host_changes = changes,
            Err(why) if record.outcome == Outcome::Measured => record.outcome = Outcome::Failed(chain(&why)),
            Err(_) => {}
        }
    }

    /// Takes a snapshot of all files or of none: a partial list would look complete.
    fn look(&mut self) -> Option<Look> {
        let files: Option<Vec<_>> =
            self.disks.iter().map(|(_, disk)| device::extents::residency(&disk.file).ok()).collect();
        let files = files.filter(|files| !files.is_empty())?;
        let mut sample = self.counters.sample();
        sample.block =
            sample.block.into_iter().map(|(name, counters)| (HOST.name(&name), counters)).collect();
        let limits = |(name, disk): &(String, HostedDisk)| Some((name.clone(), disk.throttle.now()?));
        sample.throttles = self.disks.iter().map(limits).collect();
        Some(Look { files, sample })
    }
}

/// Extends the topology below a guest's disk, where the guest's kernel sees nothing further.
fn follow(topology: &mut Topology, name: &str, disk: &HostedDisk) {
    let Some(node) = topology.nodes.iter_mut().find(|node| node.name == name) else { return };
    let below = observe::topology(&Roots::default(), &[], disk.file.parent());
    let depth = node.depth + 1;
    node.kind = BlockKind::Loop {
        backing_file: Some(disk.file.clone()),
        direct_io: Some(disk.direct_io),
        backing_fs: below.deciding_fs().map(str::to_owned),
        members: below.direct().map(|member| HOST.name(&member.name)).collect(),
        guest: true,
    };
    for under in below.nodes {
        let under = HOST.node(under, depth);
        if !topology.nodes.iter().any(|there| there.name == under.name) {
            topology.nodes.push(under);
        }
    }
    topology.nodes.sort_by_key(|node| node.depth);
    // The name of the backing file's device or of a loop device below it; else the disk's own.
    let device = |device: Option<String>| Some(device.map_or(name.to_owned(), |device| HOST.name(&device)));
    let stacked = below.stacked.into_iter();
    topology.stacked.extend(stacked.map(|one| Stacked { device: device(one.device), ..one }));
    let unseen = below.unseen.into_iter();
    topology.unseen.extend(unseen.map(|one| Unseen { device: device(one.device), ..one }));
    topology.unknown.extend(below.unknown.iter().map(|why| HOST.name(why)));
}

#[cfg(test)]
mod tests {
    use super::{HOST, follow};
    use crate::guest_disks::{HostedDisk, Throttle, ThrottleError};
    use record::topology::{BlockKind, BlockNode, Topology};
    use record::volume::Limits;

    #[derive(Debug)]
    struct Unlimited;

    impl Throttle for Unlimited {
        fn now(&self) -> Option<Limits> {
            None
        }

        fn set(&self, _: &Limits) -> Result<(), ThrottleError> {
            Ok(())
        }
    }

    fn disk(name: &str, depth: u32) -> BlockNode {
        BlockNode {
            name: name.to_owned(),
            devno: (254, 16),
            depth,
            kind: BlockKind::Disk,
            rotational: None,
            scheduler: None,
            size_bytes: None,
        }
    }

    #[test]
    fn a_guests_disk_goes_on_in_its_file_and_other_disks_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        std::fs::write(&file, [1; 4096]).unwrap();
        let hosted = HostedDisk {
            id: "virtio-d1".to_owned(),
            file: file.clone(),
            direct_io: false,
            limits: Limits::default(),
            changes: Vec::new(),
            throttle: std::sync::Arc::new(Unlimited),
        };
        let mut topology = Topology { nodes: vec![disk("vda", 0), disk("vdb", 0)], ..Topology::default() };
        follow(&mut topology, "vdb", &hosted);
        assert_eq!(topology.nodes[0], disk("vda", 0));
        let BlockKind::Loop { backing_file, direct_io, backing_fs, members, guest } = &topology.nodes[1].kind
        else {
            panic!("{topology:?}")
        };
        assert_eq!((backing_file.as_ref(), *direct_io, *guest), (Some(&file), Some(false), true));
        // On overlayfs or tmpfs the file system is known, but the device below it may not be.
        assert!(backing_fs.is_some(), "{topology:?}");
        assert!(members.iter().all(|member| member.starts_with("host:")), "{topology:?}");
        assert!(
            topology.nodes[2..].iter().all(|node| node.name.starts_with("host:") && node.depth >= 1),
            "{topology:?}"
        );
        let before = topology.clone();
        follow(&mut topology, "vdz", &hosted);
        assert_eq!(topology, before, "a disk that the guest doesn't see");
    }

    #[test]
    fn names_below_are_the_hosts_too() {
        let mut part = disk("sda1", 1);
        part.kind = BlockKind::Partition { of: "sda".to_owned() };
        let part = HOST.node(part, 2);
        assert_eq!((part.name.as_str(), part.depth), ("host:sda1", 3));
        assert_eq!(part.kind, BlockKind::Partition { of: "host:sda".to_owned() });
    }
}
