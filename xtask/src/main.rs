//! Chores of this repository: `cargo xtask check | generate [--check]`.

#![allow(
    clippy::disallowed_methods,
    reason = "it names only files of this repository, and may not import `record`"
)]

mod circles;
mod dependencies;
mod documents;
mod generate;
mod source;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What a chore found wrong, one line each.
type Complaints = Vec<String>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = workspace();
    let outcome = match words.as_slice() {
        ["check"] => check(&root),
        ["generate"] => generate::write(&root),
        ["generate", "--check"] => generate::check(&root),
        _ => {
            eprintln!("usage: cargo xtask check | generate [--check]");
            return ExitCode::from(2);
        }
    };
    match outcome {
        Ok(complaints) if complaints.is_empty() => ExitCode::SUCCESS,
        Ok(complaints) => {
            for complaint in &complaints {
                eprintln!("{complaint}");
            }
            eprintln!("{} complaints", complaints.len());
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

fn check(root: &Path) -> Result<Complaints, String> {
    let mut complaints = dependencies::check(&dependencies::metadata(root)?)?;
    complaints.extend(source::check(root)?);
    complaints.extend(circles::check(root)?);
    complaints.extend(documents::check(root)?);
    Ok(complaints)
}

/// The workspace's root: xtask's own folder is one below.
fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.parent().unwrap_or(own).to_path_buf()
}
