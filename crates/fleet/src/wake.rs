//! Wakes machines: sends the magic packet that network cards wait for while a machine is off.

use record::machine::Mac;
use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use std::path::Path;
use thiserror::Error;

/// The port that the packet is sent to; network cards look at the content only.
const PORT: u16 = 9;

/// No packet could be sent.
#[derive(Debug, Error)]
#[error("can't send the magic packet to {to}")]
pub struct WakeError {
    /// Where it was sent.
    pub to: SocketAddrV4,
    source: std::io::Error,
}

/// Sends the magic packet of a network card by UDP broadcast. Without `to`, it goes to every network that this machine is directly in,
/// and to 255.255.255.255.
///
/// # Errors
/// It could be sent nowhere.
pub fn wake(mac: Mac, to: Option<SocketAddrV4>) -> Result<Vec<SocketAddrV4>, WakeError> {
    let table = std::fs::read_to_string(Path::new("/proc/net/route")).unwrap_or_default();
    let all =
        || networks(&table).into_iter().chain([Ipv4Addr::BROADCAST]).map(|to| SocketAddrV4::new(to, PORT));
    let targets: Vec<SocketAddrV4> = to.map_or_else(|| all().collect(), |to| vec![to]);
    let packet = packet(mac);
    let mut sent = Vec::new();
    let mut failed = None;
    for to in targets {
        let send = || {
            let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
            socket.set_broadcast(true)?;
            socket.send_to(&packet, to)
        };
        match send() {
            Ok(_) => sent.push(to),
            Err(source) => failed = Some(WakeError { to, source }),
        }
    }
    match (sent.is_empty(), failed) {
        (true, Some(error)) => Err(error),
        _ => Ok(sent),
    }
}

/// Six bytes FF, and sixteen times the hardware address (AMD, Magic Packet Technology, 1995).
fn packet(mac: Mac) -> Vec<u8> {
    [0xff; 6].into_iter().chain(std::iter::repeat_n(mac.0, 16).flatten()).collect()
}

/// Returns the broadcast addresses of the networks without a gateway in the kernel's table of routes, except loopback.
fn networks(table: &str) -> BTreeSet<Ipv4Addr> {
    let address = |hex: &str| u32::from_str_radix(hex, 16).ok().map(|n| Ipv4Addr::from(n.to_ne_bytes()));
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [_, network, gateway, _, _, _, _, mask, ..] = words.as_slice() else { return None };
        let (network, gateway, mask) = (address(network)?, address(gateway)?, address(mask)?);
        let direct = gateway.is_unspecified() && !network.is_loopback();
        // A network of one or two addresses has no broadcast.
        (direct && mask.to_bits() != 0 && mask.to_bits().count_zeros() > 1)
            .then(|| Ipv4Addr::from_bits(network.to_bits() | !mask.to_bits()))
    };
    table.lines().skip(1).filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::{networks, packet, wake};
    use record::machine::Mac;
    use std::net::{SocketAddr, UdpSocket};

    const MAC: Mac = Mac([0x52, 0x54, 0, 0x12, 0x34, 0x56]);

    #[test]
    fn the_packet_arrives_as_cards_expect_it() {
        let card = UdpSocket::bind("127.0.0.1:0").unwrap();
        let SocketAddr::V4(at) = card.local_addr().unwrap() else { panic!("IPv4") };
        assert_eq!(wake(MAC, Some(at)).unwrap(), [at]);
        let mut buffer = [0; 200];
        let read = card.recv(&mut buffer).unwrap();
        assert_eq!(&buffer[..read], packet(MAC));
        assert_eq!(read, 102);
        assert_eq!((&buffer[..6], &buffer[96..102]), (&[0xff; 6][..], &MAC.0[..]));
    }

    #[test]
    fn networks_that_this_machine_is_in_have_a_broadcast_address() {
        let table = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n\
                     eth0\t00000000\t0101A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                     eth0\t0001A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n\
                     tun0\t0100000A\t00000000\t0001\t0\t0\t0\tFFFFFFFF\t0\t0\t0\n";
        // The kernel writes the bytes of an address in its own order.
        let found: Vec<String> = networks(table).iter().map(ToString::to_string).collect();
        let expected: &[&str] = if cfg!(target_endian = "little") { &["192.168.1.255"] } else { &[] };
        assert_eq!(found, expected);
    }
}
