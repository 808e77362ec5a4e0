//! Judged runs to text: a table for people, Markdown for where they write, JSON and CSV for programs. Reports say what was judged; they can't judge.

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
