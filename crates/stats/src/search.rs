//! A search for the highest level of a load at which a noisy, rising figure, such as a latency, stays within its limit.
//!
//! [`search_next`] says which level to try next, [`search_answer`] what the trials so far show. Both are pure: the same trials
//! give the same result. The formulas are in docs/statistics.md, "The most load within a limit".

mod answer;
mod fit;
mod known;
mod next;
mod trial;

pub(crate) use fit::quantile;

pub use answer::{SearchAnswer, search_answer};
pub use next::{SearchNext, SearchStep, search_next};
pub use trial::{SearchTerms, SearchTrial};
