//! `diskproof export RUN --FORMAT`; the formats are in `formats`.

use super::judged;
use super::show::{find, open_existing};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::formats::Table;
use crate::output;
use crate::parquet::Parquet;
use crate::settings::Settings;
use record::id::RunId;
use record::printable::Shown as _;
use record::trial::TrialRecord;
use report::tidy::{Column, Row, Tidy, csv_header, csv_rows};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use store::Store;

pub(crate) fn export(args: &Export, settings: &Settings) -> Result<Exit, Failure> {
    let store = open_existing(settings)?;
    let run = find(&store, &args.run)?;
    let format = args.format.0;
    if let Some(table) = format.table() {
        write_table(&store, &run, table, args.output.as_deref())?;
        return Ok(Exit::Fine);
    }
    let text = format.text(&judged::view(&store, &run)?)?;
    match &args.output {
        None if format.is_json() => output::json(&text)?,
        None => output::answer(&text)?,
        Some(path) if format.is_replaced_whole() => replace(path, &text)?,
        Some(path) => fs::write(path, text).map_err(unwritable(path))?,
    }
    Ok(Exit::Fine)
}

fn unwritable(path: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| Failure::machine(format!("can't write {}: {error}", path.shown()))
}

/// Replaces a file as a whole: it is written beside it and renamed, so that nobody reads half of it. What is no regular file (a pipe, a
/// terminal, a link) is written as it is.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let is_special = fs::symlink_metadata(path).is_ok_and(|about| !about.is_file());
    if is_special {
        return fs::write(path, text).map_err(unwritable(path));
    }
    let beside = beside(path);
    // Name, content and time of the file change at once.
    let written = fs::write(&beside, text).and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&beside);
        unwritable(path)(error)
    })
}

/// A name beside a file that the collector doesn't read: it takes only names that end in `.prom`.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.tmp", std::process::id()));
    PathBuf::from(name)
}

/// Writes the rows of a run's trials as they are read.
fn write_table(store: &Store, run: &RunId, table: Table, path: Option<&Path>) -> Result<(), Failure> {
    let plan = store.head(run).map_err(judged::unreadable)?.plan;
    let tidy = Tidy::new(run, &plan);
    let columns = match table {
        Table::Trials => tidy.trial_columns(),
        Table::Series => tidy.series_columns(),
    };
    let mut written = Sink::new(path, &columns);
    let each = |trial: TrialRecord| {
        if let Ok(sink) = &mut written {
            let rows = match table {
                Table::Trials => tidy.trial(&trial),
                Table::Series => tidy.series(&trial),
            };
            if let Err(error) = sink.add(rows) {
                written = Err(error);
            }
        }
    };
    store.trials(run, each).map_err(judged::unreadable)?;
    match (written.and_then(Sink::finish), path) {
        (Ok(()), _) => Ok(()),
        // `| head` has read enough.
        (Err(error), None) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        (Err(error), None) => Err(Failure::machine(format!("can't write to standard output: {error}"))),
        (Err(error), Some(path)) => Err(unwritable(path)(error)),
    }
}

/// Where the rows of a table go; the name of the file says how.
enum Sink {
    /// CSV.
    Plain(Box<dyn Write>),
    /// CSV, compressed: `.zst`.
    Compressed(zstd::Encoder<'static, BufWriter<File>>),
    /// `.parquet`.
    Parquet(Box<Parquet<BufWriter<File>>>),
}

impl Sink {
    fn new(path: Option<&Path>, columns: &[Column]) -> io::Result<Self> {
        let Some(path) = path else {
            return Self::Plain(Box::new(io::stdout().lock())).begin(columns);
        };
        let file = BufWriter::new(File::create(path)?);
        match path.extension().and_then(OsStr::to_str) {
            Some("parquet") => Ok(Self::Parquet(Box::new(Parquet::new(file, columns.to_vec())?))),
            Some("zst") => Self::Compressed(zstd::Encoder::new(file, 0)?).begin(columns),
            _ => Self::Plain(Box::new(file)).begin(columns),
        }
    }

    fn begin(mut self, columns: &[Column]) -> io::Result<Self> {
        self.text(&csv_header(columns))?;
        Ok(self)
    }

    fn text(&mut self, text: &str) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.write_all(text.as_bytes()),
            Self::Compressed(out) => out.write_all(text.as_bytes()),
            Self::Parquet(_) => Ok(()),
        }
    }

    fn add(&mut self, rows: Vec<Row>) -> io::Result<()> {
        match self {
            Self::Parquet(out) => Ok(out.add(rows)?),
            _ => self.text(&csv_rows(&rows)),
        }
    }

    fn finish(self) -> io::Result<()> {
        match self {
            Self::Plain(mut out) => out.flush(),
            Self::Compressed(out) => out.finish()?.flush(),
            Self::Parquet(out) => out.finish()?.flush(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::replace;
    use std::fs;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_nothing_stays_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("diskproof.prom");
        replace(&path, "one\n").unwrap();
        let before = fs::File::open(&path).unwrap();
        replace(&path, "two\n").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "two\n");
        let mut old = String::new();
        std::io::Read::read_to_string(&mut &before, &mut old).unwrap();
        assert_eq!(old, "one\n", "who reads the old file goes on with it");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, "three\n").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&path).unwrap(), "three\n");
        assert!(replace(&dir.path().join("no/such.prom"), "x").is_err());
    }
}
