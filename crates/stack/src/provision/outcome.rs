//! Parses the output of steps: how many things they changed, and why they failed.

use record::provision::Provisioner;
use std::fmt::Write as _;

/// The number of things that a successful run changed; `None` when its output doesn't say.
///
/// # Errors
/// When it did nothing at all; the error is a text.
pub(super) fn changed(by: Provisioner, status: i32, stdout: &str) -> Result<Option<u64>, &'static str> {
    match by {
        Provisioner::Shell => {
            let mut said = stdout.lines().rev().filter_map(|line| line.trim().strip_prefix("changed="));
            Ok(said.next().and_then(|number| number.parse().ok()))
        }
        Provisioner::Ansible => recap(stdout).map(Some),
        // Exit status 2 alone says that something was changed.
        Provisioner::Puppet if status == 0 => Ok(Some(0)),
        Provisioner::Puppet => Ok(Some(summary(stdout).unwrap_or(1).max(1))),
    }
}

/// Parses `localhost : ok=1 changed=1 unreachable=0 ...` below `PLAY RECAP`.
fn recap(stdout: &str) -> Result<u64, &'static str> {
    let lines = stdout.lines().skip_while(|line| !line.starts_with("PLAY RECAP")).skip(1);
    let hosts = lines.filter_map(|line| {
        let counts = line.split_once(" : ")?.1;
        counts.split_whitespace().find_map(|word| word.strip_prefix("changed=")?.parse::<u64>().ok())
    });
    hosts.reduce(u64::saturating_add).ok_or("no play of it is for `localhost` or `all`: nothing was done")
}

/// Parses the total below `Changes:`.
fn summary(stdout: &str) -> Option<u64> {
    let mut lines = stdout.lines().skip_while(|line| line.trim() != "Changes:").skip(1);
    lines.next()?.trim().strip_prefix("Total:")?.trim().parse().ok()
}

/// Why a run failed, with the last lines of both outputs.
pub(super) fn failure(status: i32, stdout: &str, stderr: &str, lines: usize) -> String {
    let mut text = if status < 0 {
        format!("was ended by signal {}", -status)
    } else {
        format!("ended with status {status}")
    };
    for (name, output) in [("stderr", stderr), ("stdout", stdout)] {
        let all: Vec<&str> = output.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        if !all.is_empty() {
            let _ = write!(text, "; {name} ends with:");
            for line in &all[all.len().saturating_sub(lines)..] {
                let _ = write!(text, "\n  {line}");
            }
        }
    }
    text
}

/// The end of a text, at most `bytes` long.
pub(super) fn end(text: &str, bytes: usize) -> &str {
    let mut from = text.len().saturating_sub(bytes);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::{changed, end, failure};
    use record::provision::Provisioner::{Ansible, Puppet, Shell};

    /// ansible-core 2.14.18.
    const CHANGED: &str = "
PLAY [localhost] ***************************************************************

TASK [copy] ********************************************************************
changed: [localhost]

PLAY RECAP *********************************************************************
localhost                  : ok=1    changed=1    unreachable=0    failed=0    skipped=0    rescued=0    ignored=0   
";
    const NOBODY: &str = "[WARNING]: Could not match supplied host pattern, ignoring: storage

PLAY [storage] *****************************************************************
skipping: no hosts matched

PLAY RECAP *********************************************************************
";

    #[test]
    fn ansible_says_it_in_its_recap() {
        assert_eq!(changed(Ansible, 0, CHANGED), Ok(Some(1)));
        assert_eq!(changed(Ansible, 0, &CHANGED.replace("changed=1", "changed=0")), Ok(Some(0)));
        // A task's own output is no recap.
        let printed = format!("msg : changed=7\n{CHANGED}");
        assert_eq!(changed(Ansible, 0, &printed), Ok(Some(1)));
        assert!(changed(Ansible, 0, NOBODY).unwrap_err().contains("localhost"));
    }

    /// Puppet 7.23.0, `--detailed-exitcodes --summarize`.
    const APPLIED: &str = "Notice: Compiled catalog for vm in environment production in 0.05 seconds
Notice: /Stage[main]/Main/File[/tmp/b.conf]/ensure: defined content as '{sha256}6df508a3'
Notice: Applied catalog in 0.04 seconds
Application:
   Initial environment: production
   Converged environment: production
         Run mode: user
Changes:
            Total: 3
Events:
          Success: 3
            Total: 3
";

    #[test]
    fn puppet_says_it_by_its_exit_code() {
        assert_eq!(changed(Puppet, 2, APPLIED), Ok(Some(3)));
        assert_eq!(
            changed(Puppet, 0, &APPLIED.replace("            Total: 3\nEvents", "Events")),
            Ok(Some(0))
        );
        assert_eq!(changed(Puppet, 2, "cut"), Ok(Some(1)));
    }

    #[test]
    fn a_script_says_it_in_its_last_such_line_or_not_at_all() {
        assert_eq!(changed(Shell, 0, "changed=4\nread_ahead_kb\nchanged=2\n"), Ok(Some(2)));
        assert_eq!(changed(Shell, 0, "nothing to do\nchanged=0"), Ok(Some(0)));
        assert_eq!(changed(Shell, 0, "unchanged=3\n"), Ok(None));
        assert_eq!(changed(Shell, 0, "changed=many\n"), Ok(None));
    }

    #[test]
    fn a_failure_quotes_the_last_lines() {
        let text = failure(3, "one\ntwo\n\nthree\n", "no such disk\n", 2);
        assert_eq!(
            text,
            "ended with status 3; stderr ends with:\n  no such disk; stdout ends with:\n  two\n  three"
        );
        assert_eq!(failure(-9, "", "", 2), "was ended by signal 9");
    }

    #[test]
    fn the_end_of_an_output_begins_at_a_character() {
        assert_eq!((end("aäb", 2), end("aäb", 3), end("ab", 9)), ("b", "äb", "ab"));
    }
}
