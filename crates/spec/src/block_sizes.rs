//! Mixed block sizes: fio's `bsrange` and `bssplit`.

use crate::diagnostic::printable;
use crate::quantity::{Wrong, amount};
use record::workload::{Options, SizeRange, SizeShare};

/// The most shares that fio accepts.
const MOST_SHARES: usize = 64;

/// The message about sizes per direction.
const PER_DIRECTION: &str =
    "reads, writes and trims have the same sizes here; for sizes per direction use a job file (`fio: FILE`)";

/// Parses a range, such as `4k-64k`.
pub(crate) fn range(text: &str) -> Result<SizeRange, Wrong> {
    one_for_all(text)?;
    let (low, high) = text.split_once(['-', ':']).ok_or_else(|| {
        Wrong::with(format!("`{}` is not a range of sizes", printable(text, 40)), "write e.g. `4k-64k`")
    })?;
    let range = SizeRange { low_bytes: size(low)?, high_bytes: size(high)? };
    if range.low_bytes > range.high_bytes {
        let (low, high) = (printable(low.trim(), 20), printable(high.trim(), 20));
        return Err(Wrong::with(
            format!("the range begins at {low}, above its end"),
            format!("write `{high}-{low}`"),
        ));
    }
    Ok(range)
}

/// Parses sizes with shares, such as `4k/60:64k/40`. Missing shares divide the rest among them, as in fio.
pub(crate) fn split(text: &str) -> Result<Vec<SizeShare>, Wrong> {
    one_for_all(text)?;
    let parts: Vec<&str> = text.split(':').collect();
    if parts.len() > MOST_SHARES {
        return Err(Wrong::new(format!("{} sizes; fio takes at most {MOST_SHARES}", parts.len())));
    }
    let mut sizes = Vec::with_capacity(parts.len());
    for part in parts {
        let (bytes, share) = part.split_once('/').unwrap_or((part, ""));
        sizes.push((size(bytes)?, percent(share.trim())?));
    }
    let said: u32 = sizes.iter().filter_map(|(_, percent)| *percent).map(u32::from).sum();
    let open = sizes.iter().filter(|(_, percent)| percent.is_none()).count();
    let rest = 100_u32.checked_sub(said).ok_or_else(|| sum(said))?;
    let each = match u32::try_from(open) {
        Ok(0) | Err(_) if rest > 0 => return Err(sum(said)),
        Ok(0) | Err(_) => 0,
        Ok(open) if rest < open => {
            return Err(Wrong::with(
                format!("{rest} % are left for {open} sizes without a share"),
                "every size needs at least 1 %: lower the other shares, or leave the size out",
            ));
        }
        Ok(open) => rest / open,
    };
    Ok(shared_out(&sizes, rest, each))
}

/// Fills in the missing shares; the last of them gets the remainder of the division.
fn shared_out(sizes: &[(u64, Option<u8>)], rest: u32, each: u32) -> Vec<SizeShare> {
    let last = sizes.iter().rposition(|(_, percent)| percent.is_none());
    let open = u32::try_from(sizes.iter().filter(|(_, percent)| percent.is_none()).count()).unwrap_or(0);
    let odd = rest.saturating_sub(each * open);
    let filled = |at: usize| each + if Some(at) == last { odd } else { 0 };
    let share = |(at, (bs_bytes, percent)): (usize, &(u64, Option<u8>))| SizeShare {
        bs_bytes: *bs_bytes,
        percent: percent.unwrap_or_else(|| u8::try_from(filled(at)).unwrap_or(100)),
    };
    sizes.iter().enumerate().map(share).collect()
}

fn sum(said: u32) -> Wrong {
    Wrong::with(
        format!("the shares add up to {said} %, not 100 %"),
        "a share that is left out (`4k/60:64k`) gets what is missing",
    )
}

fn one_for_all(text: &str) -> Result<(), Wrong> {
    match text.contains(',') {
        true => Err(Wrong::with(format!("`{}` has several directions", printable(text, 40)), PER_DIRECTION)),
        false => Ok(()),
    }
}

fn size(text: &str) -> Result<u64, Wrong> {
    let wrong =
        || Wrong::with(format!("`{}` is not a size", printable(text.trim(), 40)), "sizes are e.g. `4k`");
    let bytes = amount(text).unwrap_or_else(|| Err(wrong()))?.whole();
    bytes
        .and_then(|bytes| u64::try_from(bytes).ok())
        .filter(|bytes| (1..=1 << 60).contains(bytes))
        .ok_or_else(wrong)
}

/// Parses a share; `None` where it is missing.
fn percent(text: &str) -> Result<Option<u8>, Wrong> {
    if text.is_empty() {
        return Ok(None);
    }
    let whole = Some(text).filter(|t| t.bytes().all(|b| b.is_ascii_digit())).and_then(|t| t.parse().ok());
    whole.filter(|percent| (1..=100).contains(percent)).map(Some).ok_or_else(|| {
        Wrong::with(
            format!("`{}` is not a share", printable(text, 40)),
            "shares are whole percentages from 1 to 100",
        )
    })
}

/// Returns all sizes that a workload may use: one size, both ends of its range, or those of its mix.
pub(crate) fn all(options: &Options) -> Vec<u64> {
    let mut sizes = vec![options.bs_bytes];
    sizes.extend(options.bsrange.map(|range| range.high_bytes));
    sizes.extend(options.bssplit.iter().map(|share| share.bs_bytes));
    sizes
}

/// Returns the size of the largest block.
pub(crate) fn largest(options: &Options) -> u64 {
    all(options).into_iter().max().unwrap_or(options.bs_bytes)
}

/// Returns the mean block size.
#[expect(clippy::cast_precision_loss, reason = "for forecasts, which have two good digits")]
pub(crate) fn mean(options: &Options) -> f64 {
    if let Some(range) = options.bsrange {
        return f64::midpoint(range.low_bytes as f64, range.high_bytes as f64);
    }
    if options.bssplit.is_empty() {
        return options.bs_bytes as f64;
    }
    options.bssplit.iter().map(|share| share.bs_bytes as f64 * f64::from(share.percent) / 100.0).sum()
}

#[cfg(test)]
mod tests {
    use super::{mean, range, split};
    use record::workload::{Options, Rw, SizeRange};

    fn shares(text: &str) -> Result<Vec<(u64, u8)>, String> {
        let shares = split(text).map_err(|wrong| wrong.message)?;
        Ok(shares.iter().map(|share| (share.bs_bytes, share.percent)).collect())
    }

    #[test]
    fn shares_that_are_left_out_divide_the_rest_as_in_fio() {
        for (text, right) in [
            ("4k/60:64k/40", vec![(4096, 60), (65_536, 40)]),
            ("4k/50:1k/:32k/", vec![(4096, 50), (1024, 25), (32_768, 25)]),
            ("4k:8k:16k", vec![(4096, 33), (8192, 33), (16_384, 34)]),
            ("4k:8k/50:16k", vec![(4096, 25), (8192, 50), (16_384, 25)]),
            ("16k", vec![(16_384, 100)]),
        ] {
            assert_eq!(shares(text), Ok(right), "{text}");
        }
    }

    #[test]
    fn shares_add_up_to_100() {
        for (text, wrong) in [
            ("4k/60:64k/30", "the shares add up to 90 %, not 100 %"),
            ("4k/60:64k/60", "the shares add up to 120 %, not 100 %"),
            ("4k/100:64k", "0 % are left for 1 sizes without a share"),
            ("4k/x", "`x` is not a share"),
            ("4k/0:8k", "`0` is not a share"),
            ("4k/50:8k/50,16k", "`4k/50:8k/50,16k` has several directions"),
            ("4k/50:", "`` is not a size"),
            ("4kB/50:8k", "`4kB` is ambiguous: fio, kernel and vendors disagree about `kB`"),
        ] {
            assert_eq!(shares(text).as_ref().map_err(String::as_str), Err(wrong), "{text}");
        }
    }

    #[test]
    fn ranges_go_upward() {
        assert_eq!(range("4k-64k"), Ok(SizeRange { low_bytes: 4096, high_bytes: 65_536 }));
        assert_eq!(range("512 - 1k"), Ok(SizeRange { low_bytes: 512, high_bytes: 1024 }));
        for text in ["64k-4k", "4k", "4k-", "-4k", "4k-8k,16k", "0-4k"] {
            assert!(range(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_mean_weighs_sizes_by_their_shares() {
        let mut options = Options::new(Rw::Read, 4096, 1 << 20);
        assert_eq!(mean(&options).to_bits(), 4096_f64.to_bits());
        options.bssplit = split("4k/75:8k/25").unwrap();
        assert_eq!(mean(&options).to_bits(), 5120_f64.to_bits());
        options.bssplit.clear();
        options.bsrange = range("4k-12k").ok();
        assert_eq!(mean(&options).to_bits(), 8192_f64.to_bits());
    }
}
