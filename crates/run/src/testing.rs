//! A cell and a request for its trial, for tests.

use crate::protocol::TrialRequest;
use record::id::{CellId, TrialId};
use record::plan::{Cell, Measure};
use record::stack::{Rebuild, Stack};
use record::workload::{Ask, CacheStart, EngineKind, Layout, Options, Rw, Workload};
use std::collections::BTreeMap;

/// Random reads on a stack without layers or volumes.
pub(crate) fn cell(id: &str, target: &str, stack: &str) -> Cell {
    Cell {
        id: CellId(id.to_owned()),
        target: target.to_owned(),
        stack: Stack {
            name: stack.to_owned(),
            volumes: Vec::new(),
            beside: Vec::new(),
            layers: Vec::new(),
            rebuild: Rebuild::Trial,
        },
        workload: Workload {
            name: "read".to_owned(),
            engine: EngineKind::Native,
            ask: Ask::Options(Options::new(Rw::Randread, 4096, 8 << 20)),
            layout: Layout::Written,
            cache: CacheStart::Cold,
            on: Vec::new(),
        },
        levels: BTreeMap::new(),
    }
}

/// A trial of one second in the first round.
pub(crate) fn request(cell: Cell) -> TrialRequest {
    TrialRequest {
        id: TrialId { cell: cell.id.clone(), round: 0 },
        cell,
        measure: Measure::new(1.0, 0.0, 1),
        seed: 7,
        from: None,
        live: false,
        together: None,
    }
}
