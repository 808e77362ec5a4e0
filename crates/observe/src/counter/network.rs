//! Network interfaces: /proc/net/dev and /sys/class/net/NAME/speed.

use crate::error::ReadError;
use crate::kernel_file::{KernelFile, Shape};
use crate::text::{fields, first_line, lines, number};
use record::counter::NetCounters;
use record::roots::Roots;
use std::collections::BTreeMap;
use std::path::Path;

/// Reads the counters of all interfaces except the loopback.
#[derive(Debug)]
pub(crate) struct NetworkReader {
    file: KernelFile,
    roots: Roots,
    /// Speed of each interface when it was first seen.
    speeds: BTreeMap<String, Option<u64>>,
}

impl NetworkReader {
    /// Opens the counters. `None` when the kernel has no network.
    pub(crate) fn open(roots: &Roots) -> Result<Option<Self>, ReadError> {
        let file = KernelFile::open(roots.proc.join("net/dev"), Shape::Records)?;
        Ok(file.map(|file| Self { file, roots: roots.clone(), speeds: BTreeMap::new() }))
    }

    pub(crate) fn read(&mut self, buffer: &mut Vec<u8>) -> Result<BTreeMap<String, NetCounters>, ReadError> {
        let Some(text) = self.file.read(buffer)? else { return Ok(BTreeMap::new()) };
        let mut found = parse(self.file.path(), text)?;
        for (name, counters) in &mut found {
            let speed = self.speeds.entry(name.clone()).or_insert_with(|| {
                // -1, or an error, if the kernel doesn't know the speed.
                first_line(&self.roots.sys.join("class/net").join(name).join("speed"))?.parse().ok()
            });
            counters.speed_mbps = *speed;
        }
        Ok(found)
    }
}

/// Parses two header lines, then ` eth0: bytes packets errs drop fifo frame compressed multicast bytes ...`.
fn parse(path: &Path, text: &[u8]) -> Result<BTreeMap<String, NetCounters>, ReadError> {
    let mut found = BTreeMap::new();
    for (line_number, line) in lines(text).skip(2) {
        let error = || ReadError::parse(path, line_number, line, "`name: 16 numbers`");
        let colon = line.iter().position(|&byte| byte == b':').ok_or_else(error)?;
        let name = String::from_utf8_lossy(line[..colon].trim_ascii()).into_owned();
        let mut values = fields(&line[colon + 1..]).map(number);
        let received_bytes = values.next().flatten().ok_or_else(error)?;
        let sent_bytes = values.nth(7).flatten().ok_or_else(error)?;
        if name != "lo" {
            found.insert(name, NetCounters { received_bytes, sent_bytes, speed_mbps: None });
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::NetworkReader;
    use record::counter::NetCounters;
    use record::roots::Roots;
    use std::fs;

    const HEAD: &str = "Inter-|   Receive                                                |  Transmit\n \
        face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n";

    #[test]
    fn all_but_the_loopback_with_the_speed_where_it_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::under(dir.path());
        assert!(NetworkReader::open(&roots).unwrap().is_none());
        fs::create_dir_all(roots.proc.join("net")).unwrap();
        let text = "    lo:   17    2    0    0    0     0          0         0    18      2    0    0    0     0       0          0\n  \
            eth0:29 11    0    0    0     0          0         0   73    6773    0    0    0     0       0          0\n  \
            eth1: 1 1    0    0    0     0          0         0   2    1    0    0    0     0       0          0\n";
        fs::write(roots.proc.join("net/dev"), format!("{HEAD}{text}")).unwrap();
        for (name, speed) in [("eth0", "25000\n"), ("eth1", "-1\n")] {
            fs::create_dir_all(roots.sys.join("class/net").join(name)).unwrap();
            fs::write(roots.sys.join("class/net").join(name).join("speed"), speed).unwrap();
        }
        let found = NetworkReader::open(&roots).unwrap().unwrap().read(&mut Vec::new()).unwrap();
        let eth0 = NetCounters { received_bytes: 29, sent_bytes: 73, speed_mbps: Some(25000) };
        let eth1 = NetCounters { received_bytes: 1, sent_bytes: 2, speed_mbps: None };
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("eth0".to_owned(), eth0), ("eth1".to_owned(), eth1)]
        );
        fs::write(roots.proc.join("net/dev"), format!("{HEAD}eth0: 1 2 3\n")).unwrap();
        let said =
            NetworkReader::open(&roots).unwrap().unwrap().read(&mut Vec::new()).unwrap_err().to_string();
        assert!(said.ends_with("net/dev:3: expected `name: 16 numbers`, found `eth0: 1 2 3`"), "{said}");
    }
}
