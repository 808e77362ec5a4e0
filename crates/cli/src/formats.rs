//! The formats in which `diskproof export` writes a judged run. One row per format: the argument parser, the help and `export` read this
//! table, so a format is a row here and a function in `report`.

use crate::exit::Failure;
use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, FromArgMatches};
use record::judged::RunView;
use record::printable::printable_noun;
use report::{Document, Formulas};

/// A format.
#[derive(Debug)]
pub(crate) struct Format {
    /// Its flag, without the dashes.
    name: &'static str,
    /// What the flag does, for the help.
    help: &'static str,
    /// What is written.
    content: Content,
}

/// What is written, and the function that writes it.
#[derive(Debug)]
enum Content {
    /// The judged run as it is, as JSON for programs.
    Json(fn(&RunView) -> Result<String, serde_json::Error>),
    /// The figures of the run, its texts made printable, as rows for spreadsheets and programs.
    Rows(fn(&RunView) -> String),
    /// The report's document, for people.
    Page(fn(&Document) -> String),
    /// The figures of the run as samples of metrics, for a program that may read the file at any moment.
    Samples(fn(&RunView) -> String),
    /// Rows of the stored trials, trial by trial.
    Table(Table),
}

/// A table of the stored trials.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Table {
    /// One row per trial and metric.
    Trials,
    /// One row per step of a trial's time series.
    Series,
}

const FORMATS: &[Format] = &[
    Format {
        name: "json",
        help: "Write one JSON document, format diskproof.run/1.3 (docs/formats.md)",
        content: Content::Json(report::json),
    },
    Format {
        name: "csv",
        help: "Write CSV, one row per cell and metric; a text that a spreadsheet would take for a formula gets an apostrophe",
        content: Content::Rows(|view| report::csv(view, Formulas::AsText)),
    },
    Format {
        name: "csv-raw",
        help: "Write CSV without apostrophes: for programs, not for spreadsheets",
        content: Content::Rows(|view| report::csv(view, Formulas::Raw)),
    },
    Format {
        name: "markdown",
        help: "Write the whole result as Markdown, for an issue or a wiki",
        content: Content::Page(report::markdown),
    },
    Format {
        name: "trials",
        help: "Write tidy CSV for programs, one row per trial and metric; a FILE that ends in .zst is compressed, one in .parquet is Parquet",
        content: Content::Table(Table::Trials),
    },
    Format {
        name: "series",
        help: "Write tidy CSV for programs, one row per step of each trial's time series and of its devices' counters",
        content: Content::Table(Table::Series),
    },
    Format {
        name: "openmetrics",
        help: "Write OpenMetrics for the textfile collector of Prometheus' node exporter; FILE is replaced as a whole",
        content: Content::Samples(report::openmetrics),
    },
];

impl Format {
    /// Writes a run in this format, unless it is a table of trials.
    ///
    /// # Errors
    /// Only a bug in diskproof: a view that can be stored can be written.
    pub(crate) fn text(&self, view: &RunView) -> Result<String, Failure> {
        match self.content {
            Content::Json(write) => write(view).map_err(Failure::ours),
            Content::Samples(write) => Ok(write(&printable_noun(view).map_err(Failure::ours)?)),
            Content::Table(_) => Err(Failure::ours("a table of trials is not made of the judged run")),
            // The store may come from somebody else, and with it the names of processes, mount points and machines.
            Content::Rows(write) => Ok(write(&printable_noun(view).map_err(Failure::ours)?)),
            Content::Page(write) => Ok(write(&report::result(view))),
        }
    }

    /// The table of trials that it is; `None`: it is made of the judged run.
    pub(crate) fn table(&self) -> Option<Table> {
        match self.content {
            Content::Table(table) => Some(table),
            _ => None,
        }
    }

    /// Whether the file must be whole whenever somebody reads it.
    pub(crate) fn is_replaced_whole(&self) -> bool {
        matches!(self.content, Content::Samples(_))
    }

    /// Whether the text is JSON.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.content, Content::Json(_))
    }
}

/// The format that the command line asks for: exactly one of the table's flags.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Chosen(pub(crate) &'static Format);

impl clap::Args for Chosen {
    fn augment_args(command: Command) -> Command {
        let flag = |format: &Format| {
            Arg::new(format.name).long(format.name).help(format.help).action(ArgAction::SetTrue)
        };
        let names = FORMATS.iter().map(|format| format.name);
        command
            .args(FORMATS.iter().map(flag))
            .group(ArgGroup::new("format").args(names).required(true).multiple(false))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Chosen {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = FORMATS.iter().find(|format| matches.get_flag(format.name));
        chosen.map(Self).ok_or_else(|| clap::Error::new(ErrorKind::MissingRequiredArgument))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
