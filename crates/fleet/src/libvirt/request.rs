//! A guest to be made.

use record::machine::Mac;

/// A guest to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewGuest {
    /// Its name in libvirt.
    pub name: String,
    /// Its host name.
    pub hostname: String,
    /// libvirt's identity of it; `None`: libvirt makes one.
    pub uuid: Option<String>,
    /// Memory, in MiB.
    pub memory_mib: u64,
    /// Virtual processors.
    pub vcpus: u32,
    /// Its disks; the first one has the image that it boots from.
    pub disks: Vec<NewDisk>,
    /// Its network cards, at least one.
    pub nics: Vec<Nic>,
    /// Addresses of name servers; none: as DHCP says.
    pub resolvers: Vec<String>,
    /// The domain that short names are looked up in.
    pub search: Option<String>,
    /// Public keys, each a line, that may log in as root.
    pub keys: Vec<String>,
    /// A script that runs once, as root, at the end of the first boot.
    pub first_boot: Option<String>,
    /// Whether it starts with its machine.
    pub autostart: bool,
    /// Whether its disk is a copy of the image, and not a layer over it.
    pub full_copy: bool,
    /// Whether QEMU emulates its processors also where there is KVM.
    pub emulated: bool,
}

/// A disk to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewDisk {
    /// The image it begins with: a name or digest; `None`: it is blank.
    pub image: Option<String>,
    /// Size in bytes; `None`: as the image.
    pub size_bytes: Option<u64>,
    /// The bus: `virtio`, `scsi`, `sata`.
    pub bus: &'static str,
}

/// A network card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// What it is connected to.
    pub network: Network,
    /// Its hardware address; `None`: a random one.
    pub mac: Option<Mac>,
    /// The emulated card: `virtio`, `e1000`, `rtl8139`.
    pub model: &'static str,
    /// Addresses with their prefix lengths, e.g. `10.0.0.5/24`; none: DHCP.
    pub addresses: Vec<String>,
    /// The address of the gateway.
    pub gateway: Option<String>,
    /// libvirt's filter of its packets.
    pub filter: Option<&'static str>,
    /// Largest packet, in bytes.
    pub mtu: Option<u32>,
}

/// What a network card is connected to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Network {
    /// A network of libvirt.
    Libvirt(String),
    /// A bridge of the machine.
    Bridge(String),
}

impl Network {
    /// Reads `NAME` or `bridge:NAME`.
    ///
    /// # Errors
    /// The name is empty or has other characters than names have.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, is_bridge) = text.strip_prefix("bridge:").map_or((text, false), |name| (name, true));
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if name.is_empty() || name.starts_with('-') || !name.chars().all(is_plain) {
            return Err(format!(
                "`{text}` is no network: expected the name of a network of libvirt, or bridge:NAME"
            ));
        }
        Ok(if is_bridge { Self::Bridge(name.to_owned()) } else { Self::Libvirt(name.to_owned()) })
    }
}

impl Nic {
    /// A card in a network, with DHCP.
    #[must_use]
    pub fn plain(network: Network) -> Self {
        Self {
            network,
            mac: None,
            model: "virtio",
            addresses: Vec::new(),
            gateway: None,
            filter: None,
            mtu: None,
        }
    }

    /// The address that others reach it by, if it is known beforehand.
    pub(crate) fn address(&self) -> Option<&str> {
        self.addresses.first().map(|address| address.split('/').next().unwrap_or(address))
    }
}

/// Whether a line is a public key, as `authorized_keys` has them, and not a private one.
#[must_use]
pub fn is_public_key(line: &str) -> bool {
    const KINDS: [&str; 5] = ["ssh-ed25519", "ssh-rsa", "ecdsa-sha2-", "sk-ssh-ed25519", "sk-ecdsa-sha2-"];
    let mut words = line.split_whitespace();
    let kind = words.by_ref().find(|word| KINDS.iter().any(|kind| word.starts_with(kind)));
    kind.is_some()
        && words.next().is_some_and(|key| key.starts_with("AAAA"))
        && !line.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::{Network, is_public_key};

    #[test]
    fn a_public_key_is_told_from_a_private_one() {
        assert!(is_public_key("ssh-ed25519 AAAAC3Nz me@here"));
        assert!(is_public_key("no-pty ecdsa-sha2-nistp256 AAAAE2Vj"));
        for bad in ["-----BEGIN OPENSSH PRIVATE KEY-----", "ssh-rsa", "ssh-rsa x", "ssh-rsa AAAA\u{1b}", ""] {
            assert!(!is_public_key(bad), "{bad}");
        }
    }

    #[test]
    fn networks_are_plain_names() {
        assert_eq!(Network::parse("default"), Ok(Network::Libvirt("default".to_owned())));
        assert_eq!(Network::parse("bridge:br0.7"), Ok(Network::Bridge("br0.7".to_owned())));
        assert!(["", "bridge:", "a'b", "-x", "a b"].into_iter().all(|text| Network::parse(text).is_err()));
    }
}
