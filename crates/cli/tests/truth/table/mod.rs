//! The scenarios. Nothing here depends on how they are run.

mod clean;
mod limit;
mod outage;
mod partner;
mod rounds;
mod source;
mod stacked;

use super::place::{Kind, Place};
use super::session::Session;

/// One trial of each scenario.
pub(crate) fn once() -> Session {
    Session {
        name: "once",
        volumes: VOLUMES,
        stacks: STACKS,
        places: vec![
            Place { name: "tmpfs", kind: Kind::Tmpfs, mib: 0 },
            Place { name: "zram", kind: Kind::Zram, mib: 400 },
            Place { name: "loop-on-tmpfs", kind: Kind::LoopOnTmpfs, mib: 400 },
            Place { name: "buffered-loop", kind: Kind::BufferedLoop, mib: 400 },
            Place { name: "held", kind: Kind::LoopOnExt4, mib: 400 },
            Place { name: "small", kind: Kind::DirectLoop, mib: 480 },
            Place { name: "overlay-on-tmpfs", kind: Kind::OverlayOnTmpfs, mib: 0 },
            Place { name: "overlay-on-ext4", kind: Kind::OverlayOnLoop, mib: 400 },
            Place { name: "bound-tmpfs", kind: Kind::BoundTmpfs, mib: 0 },
            Place { name: "fuse", kind: Kind::Bindfs, mib: 0 },
            Place { name: "link", kind: Kind::Sshfs { mbps: 10 }, mib: 0 },
        ],
        measure: "trial: 1s, ramp: 250ms, rounds: 1, sample_hz: 50",
        expect: "",
        scenarios: [
            clean::scenarios(),
            source::scenarios(),
            stacked::scenarios(),
            limit::scenarios(),
            partner::scenarios(),
            outage::scenarios(),
        ]
        .concat(),
        pairs: Vec::new(),
    }
}

/// Scenarios over several rounds.
pub(crate) fn rounds() -> Session {
    rounds::session()
}

const VOLUMES: &str = "  \
  vol: { count: 2, emulate: { size: 320m, iops: 300 } }
  band: { emulate: { size: 32m, read_bps: 8m, write_bps: 4m } }
  step: { emulate: { size: 32m, iops: 500 } }
  free: { emulate: { size: 320m } }
";

const STACKS: &str = "  \
  raw: { on: \"vol[0]\" }
  ext4: { on: \"vol[0]\", layers: [ext4] }
  xfs: { on: \"vol[0]\", layers: [xfs] }
  btrfs: { layers: [ { btrfs: { on: \"vol[0]\" } } ] }
  btrfs-zstd: { layers: [ { btrfs: { on: \"vol[0]\", compress: zstd } } ] }
  raid0: { layers: [ { btrfs: { data: raid0, on: \"vol[..2]\" } } ] }
  raid1: { layers: [ { btrfs: { data: raid1, on: \"vol[..2]\" } } ] }
  band: { on: band }
  step: { on: step }
  free: { on: free }
  free-ext4: { on: free, layers: [ext4] }
  free-data-journal: { on: free, layers: [ { ext4: { mount_options: data=journal } } ] }
  journal-limit: { on: \"vol[1]\", layers: [ { ext4: { mount_options: data=journal } } ] }
  free-xfs: { on: free, layers: [xfs] }
  free-btrfs: { layers: [ { btrfs: { on: free } } ] }
  free-zstd: { layers: [ { btrfs: { on: free, compress_force: zstd } } ] }
  free-zlib: { layers: [ { btrfs: { on: free, compress_force: \"zlib:9\", mount_options: thread_pool=1 } } ] }
";
