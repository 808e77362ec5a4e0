//! Keys of the `nfs` layer.

use super::{Shape, Table, key};

/// An export and its mount on the same machine.
pub(crate) static NFS: Table = Table {
    what: "`nfs`",
    keys: &[
        key("on", Shape::Texts, "The lent directory; only in the first layer"),
        key("version", Shape::Text, "3, 4, 4.0, 4.1 or 4.2; client and server agree upon one if not said"),
        key("export", Shape::Texts, "Options of the export, as exports(5) has them: async, no_wdelay..."),
        key("rsize", Shape::Size, "Most bytes of one READ, a power of two from 1k to 1m"),
        key("wsize", Shape::Size, "Most bytes of one WRITE, a power of two from 1k to 1m"),
        key("mount_options", Shape::Texts, "Mount options, as nfs(5) has them: nconnect=4, noac..."),
    ],
    instead: &[
        ("vers", "write `version`"),
        ("nfsvers", "write `version`"),
        ("sync", "write `export: sync` (the default)"),
        ("async", "write `export: async`"),
        ("exports", "write `export`"),
        ("export_options", "write `export`"),
        ("options", "write `export` for the server's options, `mount_options` for the client's"),
        ("server", "server and client are the same machine; two machines are not supported yet"),
        ("target", "server and client are the same machine; two machines are not supported yet"),
        ("client", "server and client are the same machine; two machines are not supported yet"),
        ("threads", "the server has as many threads as /etc/nfs.conf says"),
    ],
};
