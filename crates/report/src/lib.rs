//! Formats judged runs: as text for the terminal, as Markdown, and as JSON and CSV for programs. This crate can't judge: it doesn't import
//! `verdict`.

mod agreement;
mod caveats;
mod comparison;
mod csv;
mod footer;
mod index;
mod json;
mod leaves;
mod markdown;
mod number;
mod paint;
mod plan;
mod provisioning;
mod rows;
mod sparkline;
mod table;
mod terminal;
#[cfg(test)]
mod testing;
mod wrap;

pub use agreement::agreement;
pub use comparison::comparison;
pub use csv::{Formulas, csv};
pub use json::{comparison_json, comparison_schema, json, schema};
pub use markdown::markdown;
pub use paint::SGR;
pub use plan::{Forecast, PlanCell, PlanView, Takes, money, plan};
pub use terminal::terminal;
