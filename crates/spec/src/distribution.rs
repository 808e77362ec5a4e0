//! fio's `random_distribution`.

use crate::diagnostic::{nearest, printable};
use crate::quantity::Wrong;

const KINDS: [&str; 6] = ["random", "zipf", "pareto", "normal", "zoned", "zoned_abs"];

/// Checks a distribution's text; gives it back as it goes to the engine.
pub(crate) fn check(text: &str) -> Result<String, Wrong> {
    let kind = text.split(':').next().unwrap_or("");
    let plain =
        text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b':' | b'.' | b'/' | b'_' | b','));
    if !KINDS.contains(&kind) || !plain || text.len() > 1000 {
        return Err(Wrong {
            message: format!("`{}` is no distribution of fio", printable(text, 40)),
            help: None,
            near: nearest(kind, KINDS),
        });
    }
    match (kind, text.split_once(':')) {
        ("zoned", Some((_, zones))) if !zones.contains(',') => zoned(zones)?,
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

/// `60/10:40/90`: shares of the I/Os and of the data.
fn zoned(zones: &str) -> Result<(), Wrong> {
    let (mut accesses, mut sizes) = (0_u32, 0_u32);
    for zone in zones.split(':') {
        let whole = |text: &str| text.parse::<u32>().ok().filter(|percent| *percent <= 100);
        let parts = zone.split_once('/').and_then(|(access, size)| whole(access).zip(whole(size)));
        let (access, size) = parts.ok_or_else(|| {
            Wrong::with(
                format!("`{}` is no zone", printable(zone, 20)),
                "a zone is ACCESSES/SIZE in whole percentages, e.g. `60/10`",
            )
        })?;
        accesses += access;
        sizes += size;
    }
    for (what, sum) in [("accesses", accesses), ("sizes", sizes)] {
        if sum != 100 {
            return Err(Wrong::with(
                format!("the zones' {what} add up to {sum} %, not 100 %"),
                "write e.g. `zoned:60/10:40/90`",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

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
            ("zoned:60", "`60` is no zone"),
            ("zoned:4294967295/1:1/1", "`4294967295/1` is no zone"),
            ("zoned", "`zoned` without its zones"),
            ("uniform", "`uniform` is no distribution of fio"),
        ] {
            assert_eq!(check(text).unwrap_err().message, wrong, "{text}");
        }
    }
}
