//! `diskproof export RUN --FORMAT`; the formats are in `formats`.

use super::judged;
use super::show::{find, open_existing};
use crate::args::Export;
use crate::exit::{Exit, Failure};
use crate::formats::Table;
use crate::output;
use crate::settings::Settings;
use record::id::RunId;
use record::printable::Shown as _;
use record::trial::TrialRecord;
use report::Tidy;
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
    let written = match path {
        None => rows(store, run, table, &tidy, &mut io::stdout().lock())?,
        Some(path) => {
            let file = BufWriter::new(File::create(path).map_err(unwritable(path))?);
            if path.extension().is_some_and(|end| end == "zst") {
                compressed(store, run, table, &tidy, file)?
            } else {
                let mut file = file;
                rows(store, run, table, &tidy, &mut file)?
            }
        }
    };
    match (written, path) {
        (Ok(()), _) => Ok(()),
        // `| head` has read enough.
        (Err(error), None) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        (Err(error), None) => Err(Failure::machine(format!("can't write to standard output: {error}"))),
        (Err(error), Some(path)) => Err(unwritable(path)(error)),
    }
}

fn compressed(
    store: &Store,
    run: &RunId,
    table: Table,
    tidy: &Tidy<'_>,
    file: BufWriter<File>,
) -> Result<io::Result<()>, Failure> {
    let mut encoder = match zstd::Encoder::new(file, 0) {
        Ok(encoder) => encoder,
        Err(error) => return Ok(Err(error)),
    };
    let written = rows(store, run, table, tidy, &mut encoder)?;
    Ok(written.and_then(|()| encoder.finish()?.flush()))
}

/// Writes header and rows. The outer error is the store's, the inner one the writer's; after an error of the writer nothing is written.
fn rows(
    store: &Store,
    run: &RunId,
    table: Table,
    tidy: &Tidy<'_>,
    out: &mut dyn Write,
) -> Result<io::Result<()>, Failure> {
    let header = match table {
        Table::Trials => tidy.trials_header(),
        Table::Series => tidy.series_header(),
    };
    let mut written = out.write_all(header.as_bytes());
    let each = |trial: TrialRecord| {
        if written.is_ok() {
            let text = match table {
                Table::Trials => tidy.trial(&trial),
                Table::Series => tidy.series(&trial),
            };
            written = out.write_all(text.as_bytes());
        }
    };
    store.trials(run, each).map_err(judged::unreadable)?;
    Ok(written.and_then(|()| out.flush()))
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
