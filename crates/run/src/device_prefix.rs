//! Names of devices that are on another machine than the one that is loaded.

use record::topology::{BlockKind, BlockNode};

/// What stands before the names of one machine's devices.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DevicePrefix(&'static str);

/// The machine that runs a guest.
pub(crate) const HOST: DevicePrefix = DevicePrefix("host:");
/// The node that serves the ground.
pub(crate) const SERVER: DevicePrefix = DevicePrefix("server:");

impl DevicePrefix {
    /// A name, or words that begin with one.
    pub(crate) fn name(self, name: &str) -> String {
        format!("{}{name}", self.0)
    }

    /// A device `depth` farther from the ground than its own machine knows, and all that it rests on by its name here.
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
