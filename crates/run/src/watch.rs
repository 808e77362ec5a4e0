//! What a guest can't see of its disks: the files and block devices of its host that back them, and the devices below these.

use crate::device_prefix::{HOST, SERVER};
use crate::guest_disks::HostedDisk;
use crate::guest_host::{HostError, HostSnapshot};
use crate::schedule::{Schedule, ScheduleError};
use record::counter::HostChange;
use record::event::Event;
use record::plan::Cell;
use record::printable::chain;
use record::topology::{BlockKind, Stacked, Topology, Unseen};
use record::trial::{Outcome, TrialRecord, TrialStep};
use record::volume::{Limits, VolumeFacts, VolumeKind};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Has the host take a snapshot of what backs a trial's disks just before and just after the guest measures. In between it changes the
/// disks' limits where the experiment says so.
#[derive(Debug)]
pub(crate) struct Watch {
    /// The disks by their kernel name in the guest, as in the trial's record.
    disks: Vec<(String, HostedDisk)>,
    /// What lies below each of them.
    below: Vec<Topology>,
    /// The host's names of all devices below them.
    devices: Vec<String>,
    before: Option<HostSnapshot>,
    after: Option<HostSnapshot>,
    /// Why the host doesn't show what lies below the disks.
    failed: Option<HostError>,
    schedule: Option<Schedule>,
    changes: Result<Vec<HostChange>, ScheduleError>,
}

impl Watch {
    /// Selects the disks that a cell's volumes are on.
    pub(crate) fn new(hosted: &[HostedDisk], cell: &Cell, volumes: &[VolumeFacts]) -> Self {
        let disks = cell.stack.all_volumes().filter_map(|volume| {
            let (VolumeKind::Guest { id, .. } | VolumeKind::Disk { id }) = &volume.kind else { return None };
            let disk = hosted.iter().find(|disk| disk.id == *id)?;
            let facts = volumes.iter().find(|v| v.target == cell.target && v.name == volume.name)?;
            let name = facts.device.as_ref()?.file_name()?.to_str()?;
            let name = if cell.is_mounted_elsewhere() { SERVER.name(name) } else { name.to_owned() };
            Some((name, disk.clone()))
        });
        let mut watch = Self {
            disks: disks.collect(),
            below: Vec::new(),
            devices: Vec::new(),
            before: None,
            after: None,
            failed: None,
            schedule: None,
            changes: Ok(Vec::new()),
        };
        if let Some((_, first)) = watch.disks.first() {
            match first.host.below(&watch.backings()) {
                Ok(below) => watch.below = below,
                Err(why) => watch.failed = Some(why),
            }
        }
        let nodes = watch.below.iter().flat_map(|below| &below.nodes);
        watch.devices = nodes.map(|node| node.name.clone()).collect();
        watch.devices.sort();
        watch.devices.dedup();
        watch
    }

    fn backings(&self) -> Vec<PathBuf> {
        self.disks.iter().map(|(_, disk)| disk.backing.clone()).collect()
    }

    /// Follows the trial's steps: starts at `measure`, and ends at the next step.
    pub(crate) fn heard(&mut self, event: &Event) {
        let Event::Step { step, .. } = event else { return };
        let measures = step == TrialStep::Measure.name();
        if measures && self.before.is_none() {
            self.before = self.snapshot();
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
            self.after = self.snapshot();
        }
        if let Some(Err(why)) = schedule.map(|mut schedule| schedule.put_back()) {
            self.changes = Err(why);
        }
    }

    /// Adds the host's data to a finished trial.
    pub(crate) fn tell(mut self, record: &mut TrialRecord) {
        self.ended();
        for ((name, disk), below) in self.disks.iter().zip(self.below) {
            follow(&mut record.topology, name, disk, below);
        }
        if let Some(why) = &self.failed {
            let names: Vec<&str> = self.disks.iter().map(|(name, _)| name.as_str()).collect();
            let text = format!("what lies below {} on the guest's host: {}", names.join(", "), chain(why));
            record.topology.unknown.push(text);
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

    /// Takes a snapshot, with the names of devices as in the record.
    fn snapshot(&mut self) -> Option<HostSnapshot> {
        let (_, first) = self.disks.first().filter(|_| self.failed.is_none())?;
        let mut taken = match first.host.snapshot(&self.backings(), &self.devices) {
            Ok(taken) => taken,
            Err(why) => {
                self.failed = Some(why);
                return None;
            }
        };
        let block = std::mem::take(&mut taken.sample.block);
        taken.sample.block = block.into_iter().map(|(name, counters)| (HOST.name(&name), counters)).collect();
        taken.sample.throttles = self.limits();
        Some(taken)
    }

    /// The limits of all disks now; `None` if one isn't known.
    fn limits(&self) -> Option<BTreeMap<String, Limits>> {
        let limits = |(name, disk): &(String, HostedDisk)| Some((name.clone(), disk.limits_now()?));
        self.disks.iter().map(limits).collect()
    }
}

/// Extends the topology below a guest's disk, where the guest's kernel sees nothing further.
fn follow(topology: &mut Topology, name: &str, disk: &HostedDisk, below: Topology) {
    let Some(node) = topology.nodes.iter_mut().find(|node| node.name == name) else { return };
    let depth = node.depth + 1;
    node.kind = BlockKind::Loop {
        backing_file: Some(disk.backing.clone()),
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
    use super::{HOST, Watch, follow};
    use crate::guest_disks::HostedDisk;
    use crate::guest_host::{GuestHost, ThisMachine, UnreachedHost};
    use record::event::Event;
    use record::topology::{BlockKind, BlockNode, Topology};
    use record::trial::TrialStep;
    use record::volume::{Limits, Volume, VolumeFacts, VolumeKind};
    use std::path::Path;
    use std::sync::Arc;

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

    fn hosted(backing: &Path, host: Arc<dyn GuestHost>) -> HostedDisk {
        HostedDisk {
            id: "virtio-d1".to_owned(),
            host,
            backing: backing.to_owned(),
            direct_io: false,
            limits: Limits::default(),
            changes: Vec::new(),
            throttle: None,
            host_limits: None,
            imposed: None,
        }
    }

    #[test]
    fn a_guests_disk_goes_on_in_its_file_and_other_disks_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        std::fs::write(&file, [1; 4096]).unwrap();
        let hosted = hosted(&file, Arc::new(ThisMachine));
        let below = || ThisMachine.below(std::slice::from_ref(&file)).unwrap().remove(0);
        let mut topology = Topology { nodes: vec![disk("vda", 0), disk("vdb", 0)], ..Topology::default() };
        follow(&mut topology, "vdb", &hosted, below());
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
        follow(&mut topology, "vdz", &hosted, below());
        assert_eq!(topology, before, "a disk that the guest doesn't see");
    }

    /// A logical volume has no file system below it: the chain goes on at the device.
    #[test]
    fn a_guests_disk_on_a_block_device_goes_on_there() {
        let mut lv = disk("dm-3", 0);
        lv.kind = BlockKind::Composite { members: vec!["sda".to_owned()] };
        let below = Topology { nodes: vec![lv, disk("sda", 1)], ..Topology::default() };
        let mut topology = Topology { nodes: vec![disk("vdb", 0)], ..Topology::default() };
        follow(&mut topology, "vdb", &hosted(Path::new("/dev/vg0/gp"), Arc::new(ThisMachine)), below);
        let names: Vec<(&str, u32)> =
            topology.nodes.iter().map(|node| (node.name.as_str(), node.depth)).collect();
        assert_eq!(names, [("vdb", 0), ("host:dm-3", 1), ("host:sda", 2)]);
        let BlockKind::Loop { backing_fs, members, .. } = &topology.nodes[0].kind else {
            panic!("{topology:?}")
        };
        assert_eq!((backing_fs, &members[..]), (&None, &["host:dm-3".to_owned()][..]));
    }

    fn watched(kind: VolumeKind, disk: &HostedDisk) -> Watch {
        let volume = Volume { name: "gp".to_owned(), kind };
        let mut cell = crate::testing::cell("c", "web", "raw");
        cell.stack.volumes = vec![volume];
        let facts = VolumeFacts {
            name: "gp".to_owned(),
            target: "web".to_owned(),
            device: Some("/dev/vdb".into()),
            size_bytes: 4096,
            identity: None,
            verified: Vec::new(),
            burst: None,
            backing_fs: None,
            loop_direct_io: None,
            host_limits: None,
        };
        Watch::new(std::slice::from_ref(disk), &cell, &[facts])
    }

    fn step(step: TrialStep) -> Event {
        Event::Step { cell: None, step: step.name().to_owned(), done: None }
    }

    #[test]
    fn a_created_volume_is_watched_by_its_disk_and_a_host_that_is_gone_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("disk.img");
        std::fs::write(&file, [1; 4096]).unwrap();
        let is = || VolumeKind::Disk { id: "virtio-d1".to_owned() };
        let request = crate::testing::request(crate::testing::cell("c", "web", "raw"));
        let record = |host: Arc<dyn GuestHost>, kind: VolumeKind| {
            let mut watch = watched(kind, &hosted(&file, host));
            watch.heard(&step(TrialStep::Measure));
            watch.heard(&step(TrialStep::Undo));
            let mut record = crate::trial::blank(&request);
            record.topology.nodes.push(disk("vdb", 0));
            watch.tell(&mut record);
            record
        };
        let seen = record(Arc::new(ThisMachine), is());
        assert!(matches!(seen.topology.nodes[0].kind, BlockKind::Loop { guest: true, .. }), "{seen:?}");
        assert_eq!((seen.backing_before[0].path.as_path(), seen.evidence.host.len()), (file.as_path(), 2));
        assert!(seen.evidence.host[0].throttles.is_none(), "nobody asked for limits");
        let unseen = record(Arc::new(UnreachedHost { why: "no way".to_owned() }), is());
        assert_eq!(unseen.topology.unknown, ["what lies below vdb on the guest's host: no way"]);
        assert!(unseen.evidence.host.is_empty() && unseen.topology.nodes[0].kind == BlockKind::Disk);
        let other = record(Arc::new(ThisMachine), VolumeKind::Disk { id: "virtio-d2".to_owned() });
        assert!(other.evidence.host.is_empty() && other.topology.unknown.is_empty(), "another disk");
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
