//! CPU quotas on a process: v1 `cpu.cfs_quota_us`, `cpu.cfs_period_us` and `cpu.stat`, v2 `cpu.max` and `cpu.stat`
//! (Documentation/scheduler/sched-bwc.rst). In both versions, a quota of any cgroup above applies too.

use crate::cgroups::{self, Flavour, Groups};
use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, lines, number};
use record::counter::{CpuQuota, Sample};
use record::roots::Roots;
use std::path::Path;

/// The cgroups that may throttle one process, and the readings of them.
#[derive(Debug)]
pub(crate) struct QuotaReader {
    groups: Vec<Group>,
    /// The readings: the time of the sample, and a quota per cgroup.
    readings: Vec<(u64, Vec<Option<CpuQuota>>)>,
}

#[derive(Debug)]
struct Group {
    limit: Limit,
    stat: KernelFile,
}

#[derive(Debug)]
enum Limit {
    V1 { quota: KernelFile, period: KernelFile },
    V2(KernelFile),
}

impl QuotaReader {
    /// Opens the quotas. `None` when no cgroup of the process can have a quota.
    pub(crate) fn open(roots: &Roots, pid: u32) -> Result<Option<Self>, ReadError> {
        let Some(Groups { flavour, directories }) = cgroups::of(roots, pid, "cpu", "cpu")? else {
            return Ok(None);
        };
        let mut groups = Vec::new();
        for directory in directories {
            let open = |name: &str| KernelFile::open(directory.join(name), Shape::OneRecord);
            let limit = match flavour {
                Flavour::V1 => open("cpu.cfs_quota_us")?
                    .zip(open("cpu.cfs_period_us")?)
                    .map(|(quota, period)| Limit::V1 { quota, period }),
                Flavour::V2 => open("cpu.max")?.map(Limit::V2),
            };
            groups.extend(limit.zip(open("cpu.stat")?).map(|(limit, stat)| Group { limit, stat }));
        }
        Ok((!groups.is_empty()).then_some(Self { groups, readings: Vec::new() }))
    }

    /// Reads all cgroups; which of them matters is known only at the end.
    pub(crate) fn read(&mut self, monotonic_ns: u64, buffer: &mut Vec<u8>) -> Result<(), ReadError> {
        let quotas = self.groups.iter().map(|group| group.read(buffer)).collect::<Result<_, _>>()?;
        self.readings.push((monotonic_ns, quotas));
        Ok(())
    }

    /// Sets each sample's quota to that of one cgroup: the one that throttled its tasks most between its first and its last
    /// reading, or if none did, the one that grants least.
    pub(crate) fn settle(&self, samples: &mut [Sample]) {
        let seen = |group: usize| self.readings.iter().filter_map(move |(_, quotas)| *quotas.get(group)?);
        let held_back = |group: usize| {
            let last = seen(group).next_back()?;
            let first = seen(group).next()?;
            Some((last.throttled_ns.saturating_sub(first.throttled_ns), last.cpus))
        };
        let candidates = (0..self.groups.len()).filter_map(|group| Some((group, held_back(group)?)));
        let most = candidates.max_by(|(_, a), (_, b)| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)));
        let Some((group, _)) = most else { return };
        for (monotonic_ns, quotas) in &self.readings {
            let sample = samples.binary_search_by_key(monotonic_ns, |sample| sample.monotonic_ns);
            if let Some(sample) = sample.ok().and_then(|index| samples.get_mut(index)) {
                sample.cpu_quota = quotas.get(group).copied().flatten();
            }
        }
    }
}

impl Group {
    /// Reads the quota. `None` while there is none.
    fn read(&self, buffer: &mut Vec<u8>) -> Result<Option<CpuQuota>, ReadError> {
        let cpus = match &self.limit {
            Limit::V1 { quota, period } => {
                let granted = quota.read(buffer)?.map(|text| granted(quota.path(), text)).transpose()?;
                let period = period.read(buffer)?.map(|text| granted_of(period.path(), text)).transpose()?;
                granted.flatten().zip(period).and_then(|(quota, period)| share(quota, period))
            }
            Limit::V2(max) => {
                max.read(buffer)?.map(|text| parse_max(max.path(), text)).transpose()?.flatten()
            }
        };
        let Some(cpus) = cpus else { return Ok(None) };
        let stat = self.stat.read(buffer)?.map(|text| parse_stat(self.stat.path(), text)).transpose()?;
        Ok(stat.flatten().map(|stat| CpuQuota { cpus, ..stat }))
    }
}

/// Parses microseconds; `-1` is no quota.
fn granted(path: &Path, text: &[u8]) -> Result<Option<u64>, ReadError> {
    match text.trim_ascii() {
        b"-1" => Ok(None),
        _ => granted_of(path, text).map(Some),
    }
}

fn granted_of(path: &Path, text: &[u8]) -> Result<u64, ReadError> {
    let error = || ReadError::parse(path, 1, text.trim_ascii_end(), "microseconds, or -1");
    number(text.trim_ascii()).ok_or_else(error)
}

/// Parses `max 100000`, or `20000 100000`.
fn parse_max(path: &Path, text: &[u8]) -> Result<Option<f64>, ReadError> {
    let error = || ReadError::parse(path, 1, text.trim_ascii_end(), "`number|max number`");
    let mut fields = fields(text);
    let quota = fields.next().ok_or_else(error)?;
    let period = fields.next().and_then(number).ok_or_else(error)?;
    if quota == b"max" {
        return Ok(None);
    }
    Ok(share(number(quota).ok_or_else(error)?, period))
}

#[expect(clippy::cast_precision_loss, reason = "microseconds of a period are far below 2^53")]
fn share(quota: u64, period: u64) -> Option<f64> {
    (period > 0).then(|| quota as f64 / period as f64)
}

/// Parses cpu.stat: `nr_periods`, `nr_throttled`, and `throttled_time` (ns, v1) or `throttled_usec` (v2). `None` where they are
/// missing: bandwidth accounting is off.
fn parse_stat(path: &Path, text: &[u8]) -> Result<Option<CpuQuota>, ReadError> {
    let (mut periods, mut throttled, mut ns) = (None, None, None);
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let (place, scale) = match fields.next() {
            Some(b"nr_periods") => (&mut periods, 1),
            Some(b"nr_throttled") => (&mut throttled, 1),
            Some(b"throttled_time") => (&mut ns, 1),
            Some(b"throttled_usec") => (&mut ns, 1000),
            _ => continue,
        };
        let value = fields.next().and_then(number).and_then(|value| value.checked_mul(scale));
        *place = Some(value.ok_or_else(|| ReadError::parse(path, line_number, line, "`key number`"))?);
    }
    let (Some(periods), Some(throttled_periods), Some(throttled_ns)) = (periods, throttled, ns) else {
        return Ok(None);
    };
    Ok(Some(CpuQuota { cpus: 0.0, throttled_periods, periods, throttled_ns }))
}

#[cfg(test)]
mod tests {
    use super::QuotaReader;
    use crate::cgroups::tests::machine;
    use record::counter::{CpuQuota, Sample};
    use record::roots::Roots;
    use std::fs;

    fn at(monotonic_ns: u64) -> Sample {
        Sample { monotonic_ns, ..Sample::default() }
    }

    fn put(roots: &Roots, path: &str, text: &str) {
        fs::write(roots.sys.join("fs/cgroup").join(path), text).unwrap();
    }

    fn v2() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots = machine(dir.path(), "0::/a/b\n", &["/sys/fs/cgroup cgroup2 rw"], &["a/b"]);
        put(&roots, "cgroup.controllers", "cpu io\n");
        (dir, roots)
    }

    fn stat(periods: u64, throttled: u64, usec: u64) -> String {
        format!("usage_usec 5\nnr_periods {periods}\nnr_throttled {throttled}\nthrottled_usec {usec}\n")
    }

    #[test]
    fn the_group_that_held_it_back_most_is_told_in_every_sample() {
        let (_dir, roots) = v2();
        put(&roots, "a/cpu.max", "50000 100000\n");
        put(&roots, "a/b/cpu.max", "200000 100000\n");
        put(&roots, "a/cpu.stat", &stat(10, 1, 100));
        // Events before the first reading don't count.
        put(&roots, "a/b/cpu.stat", &stat(900, 800, 99_000));
        let mut reader = QuotaReader::open(&roots, 7).unwrap().unwrap();
        reader.read(2, &mut Vec::new()).unwrap();
        put(&roots, "a/cpu.stat", &stat(30, 15, 7_100));
        reader.read(3, &mut Vec::new()).unwrap();
        let mut samples = [at(1), at(2), at(3)];
        reader.settle(&mut samples);
        let first = CpuQuota { cpus: 0.5, throttled_periods: 1, periods: 10, throttled_ns: 100_000 };
        let last = CpuQuota { cpus: 0.5, throttled_periods: 15, periods: 30, throttled_ns: 7_100_000 };
        assert_eq!(samples.map(|s| s.cpu_quota), [None, Some(first), Some(last)]);
    }

    #[test]
    fn where_none_held_it_back_the_lowest_quota_is_told_and_no_quota_is_none() {
        let (_dir, roots) = v2();
        for group in ["a", "a/b"] {
            put(&roots, &format!("{group}/cpu.max"), "max 100000\n");
            put(&roots, &format!("{group}/cpu.stat"), &stat(0, 0, 0));
        }
        let quota = || {
            let mut reader = QuotaReader::open(&roots, 7).unwrap().unwrap();
            reader.read(1, &mut Vec::new()).unwrap();
            let mut samples = [at(1)];
            reader.settle(&mut samples);
            samples[0].cpu_quota.map(|quota| quota.cpus)
        };
        assert_eq!(quota(), None);
        put(&roots, "a/b/cpu.max", "400000 100000\n");
        put(&roots, "a/cpu.max", "150000 100000\n");
        assert_eq!(quota(), Some(1.5));
    }

    #[test]
    fn v1_has_nanoseconds_and_minus_one_for_no_quota() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = ["/sys/fs/cgroup/cpu cgroup rw,cpu,cpuacct"];
        let roots = machine(dir.path(), "4:cpu,cpuacct:/a\n", &mounts, &["cpu/a"]);
        assert!(QuotaReader::open(&roots, 7).unwrap().is_none(), "no bandwidth control");
        for (group, quota) in [("cpu", "-1\n"), ("cpu/a", "25000\n")] {
            put(&roots, &format!("{group}/cpu.cfs_quota_us"), quota);
            put(&roots, &format!("{group}/cpu.cfs_period_us"), "100000\n");
            put(&roots, &format!("{group}/cpu.stat"), "nr_periods 8\nnr_throttled 4\nthrottled_time 123\n");
        }
        let mut reader = QuotaReader::open(&roots, 7).unwrap().unwrap();
        reader.read(1, &mut Vec::new()).unwrap();
        let mut samples = [at(1)];
        reader.settle(&mut samples);
        let expected = CpuQuota { cpus: 0.25, throttled_periods: 4, periods: 8, throttled_ns: 123 };
        assert_eq!(samples[0].cpu_quota, Some(expected));
    }

    #[test]
    fn garbage_names_its_file() {
        let (_dir, roots) = v2();
        put(&roots, "a/b/cpu.max", "lots 100000\n");
        put(&roots, "a/b/cpu.stat", &stat(0, 0, 0));
        let said =
            QuotaReader::open(&roots, 7).unwrap().unwrap().read(1, &mut Vec::new()).unwrap_err().to_string();
        assert!(said.ends_with("cpu.max:1: expected `number|max number`, found `lots 100000`"), "{said}");
    }
}
