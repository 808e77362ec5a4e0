//! The kernel's storage targets, which serve a disk to other machines: NVMe over fabrics (nvmet) and SCSI (LIO). Both are
//! configured through configfs, and don't always open exclusively what they serve.

use crate::block::names_in;
use crate::check::users::Sight;
use crate::devno::DevNo;
use crate::loops::file_at;
use crate::node::block_at;
use crate::refusal::{Check, Dissent};
use record::printable::Shown as _;
use record::roots::Roots;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A device or file that a target serves.
struct Export {
    /// Its name in messages.
    name: String,
    /// The device's number, where the target prints it.
    number: Option<DevNo>,
    /// A device or a file.
    path: Option<PathBuf>,
    remedy: String,
}

/// Exports of the disk, of anything stacked on it, or of a file on it; and targets that can't be examined.
pub(crate) fn testify(roots: &Roots, sight: &Sight) -> Vec<Dissent> {
    let mut dissent = Vec::new();
    for (module, list) in [("nvmet", nvmet as fn(&Path) -> io::Result<Vec<Export>>), ("target_core_mod", lio)]
    {
        let config =
            roots.sys(if module == "nvmet" { "kernel/config/nvmet" } else { "kernel/config/target" });
        match list(&config) {
            Ok(exports) => dissent.extend(exports.iter().filter_map(|export| judge(roots, sight, export))),
            Err(error) if error.kind() == io::ErrorKind::NotFound && !is_loaded(roots, module) => {}
            Err(error) => dissent.push(Dissent::unheard(
                Check::Holders,
                format!(
                    "the kernel can export disks ({module}), and {} can't be read: {error}",
                    config.shown()
                ),
                "mount -t configfs none /sys/kernel/config; ask again as root",
            )),
        }
    }
    dissent
}

fn is_loaded(roots: &Roots, module: &str) -> bool {
    roots.sys("module").join(module).exists()
}

fn judge(roots: &Roots, sight: &Sight, export: &Export) -> Option<Dissent> {
    let devices = export.number.into_iter().chain(export.path.as_deref().and_then(|path| under(roots, path)));
    let devices: Vec<DevNo> = devices.collect();
    if devices.is_empty() {
        let path = export.path.as_deref().unwrap_or(Path::new("")).shown();
        let why = format!("it is unknown what {} rests on ({path:?})", export.name, path = path.to_string());
        return Some(Dissent::unheard(Check::Holders, why, export.remedy.clone()));
    }
    let member = devices.iter().find_map(|number| sight.family.member(*number))?;
    let saw = format!("{} is exported by {}", member.block.label(), export.name);
    Some(Dissent::new(Check::Holders, saw, export.remedy.clone()))
}

/// The block device at a path, or below the file system of a file.
fn under(roots: &Roots, path: &Path) -> Option<DevNo> {
    let path = roots.in_dev(path);
    block_at(roots, &path).or_else(|_| file_at(&path).map(|(file_system, _)| file_system)).ok()
}

/// The trimmed text of an attribute; `None` when it is missing, and an error when it can't be read.
fn text(path: &Path) -> io::Result<Option<String>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The sub-directories of a directory. One that vanishes meanwhile counts as empty.
fn directories(dir: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let names = match names_in(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        other => other?,
    };
    let all = names.into_iter().map(|name| (name.clone(), dir.join(name)));
    Ok(all.filter(|(_, path)| path.is_dir()).collect())
}

/// The enabled namespaces: `subsystems/NQN/namespaces/N/{device_path,enable}`.
fn nvmet(config: &Path) -> io::Result<Vec<Export>> {
    fs::read_dir(config)?;
    let mut found = Vec::new();
    for (subsystem, dir) in directories(&config.join("subsystems"))? {
        for (number, namespace) in directories(&dir.join("namespaces"))? {
            if text(&namespace.join("enable"))?.as_deref() == Some("0") {
                continue;
            }
            let path =
                text(&namespace.join("device_path"))?.filter(|path| !path.is_empty()).map(PathBuf::from);
            found.push(Export {
                name: format!("the NVMe target {subsystem:?}, namespace {number}"),
                number: None,
                path,
                remedy: format!("echo 0 > {}/enable, if no machine needs it", namespace.shown()),
            });
        }
    }
    Ok(found)
}

/// The active back stores: `core/HBA/NAME/{info,udev_path}`. Those in memory and those of user-space programs rest on no disk
/// that the kernel knows.
fn lio(config: &Path) -> io::Result<Vec<Export>> {
    fs::read_dir(config)?;
    let mut found = Vec::new();
    for (hba, dir) in directories(&config.join("core"))? {
        let kind = hba.rsplit_once('_').map_or(hba.as_str(), |(kind, _)| kind);
        if !matches!(kind, "iblock" | "fileio" | "pscsi") {
            continue;
        }
        for (store, dir) in directories(&dir)? {
            let Some(info) = text(&dir.join("info"))? else { continue };
            if !info.contains("Status: ACTIVATED") {
                continue;
            }
            let told = text(&dir.join("udev_path"))?.filter(|path| !path.is_empty()).map(PathBuf::from);
            found.push(Export {
                name: format!("the SCSI target's back store {hba}/{store:?}"),
                number: numbers(&info),
                path: told.or_else(|| between(&info, "File: ", "  Size:").map(PathBuf::from)),
                remedy: format!("targetcli /backstores/{kind} delete {store:?}, if no machine needs it"),
            });
        }
    }
    Ok(found)
}

/// Parses `Major: 8 Minor: 16` in iblock's info.
fn numbers(info: &str) -> Option<DevNo> {
    let number = |key| between(info, key, " ").and_then(|text| text.parse().ok());
    Some(DevNo { major: number("Major: ")?, minor: number("Minor: ")? })
}

/// The text between two words on a line.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let rest = text.lines().find_map(|line| line.split_once(before))?.1;
    Some(rest.split_once(after).map_or(rest, |(found, _)| found).trim())
}

#[cfg(test)]
mod tests {
    use super::{between, numbers};

    #[test]
    fn the_target_core_tells_its_devices() {
        let info = "Status: ACTIVATED  Max Queue Depth: 0  SectorSize: 512  HwMaxSectors: 1024\n        \
                    iBlock device: sdb  UDEV PATH: /dev/sdb  readonly: 0\n        \
                    Major: 8 Minor: 16  CLAIMED: IBLOCK";
        assert_eq!(numbers(info).unwrap().to_string(), "8:16");
        let info = "TCM FILEIO ID: 0        File: /srv/two words.img  Size: 1048576  Mode: O_DSYNC";
        assert_eq!(between(info, "File: ", "  Size:"), Some("/srv/two words.img"));
        assert_eq!(numbers(info), None);
    }
}
