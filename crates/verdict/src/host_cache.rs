//! The host's cache: bytes that the page cache under loop devices served. They reached a loop device without direct I/O, but
//! not the disk under its backing file.
//!
//! The disk's counters contain all processes' bytes, so they are an upper bound for ours; without the bytes that other processes
//! are known to have read, they are a lower bound. The residency of the backing files bounds the cache from both sides. The
//! difference between the bounds is unknown. docs/metrics.md, "The host's cache".

use crate::facts::{Facts, Files};
use crate::span::float;
use record::counter::{Sample, VmCounters};
use record::extents::Residency;
use record::topology::{BlockKind, BlockNode, is_memory_fs};
use std::collections::BTreeSet;
use std::path::Path;

/// The page size of x86-64, the target of this program.
const PAGE_BYTES: f64 = 4096.0;

/// The loop devices or guest disks nearest to the ground that cache their backing files, with their counters; bytes within the
/// window.
#[derive(Debug, Clone)]
pub(crate) struct HostCache<'a> {
    pub(crate) loops: Vec<&'a str>,
    /// Whether they are a guest's disks.
    pub(crate) guest: bool,
    pub(crate) loop_read: Option<f64>,
    pub(crate) loop_written: Option<f64>,
    /// All processes' bytes on the disks under the backing files, without those of loop devices with direct I/O.
    pub(crate) leaf_read: Option<f64>,
    pub(crate) leaf_written: Option<f64>,
    /// Cached bytes of the backing files, just before the trial and (next field) just after it.
    pub(crate) cached_before: Option<f64>,
    pub(crate) cached_after: Option<f64>,
    /// The growth over the trial of the backing files' bytes that are not on the disk.
    pub(crate) dirty_growth: Option<f64>,
    backing_bytes: f64,
    /// The share of these loop devices in all bytes at their depth below the ground.
    part_read: f64,
    part_written: f64,
}

/// Shares of the bytes on the ground's devices.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct CacheShares {
    /// The least share that the host's cache served.
    pub(crate) host: f64,
    /// The share that either the cache or the disk served.
    pub(crate) unknown: f64,
}

impl<'a> HostCache<'a> {
    /// `None` without such a loop device. One with unknown I/O mode doesn't count, nor does one over memory.
    pub(crate) fn of(facts: &Facts<'a>) -> Option<Self> {
        let nodes: &'a [BlockNode] = &facts.trial.topology.nodes;
        let depth = nodes.iter().filter(|n| backing(n, Some(false)).is_some()).map(|n| n.depth).min()?;
        let level = || nodes.iter().filter(|n| n.depth == depth);
        let cached: Vec<(&BlockNode, Backing<'a>)> =
            level().filter_map(|n| Some((n, backing(n, Some(false))?))).collect();
        let leaves: BTreeSet<&str> = cached.iter().flat_map(|(_, b)| b.members).map(String::as_str).collect();
        // Their bytes are on the same disks, but were not in the cache.
        let direct = nodes.iter().filter(|n| {
            backing(n, Some(true)).is_some_and(|b| b.members.iter().any(|m| leaves.contains(m.as_str())))
        });
        let direct: Vec<&str> = direct.map(|n| n.name.as_str()).collect();
        let sum = |names: &mut dyn Iterator<Item = &str>, read: bool| -> Option<f64> {
            let each = names.map(|name| {
                let bytes =
                    |b: &record::counter::BlockCounters| if read { b.read_bytes } else { b.write_bytes };
                grown(facts, &|s| s.block.get(name).map(bytes))
            });
            let all: Vec<f64> = each.collect::<Option<_>>()?;
            (!all.is_empty()).then(|| all.iter().sum())
        };
        let of_loops = |read| sum(&mut cached.iter().map(|(n, _)| n.name.as_str()), read);
        let of_leaves = |read| {
            let all = sum(&mut leaves.iter().copied(), read)?;
            let other = if direct.is_empty() { 0.0 } else { sum(&mut direct.iter().copied(), read)? };
            Some((all - other).max(0.0))
        };
        let part = |read| match (of_loops(read), sum(&mut level().map(|n| n.name.as_str()), read)) {
            (Some(loops), Some(all)) if all > 0.0 => loops / all,
            _ => 0.0,
        };
        let files: Option<Vec<&Path>> = cached.iter().map(|(_, b)| b.file).collect();
        let files = files.unwrap_or_default();
        let (before, after) = (&facts.trial.backing_before, &facts.trial.backing_after);
        let cached_bytes = |r: &Residency| Some(r.cached_bytes);
        let dirty = |list| total(list, &files, |r| r.dirty_bytes);
        Some(Self {
            loops: cached.iter().map(|(n, _)| n.name.as_str()).collect(),
            guest: cached.iter().any(|(n, _)| matches!(n.kind, BlockKind::Loop { guest: true, .. })),
            loop_read: of_loops(true),
            loop_written: of_loops(false),
            leaf_read: of_leaves(true),
            leaf_written: of_leaves(false),
            cached_before: total(before, &files, cached_bytes),
            cached_after: total(after, &files, cached_bytes),
            dirty_growth: dirty(after).zip(dirty(before)).map(|(after, before)| (after - before).max(0.0)),
            backing_bytes: total(before, &files, |r| Some(r.size_bytes)).unwrap_or(0.0),
            part_read: part(true),
            part_written: part(false),
        })
    }

    /// The shares of the bytes that the ground's devices read.
    pub(crate) fn of_reads(&self, facts: &Facts<'_>) -> CacheShares {
        let Some(loops) = self.loop_read.filter(|l| *l > 0.0) else { return CacheShares::default() };
        let slack = facts.slack(&facts.read);
        let (held_least, held_most) = self.held(facts);
        let Some(leaf) = self.leaf_read else {
            // There is no counter under the loop device, only residency.
            let known = self.cached_before.is_some() || self.cached_after.is_some();
            return if known {
                self.reads_between(held_least, held_most, slack)
            } else {
                CacheShares::default()
            };
        };
        let missing = (1.0 - leaf / loops).max(0.0);
        let shown =
            missing.max(held_least).max(self.fetched_most(facts).map_or(0.0, |most| 1.0 - most / loops));
        if missing > held_most + slack {
            // More than the cache can have served: holes of the backing file, or a file system that compresses it.
            return self.reads(CacheShares { host: held_most, unknown: missing - held_most });
        }
        // Other processes' reads on a guest's host aren't known.
        let others =
            if self.guest { f64::INFINITY } else { others_read(facts, leaf > loops * (1.0 + slack)) };
        let ours = (leaf - others).max(self.fetched(facts).unwrap_or(0.0));
        let most = held_most.min(1.0 - (ours / loops).min(1.0));
        self.reads_between(shown, most, slack)
    }

    fn reads_between(&self, least: f64, most: f64, slack: f64) -> CacheShares {
        let host = if least <= slack { 0.0 } else { least.min(1.0) };
        let unknown = if most - host <= slack { 0.0 } else { most - host };
        self.reads(CacheShares { host, unknown })
    }

    fn reads(&self, kept: CacheShares) -> CacheShares {
        CacheShares { host: kept.host * self.part_read, unknown: kept.unknown * self.part_read }
    }

    /// The shares of the bytes that the ground's devices wrote: at least those that were not on the disk at the window's end.
    pub(crate) fn of_writes(&self, facts: &Facts<'_>) -> CacheShares {
        let Some(loops) = self.loop_written.filter(|l| *l > 0.0) else { return CacheShares::default() };
        let missing = self.leaf_written.map_or(0.0, |leaf| 1.0 - leaf / loops);
        let host = missing.max(self.dirty_growth.unwrap_or(0.0) / loops).clamp(0.0, 1.0);
        let host = if host <= facts.slack(&facts.write) { 0.0 } else { host };
        CacheShares { host: host * self.part_written, unknown: 0.0 }
    }

    /// Written bytes of the backing files that were not on the disk at the end of the measured time; 0 if the kernel doesn't report them.
    pub(crate) fn dirty(&self, facts: &Facts<'_>) -> f64 {
        self.dirty_growth.unwrap_or(0.0).min(facts.write.asked)
    }

    /// Bytes that the cache did not have before the trial and has after it, without writes: the disk must have delivered them, whoever else
    /// used it. Bytes that the loop devices read before the window may be among them.
    fn fetched(&self, facts: &Facts<'_>) -> Option<f64> {
        let grown = self.cached_after? - self.cached_before?;
        let earlier = facts.read_earlier.filter(|_| facts.write.asked <= 0.0)?;
        Some((grown - earlier).max(0.0))
    }

    /// The most bytes that the disk can have delivered: those that the cache gained, and those that the kernel reclaimed. Unknown if the
    /// cache was dropped, or if writes fill it too.
    fn fetched_most(&self, facts: &Facts<'_>) -> Option<f64> {
        let grown = (self.cached_after? - self.cached_before?).max(0.0);
        let vm = |counter: fn(&VmCounters) -> Option<u64>| {
            let of = |sample: &Sample| counter(sample.vm.as_ref()?);
            if self.guest { on_host(facts, &of) } else { facts.span.grown(of) }
        };
        let kept = vm(|vm| vm.drop_pagecache)? <= 0.0 && facts.write.asked <= 0.0 && !self.is_trimmed(facts);
        kept.then_some(grown + vm(|vm| vm.pgsteal_file)? * PAGE_BYTES)
    }

    /// The samples of the machine that has this page cache.
    fn samples<'f>(&self, facts: &Facts<'f>) -> &'f [Sample] {
        let evidence = &facts.trial.evidence;
        if self.guest { &evidence.host } else { &evidence.samples }
    }

    /// Whether that machine's kernel reclaims pages without need (DAMON), which no counter shows.
    fn is_trimmed(&self, facts: &Facts<'_>) -> bool {
        self.samples(facts).iter().any(|sample| sample.vm.is_some_and(|vm| vm.takes_cold_pages))
    }

    /// Bytes that were read again after the kernel reclaimed them. So pages that are cached before and after weren't cached throughout.
    fn read_again(&self, facts: &Facts<'_>) -> f64 {
        let of = |sample: &Sample| sample.vm.as_ref()?.workingset_refault_file;
        let pages = if self.guest { on_host(facts, &of) } else { facts.span.grown(of) };
        pages.unwrap_or(0.0) * PAGE_BYTES
    }

    /// The least and the largest share of reads that the cache can have served, by its content.
    fn held(&self, facts: &Facts<'_>) -> (f64, f64) {
        let seen = || self.cached_before.into_iter().chain(self.cached_after);
        let Some(most_bytes) = seen().max_by(f64::total_cmp) else { return (0.0, 1.0) };
        let plain = facts.before.is_none_or(|f: Files| f.encoded <= 0.0);
        let data = facts.data_bytes() * facts.copies;
        let options = facts.options().filter(|_| plain && data > 0.0);
        let random = options.filter(|o| o.rw.is_random() && o.random_distribution == "random").is_some();
        let most = match most_bytes {
            held if held <= 0.0 => 0.0,
            held if random => (held / data).min(1.0),
            _ => 1.0,
        };
        // The uncached part of the backing files may all be data; then the rest of the data was cached throughout.
        let all_here = facts.trial.topology.direct().all(|n| self.loops.contains(&n.name.as_str()));
        let (Some(before), Some(after), true) = (self.cached_before, self.cached_after, all_here) else {
            return (0.0, most);
        };
        let share = ((before.min(after) + data - self.backing_bytes) / data.max(1.0)).clamp(0.0, 1.0);
        let passes = facts.read.asked / data.max(1.0);
        let least = match options {
            Some(_) if random => share,
            Some(o) if !o.rw.is_random() && passes >= 1.0 => share,
            Some(o) if !o.rw.is_random() && passes > 0.0 => ((share - (1.0 - passes)) / passes).max(0.0),
            _ => 0.0,
        };
        let least = least - self.loop_read.map_or(0.0, |loops| self.read_again(facts) / loops.max(1.0));
        (least.clamp(0.0, most), most)
    }
}

/// The growth of a counter within the window; for a guest's host, from just before to just after the guest's measurement, which is more.
fn grown(facts: &Facts<'_>, counter: &dyn Fn(&Sample) -> Option<u64>) -> Option<f64> {
    facts.span.grown(counter).or_else(|| on_host(facts, counter))
}

fn on_host(facts: &Facts<'_>, counter: &dyn Fn(&Sample) -> Option<u64>) -> Option<f64> {
    let [before, after] = &facts.trial.evidence.host[..] else { return None };
    Some(float(counter(after)?.saturating_sub(counter(before)?)))
}

/// Bytes that other user processes read on any device: an upper bound of their bytes on this disk. If not all processes could be
/// examined, there is no bound, unless the disk's counters show no foreign I/O at all.
fn others_read(facts: &Facts<'_>, crowded: bool) -> f64 {
    let evidence = &facts.trial.evidence;
    if crowded && !evidence.others_complete {
        return f64::INFINITY;
    }
    evidence.others.iter().filter(|p| p.kernel != Some(true)).map(|p| float(p.read_bytes)).sum()
}

struct Backing<'a> {
    file: Option<&'a Path>,
    members: &'a [String],
}

/// The backing file of a loop device that isn't over memory and has this I/O mode.
fn backing(node: &BlockNode, direct: Option<bool>) -> Option<Backing<'_>> {
    match &node.kind {
        BlockKind::Loop { direct_io, members, backing_fs, backing_file, .. }
            if *direct_io == direct && !backing_fs.as_deref().is_some_and(is_memory_fs) =>
        {
            Some(Backing { file: backing_file.as_deref(), members })
        }
        _ => None,
    }
}

/// The sum over these files; `None` unless all of them were examined.
fn total(list: &[Residency], files: &[&Path], bytes: fn(&Residency) -> Option<u64>) -> Option<f64> {
    let of = |path: &&Path| bytes(list.iter().find(|r| r.path == *path)?).map(float);
    let all: Vec<f64> = files.iter().map(of).collect::<Option<_>>()?;
    (!all.is_empty()).then(|| all.iter().sum())
}
