//! What a machine does when it boots, as cloud-init takes it.

use crate::protocol::Claim;
use serde_json::{Value, json};

/// Makes a link for each disk of the machine itself, in the order of their serial numbers: EC2 doesn't tell these, so there is no other
/// name that is known before. It runs at each boot, before sshd.
const EPHEMERAL_LINKS: &str = r#"rules=/run/udev/rules.d/99-diskproof.rules
mkdir -p /run/udev/rules.d
n=0
for serial in $(for disk in /sys/block/nvme*; do
    grep -qs '^Amazon EC2 NVMe Instance Storage' "$disk/device/model" && cat "$disk/device/serial"
done | sort); do
    echo "SUBSYSTEM==\"block\", ENV{DEVTYPE}==\"disk\", ATTRS{serial}==\"$serial*\", SYMLINK+=\"disk/by-id/diskproof-ephemeral-$n\""
    n=$((n + 1))
done >"$rules"
udevadm control --reload
udevadm trigger --subsystem-match=block --settle
"#;

/// Returns the link of an ephemeral disk.
pub(super) fn ephemeral_link(index: usize) -> String {
    format!("/dev/disk/by-id/diskproof-ephemeral-{index}")
}

/// Returns the user data. It depends on the request alone, so that a repeated launch is the same launch for EC2; so it holds no host key
/// made by us. It has no secret: everybody on the machine can read it.
pub(super) fn of(claim: &Claim, user: &str, public_key: &str, has_ephemeral: bool) -> String {
    let mut config = json!({
        "users": ["default", {
            "name": user,
            "shell": "/bin/bash",
            "sudo": "ALL=(ALL) NOPASSWD:ALL",
            "lock_passwd": true,
            "ssh_authorized_keys": [public_key.trim()],
        }],
        "ssh_pwauth": false,
        "write_files": [{
            "path": "/var/lib/cloud/scripts/per-boot/diskproof-deadline.sh",
            "permissions": "0755",
            "content": deadline(claim.deadline),
        }],
    });
    if has_ephemeral {
        config["bootcmd"] = Value::from(vec![json!(["sh", "-c", EPHEMERAL_LINKS])]);
    }
    format!("#cloud-config\n{config}\n")
}

/// At each boot: off at the deadline. The machine's shutdown behaviour is `terminate`, so off is gone, with its volumes.
fn deadline(deadline: u64) -> String {
    format!(
        "#!/bin/sh\n\
         # The claim ends at {deadline} (seconds since 1970): whatever happened to the machine that made this one, it stops to cost then.\n\
         minutes=$((({deadline} - $(date +%s)) / 60))\n\
         [ \"$minutes\" -ge 1 ] || minutes=1\n\
         exec shutdown -P \"+$minutes\" \"the deadline of this machine's claim\"\n"
    )
}

#[cfg(test)]
mod tests {
    use super::of;
    use crate::protocol::Claim;
    use serde_json::Value;
    use std::process::Command;

    fn config(has_ephemeral: bool) -> Value {
        let claim = Claim { id: "0".repeat(32), run: "r".into(), deadline: 2_000_000_000 };
        let text = of(&claim, "diskproof", "ssh-ed25519 AAAA me\n", has_ephemeral);
        serde_json::from_str(text.strip_prefix("#cloud-config\n").unwrap()).unwrap()
    }

    #[test]
    fn scripts_are_valid_for_the_shell_of_the_machine() {
        let config = config(true);
        for script in [&config["write_files"][0]["content"], &config["bootcmd"][0][2]] {
            let status = Command::new("sh").args(["-n", "-c", script.as_str().unwrap()]).status().unwrap();
            assert!(status.success(), "{script}");
        }
    }

    #[test]
    fn the_shutdown_is_due_at_the_deadline() {
        let config = config(false);
        let script = config["write_files"][0]["content"].as_str().unwrap();
        let script = script.replace("$(date +%s)", "$NOW").replace("exec shutdown", "echo shutdown");
        let at = |now: u64| {
            let output =
                Command::new("sh").args(["-c", &script]).env("NOW", now.to_string()).output().unwrap();
            String::from_utf8(output.stdout).unwrap()
        };
        assert!(at(2_000_000_000 - 3600).starts_with("shutdown -P +60 "));
        assert!(
            at(2_000_000_001).starts_with("shutdown -P +1 "),
            "a machine that boots after its deadline ends at once"
        );
        assert_eq!(config["users"][1]["ssh_authorized_keys"][0], "ssh-ed25519 AAAA me");
        assert!(config.get("bootcmd").is_none());
    }
}
