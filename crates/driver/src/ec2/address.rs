//! The network that may connect by ssh.

use super::error::Ec2Error;
use std::net::Ipv4Addr;

/// Whether it is an IPv4 network such as `192.0.2.7/32`.
pub(super) fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    address.parse::<Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 32)
}

/// Returns the network of this machine alone, as the internet sees it.
pub(super) fn own() -> Result<String, Ec2Error> {
    Err(Ec2Error::OwnAddress("nobody was asked".to_owned()))
}
