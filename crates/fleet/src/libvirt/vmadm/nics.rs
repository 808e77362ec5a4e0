//! The network cards of a description.

use super::fields::Fields;
use crate::libvirt::filter::filter;
use crate::libvirt::request::{Network, Nic};
use record::machine::Mac;
use std::net::{IpAddr, Ipv4Addr};

const NOT_HERE: [(&str, &str); 8] = [
    ("allow_unfiltered_promisc", "can't be had: a card gets what the bridge sends it"),
    ("allow_restricted_traffic", "has no counterpart in libvirt's filters"),
    ("blocked_outgoing_ports", "has no counterpart here; write a filter by `virsh nwfilter-define`"),
    ("network_uuid", "is of Triton; say `nic_tag`"),
    ("interface", "is chosen by the guest"),
    ("vrrp_vrid", "has no counterpart"),
    ("vrrp_primary_ip", "has no counterpart"),
    ("dhcp_server", "can't be allowed alone: allow_ip_spoofing does"),
];

/// Reads the cards. `nic_tag` is a network of libvirt, or `bridge:NAME`.
pub(super) fn nics(fields: &mut Fields) -> Vec<Nic> {
    if !fields.has("nics") {
        fields.wrong("nics", "is missing: without a card nobody reaches the guest");
    }
    let mut nics: Vec<(bool, Nic)> = Vec::new();
    for mut part in fields.objects("nics") {
        let primary = part.flag("primary").unwrap_or(false);
        if let Some(nic) = nic(&mut part) {
            nics.push((primary, nic));
        }
        part.refuse(&NOT_HERE);
        fields.take_wrong(part);
    }
    if nics.iter().filter(|(primary, _)| *primary).count() > 1 {
        fields.wrong("nics", "have several with `primary`");
    }
    // The first card is the one that the guest is reached by.
    nics.sort_by_key(|(primary, _)| !primary);
    nics.into_iter().map(|(_, nic)| nic).collect()
}

fn nic(part: &mut Fields) -> Option<Nic> {
    let network = match part.text("nic_tag").map(|tag| Network::parse(&tag)) {
        Some(Ok(network)) => Some(network),
        Some(Err(why)) => {
            part.wrong("nic_tag", &why);
            None
        }
        None => part.missing("nic_tag", "a network of libvirt, or bridge:NAME"),
    };
    let mac = part.text("mac").and_then(|text| {
        let mac = Mac::parse(&text);
        if mac.is_none() {
            part.wrong("mac", "is no hardware address");
        }
        mac
    });
    let model = match part.text("model").as_deref() {
        None | Some("virtio") => "virtio",
        Some("e1000") => "e1000",
        Some("rtl8139") => "rtl8139",
        Some(other) => {
            part.wrong("model", &format!("`{other}` can't be had: virtio, e1000, rtl8139"));
            "virtio"
        }
    };
    match part.number("vlan_id") {
        None | Some(0) => {}
        Some(_) => part.wrong("vlan_id", "can't be had: name a bridge in that VLAN as `nic_tag`"),
    }
    let addresses = addresses(part);
    let gateway = gateway(part);
    let mtu = part.number("mtu");
    if mtu.is_some_and(|mtu| !(576..=9000).contains(&mtu)) {
        part.wrong("mtu", "is outside of 576 to 9000 bytes");
    }
    if part.flag("allow_dhcp_spoofing") == Some(false) {
        part.wrong(
            "allow_dhcp_spoofing",
            "can't be forbidden: libvirt has no filter against it; leave it out",
        );
    }
    let (ip, mac_too) = (part.flag("allow_ip_spoofing"), part.flag("allow_mac_spoofing"));
    Some(Nic {
        network: network?,
        mac,
        model,
        addresses,
        gateway,
        filter: filter(ip.unwrap_or(false), mac_too.unwrap_or(false)),
        mtu: mtu.and_then(|mtu| u32::try_from(mtu).ok()),
    })
}

/// The addresses with their prefix lengths; none: DHCP.
fn addresses(part: &mut Fields) -> Vec<String> {
    let mut found = Vec::new();
    let netmask = part.text("netmask");
    match part.text("ip").as_deref() {
        None | Some("dhcp") => {
            if netmask.is_some() {
                part.wrong("netmask", "needs an `ip`");
            }
        }
        Some(ip) => match (ip.parse::<Ipv4Addr>(), netmask.as_deref().map(prefix)) {
            (Ok(ip), Some(Some(prefix))) => found.push(format!("{ip}/{prefix}")),
            (Ok(_), Some(None)) => part.wrong("netmask", "is no netmask"),
            (Ok(_), None) => part.wrong("netmask", "is missing"),
            (Err(_), _) => part.wrong("ip", "is no IPv4 address, and not `dhcp`"),
        },
    }
    let mut has_dhcp = false;
    for ip in part.texts("ips") {
        let split = ip.split_once('/');
        let is_fine = split.is_some_and(|(address, bits)| {
            let most = if address.contains(':') { 128 } else { 32 };
            address.parse::<IpAddr>().is_ok() && bits.parse::<u8>().is_ok_and(|bits| bits <= most)
        });
        match ip.as_str() {
            "dhcp" => has_dhcp = true,
            "addrconf" => part.wrong("ips", "`addrconf` can't be had: say the address"),
            _ if is_fine => found.push(ip),
            _ => part.wrong("ips", &format!("`{ip}` is no address with a prefix length")),
        }
    }
    if has_dhcp && !found.is_empty() {
        part.wrong("ips", "have both `dhcp` and an address");
    }
    found.dedup();
    found
}

fn gateway(part: &mut Fields) -> Option<String> {
    let single = part.text("gateway");
    let several = part.texts("gateways");
    if several.len() > 1 {
        part.wrong("gateways", "are several; a card has one here");
    }
    let gateway = single.or_else(|| several.into_iter().next())?;
    if gateway.parse::<IpAddr>().is_err() {
        part.wrong("gateway", &format!("`{gateway}` is no address"));
    }
    Some(gateway)
}

/// The prefix length of a netmask.
fn prefix(mask: &str) -> Option<u32> {
    let bits = u32::from(mask.parse::<Ipv4Addr>().ok()?);
    let ones = bits.leading_ones();
    (bits.count_ones() == ones).then_some(ones)
}

#[cfg(test)]
mod tests {
    use super::prefix;

    #[test]
    fn a_netmask_is_a_row_of_ones() {
        assert_eq!(prefix("255.255.255.0"), Some(24));
        assert_eq!(prefix("0.0.0.0"), Some(0));
        assert_eq!((prefix("255.0.255.0"), prefix("x")), (None, None));
    }
}
