//! Provides volumes: backing files with loop devices of our own, and disks and directories that the guard clears.

use crate::act::backing_file::{ALIGN_BYTES, WriteBackingFile, free_bytes};
use crate::act::device_ref::{DeviceRef, Title};
use crate::act::directory::{KeepLentDir, LendDir};
use crate::act::loop_device::{AttachLoop, free_number};
use crate::act::{Act, Doing};
use crate::error::{ActError, StackError};
use crate::journal::{Journal, Mark};
use crate::machine::Machine;
use crate::throttle::{self, Throttle};
use crate::{mounts, names};
use device::{ClaimBook, Claimed, LentDir};
use record::id::{LOCAL, RunId};
use record::printable::Shown as _;
use record::volume::{Limits, Volume, VolumeFacts, VolumeKind};
use rustix::fs::Access;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Bytes that our backing files leave free.
pub const RESERVE_BYTES: u64 = 256 << 20;
/// How many other loop numbers to try when another process takes one first.
const LOOP_ATTEMPTS: u32 = 16;

/// Volumes that are provided and held by the guard. Drop them before the journal's undo: they hold their devices open.
#[derive(Debug)]
pub struct Volumes {
    provided: Vec<Provided>,
    throttle: Option<Throttle>,
}

/// The directories that other machines of the run use at the same time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shared {
    /// This machine's name in the run: it tells its sub-directory from those of the other machines.
    pub target: String,
    /// The names of the volumes.
    pub volumes: BTreeSet<String>,
}

/// One provided volume.
#[derive(Debug)]
pub struct Provided {
    facts: VolumeFacts,
    place: ProvidedPlace,
}

/// The place of a provided volume's data.
#[derive(Debug)]
pub(crate) enum ProvidedPlace {
    /// A block device, cleared by the guard.
    Device { claimed: Claimed, reference: DeviceRef },
    /// A sub-directory of ours.
    Directory(LentDir),
}

impl Provided {
    /// The volume's actual properties.
    #[must_use]
    pub fn facts(&self) -> &VolumeFacts {
        &self.facts
    }

    pub(crate) fn place(&self) -> &ProvidedPlace {
        &self.place
    }
}

impl Volumes {
    /// Provides all volumes or none: after a failure, it undoes what is half done before it returns the error. `progress`
    /// receives what is being done and, where known, the share that is done.
    ///
    /// # Errors
    /// When a volume can't be provided as requested, the guard refuses a disk or directory, a step fails, or `cancel` was set.
    pub fn provide(
        machine: &Machine<'_>,
        journal: &mut Journal,
        volumes: &[Volume],
        progress: &mut dyn FnMut(&str, Option<f64>),
        cancel: &AtomicBool,
    ) -> Result<Self, StackError> {
        Self::provide_shared(machine, journal, volumes, &Shared::default(), progress, cancel)
    }

    /// As [`Self::provide`]; other machines use the directories in `shared` at the same time.
    ///
    /// # Errors
    /// As [`Self::provide`].
    pub fn provide_shared(
        machine: &Machine<'_>,
        journal: &mut Journal,
        volumes: &[Volume],
        shared: &Shared,
        progress: &mut dyn FnMut(&str, Option<f64>),
        cancel: &AtomicBool,
    ) -> Result<Self, StackError> {
        check(machine, volumes)?;
        let mark = journal.mark();
        let mut made = Self { provided: Vec::new(), throttle: None };
        let mut maker = Maker { machine, journal, shared, progress, cancel };
        match made.make(&mut maker, volumes) {
            Ok(()) => Ok(made),
            Err(failed) => {
                drop(made);
                Err(failed.undone(machine, journal, mark))
            }
        }
    }

    fn make(&mut self, maker: &mut Maker<'_>, volumes: &[Volume]) -> Result<(), Failed> {
        // Steps that may be refused come first, long ones last.
        let slow = |volume: &&(usize, &Volume)| matches!(volume.1.kind, VolumeKind::Emulate { .. });
        let numbered: Vec<(usize, &Volume)> = volumes.iter().enumerate().collect();
        for (index, volume) in numbered.iter().filter(|v| !slow(v)).chain(numbered.iter().filter(slow)) {
            let provided = maker.provide(*index, volume)?;
            self.provided.push(provided);
        }
        self.provided.sort_by_key(|made| volumes.iter().position(|volume| volume.name == made.facts.name));
        self.throttle = maker.limit(volumes, &self.provided)?;
        Ok(())
    }

    /// The volumes' actual properties, in the requested order. `verified` is empty: a caller that can load them verifies them.
    #[must_use]
    pub fn facts(&self) -> Vec<VolumeFacts> {
        self.provided.iter().map(|provided| provided.facts.clone()).collect()
    }

    /// A volume, by the name in [`Volume::name`].
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Provided> {
        self.provided.iter().find(|provided| provided.facts.name == name)
    }

    /// The first of some other machines that has no sub-directory beside ours in a shared directory. Then it has another
    /// directory under the same path.
    #[must_use]
    pub fn apart_from<'t>(
        &self,
        machine: &Machine<'_>,
        run: &RunId,
        volume: &str,
        targets: &'t [String],
    ) -> Option<&'t str> {
        let ProvidedPlace::Directory(lent) = self.get(volume)?.place() else { return None };
        let own = |target: &str| lent.parent().join(names::shared(machine, run, volume, target));
        targets.iter().find(|target| !own(target).is_dir()).map(String::as_str)
    }

    /// The limits, if any volume has limits.
    #[must_use]
    pub fn throttle(&self) -> Option<Throttle> {
        self.throttle.clone()
    }
}

/// A failed step; the steps before it aren't undone yet.
pub(crate) struct Failed {
    pub(crate) step: String,
    pub(crate) source: ActError,
}

impl Failed {
    pub(crate) fn at(step: impl Into<String>) -> impl FnOnce(ActError) -> Self {
        let step = step.into();
        move |source| Self { step, source }
    }

    /// Undoes everything back to the mark; the error says if that failed too.
    pub(crate) fn undone(self, machine: &Machine<'_>, journal: &mut Journal, mark: Mark) -> StackError {
        let undo = journal.undo_to(machine, mark).err().map(Box::new);
        StackError::Act { step: self.step, source: self.source, undo }
    }
}

fn check(machine: &Machine<'_>, volumes: &[Volume]) -> Result<(), StackError> {
    let refuse =
        |volume: &Volume, what: String| Err(StackError::Unprovidable { volume: volume.name.clone(), what });
    let mut need_bytes = RESERVE_BYTES;
    for (index, volume) in volumes.iter().enumerate() {
        if volumes[..index].iter().any(|other| other.name == volume.name) {
            return refuse(volume, "is named twice".to_owned());
        }
        if let VolumeKind::Created { .. } = volume.kind {
            return refuse(volume, "was not created by its driver".to_owned());
        }
        let VolumeKind::Emulate { size_bytes, limits } = volume.kind else { continue };
        if let Some(why) = record::throttle::refusal(&limits) {
            return refuse(volume, why);
        }
        if size_bytes == 0 || size_bytes % ALIGN_BYTES as u64 != 0 {
            return refuse(
                volume,
                format!("its size of {size_bytes} bytes is not a multiple of 4096; round it"),
            );
        }
        if !rustix::process::geteuid().is_root() {
            return refuse(
                volume,
                "emulating a volume needs root; run with sudo, or use a directory volume".to_owned(),
            );
        }
        need_bytes = need_bytes.saturating_add(size_bytes);
    }
    if need_bytes == RESERVE_BYTES {
        return Ok(());
    }
    let dir = machine.volumes_dir();
    let step = "find room for the volumes".to_owned();
    let act = |source| StackError::Act { step: step.clone(), source, undo: None };
    let free_bytes = free_bytes(&dir).map_err(ActError::io("look at", &dir)).map_err(act)?;
    if free_bytes < need_bytes {
        return Err(act(ActError::NoSpace { dir, need_bytes, free_bytes, reserve_bytes: RESERVE_BYTES }));
    }
    Ok(())
}

struct Maker<'a> {
    machine: &'a Machine<'a>,
    journal: &'a mut Journal,
    shared: &'a Shared,
    progress: &'a mut dyn FnMut(&str, Option<f64>),
    cancel: &'a AtomicBool,
}

impl Maker<'_> {
    fn provide(&mut self, index: usize, volume: &Volume) -> Result<Provided, Failed> {
        match &volume.kind {
            VolumeKind::Emulate { size_bytes, .. } => self.emulate(index, &volume.name, *size_bytes),
            // `check` refuses the last: a run knows the disk's name once the driver has created it.
            VolumeKind::Disk { id }
            | VolumeKind::Guest { id, .. }
            | VolumeKind::Created { volume: id, .. } => self.disk(&volume.name, id),
            VolumeKind::Directory { path } => self.lend(index, &volume.name, path),
        }
    }

    fn perform(&mut self, act: &Act, step: &str) -> Result<(), Failed> {
        let Self { machine, journal, progress, cancel, .. } = self;
        let mut share = |done| progress(step, Some(done));
        let mut doing = Doing { machine, progress: &mut share, cancel, argv: &mut Vec::new() };
        journal.perform(act, &mut doing).map_err(Failed::at(act.to_string()))
    }

    fn emulate(&mut self, index: usize, name: &str, size_bytes: u64) -> Result<Provided, Failed> {
        let run = self.journal.run().clone();
        let path = names::backing_file(self.machine, &run, index, name);
        let step = format!("writing {name}");
        (self.progress)(&step, Some(0.0));
        let seed = seed_of(&path);
        self.perform(
            &Act::WriteBackingFile(WriteBackingFile { path: path.clone(), size_bytes, seed }),
            &step,
        )?;
        let attached = self.attach(&path)?;
        let node = attached.node(self.machine);
        let claimed = device::emulated(self.machine.roots, self.machine.runner, &node, &path)
            .map_err(ActError::guard)
            .map_err(Failed::at(format!("take {}", node.shown())))?;
        let facts = VolumeFacts {
            burst: None,
            name: name.to_owned(),
            target: LOCAL.to_owned(),
            device: Some(node.clone()),
            size_bytes: claimed.size_bytes(),
            identity: None,
            verified: Vec::new(),
            backing_fs: fs_under(self.machine, &path),
            loop_direct_io: attached.direct_io(self.machine),
            host_limits: None,
        };
        let reference = DeviceRef::new(node, claimed.devno(), Title::Backing(path));
        Ok(Provided { facts, place: ProvidedPlace::Device { claimed, reference } })
    }

    fn attach(&mut self, backing: &Path) -> Result<AttachLoop, Failed> {
        let mut number = free_number(self.machine, 0);
        for _ in 1..LOOP_ATTEMPTS {
            let attach = AttachLoop { backing: backing.to_owned(), number };
            match self.perform(&Act::AttachLoop(attach.clone()), "attaching") {
                Ok(()) => return Ok(attach),
                Err(Failed { source: ActError::LoopTaken { .. }, .. }) => {
                    number = free_number(self.machine, number + 1);
                }
                Err(failed) => return Err(failed),
            }
        }
        Err(Failed::at(format!("attach {}", backing.shown()))(ActError::LoopTaken { number }))
    }

    fn disk(&mut self, name: &str, id: &str) -> Result<Provided, Failed> {
        let at = || Failed::at(format!("take the disk {id}"));
        let book = ClaimBook::open(self.machine.state_dir).map_err(ActError::guard).map_err(at())?;
        let claimed = device::disk(self.machine.roots, self.machine.runner, &book, id, 0)
            .map_err(ActError::guard)
            .map_err(at())?;
        let facts = VolumeFacts {
            burst: None,
            name: name.to_owned(),
            target: LOCAL.to_owned(),
            device: Some(claimed.path().to_owned()),
            size_bytes: claimed.size_bytes(),
            identity: claimed.identity(),
            verified: Vec::new(),
            backing_fs: None,
            loop_direct_io: None,
            host_limits: None,
        };
        let title = Title::Claimed(claimed.by_id().unwrap_or(id).to_owned());
        let reference =
            DeviceRef::new(claimed.path().to_owned(), claimed.devno(), title).being(claimed.disk());
        Ok(Provided { facts, place: ProvidedPlace::Device { claimed, reference } })
    }

    fn lend(&mut self, index: usize, name: &str, path: &Path) -> Result<Provided, Failed> {
        let shared = self.shared.volumes.contains(name);
        let own = match shared {
            true => names::shared(self.machine, self.journal.run(), name, &self.shared.target),
            false => names::lent(self.machine, self.journal.run(), index),
        };
        let step = format!("borrow {}", path.shown());
        let parent =
            path.canonicalize().map_err(ActError::io("find", path)).map_err(Failed::at(step.clone()))?;
        // Checked before the intent: in a directory that we can't access, an undo could not tell that nothing was created.
        rustix::fs::access(&parent, Access::READ_OK | Access::WRITE_OK | Access::EXEC_OK)
            .map_err(|errno| ActError::io("use", &parent)(errno.into()))
            .map_err(Failed::at(step.clone()))?;
        let identity =
            device::identify(&parent).map_err(ActError::guard).map_err(Failed::at(step.clone()))?;
        let act = Act::LendDir(LendDir { path: parent.join(&own), parent, parent_id: Some(identity) });
        let mut silent = |_| {};
        let mut doing = Doing {
            machine: self.machine,
            progress: &mut silent,
            cancel: self.cancel,
            argv: &mut Vec::new(),
        };
        let lent = self
            .journal
            .perform_with(&act, &mut doing, |_| {
                let lent = if shared { device::lend_shared(path, &own) } else { device::lend(path, 0, &own) };
                lent.map_err(ActError::guard)
            })
            .map_err(Failed::at(step))?;
        // From here on its identity is recorded, so it is found even if it is moved.
        self.perform(&Act::KeepLentDir(KeepLentDir::of(&lent)), "borrowing")?;
        let facts = VolumeFacts {
            burst: None,
            name: name.to_owned(),
            target: LOCAL.to_owned(),
            device: None,
            size_bytes: lent.free_bytes(),
            identity: None,
            verified: Vec::new(),
            backing_fs: fs_under(self.machine, lent.path()),
            loop_direct_io: None,
            host_limits: None,
        };
        Ok(Provided { facts, place: ProvidedPlace::Directory(lent) })
    }

    fn limit(&mut self, volumes: &[Volume], provided: &[Provided]) -> Result<Option<Throttle>, Failed> {
        let limited: Vec<(&Volume, Limits)> = volumes.iter().filter_map(limits_of).collect();
        let Some((first, _)) = limited.first() else { return Ok(None) };
        let Some((flavour, root)) = throttle::detect(&self.machine.roots.proc) else {
            return Err(Failed::at(format!("limit {}", first.name))(ActError::Unverified {
                what: "cgroups".to_owned(),
                expected: "the io controller (v2) or blkio (v1), mounted".to_owned(),
                saw: "neither; mount one, or leave the limits out".to_owned(),
            }));
        };
        let run = self.journal.run().clone();
        let (acts, throttle) = throttle::make(self.machine, &run, flavour, &root);
        for act in &acts {
            self.perform(act, "limiting")?;
        }
        for (volume, limits) in limited {
            let device = provided.iter().find(|made| made.facts.name == volume.name);
            let Some(ProvidedPlace::Device { reference, .. }) = device.map(Provided::place) else { continue };
            for act in throttle::limit(&throttle, reference.devno, &limits) {
                self.perform(&act, "limiting")?;
            }
        }
        Ok(Some(throttle))
    }
}

fn limits_of(volume: &Volume) -> Option<(&Volume, Limits)> {
    match volume.kind {
        VolumeKind::Emulate { limits, .. } if !limits.is_unlimited() => Some((volume, limits)),
        _ => None,
    }
}

/// The file system type at a path: that of the mount with the longest matching mount point; of equal ones, the last.
fn fs_under(machine: &Machine<'_>, path: &Path) -> Option<String> {
    let mounted = mounts::read(&machine.roots.proc).ok()?;
    let over = mounted.into_iter().filter(|entry| path.starts_with(&entry.point));
    over.max_by_key(|entry| entry.point.components().count()).map(|entry| entry.fs_type)
}

/// The seed of a volume's data: different for every volume and run, the same when a run is repeated under its name (FNV-1a).
fn seed_of(path: &Path) -> u64 {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
