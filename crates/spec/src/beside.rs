//! Reads text files in the directory of an experiment.

use std::io::Read as _;
use std::path::Path;

/// Reads a file's text; the error says in words why that fails.
pub(crate) fn text(path: &Path, most_bytes: u64) -> Result<String, String> {
    let metadata = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err("not a regular file".to_owned());
    }
    let file = std::fs::File::open(path).map_err(|error| error.to_string())?;
    let mut bytes = Vec::new();
    file.take(most_bytes + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most_bytes {
        return Err(format!("larger than {} KiB", most_bytes >> 10));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())
}
