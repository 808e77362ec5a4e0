//! The native engine's worker alone, for the room's own tests and for `bench/native`: performs the task in the file named
//! by its last argument.

use std::io::{stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(task) = std::env::args_os().next_back() else { return ExitCode::FAILURE };
    match diskproof_engine::native::serve(Path::new(&task), &mut stdout(), &mut stderr()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let source = std::error::Error::source(&error).map_or(String::new(), |s| format!(": {s}"));
            let _ = writeln!(stderr(), "{error}{source}");
            ExitCode::FAILURE
        }
    }
}
