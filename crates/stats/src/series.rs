//! The time series of one trial's rates, second by second. These samples are not independent, and every formula here takes that
//! into account.

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
