//! Other stop rules, for comparison.

use diskproof_stats::{mean_anytime, mean_t};

/// An interval's centre and half-width at each look.
pub(crate) type Rule = fn(&[f64]) -> (f64, f64);

/// Plain peeking: a plain t interval at each look.
pub(crate) fn plain(samples: &[f64]) -> (f64, f64) {
    let e = mean_t(samples, 0.95).unwrap();
    (e.value, e.half_width())
}

/// Student's interval at 0.6 of the error, widened by √((1 + ρ) / (1 - ρ)) only for the observed lag-1 autocorrelation, ρ =
/// max(0, r₁ + 1/n) up to 0.9.
pub(crate) fn seen_only(samples: &[f64]) -> (f64, f64) {
    let e = mean_t(samples, 0.97).unwrap();
    let squares: f64 = samples.iter().map(|x| (x - e.value).powi(2)).sum();
    let products: f64 = samples.windows(2).map(|w| (w[0] - e.value) * (w[1] - e.value)).sum();
    let rho = (products / squares + 1.0 / samples.len() as f64).clamp(0.0, 0.9);
    (e.value, e.half_width() * ((1.0 + rho) / (1.0 - rho)).sqrt())
}

/// Anytime-valid: this crate's t mixture.
pub(crate) fn anytime(samples: &[f64]) -> (f64, f64) {
    let e = mean_anytime(samples, 0.95).unwrap();
    (e.value, e.half_width())
}

/// The asymptotic confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), Annals of Statistics 52:2613-2640:
/// s √(2 (nρ² + 1) / (n²ρ²) · ln(√(nρ² + 1) / α)), tuned to be narrowest at about 10 rounds.
pub(crate) fn asymptotic(samples: &[f64]) -> (f64, f64) {
    let (alpha, at): (f64, f64) = (0.05, 10.0);
    let tuned = (-2.0 * alpha.ln() + (-2.0 * alpha.ln()).ln() + 1.0) / at;
    let e = mean_t(samples, 0.95).unwrap();
    let n = samples.len() as f64;
    let squares: f64 = samples.iter().map(|x| (x - e.value).powi(2)).sum();
    let grown = n * tuned + 1.0;
    let half = (squares / (n - 1.0) * 2.0 * grown / (n * n * tuned) * (grown.sqrt() / alpha).ln()).sqrt();
    (e.value, half)
}

/// The rule of pilot-bench (Li, Gupta, Miller, Long: "Pilot: A Framework that Understands How to Do Performance Benchmarks the
/// Right Way", MASCOTS 2016; source at d8bf8a5, lib/priv_include/libpilotcpp.h and lib/workload.cc). It merges every q readings
/// until the lag-1 autocorrelation lies within ±`limit`, takes Student's interval over the merged ones, and stops when there are
/// enough for the width, and at least `least`. Returns the interval at that moment.
pub(crate) fn pilot(readings: &[f64], limit: f64, least: usize, half_width: f64) -> Option<(f64, f64)> {
    let n = readings.len();
    let mean = readings.iter().sum::<f64>() / n as f64;
    let merged = |q: usize| -> Vec<f64> {
        readings.chunks_exact(q).map(|c| c.iter().sum::<f64>() / q as f64).collect()
    };
    let variance = |m: &[f64]| m.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (m.len() as f64 - 1.0);
    let correlation = |m: &[f64]| {
        let products: f64 = m.windows(2).map(|w| (w[0] - mean) * (w[1] - mean)).sum();
        products / (m.len() as f64 - 1.0) / variance(m)
    };
    let q = (1..=n / 3).find(|q| correlation(&merged(*q)).abs() <= limit)?;
    let sessions = merged(q);
    let h = sessions.len() as f64;
    let plain = mean_t(&sessions, 0.95)?;
    let half = plain.half_width() * (variance(&sessions) / variance_about(&sessions, plain.value)).sqrt();
    let wanted = (h * (half / (half_width * mean)).powi(2)).ceil();
    (n as f64 >= q as f64 * wanted.max(least as f64)).then_some((mean, half))
}

fn variance_about(m: &[f64], centre: f64) -> f64 {
    m.iter().map(|x| (x - centre).powi(2)).sum::<f64>() / (m.len() as f64 - 1.0)
}
