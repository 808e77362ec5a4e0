//! Pressure stall information: /proc/pressure/* (Documentation/accounting/psi.rst).

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::counter::Pressure;
use std::path::Path;

/// Parses one file. `None` when the file is empty (pressure accounting is off).
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<Option<Pressure>, ReadError> {
    let mut some = None;
    let mut full = None;
    for (line_number, line) in lines(text) {
        let mut fields = fields(line);
        let place = match fields.next() {
            Some(b"some") => &mut some,
            Some(b"full") => &mut full,
            _ => continue,
        };
        let total = fields.find_map(|field| field.strip_prefix(b"total=")).and_then(number);
        let error = || ReadError::parse(path, line_number, line, "`total=` and microseconds");
        *place = Some(total.ok_or_else(error)?);
    }
    Ok(some.map(|some_us| Pressure { some_us, full_us: full }))
}

#[cfg(test)]
mod tests {
    use super::parse;
    use record::counter::Pressure;
    use std::path::Path;

    #[test]
    fn totals_only() {
        let text = b"some avg10=0.57 avg60=0.24 avg300=1.74 total=70466335\nfull avg10=0.57 avg60=0.23 avg300=1.48 total=53981358\n";
        let pressure = parse(Path::new("io"), text).unwrap();
        assert_eq!(pressure, Some(Pressure { some_us: 70_466_335, full_us: Some(53_981_358) }));
        let cpu_of_an_older_kernel = b"some avg10=0.00 avg60=0.00 avg300=0.00 total=9\n";
        let pressure = parse(Path::new("cpu"), cpu_of_an_older_kernel).unwrap();
        assert_eq!(pressure, Some(Pressure { some_us: 9, full_us: None }));
        assert_eq!(parse(Path::new("cpu"), b"").unwrap(), None);
    }

    #[test]
    fn garbage_names_its_line() {
        let said = parse(Path::new("io"), b"some avg10=1\n").unwrap_err().to_string();
        assert_eq!(said, "io:1: expected `total=` and microseconds, found `some avg10=1`");
    }
}
