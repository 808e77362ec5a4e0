//! Quantities on a command line, in the form of an experiment file.

use crate::quantity::{Wrong, amount, duration};

/// Parses a time with its unit, and returns seconds: `500ms`, `20s`, `5m`, `1h`.
///
/// # Errors
/// If the text is wrong; the message says why.
pub fn seconds(text: &str) -> Result<f64, String> {
    duration(text).map(|number| number.to_f64()).map_err(in_words)
}

/// Parses a time that may have years (8760 hours) and months (730 hours), and returns seconds: `3y`, `36 months`, `8760h`.
///
/// # Errors
/// If the text is wrong, or if the time is no whole number of seconds; the message says why.
pub fn span(text: &str) -> Result<u64, String> {
    let seconds = crate::prices::span(text).map_err(in_words)?;
    let whole = seconds.whole().and_then(|seconds| u64::try_from(seconds).ok());
    whole.ok_or_else(|| format!("`{text}` is not a whole number of seconds"))
}

/// Parses a size, and returns bytes: `4096`, `10g`; suffixes are powers of 1024.
///
/// # Errors
/// If the text is wrong; the message says why.
pub fn bytes(text: &str) -> Result<u64, String> {
    let number =
        amount(text).ok_or_else(|| format!("`{text}` is not a size, e.g. `10g`"))?.map_err(in_words)?;
    number
        .whole()
        .and_then(|n| u64::try_from(n).ok())
        .ok_or_else(|| format!("`{text}` is not a whole number of bytes"))
}

fn in_words(wrong: Wrong) -> String {
    let Wrong { message, help, .. } = wrong;
    help.map_or_else(|| message.clone(), |help| format!("{message}; {help}"))
}

#[cfg(test)]
mod tests {
    use super::{bytes, seconds};

    #[test]
    fn quantities_are_read_as_in_an_experiment_file() {
        assert_eq!((seconds("90m"), bytes("10g")), (Ok(5400.0), Ok(10 << 30)));
        assert!(seconds("90").is_err() && bytes("ten").is_err());
        assert!(bytes("10gb").unwrap_err().contains("write `10g`"));
    }
}
