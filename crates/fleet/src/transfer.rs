//! Copies files to and from machines: checked by their digests, continued after a broken connection, and put in place at once when they are
//! whole. The other side needs a POSIX shell and coreutils.

mod copied;
mod get;
mod put;
mod steps;

pub use copied::{Copied, CopyError};
pub use get::get;
pub use put::put;
