//! A user's own layer: fills in its placeholders.

use std::path::Path;

/// The values of the placeholders.
pub(crate) struct Places<'a> {
    pub(crate) devices: &'a [&'a Path],
    pub(crate) mount: &'a Path,
    pub(crate) name: &'a str,
}

/// Fills in an argument vector; `{devices}` must be an argument of its own and becomes several.
pub(crate) fn fill(argv: &[String], places: &Places<'_>) -> Result<Vec<String>, String> {
    let mut filled = Vec::new();
    for argument in argv {
        if argument == "{devices}" {
            filled.extend(places.devices.iter().map(|device| device.to_string_lossy().into_owned()));
        } else {
            filled.push(fill_one(argument, places)?);
        }
    }
    if filled.is_empty() {
        return Err("a program of the command layer is an empty list; name the program".to_owned());
    }
    Ok(filled)
}

/// Fills in one text.
pub(crate) fn fill_one(text: &str, places: &Places<'_>) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some(begin) = rest.find('{') {
        filled.push_str(&rest[..begin]);
        rest = &rest[begin..];
        let end = rest.find('}').map_or(rest.len(), |end| end + 1);
        match &rest[..end] {
            "{device}" => filled.push_str(
                &places.devices.first().map_or(String::new(), |d| d.to_string_lossy().into_owned()),
            ),
            "{mount}" => filled.push_str(&places.mount.to_string_lossy()),
            "{name}" => filled.push_str(places.name),
            "{devices}" => {
                return Err(format!("{{devices}} in {text:?} must be an argument of its own"));
            }
            // Other braces stay: they are common in arguments of programs.
            other => filled.push_str(other),
        }
        rest = &rest[end..];
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::{Places, fill};
    use std::path::Path;

    fn filled(argv: &[&str]) -> Result<Vec<String>, String> {
        let devices = [Path::new("/dev/a"), Path::new("/dev/b")];
        let places = Places { devices: &devices, mount: Path::new("/m"), name: "diskproof-x" };
        fill(&argv.iter().map(|&word| word.to_owned()).collect::<Vec<_>>(), &places)
    }

    #[test]
    fn placeholders_are_filled_in() {
        let argv =
            filled(&["mdadm", "--create", "/dev/md/{name}", "{devices}", "{device}:{mount}", "{x}", "{"]);
        let expected =
            ["mdadm", "--create", "/dev/md/diskproof-x", "/dev/a", "/dev/b", "/dev/a:/m", "{x}", "{"];
        assert_eq!(argv.unwrap(), expected);
    }

    #[test]
    fn several_devices_never_become_one_word() {
        assert!(filled(&["x", "on={devices}"]).unwrap_err().contains("argument of its own"));
        assert!(filled(&[]).is_err());
    }
}
