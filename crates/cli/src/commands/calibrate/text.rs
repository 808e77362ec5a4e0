//! The text of a calibration's experiment.

use crate::args::{Calibrate, Load};
use crate::commands::quick;
use crate::exit::Failure;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Data per trial on an emulated volume: much more than a trial reads at the volume's limit.
const EMULATED_SIZE: &str = "128m";
/// Data per trial on a claimed disk.
const DISK_SIZE: &str = "1g";
/// Load before the measured time, in which throttles and queues settle.
const RAMP: &str = "1s";
const BY_ID: &str = "/dev/disk/by-id/";

/// The text of an experiment, and its parameters.
pub(super) struct Made {
    pub(super) text: String,
    pub(super) set: BTreeMap<String, String>,
}

/// The volume that both engines measure.
#[derive(Debug, PartialEq, Eq)]
enum Volume {
    /// An emulated volume that the run makes.
    Emulated {
        iops: u64,
    },
    Directory(PathBuf),
    /// A claimed disk, by its name in /dev/disk/by-id.
    Disk(String),
}

/// The experiment for these arguments.
///
/// # Errors
/// The volume doesn't exist, or no file can be created in the directory.
pub(super) fn experiment(args: &Calibrate) -> Result<Made, Failure> {
    let volume = volume(args.volume.as_deref(), args.iops)?;
    let (direct, size) = match &volume {
        Volume::Emulated { .. } => (true, EMULATED_SIZE.to_owned()),
        Volume::Disk(_) => (true, DISK_SIZE.to_owned()),
        Volume::Directory(dir) => (quick::takes_direct(dir)?, directory_size(dir, args.size.is_some())?),
    };
    let loads = if args.workload.is_empty() { &Load::ALL[..] } else { &args.workload };
    let text = text(&volume, loads, direct);
    let mut set = BTreeMap::from([
        ("size".to_owned(), args.size.clone().unwrap_or(size)),
        ("trial".to_owned(), format!("{}s", args.seconds)),
        ("rounds".to_owned(), args.rounds.to_string()),
    ]);
    match volume {
        Volume::Emulated { iops } => set.insert("iops".to_owned(), iops.to_string()),
        Volume::Directory(dir) => set.insert("dir".to_owned(), dir.to_string_lossy().into_owned()),
        Volume::Disk(id) => set.insert("disk".to_owned(), id),
    };
    Ok(Made { text, set })
}

/// Takes the argument for an existing directory, else for the name of a disk.
fn volume(given: Option<&str>, iops: u64) -> Result<Volume, Failure> {
    let Some(given) = given else { return Ok(Volume::Emulated { iops }) };
    let path = Path::new(given);
    if let Some(id) = given.strip_prefix(BY_ID).filter(|id| !id.contains('/')) {
        return Ok(Volume::Disk(id.to_owned()));
    }
    if path.is_dir() {
        let dir = path.canonicalize().map_err(|e| Failure::input(format!("{given}: {e}")))?;
        return Ok(Volume::Directory(dir));
    }
    if Path::new(BY_ID).join(given).exists() {
        return Ok(Volume::Disk(given.to_owned()));
    }
    Err(Failure::input(format!(
        "{given} is neither a directory nor the name of a disk in /dev/disk/by-id; `diskproof devices` lists all disks"
    )))
}

fn directory_size(dir: &Path, given: bool) -> Result<String, Failure> {
    if given {
        return Ok(String::new());
    }
    Ok(quick::size_for(quick::free_bytes(dir)?)?.to_string())
}

fn text(volume: &Volume, loads: &[Load], direct: bool) -> String {
    let (parameter, volumes) = match volume {
        Volume::Emulated { .. } => (
            "iops: { type: int, help: \"limit of the emulated volume, per direction\" }",
            "emulate: { size: size, iops: iops }",
        ),
        Volume::Directory(_) => ("dir: { help: \"an existing directory\" }", "directory: \"{dir}\""),
        Volume::Disk(_) => ("disk: { help: \"a claimed disk\" }", "disks: [\"{disk}\"]"),
    };
    let mut text = format!(
        "# What `diskproof calibrate` runs: the same workloads by both engines, on the same storage.\n\
         experiment: calibrate\n\
         question: Does the native engine say what fio says?\n\n\
         parameters:\n  {parameter}\n  size: {{ type: size, help: \"bytes of data per trial\" }}\n  \
         trial: {{ type: duration, help: \"measured time per trial\" }}\n  \
         rounds: {{ type: int, help: \"how often each is measured\" }}\n\n\
         volumes:\n  ground: {{ {volumes} }}\n\nstacks:\n  raw: {{ on: ground }}\n\nworkloads:\n"
    );
    let direct = u8::from(direct);
    let mut seen = Vec::new();
    for load in loads {
        if seen.contains(load) {
            continue;
        }
        seen.push(*load);
        let (name, asks) = asks(*load);
        let _ = writeln!(
            text,
            "  \"{name}-{{engine}}\":\n    {{ with: {{ engine: [native, fio] }}, engine: engine, ioengine: io_uring, {asks}, \
             size: size, direct: {direct} }}"
        );
    }
    let _ = write!(text, "\nmeasure: {{ trial: trial, ramp: {RAMP}, rounds: rounds }}\n");
    text
}

/// A workload's name and its options, by fio's names.
fn asks(load: Load) -> (&'static str, &'static str) {
    match load {
        Load::RandreadD1 => ("randread-4k-d1", "rw: randread, bs: 4k, iodepth: 1"),
        Load::Randread => ("randread-4k-d16", "rw: randread, bs: 4k, iodepth: 16"),
        Load::Randwrite => ("randwrite-4k-d16", "rw: randwrite, bs: 4k, iodepth: 16"),
        Load::Read => ("read-128k-d4", "rw: read, bs: 128k, iodepth: 4"),
        Load::Mix => ("mix70-4k-d16", "rw: randrw, rwmixread: 70, bs: 4k, iodepth: 16"),
    }
}

#[cfg(test)]
mod tests {
    use super::{Volume, text, volume};
    use crate::args::Load;
    use record::plan::Plan;
    use record::workload::{Ask, EngineKind};
    use std::collections::BTreeMap;
    use std::path::{Path, PathBuf};

    fn plan(ground: &Volume, loads: &[Load], direct: bool) -> Plan {
        let all = [
            ("size", "128m"),
            ("trial", "5s"),
            ("rounds", "5"),
            ("iops", "500"),
            ("dir", "/srv/a b"),
            ("disk", "nvme-x"),
        ];
        let text = text(ground, loads, direct);
        let set: BTreeMap<String, String> = all
            .iter()
            .filter(|(name, _)| text.contains(&format!("\n  {name}: {{")))
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        match spec::parse(&text, "calibrate.yaml", Path::new("/"), &set) {
            Ok(loaded) => loaded.plan,
            Err(error) => panic!("{error}\n{text}"),
        }
    }

    #[test]
    fn every_ground_makes_a_plan_of_pairs_that_differ_in_nothing_but_the_engine() {
        let grounds = [
            Volume::Emulated { iops: 500 },
            Volume::Directory(PathBuf::from("/srv/a b")),
            Volume::Disk("nvme-x".to_owned()),
        ];
        for ground in grounds {
            let plan = plan(&ground, &Load::ALL, true);
            assert_eq!((plan.cells.len(), plan.measure.rounds), (10, 5), "{ground:?}");
            assert!(verdict::is_calibration(&plan));
            for pair in plan.cells.chunks(2) {
                let engines = [pair[0].workload.engine, pair[1].workload.engine];
                assert_eq!(engines, [EngineKind::Native, EngineKind::Fio]);
                assert_eq!(pair[0].workload.ask, pair[1].workload.ask);
                let Ask::Options(options) = &pair[0].workload.ask else { panic!("no options") };
                assert_eq!((options.ioengine.as_str(), options.direct), ("io_uring", true));
            }
            assert_eq!(spec::forecast(&plan).needs_root, !matches!(ground, Volume::Directory(_)));
        }
    }

    #[test]
    fn workloads_can_be_chosen_and_count_once() {
        let ground = Volume::Directory(PathBuf::from("/srv"));
        let plan = plan(&ground, &[Load::Mix, Load::Mix, Load::Randread], false);
        let names: Vec<&str> = plan.cells.iter().map(|c| c.workload.name.as_str()).collect();
        assert_eq!(
            names,
            ["mix70-4k-d16-native", "mix70-4k-d16-fio", "randread-4k-d16-native", "randread-4k-d16-fio"]
        );
        let Ask::Options(options) = &plan.cells[0].workload.ask else { panic!("no options") };
        assert!(!options.direct);
    }

    #[test]
    fn a_volume_is_a_directory_or_the_name_of_a_disk_or_made() {
        assert_eq!(volume(None, 80).unwrap(), Volume::Emulated { iops: 80 });
        let dir = tempfile::tempdir().unwrap();
        let given = dir.path().to_str().unwrap();
        assert_eq!(volume(Some(given), 80).unwrap(), Volume::Directory(dir.path().canonicalize().unwrap()));
        let by_path = volume(Some("/dev/disk/by-id/nvme-nobody"), 80).unwrap();
        assert_eq!(by_path, Volume::Disk("nvme-nobody".to_owned()), "the guard says whether it is there");
        for wrong in ["nvme-nobody", "/no/such/place", "/dev/sda"] {
            let refused = volume(Some(wrong), 80).unwrap_err();
            assert_eq!(refused.exit.code(), 2);
            assert!(refused.to_string().contains("diskproof devices"), "{refused}");
        }
    }
}
