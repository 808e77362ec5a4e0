//! Whether KVM works: not whether /dev/kvm exists, but whether a guest boots with it. The result is stored for each combination of kernel,
//! processor, QEMU and guest kernel.

use crate::error::LabError;
use crate::machine::Accel;
use crate::places::Places;
use crate::recipe::short_hash;
use crate::steps::{Ear, StepEvent, folder, write_whole};
use host::CommandFailure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// The result of the first try.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Tried {
    accel: Accel,
    why: String,
}

/// Reads the stored results, by [`key`].
fn read(places: &Places) -> BTreeMap<String, Tried> {
    // A broken file costs one more try and is no error.
    let text = fs::read(places.accelerators()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// The stored result for a key.
fn remembered(places: &Places, key: &str) -> Option<Tried> {
    read(places).remove(key)
}

/// Whether KVM was tried for this key.
pub(crate) fn is_known(places: &Places, key: &str) -> bool {
    remembered(places, key).is_some()
}

/// Stores a result.
fn remember(places: &Places, key: &str, tried: Tried) -> Result<(), LabError> {
    let mut all = read(places);
    all.insert(key.to_owned(), tried);
    let path = places.accelerators();
    let text =
        serde_json::to_vec_pretty(&all).map_err(|e| LabError::file("write", path.clone())(e.into()))?;
    folder(places.root())?;
    write_whole(&path, &text)
}

/// A hash of this machine's kernel and processor, of QEMU and of the guest's kernel.
pub(crate) fn key(guest_kernel: &str, qemu: &str) -> String {
    let uname = rustix::system::uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    let kernel = uname.release().to_string_lossy();
    short_hash(&format!("{kernel}\n{model}\n{qemu}\n{guest_kernel}"))
}

/// Whether /dev/kvm can be opened.
pub(crate) fn has_device() -> bool {
    fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
}

/// Starts a guest with KVM, unless there is no device or KVM is known not to work, and stores the result of the first try. `None`: QEMU
/// must emulate the processor. `up` starts the guest; its argument says whether KVM is known to work. `end` cleans up after a failed try.
pub(crate) fn by_kvm<T>(
    places: &Places,
    key: &str,
    has_device: bool,
    up: impl FnOnce(bool) -> Result<T, LabError>,
    end: impl FnOnce() -> Result<(), LabError>,
    ear: Ear<'_>,
) -> Result<Option<T>, LabError> {
    let known = remembered(places, key).map(|tried| tried.accel);
    if known == Some(Accel::Tcg) || !has_device {
        return Ok(None);
    }
    match (up(known.is_some()), known) {
        (Ok(guest), Some(_)) => Ok(Some(guest)),
        (Ok(guest), None) => {
            let why = "a guest booted with it".to_owned();
            remember(places, key, Tried { accel: Accel::Kvm, why })?;
            Ok(Some(guest))
        }
        // the error has another reason and says nothing about KVM
        (Err(error), Some(_)) | (Err(error @ LabError::Port { .. }), None) => Err(error),
        (Err(error), None) => {
            end()?;
            let why = reason(&error);
            ear(&StepEvent::Note(format!(
                "KVM does not work here, so the guest is emulated in software: {why}"
            )));
            remember(places, key, Tried { accel: Accel::Tcg, why })?;
            Ok(None)
        }
    }
}

/// Why a start failed, in one line: the first line of QEMU's own message if there is one, without its arguments, which would fill a screen.
fn reason(error: &LabError) -> String {
    match error {
        LabError::Command { source: CommandFailure::Failed { stderr, .. }, .. }
            if !stderr.trim().is_empty() =>
        {
            stderr.trim().lines().next().unwrap_or_default().to_owned()
        }
        other => record::printable::chain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::{Accel, Tried, by_kvm, key, remember, remembered};
    use crate::error::LabError;
    use crate::places::Places;
    use std::cell::{Cell, RefCell};

    #[test]
    fn outcomes_are_kept_by_machine_and_guest() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::below(dir.path()).unwrap();
        assert_ne!(key("6.1", "7.2"), key("6.2", "7.2"));
        assert_eq!(remembered(&places, "a"), None);
        let tried = Tried { accel: Accel::Tcg, why: "it died".to_owned() };
        remember(&places, "a", tried.clone()).unwrap();
        remember(&places, "b", Tried { accel: Accel::Kvm, why: String::new() }).unwrap();
        assert_eq!(remembered(&places, "a"), Some(tried));
        std::fs::write(places.accelerators(), "broken").unwrap();
        assert_eq!(remembered(&places, "a"), None);
    }

    #[test]
    fn kvm_that_boots_no_guest_is_tried_once_and_software_takes_over() {
        let dir = tempfile::tempdir().unwrap();
        let places = Places::below(dir.path()).unwrap();
        let (tries, ends, told) = (Cell::new(0), Cell::new(0), RefCell::new(String::new()));
        let go = |key: &str, has_device: bool, outcome: Result<u8, LabError>| {
            let up = |_| {
                tries.set(tries.get() + 1);
                outcome
            };
            let end = || {
                ends.set(ends.get() + 1);
                Ok(())
            };
            by_kvm(&places, key, has_device, up, end, &|note| told.borrow_mut().push_str(&note.to_string()))
        };
        let dies = || {
            let how = "failed to set MSR 0x10a".to_owned();
            LabError::Guest { name: "a".to_owned(), how, console: String::new() }
        };
        assert_eq!(go("none", false, Ok(1)).unwrap(), None, "without a device");
        assert!(go("busy", true, Err(LabError::Port { port: 1 })).is_err(), "that is not KVM's fault");
        assert_eq!(remembered(&places, "busy"), None);
        assert_eq!((tries.get(), ends.get()), (1, 0));
        assert_eq!(go("bad", true, Err(dies())).unwrap(), None);
        assert_eq!((tries.get(), ends.get()), (2, 1), "what the try left is ended");
        assert!(told.borrow().contains("emulated in software: the guest a failed to set MSR"), "{told:?}");
        assert_eq!(go("bad", true, Ok(1)).unwrap(), None);
        assert_eq!(tries.get(), 2, "not again");
        assert_eq!(go("good", true, Ok(1)).unwrap(), Some(1));
        assert!(go("good", true, Err(dies())).is_err(), "it worked before, so something else is wrong");
        assert_eq!(remembered(&places, "good").unwrap().accel, Accel::Kvm);
    }
}
