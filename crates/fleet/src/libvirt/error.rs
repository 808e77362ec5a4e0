//! Errors of commands on guests.

use crate::at::AtError;
use crate::images::ImageError;
use host::CommandFailure;
use record::printable::Shown as _;
use run::fault::Fault;
use thiserror::Error;

/// A command on a guest fails.
#[derive(Debug, Error)]
pub enum GuestError {
    /// A command on its machine fails.
    #[error(transparent)]
    At(#[from] AtError),
    /// Its image.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// A program on this machine fails.
    #[error(transparent)]
    Command(#[from] CommandFailure),
    /// A file on this machine.
    #[error("{what}")]
    Here {
        /// What can't be done.
        what: String,
        /// Why.
        source: std::io::Error,
    },
    /// Its name is no host name.
    #[error(
        "`{}` is no name for a guest: it has at most 63 characters, small letters, digits and dashes, begins with a letter, and ends with none",
        .name.shown()
    )]
    Name {
        /// The name.
        name: String,
    },
    /// virsh would take its name for another guest's number or UUID.
    #[error(
        "{machine}:{}: virsh takes such a name for the number or UUID of a guest, and may find another one; use virsh there with its UUID, \
         as `virsh list --all --uuid --name` prints it",
        .guest.shown()
    )]
    NotAName {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
    },
    /// There is one already.
    #[error(
        "{machine} has a guest {name} already; name the new one otherwise, or `diskproof guests destroy {machine}:{name}`"
    )]
    Exists {
        /// The machine.
        machine: String,
        /// The name.
        name: String,
    },
    /// Its disk would be smaller than its image.
    #[error(
        "a disk of {asked} bytes is smaller than the image {image}, which has {needed}; say --size with at least that"
    )]
    Small {
        /// The image.
        image: String,
        /// What was asked for.
        asked: u64,
        /// The size of the image.
        needed: u64,
    },
    /// No key could log in.
    #[error(
        "no key could log in: there is no ~/.ssh/id_ed25519.pub, id_ecdsa.pub or id_rsa.pub; name one by --key FILE.pub, or make one by ssh-keygen"
    )]
    NoKey,
    /// The file isn't a public key.
    #[error("{path} is no public key of ssh; name the file that ends with .pub")]
    NotPublic {
        /// The file.
        path: String,
    },
    /// libvirt has no such network, or it isn't active.
    #[error(
        "{machine}: the network {network} is not active; `virsh net-start {network}`, or name another by --network (bridge:NAME for a bridge)"
    )]
    Network {
        /// The machine.
        machine: String,
        /// The network.
        network: String,
    },
    /// It got no address.
    #[error(
        "{machine}:{guest} runs, but has no address after {seconds} s; `diskproof guests console {machine}:{guest}` shows what it does"
    )]
    NoAddress {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// It didn't answer ssh.
    #[error(
        "{machine}:{guest} runs at {address}, but ssh gets no answer after {seconds} s: {said}; `diskproof guests console {machine}:{guest}` shows what it does"
    )]
    NoSsh {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// Its address.
        address: String,
        /// How long it was waited for.
        seconds: u64,
        /// ssh's last words.
        said: String,
    },
    /// Its processors stopped.
    #[error(
        "{machine}:{guest} started and stopped by itself ({said}); if KVM is the reason (/var/log/libvirt/qemu/{guest}.log there), destroy it, \
         and build it with --emulate"
    )]
    Crashed {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// What libvirt says.
        said: String,
    },
    /// The first boot's script failed.
    #[error(
        "{machine}:{guest} is up, but its first boot failed ({said}); see /var/log/cloud-init-output.log there"
    )]
    FirstBoot {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// What cloud-init says.
        said: String,
    },
    /// It didn't stop.
    #[error("{machine}:{guest} still runs {seconds} s after it was asked to stop; --force switches it off")]
    StillOn {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// How long it was waited for.
        seconds: u64,
    },
    /// diskproof didn't make it.
    #[error(
        "{machine}:{guest} isn't made by diskproof, which doesn't know what its files are; `virsh undefine` removes it"
    )]
    NotOurs {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
    },
    /// What diskproof wrote about it doesn't fit.
    #[error("{machine}:{guest}: {why}; nothing was removed")]
    Record {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// What doesn't fit.
        why: String,
    },
    /// It can't move.
    #[error("{machine}:{guest} can't move to {to}: {why}")]
    NoMove {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// The destination.
        to: String,
        /// Why.
        why: String,
    },
    /// Its machine's name can't stand in ssh's configuration.
    #[error(
        "{machine}:{guest}: the name {} or the destination {} of its machine can't stand in ssh's configuration; give the machine others",
        .machine.shown(), .ssh.shown()
    )]
    NoEntry {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// The machine's destination for ssh.
        ssh: String,
    },
    /// It has no screen.
    #[error("{machine}:{guest} shows no screen: {said}; `diskproof guests console` shows its serial console")]
    NoScreen {
        /// The machine.
        machine: String,
        /// The guest.
        guest: String,
        /// What libvirt says.
        said: String,
    },
    /// The machine's libvirt lacks a filter.
    #[error(
        "{machine}: libvirt has no filter {filter}, which keeps a guest from using other addresses; install libvirt-daemon-config-nwfilter there, or allow it"
    )]
    NoFilter {
        /// The machine.
        machine: String,
        /// The filter.
        filter: &'static str,
    },
}

impl GuestError {
    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::Name { .. }
            | Self::NotAName { .. }
            | Self::Exists { .. }
            | Self::Small { .. }
            | Self::NoKey
            | Self::NotPublic { .. }
            | Self::NoEntry { .. }
            | Self::NotOurs { .. } => Fault::User,
            Self::Image(error) => error.fault(),
            _ => Fault::Machine,
        }
    }
}
