//! Runs tools on one machine, local or remote. [`Tool`] names every external program that diskproof uses. Each is searched once
//! in fixed directories (never `$PATH`), and gets an argument vector, never a shell. It also opens the files
//! of a state directory: only those that no other user can have written.

mod capture;
mod crowd;
mod failure;
pub mod http;
mod invocation;
mod resolve;
mod runner;
mod ssh;
mod state_file;
mod tool;
mod trusted_dir;
mod version;

pub use crowd::{Crowd, CrowdEvent, Ending, Input, Stream};
pub use failure::CommandFailure;
pub use invocation::{Invocation, Program};
pub use resolve::{DIRECTORIES, find, resolve};
pub use runner::{LocalRunner, Output, Runner, STARTED_BY};
pub use ssh::{Copied, Installed, Ssh, SshError, last_words, sha256};
pub use state_file::{StateAccess, Untrusted, open_regular, open_trusted, read_trusted, untrusted_by};
pub use tool::Tool;
pub use trusted_dir::{TrustError, TrustedDir, only_ours_down_to, only_ours_in};
pub use version::{asked_version, version};
