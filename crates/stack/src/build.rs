//! Builds a stack on provided volumes, and takes it down.

mod caches;
mod managed;
pub(crate) mod nfs;
mod remounted;
mod zfs;

use crate::act::command::CommandUp;
use crate::act::device_ref::{DeviceRef, Title, devno_of};
use crate::act::directory::{MakeDir, UseLentDir};
use crate::act::luks::{FormatLuks, Key, OpenLuks};
use crate::act::mkfs::{MadeFs, Mkfs};
use crate::act::mount::Mount;
use crate::act::{Act, Doing};
use crate::bcache::BcacheDevice;
use crate::cache::Cache;
use crate::error::{ActError, StackError, UndoError};
use crate::journal::{Journal, Mark};
use crate::knobs;
use crate::layer::{btrfs, command, filesystem};
use crate::machine::Machine;
use crate::names;
use crate::pool::Pool;
use crate::side_by_side::side_by_side;
use crate::thin::ThinPool;
use crate::volumes::{Failed, ProvidedPlace, Volumes};
use device::{Claimed, Ground, LentDir, Place};
use record::knobs::{Knobs, Setting};
use record::lvm::ThinState;
use record::printable::Shown as _;
use record::stack::{Btrfs, CommandLayer, Filesystem, Layer, Luks, Provides, Stack};
use record::volume::{Volume, VolumeKind};
pub use remounted::{NfsClient, NfsSource, Remounted};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A stack that is up.
#[derive(Debug)]
pub struct Built {
    /// The device or file system under test.
    pub ground: Ground,
    /// Argument vectors of the programs that built it, in order.
    pub argv: Vec<Vec<String>>,
    /// The kernel settings that were changed, in order.
    pub settings: Vec<Setting>,
    /// The ZFS pool among its layers, if there is one.
    pub pool: Option<Pool>,
    /// The LVM caches among its layers, from the bottom up.
    pub caches: Vec<Cache>,
    /// The devices of bcache among its layers, from the bottom up.
    pub bcaches: Vec<BcacheDevice>,
    /// The NFS export or mount in it, if there is one.
    pub nfs: Option<Remounted>,
    /// The thin pools among its layers, from the bottom up.
    thin_pools: Vec<ThinPool>,
    mark: Mark,
}

impl Built {
    /// Its beginning in the journal: an undo of this stack also undoes everything built later.
    #[must_use]
    pub fn mark(&self) -> Mark {
        self.mark
    }

    /// Returns the state of each thin pool among its layers, from the bottom up, by its device-mapper name; `None` where the kernel
    /// doesn't tell it.
    #[must_use]
    pub fn thin_pools(&self, machine: &Machine<'_>) -> Vec<(String, Option<ThinState>)> {
        self.thin_pools.iter().map(|pool| (pool.name().to_owned(), pool.state(machine))).collect()
    }

    /// Takes the stack down. The volumes stay and are free again.
    ///
    /// # Errors
    /// When some of it can't be taken down; that stays in the journal.
    pub fn undo(self, machine: &Machine<'_>, journal: &mut Journal) -> Result<(), UndoError> {
        journal.undo_to(machine, self.mark).map(|_| ())
    }
}

/// Builds a stack on its volumes. After a failure, it undoes the half-built stack before it returns the error.
///
/// # Errors
/// When the stack can't be built like this, the guard refuses a device at the moment of use, or a step fails.
pub fn build(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    stack: &Stack,
) -> Result<Built, StackError> {
    build_unless(machine, journal, volumes, stack, &AtomicBool::new(false))
}

/// The same, but gives up long waits (the resync of mirrors) when `cancel` is set.
///
/// # Errors
/// As above, or when it was cancelled.
pub fn build_unless(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    stack: &Stack,
    cancel: &AtomicBool,
) -> Result<Built, StackError> {
    build_for(machine, journal, volumes, stack, &[], cancel)
}

/// Builds a stack that other machines mount, up to its export. Only these machines may mount it.
///
/// # Errors
/// As above.
pub fn serve(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    stack: &Stack,
    clients: &[NfsClient],
    cancel: &AtomicBool,
) -> Result<Built, StackError> {
    build_for(machine, journal, volumes, stack, clients, cancel)
}

fn build_for(
    machine: &Machine<'_>,
    journal: &mut Journal,
    volumes: &Volumes,
    stack: &Stack,
    clients: &[NfsClient],
    cancel: &AtomicBool,
) -> Result<Built, StackError> {
    let under =
        under(volumes, stack).map_err(|what| StackError::Unbuildable { stack: stack.name.clone(), what })?;
    let mark = journal.mark();
    let limited = volumes.throttle().filter(|_| stack.all_volumes().any(is_limited));
    let mut builder = Builder::new(machine, journal, &under, cancel);
    builder.limited = limited.map(|throttle| throttle.cgroup_procs);
    builder.clients = clients;
    let ground = match &under {
        Under::Directory(lent) => builder.directory(lent, stack),
        Under::Server => Err(Stop::Unbuildable("what a server exports is mounted, not built".to_owned())),
        Under::Devices { .. } => builder.stack(&stack.layers),
    };
    builder.finish(ground, mark, stack)
}

fn is_limited(volume: &Volume) -> bool {
    matches!(volume.kind, VolumeKind::Emulate { limits, .. } if !limits.is_unlimited())
}

/// The volumes below a stack.
enum Under<'a> {
    Devices {
        /// All devices, including those beside the main ones.
        claimed: Vec<&'a Claimed>,
        /// The main devices.
        references: Vec<DeviceRef>,
        /// The devices beside the main ones, by the volume's name.
        beside: BTreeMap<String, DeviceRef>,
    },
    Directory(&'a LentDir),
    /// An export of another machine.
    Server,
}

fn under<'a>(volumes: &'a Volumes, stack: &Stack) -> Result<Under<'a>, String> {
    let (mut claimed, mut references, mut beside) = (Vec::new(), Vec::new(), BTreeMap::new());
    for (index, volume) in stack.all_volumes().enumerate() {
        let provided =
            volumes.get(&volume.name).ok_or_else(|| format!("volume {} is not there", volume.name))?;
        match provided.place() {
            ProvidedPlace::Device { claimed: device, reference } => {
                claimed.push(device);
                if index < stack.volumes.len() {
                    references.push(reference.clone());
                } else {
                    beside.insert(volume.name.clone(), reference.clone());
                }
            }
            ProvidedPlace::Directory(lent)
                if stack.all_volumes().count() == 1
                    && stack.transforming().all(|layer| matches!(layer, Layer::Nfs(_))) =>
            {
                return Ok(Under::Directory(lent));
            }
            ProvidedPlace::Directory(_) => {
                return Err(format!(
                    "volume {} is a directory, which stands alone: no layers but nfs and knobs, no other volumes",
                    volume.name
                ));
            }
        }
    }
    match (references.len(), stack.transforming().next().is_none()) {
        (0, _) => Err("it has no volumes; give it one".to_owned()),
        (2.., true) => Err("a raw device is one volume; add a layer over several".to_owned()),
        (_, true) if !beside.is_empty() => {
            Err("volumes beside the main ones need a layer that uses them".to_owned())
        }
        _ => Ok(Under::Devices { claimed, references, beside }),
    }
}

/// Why building stopped.
enum Stop {
    Failed(Failed),
    Unbuildable(String),
}

impl From<Failed> for Stop {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

/// The top of the half-built stack: the input of the next layer, or of the engine.
struct Top {
    devices: Vec<DeviceRef>,
    mount: Option<PathBuf>,
    /// Whether a user's own layer is below: its mounts may not show which devices they rest on.
    by_command: bool,
}

struct Builder<'a> {
    machine: &'a Machine<'a>,
    journal: &'a mut Journal,
    under: &'a Under<'a>,
    /// The process file of the cgroup that limits the volumes.
    limited: Option<PathBuf>,
    argv: Vec<Vec<String>>,
    settings: Vec<Setting>,
    cancel: &'a AtomicBool,
    pool: Option<Pool>,
    caches: Vec<Cache>,
    bcaches: Vec<BcacheDevice>,
    thin_pools: Vec<ThinPool>,
    nfs: Option<Remounted>,
    /// The other machines that mount the export; empty: this one does.
    clients: &'a [NfsClient],
}

impl<'a> Builder<'a> {
    fn new(
        machine: &'a Machine<'a>,
        journal: &'a mut Journal,
        under: &'a Under<'a>,
        cancel: &'a AtomicBool,
    ) -> Self {
        Self {
            machine,
            journal,
            under,
            limited: None,
            argv: Vec::new(),
            settings: Vec::new(),
            cancel,
            pool: None,
            caches: Vec::new(),
            bcaches: Vec::new(),
            thin_pools: Vec::new(),
            nfs: None,
            clients: &[],
        }
    }

    /// The result of a build. After a failure, it undoes the half-built stack.
    fn finish(self, ground: Result<Ground, Stop>, mark: Mark, stack: &Stack) -> Result<Built, StackError> {
        let Self { machine, journal, argv, settings, pool, caches, bcaches, thin_pools, nfs, .. } = self;
        match ground {
            Ok(ground) => Ok(Built { ground, argv, settings, pool, caches, bcaches, nfs, thin_pools, mark }),
            Err(Stop::Failed(failed)) => Err(failed.undone(machine, journal, mark)),
            Err(Stop::Unbuildable(what)) => match journal.undo_to(machine, mark) {
                Ok(_) => Err(StackError::Unbuildable { stack: stack.name.clone(), what }),
                Err(undo) => {
                    let source = ActError::Unverified {
                        what: "stack".into(),
                        expected: what,
                        saw: "otherwise".into(),
                    };
                    Err(StackError::Act { step: "build".into(), source, undo: Some(Box::new(undo)) })
                }
            },
        }
    }

    fn claimed(&self) -> &'a [&'a Claimed] {
        match self.under {
            Under::Devices { claimed, .. } => claimed,
            Under::Directory(_) | Under::Server => &[],
        }
    }

    fn directory(&mut self, lent: &LentDir, stack: &Stack) -> Result<Ground, Stop> {
        for layer in &stack.layers {
            if let Layer::Knobs(layer) = layer {
                self.knobs(layer, &[])?;
            }
        }
        self.perform(&Act::UseLentDir(UseLentDir::of(lent)))?;
        for layer in &stack.layers {
            if let Layer::Nfs(layer) = layer {
                if lent.is_exposed() {
                    return Err(Stop::Unbuildable(format!(
                        "nfs exports {} by its path, and users other than root can rename a directory on that path; name a directory whose parents all belong to root",
                        lent.path().shown()
                    )));
                }
                self.nfs(layer, lent.path(), false)?;
            }
        }
        self.served_by_nfs(Ground::lent(lent))
    }

    fn knobs(&mut self, layer: &Knobs, devices: &[DeviceRef]) -> Result<(), Stop> {
        let numbers: Vec<(u32, u32)> = devices.iter().map(|device| device.devno).collect();
        if let (Some(knob), []) = (layer.of_device(), numbers.as_slice()) {
            return Err(Stop::Unbuildable(format!(
                "`{}` is set on a device, and here is none",
                knob.name.word()
            )));
        }
        for knob in knobs::planned(self.machine, layer, &numbers).map_err(Stop::Unbuildable)? {
            let set = knob.set(self.machine, self.journal)?;
            self.settings.push(set);
        }
        Ok(())
    }

    fn perform(&mut self, act: &Act) -> Result<(), Stop> {
        let mut silent = |_| {};
        let mut doing =
            Doing { machine: self.machine, progress: &mut silent, cancel: self.cancel, argv: &mut self.argv };
        Ok(self.journal.perform(act, &mut doing).map_err(Failed::at(act.to_string()))?)
    }

    fn stack(&mut self, layers: &[Layer]) -> Result<Ground, Stop> {
        self.recheck()?;
        let Under::Devices { references, .. } = self.under else {
            return Err(Stop::Unbuildable("it has no devices".to_owned()));
        };
        let mut top = Top { devices: references.clone(), mount: None, by_command: false };
        for layer in layers {
            if let Layer::Knobs(layer) = layer {
                self.knobs(layer, &top.devices)?;
                continue;
            }
            if let (Layer::Nfs(layer), Some(directory)) = (layer, &top.mount) {
                self.nfs(layer, directory, true)?;
                continue;
            }
            if top.mount.is_some() {
                return Err(Stop::Unbuildable(
                    "a layer lies on a mounted file system; only nfs and knobs may".to_owned(),
                ));
            }
            top = match layer {
                Layer::Filesystem(fs) => self.filesystem(fs, top)?,
                Layer::Btrfs(fs) => self.btrfs(fs, top)?,
                Layer::Command(layer) => self.command(layer, &top)?,
                Layer::Zfs(layer) => self.zfs(layer, top)?,
                Layer::Knobs(_) => top,
                Layer::Nfs(_) => {
                    return Err(Stop::Unbuildable(
                        "nfs exports a directory, and what is below is a block device; put a file system below it"
                            .to_owned(),
                    ));
                }
                Layer::Lvm(layer) => self.lvm(layer, &top)?,
                Layer::Md(layer) => self.md(layer, &top)?,
                Layer::Luks(layer) => self.luks(layer, &top)?,
                Layer::Bcache(layer) => self.bcache(layer, &top)?,
            };
        }
        let ground = self.ground(&top)?;
        self.served_by_nfs(ground)
    }

    /// The guard's check at the moment of use. Then the devices are closed for mkfs, which opens them exclusively.
    fn recheck(&self) -> Result<(), Failed> {
        let machine = self.machine;
        let checked = side_by_side(self.claimed(), |claimed| claimed.recheck(machine.roots, machine.runner));
        for (claimed, checked) in self.claimed().iter().zip(checked) {
            checked
                .map_err(ActError::guard)
                .map_err(Failed::at(format!("use {}", claimed.path().shown())))?;
        }
        Ok(())
    }

    fn hand_over(&self) {
        self.claimed().iter().for_each(|claimed| claimed.hand_over());
    }

    fn filesystem(&mut self, fs: &Filesystem, top: Top) -> Result<Top, Stop> {
        if top.devices.len() != 1 {
            let what = format!("{} takes one device and has {}", fs.kind.name(), top.devices.len());
            return Err(Stop::Unbuildable(what));
        }
        let uuid = self.new_uuid()?;
        let label = names::label(self.machine);
        let args = filesystem::mkfs_args(fs, &uuid, &label).map_err(Stop::Unbuildable)?;
        let options = filesystem::mount_options(fs).map_err(Stop::Unbuildable)?;
        self.mkfs(filesystem::made(fs.kind), &top, Some(uuid), args)?;
        self.mount(fs.kind.name(), options, top)
    }

    fn btrfs(&mut self, fs: &Btrfs, top: Top) -> Result<Top, Stop> {
        let all_on_files = top.devices.iter().all(|device| matches!(device.title, Title::Backing(_)));
        let uuid = if all_on_files { None } else { Some(self.new_uuid()?) };
        let label = names::label(self.machine);
        let args = btrfs::mkfs_args(fs, top.devices.len(), uuid.as_deref(), &label);
        let others: Vec<&Path> = top.devices.iter().skip(1).map(|device| device.path.as_path()).collect();
        let options = btrfs::mount_options(fs, &others).map_err(Stop::Unbuildable)?;
        self.mkfs(MadeFs::Btrfs, &top, uuid, args.map_err(Stop::Unbuildable)?)?;
        self.mount("btrfs", options, top)
    }

    fn mkfs(&mut self, fs: MadeFs, top: &Top, uuid: Option<String>, args: Vec<String>) -> Result<(), Stop> {
        self.hand_over();
        self.perform(&Act::Mkfs(Mkfs { fs, devices: top.devices.clone(), uuid, args }))
    }

    fn mount(&mut self, fs_type: &str, options: Vec<String>, top: Top) -> Result<Top, Stop> {
        let target = self.mount_point()?;
        let (devices, fs_type) = (top.devices.clone(), fs_type.to_owned());
        self.perform(&Act::Mount(Mount { devices, fs_type, options, target: target.clone() }))?;
        Ok(Top { mount: Some(target), ..top })
    }

    fn mount_point(&mut self) -> Result<PathBuf, Stop> {
        let path = names::mount_point(self.machine, self.journal.run(), self.journal.next_step());
        self.perform(&Act::MakeDir(MakeDir { path: path.clone() }))?;
        Ok(path)
    }

    /// An encrypted device, with a key that nobody else ever has.
    fn luks(&mut self, layer: &Luks, top: &Top) -> Result<Top, Stop> {
        let [device] = top.devices.as_slice() else {
            return Err(Stop::Unbuildable(format!("luks takes one device and has {}", top.devices.len())));
        };
        if !Luks::is_cipher(&layer.cipher) {
            return Err(Stop::Unbuildable(format!("{:?} is not the name of a cipher", layer.cipher)));
        }
        let (device, layer, uuid) = (device.clone(), layer.clone(), self.new_uuid()?);
        let key = Key::random(self.machine).map_err(Failed::at("make a key"))?;
        self.hand_over();
        self.perform(&Act::FormatLuks(FormatLuks {
            device: device.clone(),
            uuid: uuid.clone(),
            layer: layer.clone(),
            key: key.clone(),
        }))?;
        let name = names::unique(self.machine, self.journal.run(), self.journal.next_step());
        let open = OpenLuks { name, device, uuid, layer, key };
        let node = open.node(self.machine);
        self.perform(&Act::OpenLuks(open))?;
        self.made_device(node, false)
    }

    fn command(&mut self, layer: &CommandLayer, top: &Top) -> Result<Top, Stop> {
        let mount = self.mount_point()?;
        let name = names::unique(self.machine, self.journal.run(), self.journal.next_step());
        let paths: Vec<&Path> = top.devices.iter().map(|device| device.path.as_path()).collect();
        let places = command::Places { devices: &paths, mount: &mount, name: &name };
        let fill = |all: &[Vec<String>]| {
            all.iter().map(|argv| command::fill(argv, &places)).collect::<Result<_, _>>()
        };
        let up = fill(&layer.up).map_err(Stop::Unbuildable)?;
        let down = fill(&layer.down).map_err(Stop::Unbuildable)?;
        self.hand_over();
        self.perform(&Act::CommandUp(CommandUp { devices: top.devices.clone(), up, down }))?;
        match &layer.provides {
            Provides::Mount => Ok(Top { devices: top.devices.clone(), mount: Some(mount), by_command: true }),
            Provides::Device(text) => {
                let path = PathBuf::from(command::fill_one(text, &places).map_err(Stop::Unbuildable)?);
                self.made_device(path, true)
            }
        }
    }

    /// Accepts a layer's device only if it rests on the stack's own volumes.
    fn made_device(&self, path: PathBuf, by_command: bool) -> Result<Top, Stop> {
        let at = || Failed::at(format!("take {}", path.shown()));
        Ground::resting_on(self.claimed(), Place::Block(path.clone()), self.machine.roots)
            .map_err(ActError::guard)
            .map_err(at())?;
        let devno = devno_of(&path).ok_or_else(|| {
            at()(ActError::NotOurs {
                what: path.shown().to_string(),
                saw: "it is not a block device".to_owned(),
            })
        })?;
        let own = match self.under {
            Under::Devices { references, .. } => {
                references.iter().find(|device| device.devno == devno).cloned()
            }
            Under::Directory(_) | Under::Server => None,
        };
        let made = own.unwrap_or(DeviceRef::new(path, devno, Title::Made));
        Ok(Top { devices: vec![made], mount: None, by_command })
    }

    fn ground(&self, top: &Top) -> Result<Ground, Stop> {
        let roots = self.machine.roots;
        if let (None, [only], [device]) = (&top.mount, self.claimed(), top.devices.as_slice())
            && only.devno() == device.devno
        {
            return Ok(Ground::block(only));
        }
        let ground = match (&top.mount, top.by_command) {
            (Some(mount), false) if self.pool.as_ref().is_some_and(|pool| pool.mount == *mount) => {
                let name = self.pool.as_ref().map_or("", |pool| pool.name.as_str());
                Ground::directory_on_pool(self.claimed(), name, mount, roots, self.machine.runner)
            }
            (Some(mount), false) => Ground::directory_on(self.claimed(), mount, roots),
            (Some(mount), true) => Ground::resting_on(self.claimed(), Place::Directory(mount.clone()), roots),
            (None, _) => match top.devices.as_slice() {
                [device] => Ground::resting_on(self.claimed(), Place::Block(device.path.clone()), roots),
                _ => {
                    return Err(Stop::Unbuildable(
                        "it ends in several devices; add a layer over them".to_owned(),
                    ));
                }
            },
        };
        Ok(ground.map_err(ActError::guard).map_err(Failed::at("hand the stack to the engine"))?)
    }

    fn new_uuid(&self) -> Result<String, Failed> {
        let path = self.machine.roots.proc.join("sys/kernel/random/uuid");
        let text = std::fs::read_to_string(&path).map_err(ActError::io("read", &path));
        Ok(text.map_err(Failed::at("choose a UUID"))?.trim().to_owned())
    }
}
