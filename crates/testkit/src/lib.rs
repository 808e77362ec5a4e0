//! For tests only: loop devices, exclusive use of the machine, and the machine's state before and after.
//!
//! Everything made here carries [`PREFIX`]; only what carries it is ever removed. `DISKPROOF_TEST_KEEP=1` keeps the wreck.

mod cleanup;
mod exclusive;
mod loop_device;
mod machine_state;
mod program;
mod tool;

pub use cleanup::cleanup;
pub use exclusive::{Exclusive, exclusive, is_root, keep_wreck};
pub use loop_device::LoopDevice;
pub use machine_state::{MachineState, Watch};
pub use program::{program, state_dir, stripped};

/// What every file, directory, mount point, cgroup and label of a test begins with.
pub const PREFIX: &str = "diskproof-test-";

/// A fresh empty directory `<temp>/diskproof-test-<name>`: what an earlier test of that name left is removed.
///
/// # Panics
/// When it can't be made.
#[must_use]
pub fn fresh_dir(name: &str) -> std::path::PathBuf {
    let dir = std::env::temp_dir().join(format!("{PREFIX}{name}"));
    let _ = std::fs::remove_dir_all(&dir);
    match std::fs::create_dir_all(&dir) {
        Ok(()) => dir,
        Err(error) => panic!("{}: {error}", dir.to_string_lossy()),
    }
}
