//! The devices of a ZFS pool, from `zpool status`: the kernel shows no holders for them.

use host::{CommandFailure, Invocation, Runner, Tool};
use std::path::PathBuf;

/// All devices of a pool, including its log and cache, in the order of the output.
///
/// # Errors
/// When there is no such pool, or zpool can't be run.
pub fn devices_of(runner: &dyn Runner, pool: &str) -> Result<Vec<PathBuf>, CommandFailure> {
    let with_paths = Invocation::new(Tool::Zpool).args(["status", "-P", pool]);
    // zfs-fuse has no -P; its devices are below /dev.
    let output = match runner.run(&with_paths) {
        Ok(output) => output,
        Err(_) => runner.run(&Invocation::new(Tool::Zpool).args(["status", pool]))?,
    };
    Ok(parse(&output.stdout))
}

/// The leaves of the tree under `config:`: lines without anything indented below.
fn parse(text: &str) -> Vec<PathBuf> {
    let config = text.lines().skip_while(|line| line.trim() != "config:").skip(1);
    let rows = config.skip_while(|line| !line.trim_start().starts_with("NAME")).skip(1);
    let rows: Vec<(usize, &str)> = rows
        .take_while(|line| !line.trim().is_empty())
        .filter_map(|line| {
            let line = line.strip_prefix('\t').unwrap_or(line);
            let name = line.split_whitespace().next()?;
            Some((line.len() - line.trim_start().len(), name))
        })
        .collect();
    let deeper = |at: usize| rows.get(at + 1).is_some_and(|(indent, _)| *indent > rows[at].0);
    let leaves = rows.iter().enumerate().filter(|(at, (indent, _))| *indent > 0 && !deeper(*at));
    leaves.map(|(_, (_, name))| PathBuf::from("/dev").join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::parse;
    use std::path::PathBuf;

    fn paths(names: &[&str]) -> Vec<PathBuf> {
        names.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn zfs_fuse_names_devices_below_dev() {
        let text = "  pool: p-3\n state: ONLINE\n scrub: none requested\nconfig:\n\n\
                    \tNAME        STATE     READ WRITE CKSUM\n\tp-3  ONLINE       0     0     0\n\
                    \t  loop50    ONLINE       0     0     0\n\t  loop51    ONLINE       0     0     0\n\
                    \tcache\n\t  loop52    ONLINE       0     0     0\n\nerrors: No known data errors\n";
        assert_eq!(parse(text), paths(&["/dev/loop50", "/dev/loop51", "/dev/loop52"]));
    }

    #[test]
    fn mirrors_logs_and_paths_are_followed_to_their_leaves() {
        let text = "  pool: p\n state: ONLINE\nconfig:\n\n\tNAME             STATE     READ WRITE CKSUM\n\
                    \tp                ONLINE       0     0     0\n\t  mirror-0       ONLINE       0     0     0\n\
                    \t    /dev/vdb1    ONLINE       0     0     0\n\t    /dev/vdc1    ONLINE       0     0     0\n\
                    \t  raidz1-1       DEGRADED     0     0     0\n\t    /dev/vde1    ONLINE       0     0     0\n\
                    \t    1234567      UNAVAIL      0     0     0  was /dev/vdf1\n\
                    \tlogs\t\n\t  /dev/loop3     ONLINE       0     0     0\n\nerrors: No known data errors\n";
        let expected = ["/dev/vdb1", "/dev/vdc1", "/dev/vde1", "/dev/1234567", "/dev/loop3"];
        assert_eq!(parse(text), paths(&expected));
    }

    #[test]
    fn what_is_no_status_has_no_devices() {
        assert_eq!(parse("no pools available\n"), paths(&[]));
        assert_eq!(parse("config:\n\n\tNAME STATE\n"), paths(&[]));
    }
}
