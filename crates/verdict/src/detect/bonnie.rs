//! Claims about runs of Bonnie++.

use crate::detected::{Detected, evidence};
use crate::facts::Facts;
use crate::figures::bytes;
use crate::scene::Scene;
use crate::span::float;
use record::bonnie::BonnieAsk;
use record::finding::{Claim, Severity};
use record::stack::Layer;
use record::workload::Ask;

fn asked<'a>(scene: &Scene<'a>) -> Option<&'a BonnieAsk> {
    match &scene.facts.cell.workload.ask {
        Ask::Bonnie(ask) => Some(ask),
        _ => None,
    }
}

/// The stack compresses. Bonnie++'s data compresses 200 to 1000 times (docs/bonnie.md), so such a stack hardly writes anything.
pub(super) fn compressing_stack(scene: &Scene<'_>) -> Option<Detected> {
    let ask = asked(scene)?;
    if !compresses(scene.facts) || ask.size_bytes == 0 {
        return None;
    }
    Some(Detected {
        claim: Claim::Compressed,
        severity: Severity::Void,
        strength: 1.0,
        evidence: evidence([("data_bytes", Some(float(ask.size_bytes)))]),
        text: "The file system compresses, and the data that Bonnie++ writes compresses 200 to 1000 times: hardly any of it reaches the devices."
            .to_owned(),
        remedy: "Use a stack without compression (ZFS: `compression: off`) for Bonnie++, or a workload with data like yours: \
                 `engine: native` with buffer_compress_percentage, or `engine: corpus`."
            .to_owned(),
    })
}

/// Whether a layer compresses, or a mount option of the ground or of the exported file system says so.
fn compresses(facts: &Facts<'_>) -> bool {
    let topology = &facts.trial.topology;
    let exported = topology.exported.as_ref().and_then(|exported| exported.mount_options.as_deref());
    let mut options =
        topology.mount_options.as_deref().into_iter().chain(exported).flat_map(|o| o.split(','));
    let mounted = options.any(|option| {
        option.starts_with("compress") && !option.ends_with("=no") && !option.ends_with("=none")
    });
    mounted
        || facts.cell.stack.layers.iter().any(|layer| match layer {
            Layer::Btrfs(btrfs) => btrfs.compress.is_some(),
            Layer::Zfs(zfs) => match zfs.properties.get("compression") {
                Some(asked) => asked != "off",
                None => {
                    facts.trial.pool.as_ref().is_some_and(|pool| compresses_unasked(&pool.implementation))
                }
            },
            _ => false,
        })
}

/// Whether an implementation of ZFS compresses by default: OpenZFS 2.2 and later do; earlier ones and zfs-fuse don't.
fn compresses_unasked(implementation: &str) -> bool {
    let Some(version) = implementation.strip_prefix("OpenZFS ") else { return false };
    let mut parts = version.split('.').map(str::parse::<u32>);
    matches!((parts.next(), parts.next()), (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= (2, 2))
}

/// The data is less than twice the memory, so the page cache takes part.
pub(super) fn memory_rule(scene: &Scene<'_>) -> Option<Detected> {
    let ask = asked(scene)?;
    let memory = scene.facts.engine.bonnie.as_ref()?.memory_bytes?;
    let data = ask.size_bytes.saturating_mul(ask.concurrency.max(1).into());
    if data == 0 || data >= memory.saturating_mul(2) {
        return None;
    }
    let word = ask.ram_bytes.map_or_else(String::new, |ram| {
        if ram == 0 {
            return " The experiment lifts the rule (r: 0).".to_owned();
        }
        format!(
            " The experiment says that the machine has {} (r), but the kernel can use the rest as well.",
            bytes(float(ram))
        )
    });
    let direct = if ask.direct {
        " D: 1 bypasses the page cache for block output only: Bonnie++ opens its file again without direct I/O."
    } else {
        ""
    };
    Some(Detected {
        claim: Claim::SmallerThanMemory,
        severity: Severity::Caveat,
        strength: 1.0 - float(data) / (2.0 * float(memory)),
        evidence: evidence([("data_bytes", Some(float(data))), ("memory_bytes", Some(float(memory)))]),
        text: format!(
            "Bonnie++'s rule is twice the memory: {} of data are less than 2 x {}, so the page cache serves a part of its reads, \
             rewrites and seeks.{direct}{word}",
            bytes(float(data)),
            bytes(float(memory))
        ),
        remedy: format!(
            "Set s: {} or more; for less data, `engine: native` with direct: 1.",
            bytes(2.0 * float(memory))
        ),
    })
}

/// Tests that ended too quickly to be measured.
pub(super) fn too_fast(scene: &Scene<'_>) -> Option<Detected> {
    let ask = asked(scene)?;
    let names: Vec<&str> = scene.facts.engine.too_fast().collect();
    if names.is_empty() {
        return None;
    }
    let more = match (ask.size_bytes, ask.files) {
        (0, files) => format!("Set more files: n: {}.", (files / 1024).max(1) * 8),
        (size, 0) => format!("Set more data: s: {}.", bytes(float(size) * 8.0)),
        (size, files) => format!(
            "Set more data and files: s: {}, n: {}.",
            bytes(float(size) * 8.0),
            (files / 1024).max(1) * 8
        ),
    };
    Some(Detected {
        claim: Claim::TooFast,
        severity: Severity::Note,
        strength: float(names.len() as u64),
        evidence: evidence([("tests", Some(float(names.len() as u64)))]),
        text: format!(
            "Too fast to measure: Bonnie++ printed +++++ for these tests, so they have no value (not even 0): {}.",
            names.join(", ")
        ),
        remedy: more,
    })
}
