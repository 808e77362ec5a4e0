//! Reports: a function per subject (a judged run, a comparison, an agreement, a plan) builds a document, and a function per medium renders
//! it. Programs get JSON and CSV. This crate can't judge: it doesn't import `verdict`.

mod agreement;
mod asked;
mod caveats;
mod comparison;
mod course;
mod csv;
mod document;
mod expectations;
mod figures;
mod footer;
mod history;
mod index;
mod json;
mod junit;
mod leaves;
mod markdown;
mod measured;
mod number;
mod paint;
mod phases;
mod plan;
mod provisioning;
mod result;
mod rows;
mod searches;
mod sparkline;
mod summary;
mod terminal;
#[cfg(test)]
mod testing;
mod too_few;
mod wrap;

pub use agreement::agreement;
pub use comparison::comparison;
pub use csv::{Formulas, csv};
pub use document::{
    Align, Block, Branch, Caveat, Cell, Column, Document, DotPlot, DotRow, Heading, Level, List, Paragraph,
    Place, Row, Series, Span, Style, Table, Tone, Words,
};
pub use expectations::EXPECTATIONS;
pub use history::history;
pub use index::names;
pub use json::{comparison_json, comparison_schema, history_json, history_schema, json, schema};
pub use junit::junit;
pub use markdown::markdown;
pub use number::{Scale, expected as quantity, percent, scale as unit};
pub use paint::SGR;
pub use plan::{Forecast, PlanCell, PlanView, Takes, money, plan};
pub use result::result;
pub use sparkline::drawn as sparkline;
pub use terminal::terminal;
