//! For tests only: loop devices, exclusive use of the machine, and comparison of the machine's state before and after.
//!
//! Everything that tests create has [`PREFIX`] in its name, and only such things are removed. `DISKPROOF_TEST_KEEP=1` keeps everything.

mod cleanup;
mod exclusive;
mod kernel_mate;
mod libvirt;
mod loop_device;
mod machine_state;
mod ownership;
mod port;
mod program;
mod sshd;
mod tool;

pub use cleanup::cleanup;
pub use exclusive::{Exclusive, Lock, exclusive, exclusive_guests, is_root, keep_wreck};
pub use kernel_mate::KernelMate;
pub use libvirt::LibvirtMachines;
pub use loop_device::LoopDevice;
pub use machine_state::{MachineState, Watch};
pub use port::free_port;
pub use program::{program, script, state_dir, stripped};
pub use sshd::{Silence, Sshd};

/// The beginning of the name of every file, directory, mount point, cgroup and label of a test.
pub const PREFIX: &str = "diskproof-test-";

/// Creates an empty directory `<temp>/diskproof-test-<name>`, after removing what an earlier test of that name left.
///
/// # Panics
/// If it can't be created.
#[must_use]
pub fn fresh_dir(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("{PREFIX}{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    match std::fs::create_dir_all(&dir) {
        Ok(()) => dir,
        Err(error) => panic!("{}: {error}", dir.to_string_lossy()),
    }
}
