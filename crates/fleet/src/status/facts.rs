//! The script that a machine runs, and the reader of its answer.

use record::machine::{DiskSeen, GuestSeen, JournalSeen, MachineFacts};
use record::printable::printable;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};

/// Prints the facts. It starts as few programs as possible: names come from the shell's own patterns, and one `grep` prints all files,
/// each line after the file's name. virsh, which takes longer than all else, is asked only where a libvirt listens. A journal's first line
/// says when its run ends.
pub(super) const SCRIPT: &str = r#"echo @diskproof 1
echo @blocks /sys/block/*
echo @partitions /sys/block/*/*/partition
echo @holders /sys/block/*/holders/*
for d in "${DISKPROOF_STATE:-/var/lib/diskproof}" "${XDG_STATE_HOME:-$HOME/.local/state}/diskproof"; do
if [ -d "$d" ] && ! [ -x "$d" ]; then echo @hidden "$d"; elif [ -d "$d/journal" ] && ! [ -r "$d/journal" ]; then echo @hidden "$d"
else set -- "$d"/journal/*.jsonl; echo @journals "$@"; if [ -e "$1" ]; then date "+@now %s"; stat -c "@changed %Y %n" "$@"
for j do read -r l <"$j" && printf "@session %s\n" "$l"; done; fi; fi; done
grep -s . /proc/loadavg /proc/meminfo /proc/uptime /proc/swaps /proc/self/mountinfo /proc/partitions /proc/sys/kernel/osrelease \
/proc/sys/kernel/random/boot_id /sys/devices/system/cpu/online
if command -v virsh >/dev/null; then echo @virsh; s=/var/run/libvirt
if [ -n "$LIBVIRT_DEFAULT_URI" ] || [ -S $s/libvirt-sock-ro ] || [ -S $s/virtqemud-sock-ro ]; then
virsh -q -r -c "${LIBVIRT_DEFAULT_URI:-qemu:///system}" domstats --nowait --state --balloon --vcpu 2>/dev/null && echo @guests; fi; fi
echo @end"#;

/// Kernel names of what isn't a disk of its own.
const NO_DISKS: [&str; 8] = ["loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd"];

/// Reads an answer; `None`: it is none. A part that is missing is `None`; the text says what libvirt didn't answer.
pub(super) fn read(text: &str) -> Option<(MachineFacts, Option<String>)> {
    let start = text.find("@diskproof 1\n")?;
    let answer = Answer::of(&text[start..]);
    let mut facts = MachineFacts {
        kernel: answer.line("/proc/sys/kernel/osrelease").map(|text| printable(text).into_owned()),
        boot_id: answer.line("/proc/sys/kernel/random/boot_id").map(|text| printable(text).into_owned()),
        uptime_seconds: answer.line("/proc/uptime").and_then(|line| number(line.split(' ').next()?)),
        cpus: answer.line("/sys/devices/system/cpu/online").and_then(count),
        load: answer.line("/proc/loadavg").and_then(load),
        memory_bytes: answer.memory("MemTotal:"),
        free_bytes: answer.memory("MemAvailable:"),
        disks: disks(&answer),
        guests: None,
        journals: journals(&answer),
    };
    let has_virsh = answer.marks.contains_key("@virsh");
    let answered = answer.marks.contains_key("@guests");
    if answered {
        facts.guests = Some(guests(&answer.rest));
    }
    let lacks = (has_virsh && !answered)
        .then(|| "libvirt doesn't answer there: `virsh -c qemu:///system list` says why".to_owned());
    Some((facts, lacks))
}

/// An answer, by its parts.
struct Answer<'t> {
    /// The words after each mark.
    marks: BTreeMap<&'t str, Vec<&'t str>>,
    /// The lines of each file.
    files: BTreeMap<&'t str, Vec<&'t str>>,
    /// What virsh printed.
    rest: Vec<&'t str>,
}

impl<'t> Answer<'t> {
    fn of(text: &'t str) -> Self {
        let mut answer = Self { marks: BTreeMap::new(), files: BTreeMap::new(), rest: Vec::new() };
        for line in text.lines() {
            if line.starts_with('@') {
                let mut words = line.split_whitespace();
                if let Some(mark) = words.next() {
                    answer.marks.entry(mark).or_default().extend(words);
                }
            } else if !answer.marks.contains_key("@virsh")
                && let Some((file, line)) = line.split_once(':')
                && file.starts_with('/')
            {
                answer.files.entry(file).or_default().push(line);
            } else {
                answer.rest.push(line);
            }
        }
        answer
    }

    fn lines(&self, file: &str) -> &[&'t str] {
        self.files.get(file).map_or(&[], Vec::as_slice)
    }

    fn line(&self, file: &str) -> Option<&'t str> {
        self.lines(file).first().map(|line| line.trim())
    }

    fn memory(&self, name: &str) -> Option<u64> {
        let line = self.lines("/proc/meminfo").iter().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix(" kB")?.parse::<u64>().ok()?.checked_mul(1024)
    }

    /// The paths after a mark; a pattern that matched nothing is none.
    fn paths(&self, mark: &str) -> Option<impl Iterator<Item = &'t str>> {
        Some(self.marks.get(mark)?.iter().copied().filter(|path| !path.contains('*')))
    }
}

fn number(text: &str) -> Option<f64> {
    text.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// Counts the numbers of a list such as `0-3,6`.
fn count(list: &str) -> Option<u32> {
    list.split(',').try_fold(0_u32, |sum, part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        sum.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn load(line: &str) -> Option<[f64; 3]> {
    let mut numbers = line.split(' ').map(number);
    Some([numbers.next()??, numbers.next()??, numbers.next()??])
}

fn journals(answer: &Answer<'_>) -> Option<Vec<JournalSeen>> {
    if answer.marks.contains_key("@hidden") {
        return None;
    }
    let now = answer.marks.get("@now").and_then(|words| words.first()?.parse::<u64>().ok());
    let changed: Vec<&str> = answer.paths("@changed").into_iter().flatten().collect();
    let sessions: Vec<Session> =
        answer.marks.get("@session").into_iter().flatten().filter_map(session).collect();
    let journal = |path: &str| {
        let run = path.rsplit('/').next()?.strip_suffix(".jsonl")?;
        let at = changed.windows(2).find(|pair| pair[1] == path).and_then(|pair| pair[0].parse::<u64>().ok());
        let unchanged_seconds = now.zip(at).map(|(now, at)| now.saturating_sub(at));
        let ends = sessions.iter().find(|session| session.run == run).and_then(|session| session.ends_unix_s);
        let ends_in_seconds =
            now.zip(ends).and_then(|(now, ends)| Some(i64::try_from(ends).ok()? - i64::try_from(now).ok()?));
        Some(JournalSeen { run: printable(run).into_owned(), unchanged_seconds, ends_in_seconds })
    };
    Some(answer.paths("@journals")?.filter_map(journal).collect())
}

/// What the first line of a journal says.
#[derive(Deserialize)]
struct Session {
    run: String,
    #[serde(default)]
    ends_unix_s: Option<u64>,
}

fn session(line: &&str) -> Option<Session> {
    serde_json::from_str(line).ok()
}

fn disks(answer: &Answer<'_>) -> Option<Vec<DiskSeen>> {
    let part = |path: &str, at: usize| path.split('/').nth(at).map(str::to_owned);
    let names: Vec<String> = answer.paths("@blocks")?.filter_map(|path| part(path, 3)).collect();
    let inside = |mark| answer.paths(mark).into_iter().flatten().filter_map(|path| part(path, 3));
    let mut used: BTreeSet<String> = inside("@partitions").chain(inside("@holders")).collect();
    let table = partitions(answer);
    for line in answer.lines("/proc/self/mountinfo") {
        let device = line.split(' ').nth(2).unwrap_or_default();
        let source =
            line.split_once(" - ").and_then(|(_, right)| right.split(' ').nth(1)).unwrap_or_default();
        used.extend(table.iter().filter(|(_, row)| row.device == device).map(|(name, _)| (*name).to_owned()));
        used.extend(source.strip_prefix("/dev/").map(str::to_owned));
    }
    let swaps = answer.lines("/proc/swaps").iter().filter_map(|line| line.split_whitespace().next());
    used.extend(swaps.filter_map(|path| path.strip_prefix("/dev/")).map(str::to_owned));
    let mut disks = Vec::new();
    for name in names.iter().filter(|name| !NO_DISKS.iter().any(|prefix| name.starts_with(prefix))) {
        let Some(size_bytes) = table.get(name.as_str()).map(|row| row.bytes).filter(|bytes| *bytes > 0)
        else {
            continue;
        };
        disks.push(DiskSeen { name: printable(name).into_owned(), size_bytes, unused: !used.contains(name) });
    }
    Some(disks)
}

/// A row of /proc/partitions.
struct Row {
    /// Major and minor number, as mountinfo writes them.
    device: String,
    bytes: u64,
}

fn partitions<'t>(answer: &Answer<'t>) -> BTreeMap<&'t str, Row> {
    let row = |line: &&'t str| {
        let mut words = line.split_whitespace();
        let (major, minor) = (words.next()?.parse::<u32>().ok()?, words.next()?.parse::<u32>().ok()?);
        let bytes = words.next()?.parse::<u64>().ok()?.checked_mul(1024)?;
        Some((words.next()?, Row { device: format!("{major}:{minor}"), bytes }))
    };
    answer.lines("/proc/partitions").iter().filter_map(row).collect()
}

/// Reads what `virsh domstats` prints.
fn guests(lines: &[&str]) -> Vec<GuestSeen> {
    let mut guests: Vec<GuestSeen> = Vec::new();
    for line in lines.iter().map(|line| line.trim()) {
        if let Some(name) = line.strip_prefix("Domain: '").and_then(|rest| rest.strip_suffix('\'')) {
            guests.push(GuestSeen {
                name: printable(name).into_owned(),
                on: false,
                cpus: None,
                memory_bytes: None,
            });
            continue;
        }
        let (Some(guest), Some((key, value))) = (guests.last_mut(), line.split_once('=')) else { continue };
        match key {
            // Running, blocked, paused and shutting down; all others hold no memory.
            "state.state" => guest.on = matches!(value, "1" | "2" | "3" | "4"),
            "balloon.current" => {
                guest.memory_bytes = value.parse::<u64>().ok().and_then(|kib| kib.checked_mul(1024))
            }
            "vcpu.current" => guest.cpus = value.parse().ok(),
            _ => {}
        }
    }
    guests
}

#[cfg(test)]
mod tests {
    use super::{SCRIPT, count, read};
    use host::{Invocation, LocalRunner, Runner as _};

    const ANSWER: &str = r#"Welcome to ham0
@diskproof 1
@blocks /sys/block/loop0 /sys/block/nvme0n1 /sys/block/sda /sys/block/sdb /sys/block/sdc /sys/block/sdd /sys/block/sr0
@partitions /sys/block/sda/sda1/partition /sys/block/sda/sda2/partition
@holders /sys/block/sdb/holders/dm-0
@journals /var/lib/diskproof/journal/20261121-201455-3f9a.jsonl
@now 1700000600
@changed 1700000000 /var/lib/diskproof/journal/20261121-201455-3f9a.jsonl
@session {"line":"session","format":"1.2","run":"20261121-201455-3f9a","prefix":"diskproof","ends_unix_s":1700000900}
@journals /root/.local/state/diskproof/journal/*.jsonl
/proc/loadavg:0.52 0.48 0.40 2/300 12345
/proc/meminfo:MemTotal:       65000000 kB
/proc/meminfo:MemAvailable:   60000000 kB
/proc/uptime:3600.50 7000.00
/proc/swaps:Filename				Type		Size		Used		Priority
/proc/swaps:/dev/sdd                               partition	1000	0	-2
/proc/self/mountinfo:25 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
/proc/self/mountinfo:26 25 8:32 / /data rw - xfs /dev/disk/by-label/x rw
/proc/partitions:major minor  #blocks  name
/proc/partitions:   7        0       1000 loop0
/proc/partitions:   8        0  488386584 sda
/proc/partitions:   8       16  488386584 sdb
/proc/partitions:   8       32  488386584 sdc
/proc/partitions:   8       48  488386584 sdd
/proc/partitions: 259        0  976762584 nvme0n1
/proc/sys/kernel/osrelease:6.1.0-18-amd64
/proc/sys/kernel/random/boot_id:b0a7
/sys/devices/system/cpu/online:0-7
@virsh
Domain: 'mail'
  state.state=1
  state.reason=1
  balloon.current=4194304
  vcpu.current=2
  vcpu.maximum=4

Domain: 'old: it'
  state.state=5
  balloon.maximum=1048576
@guests
@end
"#;

    #[test]
    fn an_answer_has_what_the_table_shows() {
        let (facts, lacks) = read(ANSWER).unwrap();
        assert_eq!(lacks, None);
        assert_eq!(
            (facts.cpus, facts.load, facts.uptime_seconds),
            (Some(8), Some([0.52, 0.48, 0.40]), Some(3600.5))
        );
        assert_eq!((facts.memory_bytes, facts.used_bytes()), (Some(65_000_000 << 10), Some(5_000_000 << 10)));
        let disks = facts.disks.unwrap();
        let unused: Vec<(&str, bool)> = disks.iter().map(|disk| (disk.name.as_str(), disk.unused)).collect();
        let expected = [("nvme0n1", true), ("sda", false), ("sdb", false), ("sdc", false), ("sdd", false)];
        assert_eq!(unused, expected, "partitions, a holder, a mount by number, a swap");
        let journals = facts.journals.unwrap();
        assert_eq!((journals.len(), journals[0].run.as_str()), (1, "20261121-201455-3f9a"));
        assert_eq!((journals[0].unchanged_seconds, journals[0].ends_in_seconds), (Some(600), Some(300)));
        let guests = facts.guests.unwrap();
        assert_eq!((guests[0].name.as_str(), guests[0].on, guests[0].cpus), ("mail", true, Some(2)));
        assert_eq!((guests[1].name.as_str(), guests[1].on), ("old: it", false));
        assert_eq!(guests[0].memory_bytes, Some(4 << 30));
    }

    #[test]
    fn what_is_not_said_is_none() {
        assert!(read("bash: line 1: sh: command not found\n").is_none());
        let (facts, _) = read("@diskproof 1\n@hidden /var/lib/diskproof\n/proc/loadavg:nan 1 2\n").unwrap();
        assert_eq!((facts.journals, facts.disks, facts.load, facts.memory_bytes), (None, None, None, None));
        let (facts, lacks) = read("@diskproof 1\n@virsh\n@end\n").unwrap();
        assert!(facts.guests.is_none() && lacks.unwrap().contains("libvirt"));
        assert_eq!((count("0-3,6"), count("3-1"), count("x")), (Some(5), None, None));
    }

    #[test]
    fn the_script_runs_in_a_shell_here() {
        let said =
            LocalRunner.run(&Invocation::program("sh").args(["-c", SCRIPT]).env("HOME", "/nowhere")).unwrap();
        assert_eq!(said.stderr, "");
        let (facts, _) = read(&said.stdout).unwrap();
        assert!(
            facts.cpus.is_some_and(|cpus| cpus > 0) && facts.used_bytes().is_some() && facts.disks.is_some()
        );
        assert!(said.stdout.ends_with("@end\n"));
    }
}
