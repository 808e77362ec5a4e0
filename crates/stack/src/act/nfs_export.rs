//! Exports one of our directories, to this machine or to one other. Changes only the kernel server's export table
//! (/var/lib/nfs/etab, by exportfs), never /etc/exports.

use super::doing::{Doing, Reversible, Undoing, Undone};
use super::{nfs_clients, nfs_threads};
use crate::error::ActError;
use crate::machine::Machine;
use crate::names;
use host::{Invocation, Tool};
use record::printable::Shown as _;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The address of the client, and of the server, when an export is mounted on the same machine.
pub(crate) const LOOPBACK: &str = "127.0.0.1";

/// The kernel server's caches of exports, which can be flushed.
const KNOWN: [&str; 2] = ["nfsd.export", "nfsd.fh"];
/// The longest wait until the server accepts a flush.
const LISTENS_WITHIN: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(50);

/// Exports a directory. The `fsid` among its options identifies the export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportNfs {
    /// The directory; its name carries our prefix.
    pub path: PathBuf,
    /// The export's unique `fsid`.
    pub fsid: String,
    /// All options, including the `fsid`.
    pub options: Vec<String>,
    /// The export table: /var/lib/nfs/etab.
    pub table: PathBuf,
    /// The address of its only client.
    #[serde(default = "loopback", skip_serializing_if = "is_loopback")]
    pub client: String,
}

pub(super) fn loopback() -> String {
    LOOPBACK.to_owned()
}

pub(super) fn is_loopback(address: &str) -> bool {
    address == LOOPBACK
}

impl fmt::Display for ExportNfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "export {} by NFS to {}", self.path.shown(), self.client)
    }
}

impl Reversible for ExportNfs {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        if let Some(export) = self.found()? {
            return Err(ActError::NotOurs {
                what: self.path.shown().to_string(),
                saw: format!("it is exported already ({})", export.options),
            });
        }
        let export =
            Invocation::new(Tool::Exportfs).arg("-o").arg(self.options.join(",")).arg(self.address());
        doing.run("export the directory", &export)?;
        match self.found()? {
            Some(export) if self.is_it(&export) => Ok(()),
            other => Err(ActError::Unverified {
                what: format!("export of {}", self.path.shown()),
                expected: format!("fsid={}", self.fsid),
                saw: other.map_or("none".to_owned(), |export| export.options),
            }),
        }
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        if !names::carries_prefix(undoing.machine, &self.path) {
            return Err(self.not_ours("it doesn't have one of diskproof's names".to_owned()));
        }
        if self.table != table() {
            return Err(self.not_ours(format!("{} is not the table of exports", self.table.shown())));
        }
        if self.client.parse::<Ipv4Addr>().is_err() {
            return Err(self.not_ours(format!("its client {:?} is not an address", self.client)));
        }
        // The table survives a reboot.
        match self.found()? {
            None => return Ok(Undone::Nothing),
            Some(export) if !self.is_it(&export) => return Err(self.not_ours(export.options)),
            Some(_) => {}
        }
        until_it_listens(undoing.machine);
        let unexport = Invocation::new(Tool::Exportfs).arg("-u").arg(self.address());
        let doing = format!("take back the export of {}", self.path.shown());
        undoing.machine.runner.run(&unexport).map_err(ActError::tool(doing))?;
        match self.found()? {
            None => {
                nfs_clients::dismiss(&undoing.machine.roots.proc, &self.path);
                Ok(Undone::Done)
            }
            Some(export) => Err(ActError::Unverified {
                what: format!("export of {}", self.path.shown()),
                expected: "none".to_owned(),
                saw: export.options,
            }),
        }
    }
}

impl ExportNfs {
    fn address(&self) -> String {
        format!("{}:{}", self.client, self.path.to_string_lossy())
    }

    /// The line of this export in the table.
    fn found(&self) -> Result<Option<Exported>, ActError> {
        let all = exports(&self.table)?;
        Ok(all.into_iter().find(|export| export.path == self.path && export.client == self.client))
    }

    fn is_it(&self, export: &Exported) -> bool {
        let fsid = format!("fsid={}", self.fsid);
        export.options.split(',').any(|option| option == fsid)
    }

    fn not_ours(&self, saw: String) -> ActError {
        ActError::NotOurs { what: format!("export of {}", self.path.shown()), saw }
    }
}

/// Waits until the kernel's server, if it runs, would accept a flush of its export caches: exportfs flushes them when it removes
/// an export.
fn until_it_listens(machine: &Machine<'_>) {
    let begun = Instant::now();
    let proc = &machine.roots.proc;
    while nfs_threads::threads(proc) > 0 && !listens(proc) && begun.elapsed() < LISTENS_WITHIN {
        std::thread::sleep(PAUSE);
    }
}

/// Makes the kernel's server, if it runs and accepts a flush, forget its cached exports; it asks for them again when needed. An
/// entry that a busy mountd adds late would keep a file system busy for half an hour.
pub(super) fn forget(machine: &Machine<'_>) {
    let proc = &machine.roots.proc;
    if nfs_threads::threads(proc) > 0 && listens(proc) {
        // If this fails, the following unmount reports that the file system is busy.
        let _ = machine.runner.run(&Invocation::new(Tool::Exportfs).arg("-f"));
    }
}

/// Whether the server accepts a flush now. It records the time of the last flush in whole seconds. A second flush within that
/// second only moves the time into the future, and nothing is removed until then, so repeated flushes never take effect.
fn listens(proc: &Path) -> bool {
    told_last(proc) < SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// The time of the last flush, in seconds since 1970; may be in the future.
fn told_last(proc: &Path) -> u64 {
    let of = |known: &str| {
        let text = std::fs::read_to_string(proc.join("net/rpc").join(known).join("flush")).ok()?;
        text.trim().parse().ok()
    };
    KNOWN.into_iter().filter_map(of).max().unwrap_or(0)
}

/// One line of the export table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Exported {
    pub(crate) path: PathBuf,
    pub(crate) client: String,
    pub(crate) options: String,
}

/// All exports; none when the table doesn't exist.
pub(crate) fn exports(table: &Path) -> Result<Vec<Exported>, ActError> {
    match std::fs::read_to_string(table) {
        Ok(text) => Ok(text.lines().filter_map(line).collect()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(ActError::io("read", table)(error)),
    }
}

/// The path of the kernel server's export table.
pub(crate) fn table() -> PathBuf {
    PathBuf::from("/var/lib/nfs/etab")
}

/// Whether diskproof made this export, in this run or another.
pub(crate) fn is_of_ours(machine: &Machine<'_>, export: &Exported) -> bool {
    names::carries_prefix(machine, &export.path)
}

/// Parses `/path<tab>client(options)`. Special characters of a path are in octal, so such a path isn't one of ours.
fn line(text: &str) -> Option<Exported> {
    let (path, rest) = text.split_once('\t')?;
    let (client, options) = rest.trim_end().strip_suffix(')')?.split_once('(')?;
    Some(Exported { path: PathBuf::from(path), client: client.to_owned(), options: options.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::{Exported, exports, told_last};
    use std::path::PathBuf;

    #[test]
    fn the_later_of_two_seconds_counts_and_without_a_server_there_is_none() {
        let proc = tempfile::tempdir().unwrap();
        assert_eq!(told_last(proc.path()), 0);
        for (known, text) in [("nfsd.export", "1795438766\n"), ("nfsd.fh", "1795438769\n")] {
            let dir = proc.path().join("net/rpc").join(known);
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("flush"), text).unwrap();
        }
        assert_eq!(told_last(proc.path()), 1_795_438_769);
    }

    #[test]
    fn the_table_is_read_line_by_line() {
        let dir = tempfile::tempdir().unwrap();
        let table = dir.path().join("etab");
        assert_eq!(exports(&table).unwrap(), [], "no table, no exports");
        let text = "/srv/a\\040b\t*(ro,sync,fsid=0)\n\
                    /var/lib/diskproof/mnt/diskproof-r-4\t127.0.0.1(rw,sync,fsid=1-2,sec=sys)\nnonsense\n";
        std::fs::write(&table, text).unwrap();
        let of = |path: &str, client: &str, options: &str| Exported {
            path: PathBuf::from(path),
            client: client.to_owned(),
            options: options.to_owned(),
        };
        assert_eq!(
            exports(&table).unwrap(),
            [
                of("/srv/a\\040b", "*", "ro,sync,fsid=0"),
                of("/var/lib/diskproof/mnt/diskproof-r-4", "127.0.0.1", "rw,sync,fsid=1-2,sec=sys"),
            ]
        );
    }
}
