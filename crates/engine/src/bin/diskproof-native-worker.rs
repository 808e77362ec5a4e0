//! The workers of the native and the corpus engine alone, for this crate's tests and for `bench/native`: performs the task in the
//! file that its last argument names.

use diskproof_engine::corpus::CorpusEngine;
use std::io::{stderr, stdout};
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let Some(task) = arguments.last() else { return ExitCode::FAILURE };
    let copies = arguments.first().is_some_and(|verb| verb == CorpusEngine::VERB);
    let served = match copies {
        true => diskproof_engine::corpus::serve(Path::new(task), &mut stdout())
            .map_err(|e| record::printable::chain(&e)),
        false => diskproof_engine::native::serve(Path::new(task), &mut stdout(), &mut stderr())
            .map_err(|e| record::printable::chain(&e)),
    };
    match served {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}
