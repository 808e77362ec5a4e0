//! Parameters of an experiment: from `--set`, or asked for on a terminal.

use crate::exit::Failure;
use std::collections::BTreeMap;
use thiserror::Error;

/// A `--set` that can't be used.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum SetError {
    /// It has no `=`.
    #[error("--set {0}: expected NAME=VALUE, e.g. --set n=8")]
    NoValue(String),
    /// The name is given twice.
    #[error("--set {0}: given twice; which one is meant?")]
    Twice(String),
}

/// The values given by `--set`.
///
/// # Errors
/// One has no `=`, or a name is given twice.
pub(crate) fn parse(set: &[String]) -> Result<BTreeMap<String, String>, SetError> {
    let mut values = BTreeMap::new();
    for text in set {
        let (name, value) = text.split_once('=').ok_or_else(|| SetError::NoValue(text.clone()))?;
        let name = name.trim();
        if name.is_empty() {
            return Err(SetError::NoValue(text.clone()));
        }
        if values.insert(name.to_owned(), value.to_owned()).is_some() {
            return Err(SetError::Twice(name.to_owned()));
        }
    }
    Ok(values)
}

impl From<SetError> for Failure {
    fn from(error: SetError) -> Self {
        Self::input(error)
    }
}

#[cfg(test)]
mod tests {
    use super::{SetError, parse};

    fn set(list: &[&str]) -> Result<Vec<(String, String)>, SetError> {
        let owned: Vec<String> = list.iter().map(|s| (*s).to_owned()).collect();
        parse(&owned).map(|map| map.into_iter().collect())
    }

    #[test]
    fn values_may_hold_anything_names_come_once() {
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(set(&["n=8", "dir=/a=b c"]), Ok(vec![pair("dir", "/a=b c"), pair("n", "8")]));
        assert_eq!(set(&["n="]), Ok(vec![pair("n", "")]));
        assert_eq!(set(&["n"]), Err(SetError::NoValue("n".to_owned())));
        assert_eq!(set(&["=8"]), Err(SetError::NoValue("=8".to_owned())));
        assert_eq!(set(&["n=8", "n=9"]), Err(SetError::Twice("n".to_owned())));
    }
}
