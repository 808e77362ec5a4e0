//! Reports: a function per subject (a judged run, a comparison, an agreement, a plan) builds a document, and a function per medium renders
//! it. Programs get JSON and CSV. This crate can't judge: it doesn't import `verdict`.

mod agreement;
mod caveats;
mod comparison;
mod course;
mod csv;
mod document;
mod expectations;
mod figures;
mod footer;
mod index;
mod json;
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
mod sparkline;
mod terminal;
#[cfg(test)]
mod testing;
mod wrap;

pub use agreement::agreement;
pub use comparison::comparison;
pub use csv::{Formulas, csv};
pub use document::{
    Align, Block, Branch, Caveat, Cell, Column, Document, DotPlot, DotRow, Heading, Level, List, Paragraph,
    Place, Row, Series, Span, Style, Table, Tone, Words,
};
pub use json::{comparison_json, comparison_schema, json, schema};
pub use markdown::markdown;
pub use paint::SGR;
pub use plan::{Forecast, PlanCell, PlanView, Takes, money, plan};
pub use result::result;
pub use terminal::terminal;
