//! Statistics: numbers in, numbers with intervals out. The crate knows nothing about storage.
//!
//! Every formula, with its source and its test, is in docs/statistics.md.

mod anytime;
mod best;
mod centre;
mod choose;
mod derived;
mod estimate;
mod fairness;
mod front;
mod gate;
mod history;
mod holm;
mod location;
mod machine;
mod permutation;
mod random;
mod ratio;
mod replicates;
mod scaling;
mod search;
mod series;
mod stop;

pub use anytime::mean_anytime;
pub use best::{Better, Comparison, Rank, Rounds, all_pairs, standings, standings_trimmed};
pub use choose::{Cheapest, Keeps, Limited, cheapest, keeps_all, share_of_error};
pub use derived::{paired_quotient, quotient};
pub use estimate::{Estimate, mean_t, rounds_to_narrow, trials_for};
pub use fairness::{jain, max_over_min};
pub use front::{FrontPlace, front};
pub use gate::{GateOutcome, GatedFigure, gate};
pub use history::{LevelChange, MIN_HISTORY, level_changes};
pub use holm::{holm, holm_weighted};
pub use location::{geometric_mean, median, trimmed_mean};
pub use machine::machine_rounds;
pub use ratio::{
    RatioEstimate, answers_ratio, paired_ratio, paired_ratio_trimmed, unpaired_ratio, unpaired_ratio_trimmed,
};
pub use replicates::{
    Autocorrelation, Doubt, FirstRound, Outlier, Suspicion, Trend, TwoModes, autocorrelation, doubts,
    first_round, outliers, trend, two_modes,
};
pub use scaling::{Scaling, Step, scaling};
pub use search::{
    SearchAnswer, SearchNext, SearchStep, SearchTerms, SearchTrial, search_answer, search_next,
};
pub use series::{
    ChangePoint, Episodes, SteadyState, TrialLength, TrialPlan, TwoRates, change_points, episodes,
    mean_of_series, ramp_up, steady_state, trial_length, two_rates,
};
pub use stop::{
    Allowance, Asked, Contender, Decision, Hunt, Lacking, Look, Matter, Offered, Pair, Question, Resource,
    Settled, Sought, StopRule, Survey, Terms, limit_interval, needed,
};
