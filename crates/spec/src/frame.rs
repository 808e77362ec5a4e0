//! What a layer is read with: its place in the file, and what lies below it.

use crate::capacity;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::{Key, Node, Value};
use crate::vocabulary::LayerName;
use crate::volume::Entry;
use record::stack::Layer;
use record::volume::{Volume, VolumeKind};

/// The output of the layers below.
pub(crate) enum Given {
    /// Block devices.
    Devices(usize),
    /// The layers below are wrong, which was already reported.
    Unknown,
    /// A directory, and the layer that made it.
    Directory { made_by: &'static str },
}

/// The volumes and devices below a stack, while its layers are read.
pub(crate) struct Below<'a> {
    /// The main volumes.
    pub(crate) volumes: &'a [Volume],
    /// All volumes of the file.
    pub(crate) entries: &'a [Entry],
    /// Volumes that layers use in addition to the main ones.
    pub(crate) beside: Vec<Volume>,
    /// The device that the layers so far create.
    pub(crate) made: Option<Made>,
}

/// A device that a layer creates.
pub(crate) struct Made {
    pub(crate) by: &'static str,
    /// Size in bytes; `None` where only the machine knows.
    pub(crate) bytes: Option<u64>,
}

impl<'a> Below<'a> {
    pub(crate) fn new(volumes: &'a [Volume], entries: &'a [Entry]) -> Self {
        Self { volumes, entries, beside: Vec::new(), made: None }
    }

    pub(crate) fn made_by(&self, layer: &str) -> bool {
        self.made.as_ref().is_some_and(|made| made.by == layer)
    }

    /// Returns the sizes of the devices for the next layer; `None` where only the machine knows.
    pub(crate) fn sizes(&self) -> Option<Vec<u64>> {
        if let Some(made) = &self.made {
            return made.bytes.map(|bytes| vec![bytes]);
        }
        let size = |volume: &Volume| match volume.kind {
            VolumeKind::Emulate { size_bytes, .. } | VolumeKind::Guest { size_bytes, .. } => Some(size_bytes),
            VolumeKind::Created { size_bytes, .. } => size_bytes,
            VolumeKind::Disk { .. } | VolumeKind::Directory { .. } => None,
        };
        self.volumes.iter().map(size).collect()
    }

    /// Records the device that a layer creates from the devices below.
    pub(crate) fn make(&mut self, by: &'static str, layer: &Layer) {
        let bytes = self.sizes().and_then(|sizes| capacity::over(layer, &sizes));
        self.made = Some(Made { by, bytes });
    }

    /// Reads the volumes that a layer uses in addition to the main ones: devices, each used once.
    pub(crate) fn select_beside(
        &mut self,
        node: &Node,
        scope: &Scope<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Vec<Volume>> {
        let chosen = crate::selector::select(node, self.entries, scope, problems)?;
        for volume in &chosen {
            if matches!(volume.kind, VolumeKind::Directory { .. }) {
                problems
                    .add(
                        node.span,
                        format!("`{}` is a directory, and this needs a block device", volume.name),
                    )
                    .help("use an emulated volume or a disk");
                return None;
            }
            if self.volumes.iter().chain(&self.beside).any(|used| used.name == volume.name) {
                let message = format!("`{}` is selected twice{}", volume.name, scope.levels());
                problems.add(node.span, message).expected("every volume once in a stack");
                return None;
            }
        }
        self.beside.extend(chosen.iter().cloned());
        Some(chosen)
    }
}

/// One layer of the file, with a known name.
pub(crate) struct Frame<'n> {
    pub(crate) kind: LayerName,
    pub(crate) node: &'n Node,
    pub(crate) key_span: crate::source::Span,
}

impl<'n> Frame<'n> {
    fn entries(&self) -> &'n [(Key, Node)] {
        match &self.node.value {
            Value::Map(entries) => entries,
            _ => &[],
        }
    }

    pub(crate) fn on_key(&self) -> Option<&'n Key> {
        self.entries().iter().find(|(key, _)| key.text == "on").map(|(key, _)| key)
    }

    pub(crate) fn on(&self) -> Option<&'n Node> {
        let found = self.entries().iter().find(|(key, _)| key.text == "on").map(|(_, node)| node);
        found.filter(|node| !matches!(node.value, Value::Null))
    }
}
