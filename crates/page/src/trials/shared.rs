//! What the devices that others may use moved beyond the load's own bytes. Counters don't say whose I/O it is: besides other processes, the
//! kernel reads ahead, writes journals and writes back on behalf of the load. The judge decides what is foreign; this is only a course.

use super::reading::{Reading, grown_bytes};
use record::topology::{BlockKind, Topology};
use std::collections::BTreeSet;

/// The devices below the load that others may use too, and how the load's own bytes on them are known.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    devices: Vec<&'a str>,
    own: Own<'a>,
}

#[derive(Debug)]
enum Own<'a> {
    /// They are those of these loop devices, whose backing files lie on the devices.
    Loops(Vec<&'a str>),
    /// The kernel charges them to the load's cgroup, by device number.
    Charged(Vec<String>),
}

impl<'a> Shared<'a> {
    /// The devices below all backing files; without one, the devices directly below the load. `None` without a device.
    pub(crate) fn of(topology: &'a Topology) -> Option<Self> {
        let mut loops = Vec::new();
        let mut below = BTreeSet::new();
        for node in &topology.nodes {
            if let BlockKind::Loop { members, guest: false, .. } = &node.kind
                && !members.is_empty()
            {
                loops.push(node.name.as_str());
                below.extend(members.iter().map(String::as_str));
            }
        }
        if !loops.is_empty() {
            return Some(Self { devices: below.into_iter().collect(), own: Own::Loops(loops) });
        }
        let direct = || topology.nodes.iter().filter(|node| node.depth == 0);
        let numbers = direct().map(|node| format!("{}:{}", node.devno.0, node.devno.1)).collect();
        let devices: Vec<&str> = direct().map(|node| node.name.as_str()).collect();
        (!devices.is_empty()).then_some(Self { devices, own: Own::Charged(numbers) })
    }

    /// Bytes between two samples beyond the load's; `None` if a counter is missing or went backwards.
    pub(crate) fn beyond(&self, a: &Reading, b: &Reading) -> Option<u64> {
        let own = match &self.own {
            Own::Loops(loops) => grown_bytes(loops, a, b)?,
            // A device is listed from the load's first I/O on.
            Own::Charged(numbers) => b.charged(numbers)?.checked_sub(a.charged(numbers).unwrap_or(0))?,
        };
        // Bytes of the load may wait in a cache: less than its own is no negative I/O of others.
        Some(grown_bytes(&self.devices, a, b)?.saturating_sub(own))
    }
}
