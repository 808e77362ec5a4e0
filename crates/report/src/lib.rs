//! Reports: a function per subject (a judged run, a comparison, an agreement, a plan) builds a document, and a function per medium renders
//! it. Programs get JSON and CSV. This crate can't judge: it doesn't import `verdict`.

mod agreement;
mod asked;
mod caveats;
mod chart;
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
    Place, Point, Row, Scatter, Series, Span, Style, Table, Tone, Words,
};
pub use history::history;
pub use json::{comparison_json, comparison_schema, history_json, history_schema, json, schema};
pub use junit::junit;
pub use markdown::markdown;
pub use number::{margin, single, so_far};
pub use paint::SGR;
pub use plan::{Forecast, PlanCell, PlanView, Takes, money, plan};
pub use result::result;
pub use terminal::terminal;
pub use wrap::fill;
