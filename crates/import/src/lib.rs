//! Results of other tools: reads their files, and makes a plan and trials of them.
//!
//! Pure: text in, records or typed errors out. The controller reads the files and stores the run. A format is one file here and one row in
//! [`FORMATS`]; a tool that diskproof recognizes and refuses is one row in `foreign`.
//!
//! ```text
//! Source --read--> Found (trials, or a log) --assemble--> plan, trials
//! ```

mod assemble;
mod bonnie;
mod elbencho;
mod error;
mod fio;
mod foreign;
mod format;
mod measured;
mod naming;
mod source;

pub use assemble::{About, Assembled, assemble};
pub use error::ReadError;
pub use format::{FORMATS, Format, read};
pub use measured::{Found, Measured};
pub use source::Source;
