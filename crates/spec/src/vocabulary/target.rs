//! Keys of the machines that trials run on.

use super::ceiling::CEILING;
use super::lab_disk::LAB_DISK;
use super::prices::VOLUME_PRICE;
use super::shape::{Shape, Table, key, needed};

/// A machine that trials run on.
pub(crate) static TARGET: Table = Table {
    what: "a target",
    keys: &[
        key("ssh", Shape::Text, "host, user@host, or a name of ~/.ssh/config; sshd is all it needs"),
        key("guest", Shape::Text, "Name of a lab guest, started for the run (`diskproof lab`)"),
        key(
            "disks",
            Shape::MapOf(&Shape::Map(&LAB_DISK)),
            "Disks that the lab guest gets for the run; volumes name them: `vol: { disks: [NAME] }`",
        ),
        key(
            "address",
            Shape::Text,
            "Where other targets reach it by NFS: a name or an IPv4 address (default: the host of `ssh`)",
        ),
        key("local", Shape::Switch, "`local: true`: this machine, with a price or limits"),
        key(
            "price",
            Shape::Either(&[Shape::Text, Shape::Map(&VOLUME_PRICE)]),
            "What the machine costs: `0.10/hour`, or the name of an offer of `prices`",
        ),
        key("limits", Shape::Map(&CEILING), "Limits of the machine for all its volumes together"),
        key(
            "shares",
            Shape::ListOf(&Shape::Text),
            "Names of what it shares with other machines, e.g. [switch1]: machines with a name in common take turns",
        ),
        key(
            "hosted_by",
            Shape::Map(&HOSTED_BY),
            "It is a guest of libvirt on another machine: its disks are followed there, down to that machine's devices",
        ),
    ],
    instead: &[
        ("host", "write `ssh: user@host`"),
        ("lab", "write `guest: NAME`"),
        ("user", "write `ssh: user@host`"),
        ("with", "`with` needs a `driver`: it varies the settings of machines that are created"),
        ("port", "a port belongs into ~/.ssh/config"),
        (
            "volumes",
            "volumes stand at the top of the file, unless a driver creates the machine: `driver: NAME`",
        ),
    ],
};

/// The machine that runs a guest.
pub(crate) static HOSTED_BY: Table = Table {
    what: "`hosted_by`",
    keys: &[
        needed(
            "machine",
            Shape::Text,
            "A target of the experiment, `local`, or what `ssh` takes: host, user@host",
        ),
        needed("guest", Shape::Text, "The guest's name or UUID in libvirt there (`virsh list`)"),
    ],
    instead: &[
        ("host", "write `machine: NAME`"),
        ("domain", "write `guest: NAME`"),
        ("name", "write `guest: NAME`"),
    ],
};
