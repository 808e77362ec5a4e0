//! Making directories of ours.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;

/// Makes a directory and those above it that are missing, mode 0755 less the umask: nobody else may ever write there, whatever the
/// umask is. Those that exist stay as they are.
///
/// # Errors
/// One can't be made.
pub fn make_directories(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o755).create(path)
}
