//! Reports: a function per subject (a judged run, a comparison, an agreement, a plan) builds a document, and a function per medium renders
//! it. Programs get JSON and CSV. This crate can't judge: it doesn't import `verdict`.

mod agreement;
mod asked;
mod bill;
mod caveats;
mod charset;
mod chart;
mod choice;
mod comparison;
mod cost;
mod course;
mod csv;
mod document;
mod expectations;
mod figures;
mod footer;
mod front;
mod history;
mod index;
mod json;
mod junit;
mod leaves;
mod machines;
mod markdown;
mod measured;
mod number;
mod openmetrics;
mod paint;
mod phases;
mod plan;
mod plot;
mod prospect;
mod provisioning;
mod result;
mod rows;
pub mod scale;
mod searches;
mod sparkline;
mod summary;
mod terminal;
#[cfg(test)]
mod testing;
pub mod tidy;
mod too_few;
mod wrap;

pub use agreement::agreement;
pub use bill::bill;
pub use caveats::title as finding_title;
pub use charset::ascii;
pub use choice::choice;
pub use comparison::comparison;
pub use cost::{cost, list_in_words};
pub use csv::{Formulas, csv};
pub use document::{
    Align, Block, Branch, Caveat, Cell, Column, Document, DotPlot, DotRow, Expected, ExpectedBy, Heading,
    Level, List, Paragraph, Place, Point, RatioPlot, RatioRow, Row, Scatter, Series, Span, Style, Table,
    Tone, Words, ratio_scale,
};
pub use expectations::EXPECTATIONS;
pub use history::history;
pub use index::names;
pub use json::{
    choice_json, choice_schema, comparison_json, comparison_schema, cost_json, cost_schema, history_json,
    history_schema, json, prospect_json, prospect_schema, schema,
};
pub use junit::junit;
pub use markdown::markdown;
pub use measured::MEASURED;
pub use number::{Scale, expected as quantity, margin, percent, scale as unit, single, so_far};
pub use openmetrics::openmetrics;
pub use paint::SGR;
pub use plan::{Forecast, PlanCell, PlanView, Takes, plan};
pub use prospect::prospect;
pub use record::quantity::money;
pub use result::result;
pub use sparkline::all as sparklines;
pub use terminal::terminal;
pub use wrap::fill;
