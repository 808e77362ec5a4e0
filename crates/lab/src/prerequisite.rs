//! What must be there before a step begins: programs, and free space.

use crate::error::LabError;
use host::{Runner, Tool};
use std::path::Path;

/// Checks that all programs exist; the error lists all that are missing.
pub(crate) fn need_tools(tools: &[Tool]) -> Result<(), LabError> {
    need(tools, |tool| host::resolve(tool).is_ok())
}

fn need(tools: &[Tool], is_there: impl Fn(Tool) -> bool) -> Result<(), LabError> {
    let missing: Vec<Tool> = tools.iter().copied().filter(|tool| !is_there(*tool)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<&'static str> = missing.iter().map(|tool| tool.package()).collect();
    packages.sort_unstable();
    packages.dedup();
    Err(LabError::Tools { tools: missing.iter().map(|tool| tool.name()).collect(), packages })
}

/// Returns the version of QEMU: a saved state can be restored by the same version only.
///
/// # Errors
/// QEMU fails, or says no version. It couldn't start a guest, either.
pub(crate) fn qemu_version(runner: &dyn Runner) -> Result<String, LabError> {
    let asked = host::asked_version(runner, Tool::QemuSystem);
    let asked = asked.map_err(|source| LabError::Command { doing: "asking QEMU for its version", source })?;
    asked.ok_or(LabError::NoVersion)
}

/// Checks that a folder's file system has so much free space.
pub(crate) fn need_space(path: &Path, what: &'static str, needed_mib: u64) -> Result<(), LabError> {
    let found = rustix::fs::statvfs(path).map_err(|e| LabError::file("look at", path)(e.into()))?;
    let free_mib = found.f_bavail.saturating_mul(found.f_frsize) >> 20;
    if free_mib >= needed_mib {
        return Ok(());
    }
    Err(LabError::Space { path: path.to_path_buf(), what, free_mib, needed_mib })
}

#[cfg(test)]
mod tests {
    use super::{need, need_space, qemu_version};
    use crate::error::LabError;
    use host::{CommandFailure, Invocation, Output, Runner, Tool};
    use std::path::Path;

    /// A QEMU that prints this; `None`: it fails.
    struct Qemu(Option<&'static str>);

    impl Runner for Qemu {
        fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
            let argv = cmd.argv();
            assert_eq!(argv, ["qemu-system-x86_64", "--version"]);
            match self.0 {
                Some(text) => Ok(Output { argv, stdout: text.to_owned(), ..Output::default() }),
                None => {
                    let (stdout, stderr) = (String::new(), "libfdt.so.1 is missing".to_owned());
                    Err(CommandFailure::Failed { argv, status: 127, stdout, stderr })
                }
            }
        }
    }

    #[test]
    fn a_qemu_without_a_version_is_an_error() {
        let version = qemu_version(&Qemu(Some("QEMU emulator version 7.2.22\nCopyright"))).unwrap();
        assert_eq!(version, "QEMU emulator version 7.2.22");
        let failed = record::printable::chain(&qemu_version(&Qemu(None)).unwrap_err());
        assert!(
            failed.contains("asking QEMU for its version failed") && failed.contains("libfdt.so.1"),
            "{failed}"
        );
        assert!(matches!(qemu_version(&Qemu(Some("\n"))), Err(LabError::NoVersion)));
    }

    #[test]
    fn a_full_disk_names_the_way_out() {
        let error = need_space(Path::new("/"), "a test", u64::MAX).unwrap_err().to_string();
        assert!(error.contains("MiB free") && error.contains("--state"), "{error}");
        need_space(Path::new("/"), "a test", 0).unwrap();
    }

    #[test]
    fn missing_programs_are_named_with_their_packages() {
        let tools = [Tool::QemuSystem, Tool::QemuImg, Tool::Ssh, Tool::Mmdebstrap];
        let error = need(&tools, |tool| tool == Tool::Ssh).unwrap_err().to_string();
        assert_eq!(
            error,
            "the lab needs qemu-system-x86_64, qemu-img, mmdebstrap, not on this machine; on Debian: apt-get install mmdebstrap \
             qemu-system-x86 qemu-utils"
        );
        need(&tools, |_| true).unwrap();
    }
}
