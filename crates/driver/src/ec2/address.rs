//! The network that may connect by ssh.

use super::error::Ec2Error;
use host::http::{HttpUrl, Request, send};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Amazon's own answer to the question which address a request comes from: one line.
const WHO_AM_I: &str = "https://checkip.amazonaws.com/";

/// Whether it is an IPv4 network such as `192.0.2.7/32`.
pub(super) fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    address.parse::<Ipv4Addr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= 32)
}

/// Returns the network of this machine alone, as the internet sees it.
pub(super) fn own() -> Result<String, Ec2Error> {
    let failed = |error: &dyn std::error::Error| Ec2Error::OwnAddress(error.to_string());
    let url = HttpUrl::parse(WHO_AM_I).map_err(|error| failed(&error))?;
    let request = Request::new("GET", url).at_most(1024).time_limit(Duration::from_secs(30));
    let reply = send(&request).map_err(|error| failed(&error))?;
    let text = String::from_utf8_lossy(&reply.body);
    network_of(text.trim()).ok_or_else(|| Ec2Error::OwnAddress(format!("{WHO_AM_I} tells no IPv4 address")))
}

fn network_of(address: &str) -> Option<String> {
    let address: Ipv4Addr = address.parse().ok()?;
    Some(format!("{address}/32"))
}

#[cfg(test)]
mod tests {
    use super::{is_network, network_of};

    #[test]
    fn only_ipv4_networks_are_taken() {
        assert!(is_network("192.0.2.7/32") && is_network("0.0.0.0/0"));
        for other in ["192.0.2.7", "192.0.2.7/33", "192.0.2/24", "2001:db8::/32", "all"] {
            assert!(!is_network(other), "{other}");
        }
        assert_eq!(network_of("192.0.2.7").as_deref(), Some("192.0.2.7/32"));
        assert_eq!(network_of("<html>a portal of a hotel</html>"), None);
    }
}
