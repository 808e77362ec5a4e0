//! Limits on a command line: `iops >= 3000, read_lat_p99 <= 5ms`.

use crate::diagnostic::{nearest, printable};
use crate::number::Number;
use crate::quantity::{Wrong, amount, duration, percent};
use record::choice::Want;
use record::metric::{METRICS, info};
use record::plan::Bound;

/// The most limits.
const MOST: usize = 16;

/// Parses limits: `METRIC >= VALUE` and `METRIC <= VALUE`, separated by commas. Times have units, sizes and rates of bytes may have fio's
/// suffixes. A metric that diskproof doesn't know is taken as one that the experiment derives.
///
/// # Errors
/// The text is wrong; the message says where and what to write.
pub fn wants(text: &str) -> Result<Vec<Want>, String> {
    let all: Vec<&str> = text.split(',').map(str::trim).collect();
    if all.len() > MOST {
        return Err(format!("{} limits; at most {MOST} are allowed", all.len()));
    }
    let wants: Vec<Want> = all.into_iter().map(one).collect::<Result<_, _>>()?;
    for (place, want) in wants.iter().enumerate() {
        if wants[..place].iter().any(|other| (&other.of, other.bound) == (&want.of, want.bound)) {
            return Err(format!("`{}` has two limits on one side; leave one out", want.of));
        }
    }
    Ok(wants)
}

fn one(text: &str) -> Result<Want, String> {
    let shown = printable(text, 60);
    let example = "write e.g. `iops >= 3000` or `read_lat_p99 <= 5ms`";
    let Some(at) = text.find(['<', '>', '=', '≥', '≤']) else {
        return Err(format!("`{shown}` is not a limit; {example}"));
    };
    let (metric, rest) = (text[..at].trim(), &text[at..]);
    let (bound, value) = match rest.strip_prefix(">=").or(rest.strip_prefix('≥')) {
        Some(value) => (Bound::AtLeast, value),
        None => match rest.strip_prefix("<=").or(rest.strip_prefix('≤')) {
            Some(value) => (Bound::AtMost, value),
            None => return Err(format!("`{shown}` has neither `>=` nor `<=`; {example}")),
        },
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if metric.is_empty() || !metric.chars().all(plain) {
        return Err(format!("`{}` is not the name of a metric (docs/metrics.md)", printable(metric, 40)));
    }
    let unit = info(metric).map_or("", |info| info.unit);
    let number = quantity(value.trim(), unit).map_err(|why| in_words(metric, why))?;
    let value = number.to_f64();
    if value <= 0.0 {
        return Err(format!("the limit of `{metric}` is 0; {example}"));
    }
    Ok(Want { of: metric.to_owned(), bound, value, written: shown })
}

/// Parses a value in a metric's unit.
fn quantity(text: &str, unit: &str) -> Result<Number, Wrong> {
    let plain = || amount(text).unwrap_or_else(|| Err(no_number(text)));
    let per_second = |factor: i128| {
        duration(text)?.multiply(Number::integer(factor)).ok_or_else(|| Wrong::new("that is too long"))
    };
    match unit {
        "us" => per_second(1_000_000),
        "ns" => per_second(1_000_000_000),
        "s" => per_second(1),
        // `200 MB/s` is how such a rate is shown, of 1000² bytes.
        "B/s" => match decimal_rate(text) {
            Some(rate) => Ok(rate),
            None => plain(),
        },
        "B" => plain(),
        "1" if text.ends_with('%') => percent(text),
        _ => Number::parse(&text.replace('_', "")).ok_or_else(|| no_number(text)),
    }
}

fn decimal_rate(text: &str) -> Option<Number> {
    let units = [("GB/s", 1_000_000_000), ("MB/s", 1_000_000), ("kB/s", 1000), ("B/s", 1)];
    let (digits, factor) =
        units.into_iter().find_map(|(unit, factor)| Some((text.strip_suffix(unit)?, factor)))?;
    Number::parse(digits.trim())?.multiply(Number::integer(factor))
}

fn no_number(text: &str) -> Wrong {
    Wrong::new(format!("`{}` is not a number", printable(text, 40)))
}

/// The message about a wrong value. Its unit is not known either where the metric is misspelled.
fn in_words(metric: &str, why: Wrong) -> String {
    let near = nearest(metric, METRICS.iter().map(|known| known.name));
    let near = near.filter(|_| info(metric).is_none()).map(|near| format!("did you mean `{near}`?"));
    let help = near.or(why.help).map(|help| format!("; {help}")).unwrap_or_default();
    format!("{metric}: {}{help}", why.message)
}

#[cfg(test)]
mod tests {
    use super::wants;
    use record::plan::Bound;

    #[test]
    fn limits_are_read_in_the_units_of_their_metrics() {
        let all = wants("iops >= 3000, read_lat_p99<=5ms,bw >= 200m, write_lat_mean <= 250us").unwrap();
        let read: Vec<(&str, Bound, f64)> =
            all.iter().map(|want| (want.of.as_str(), want.bound, want.value)).collect();
        assert_eq!(
            read,
            [
                ("iops", Bound::AtLeast, 3000.0),
                ("read_lat_p99", Bound::AtMost, 5000.0),
                ("bw", Bound::AtLeast, 200.0 * 1024.0 * 1024.0),
                ("write_lat_mean", Bound::AtMost, 250.0),
            ]
        );
        assert_eq!(all[1].written, "read_lat_p99<=5ms");
        assert_eq!(wants("bw >= 200 MB/s").unwrap()[0].value, 2e8);
        assert_eq!(wants("iops_per_euro >= 12.5").unwrap()[0].value, 12.5, "a derived one");
    }

    #[test]
    fn what_is_no_limit_is_told_with_the_way_out() {
        for (text, told) in [
            ("", "is not a limit"),
            ("iops", "is not a limit"),
            ("iops > 3000", "neither `>=` nor `<=`"),
            ("iops = 3000", "neither `>=` nor `<=`"),
            ("read_lat_p99 <= 5", "write `5s` for seconds"),
            ("iops >= 3k", "is not a number"),
            ("iops >= 0", "is 0"),
            ("read_lat_p9 <= 5ms", "did you mean `read_lat_p9"),
            ("iops >= 1,000", "is not a limit"),
            ("iops >= 1, iops >= 2", "two limits on one side"),
            ("bw >= 200MB", "ambiguous"),
            ("a b >= 1", "not the name of a metric"),
        ] {
            let refused = wants(text).unwrap_err();
            assert!(refused.contains(told), "{text}: {refused}");
        }
    }
}
