//! Whether KVM works: not whether its device is there, but whether a guest booted with it. The outcome is kept for this kernel, processor,
//! QEMU and guest kernel.

use crate::error::LabError;
use crate::machine::Accel;
use crate::places::Places;
use crate::recipe::short_hash;
use crate::steps::{folder, write_whole};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;

/// What came of trying.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Tried {
    pub(crate) accel: Accel,
    pub(crate) why: String,
}

/// What is kept, by [`key`].
fn read(places: &Places) -> BTreeMap<String, Tried> {
    // A broken file costs one more try, not the lab.
    let text = fs::read(places.accelerators()).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// What was found out before under this key.
pub(crate) fn remembered(places: &Places, key: &str) -> Option<Tried> {
    read(places).remove(key)
}

/// Keeps an outcome.
pub(crate) fn remember(places: &Places, key: &str, tried: Tried) -> Result<(), LabError> {
    let mut all = read(places);
    all.insert(key.to_owned(), tried);
    let path = places.accelerators();
    let text =
        serde_json::to_vec_pretty(&all).map_err(|e| LabError::file("write", path.clone())(e.into()))?;
    folder(places.root())?;
    write_whole(&path, &text)
}

/// This machine and what is to be booted on it.
pub(crate) fn key(guest_kernel: &str, qemu: &str) -> String {
    let uname = rustix::system::uname();
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo.lines().find(|line| line.starts_with("model name")).unwrap_or_default();
    let kernel = uname.release().to_string_lossy();
    short_hash(&format!("{kernel}\n{model}\n{qemu}\n{guest_kernel}"))
}

/// Whether KVM's device may be opened at all.
pub(crate) fn has_device() -> bool {
    fs::OpenOptions::new().read(true).write(true).open("/dev/kvm").is_ok()
}

#[cfg(test)]
mod tests {
    use super::{Accel, Tried, key, remember, remembered};
    use crate::places::Places;

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
}
