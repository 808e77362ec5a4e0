//! Parses Bonnie++'s line of results: comma-separated, format 1.97 and 1.98. `+++++` marks a test that ended too quickly to be
//! measured, an empty field one that didn't run.

use record::bonnie::Figure;
use std::collections::BTreeMap;
use thiserror::Error;

/// Factors to convert a field's number.
const KIB: f64 = 1024.0;
/// Percent.
const PERCENT: f64 = 0.01;

/// The index of each field, its name in docs/metrics.md and its factor; the next field is its CPU time.
const FIGURES: [(usize, &str, f64); 12] = [
    (9, "char_output_bw", KIB),
    (11, "block_output_bw", KIB),
    (13, "rewrite_bw", KIB),
    (15, "char_input_bw", KIB),
    (17, "block_input_bw", KIB),
    (19, "seeks", 1.0),
    (26, "seq_create", 1.0),
    (28, "seq_stat", 1.0),
    (30, "seq_delete", 1.0),
    (32, "random_create", 1.0),
    (34, "random_stat", 1.0),
    (36, "random_delete", 1.0),
];
/// The index of the first latency; latencies have the same order.
const LATENCIES: usize = 38;
const FIELDS: usize = LATENCIES + FIGURES.len();

/// Why an output can't be used.
#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum CsvError {
    #[error("there is no line of results in it")]
    NoLine,
    #[error("its results are in format {format:?} with {fields} fields; known are 1.97 and 1.98")]
    Format { format: String, fields: usize },
    #[error("{name}: {field:?} is no figure")]
    NoFigure { name: &'static str, field: String },
    #[error("its results hold no figure")]
    Empty,
}

/// The version and the figures of the last line of results in a text; several processes at once give one line for all.
pub(super) fn read(text: &str) -> Result<(String, BTreeMap<String, Figure>), CsvError> {
    let line = text.lines().rev().find(|line| line.split(',').count() > LATENCIES);
    let line = line.ok_or(CsvError::NoLine)?;
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    if !matches!(fields[0], "1.97" | "1.98") || fields.len() < FIELDS {
        return Err(CsvError::Format { format: fields[0].to_owned(), fields: fields.len() });
    }
    let mut figures = BTreeMap::new();
    for (number, (place, name, factor)) in FIGURES.into_iter().enumerate() {
        let field = fields[place];
        if field.is_empty() {
            continue;
        }
        let no_figure = || CsvError::NoFigure { name, field: field.to_owned() };
        let figure = figure(field, factor).ok_or_else(no_figure)?;
        figures.insert(name.to_owned(), figure);
        let base = name.trim_end_matches("_bw");
        if let Some(cpu) = figure_or_none(fields[place + 1], PERCENT) {
            figures.insert(format!("{base}_cpu"), cpu);
        }
        // The latency of a test that was too fast is also too small to measure, and says nothing about the others.
        if let Some(us) = microseconds(fields[LATENCIES + number]) {
            figures.insert(format!("{base}_lat_max"), Figure::Value(us));
        }
    }
    if figures.is_empty() {
        return Err(CsvError::Empty);
    }
    Ok((fields[1].to_owned(), figures))
}

/// The figure in a field; `None` if there is none.
fn figure(field: &str, factor: f64) -> Option<Figure> {
    if is_too_fast(field) {
        return Some(Figure::TooFast);
    }
    let value = field.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0)?;
    Some(Figure::Value(value * factor))
}

/// The CPU time of a rate: if the rate was too fast to measure, so is this.
fn figure_or_none(field: &str, factor: f64) -> Option<Figure> {
    figure(field, factor).filter(|figure| *figure != Figure::TooFast)
}

fn is_too_fast(field: &str) -> bool {
    field.len() >= 3 && field.bytes().all(|byte| byte == b'+')
}

/// Parses `8071us`, `235ms`, `2s`.
fn microseconds(field: &str) -> Option<f64> {
    let number = field.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &field[number.len()..] {
        "us" => 1.0,
        "ms" => 1e3,
        "s" => 1e6,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|value| value * factor)
}

#[cfg(test)]
mod tests {
    use super::read;
    use record::bonnie::Figure;

    /// Output of Bonnie++ 2.00a for 64 MiB and 1024 empty files on a fast disk.
    const QUICK: &str = "1.98,2.00a,vm,1,1795348481,64M,,8192,5,284,29,+++++,+++,+++++,+++,563,40,+++++,+++,+++++,+++,1,,,,,2023,6,+++++,+++,+++++,+++,\
                         +++++,+++,+++++,+++,+++++,+++,235ms,8071us,4096us,139ms,16068us,28267us,32094us,66us,10162us,8074us,13us,9972us\n";

    #[test]
    fn figures_too_fast_to_measure_are_neither_0_nor_absent() {
        let (version, figures) = read(QUICK).unwrap();
        assert_eq!(version, "2.00a");
        assert_eq!(figures["char_output_bw"], Figure::Value(284.0 * 1024.0));
        assert_eq!(figures["char_output_cpu"], Figure::Value(0.29));
        assert_eq!(figures["char_output_lat_max"], Figure::Value(235_000.0));
        assert_eq!(figures["seq_create"], Figure::Value(2023.0));
        for name in ["block_output_bw", "rewrite_bw", "block_input_bw", "seeks", "seq_stat", "random_delete"]
        {
            assert_eq!(figures[name], Figure::TooFast, "{name}");
        }
        assert!(!figures.contains_key("seeks_cpu"));
        for name in figures.keys() {
            assert_eq!(record::metric::info(name).unwrap().of, record::metric::MetricOf::Bonnie, "{name}");
        }
        assert_eq!(figures["random_stat_lat_max"], Figure::Value(13.0));
    }

    #[test]
    fn what_was_not_asked_for_is_absent() {
        // Output of Bonnie++ 2.00a with -n 0 -f.
        let without_files = "1.98,2.00a,diskproof,1,5,16M,,8192,5,,,91000,11,+++++,+++,,,+++++,+++,312.5,3,,,,,,,,,,,,,,,,,,,8070us,16093us,,\
                             20096us,72082us,,,,,,";
        let (_, figures) = read(without_files).unwrap();
        assert_eq!(figures["seeks"], Figure::Value(312.5));
        assert_eq!(figures["block_output_bw"], Figure::Value(91_000.0 * 1024.0));
        assert!(!figures.contains_key("seq_create") && !figures.contains_key("char_output_bw"));
    }

    #[test]
    fn what_is_no_result_is_refused() {
        assert!(read("Writing a byte at a time...done\n").unwrap_err().to_string().contains("no line"));
        assert!(read(&QUICK.replacen("1.98", "1.96", 1)).unwrap_err().to_string().contains("1.96"));
        assert!(read(&QUICK.replace(",2023,", ",nonsense,")).unwrap_err().to_string().contains("seq_create"));
    }
}
