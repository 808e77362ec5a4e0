//! Encrypted devices: a LUKS2 header, and the mapping that dm-crypt makes with its key.

use super::device_ref::{DeviceRef, devno_of};
use super::doing::{Doing, Reversible, Undoing, Undone};
use super::retry::until_closed;
use super::wipe;
use crate::error::ActError;
use crate::machine::Machine;
use crate::{holders, names};
use host::{Invocation, Tool};
use record::printable::{Shown as _, printable};
use record::stack::Luks;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Bytes of a key; cryptsetup hashes them, so this need not be the size of the volume key.
const KEY_BYTES: usize = 64;
/// Fewest iterations that cryptsetup allows for PBKDF2. A slow derivation protects passwords that can be guessed; a random key can't be.
const ITERATIONS: &str = "1000";

/// What opens a header: random, for one build. It goes to cryptsetup's stdin only. It is never written, so an act that is read from a
/// journal has none.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Key(Vec<u8>);

impl Key {
    /// A new one.
    ///
    /// # Errors
    /// The kernel's random numbers can't be read.
    pub(crate) fn random(machine: &Machine<'_>) -> Result<Self, ActError> {
        let path = machine.roots.dev.join("urandom");
        let mut bytes = vec![0; KEY_BYTES];
        let read = File::open(&path).and_then(|mut source| source.read_exact(&mut bytes));
        read.map_err(ActError::io("read", &path))?;
        Ok(Self(bytes))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Writes a LUKS2 header under a UUID of our choice, by which it is known again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FormatLuks {
    /// On what.
    pub device: DeviceRef,
    /// Our UUID.
    pub uuid: String,
    /// Cipher and sizes.
    pub layer: Luks,
    /// What will open it.
    #[serde(skip)]
    pub key: Key,
}

/// Opens a device with our header. The undo closes the mapping of this name, if it is one of LUKS2 with our UUID and lies on the device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenLuks {
    /// Its name below `/dev/mapper`; carries our prefix and the run.
    pub name: String,
    /// On what.
    pub device: DeviceRef,
    /// The header's UUID.
    pub uuid: String,
    /// What must be in force.
    pub layer: Luks,
    /// What opens it.
    #[serde(skip)]
    pub key: Key,
}

impl fmt::Display for FormatLuks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "write a LUKS2 header on {}", self.device.path.shown())
    }
}

impl fmt::Display for OpenLuks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "open the encrypted device {} on {}", self.name, self.device.path.shown())
    }
}

impl Reversible for FormatLuks {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let Luks { cipher, key_bits, sector_bytes, .. } = &self.layer;
        let format = Invocation::new(Tool::Cryptsetup)
            .args(["luksFormat", "--type", "luks2", "--batch-mode", "--uuid", &self.uuid])
            .arg(format!("--cipher={cipher}"))
            .args(["--key-size", &key_bits.to_string(), "--sector-size", &sector_bytes.to_string()])
            .args(["--pbkdf", "pbkdf2", "--pbkdf-force-iterations", ITERATIONS, "--key-file", "-"])
            .arg(&self.device.path)
            .stdin(self.key.0.as_slice());
        doing.run("write the LUKS2 header", &format).map(|_| ())
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        wipe::wipe(undoing, [(&self.device, wipe::Written::Uuid(&self.uuid))])
    }
}

impl Reversible for OpenLuks {
    fn perform(&self, doing: &mut Doing<'_>) -> Result<(), ActError> {
        let flags = flags(&self.layer).map(|flag| format!("--perf-{flag}"));
        let open = Invocation::new(Tool::Cryptsetup)
            .args(["open", "--type", "luks2", "--key-file", "-"])
            .args(flags)
            .arg(&self.device.path)
            .arg(&self.name)
            .stdin(self.key.0.as_slice());
        doing.run("open the encrypted device", &open)?;
        let table = Invocation::new(Tool::Dmsetup).args(["table", &self.name]);
        let said = doing.machine.runner.run(&table).map_err(ActError::tool("ask what dm-crypt does"))?;
        let found = InForce::of(&said.stdout);
        let asked = InForce { layer: self.layer.clone(), discards: false };
        if found.as_ref() == Some(&asked) {
            return Ok(());
        }
        Err(ActError::Unverified {
            what: format!("encrypted device {}", self.name),
            expected: asked.to_string(),
            saw: found.map_or_else(|| "no table of dm-crypt".to_owned(), |found| found.to_string()),
        })
    }

    fn undo(&self, undoing: &Undoing<'_>) -> Result<Undone, ActError> {
        let device = self.device.ours(undoing).and_then(|path| devno_of(&path));
        self.close(undoing, device)
    }
}

impl OpenLuks {
    /// The mapping's node.
    pub(crate) fn node(&self, machine: &Machine<'_>) -> PathBuf {
        machine.roots.dev.join("mapper").join(&self.name)
    }

    /// Closes the mapping if it is ours, which lies on the device of this number and on nothing else.
    fn close(&self, undoing: &Undoing<'_>, device: Option<(u32, u32)>) -> Result<Undone, ActError> {
        let machine = undoing.machine;
        let refused =
            |saw: String| ActError::NotOurs { what: format!("encrypted device {}", self.name), saw };
        if !names::is_of_run(machine, undoing.run, &self.name) {
            return Err(refused("it doesn't have one of diskproof's names".to_owned()));
        }
        let Some(mapped) = Mapped::named(&machine.roots.sys, &self.name) else {
            return self.remove_node(machine);
        };
        if !mapped.uuid.starts_with(&format!("CRYPT-LUKS2-{}-", self.uuid.replace('-', ""))) {
            return Err(refused(format!("its UUID is {:?}", printable(&mapped.uuid))));
        }
        if let Some(other) = mapped.below.iter().find(|(_, number)| number.is_none() || *number != device) {
            return Err(refused(format!("it lies on {}", other.0)));
        }
        until_closed(&machine.roots.dev.join(&mapped.kernel), || self.remove(machine))?;
        self.remove_node(machine)?;
        Ok(Undone::Done)
    }

    fn remove(&self, machine: &Machine<'_>) -> Result<(), ActError> {
        let Some(mapped) = Mapped::named(&machine.roots.sys, &self.name) else { return Ok(()) };
        let remove = if mapped.is_live {
            Invocation::new(Tool::Cryptsetup).args(["close", &self.name])
        } else {
            // a cryptsetup that was killed left it without a table, and cryptsetup closes only what has one
            Invocation::new(Tool::Dmsetup).args(["remove", "--noudevsync", "--noudevrules", &self.name])
        };
        let Err(failure) = machine.runner.run(&remove) else { return Ok(()) };
        let (proc, node) = (&machine.roots.proc, self.node(machine));
        let mut holders = holders::of(proc, &node);
        holders.extend(holders::of(proc, &machine.roots.dev.join(&mapped.kernel)));
        if holders.is_empty() {
            return Err(ActError::tool(format!("close the encrypted device {}", self.name))(failure));
        }
        Err(ActError::Busy { what: node.shown().to_string(), holders })
    }

    /// The node of a mapping that is gone, which a killed program leaves where no udev takes care of it.
    fn remove_node(&self, machine: &Machine<'_>) -> Result<Undone, ActError> {
        let node = self.node(machine);
        match std::fs::remove_file(&node) {
            Ok(()) => Ok(Undone::Done),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Undone::Nothing),
            Err(error) => Err(ActError::io("remove", &node)(error)),
        }
    }
}

/// The names of the flags that are set, as both cryptsetup and dm-crypt spell them.
fn flags(layer: &Luks) -> impl Iterator<Item = &'static str> {
    let all =
        [(layer.no_read_workqueue, "no_read_workqueue"), (layer.no_write_workqueue, "no_write_workqueue")];
    all.into_iter().filter_map(|(set, name)| set.then_some(name))
}

/// What a mapping does, by the kernel's word.
#[derive(Debug, Clone, PartialEq, Eq)]
struct InForce {
    layer: Luks,
    /// Whether TRIM is passed.
    discards: bool,
}

impl InForce {
    /// Reads a table (Documentation/admin-guide/device-mapper/dm-crypt.rst): begin, length, `crypt`, cipher, key, offset of the initial
    /// values, device, begin on it, number of options, options. The key itself is hidden; its length isn't.
    fn of(table: &str) -> Option<Self> {
        let mut lines = table.lines();
        let mut words = lines.next()?.split_whitespace();
        if lines.next().is_some() || words.nth(2)? != "crypt" {
            return None;
        }
        let cipher = words.next()?.to_owned();
        let key_bits = key_bits(words.next()?)?;
        let options: Vec<&str> = words.skip(4).collect();
        let has = |name: &str| options.contains(&name);
        let sector = options.iter().find_map(|option| option.strip_prefix("sector_size:"));
        let layer = Luks {
            cipher,
            key_bits,
            sector_bytes: sector.map_or(Some(512), |bytes| bytes.parse().ok())?,
            no_read_workqueue: has("no_read_workqueue"),
            no_write_workqueue: has("no_write_workqueue"),
        };
        Some(Self { layer, discards: has("allow_discards") })
    }
}

/// In the kernel's keyring it is `:bytes:type:description`, else hexadecimal digits.
fn key_bits(key: &str) -> Option<u32> {
    match key.strip_prefix(':') {
        Some(kept) => kept.split(':').next()?.parse::<u32>().ok()?.checked_mul(8),
        None => u32::try_from(key.len()).ok()?.checked_mul(4),
    }
}

impl fmt::Display for InForce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Luks { cipher, key_bits, sector_bytes, .. } = &self.layer;
        let cipher = printable(cipher);
        write!(f, "{cipher} with a key of {key_bits} bits in sectors of {sector_bytes} bytes")?;
        let discards = self.discards.then_some("allow_discards");
        flags(&self.layer).chain(discards).try_for_each(|flag| write!(f, ", {flag}"))
    }
}

/// A mapping, as sysfs shows it.
struct Mapped {
    /// The kernel's name, e.g. `dm-3`.
    kernel: String,
    /// Device-mapper's UUID.
    uuid: String,
    /// What it lies on: names and numbers, as far as the kernel knows these.
    below: Vec<(String, Option<(u32, u32)>)>,
    /// Whether it has a table in force.
    is_live: bool,
}

impl Mapped {
    fn named(sys: &Path, name: &str) -> Option<Self> {
        let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default().trim_end().to_owned();
        let entries = std::fs::read_dir(sys.join("block")).ok()?;
        let dir =
            entries.flatten().map(|entry| entry.path()).find(|dir| read(dir.join("dm/name")) == name)?;
        let below = std::fs::read_dir(dir.join("slaves")).into_iter().flatten().flatten();
        let below = below.map(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            // partitions lie in the directories of their disks
            let number = read(sys.join("class/block").join(&name).join("dev"));
            let number = number.split_once(':').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
            (name, number)
        });
        Some(Self {
            kernel: dir.file_name()?.to_string_lossy().into_owned(),
            uuid: read(dir.join("dm/uuid")),
            below: below.collect(),
            // without one it has no size
            is_live: read(dir.join("size")) != "0",
        })
    }
}

#[cfg(test)]
mod tests;
