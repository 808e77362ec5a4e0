//! Where this machine has too little room for a plan.

use device::DiskReport;
use record::plan::{Cell, Plan};
use record::printable::Shown as _;
use record::quantity::Bytes;
use record::volume::VolumeKind;
use run::controller::{space_of, volumes_of};
use spec::GuestFiles;
use stack::RESERVE_BYTES;
use std::path::Path;

/// Room that is missing in the state directory for backing files and the disks of these lab guests, in existing directories and on disks for the data, one noun each.
pub(super) fn missing(
    plan: &Plan,
    targets: &[&str],
    cells: &[&Cell],
    disks: &[DiskReport],
    (guests, state): (GuestFiles, &Path),
) -> Vec<String> {
    let mut missing: Vec<String> = backing_files(plan, targets, guests, state).into_iter().collect();
    for target in targets {
        let needed = space_of(plan, target);
        for volume in volumes_of(plan, target) {
            if let (VolumeKind::Directory { path }, Some(needed)) = (&volume.kind, needed.get(&volume.name)) {
                missing.extend(of_directory(path, *needed));
            }
        }
    }
    missing.extend(cells.iter().filter_map(|cell| of_disks(cell, disks)));
    missing
}

/// The state directory may not exist yet: the space is that of the nearest directory above it.
fn backing_files(plan: &Plan, targets: &[&str], guests: GuestFiles, state: &Path) -> Option<String> {
    let volumes = targets.iter().flat_map(|target| volumes_of(plan, target));
    let sizes = volumes.filter_map(|volume| match volume.kind {
        VolumeKind::Emulate { size_bytes, .. } => Some(size_bytes),
        _ => None,
    });
    let needed = sizes.chain([guests.bytes, guests.spare]).fold(0_u64, u64::saturating_add);
    let there = state.ancestors().find(|path| path.is_dir()).filter(|_| needed > 0)?;
    lacks(state, needed, device::free_bytes(there).ok()?)
}

/// A directory that isn't there is missing as such.
fn of_directory(path: &Path, needed: u64) -> Option<String> {
    lacks(path, needed, device::free_bytes(path).ok()?)
}

fn lacks(place: &Path, needed: u64, free: u64) -> Option<String> {
    (free < needed.saturating_add(RESERVE_BYTES)).then(|| {
        format!(
            "space: {} in {}, and {} for its other users; {} are free there",
            Bytes(needed),
            place.shown(),
            Bytes(RESERVE_BYTES),
            Bytes(free)
        )
    })
}

/// The data of a cell can't be larger than its disks together, whatever is built on them.
fn of_disks(cell: &Cell, disks: &[DiskReport]) -> Option<String> {
    let sizes = cell.stack.volumes.iter().map(|volume| match &volume.kind {
        VolumeKind::Disk { id } => Some(disks.iter().find(|disk| disk.ids.contains(id))?.size_bytes),
        _ => None,
    });
    let room = sizes.collect::<Option<Vec<u64>>>()?.into_iter().fold(0_u64, u64::saturating_add);
    let needed = cell.workload.data_bytes().saturating_add(cell.workload.made_bytes());
    let (stack, workload) = (&cell.stack.name, &cell.workload.name);
    (needed > room).then(|| {
        format!("space: {} of data of {workload} on {stack}; its disks have {}", Bytes(needed), Bytes(room))
    })
}

#[cfg(test)]
mod tests {
    use super::missing;
    use device::{DiskReport, Strength};
    use record::plan::Plan;
    use spec::GuestFiles;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn plan(volumes: &str, size: &str) -> Plan {
        let text = format!(
            "experiment: demo\nvolumes: {{ v: {volumes} }}\nstacks: {{ s: {{ on: v }} }}\n\
             workloads: {{ r: {{ rw: randread, size: {size} }} }}\n"
        );
        let loaded = spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new());
        loaded.unwrap_or_else(|error| panic!("{error}")).plan
    }

    fn disk(id: &str, size_bytes: u64) -> DiskReport {
        DiskReport {
            path: Path::new("/dev").join(id),
            ids: vec![id.to_owned()],
            size_bytes,
            model: None,
            serial: None,
            wwn: None,
            strength: Strength::Strong,
            free: true,
            spoken_for: Vec::new(),
            dissent: Vec::new(),
            claimed: true,
            sample: None,
        }
    }

    #[test]
    fn the_disks_of_guests_are_files_here() {
        let said = |size: &str, format: &str| {
            let text = format!(
                "experiment: demo\ntargets: {{ vm: {{ guest: x, disks: {{ d: {{ size: {size}, format: {format} }} }} }} }}\n\
                 volumes: {{ v: {{ disks: [d] }} }}\nstacks: {{ s: {{ on: v }} }}\n\
                 workloads: {{ r: {{ rw: randread, size: 1m }} }}\n"
            );
            let loaded = spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new());
            let plan = loaded.unwrap_or_else(|error| panic!("{error}")).plan;
            missing(&plan, &[], &[], &[], (spec::guest_files(&plan, |_, _| false), Path::new("/nowhere")))
        };
        assert!(said("16m", "raw").is_empty());
        let large = said("300t", "raw");
        assert!(
            large.len() == 1 && large[0].starts_with("space: 300 TiB in /nowhere, and 256 MiB for"),
            "{large:?}"
        );
        // An image is made from a raw file.
        let twice = said("300t", "qcow2");
        assert!(twice[0].starts_with("space: 600 TiB in /nowhere"), "{twice:?}");
    }

    #[test]
    fn room_is_looked_for_where_the_data_go() {
        let (dir, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let here = dir.path().to_string_lossy().into_owned();
        let state_is_not_made = state.path().join("not/made/yet");
        let said = |plan: &Plan, disks: &[DiskReport]| {
            let cells: Vec<_> = plan.cells.iter().collect();
            missing(plan, &["local"], &cells, disks, (GuestFiles::default(), &state_is_not_made))
        };
        let directory = format!("{{ directory: {here} }}");
        assert!(said(&plan(&directory, "1m"), &[]).is_empty());
        let large = said(&plan(&directory, "900t"), &[]);
        assert!(large[0].starts_with(&format!("space: 900 TiB in {here}, and 256 MiB for")), "{large:?}");
        let emulated = said(&plan("{ emulate: { size: 800t } }", "1m"), &[]);
        assert_eq!(emulated.len(), 1, "{emulated:?}");
        assert!(emulated[0].contains("800 TiB in ") && emulated[0].contains("not/made/yet"), "{emulated:?}");
        let (disks, claimed) = ([disk("nvme-a", 2 << 30)], "{ disks: [nvme-a] }");
        assert!(said(&plan(claimed, "2g"), &disks).is_empty());
        let large = said(&plan(claimed, "3g"), &disks);
        assert_eq!(large, ["space: 3 GiB of data of r on s; its disks have 2 GiB"]);
        assert!(said(&plan(claimed, "3g"), &[]).is_empty(), "an unknown disk is missing as such");
    }
}
