//! Volumes: the disk types that GCE has, and what may be asked of them.

use super::settings::Reader;
use super::table;
use crate::protocol::{Rates, VolumeRequest};

/// A disk type.
pub(super) struct DiskType {
    pub(super) name: &'static str,
    /// The least size in GiB that GCE makes.
    least_gib: u64,
    takes_iops: bool,
    takes_throughput: bool,
}

/// The type of the host's own SSDs, which have no resource of their own.
pub(super) const LOCAL: &str = "local-ssd";

/// Sizes and what is provisioned: cloud.google.com/compute/docs/disks.
const TYPES: [DiskType; 9] = [
    DiskType { name: "pd-standard", least_gib: 10, takes_iops: false, takes_throughput: false },
    DiskType { name: "pd-balanced", least_gib: 10, takes_iops: false, takes_throughput: false },
    DiskType { name: "pd-ssd", least_gib: 10, takes_iops: false, takes_throughput: false },
    DiskType { name: "pd-extreme", least_gib: 500, takes_iops: true, takes_throughput: false },
    DiskType { name: "hyperdisk-balanced", least_gib: 4, takes_iops: true, takes_throughput: true },
    DiskType { name: "hyperdisk-extreme", least_gib: 64, takes_iops: true, takes_throughput: false },
    DiskType { name: "hyperdisk-throughput", least_gib: 2048, takes_iops: false, takes_throughput: true },
    DiskType { name: "hyperdisk-ml", least_gib: 4, takes_iops: false, takes_throughput: true },
    DiskType { name: LOCAL, least_gib: 0, takes_iops: false, takes_throughput: false },
];

/// The size of one local SSD of most machine types.
pub(super) const LOCAL_BYTES: u64 = 375 << 30;
/// The largest size of a disk: 64 TiB.
const MOST_GIB: u64 = 64 << 10;

/// A volume that is asked for.
pub(super) struct Volume {
    pub(super) name: String,
    pub(super) kind: &'static DiskType,
    /// `None`: the type decides.
    pub(super) gib: Option<u64>,
    pub(super) iops: Option<u64>,
    /// In MiB/s.
    pub(super) throughput: Option<u64>,
}

impl Volume {
    /// Whether it is one of the host's own SSDs.
    pub(super) fn is_local(&self) -> bool {
        self.kind.name == LOCAL
    }

    /// What is promised: only rates that were provisioned, since the others depend on the machine and on its other disks.
    pub(super) fn rates(&self) -> Rates {
        Rates { iops: self.iops, bytes_per_second: self.throughput.map(|mib| mib << 20) }
    }
}

/// Reads a volume of a machine, and notes what is wrong with it.
pub(super) fn read<'a>(machine: &'a str, asked: &'a VolumeRequest) -> (Option<Volume>, Reader<'a>) {
    let mut reader = Reader::new(machine, Some(&asked.name), &asked.settings, &table::volume());
    if !super::name::is_usable(&asked.name) {
        reader.problem(
            None,
            "GCE can't use the volume's name",
            Some("it ends with a letter or a digit, e.g. gp-1".to_owned()),
        );
    }
    let Some(named) = reader.text("type") else { return (None, reader) };
    let Some(kind) = TYPES.iter().find(|kind| kind.name == named) else {
        let known: Vec<_> = TYPES.iter().map(|kind| kind.name).collect();
        reader.problem(
            Some("type"),
            "is no disk type that the driver knows",
            Some(format!("the types are {}", known.join(", "))),
        );
        return (None, reader);
    };
    let gib = asked.size_bytes.map(|bytes| bytes.div_ceil(1 << 30));
    let volume = Volume {
        name: asked.name.clone(),
        kind,
        gib,
        iops: reader.number("iops"),
        throughput: reader.number("throughput"),
    };
    check(&volume, &mut reader);
    (Some(volume), reader)
}

fn check(volume: &Volume, reader: &mut Reader<'_>) {
    let kind = volume.kind;
    match volume.gib {
        Some(_) if volume.is_local() => {
            reader.problem(None, "a local-ssd has no size of its own", Some("leave size out".to_owned()));
        }
        None if !volume.is_local() => {
            reader.problem(None, "the volume has no size", Some("e.g. size: 20g".to_owned()));
        }
        Some(gib) if gib < kind.least_gib || gib > MOST_GIB => {
            let help = format!("{} has between {} GiB and {MOST_GIB} GiB", kind.name, kind.least_gib);
            reader.problem(None, format!("GCE makes no {} of {gib} GiB", kind.name), Some(help));
        }
        _ => {}
    }
    for (key, value, takes) in
        [("iops", volume.iops, kind.takes_iops), ("throughput", volume.throughput, kind.takes_throughput)]
    {
        if value.is_some() && !takes {
            reader.problem(
                Some(key),
                format!("can't be set for {}", kind.name),
                Some("leave it out".to_owned()),
            );
        }
    }
}
