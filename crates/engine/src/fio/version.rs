//! The version of fio, and the oldest supported one.

use crate::error::EngineError;

/// The oldest fio that we support: Debian 12's. Older ones lack the log clock and the json+ fields that we read.
const NEEDED: (u32, u32) = (3, 33);

/// Checks the output of `fio --version`, e.g. `fio-3.33` or `fio-3.42-11-gf5344`, and returns it trimmed.
pub(crate) fn check(argv: &str, said: &str) -> Result<String, EngineError> {
    let text = said.trim();
    let Some(found) = parse(text) else {
        return Err(EngineError::UnknownVersion { engine: "fio", argv: argv.to_owned(), said: cut(text) });
    };
    if found < NEEDED {
        return Err(EngineError::TooOld { found: text.to_owned(), needed: "fio-3.33", package: "fio" });
    }
    Ok(text.to_owned())
}

fn parse(text: &str) -> Option<(u32, u32)> {
    let (major, rest) = text.strip_prefix("fio-")?.split_once('.')?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((major.parse().ok()?, rest[..digits].parse().ok()?))
}

fn cut(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn new_enough() {
        assert_eq!(check("fio --version", "fio-3.33\n").unwrap(), "fio-3.33");
        assert_eq!(check("fio --version", "fio-3.42-11-gf5344\n").unwrap(), "fio-3.42-11-gf5344");
        assert!(check("fio --version", "fio-4.0").is_ok());
    }

    #[test]
    fn too_old_says_what_to_do() {
        for old in ["fio-3.32", "fio-2.99", "fio-3.1"] {
            let text = check("fio --version", old).unwrap_err().to_string();
            assert_eq!(
                text,
                format!(
                    "{old} is too old: diskproof needs fio-3.33 or newer (Debian 12 has it: apt-get install fio)"
                )
            );
        }
    }

    #[test]
    fn not_a_version() {
        for said in ["", "fio-", "fio-x.y", "fio-3", "fio 3.33", "fio-99999999999.1"] {
            assert!(check("fio --version", said).unwrap_err().to_string().contains("not a version of fio"));
        }
    }
}
