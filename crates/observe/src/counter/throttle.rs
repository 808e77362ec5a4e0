//! Limits in force on a process's block I/O: v1 `blkio.throttle.*_device`, v2 `io.max`.
//!
//! v1 is flat: only the limits of the process's own cgroup apply, not those of cgroups above (block/blk-throttle.c,
//! `throtl_pd_init`; observed on Linux 6.18). In v2 the limits of all cgroups above apply too, so the lowest limit is in force.

use crate::cgroups::{self, Flavour, Groups};
use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, lines, number};
use record::roots::Roots;
use record::volume::Limits;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The files with the limits of one process.
#[derive(Debug)]
pub(crate) struct ThrottleReader {
    files: Vec<(KernelFile, Parser)>,
}

/// Parses one file's text into its limits.
type Parser = fn(&Path, &[u8], &mut dyn FnMut(&str, Limits)) -> Result<(), ReadError>;

const V1: [(&str, Parser); 4] = [
    ("blkio.throttle.read_iops_device", |path, text, each| {
        v1(path, text, &mut |device, value| {
            each(device, Limits { read_iops: Some(value), ..Limits::default() })
        })
    }),
    ("blkio.throttle.write_iops_device", |path, text, each| {
        v1(path, text, &mut |device, value| {
            each(device, Limits { write_iops: Some(value), ..Limits::default() })
        })
    }),
    ("blkio.throttle.read_bps_device", |path, text, each| {
        v1(path, text, &mut |device, value| {
            each(device, Limits { read_bps: Some(value), ..Limits::default() })
        })
    }),
    ("blkio.throttle.write_bps_device", |path, text, each| {
        v1(path, text, &mut |device, value| {
            each(device, Limits { write_bps: Some(value), ..Limits::default() })
        })
    }),
];

impl ThrottleReader {
    /// Opens the limits. `None` where they can't be read: no such controller is mounted here, or the process is not visible.
    pub(crate) fn open(roots: &Roots, pid: u32) -> Result<Option<Self>, ReadError> {
        let Some(Groups { flavour, directories }) = cgroups::of(roots, pid, "blkio", "io")? else {
            return Ok(None);
        };
        let mut files = Vec::new();
        let mut add = |directory: &Path, name: &str, parser| {
            let file = KernelFile::open(directory.join(name), Shape::Records)?;
            files.extend(file.map(|file| (file, parser)));
            Ok(())
        };
        match flavour {
            Flavour::V1 => {
                for (name, parser) in V1 {
                    directories.first().map_or(Ok(()), |own| add(own, name, parser))?;
                }
                // A blkio hierarchy without throttling has no limits to report.
                Ok((!files.is_empty()).then_some(Self { files }))
            }
            Flavour::V2 => {
                // The topmost cgroup has no such file, nor has a cgroup below one that doesn't delegate the controller.
                directories.iter().try_for_each(|group| add(group, "io.max", v2))?;
                Ok(Some(Self { files }))
            }
        }
    }

    /// Returns the lowest limits, for these devices (`major:minor`) only.
    pub(crate) fn read(
        &self,
        devices: &BTreeSet<String>,
        buffer: &mut Vec<u8>,
    ) -> Result<BTreeMap<String, Limits>, ReadError> {
        let mut found: BTreeMap<String, Limits> = BTreeMap::new();
        let mut add = |device: &str, limits: Limits| {
            if devices.contains(device) && !limits.is_unlimited() {
                let known = found.entry(device.to_owned()).or_default();
                *known = lowest(known, &limits);
            }
        };
        for (file, parser) in &self.files {
            if let Some(text) = file.read(buffer)? {
                parser(file.path(), text, &mut add)?;
            }
        }
        Ok(found)
    }
}

fn lowest(a: &Limits, b: &Limits) -> Limits {
    let min = |a: Option<u64>, b: Option<u64>| a.into_iter().chain(b).min();
    Limits {
        read_iops: min(a.read_iops, b.read_iops),
        write_iops: min(a.write_iops, b.write_iops),
        read_bps: min(a.read_bps, b.read_bps),
        write_bps: min(a.write_bps, b.write_bps),
        ..Limits::default()
    }
}

/// Parses lines `7:0 80`.
fn v1(path: &Path, text: &[u8], each: &mut dyn FnMut(&str, u64)) -> Result<(), ReadError> {
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let device = fields.next().and_then(device);
        let value = fields.next().and_then(number);
        let error = || ReadError::parse(path, line_number, line, "`major:minor number`");
        let (device, value) = device.zip(value).ok_or_else(error)?;
        each(device, value);
    }
    Ok(())
}

/// Parses lines `7:0 rbps=max wbps=1048576 riops=80 wiops=max`.
fn v2(path: &Path, text: &[u8], each: &mut dyn FnMut(&str, Limits)) -> Result<(), ReadError> {
    for (line_number, line) in lines(text) {
        let error = || ReadError::parse(path, line_number, line, "`major:minor rbps=number|max ...`");
        let mut fields = fields(line);
        let device = fields.next().and_then(device).ok_or_else(error)?;
        let mut limits = Limits::default();
        for field in fields {
            let (place, value) = if let Some(value) = field.strip_prefix(b"rbps=") {
                (&mut limits.read_bps, value)
            } else if let Some(value) = field.strip_prefix(b"wbps=") {
                (&mut limits.write_bps, value)
            } else if let Some(value) = field.strip_prefix(b"riops=") {
                (&mut limits.read_iops, value)
            } else if let Some(value) = field.strip_prefix(b"wiops=") {
                (&mut limits.write_iops, value)
            } else {
                continue;
            };
            if value != b"max" {
                *place = Some(number(value).ok_or_else(error)?);
            }
        }
        each(device, limits);
    }
    Ok(())
}

fn device(field: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(field).ok()?;
    crate::text::devno(text).map(|_| text)
}

#[cfg(test)]
mod tests {
    use super::ThrottleReader;
    use crate::cgroups::tests::machine;
    use record::volume::Limits;
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    fn read(roots: &record::roots::Roots) -> Option<BTreeMap<String, Limits>> {
        let devices = BTreeSet::from(["7:3", "254:0"].map(String::from));
        let reader = ThrottleReader::open(roots, 7).unwrap()?;
        Some(reader.read(&devices, &mut Vec::new()).unwrap())
    }

    #[test]
    fn v1_takes_the_own_groups_limits_only_and_our_devices_only() {
        let dir = tempfile::tempdir().unwrap();
        let mounts = ["/sys/fs/cgroup/blkio cgroup rw,blkio"];
        let roots = machine(dir.path(), "7:blkio:/a/b\n", &mounts, &["blkio/a/b"]);
        assert_eq!(read(&roots), None, "a hierarchy without throttling");
        let put = |group: &str, name: &str, text: &str| {
            let file = format!("fs/cgroup/blkio/{group}/blkio.throttle.{name}_device");
            fs::write(roots.sys.join(file), text).unwrap();
        };
        put("a/b", "read_iops", "7:3 80\n7:9 1\n");
        put("a/b", "write_bps", "7:3 1048576\n");
        put("a", "read_iops", "7:3 20\n254:0 5\n");
        let limits = Limits { read_iops: Some(80), write_bps: Some(1 << 20), ..Limits::default() };
        assert_eq!(read(&roots), Some(BTreeMap::from([("7:3".to_owned(), limits)])));
        // The reader sees a limit that changes later.
        put("a/b", "read_iops", "7:3 40\n");
        assert_eq!(read(&roots).unwrap()["7:3"].read_iops, Some(40));
    }

    #[test]
    fn v2_takes_the_lowest_of_all_groups_above() {
        let dir = tempfile::tempdir().unwrap();
        let roots = machine(dir.path(), "0::/a/b\n", &["/sys/fs/cgroup cgroup2 rw"], &["a/b"]);
        assert_eq!(read(&roots), None, "no io controller");
        let put = |path: &str, text: &str| fs::write(roots.sys.join("fs/cgroup").join(path), text).unwrap();
        put("cgroup.controllers", "cpu io memory\n");
        assert_eq!(read(&roots), Some(BTreeMap::new()), "looked, and there are none");
        put("a/b/io.max", "7:3 rbps=max wbps=max riops=80 wiops=70\n7:9 rbps=1 wbps=1 riops=1 wiops=1\n");
        put(
            "a/io.max",
            "7:3 rbps=4096 wbps=max riops=100 wiops=60 new=5\n254:0 rbps=max wbps=max riops=max wiops=max\n",
        );
        let limits =
            Limits { read_iops: Some(80), write_iops: Some(60), read_bps: Some(4096), ..Limits::default() };
        assert_eq!(read(&roots), Some(BTreeMap::from([("7:3".to_owned(), limits)])));
    }

    #[test]
    fn garbage_names_its_line() {
        let dir = tempfile::tempdir().unwrap();
        let roots = machine(dir.path(), "0::/\n", &["/sys/fs/cgroup cgroup2 rw"], &[""]);
        let put = |path: &str, text: &str| fs::write(roots.sys.join("fs/cgroup").join(path), text).unwrap();
        put("cgroup.controllers", "io\n");
        put("io.max", "7:3 riops=1\n7:4 riops=-1\n");
        let reader = ThrottleReader::open(&roots, 7).unwrap().unwrap();
        let said = reader.read(&BTreeSet::new(), &mut Vec::new()).unwrap_err().to_string();
        assert!(
            said.ends_with("io.max:2: expected `major:minor rbps=number|max ...`, found `7:4 riops=-1`"),
            "{said}"
        );
    }
}
