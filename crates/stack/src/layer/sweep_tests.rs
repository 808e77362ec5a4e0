//! The commands that build the stacks of experiments/raid0-by-width-created.yaml, for each width, on the devices that EC2 and GCE show. No
//! machine of a cloud runs in tests, so the commands end here.

use super::filesystem::mkfs_args;
use super::md::create_args;
use record::plan::Cell;
use record::stack::Layer;
use record::volume::VolumeKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The experiment for a provider.
fn cells(provider: &str) -> Vec<Cell> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("experiments/raid0-by-width-created.yaml")).unwrap();
    let widths = ("widths", "1,2,3,4,16");
    let set = [("provider", provider), ("disk", "20g"), ("each", "3000"), widths, ("flushes", "0,1")];
    let set: BTreeMap<String, String> = set.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let loaded = spec::parse(&text, "sweep.yaml", &root, &set).unwrap();
    loaded.plan.cells
}

/// The commands of a stack on these devices, up to its file system, with fixed names and UUIDs.
fn commands(cell: &Cell, device: &dyn Fn(&str) -> PathBuf) -> Vec<String> {
    let name = |kind: &VolumeKind| match kind {
        VolumeKind::Created { volume, .. } => volume.clone(),
        other => panic!("the volumes of the sweep are created, not {other:?}"),
    };
    let mut below: Vec<PathBuf> =
        cell.stack.volumes.iter().map(|volume| device(&name(&volume.kind))).collect();
    let mut commands = Vec::new();
    for layer in &cell.stack.layers {
        match layer {
            Layer::Knobs(knobs) => {
                for (knob, device) in knobs.set.iter().flat_map(|knob| below.iter().map(move |d| (knob, d))) {
                    commands.push(format!("{} {:?}: {}", device.to_string_lossy(), knob.name, knob.value));
                }
            }
            Layer::Md(md) => {
                let members: Vec<&Path> = below.iter().map(PathBuf::as_path).collect();
                let args = create_args(md, Path::new("/dev/md200"), "U", "n", &members);
                commands.push(format!("mdadm {}", args.join(" ")));
                below = vec!["/dev/md200".into()];
            }
            Layer::Filesystem(fs) => {
                let args = mkfs_args(fs, "U", "l").unwrap();
                commands.push(format!("mkfs.xfs {} {}", args.join(" "), below[0].to_string_lossy()));
            }
            other => panic!("the sweep has no such layer: {other:?}"),
        }
    }
    commands
}

/// Checks the commands of all widths.
fn check(provider: &str, machines: usize, device: &dyn Fn(&str) -> PathBuf) {
    let mut widths: BTreeMap<usize, BTreeSet<(String, String)>> = BTreeMap::new();
    let mut ephemeral = 0;
    for cell in cells(provider) {
        assert!(cell.target.starts_with(&format!("{provider}-")), "{}", cell.target);
        let told = commands(&cell, device);
        let width = cell.stack.volumes.len();
        let scheduler = &cell.levels["scheduler"];
        assert_eq!(
            told.iter().filter(|line| line.ends_with(&format!(": {scheduler}"))).count(),
            width,
            "{told:#?}"
        );
        if !cell.stack.name.starts_with("md-") {
            ephemeral += 1;
            assert!(told.last().unwrap().starts_with("mkfs.xfs -q -K "), "{told:#?}");
            continue;
        }
        let [.., array, filesystem] = told.as_slice() else { panic!("{told:#?}") };
        let begin = format!(
            "mdadm --create /dev/md200 --run --metadata=1.2 --uuid=U --name=n --homehost=diskproof --level=raid0 \
             --raid-devices={width} --chunk=64K "
        );
        assert!(array.starts_with(&begin), "{array}");
        let members: Vec<&str> = array[begin.len()..].split(' ').filter(|word| *word != "--force").collect();
        assert_eq!((members.len(), array.contains("--force")), (width, width == 1), "{array}");
        assert_eq!(members.iter().collect::<BTreeSet<_>>().len(), width, "{array}");
        // mkfs.xfs asks the array itself for its stripe.
        assert_eq!(filesystem, "mkfs.xfs -q -K -L l -m uuid=U /dev/md200");
        widths.entry(width).or_default().insert((cell.target.clone(), scheduler.clone()));
    }
    assert_eq!(widths.keys().copied().collect::<Vec<_>>(), [1, 2, 3, 4, 16]);
    assert!(widths.values().all(|cells| cells.len() == machines * 2), "machines x schedulers: {widths:?}");
    assert!(ephemeral > 0, "the machine's own disk is among the stacks");
}

#[test]
fn on_ec2_each_width_is_an_array_of_so_many_volumes() {
    // Linux names an EBS volume by its id, without the hyphen.
    check("ec2", 2, &|volume| {
        PathBuf::from(format!("/dev/disk/by-id/nvme-Amazon_Elastic_Block_Store_{volume}"))
    });
}

#[test]
fn on_gce_each_width_is_an_array_of_so_many_volumes() {
    check("gce", 2, &|volume| PathBuf::from(format!("/dev/disk/by-id/google-{volume}")));
}
