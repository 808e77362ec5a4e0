//! How busy several members are with a few I/Os in flight, if each I/O goes to a random member.

/// The mean number of busy members with `depth` I/Os in flight over `members` with a constant time per I/O, if every I/O goes to each
/// member with the same probability. It is 1 at depth 1, and approaches `members` as `members` · (1 - (`members` - 1) / (2 · depth)).
///
/// The closed system is that of processors at interleaved memory. N + M - ½ - √((N + M - ½)² - 2NM) is within 3 % (5 % for 2 over 2) of
/// its Markov chain (a test checks that). Sources: Bhandarkar (1975), IEEE Trans. Computers C-24:897-908; Baskett and Smith (1976), CACM
/// 19:327-334; Rau (1979), IEEE Trans. Computers C-28:678-681. Exponential times would give N · M / (N + M - 1), less: Reiser and
/// Lavenberg (1980), JACM 27:313-322.
pub(crate) fn busy(depth: f64, members: f64) -> f64 {
    let (depth, members) = (depth.max(1.0), members.max(1.0));
    let sum = depth + members - 0.5;
    sum - (sum * sum - 2.0 * depth * members).max(0.0).sqrt()
}

/// The depth at which [`busy`] has this value, which is less than `members`.
fn depth_of(busy: f64, members: f64) -> f64 {
    if busy >= members { 1e9 } else { busy * (2.0 * members - 1.0 - busy) / (2.0 * (members - busy)) }
}

/// The rate of throttled members, in units of a member's full rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Granted {
    /// If the slices of all members begin at the same time.
    pub(crate) in_step: f64,
    /// If the slices begin evenly spread in time.
    pub(crate) staggered: f64,
}

/// The kernel's throttle grants `grants` I/Os per member and slice; unused grants lapse at the end of the slice. Within a slice an I/O
/// takes no time, so a single I/O in flight goes on until it meets a member without grants. Then the largest of `members` Poisson counts
/// is `grants` + ½: x + m √x = `grants` + ½, with x the mean count and m the mean of the largest of that many normal deviates. That is
/// x / (`grants` + ¼) of the granted rate (the quarter is from simulation). So a burst counts as the number of I/Os in flight that would
/// make constant-time members as busy, and the actual I/Os in flight are added. Staggered slices count twice (from simulation). With
/// less than one grant per slice, members behave as with constant times. A test checks that this is within 6 % of simulated slices.
pub(crate) fn granted(depth: f64, members: f64, grants: f64) -> Granted {
    if members <= 1.0 {
        return Granted { in_step: members, staggered: members };
    }
    if grants < 1.0 {
        let busy = busy(depth, members);
        return Granted { in_step: busy, staggered: busy };
    }
    let m = largest_of(members);
    let root = ((m * m + 4.0 * (grants + 0.5)).sqrt() - m) / 2.0;
    let alone = members * root * root / (grants + 0.25);
    let worth = depth_of(alone.max(1.0), members);
    let deep = depth.max(1.0) - 1.0;
    Granted { in_step: busy(deep + worth, members), staggered: busy(deep + 2.0 * worth, members) }
}

/// The mean of the largest of `n` standard normal deviates: Harter (1961), Biometrika 48:151-165; beyond the table the
/// asymptotic mean, within 0.1: Cramér (1946), Mathematical Methods of Statistics, 28.6.
fn largest_of(n: f64) -> f64 {
    const TABLE: [f64; 16] = [
        0.0, 0.56419, 0.84628, 1.02938, 1.16296, 1.26721, 1.35218, 1.42360, 1.48501, 1.53875, 1.58644,
        1.62923, 1.66799, 1.70338, 1.73591, 1.76599,
    ];
    let place = TABLE.iter().zip(1..).find(|(_, at)| f64::from(*at) >= n.round());
    place.map_or_else(
        || {
            let wide = (2.0 * n.ln()).sqrt();
            wide - ((4.0 * std::f64::consts::PI * n.ln()).ln() - 1.154) / (2.0 * wide)
        },
        |(value, _)| *value,
    )
}

#[cfg(test)]
mod tests {
    use super::{busy, depth_of, granted, largest_of};

    /// A portable random generator (Marsaglia's xorshift64).
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, n: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 >> 11) as usize % n
        }
    }

    fn queues(dice: &mut Dice, depth: usize, members: usize) -> Vec<usize> {
        let mut queues = vec![0; members];
        (0..depth).for_each(|_| queues[dice.below(members)] += 1);
        queues
    }

    /// Simulates members that each serve one I/O per step.
    fn constant_time(depth: usize, members: usize) -> f64 {
        let (mut dice, mut served) = (Dice(88_172_645_463_325_252), 0);
        let mut queues = queues(&mut dice, depth, members);
        let steps = 10_000;
        for _ in 0..steps {
            let ready: Vec<usize> = (0..members).filter(|&i| queues[i] > 0).collect();
            ready.iter().for_each(|&i| queues[i] -= 1);
            ready.iter().for_each(|_| queues[dice.below(members)] += 1);
            served += ready.len();
        }
        served as f64 / f64::from(steps)
    }

    /// Simulates slices of lapsing grants; between two members' new slices, all I/Os with grants complete.
    fn slices(depth: usize, members: usize, grants: usize, staggered: bool) -> f64 {
        let (mut dice, mut served) = (Dice(88_172_645_463_325_252), 0);
        let mut queues = queues(&mut dice, depth, members);
        let mut left = vec![0; members];
        let steps = u32::try_from(24_000 / grants).unwrap();
        for _ in 0..steps {
            for i in 0..members {
                left[i] = grants;
                if !staggered && i + 1 < members {
                    continue;
                }
                loop {
                    let ready: Vec<usize> = (0..members).filter(|&j| queues[j] > 0 && left[j] > 0).collect();
                    if ready.is_empty() {
                        break;
                    }
                    let j = ready[dice.below(ready.len())];
                    (queues[j], left[j]) = (queues[j] - 1, left[j] - 1);
                    queues[dice.below(members)] += 1;
                    served += 1;
                }
            }
        }
        served as f64 / f64::from(steps) / grants as f64
    }

    #[test]
    fn one_in_flight_keeps_one_busy_and_many_keep_all() {
        for members in 1..20 {
            let members = f64::from(members);
            assert!((busy(1.0, members) - 1.0).abs() < 1e-9);
            assert!((busy(1e6, members) - members).abs() < 1e-3);
            assert!(busy(4.0, members) < members || members == 1.0);
            let there = depth_of(busy(7.0, members), members);
            assert!(members == 1.0 || (there - 7.0).abs() < 1e-6, "{there}");
        }
    }

    #[test]
    fn constant_times_are_as_simulated() {
        for members in [2_u32, 3, 4, 8] {
            for depth in [1_u32, 2, 4, 8, 16, 64] {
                let (formula, seen) = (
                    busy(f64::from(depth), f64::from(members)),
                    constant_time(depth as usize, members as usize),
                );
                let off = formula / seen - 1.0;
                let allowed = if depth == 2 && members == 2 { 0.05 } else { 0.03 };
                assert!(off.abs() < allowed, "{depth} over {members}: {formula}, simulated {seen}");
            }
        }
    }

    #[test]
    fn grants_are_as_simulated() {
        for members in [2_u32, 3, 4, 8] {
            for grants in [8_u32, 10, 20, 100] {
                for depth in [1_u32, 2, 4, 16, 64] {
                    let formula = granted(f64::from(depth), f64::from(members), f64::from(grants));
                    for (value, staggered) in [(formula.in_step, false), (formula.staggered, true)] {
                        let seen = slices(depth as usize, members as usize, grants as usize, staggered);
                        let off = value / seen - 1.0;
                        assert!(
                            off.abs() < 0.06,
                            "{depth} over {members}, {grants} grants, staggered {staggered}: {value}, simulated {seen}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn the_largest_of_many_goes_on_where_the_table_ends() {
        assert!(largest_of(1.0).abs() < 1e-9);
        assert!((largest_of(16.0) - 1.766).abs() < 1e-3);
        assert!((largest_of(17.0) - 1.794).abs() < 0.1, "{}", largest_of(17.0));
        assert!((largest_of(100.0) - 2.508).abs() < 0.1, "{}", largest_of(100.0));
    }
}
