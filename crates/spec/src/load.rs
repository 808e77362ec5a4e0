//! From a path or a text to a plan.

use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::experiment::{self, Outcome};
use crate::limits::MAX_FILE_BYTES;
use crate::parameter::Parameter;
use crate::problems::Problems;
use crate::source::{Source, Span};
use crate::workload::NO_SIZE;
use record::plan::Plan;
use record::printable::Shown as _;
use record::quantity::Bytes;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A plan, with notes about it.
#[derive(Debug, Clone, PartialEq)]
pub struct Loaded {
    /// The plan. Its seed is the one in the file, or 0; the caller may replace it.
    pub plan: Plan,
    /// Whether the file fixes the seed.
    pub seeded: bool,
    /// Notes about things that are allowed but probably unintended, each with its line.
    pub notes: Vec<String>,
}

/// The reason why there is no plan.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The file has errors.
    #[error("{0}")]
    Diagnostics(Diagnostics),
    /// Parameters without a default have no value.
    #[error("{}", missing(.0))]
    MissingParameters(Vec<Parameter>),
    /// The file could not be read.
    #[error("cannot read {}", path.shown())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
}

impl LoadError {
    /// Whether a job file leaves its sizes to the file or device, and the experiment gives no `size` beside it.
    #[must_use]
    pub fn lacks_size(&self) -> bool {
        match self {
            Self::Diagnostics(all) => all.list.iter().any(|one| one.message == NO_SIZE),
            Self::MissingParameters(_) | Self::Io { .. } => false,
        }
    }
}

fn missing(parameters: &[Parameter]) -> String {
    let mut text = "these parameters have no default and were not given:".to_owned();
    for one in parameters {
        text.push_str(&format!("\n  --set {}=... ({})", one.name, one.kind));
        if let Some(help) = &one.help {
            text.push_str(&format!(": {help}"));
        }
    }
    text
}

/// Reads an experiment file. `set` has the values of parameters, as text, by name.
///
/// # Errors
/// If the file cannot be read, has errors, or lacks values of parameters. All errors in the file are reported together.
pub fn load(path: &Path, set: &BTreeMap<String, String>) -> Result<Loaded, LoadError> {
    let io = |source| LoadError::Io { path: path.to_owned(), source };
    if !std::fs::metadata(path).map_err(io)?.is_file() {
        return Err(io(std::io::Error::other("it is not a regular file")));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(io)?;
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(io)?;
    let base_dir = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    parse_bytes(&bytes, &path.shown().to_string(), base_dir, set)
}

/// Reads an experiment from bytes that need not be text. Messages use `name` for the file; relative paths in the experiment start
/// at `base_dir`.
///
/// # Errors
/// As for [`load`], except for reading the file.
pub fn parse_bytes(
    bytes: &[u8],
    name: &str,
    base_dir: &Path,
    set: &BTreeMap<String, String>,
) -> Result<Loaded, LoadError> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(single(Diagnostic {
            file: name.to_owned(),
            message: format!("the file is larger than {}", Bytes(MAX_FILE_BYTES)),
            help: Some("an experiment is a page of text; is this the right file?".to_owned()),
            ..Diagnostic::default()
        }));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text, name, base_dir, set),
        Err(error) => {
            let sound = bytes.get(..error.valid_up_to()).unwrap_or_default();
            let source = Source::new(name, &String::from_utf8_lossy(sound));
            let mut problems = Problems::new(&source);
            let at = Span { start: error.valid_up_to(), end: error.valid_up_to() };
            problems.add(at, "the file is not UTF-8 text from here on").help("save it as UTF-8");
            Err(LoadError::Diagnostics(problems.finish().err().unwrap_or_default()))
        }
    }
}

/// Reads an experiment from a text.
///
/// # Errors
/// As for [`load`], except for reading the file.
pub fn parse(
    text: &str,
    name: &str,
    base_dir: &Path,
    set: &BTreeMap<String, String>,
) -> Result<Loaded, LoadError> {
    if text.len() as u64 > MAX_FILE_BYTES {
        return parse_bytes(text.as_bytes(), name, base_dir, set);
    }
    let source = Source::new(name, text);
    let mut problems = Problems::new(&source);
    let Some(root) = crate::tree::parse(text, &mut problems) else {
        return Err(LoadError::Diagnostics(problems.finish().err().unwrap_or_default()));
    };
    let outcome = if problems.none() {
        experiment::read(&root, text, base_dir, set, &mut problems)
    } else {
        // After duplicate keys and the like, the reader continues, to report other errors, but makes no plan.
        experiment::read(&root, text, base_dir, set, &mut problems);
        Outcome::Wrong
    };
    match outcome {
        Outcome::Missing(parameters) => Err(LoadError::MissingParameters(parameters)),
        Outcome::Plan(plan) => {
            let seeded = crate::tree::find(&root, "seed").is_some();
            let notes = problems.finish().map_err(LoadError::Diagnostics)?;
            Ok(Loaded { plan: *plan, seeded, notes })
        }
        Outcome::Wrong => Err(LoadError::Diagnostics(problems.finish().err().unwrap_or_default())),
    }
}

fn single(diagnostic: Diagnostic) -> LoadError {
    LoadError::Diagnostics(Diagnostics { list: vec![diagnostic], more: false })
}
