//! Numbers in tables under pictures: plain, with six significant digits, in the unit of their column.

/// A number with six significant digits, without separators, so that it can be copied into a program.
pub(crate) fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let magnitude = value.abs().log10().floor();
    let mut places = 0_usize;
    while places < 12 && magnitude + f64::from(u32::try_from(places).unwrap_or(0)) < 5.0 {
        places += 1;
    }
    let text = format!("{value:.places$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

/// A value with the four significant digits that the ends of a course get: no picture shows more.
pub(crate) fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let unit = 10_f64.powf(value.abs().log10().floor() - 3.0);
    (value / unit).round() * unit
}

#[cfg(test)]
mod tests {
    use super::{plain, rounded};

    #[test]
    fn four_digits_of_a_course() {
        let shown = [0.0, 1.0, 1073.15, 203.160_748, 0.951_852, 48_765.0, 9999.9].map(rounded).map(plain);
        assert_eq!(shown, ["0", "1", "1073", "203.2", "0.9519", "48770", "10000"]);
    }

    #[test]
    fn six_digits_are_enough_and_none_is_lost_before_the_point() {
        let shown = [321.640_123, 0.0, 1.0, 570_830.25, 2.5e9, 0.001_234_567_8, 80.0].map(plain);
        assert_eq!(shown, ["321.64", "0", "1", "570830", "2500000000", "0.00123457", "80"]);
        for value in [1.234_567_8, 98_765.432, 0.000_045_678_9, 1e8 / 3.0] {
            let back: f64 = plain(value).parse().unwrap();
            assert!((back / value - 1.0).abs() < 1e-5, "{value} is shown as {back}");
        }
    }
}
