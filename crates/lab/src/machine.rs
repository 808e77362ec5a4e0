//! QEMU's arguments for the guest's machine.

use crate::build::Image;
use crate::places::GuestPlaces;
use crate::shape::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The revision of these arguments; raise it when saved states no longer fit them.
pub(crate) const REVISION: u32 = 2;
/// The number of slots for virtio-blk disks: functions of three PCI devices, each a root port.
pub(crate) const SLOTS: usize = 24;
/// The PCI device number of the first slots.
const FIRST_DEVICE: usize = 0x10;

/// What executes the guest's instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accel {
    /// The processor, by KVM.
    Kvm,
    /// QEMU, in software (TCG).
    Tcg,
}

impl Accel {
    fn argument(self) -> &'static str {
        match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg,thread=multi",
        }
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "KVM",
            Self::Tcg => "software emulation",
        })
    }
}

/// All parameters of QEMU's command line.
#[derive(Debug)]
pub(crate) struct Machine<'a> {
    pub(crate) name: &'a str,
    pub(crate) places: &'a GuestPlaces,
    pub(crate) image: &'a Image,
    pub(crate) shape: Shape,
    pub(crate) accel: Accel,
    pub(crate) port: u16,
    /// Whether it starts from a saved state.
    pub(crate) restored: bool,
}

impl Machine<'_> {
    /// QEMU's arguments. QEMU goes to the background once it has created the machine, so a failure before that is its exit status.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let mut words = vec![
            "-name".to_owned(),
            format!("diskproof-lab-{}", self.name),
            "-daemonize".to_owned(),
            "-nodefaults".to_owned(),
        ];
        let mut add = |option: &str, value: String| words.extend([option.to_owned(), value]);
        let at = self.places;
        add("-pidfile", at.pidfile().to_string_lossy().into_owned());
        add("-display", "none".to_owned());
        add("-machine", "q35".to_owned());
        add("-accel", self.accel.argument().to_owned());
        if self.accel == Accel::Kvm {
            add("-cpu", "host".to_owned());
        }
        add("-smp", self.processors());
        add("-m", self.shape.memory_mib.to_string());
        add("-kernel", self.image.base.vmlinuz().to_string_lossy().into_owned());
        add("-initrd", self.image.base.initrd().to_string_lossy().into_owned());
        add("-append", self.command_line());
        add("-serial", format!("file:{}", at.console().to_string_lossy()));
        add("-qmp", format!("unix:{},server=on,wait=off", at.qmp().to_string_lossy()));
        // The root disk is disposable: its flushes need not reach a disk.
        add(
            "-blockdev",
            format!(
                "driver=file,node-name=root-file,filename={},cache.no-flush=on",
                at.overlay().to_string_lossy()
            ),
        );
        add("-blockdev", "driver=qcow2,node-name=root,file=root-file,cache.no-flush=on".to_owned());
        add("-device", "virtio-blk-pci,drive=root,serial=root,addr=0x3".to_owned());
        add("-netdev", format!("user,id=net,restrict=off,hostfwd=tcp:127.0.0.1:{}-:22", self.port));
        add("-device", "virtio-net-pci,netdev=net,addr=0x4,romfile=".to_owned());
        add("-device", "virtio-rng-pci,addr=0x5".to_owned());
        add("-device", "virtio-scsi-pci,id=scsi,addr=0x6".to_owned());
        for slot in 0..SLOTS {
            let (device, function) = (FIRST_DEVICE + slot / 8, slot % 8);
            let first = if function == 0 { ",multifunction=on" } else { "" };
            let chassis = slot + 1;
            add(
                "-device",
                format!("pcie-root-port,id=slot{slot},chassis={chassis},addr={device:#x}.{function}{first}"),
            );
        }
        if self.restored {
            add("-incoming", format!("unix:{}", at.stream().to_string_lossy()));
        }
        words
    }

    /// Software emulation leaves out memory barriers where a machine can't have a second processor (QEMU before 8.1). But QEMU's own thread
    /// works on the queues of virtio disks at the same time. So interrupts are lost, and a disk hangs.
    fn processors(&self) -> String {
        match (self.accel, self.shape.cpus) {
            (Accel::Tcg, 1) => "cpus=1,maxcpus=2".to_owned(),
            (_, cpus) => cpus.to_string(),
        }
    }

    fn command_line(&self) -> String {
        let clock = if self.accel == Accel::Tcg { " tsc=reliable" } else { "" };
        format!("root=/dev/vda rw console=ttyS0 net.ifnames=0 mitigations=off{clock} quiet")
    }
}

#[cfg(test)]
mod tests {
    use super::{Accel, Machine};
    use crate::build::Image;
    use crate::places::Places;
    use crate::shape::Shape;
    use std::path::Path;

    fn arguments(accel: Accel, restored: bool) -> String {
        with_processors(3, accel, restored)
    }

    fn with_processors(cpus: u32, accel: Accel, restored: bool) -> String {
        let places = Places::below(Path::new("/s")).unwrap();
        let image = Image {
            base: places.base("abc"),
            hash: "abc".to_owned(),
            kernel: "6.1".to_owned(),
            modules: None,
        };
        let guest = places.guest("one").unwrap();
        let shape = Shape { memory_mib: 2048, cpus, zfs: false, port: None };
        let machine =
            Machine { name: "one", places: &guest, image: &image, shape, accel, port: 2222, restored };
        machine.arguments().join(" ")
    }

    #[test]
    fn a_guest_is_reached_from_this_machine_only() {
        let text = arguments(Accel::Tcg, false);
        assert!(text.contains("hostfwd=tcp:127.0.0.1:2222-:22"), "{text}");
        assert!(text.contains("-smp 3 -m 2048"), "{text}");
        assert!(text.contains("-pidfile /s/lab/guests/one/qemu.pid"), "{text}");
        assert!(text.contains("tcg,thread=multi") && !text.contains("-cpu"), "{text}");
        assert!(!text.contains("-incoming"), "{text}");
    }

    #[test]
    fn an_emulated_guest_can_have_two_processors() {
        let text = with_processors(1, Accel::Tcg, false);
        assert!(text.contains("-smp cpus=1,maxcpus=2 "), "{text}");
        let text = with_processors(1, Accel::Kvm, false);
        assert!(text.contains("-smp 1 "), "{text}");
    }

    #[test]
    fn a_restored_guest_is_the_same_machine() {
        let (cold, restored) = (arguments(Accel::Kvm, false), arguments(Accel::Kvm, true));
        assert_eq!(restored, format!("{cold} -incoming unix:/s/lab/guests/one/stream"));
        assert!(cold.contains("-accel kvm -cpu host"), "{cold}");
    }

    #[test]
    fn slots_are_functions_of_three_devices() {
        let text = arguments(Accel::Tcg, false);
        assert!(text.contains("id=slot0,chassis=1,addr=0x10.0,multifunction=on"), "{text}");
        assert!(text.contains("id=slot23,chassis=24,addr=0x12.7"), "{text}");
    }
}
