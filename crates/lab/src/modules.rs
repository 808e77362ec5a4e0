//! ZFS's kernel modules: Debian's DKMS package builds them in a temporary tree. Only the modules are kept, by kernel version.

use crate::apt;
use crate::error::LabError;
use crate::namespaces::contained;
use crate::prerequisite::{need_space, need_tools};
use crate::recipe::SUITE;
use crate::steps::{Ear, folder, put, remove, step, with_end};
use host::{Runner, Tool};
use record::printable::Shown as _;
use std::fs;
use std::path::{Path, PathBuf};

/// The space that the tree needs with compiler, headers and objects.
const TREE_MIB: u64 = 2560;
/// The programs that the build needs.
const TOOLS: [Tool; 4] = [Tool::Mmdebstrap, Tool::Unshare, Tool::Setpriv, Tool::AptGet];
/// The modules that the build must produce.
const NEEDED: [&str; 2] = ["zfs.ko", "spl.ko"];

/// Builds the modules into `place`. `mirror`: the mirror of the packages; `None`: the one that apt uses on this machine.
pub(crate) fn build(
    place: &Path,
    kernel: &str,
    mirror: Option<&str>,
    runner: &dyn Runner,
    ear: Ear<'_>,
) -> Result<(), LabError> {
    if place.exists() {
        return remove(&tree(place));
    }
    need_tools(&TOOLS)?;
    place.parent().map_or(Ok(()), folder)?;
    need_space(place.parent().unwrap_or(place), "building ZFS's modules", TREE_MIB)?;
    let mirror = apt::mirror(runner, mirror)?;
    let name = format!("ZFS's modules for {kernel}");
    step(ear, &name, "about 5 minutes of compiling", || compile(place, kernel, &mirror, runner))
}

/// The path of the temporary tree.
pub(crate) fn tree(place: &Path) -> PathBuf {
    with_end(place, ".tree.tmp")
}

fn compile(place: &Path, kernel: &str, mirror: &str, runner: &dyn Runner) -> Result<(), LabError> {
    let (tree, made) = (tree(place), with_end(place, ".tmp"));
    remove(&tree)?;
    remove(&made)?;
    let packages = format!("--include=linux-headers-{kernel},zfs-dkms,dkms,gcc,make,libc6-dev");
    let build = contained(Tool::Mmdebstrap)?
        .args(["--mode=root", "--variant=minbase", "--format=directory", "--components=main,contrib"])
        .args(["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"])
        // The package builds for the newest kernel with headers. This builds for the guest's kernel if that is another one.
        .arg(format!("--customize-hook=chroot \"$1\" dkms autoinstall -k {kernel}"))
        .args([packages.as_str(), SUITE])
        .arg(&tree)
        .arg(mirror);
    runner.run(&build).map_err(LabError::command("building ZFS's modules in a throw-away tree"))?;
    folder(&made)?;
    let built = tree.join("lib/modules").join(kernel).join("updates/dkms");
    for entry in fs::read_dir(&built).map_err(LabError::file("read", &built))?.flatten() {
        fs::copy(entry.path(), made.join(entry.file_name())).map_err(LabError::file("copy", entry.path()))?;
    }
    if let Some(lacks) = NEEDED.iter().find(|name| !made.join(name).exists()) {
        return Err(LabError::Broken { what: format!("building ZFS left no {lacks} in {}", built.shown()) });
    }
    put(&made, place)?;
    remove(&tree)
}

#[cfg(test)]
mod tests {
    use super::{TOOLS, compile};
    use crate::prerequisite::need_tools;
    use crate::workshop::{KERNEL, Workshop, leftovers};

    #[test]
    fn interrupted_compiling_begins_anew_and_leaves_nothing() {
        if need_tools(&TOOLS).is_err() {
            eprintln!("skipped: needs mmdebstrap and what it needs");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let place = dir.path().join(KERNEL);
        let run = |machine: &Workshop, kernel| compile(&place, kernel, "http://m/debian", machine);
        run(&Workshop::failing_at(0), KERNEL).unwrap_err();
        assert!(run(&Workshop::default(), "6.9").is_err(), "built for another kernel");
        assert!(!place.exists() && !leftovers(dir.path()).is_empty());
        run(&Workshop::default(), KERNEL).unwrap();
        assert!(place.join("zfs.ko").exists() && place.join("spl.ko").exists());
        assert_eq!(leftovers(dir.path()), [""; 0]);
    }
}
