//! A queue with random arrivals and one server of a fixed service time (M/D/1): its latency by arithmetic, and simulated trials.

use super::noise::normal;
use super::random::Random;

/// Returns the latency (waiting and service) that a share `q` of the requests doesn't exceed, in service times, at this load (0 to 1).
///
/// Source: Franx (2001), "A Simple Solution for the M/D/c Waiting Time Distribution", Operations Research Letters 29:221-229. The
/// numbers in the system are those of the chain at departures, by level crossing: every term is positive, so nothing cancels.
pub(crate) fn latency(load: f64, q: f64) -> f64 {
    let sums = in_system(load);
    let (mut low, mut high) = (0.0, sums.len() as f64 - 2.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if waits_at_most(load, &sums, middle) < q { low = middle } else { high = middle }
    }
    1.0 + high
}

/// Returns the load at which that share of the requests has just this latency, in service times.
pub(crate) fn load_of(latency_at_most: f64, q: f64) -> f64 {
    let (mut low, mut high) = (0.001, 0.995);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if latency(middle, q) < latency_at_most { low = middle } else { high = middle }
    }
    low
}

/// The probabilities that at most so many requests are in the system.
fn in_system(load: f64) -> Vec<f64> {
    let most = 60 + (8.0 / (1.0 - load)) as usize;
    let mut arrivals = vec![(-load).exp()];
    for k in 1..=most {
        arrivals.push(arrivals[k - 1] * load / k as f64);
    }
    // The probability that more than k requests arrive during a service.
    let mut more = vec![0.0; most + 2];
    for k in (0..=most).rev() {
        more[k] = more[k + 1] + arrivals.get(k + 1).copied().unwrap_or(0.0);
    }
    let mut states = vec![1.0 - load];
    for j in 0..most {
        let crossing: f64 = (1..=j).map(|i| states[i] * more[j - i + 1]).sum();
        states.push((states[0] * more[j] + crossing) / arrivals[0]);
    }
    let mut sum = 0.0;
    states
        .iter()
        .map(|state| {
            sum += state;
            sum
        })
        .collect()
}

/// The probability of waiting at most `x` service times.
fn waits_at_most(load: f64, sums: &[f64], x: f64) -> f64 {
    let whole = x.floor() as usize + 1;
    let rest = load * (whole as f64 - x);
    let mut term = (-rest).exp();
    let mut all = 0.0;
    for j in 0..whole {
        all += sums[(whole - j).min(sums.len() - 1)] * term;
        term *= rest / (j + 1) as f64;
    }
    all
}

/// A queue that is measured in trials.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    /// Requests that it serves per second.
    pub(crate) capacity: f64,
    /// Seconds of a trial.
    pub(crate) seconds: f64,
    /// Standard deviation of the capacity between trials, as a share.
    pub(crate) between: f64,
}

/// What a trial of a queue shows.
pub(crate) struct Measured {
    /// The 99th percentile of the latencies, in seconds.
    pub(crate) p99: f64,
    /// Requests completed per second.
    pub(crate) rate: f64,
}

impl Queue {
    /// Measures a trial at this rate of arrivals. The queue begins empty; the first tenth of the trial is its ramp.
    pub(crate) fn trial(self, rate: f64, random: &mut Random) -> Measured {
        let capacity = self.capacity * (self.between * normal(random)).exp();
        if rate > 2.0 * capacity {
            return Measured { p99: 0.99 * self.seconds * (1.0 - capacity / rate), rate: capacity };
        }
        let service = 1.0 / capacity;
        let (mut now, mut free_at, ramp) = (0.0, 0.0_f64, self.seconds / 10.0);
        let mut latencies = Vec::new();
        while now < self.seconds + ramp {
            now -= (1.0 - random.uniform()).ln() / rate;
            free_at = free_at.max(now) + service;
            if free_at >= ramp && free_at < self.seconds + ramp {
                latencies.push(free_at - now);
            }
        }
        let n = latencies.len();
        let rank = ((n as f64 * 0.99).ceil() as usize).clamp(1, n) - 1;
        let (_, p99, _) = latencies.select_nth_unstable_by(rank, f64::total_cmp);
        Measured { p99: *p99, rate: n as f64 / self.seconds }
    }
}

/// The mean wait is ρ / (2(1 - ρ)) service times (Pollaczek and Khinchine); the rest of the distribution is checked by simulation.
#[test]
fn the_arithmetic_agrees_with_a_long_simulation() {
    assert!((waits_at_most(0.5, &in_system(0.5), 0.0) - 0.5).abs() < 1e-9, "half of them don't wait");
    let mut random = Random::new(5);
    for load in [0.3, 0.7, 0.9] {
        let queue = Queue { capacity: 1.0, seconds: 2e6, between: 0.0 };
        let (simulated, exact) = (queue.trial(load, &mut random).p99, latency(load, 0.99));
        assert!((simulated / exact - 1.0).abs() < 0.02, "{load}: {simulated} {exact}");
        assert!((load_of(exact, 0.99) - load).abs() < 1e-6);
    }
}
