//! One machine, near or far: run a tool on it. Every external program that diskproof uses is named in [`Tool`], found once in
//! fixed directories (never `$PATH`), and given an argument vector, never a shell.

mod capture;
mod directories;
mod failure;
mod invocation;
mod resolve;
mod runner;
mod ssh;
mod tool;
mod version;

pub use directories::make_directories;
pub use failure::CommandFailure;
pub use invocation::{Invocation, Program};
pub use resolve::{DIRECTORIES, find, resolve};
pub use runner::{LocalRunner, Output, Runner, STARTED_BY};
pub use ssh::{Installed, Ssh, SshError};
pub use tool::Tool;
pub use version::version;
