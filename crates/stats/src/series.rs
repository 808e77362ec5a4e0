//! One trial's series of rates, second by second: these samples are not independent, and every formula here knows it.

mod change;
mod episodes;
mod length;
mod rates;
mod steady;

pub use change::{ChangePoint, change_points};
pub use episodes::{Episodes, episodes};
pub use length::{TrialLength, TrialPlan, trial_length};
pub use rates::{TwoRates, mean_of_series, two_rates};
pub use steady::{SteadyState, ramp_up, steady_state};
