//! Parses Bonnie++'s lines of results: comma-separated, format 1.96 to 1.98, and that of Bonnie++ 1.00 to 1.03. `+++++` marks a test that ended too quickly to be
//! measured, an empty field one that didn't run.

use crate::bonnie::{BonnieAsk, Figure};
use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

mod before_1_9;

pub use before_1_9::{VERSION as VERSION_BEFORE_1_9, is_before_1_9};

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
/// The fields of seek processes, which format 1.96 lacks.
const SEEKERS: [usize; 2] = [7, 8];

/// Why an output can't be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CsvError {
    /// There is no line of results.
    NoLine,
    /// The line is in an unknown format.
    Format {
        /// Its format.
        format: String,
        /// Its number of fields.
        fields: usize,
    },
    /// A figure is no number.
    NoFigure {
        /// Name of the metric.
        name: &'static str,
        /// What stands there.
        field: String,
    },
    /// The line has no figure.
    Empty,
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoLine => f.write_str("there is no line of results in it"),
            Self::Format { format, fields } => {
                write!(
                    f,
                    "its results are in format {format:?} with {fields} fields; known are 1.96, 1.97, 1.98, and the 27 fields of Bonnie++ 1.03"
                )
            }
            Self::NoFigure { name, field } => write!(f, "{name}: {field:?} is not a figure"),
            Self::Empty => f.write_str("its results hold no figure"),
        }
    }
}

impl Error for CsvError {}

/// One line of results.
#[derive(Debug, Clone, PartialEq)]
pub struct Results {
    /// Version of Bonnie++; [`VERSION_BEFORE_1_9`] for a line that doesn't tell it.
    pub version: String,
    /// Name of the machine, or what `-m` said.
    pub machine: String,
    /// The options as far as the line tells them; what it doesn't tell has Bonnie++'s default.
    pub ask: BonnieAsk,
    /// Figures by the metric names of docs/metrics.md.
    pub figures: BTreeMap<String, Figure>,
}

/// The version and the figures of the last line of results in a text; several processes at once give one line for all.
///
/// # Errors
/// There is no line of results, or the last one can't be read.
pub fn read(text: &str) -> Result<(String, BTreeMap<String, Figure>), CsvError> {
    let line = text.lines().rev().find(|line| line.split(',').count() > LATENCIES);
    let Results { version, figures, .. } = read_line(line.ok_or(CsvError::NoLine)?)?;
    Ok((version, figures))
}

/// Reads one line of results.
///
/// # Errors
/// It is in an unknown format, or without figures.
pub fn read_line(line: &str) -> Result<Results, CsvError> {
    if is_before_1_9(line) {
        return results(&before_1_9::as_newer(line, FIELDS));
    }
    let mut fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let format = fields[0];
    if format == "1.96" && fields.len() > SEEKERS[0] {
        SEEKERS.iter().for_each(|&at| fields.insert(at, ""));
    }
    if !matches!(format, "1.96" | "1.97" | "1.98") || fields.len() < FIELDS {
        return Err(CsvError::Format { format: format.to_owned(), fields: line.split(',').count() });
    }
    results(&fields)
}

fn results(fields: &[&str]) -> Result<Results, CsvError> {
    let figures = figures(fields)?;
    Ok(Results { version: fields[1].to_owned(), machine: fields[2].to_owned(), ask: asked(fields), figures })
}

/// The options that a line tells.
fn asked(fields: &[&str]) -> BonnieAsk {
    let number = |at: usize| fields.get(at).and_then(|field| field.parse::<u64>().ok());
    let present = |at: usize| fields.get(at).is_some_and(|field| !field.is_empty());
    BonnieAsk {
        size_bytes: fields.get(5).and_then(|field| size(field)).unwrap_or(0),
        chunk_bytes: fields.get(6).and_then(|field| size(field)).unwrap_or(8192),
        ram_bytes: None,
        files: number(21).unwrap_or(0).saturating_mul(1024),
        max_bytes: number(22).unwrap_or(0),
        min_bytes: number(23).unwrap_or(0),
        directories: number(24).and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
        per_character: present(9),
        no_buffering: false,
        direct: false,
        concurrency: number(3).and_then(|n| u32::try_from(n).ok()).unwrap_or(1),
    }
}

/// Parses `64M`, `16G`, `8k`, `8192`.
fn size(field: &str) -> Option<u64> {
    let digits = field.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &field[digits.len()..] {
        "" => 0,
        "k" | "K" => 10,
        "m" | "M" => 20,
        "g" | "G" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn figures(fields: &[&str]) -> Result<BTreeMap<String, Figure>, CsvError> {
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
    if figures.is_empty() { Err(CsvError::Empty) } else { Ok(figures) }
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
    use super::{VERSION_BEFORE_1_9, is_before_1_9, read, read_line};
    use crate::bonnie::Figure;
    use crate::metric::{MetricOf, info};

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
            assert_eq!(info(name).unwrap().of, MetricOf::Bonnie, "{name}");
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
        assert!(read(&QUICK.replacen("1.98", "1.95", 1)).unwrap_err().to_string().contains("\"1.95\""));
        assert!(read(&QUICK.replace(",2023,", ",nonsense,")).unwrap_err().to_string().contains("seq_create"));
    }

    #[test]
    fn bonnie_1_03_has_27_fields_and_no_version() {
        let line = "box,6G:32k,,,97000,22,41000,9,,,120500,11,310.5,1,16:100000:16/64,2100,12,+++++,+++,5200,14,2200,13,+++++,+++,1900,8";
        assert!(is_before_1_9(line));
        let found = read_line(line).unwrap();
        assert_eq!((found.version.as_str(), found.machine.as_str()), (VERSION_BEFORE_1_9, "box"));
        assert_eq!((found.ask.size_bytes, found.ask.chunk_bytes), (6 << 30, 32 << 10));
        let (files, max, min) = (found.ask.files, found.ask.max_bytes, found.ask.min_bytes);
        assert_eq!((files, max, min, found.ask.directories), (16 << 10, 100_000, 16, 64));
        assert!(!found.ask.per_character && !found.figures.contains_key("char_output_bw"));
        assert_eq!(found.figures["block_output_bw"], Figure::Value(97_000.0 * 1024.0));
        assert_eq!(found.figures["block_output_cpu"], Figure::Value(0.22));
        assert_eq!(
            (found.figures["seeks"], found.figures["seeks_cpu"]),
            (Figure::Value(310.5), Figure::Value(0.01))
        );
        assert_eq!(
            (found.figures["seq_create"], found.figures["seq_stat"]),
            (Figure::Value(2100.0), Figure::TooFast)
        );
        assert_eq!(
            (found.figures["random_delete"], found.figures["random_delete_cpu"]),
            (Figure::Value(1900.0), Figure::Value(0.08))
        );
        assert!(found.figures.keys().all(|name| !name.ends_with("_lat_max")), "it reports no latencies");
    }

    #[test]
    fn other_lines_of_27_fields_are_not_taken_for_results() {
        let line =
            |size: &str, files: &str| format!("a,{size}{}{files}{}", ",1".repeat(12) + ",", ",2".repeat(12));
        assert!(is_before_1_9(&line("3G", "16")) && is_before_1_9(&line("3G", "")));
        for (size, files) in
            [("3", "16"), ("G", "16"), ("3G:", "16"), ("3G", "x"), ("3G", "16:"), ("size", "files")]
        {
            assert!(!is_before_1_9(&line(size, files)), "{size} {files}");
        }
        assert!(!is_before_1_9(&format!("{},", line("3G", "16"))), "28 fields");
        assert!(
            read_line(&line("3G", "16").replacen(",1,", ",fast,", 1))
                .unwrap_err()
                .to_string()
                .contains("char_output_bw")
        );
    }

    #[test]
    fn format_1_96_lacks_the_seek_processes() {
        let line = "1.96,1.96,nas,1,1329851830,8096M,,838,98,110033,7,48154,4,3609,79,134153,4,228.2,1,256,,,,,30301,79,+++++,+++,\
                    2525,2,31290,79,+++++,+++,1558,1,9829us,226ms,1759ms,112ms,160ms,2016ms,300ms,458us,6094ms,309ms,17us,6206ms";
        let found = read_line(line).unwrap();
        assert_eq!(
            (found.machine.as_str(), found.ask.size_bytes, found.ask.files),
            ("nas", 8096 << 20, 256 << 10)
        );
        assert_eq!(found.figures["block_output_bw"], Figure::Value(110_033.0 * 1024.0));
        assert_eq!(found.figures["seeks"], Figure::Value(228.2));
        assert_eq!(found.figures["seq_stat"], Figure::TooFast);
        assert_eq!(found.figures["char_output_lat_max"], Figure::Value(9829.0));
        assert_eq!(found.figures["random_delete_lat_max"], Figure::Value(6_206_000.0));
    }
}
