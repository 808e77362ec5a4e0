//! `diskproof doctor`: what this machine can do, and each setting with its origin.

mod ceiling;
pub(super) mod kernel;
mod noise;

use crate::args::Doctor;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use ceiling::CeilingReport;
use host::{LocalRunner, Runner, Tool};
use kernel::Kernel;
use noise::Noise;
use serde::Serialize;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

/// How long the noise is measured.
const LISTEN: Duration = Duration::from_secs(2);

/// What was found.
#[derive(Debug, Serialize)]
struct Findings {
    tools: Vec<ToolFound>,
    root: bool,
    /// Whether root can be had without a password; `None` when we are root.
    sudo: Option<bool>,
    kernel: Kernel,
    noise: Option<Noise>,
    /// What the native engine makes here at most.
    ceiling: CeilingReport,
    settings: Vec<SettingFound>,
    /// The configuration files that diskproof looks for, and whether each exists.
    config_files: Vec<(String, bool)>,
}

#[derive(Debug, Serialize)]
struct ToolFound {
    name: &'static str,
    version: Option<String>,
    /// The Debian package that contains it.
    package: &'static str,
    present: bool,
    /// What needs it.
    needed_for: &'static str,
}

#[derive(Debug, Serialize)]
struct SettingFound {
    name: &'static str,
    value: String,
    origin: String,
}

pub(crate) fn doctor(args: &Doctor, settings: &Settings) -> Result<Exit, Failure> {
    let wish = Wish::listen().map_err(|e| Failure::machine(format!("can't catch signals: {e}")))?;
    let findings = look(args, settings, &wish);
    if let Some(number) = wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
        return Ok(Exit::Signal(number));
    }
    if args.json {
        let text = serde_json::to_string_pretty(&findings).map_err(Failure::ours)?;
        output::json(&text)?;
    } else {
        output::answer(&text(&findings))?;
    }
    Ok(Exit::Fine)
}

fn look(args: &Doctor, settings: &Settings, wish: &Wish) -> Findings {
    let root = fleet::is_root();
    let state = &settings.state.value;
    let rows = settings.rows();
    Findings {
        tools: Tool::ALL.iter().map(|tool| tool_found(&LocalRunner, *tool)).collect(),
        root,
        sudo: (!root).then(|| fleet::may_sudo(&LocalRunner)),
        kernel: Kernel::look(Path::new("/")),
        noise: (!args.no_noise).then(|| noise::listen(LISTEN)),
        ceiling: if args.no_ceiling {
            ceiling::look(state, &observe::environment(&observe::Roots::default()))
        } else {
            ceiling::measure(state, &wish.cancel)
        },
        settings: rows
            .into_iter()
            .map(|(key, value, origin)| SettingFound { name: key.name, value, origin: origin.to_string() })
            .collect(),
        config_files: settings
            .files
            .iter()
            .map(|(path, there)| (path.to_string_lossy().into_owned(), *there))
            .collect(),
    }
}

fn tool_found(runner: &dyn Runner, tool: Tool) -> ToolFound {
    let present = host::resolve(tool).is_ok();
    let version = present.then(|| host::version(runner, tool)).flatten();
    ToolFound { name: tool.name(), version, package: tool.package(), present, needed_for: needed_for(tool) }
}

fn text(findings: &Findings) -> String {
    let mut text = String::from("tools\n");
    let rows: Vec<[String; 2]> = findings.tools.iter().map(tool_row).collect();
    text.push_str(&output::columns(&rows));

    text.push_str("\nprivileges\n");
    text.push_str(match (findings.root, findings.sudo) {
        (true, _) => "  root: everything is possible\n",
        (_, Some(true)) => "  not root, but sudo works without a password: everything is possible\n",
        _ => "  not root, and sudo would ask for a password: only existing directories, unless you run it by sudo\n",
    });

    text.push_str("\nkernel\n");
    text.push_str(&findings.kernel.text());
    if let Some(noise) = &findings.noise {
        text.push_str("\nnoise\n");
        text.push_str(&noise.text());
    }

    text.push_str("\nceiling\n");
    text.push_str(&findings.ceiling.text());

    text.push_str("\nsettings\n");
    let rows: Vec<[String; 3]> = findings
        .settings
        .iter()
        .map(|s| [format!("  {}", s.name), s.value.clone(), format!("({})", s.origin)])
        .collect();
    text.push_str(&output::columns(&rows));
    for (path, there) in &findings.config_files {
        let _ = writeln!(text, "  read {path}: {}", if *there { "yes" } else { "not there" });
    }
    text
}

fn tool_row(tool: &ToolFound) -> [String; 2] {
    let told = match (&tool.version, tool.present) {
        (Some(version), _) => version.clone(),
        (None, true) => "there, but reports no version".to_owned(),
        (None, false) => format!("not there: {} (Debian: apt-get install {})", tool.needed_for, tool.package),
    };
    [format!("  {}", tool.name), told]
}

/// What needs a tool.
fn needed_for(tool: Tool) -> &'static str {
    match tool {
        Tool::Fio => "needed for `engine: fio` only",
        Tool::Bonnie => "needed for `engine: bonnie` only",
        Tool::AnsibleInventory => "needed for inventories that only Ansible can read",
        Tool::AnsiblePlaybook => "needed for `provision: [{ ansible: ... }]` only",
        Tool::Puppet => "needed for `provision: [{ puppet: ... }]` only",
        Tool::Cp | Tool::Cpio | Tool::Rsync | Tool::Tar => "needed to compare `copier: native` with it only",
        Tool::Losetup | Tool::Mount | Tool::Umount => "needed for all but existing directories",
        Tool::Blkid | Tool::Wipefs => "needed for disks",
        Tool::MkfsExt3 => "needed for ext3",
        Tool::MkfsExt4 => "needed for ext4",
        Tool::MkfsXfs => "needed for xfs",
        Tool::Btrfs | Tool::MkfsBtrfs => "needed for btrfs",
        Tool::Exportfs | Tool::MountNfs => "needed for nfs",
        Tool::Systemctl => "needed for nfs where the server isn't running",
        Tool::Modprobe => "needed only for kernel features that are modules",
        Tool::Curl => "needed to push, pull and search results, and for machines of Google's cloud",
        Tool::Aws => "needed for the driver ec2 only",
        Tool::Gcloud => "one way to log in for the driver gce; from Google's own repository of packages",
        Tool::Sshfs | Tool::Fusermount => "needed for `diskproof machines mount` only",
        Tool::Sbatch | Tool::Squeue => "needed for `diskproof job` with Slurm only",
        tool if tool.is_of_the_lab() => "needed for `diskproof lab` only",
        Tool::Sudo => "needed only by users who aren't root",
        _ => "optional",
    }
}

#[cfg(test)]
mod tests {
    use super::{ToolFound, needed_for, tool_row};
    use host::Tool;

    #[test]
    fn a_missing_tool_is_named_with_its_use_and_its_package() {
        let row = |tool: Tool| {
            let (name, package, needed_for) = (tool.name(), tool.package(), needed_for(tool));
            tool_row(&ToolFound { name, version: None, package, present: false, needed_for }).concat()
        };
        let of_the_lab = "not there: needed for `diskproof lab` only (Debian: apt-get install";
        assert_eq!(row(Tool::QemuSystem), format!("  qemu-system-x86_64{of_the_lab} qemu-system-x86)"));
        assert_eq!(row(Tool::Mmdebstrap), format!("  mmdebstrap{of_the_lab} mmdebstrap)"));
        assert!(row(Tool::MkfsXfs).ends_with("needed for xfs (Debian: apt-get install xfsprogs)"));
    }
}
