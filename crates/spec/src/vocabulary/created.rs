//! Keys of machines that a driver creates. All other keys are the driver's own settings.

use super::ceiling::CEILING;
use super::prices::VOLUME_PRICE;
use super::shape::{Shape, Table, key, needed};

/// A machine that a driver creates for the run.
pub(crate) static CREATED: Table = Table {
    what: "a target that a driver creates",
    keys: &[
        needed(
            "driver",
            Shape::Text,
            "Name of the driver that creates it (`diskproof driver list`); its settings stand beside this key",
        ),
        key("with", Shape::MapOf(&Shape::Levels), "Factors and their levels: one machine per combination"),
        key(
            "volumes",
            Shape::MapOf(&Shape::Map(&CREATED_VOLUME)),
            "Volumes that are created with it; stacks name them as volumes of the file",
        ),
        key(
            "address",
            Shape::Text,
            "Where other targets reach it by NFS: a name or an IPv4 address (default: the driver's)",
        ),
        key(
            "price",
            Shape::Either(&[Shape::Text, Shape::Map(&VOLUME_PRICE)]),
            "What the machine costs, in place of what the driver says",
        ),
        key(
            "limits",
            Shape::Map(&CEILING),
            "Limits of the machine for all its volumes together, in place of what the driver says",
        ),
        key("shares", Shape::ListOf(&Shape::Text), "Names of what it shares with other machines"),
    ],
    instead: &[],
};

/// Volumes that a driver creates with a machine.
pub(crate) static CREATED_VOLUME: Table = Table {
    what: "a volume that a driver creates",
    keys: &[
        key(
            "size",
            Shape::Size,
            "Size of each; left out where the machine brings it along. The driver's settings stand beside this key",
        ),
        key("count", Shape::Integer, "How many: `vol[0]` and so on"),
        key(
            "shuffle",
            Shape::Switch,
            "1: draw anew in each round which of them is vol[0], which is vol[1], ...",
        ),
    ],
    instead: &[],
};
