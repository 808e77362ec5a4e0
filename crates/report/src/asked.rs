//! What was asked of the cells: every layer of every stack, and every option that differs from fio's defaults.

use record::judged::CellView;
use std::collections::{BTreeMap, BTreeSet};

/// The layers of each stack, unless its name says them all; `None`: no stack has any.
pub(crate) fn stacks(cells: &[CellView]) -> Option<String> {
    let mut seen = BTreeSet::new();
    let said: Vec<String> = cells
        .iter()
        .filter(|cell| seen.insert(&cell.stack))
        .filter(|cell| !cell.layers.is_empty() && cell.layers.as_slice() != [cell.stack.as_str()])
        .map(|cell| format!("{}: {}", cell.stack, cell.layers.join(", then ")))
        .collect();
    (!said.is_empty()).then(|| format!("Stacks, from the bottom up: {}.", said.join("; ")))
}

/// The options of each workload; what all share stands once. `None`: no workload has any.
pub(crate) fn workloads(cells: &[CellView]) -> Option<String> {
    let mut by_name: BTreeMap<&str, &BTreeMap<String, String>> = BTreeMap::new();
    for cell in cells.iter().filter(|cell| !cell.options.is_empty()) {
        by_name.entry(&cell.workload).or_insert(&cell.options);
    }
    let mut all = by_name.values();
    let mut shared: BTreeMap<&String, &String> = all.next()?.iter().collect();
    for options in all {
        shared.retain(|name, value| options.get(*name) == Some(*value));
    }
    let words = |options: &mut dyn Iterator<Item = (&String, &String)>| {
        options.map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
    };
    let own = by_name.iter().filter_map(|(name, options)| {
        let text = words(&mut options.iter().filter(|(option, _)| !shared.contains_key(*option)));
        (!text.is_empty()).then(|| format!("{name}: {text}"))
    });
    let own: Vec<String> = own.collect();
    let common = words(&mut shared.iter().map(|(name, value)| (*name, *value)));
    let said: Vec<String> = Some(common).filter(|text| !text.is_empty()).into_iter().chain(own).collect();
    Some(format!("Options that differ from fio's defaults: {}.", said.join("; ")))
}

#[cfg(test)]
mod tests {
    use super::{stacks, workloads};
    use crate::testing;

    #[test]
    fn what_a_name_hides_is_said_and_what_all_share_is_said_once() {
        let mut view = testing::striped();
        assert_eq!((stacks(&view.cells), workloads(&view.cells)), (None, None), "an older run");
        for (at, cell) in view.cells.iter_mut().enumerate() {
            cell.stack = if at == 0 { "xfs".to_owned() } else { "ext4".to_owned() };
            cell.layers =
                vec![if at == 0 { "zfs (recordsize 16 KiB)".to_owned() } else { "ext4".to_owned() }];
            cell.workload = format!("w{}", at.min(1));
            cell.options = [("direct", "1"), ("fsync", if at == 0 { "1" } else { "8" })]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into();
        }
        assert_eq!(stacks(&view.cells).unwrap(), "Stacks, from the bottom up: xfs: zfs (recordsize 16 KiB).");
        assert_eq!(
            workloads(&view.cells).unwrap(),
            "Options that differ from fio's defaults: direct=1; w0: fsync=1; w1: fsync=8."
        );
    }
}
