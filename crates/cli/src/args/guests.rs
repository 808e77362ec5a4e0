//! The commands and flags of `diskproof guests` and `diskproof images`.

use super::machines::From;
use super::share::Place;
use clap::{Subcommand, ValueHint};
use std::path::PathBuf;

/// The end of `diskproof guests --help`.
pub(super) const GUESTS_HELP: &str = "\
Examples:
  diskproof images build debian-12 --on ham0
  diskproof guests build web0 --on ham0 --size 20G --image debian-12
  diskproof guests list
  diskproof guests stop 'ham2:*'
  diskproof guests migrate ham0:web0 ham1
  diskproof guests destroy 'ham*:web*'

A guest's machine needs sshd and libvirt with QEMU; `virsh` runs there. Machines come from the same lists as those of `diskproof machines`;
`local` is this machine, without ssh; it is the only machine if you have no list.

A PATTERN is MACHINE:GUEST, where both may be globs ('*', 'ham2:*', 'ham*:web*'); diskproof looks for a GUEST without a machine on all machines.
docs/how-to/guests.md shows all steps.";

/// The end of `diskproof images --help`.
pub(super) const IMAGES_HELP: &str = "\
Examples:
  diskproof images avail
  diskproof images build debian-12 --on ham0
  diskproof images import debian-12-genericcloud-amd64.qcow2 --on ham0 --name cloud-12
  diskproof images import https://example.org/disk.qcow2 --on 'ham*' --sha256 DIGEST
  diskproof images push debian-12 oci://registry.example/results
  diskproof images import oci://registry.example/results:image-1875eb3df91a0b2c --on ham0
  diskproof images list
  diskproof images remove cloud-12 --on ham0

Each machine keeps an image under the SHA-256 of its disk, in diskproof's state directory. diskproof copies an image only once, and continues
a copy that broke off. A machine downloads a URL itself, by curl or wget; it continues a download only with --sha256.";

const BUILD_HELP: &str = "\
Examples:
  diskproof guests build web0 --on ham0 --size 20G --image debian-12
  diskproof guests build web0 --on local --image debian-12 --memory 2048 --vcpus 2 --first-boot setup.sh
  diskproof guests build --on ham0 --image debian-12 --network bridge:br0

The image needs cloud-init; images of `images build` and cloud images of distributions have it. The guest keeps a small disk with its settings.
Your keys get in as root.";

const CREATE_HELP: &str = "\
The file has the shape of SmartOS's `vmadm create`: brand, alias, hostname, ram (MiB), vcpus, nics, disks with image_uuid and size (MiB),
resolvers, customer_metadata.root_authorized_keys. `images list` shows the UUID of an image. diskproof ignores no key: it names each one that libvirt
can't serve.";

#[derive(Debug, clap::Args)]
pub(crate) struct Guests {
    #[command(flatten)]
    pub(crate) from: From,
    #[command(subcommand)]
    pub(crate) verb: GuestsVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GuestsVerb {
    /// List guests: state, processors, memory
    List(GuestsList),
    /// Make a guest from an image, start it, and wait until it answers ssh
    #[command(after_help = BUILD_HELP)]
    Build(GuestsBuild),
    /// Make a guest from a JSON description in the shape of SmartOS's vmadm
    #[command(after_help = CREATE_HELP)]
    Create(GuestsCreate),
    /// Check a description for `create`; make nothing
    #[command(after_help = CREATE_HELP)]
    Validate(GuestsValidate),
    /// Start guests
    Start(GuestPatterns),
    /// Ask guests to stop, and wait until they are off
    Stop(GuestsStop),
    /// Tell guests to reboot, and don't wait for them
    Reboot(GuestPatterns),
    /// Remove guests that diskproof made, with their disks
    Destroy(GuestsDestroy),
    /// Move running guests to another machine while they run
    Migrate(GuestsMigrate),
    /// Connect to a guest's serial console; ^] ends it
    Console(OneGuest),
    /// Print the URI of a guest's screen, and open it if remote-viewer is installed
    Viewer(GuestsViewer),
    /// Open a shell in a guest that diskproof made, or run a command there
    Shell(GuestsShell),
    /// Print lines for ~/.ssh/config, so that ssh and diskproof reach guests by name
    SshConfig(GuestPatterns),
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsList {
    /// Which guests; default: all
    #[arg(value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Print one line of JSON per guest (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestPatterns {
    /// Which guests: MACHINE:GUEST, both may be globs
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct OneGuest {
    /// The guest: MACHINE:GUEST
    #[arg(value_name = "GUEST")]
    pub(crate) guest: String,
}

/// Where a new guest runs, and how its start is awaited.
#[derive(Debug, clap::Args)]
pub(crate) struct GuestStart {
    /// The machine that it runs on
    #[arg(long, value_name = "MACHINE", default_value = fleet::LOCAL)]
    pub(crate) on: String,
    /// Have QEMU emulate its processors, also where there is KVM: about ten times as slow
    #[arg(long)]
    pub(crate) emulate: bool,
    /// How long to wait for ssh
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = spec::seconds)]
    pub(crate) wait: f64,
    /// Print one line of JSON when it is done (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsBuild {
    /// Its name, a host name of at most 63 characters; default: one made from the image's name
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) start: GuestStart,
    /// The image: a name, the beginning of a digest, or a UUID
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: String,
    /// Size of its disk; default: that of the image
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) size: Option<u64>,
    /// Memory in MiB
    #[arg(long, value_name = "MIB", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(64..=16_777_216))]
    pub(crate) memory: u64,
    /// Virtual processors
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) vcpus: u32,
    /// A public key that gets in as root; repeatable. Default: your own keys in ~/.ssh
    #[arg(long = "key", value_name = "FILE.pub", value_hint = ValueHint::FilePath)]
    pub(crate) keys: Vec<PathBuf>,
    /// A script that runs once, as root, at the end of the first boot
    #[arg(long, value_name = "SCRIPT", value_hint = ValueHint::FilePath)]
    pub(crate) first_boot: Option<PathBuf>,
    /// A network of libvirt, or bridge:NAME
    #[arg(long, value_name = "NETWORK", default_value = "default", value_parser = fleet::libvirt::Network::parse)]
    pub(crate) network: fleet::libvirt::Network,
    /// Copy the image; default: a disk that is a layer over it
    #[arg(long)]
    pub(crate) full_copy: bool,
    /// Start it whenever its machine starts
    #[arg(long)]
    pub(crate) autostart: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsCreate {
    /// The description
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) start: GuestStart,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsValidate {
    /// The description
    #[arg(short = 'f', long = "file", value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsStop {
    /// Which guests: MACHINE:GUEST, both may be globs
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Switch them off at once; what they haven't written is lost
    #[arg(long)]
    pub(crate) force: bool,
    /// How long to wait
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = spec::seconds)]
    pub(crate) timeout: f64,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsDestroy {
    /// Which guests: MACHINE:GUEST, both may be globs
    #[arg(required = true, value_name = "PATTERN")]
    pub(crate) patterns: Vec<String>,
    /// Don't ask
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsMigrate {
    /// Which guests: MACHINE:GUEST, both may be globs
    #[arg(value_name = "PATTERN")]
    pub(crate) pattern: String,
    /// Where they move to
    #[arg(value_name = "MACHINE")]
    pub(crate) to: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsViewer {
    /// The guest: MACHINE:GUEST
    #[arg(value_name = "GUEST")]
    pub(crate) guest: String,
    /// Print the URI, and don't open it
    #[arg(long)]
    pub(crate) print: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct GuestsShell {
    /// The guest: MACHINE:GUEST
    #[arg(value_name = "GUEST")]
    pub(crate) guest: String,
    /// The command and its arguments, after `--`
    #[arg(last = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Images {
    #[command(flatten)]
    pub(crate) from: From,
    #[command(subcommand)]
    pub(crate) verb: ImagesVerb,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ImagesVerb {
    /// List what `build` can make. Connects to none
    Avail(ImagesAvail),
    /// Take an image from a file, a directory, a URL or a registry
    Import(ImagesImport),
    /// Send an image of this machine to a registry
    Push(ImagesPush),
    /// List the images of machines
    List(ImagesList),
    /// Make an image of Debian from its packages on this machine, and take it to machines
    Build(ImagesBuild),
    /// Remove images that no guest needs
    Remove(ImagesRemove),
}

/// Which machines.
#[derive(Debug, clap::Args)]
pub(crate) struct OnMachines {
    /// Which machines; default: all of the list, or this one
    #[arg(long, value_name = "PATTERN")]
    pub(crate) on: Vec<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesAvail {
    /// Print one line of JSON per image
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesImport {
    /// A file (raw or qcow2), a directory with disk.qcow2, disk.raw or root.img (and vmlinuz and initrd), a URL, or
    /// oci://HOST[:PORT]/REPOSITORY:TAG
    #[arg(value_name = "SOURCE", value_hint = ValueHint::AnyPath)]
    pub(crate) source: String,
    #[command(flatten)]
    pub(crate) machines: OnMachines,
    /// Its name; default: the file's, or the one that it has in the registry
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The SHA-256 that its disk must have
    #[arg(long, value_name = "DIGEST")]
    pub(crate) sha256: Option<String>,
    #[command(flatten)]
    pub(crate) place: Place,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesPush {
    /// The image: a name, the beginning of a digest, or a UUID
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,
    /// Where to send it: oci://HOST[:PORT]/REPOSITORY[:TAG]; without a tag, it is `image-` and the beginning of the digest
    #[arg(value_name = "ADDRESS")]
    pub(crate) to: String,
    /// Send without asking; needed where there is no terminal
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Replace something else that has this tag
    #[arg(long)]
    pub(crate) replace: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// Print what was done as one JSON document, format diskproof.image-push/1.0 (docs/formats.md)
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesList {
    #[command(flatten)]
    pub(crate) machines: OnMachines,
    /// Print one line of JSON per image
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesBuild {
    /// Which: see `images avail`
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,
    #[command(flatten)]
    pub(crate) machines: OnMachines,
    /// The mirror of the packages; default: the one that apt uses here
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ImagesRemove {
    /// The image: a name, the beginning of a digest, or a UUID
    #[arg(value_name = "IMAGE")]
    pub(crate) image: String,
    #[command(flatten)]
    pub(crate) machines: OnMachines,
}

/// Reads a size of a disk: `20G`, `20g`, `512m`.
fn size(text: &str) -> Result<u64, String> {
    spec::bytes(&text.to_ascii_lowercase())
}
