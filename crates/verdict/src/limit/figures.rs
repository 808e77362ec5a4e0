//! The figures of one trial that the rules use.

use crate::detected::evidence;
use crate::facts::Facts;
use crate::scene::Scene;
use crate::usage::quota::Quota;
use crate::usage::rate::made_iops;
use crate::usage::throttle::Near;
use crate::usage::{cpu, generator, network, queue, quota, throttle};
use std::collections::BTreeMap;

/// The names of all figures, as in [`record::judged::Limit::evidence`].
pub(super) const NAMES: [&str; 11] = [
    "nearest_limit_share",
    "asked_queue_ios",
    "engine_queue_ios",
    "device_queue_ios",
    "busiest_device_busy_share",
    "busiest_thread_cores",
    "engine_and_kernel_cpu_share",
    "machine_busy_share",
    "quota_throttled_share",
    "network_share",
    "device_share",
];

/// One trial's figures; `None` means unknown.
#[derive(Debug, Clone)]
pub(super) struct Figures<'a> {
    pub(super) scene: &'a Scene<'a>,
    pub(super) facts: &'a Facts<'a>,
    /// The nearest limit of a device.
    pub(super) near: Option<Near>,
    /// The I/Os that all jobs together may have in flight.
    pub(super) depth: Option<f64>,
    /// The I/Os in flight in the engine: rate times latency (Little's law).
    pub(super) little: Option<f64>,
    /// The I/Os in flight on the devices.
    pub(super) queue: Option<f64>,
    /// The share of the time in which the busiest device had at least one I/O in flight.
    pub(super) busy: Option<f64>,
    /// The share of a core that the engine's busiest thread used.
    pub(super) thread: Option<f64>,
    pub(super) quota: Option<Quota>,
    /// The used share of the busiest link's speed, in its busiest direction.
    pub(super) network: Option<f64>,
    /// I/Os per second, all directions.
    pub(super) iops: f64,
}

impl<'a> Figures<'a> {
    pub(super) fn of(scene: &'a Scene<'a>) -> Self {
        let facts = scene.facts;
        Self {
            scene,
            facts,
            near: throttle::nearest(scene),
            depth: queue::depth(&facts.cell.workload).map(|depth| depth * facts.machines()),
            little: queue::little(facts),
            queue: queue::device_queue(facts),
            busy: queue::device_busy(facts),
            thread: generator::busiest_thread(facts),
            quota: quota::of(facts),
            network: network::busiest(facts).map(|line| line.share),
            iops: made_iops(facts),
        }
    }

    /// The I/Os at the devices, relative to the depth.
    pub(super) fn at_devices(&self) -> Option<f64> {
        Some(self.queue? / self.depth.filter(|d| *d > 0.0)?)
    }

    /// The I/Os in flight in the engine, relative to the depth.
    pub(super) fn in_engine(&self) -> Option<f64> {
        Some(self.little? / self.depth.filter(|d| *d > 0.0)?)
    }

    /// The known figures of these names.
    pub(super) fn pick(&self, names: &[&str]) -> BTreeMap<String, f64> {
        let mut all = evidence([
            ("nearest_limit_share", self.near.as_ref().map(Near::share)),
            ("asked_queue_ios", self.depth),
            ("engine_queue_ios", self.little),
            ("device_queue_ios", self.queue),
            ("busiest_device_busy_share", self.busy),
            ("busiest_thread_cores", self.thread),
            ("engine_and_kernel_cpu_share", cpu::ours_share(self.facts)),
            ("machine_busy_share", cpu::busy_share(&self.facts.span)),
            ("quota_throttled_share", self.quota.map(|q| q.throttled)),
            ("network_share", self.network),
            ("device_share", Some(self.scene.shares.both.device)),
        ]);
        all.retain(|name, _| names.contains(&name.as_str()));
        all
    }
}
