//! fio's `random_distribution`.

use crate::diagnostic::{nearest, printable};
use crate::quantity::{Wrong, amount};

const KINDS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];

/// Checks a distribution's text, and returns it in the form for the engine.
pub(crate) fn check(text: &str) -> Result<String, Wrong> {
    let kind = text.split(':').next().unwrap_or("");
    let plain =
        text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'/' | b'_' | b','));
    if !KINDS.contains(&kind) || !plain || text.len() > 1000 {
        return Err(Wrong {
            message: format!("`{}` is not a distribution of fio", printable(text, 40)),
            help: None,
            near: nearest(kind, KINDS),
        });
    }
    match (kind, text.split_once(':')) {
        ("zoned", Some((_, rest))) if !rest.contains(',') => zones(rest, false).map(|_| ())?,
        ("zoned_abs", Some((_, rest))) if !rest.contains(',') => zones(rest, true).map(|_| ())?,
        ("zoned" | "zoned_abs", None) => {
            return Err(Wrong::with(
                format!("`{kind}` without its zones"),
                "write e.g. `zoned:60/10:40/90`: 60 % of the I/Os in the first 10 % of the data, 40 % in the rest",
            ));
        }
        _ => {}
    }
    Ok(text.to_owned())
}

/// Parses zones `60/10:40/90`, or with sizes `60/1g:40/2g`: shares of the I/Os, and percentages or bytes of the data.
fn zones(text: &str, absolute: bool) -> Result<Vec<u64>, Wrong> {
    let (mut accesses, mut extents) = (0_u32, Vec::new());
    for zone in text.split(':') {
        let (share, extent) =
            zone.split_once('/').and_then(|parts| parsed(parts, absolute)).ok_or_else(|| {
                let help = match absolute {
                    false => "a zone is ACCESSES/SIZE in whole percentages, e.g. `60/10`",
                    true => "a zone is ACCESSES/SIZE, a whole percentage and a size, e.g. `60/1g`",
                };
                Wrong::with(format!("`{}` is not a zone", printable(zone, 20)), help)
            })?;
        accesses += share;
        extents.push(extent);
    }
    let sizes = (!absolute).then(|| ("sizes", extents.iter().sum::<u64>()));
    for (what, sum) in [("accesses", u64::from(accesses))].into_iter().chain(sizes) {
        if sum != 100 {
            return Err(Wrong::with(
                format!("the zones' {what} add up to {sum} %, not 100 %"),
                "write e.g. `zoned:60/10:40/90`",
            ));
        }
    }
    Ok(extents)
}

fn parsed((share, extent): (&str, &str), absolute: bool) -> Option<(u32, u64)> {
    let percent = |text: &str| text.parse::<u32>().ok().filter(|percent| *percent <= 100);
    let extent = match absolute {
        false => percent(extent).map(u64::from),
        true => u64::try_from(amount(extent)?.ok()?.whole()?).ok().filter(|bytes| *bytes <= 1 << 60),
    };
    percent(share).zip(extent)
}

/// Whether every zone has at least one block of a region of `blocks`, and no zone lies beyond its end. True if there are no zones.
pub(crate) fn zones_fit(text: &str, blocks: u64, block_bytes: u64) -> bool {
    let (kind, rest) = text.split_once(':').unwrap_or((text, ""));
    let absolute = kind == "zoned_abs";
    if !absolute && kind != "zoned" {
        return true;
    }
    let Ok(extents) = zones(rest, absolute) else { return false };
    let (mut sum, mut first) = (0_u64, 0_u64);
    extents.iter().all(|extent| {
        sum = sum.saturating_add(*extent);
        let end = match absolute {
            true => sum / block_bytes.max(1),
            false => u64::try_from(u128::from(blocks) * u128::from(sum) / 100).unwrap_or(u64::MAX),
        };
        let holds = end > first && end <= blocks;
        first = end;
        holds
    })
}

#[cfg(test)]
mod tests {
    use super::{check, zones_fit};

    #[test]
    fn zones_add_up_to_100() {
        for text in [
            "random",
            "zipf:1.1",
            "zoned:60/10:30/20:10/70",
            "zoned_abs:60/1g:40/2g",
            "zoned:50/50:50/50,60/10:40/90",
        ] {
            assert_eq!(check(text).as_deref(), Ok(text));
        }
        for (text, wrong) in [
            ("zoned:60/10:30/90", "the zones' accesses add up to 90 %, not 100 %"),
            ("zoned:60/10:40/80", "the zones' sizes add up to 90 %, not 100 %"),
            ("zoned:60", "`60` is not a zone"),
            ("zoned:4294967295/1:1/1", "`4294967295/1` is not a zone"),
            ("zoned", "`zoned` without its zones"),
            ("uniform", "`uniform` is not a distribution of fio"),
        ] {
            assert_eq!(check(text).unwrap_err().message, wrong, "{text}");
        }
    }
    #[test]
    fn zones_lie_inside_the_data_and_hold_a_block_each() {
        for (text, blocks, fit) in [
            ("random", 1, true),
            ("zoned:50/50:50/50", 2, true),
            ("zoned:50/50:50/50", 1, false),
            ("zoned:50/0:50/100", 100, false),
            ("zoned_abs:50/1m:50/1m", 512, true),
            ("zoned_abs:50/1m:50/1m", 511, false),
            ("zoned_abs:50/1k:50/1m", 512, false),
        ] {
            assert_eq!(zones_fit(text, blocks, 4096), fit, "{text} of {blocks}");
        }
    }
}
