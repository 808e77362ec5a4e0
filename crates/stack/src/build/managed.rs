//! Builds logical volumes, md arrays and bcache.

use super::{Builder, Stop, Top, Under};
use crate::act::Act;
use crate::act::bcache::FormatBcache;
use crate::act::device_ref::DeviceRef;
use crate::act::lvm::{ChangeGroup, MakeGroup};
use crate::act::lvm_command::Pv;
use crate::act::md::{MakeArray, free_number, in_sync};
use crate::bcache::BcacheDevice;
use crate::cache::Cache;
use crate::error::ActError;
use crate::layer::{lvm, md};
use crate::names;
use crate::thin::{self, ThinPool};
use crate::volumes::Failed;
use host::{Invocation, Tool};
use record::lvm::{Lvm, Resync, Thin};
use record::md::Md;
use record::printable::Shown as _;
use record::stack::Bcache;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// The time between two checks of the mirrors' progress.
const LOOK: Duration = Duration::from_millis(100);

impl Builder<'_> {
    /// Builds a logical volume in its own volume group.
    pub(super) fn lvm(&mut self, layer: &Lvm, top: &Top) -> Result<Top, Stop> {
        let group = names::unique(self.machine, self.journal.run(), self.journal.next_step());
        let beside = match &layer.cache {
            Some(cache) => self.beside(&cache.volumes)?,
            None => Vec::new(),
        };
        let mut pvs = Vec::new();
        let cache_tag = layer.cache.as_ref().and_then(|cache| cache.tag.as_deref());
        let main = top.devices.iter().map(|device| (device, layer.tag.as_deref()));
        for (device, tag) in main.chain(beside.iter().map(|device| (device, cache_tag))) {
            let uuid = lvm::uuid(&self.new_uuid()?);
            pvs.push(Pv { device: device.clone(), uuid, tag: tag.map(str::to_owned) });
        }
        self.hand_over();
        let devices: Vec<DeviceRef> = pvs.iter().map(|pv| pv.device.clone()).collect();
        self.perform(&Act::MakeGroup(MakeGroup { group: group.clone(), pvs }))?;
        for step in lvm::volume_steps(layer, &group, &paths(&top.devices), &paths(&beside)) {
            let (group, devices) = (group.clone(), devices.clone());
            let lvm::Step { command, args } = step;
            self.perform(&Act::ChangeGroup(ChangeGroup { group, devices, command, args, in_use: false }))?;
        }
        let name = lvm::mapper_name(&group, lvm::DATA);
        if let Some(thin) = &layer.thin {
            self.thin_volume(thin, &group, &name, devices)?;
        }
        if layer.layout.resync() == Some(Resync::Wait) {
            let cached = layer.cache.as_ref().is_some_and(|cache| cache.attach.is_built());
            let raid = if cached { lvm::mapper_name(&group, lvm::ORIGIN) } else { name.clone() };
            self.wait("wait for the mirrors to be equal", |builder| builder.mirror_is_equal(&raid))?;
        }
        if let Some(asked) = &layer.cache {
            let cache = Cache {
                volume: name.clone(),
                group,
                layer: layer.clone(),
                main: top.devices.clone(),
                beside,
            };
            if asked.attach.is_built() {
                cache.verify_policy(self.machine).map_err(Failed::at("attach the cache"))?;
            }
            self.caches.push(cache);
        }
        self.made_device(self.machine.roots.dev.join("mapper").join(name), false)
    }

    /// Builds the thin volume in the pool that was just made, if the pool is as it was asked for and the volume can't fill it.
    fn thin_volume(
        &mut self,
        asked: &Thin,
        group: &str,
        name: &str,
        devices: Vec<DeviceRef>,
    ) -> Result<(), Stop> {
        let pool = ThinPool::made(self.machine, group, asked).map_err(Failed::at("look at the thin pool"))?;
        let bytes = pool.volume_bytes(asked).map_err(Stop::Unbuildable)?;
        let lvm::Step { command, args } = lvm::thin_step(group, bytes);
        let group = group.to_owned();
        self.perform(&Act::ChangeGroup(ChangeGroup { group, devices, command, args, in_use: false }))?;
        thin::verify_volume(self.machine, name).map_err(Failed::at("look at the thin volume"))?;
        self.thin_pools.push(pool);
        Ok(())
    }

    /// Builds an md array.
    pub(super) fn md(&mut self, layer: &Md, top: &Top) -> Result<Top, Stop> {
        let uuid = self.new_uuid()?;
        let number = free_number(self.machine);
        let mut array = MakeArray { number, uuid, members: top.devices.clone(), args: Vec::new() };
        let node = array.node(self.machine);
        let name = md::name(self.machine.prefix, &array.uuid);
        array.args = md::create_args(layer, &node, &array.uuid, &name, &paths(&top.devices));
        self.hand_over();
        self.perform(&Act::MakeArray(array))?;
        if layer.resync == Some(Resync::Wait) {
            self.wait("wait for the resync", |builder| Ok(in_sync(builder.machine, number)))?;
        }
        self.made_device(node, false)
    }

    /// Builds bcache on a device and another one as its cache.
    pub(super) fn bcache(&mut self, layer: &Bcache, top: &Top) -> Result<Top, Stop> {
        let beside = self.beside(std::slice::from_ref(&layer.cache))?;
        let ([backing], [cache]) = (top.devices.as_slice(), beside.as_slice()) else {
            let what = format!("bcache takes one device and one cache, and has {}", top.devices.len());
            return Err(Stop::Unbuildable(what));
        };
        let (backing, cache, set) = (backing.clone(), cache.clone(), self.new_uuid()?);
        let format = FormatBcache { backing, cache, set, layer: layer.clone() };
        self.hand_over();
        self.perform(&Act::FormatBcache(format.clone()))?;
        let start = format.start().map_err(Failed::at(format.to_string()))?;
        self.perform(&Act::StartBcache(start.clone()))?;
        let node = start.node(self.machine).ok_or_else(|| {
            Stop::Unbuildable(format!("the device on {} is gone", start.backing.device.path.shown()))
        })?;
        let name = node.file_name().unwrap_or_default().to_string_lossy().into_owned();
        self.bcaches.push(BcacheDevice { name, dir: start.dir(self.machine) });
        self.made_device(node, false)
    }

    /// The volumes beside the main ones, by name.
    fn beside(&self, names: &[String]) -> Result<Vec<DeviceRef>, Stop> {
        let Under::Devices { beside, .. } = self.under else { return Ok(Vec::new()) };
        let find = |name: &String| {
            beside.get(name).cloned().ok_or_else(|| {
                Stop::Unbuildable(format!("volume {name} is not among those beside the main ones"))
            })
        };
        names.iter().map(find).collect()
    }

    fn wait(&self, step: &str, done: impl Fn(&Self) -> Result<bool, ActError>) -> Result<(), Stop> {
        loop {
            if done(self).map_err(Failed::at(step))? {
                return Ok(());
            }
            if self.cancel.load(Ordering::Relaxed) {
                return Err(Failed::at(step)(ActError::Cancelled).into());
            }
            std::thread::sleep(LOOK);
        }
    }

    fn mirror_is_equal(&self, name: &str) -> Result<bool, ActError> {
        let ask = Invocation::new(Tool::Dmsetup).args(["status", name]);
        let said = self.machine.runner.run(&ask).map_err(ActError::tool("ask how equal the mirrors are"))?;
        let (done, of) = lvm::synced(&said.stdout).ok_or_else(|| ActError::Unverified {
            what: format!("status of {name}"),
            expected: "that of a raid target".to_owned(),
            saw: said.stdout.trim_end().to_owned(),
        })?;
        Ok(done == of)
    }
}

fn paths(devices: &[DeviceRef]) -> Vec<&Path> {
    devices.iter().map(|device| device.path.as_path()).collect()
}
