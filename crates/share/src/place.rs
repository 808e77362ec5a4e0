//! Opens a place by its address.

use crate::address::Address;
use crate::error::ShareError;
use crate::oci::{self, Registry};
use crate::remote::Remote;

/// Opens the place of an address. A registry is asked nothing yet.
///
/// # Errors
/// The address can't be used as a URL.
pub fn open(address: &Address, options: &oci::Options) -> Result<Box<dyn Remote>, ShareError> {
    Ok(Box::new(Registry::new(address.clone(), options)?))
}
