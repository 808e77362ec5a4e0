//! A table of options, the form of their values, and the reason of a refusal.

use std::fmt;

/// The form of an option's value.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    /// No value.
    Switch,
    /// Digits.
    Number,
    /// Digits, optionally with a decimal point.
    Decimal,
    /// Digits, optionally followed by one letter as the unit.
    Size,
    /// A name: letters, digits and `_ . -`; it starts with a letter or digit.
    Label,
    /// One word of this list.
    OneOf(&'static [&'static str]),
    /// Words of this list, separated by commas; a `^` before a word switches it off.
    Features(&'static [&'static str]),
    /// `NAME` and `NAME=VALUE`, separated by commas.
    Named(&'static [Named]),
}

/// `NAME=VALUE`, or `NAME` alone where the value is optional.
#[derive(Debug)]
pub(super) struct Named {
    pub(super) name: &'static str,
    pub(super) form: Form,
    /// Whether the value may be missing.
    pub(super) alone: bool,
}

pub(super) const fn named(name: &'static str, form: Form) -> Named {
    Named { name, form, alone: matches!(form, Form::Switch) }
}

/// A sub-option with an optional value.
pub(super) const fn perhaps(name: &'static str, form: Form) -> Named {
    Named { name, form, alone: true }
}

/// An option of a program, with all its spellings: `-b`, `--byte-count`.
#[derive(Debug)]
pub(super) struct Opt {
    pub(super) names: &'static [&'static str],
    pub(super) form: Form,
}

pub(super) const fn opt(names: &'static [&'static str], form: Form) -> Opt {
    Opt { names, form }
}

/// The options of one program.
pub(super) struct Table {
    pub(super) program: &'static str,
    pub(super) allowed: &'static [Opt],
    /// Reasons for the message why other options are refused, by name; sub-options as `-d name`.
    pub(super) refused: &'static [(&'static str, &'static str)],
}

/// The reason why an option is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Index of the refused element in the list, from 0.
    pub at: usize,
    /// What is wrong, with the program and the option.
    pub message: String,
    /// What is allowed there instead.
    pub allowed: String,
    /// Why it is refused, and what to do instead.
    pub help: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}; allowed: {}", self.message, self.help, self.allowed)
    }
}

pub(super) const WAY_OUT: &str = "diskproof passes on only options that stay on the stack's own devices; a `command` layer can do more, with its undo";

impl Table {
    /// Finds the option that an element names, and the value in the same element. Names must be complete: no abbreviated long names,
    /// no combined letters.
    pub(super) fn find<'t>(&self, given: &'t str) -> Option<(&Opt, Option<&'t str>)> {
        let by_name = |option: &'static Opt| {
            option.names.iter().find_map(|name| {
                let rest = given.strip_prefix(name)?;
                match (name.starts_with("--"), rest) {
                    (_, "") => Some((option, None)),
                    (true, rest) => rest.strip_prefix('=').map(|value| (option, Some(value))),
                    (false, rest) => Some((option, Some(rest))),
                }
            })
        };
        self.allowed.iter().find_map(by_name)
    }

    fn names(&self) -> String {
        self.allowed.iter().map(|option| option.names.join("|")).collect::<Vec<_>>().join(" ")
    }

    fn why(&self, name: &str) -> Option<&'static str> {
        let long = name.split('=').next().unwrap_or(name);
        let letter = || name.get(..2).filter(|_| !name.starts_with("--"));
        let entry = |wanted: &str| self.refused.iter().find(|(name, _)| *name == wanted);
        entry(long).or_else(|| letter().and_then(entry)).map(|(_, why)| *why)
    }

    pub(super) fn unknown(&self, at: usize, given: &str) -> Refusal {
        let (program, shown) = (self.program, shown(given));
        let together = || {
            let switch = given.get(..2).and_then(|letter| self.find(letter));
            let is_switch = switch.is_some_and(|(option, _)| matches!(option.form, Form::Switch));
            is_switch.then_some("write every option as an element of its own")
        };
        let message = if given.starts_with('-') {
            format!("the option `{shown}` is not allowed for {program}")
        } else {
            format!("`{shown}` is not allowed for {program}: it is neither an option nor the value of one")
        };
        let help = match together().or_else(|| self.why(given)) {
            Some(why) => format!("{why}; {WAY_OUT}"),
            None => WAY_OUT.to_owned(),
        };
        Refusal { at, message, allowed: self.names(), help }
    }

    pub(super) fn without_value(&self, at: usize, given: &str, form: &Form) -> Refusal {
        Refusal {
            at,
            message: format!("the option `{}` of {} has no value", shown(given), self.program),
            allowed: form.to_string(),
            help: "write the value as the next element of the list".to_owned(),
        }
    }

    pub(super) fn wrong_value(&self, at: usize, name: &str, form: &Form, part: &str) -> Refusal {
        let sub = part.split('=').next().unwrap_or(part);
        let help = match self.why(&format!("{name} {sub}")) {
            Some(why) => format!("{why}; {WAY_OUT}"),
            None => WAY_OUT.to_owned(),
        };
        let message = format!("the option `{name}` of {} may not be `{}`", self.program, shown(part));
        Refusal { at, message, allowed: form.to_string(), help }
    }
}

impl Form {
    /// Checks that a value has this form; the error is the wrong part.
    pub(super) fn check(&self, value: &str) -> Result<(), String> {
        let holds = |right: bool| if right { Ok(()) } else { Err(value.to_owned()) };
        match self {
            Self::Switch => holds(value.is_empty()),
            Self::Number => holds(is_digits(value)),
            Self::Decimal => {
                let (whole, part) = value.split_once('.').unwrap_or((value, "0"));
                holds(is_digits(whole) && is_digits(part))
            }
            Self::Size => {
                holds(is_digits(value.strip_suffix(|c: char| c.is_ascii_alphabetic()).unwrap_or(value)))
            }
            Self::Label => {
                let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-');
                let begins = value.starts_with(|c: char| c.is_ascii_alphanumeric());
                holds(begins && value.len() <= 64 && value.chars().all(plain))
            }
            Self::OneOf(words) => holds(words.contains(&value)),
            Self::Features(words) => {
                each(value, |word| words.contains(&word.strip_prefix('^').unwrap_or(word)))
            }
            Self::Named(all) => each(value, |part| all.iter().any(|named| named.takes(part))),
        }
    }
}

/// Checks each part between commas, and returns the first wrong one as the error.
fn each(value: &str, right: impl Fn(&str) -> bool) -> Result<(), String> {
    value.split(',').find(|part| !right(part)).map_or(Ok(()), |part| Err(part.to_owned()))
}

fn is_digits(text: &str) -> bool {
    (1..=18).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())
}

impl Named {
    fn takes(&self, part: &str) -> bool {
        match part.split_once('=') {
            None => part == self.name && self.alone,
            Some((name, value)) => {
                name == self.name && !matches!(self.form, Form::Switch) && self.form.check(value).is_ok()
            }
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Switch => f.write_str("no value"),
            Self::Number => f.write_str("NUMBER"),
            Self::Decimal => f.write_str("NUMBER with or without a decimal point"),
            Self::Size => f.write_str("SIZE, a number with or without a letter for its unit"),
            Self::Label => f.write_str("NAME of letters, digits and _ . -"),
            Self::OneOf(words) => f.write_str(&words.join("|")),
            Self::Features(words) => {
                write!(f, "a list, with ^ before what is switched off, of {}", words.join(" "))
            }
            Self::Named(all) => {
                let shown: Vec<String> = all.iter().map(ToString::to_string).collect();
                write!(f, "a list of {}", shown.join(" "))
            }
        }
    }
}

impl fmt::Display for Named {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = match self.form {
            Form::Switch => return f.write_str(self.name),
            Form::OneOf(words) => words.join("|"),
            Form::Size => "SIZE".to_owned(),
            Form::Number | Form::Decimal => "NUMBER".to_owned(),
            _ => "VALUE".to_owned(),
        };
        match self.alone {
            true => write!(f, "{}[={value}]", self.name),
            false => write!(f, "{}={value}", self.name),
        }
    }
}

/// The text as a message shows it.
pub(super) fn shown(text: &str) -> String {
    let cut: String = text.chars().take(60).collect();
    crate::printable::printable(&cut).into_owned() + if cut.len() < text.len() { "…" } else { "" }
}
