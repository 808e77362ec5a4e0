//! Opens a place by its address.

use crate::address::Address;
use crate::error::ShareError;
use crate::oci::{self, Registry};
use crate::remote::Remote;

/// Opens the place of an address. A registry is asked nothing yet.
///
/// # Errors
/// The address can't be used, or credentials can't be read.
pub fn open(address: &Address, options: &oci::Options) -> Result<Box<dyn Remote>, ShareError> {
    match address {
        Address::Oci(oci) => Ok(Box::new(Registry::new(oci.clone(), options)?)),
        Address::S3(_) => Err(ShareError::Address {
            address: address.to_string(),
            why: "buckets are not there yet".to_owned(),
        }),
    }
}
