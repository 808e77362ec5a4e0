//! The list of machines, a file of its own.

use super::shape::{Shape, Table, key, needed};

/// A list of machines.
pub(crate) static MACHINES: Table = Table {
    what: "a list of machines",
    keys: &[
        needed(
            "machines",
            Shape::MapOf(&Shape::Map(&MACHINE)),
            "Machines by their names; `web[01:20]` stands for 20",
        ),
        key("currency", Shape::Text, "Name of the money of all prices, e.g. EUR"),
    ],
    instead: &[
        ("hosts", "write the machines below `machines:`"),
        ("targets", "write the machines below `machines:`; `targets` belongs to an experiment"),
    ],
};

/// One machine.
pub(crate) static MACHINE: Table = Table {
    what: "a machine",
    keys: &[
        key(
            "ssh",
            Shape::Text,
            "What `ssh` takes: host, user@host, or a name of ~/.ssh/config; default: its name",
        ),
        key("mac", Shape::Text, "Hardware address of the network card that wakes it, e.g. 52:54:00:12:34:56"),
        key("groups", Shape::Texts, "Groups that it is in; `@GROUP` selects them"),
        key("tags", Shape::Texts, "Tags; `tag:TAG` selects them"),
        key("address", Shape::Text, "Network address for other machines; default: the host of `ssh`"),
        key("price", Shape::Text, "Money per time, e.g. 120/month"),
    ],
    instead: &[
        ("host", "write `ssh: user@host`"),
        ("user", "write `ssh: user@host`"),
        ("port", "a port belongs into ~/.ssh/config"),
        ("identity_file", "a key belongs into ~/.ssh/config"),
        ("group", "write `groups: [NAME]`"),
    ],
};
