//! Durable directory entries.

use std::fs::File;
use std::io;
use std::path::Path;

/// Makes the names in a directory survive a power cut.
pub(crate) fn sync_dir(dir: &Path) -> io::Result<()> {
    File::open(dir)?.sync_all()
}
