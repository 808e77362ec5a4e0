//! Prefixes for names of devices that are on another machine than the load.

use record::topology::{BlockKind, BlockNode};

/// The prefix of one machine's device names.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePrefix(&'static str);

/// The machine that runs a guest.
pub(crate) const HOST: DevicePrefix = DevicePrefix("host:");
/// The node that serves the device or file system under test.
pub(crate) const SERVER: DevicePrefix = DevicePrefix("server:");

impl DevicePrefix {
    /// Puts the prefix before a name, or before a text that begins with a name.
    pub(crate) fn name(self, name: &str) -> String {
        format!("{}{name}", self.0)
    }

    /// Renames a device and its references to other devices, and moves it `depth` levels farther down in the topology.
    pub(crate) fn node(self, mut node: BlockNode, depth: u32) -> BlockNode {
        node.name = self.name(&node.name);
        node.depth += depth;
        match &mut node.kind {
            BlockKind::Partition { of } => *of = self.name(of),
            BlockKind::Loop { members, .. } | BlockKind::Composite { members } => {
                members.iter_mut().for_each(|member| *member = self.name(member));
            }
            BlockKind::Disk | BlockKind::Memory => {}
        }
        node
    }
}
