//! A lab: one guest from its first boot to its end.

use crate::accel;
use crate::boot::{Boot, monitor};
use crate::build::{Build, Image, image};
use crate::card::{Attached, Card};
use crate::disk::{DiskSpec, Throttle};
use crate::error::LabError;
use crate::forward;
use crate::lease_note;
use crate::lock::lock;
use crate::machine::{Accel, REVISION};
use crate::places::{GuestPlaces, Places};
use crate::plug;
use crate::prerequisite::{need_space, need_tools, qemu_version};
use crate::process;
use crate::recipe::short_hash;
use crate::save;
use crate::shape::Shape;
use crate::ssh::Door;
use crate::status::{Status, look};
use crate::steps::{Ear, StepEvent, folder, put, remove, step};
use host::{LocalRunner, Output, Tool};
use serde_json::json;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The longest boot in software emulation, on a busy machine.
const BOOT: Duration = Duration::from_secs(600);
/// The longest boot with KVM. It takes seconds; one that hangs is ended early.
const KVM_BOOT: Duration = Duration::from_secs(90);
const RESTORE: Duration = Duration::from_secs(180);
/// The longest time of diskproof's own commands in the guest.
const COMMAND: Duration = Duration::from_secs(300);
/// How long QEMU may take to quit before it is killed.
const QUIT: Duration = Duration::from_secs(10);
/// The free space that a saved state and the root disk's changes need.
const GUEST_MIB: u64 = 512;

/// A guest by its name. Its whole state is in its folder, so every process that opens it sees the same.
#[derive(Debug, Clone)]
pub struct Lab {
    name: String,
    places: Places,
    guest: GuestPlaces,
    mirror: Option<String>,
}

impl Lab {
    /// Opens the lab of this name below a state folder. Starts and creates nothing.
    ///
    /// # Errors
    /// The name or the folder isn't possible.
    pub fn open(state: &Path, name: &str) -> Result<Self, LabError> {
        let places = Places::below(state)?;
        let guest = places.guest(name)?;
        Ok(Self { name: name.to_owned(), places, guest, mirror: None })
    }

    /// Sets the mirror of the packages, in case the image must be built.
    #[must_use]
    pub fn with_mirror(mut self, mirror: Option<String>) -> Self {
        self.mirror = mirror;
        self
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its present state.
    ///
    /// # Errors
    /// Its files can't be read.
    pub fn status(&self) -> Result<Status, LabError> {
        look(&self.name, &self.guest)
    }

    /// Starts the guest. Builds the image if there is none; boots the machine and saves its state if that was never done, else restores it.
    /// A running guest stays as it is.
    ///
    /// # Errors
    /// The guest runs with another shape, something is missing on this machine, or a step failed.
    pub fn ensure_up(&self, shape: &Shape, ear: &dyn Fn(&StepEvent)) -> Result<(), LabError> {
        shape.check()?;
        let _lock = self.lock(ear)?;
        if let Some(card) = Card::read(&self.guest)?.filter(|card| card.ready) {
            if process::find(&self.guest.pidfile()).is_some() {
                let has = Shape { port: Some(card.port), ..card.shape };
                if shape.is_met_by(&has) {
                    return Ok(());
                }
                return Err(LabError::OtherShape {
                    name: self.name.clone(),
                    has: has.to_string(),
                    wanted: shape.to_string(),
                });
            }
            ear(&StepEvent::Note(format!(
                "the guest {} had ended; it starts anew, without its disks",
                self.name
            )));
        }
        self.bring_up(shape, ear)
    }

    /// Replaces the guest by a fresh one of the same shape, with fresh disks of the same kinds and limits.
    ///
    /// # Errors
    /// The guest doesn't exist, or a step failed.
    pub fn reset(&self, ear: &dyn Fn(&StepEvent)) -> Result<(), LabError> {
        if !self.guest.folder.exists() {
            return Err(self.not_up("is not there"));
        }
        let _lock = self.lock(ear)?;
        let Some(card) = Card::read(&self.guest)? else { return Err(self.not_up("is not there")) };
        self.bring_up(&card.shape, ear)?;
        let specs: Vec<DiskSpec> = card.disks.into_iter().map(|disk| disk.spec).collect();
        self.plug_all(&specs)
    }

    /// The folder of the leases' notes.
    pub(crate) fn stays(&self) -> PathBuf {
        self.places.stays()
    }

    /// Stops the guest and removes its files. No error if there is no guest.
    ///
    /// # Errors
    /// Files can't be removed.
    pub fn down(&self) -> Result<(), LabError> {
        let _lock = lock(&self.guest.lock(), || ())?;
        self.end()?;
        remove(&self.guest.folder)?;
        lease_note::forget(&self.places.stays(), &self.name)?;
        remove(&self.guest.lock())
    }

    /// The ssh command line that runs a command in the guest as root. A shell there parses the command, see [`crate::quoted`].
    ///
    /// # Errors
    /// The guest isn't up; there is no ssh on this machine.
    pub fn ssh_argv(&self) -> Result<Vec<OsString>, LabError> {
        self.door()?.argv().map_err(LabError::command("looking for ssh"))
    }

    /// Runs a program in the guest as root.
    ///
    /// # Errors
    /// The guest isn't up; the program failed or took longer than `limit`.
    pub fn run(&self, argv: &[&str], limit: Duration) -> Result<Output, LabError> {
        self.door()?.run(&LocalRunner, argv, limit).map_err(LabError::command("a command in the guest"))
    }

    /// Copies a file, or a folder with its content, into the guest.
    ///
    /// # Errors
    /// The guest isn't up, or the copy failed.
    pub fn copy_to(&self, from: &Path, to: &str) -> Result<(), LabError> {
        self.door()?
            .copy(&LocalRunner, from, to, COMMAND)
            .map_err(LabError::command("copying into the guest"))
    }

    /// Attaches disks, and waits until each has its link in the guest.
    ///
    /// # Errors
    /// The guest isn't up, has a disk of that name or no free slot; a file can't be created; QEMU or the guest refuses.
    pub fn attach(&self, disks: &[DiskSpec]) -> Result<(), LabError> {
        let _lock = self.hold()?;
        self.plug_all(disks)
    }

    /// Forwards a free port on 127.0.0.1 to a port of the guest, and returns it. It lasts until [`Lab::unforward`] or until the guest ends.
    /// In the guest the connections come from 10.0.2.2, the address under which it also reaches 127.0.0.1 of this machine.
    ///
    /// # Errors
    /// The guest isn't up, or QEMU refuses.
    pub fn forward(&self, guest_port: u16) -> Result<u16, LabError> {
        let _lock = self.hold()?;
        forward::open(&mut monitor(&self.guest)?, guest_port)
    }

    /// Stops forwarding a port. No error if it isn't forwarded any more.
    ///
    /// # Errors
    /// The guest isn't up, or QEMU refuses.
    pub fn unforward(&self, port: u16) -> Result<(), LabError> {
        let _lock = self.hold()?;
        forward::close(&mut monitor(&self.guest)?, port)
    }

    /// The file on this machine that holds a disk of the guest.
    #[must_use]
    pub fn disk_file(&self, disk: &str) -> PathBuf {
        self.guest.disk(disk)
    }

    /// Detaches a disk and removes its file.
    ///
    /// # Errors
    /// The guest isn't up or has no such disk; QEMU or the guest refuses.
    pub fn detach(&self, disk: &str) -> Result<(), LabError> {
        let _lock = self.hold()?;
        let mut card = self.card()?;
        let at = self.position(&card, disk)?;
        let mut monitor = monitor(&self.guest)?;
        plug::unplug(&mut monitor, disk, card.disks[at].spec.iothread)?;
        card.disks.remove(at);
        card.write(&self.guest)?;
        remove(&self.guest.disk(disk))
    }

    /// Changes a disk's limits at once.
    ///
    /// # Errors
    /// The guest isn't up or has no such disk; QEMU refuses.
    pub fn set_limits(&self, disk: &str, throttle: &Throttle) -> Result<(), LabError> {
        throttle.check().map_err(|e| LabError::Shape(e.to_string()))?;
        let _lock = self.hold()?;
        let mut card = self.card()?;
        let at = self.position(&card, disk)?;
        let mut monitor = monitor(&self.guest)?;
        plug::limit(&mut monitor, disk, card.disks[at].spec.bus, throttle)?;
        card.disks[at].spec.throttle = *throttle;
        card.write(&self.guest)
    }

    /// Takes the lock of a guest that is up; without a guest it leaves no lock file.
    fn hold(&self) -> Result<crate::lock::Lock, LabError> {
        self.card()?;
        lock(&self.guest.lock(), || ())
    }

    fn lock(&self, ear: Ear<'_>) -> Result<crate::lock::Lock, LabError> {
        let waiting = || {
            ear(&StepEvent::Note(format!("another diskproof is busy with the lab {}; waiting", self.name)))
        };
        lock(&self.guest.lock(), waiting)
    }

    /// The description of a guest that is up.
    fn card(&self) -> Result<Card, LabError> {
        let Some(card) = Card::read(&self.guest)? else { return Err(self.not_up("is not up")) };
        if !card.ready {
            return Err(self.not_up("has not come up yet"));
        }
        if process::find(&self.guest.pidfile()).is_none() {
            return Err(self.not_up("has ended"));
        }
        Ok(card)
    }

    fn not_up(&self, how: &'static str) -> LabError {
        LabError::NotUp { name: self.name.clone(), how }
    }

    fn door(&self) -> Result<Door, LabError> {
        let card = self.card()?;
        Ok(self.door_of(&card))
    }

    fn door_of(&self, card: &Card) -> Door {
        Door { base: self.places.base(&card.image), guest: self.guest.clone(), port: card.port }
    }

    fn position(&self, card: &Card, disk: &str) -> Result<usize, LabError> {
        card.disks.iter().position(|attached| attached.spec.name == disk).ok_or_else(|| {
            let names: Vec<&str> = card.disks.iter().map(|attached| attached.spec.name.as_str()).collect();
            let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            LabError::NoDisk { name: self.name.clone(), disk: disk.to_owned(), has }
        })
    }

    /// Ends QEMU and ssh's shared connection, if they are still there.
    fn end(&self) -> Result<(), LabError> {
        if let Ok(Some(card)) = Card::read(&self.guest) {
            self.door_of(&card).close(&LocalRunner);
        }
        // QEMU goes to the background by two forks. Until then, several processes have its arguments, and the last one is the guest.
        while let Some(found) = process::find(&self.guest.pidfile()) {
            if let Ok(mut monitor) = monitor(&self.guest) {
                // QEMU may end before it answers.
                let _ = monitor.ask("quit", json!({}));
                if found.ends_within(QUIT) {
                    continue;
                }
            }
            found.kill();
            if !found.ends_within(QUIT) {
                return Err(LabError::Broken {
                    what: format!("the process {} of the lab {} does not end", found.pid, self.name),
                });
            }
        }
        Ok(())
    }

    /// Starts the guest, whatever an earlier one left. The caller holds the lock.
    fn bring_up(&self, shape: &Shape, ear: Ear<'_>) -> Result<(), LabError> {
        need_tools(&[Tool::QemuSystem, Tool::QemuImg, Tool::Ssh, Tool::Scp])?;
        let wanted = Build { zfs: shape.zfs, mirror: self.mirror.clone() };
        let image = image(&self.places, &wanted, &LocalRunner, ear)?;
        self.end()?;
        remove(&self.guest.folder)?;
        lease_note::forget(&self.places.stays(), &self.name)?;
        folder(&self.guest.folder)?;
        need_space(&self.guest.folder, "a guest", GUEST_MIB)?;
        let qemu = qemu_version(&LocalRunner)?;
        let card = match self.up_by_kvm(shape, &image, &qemu, ear)? {
            Some(card) => card,
            None => self.up_by(shape, &image, Accel::Tcg, &qemu, BOOT, ear)?,
        };
        Card { ready: true, ..card }.write(&self.guest)
    }

    /// Starts the guest with KVM, unless there is no device or KVM is known not to work, and stores the result.
    fn up_by_kvm(
        &self,
        shape: &Shape,
        image: &Image,
        qemu: &str,
        ear: Ear<'_>,
    ) -> Result<Option<Card>, LabError> {
        let key = accel::key(&image.kernel, qemu);
        let is_open = accel::has_device() && !accel::is_known(&self.places, &key);
        let tried = is_open.then(|| {
            lock(&crate::steps::with_end(&self.places.accelerators(), ".lock"), || {
                ear(&StepEvent::Note("another diskproof is trying KVM; waiting for its result".to_owned()));
            })
        });
        let _lock = tried.transpose()?;
        let up = |known| {
            let limit = if known { BOOT } else { KVM_BOOT };
            self.up_by(shape, image, Accel::Kvm, qemu, limit, ear)
        };
        accel::by_kvm(&self.places, &key, accel::has_device(), up, || self.end(), ear)
    }

    /// Restores a machine of this kind. If its state was never saved, boots it and saves it first.
    fn up_by(
        &self,
        shape: &Shape,
        image: &Image,
        accel: Accel,
        qemu: &str,
        limit: Duration,
        ear: Ear<'_>,
    ) -> Result<Card, LabError> {
        let boot =
            Boot { name: &self.name, places: &self.guest, image, shape: *shape, accel, runner: &LocalRunner };
        let saved = self.saved(shape, image, accel, qemu);
        if !saved.exists() {
            let _lock = lock(&crate::steps::with_end(&saved, ".lock"), || {
                ear(&StepEvent::Note(
                    "another diskproof is booting such a guest; waiting for its saved state".to_owned(),
                ));
            })?;
            if !saved.exists() {
                let name = format!("first boot of a guest with {shape}, by {accel}");
                step(ear, &name, "half a minute, a few seconds by KVM", || {
                    self.boot_and_save(&boot, &saved, limit)
                })?;
            }
        }
        step(ear, "restoring the guest", "some seconds", || {
            fs::copy(saved.join("root.qcow2"), self.guest.overlay())
                .map_err(LabError::file("copy", saved.join("root.qcow2")))?;
            let card = self.start(&boot, true)?;
            save::restore(&mut boot.monitor()?, &self.guest, &saved.join("state.zst"))?;
            let door = self.door_of(&card);
            boot.await_ssh(&door, RESTORE)?;
            // All guests come from one saved state, and an NFS server takes clients of one name for one client.
            let named = door.run(&LocalRunner, &["hostname", &self.name], COMMAND);
            named.map_err(LabError::command("naming the guest"))?;
            Ok(card)
        })
    }

    fn start(&self, boot: &Boot<'_>, restored: bool) -> Result<Card, LabError> {
        let port = boot.start(restored)?;
        let card = Card {
            shape: boot.shape,
            port,
            accel: boot.accel,
            image: boot.image.hash.clone(),
            kernel: boot.image.kernel.clone(),
            ready: false,
            disks: vec![],
        };
        card.write(&self.guest)?;
        Ok(card)
    }

    fn boot_and_save(&self, boot: &Boot<'_>, saved: &Path, limit: Duration) -> Result<(), LabError> {
        boot.make_overlay()?;
        let card = self.start(boot, false)?;
        let door = self.door_of(&card);
        boot.await_ssh(&door, limit)?;
        let run = |argv: &[&str]| {
            door.run(&LocalRunner, argv, COMMAND).map_err(LabError::command("preparing the guest"))
        };
        if let Some(modules) = &boot.image.modules {
            let place = format!("/lib/modules/{}/updates", boot.image.kernel);
            run(&["mkdir", "-p", &place])?;
            let copied = door.copy(&LocalRunner, modules, &format!("{place}/zfs"), COMMAND);
            copied.map_err(LabError::command("copying ZFS's modules into the guest"))?;
            run(&["depmod", "-a", &boot.image.kernel])?;
            run(&["modprobe", "zfs"])?;
        }
        // `degraded` is fine too: no unit is still starting.
        run(&[
            "sh",
            "-c",
            "systemctl is-system-running --wait || true; sync; echo 3 > /proc/sys/vm/drop_caches",
        ])?;
        door.close(&LocalRunner);
        let made = crate::steps::with_end(saved, ".tmp");
        remove(&made)?;
        folder(&made)?;
        save::save(&mut boot.monitor()?, &self.guest, &made.join("state.zst"))?;
        self.end()?;
        put(&self.guest.overlay(), &made.join("root.qcow2"))?;
        put(&made, saved)
    }

    fn saved(&self, shape: &Shape, image: &Image, accel: Accel, qemu: &str) -> PathBuf {
        let Shape { memory_mib, cpus, zfs, port: _ } = shape;
        let kernel = &image.kernel;
        let all = format!("{REVISION} {} {kernel} {memory_mib} {cpus} {zfs} {accel} {qemu}", image.hash);
        self.places.saved().join(short_hash(&all))
    }

    fn plug_all(&self, disks: &[DiskSpec]) -> Result<(), LabError> {
        let mut card = self.card()?;
        for (index, disk) in disks.iter().enumerate() {
            disk.check().map_err(|e| LabError::Shape(e.to_string()))?;
            let mut others = card.disks.iter().map(|attached| &attached.spec).chain(&disks[..index]);
            if others.any(|other| other.name == disk.name) {
                return Err(LabError::DiskThere { name: self.name.clone(), disk: disk.name.clone() });
            }
        }
        let door = self.door_of(&card);
        let links: Vec<String> =
            disks.iter().map(|disk| format!("/dev/disk/by-id/{}", disk.by_id())).collect();
        // The link of an earlier disk of that name would be taken for the new one's, and vanish afterwards.
        plug::await_no_links(&door, &links)?;
        let mut monitor = monitor(&self.guest)?;
        for disk in disks {
            let full = || LabError::Full { name: self.name.clone(), most: crate::machine::SLOTS };
            let slot = card.place_for(disk.bus).ok_or_else(full)?;
            plug::plug(&mut monitor, disk, slot, &self.guest.disk(&disk.name))?;
            card.disks.push(Attached { spec: disk.clone(), slot });
            card.write(&self.guest)?;
        }
        plug::await_links(&door, &links)
    }
}

#[cfg(test)]
mod tests {
    use super::Lab;
    use crate::process::has_argument;
    use std::os::unix::process::CommandExt as _;
    use std::process::{Command, Stdio};

    #[test]
    fn all_processes_of_a_guest_that_goes_to_the_background_end() {
        let dir = tempfile::tempdir().unwrap();
        let lab = Lab::open(dir.path(), "x").unwrap();
        std::fs::create_dir_all(&lab.guest.folder).unwrap();
        // QEMU and the process that it has forked have the same arguments.
        let start = || {
            let mut like = Command::new("tail");
            like.arg0("qemu-system-x").args(["-f", "/dev/null"]).arg(lab.guest.pidfile());
            like.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
        };
        let mut both = [start(), start()];
        for process in &both {
            // A process has its arguments a moment after it was started.
            let pid = i32::try_from(process.id()).unwrap();
            while !has_argument(pid, &lab.guest.pidfile()) {
                std::thread::yield_now();
            }
        }
        let ended = lab.down();
        for process in &mut both {
            let is_gone = process.try_wait().unwrap().is_some();
            let _ = process.kill();
            let _ = process.wait();
            assert!(is_gone, "{ended:?}");
        }
        ended.unwrap();
        assert!(!lab.guest.folder.exists());
    }
}
