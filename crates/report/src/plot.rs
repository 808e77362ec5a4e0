//! Figures on one scale, one row each, drawn in characters: an interval as a line, an estimate as a mark, trials as dots.

mod dots;
mod lines;
mod marks;
mod ratios;
mod row;
#[cfg(test)]
mod tests;

pub(crate) use dots::dots;
pub(crate) use ratios::ratios;
