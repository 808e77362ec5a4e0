//! A thin pool of LVM that is up: whether it is as asked for, and what it has allocated.

use crate::error::ActError;
use crate::layer::lvm::{POOL, mapper_name};
use crate::machine::Machine;
use host::{Invocation, Tool};
use record::lvm::{Discards, Thin, ThinState};
use record::quantity::Bytes;

/// The size of the kernel's sectors, whatever the device's own size is.
const SECTOR_BYTES: u64 = 512;
/// The size of a block of a pool's metadata.
const METADATA_BLOCK: u64 = 4096;

/// A thin pool of ours, as the kernel has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ThinPool {
    /// Its device-mapper name once it has a volume.
    name: String,
    /// Its size in bytes.
    bytes: u64,
    chunk_bytes: u64,
    metadata_bytes: u64,
    zero: bool,
    discards: Discards,
}

impl ThinPool {
    /// Looks at the pool that was just made.
    ///
    /// # Errors
    /// When dmsetup fails, or the pool isn't as it was asked for.
    pub(crate) fn made(machine: &Machine<'_>, group: &str, asked: &Thin) -> Result<Self, ActError> {
        let new = mapper_name(group, POOL);
        let name = format!("{new}-tpool");
        // A pool without volumes may have the plain name still.
        let (at, table) = match ask(machine, "table", &new)? {
            table if target(&table).is_some() => (&new, table),
            _ => (&name, ask(machine, "table", &name)?),
        };
        let status = ask(machine, "status", at)?;
        let unverified = |expected: String, saw: String| ActError::Unverified {
            what: format!("thin pool {name}"),
            expected,
            saw,
        };
        let pool = Self::read(&name, &table, &status).ok_or_else(|| {
            unverified(
                "a thin pool that works".to_owned(),
                format!("{} {}", table.trim_end(), status.trim_end()),
            )
        })?;
        let wanted = Self {
            chunk_bytes: asked.chunk_bytes.unwrap_or(pool.chunk_bytes),
            // LVM makes whole extents of it.
            metadata_bytes: asked
                .metadata_bytes
                .map_or(pool.metadata_bytes, |least| pool.metadata_bytes.max(least)),
            zero: asked.zero,
            discards: asked.discards,
            ..pool.clone()
        };
        if wanted == pool { Ok(pool) } else { Err(unverified(wanted.in_words(), pool.in_words())) }
    }

    /// Reads a pool's table and status (Documentation/admin-guide/device-mapper/thin-provisioning.rst):
    /// `0 57344 thin-pool 253:0 253:1 128 0 1 skip_block_zeroing` and
    /// `0 57344 thin-pool 1 10/1024 0/448 - rw discard_passdown queue_if_no_space - 1024`. The status tells what the devices
    /// below can do of discards, the table what was asked.
    fn read(name: &str, table: &str, status: &str) -> Option<Self> {
        let table = target(table)?;
        let [_, _, block, _, _, features @ ..] = table.as_slice() else { return None };
        let chunk_bytes = block.parse::<u64>().ok()?.checked_mul(SECTOR_BYTES)?;
        let state = state_of(status, chunk_bytes)?;
        let has = |feature| features.contains(&feature);
        let discards = match (has("ignore_discard"), has("no_discard_passdown")) {
            (true, _) => Discards::Ignore,
            (false, true) => Discards::Nopassdown,
            (false, false) => Discards::Passdown,
        };
        Some(Self {
            name: name.to_owned(),
            bytes: state.chunks.checked_mul(chunk_bytes)?,
            chunk_bytes,
            metadata_bytes: state.metadata_bytes,
            zero: !has("skip_block_zeroing"),
            discards,
        })
    }

    /// What it has allocated up to now; `None` where the status can't be read or parsed. dmsetup makes the kernel write its metadata
    /// first, so the numbers are current.
    pub(crate) fn state(&self, machine: &Machine<'_>) -> Option<ThinState> {
        state_of(&ask(machine, "status", &self.name).ok()?, self.chunk_bytes)
    }

    /// Its device-mapper name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    fn in_words(&self) -> String {
        format!(
            "chunks of {}, {}, {} of metadata, discards {}",
            Bytes(self.chunk_bytes),
            if self.zero { "filled with zeros" } else { "not filled with zeros" },
            Bytes(self.metadata_bytes),
            self.discards.name()
        )
    }

    /// Returns the size of the thin volume in bytes.
    ///
    /// # Errors
    /// When the volume could fill the pool or its metadata, in words: a full pool fails the load's writes.
    pub(crate) fn volume_bytes(&self, asked: &Thin) -> Result<u64, String> {
        let bytes = asked.virtual_bytes.unwrap_or(self.bytes);
        if bytes > self.bytes {
            return Err(format!(
                "a thin volume of {} could fill its pool of {}, and writes fail then; lower `virtual_size`",
                Bytes(bytes),
                Bytes(self.bytes)
            ));
        }
        let needed = Thin::metadata_needed(bytes, self.chunk_bytes);
        if self.metadata_bytes < needed {
            return Err(format!(
                "the pool's metadata of {} could get full, and writes fail then: {} in chunks of {} need {}",
                Bytes(self.metadata_bytes),
                Bytes(bytes),
                Bytes(self.chunk_bytes),
                Bytes(needed)
            ));
        }
        Ok(bytes)
    }
}

/// Checks that a volume is a thin one.
///
/// # Errors
/// When dmsetup fails, or the volume is something else.
pub(crate) fn verify_volume(machine: &Machine<'_>, name: &str) -> Result<(), ActError> {
    let table = ask(machine, "table", name)?;
    match table.split_whitespace().nth(2) {
        Some("thin") => Ok(()),
        target => Err(ActError::Unverified {
            what: format!("target of {name}"),
            expected: "thin".to_owned(),
            saw: target.unwrap_or("none").to_owned(),
        }),
    }
}

fn ask(machine: &Machine<'_>, what: &str, name: &str) -> Result<String, ActError> {
    let ask = Invocation::new(Tool::Dmsetup).args([what, name]);
    let said = machine.runner.run(&ask).map_err(ActError::tool(format!("look at {name}")))?;
    Ok(said.stdout)
}

/// The state in a pool's status.
fn state_of(status: &str, chunk_bytes: u64) -> Option<ThinState> {
    let words = target(status)?;
    let [_, metadata, data, ..] = words.as_slice() else { return None };
    let numbers = |used_of_all: &str| {
        let (used, all) = used_of_all.split_once('/')?;
        Some((used.parse::<u64>().ok()?, all.parse::<u64>().ok()?))
    };
    let ((used_blocks, blocks), (used_chunks, chunks)) = (numbers(metadata)?, numbers(data)?);
    Some(ThinState {
        chunk_bytes,
        chunks,
        used_chunks,
        metadata_bytes: blocks.checked_mul(METADATA_BLOCK)?,
        used_metadata_bytes: used_blocks.checked_mul(METADATA_BLOCK)?,
    })
}

/// The words of a pool's line after the name of its target.
fn target(line: &str) -> Option<Vec<&str>> {
    let mut words = line.split_whitespace();
    (words.nth(2)? == "thin-pool").then(|| words.collect())
}

#[cfg(test)]
mod tests;
