//! Pages for people.

use crate::exit::Failure;
use crate::output::{Colours, own, safe, width};
use crate::settings::Settings;
use report::Document;
use std::io::IsTerminal as _;

/// Writes a document, with the width and the colours of standard output.
///
/// # Errors
/// As [`own`].
pub(crate) fn show(document: &Document, settings: &Settings) -> Result<(), Failure> {
    let coloured = settings.colored(std::io::stdout().is_terminal());
    own(&safe(&report::terminal(document, width(), coloured), Colours::Pass))
}
