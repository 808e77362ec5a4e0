//! Places by their addresses.

use crate::address::{Address, Reference};
use crate::error::ShareError;
use crate::oci::{self, Registry};
use crate::remote::Remote;
use crate::s3::{self, RunPlace, S3Address};
use std::fmt;

/// An address of one run or of many.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// In a registry.
    Registry(Address),
    /// In a bucket of S3.
    Bucket(S3Address),
}

impl Place {
    /// Reads an address.
    ///
    /// # Errors
    /// It isn't one; the error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, ShareError> {
        match text.split_once("://").map(|(scheme, _)| scheme) {
            Some("oci") => Address::parse(text).map(Self::Registry),
            Some("s3") => S3Address::parse(text).map(Self::Bucket),
            _ => Err(ShareError::Address {
                address: text.to_owned(),
                why: "it begins with neither oci:// nor s3://".to_owned(),
            }),
        }
    }

    /// The place of a run of this name, if the address names a repository or a folder; else the address itself.
    #[must_use]
    pub fn for_run(self, run: &str) -> Self {
        match self {
            Self::Registry(mut address) => {
                address.reference.get_or_insert_with(|| Reference::Tag(run.to_owned()));
                Self::Registry(address)
            }
            Self::Bucket(address) if address.is_folder => Self::Bucket(address.join(run)),
            Self::Bucket(address) => Self::Bucket(address),
        }
    }

    /// The place of many runs: the repository, or everything below the prefix.
    #[must_use]
    pub fn of_many(self) -> Self {
        match self {
            Self::Registry(address) => Self::Registry(Address { reference: None, ..address }),
            Self::Bucket(address) => Self::Bucket(S3Address { is_folder: true, ..address }),
        }
    }

    /// How the runs in a place of many are addressed, with `NAME` for the name of a run.
    #[must_use]
    pub fn of_each(&self, name: &str) -> String {
        match self {
            Self::Registry(address) => format!("{address}:{name}"),
            Self::Bucket(address) => address.join(name).to_string(),
        }
    }

    /// Opens the place of one run. Nothing is asked yet.
    ///
    /// # Errors
    /// The address can't be used as a URL, or the settings of AWS can't be read.
    pub fn open(&self, registry: &oci::Options, bucket: &s3::Options) -> Result<Box<dyn Remote>, ShareError> {
        match self {
            Self::Registry(address) => open(address, registry),
            Self::Bucket(address) => Ok(Box::new(RunPlace::open(address, bucket)?)),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Registry(address) => address.fmt(f),
            Self::Bucket(address) => address.fmt(f),
        }
    }
}

/// Opens the place of an address in a registry. The registry is asked nothing yet.
///
/// # Errors
/// The address can't be used as a URL.
pub fn open(address: &Address, options: &oci::Options) -> Result<Box<dyn Remote>, ShareError> {
    Ok(Box::new(Registry::new(address.clone(), options)?))
}

#[cfg(test)]
mod tests {
    use super::Place;

    #[test]
    fn a_run_gets_a_place_of_its_own_in_a_place_of_many() {
        let at = |text: &str| Place::parse(text).unwrap().for_run("r1").to_string();
        assert_eq!(at("oci://h/results"), "oci://h/results:r1");
        assert_eq!(at("oci://h/results:one"), "oci://h/results:one");
        assert_eq!(at("s3://results"), "s3://results/r1");
        assert_eq!(at("s3://results/lab/"), "s3://results/lab/r1");
        assert_eq!(at("s3://results/lab"), "s3://results/lab");
        let each = |text: &str| Place::parse(text).unwrap().of_many().of_each("NAME");
        assert_eq!(each("oci://h/results:one"), "oci://h/results:NAME");
        assert_eq!(each("s3://results/lab"), "s3://results/lab/NAME");
        for text in ["results", "http://h/r", "S3://results"] {
            assert!(
                Place::parse(text).unwrap_err().to_string().contains("neither oci:// nor s3://"),
                "{text}"
            );
        }
    }
}
