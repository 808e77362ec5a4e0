//! The files `config` and `credentials` in `~/.aws`.

use std::collections::BTreeMap;

/// Sections with their settings. A setting below another one (`s3 =`, then indented lines) is named `s3.NAME`.
#[derive(Default)]
pub(crate) struct Ini(BTreeMap<String, BTreeMap<String, String>>);

impl Ini {
    /// Reads a file. The error is the number of the line that can't be read, never its text, which may be a secret.
    pub(crate) fn parse(text: &str) -> Result<Self, usize> {
        let mut sections: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        let (mut section, mut above): (Option<String>, Option<String>) = (None, None);
        for (number, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let trimmed = line.trim();
            if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
                continue;
            }
            if let Some(rest) = trimmed.strip_prefix('[') {
                let (name, behind) = rest.split_once(']').ok_or(number + 1)?;
                if !(behind.trim().is_empty() || behind.trim_start().starts_with(['#', ';'])) {
                    return Err(number + 1);
                }
                let name =
                    name.split_whitespace().map(|word| word.trim_matches(['"', '\''])).collect::<Vec<_>>();
                section = Some(name.join(" "));
                sections.entry(name.join(" ")).or_default();
                above = None;
                continue;
            }
            let (name, value) = trimmed.split_once('=').ok_or(number + 1)?;
            let (name, value) = (name.trim().to_ascii_lowercase(), uncommented(value.trim()));
            let is_below = line.starts_with([' ', '\t']);
            let name = match &above {
                Some(above) if is_below => format!("{above}.{name}"),
                _ => {
                    above = value.is_empty().then(|| name.clone());
                    name
                }
            };
            let section = section.as_ref().ok_or(number + 1)?;
            sections.entry(section.clone()).or_default().insert(name, value.to_owned());
        }
        Ok(Self(sections))
    }

    pub(crate) fn has(&self, section: &str) -> bool {
        self.0.contains_key(section)
    }

    /// A setting that isn't empty.
    pub(crate) fn get(&self, section: &str, name: &str) -> Option<&str> {
        self.0.get(section)?.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

/// A comment behind a value begins with a space and `#` or `;`.
fn uncommented(value: &str) -> &str {
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|mark| value.find(mark)).min();
    value[..end.unwrap_or(value.len())].trim_end()
}

#[cfg(test)]
mod tests {
    use super::Ini;

    #[test]
    fn sections_settings_and_settings_below_them_are_read() {
        let text = "# mine\n[default]\nregion=eu-west-1\ns3 =\n  addressing_style = path\n  endpoint_url = http://a\noutput = json\n\n[profile  lab] ; other\nREGION = us-east-2  # near\nkey = a#b=c\n";
        let ini = Ini::parse(text).unwrap();
        assert_eq!(ini.get("default", "region"), Some("eu-west-1"));
        assert_eq!(ini.get("default", "s3.endpoint_url"), Some("http://a"));
        assert_eq!((ini.get("default", "s3"), ini.get("default", "output")), (None, Some("json")));
        assert_eq!(ini.get("profile lab", "region"), Some("us-east-2"));
        assert_eq!(ini.get("profile lab", "key"), Some("a#b=c"));
        assert!(ini.has("profile lab") && !ini.has("lab"));
    }

    #[test]
    fn a_line_that_is_no_setting_is_named_by_its_number() {
        for (text, line) in [("[a]\nx=1\nsecret", 3), ("x=1", 1), ("[a\n", 1), ("\n[a] b", 2)] {
            assert_eq!(Ini::parse(text).err(), Some(line), "{text:?}");
        }
    }
}
