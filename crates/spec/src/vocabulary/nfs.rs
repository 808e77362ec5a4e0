//! Keys of the `nfs` layer.

use super::shape::{Shape, Table, key};

/// An export and its mount, on the same machine or on another target.
pub(crate) static NFS: Table = Table {
    what: "`nfs`",
    keys: &[
        key("on", Shape::Texts, "The existing directory; only in the first layer"),
        key("version", Shape::Text, "3, 4, 4.0, 4.1 or 4.2 (default: client and server agree upon one)"),
        key("export", Shape::Texts, "Options of the export, as exports(5) has them: async, no_wdelay..."),
        key("rsize", Shape::Size, "Most bytes of one READ, a power of two from 1k to 1m"),
        key("wsize", Shape::Size, "Most bytes of one WRITE, a power of two from 1k to 1m"),
        key("mount_options", Shape::Texts, "Mount options, as nfs(5) has them: nconnect=4, noac..."),
        key(
            "client",
            Shape::Text,
            "Another target, which mounts it and generates the load (default: the machines of the workload's `on`, else the same machine)",
        ),
    ],
    instead: &[
        ("vers", "write `version`"),
        ("nfsvers", "write `version`"),
        ("sync", "write `export: sync` (the default)"),
        ("async", "write `export: async`"),
        ("exports", "write `export`"),
        ("export_options", "write `export`"),
        ("options", "write `export` for the server's options, `mount_options` for the client's"),
        (
            "server",
            "the server is the target that has the stack's volumes; write `client` for one that mounts it elsewhere",
        ),
        (
            "target",
            "the server is the target that has the stack's volumes; write `client` for one that mounts it elsewhere",
        ),
        ("clients", "name them in the workload: `on: [a, b]`; each machine mounts the export"),
        ("host", "write `client: TARGET` for another machine that mounts it"),
        ("threads", "the server has as many threads as /etc/nfs.conf says"),
    ],
};
