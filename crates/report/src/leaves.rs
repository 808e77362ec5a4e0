//! The devices under each cell, as a tree.

use crate::document::Branch;
use crate::index::Index;
use crate::number::{expected, percent};
use record::judged::NodeView;

/// The most branches of the tree; with more the result would be buried, and they are in the JSON only.
const MOST: usize = 12;

/// The tree: the cells, and the devices under them. Empty if the devices aren't known, or if there are too many.
pub(crate) fn leaves(index: &Index<'_>) -> Vec<Branch> {
    let mut tree = Vec::new();
    for cell in index.view.cells.iter().filter(|cell| !cell.leaves.is_empty()) {
        tree.push(Branch { depth: 0, text: index.name(&cell.id) });
        tree.extend(cell.leaves.iter().map(|node| Branch {
            depth: 1 + usize::try_from(node.depth.min(8)).unwrap_or(0),
            text: line(node),
        }));
    }
    if tree.len() > MOST { Vec::new() } else { tree }
}

/// A device's line: `loop0: loop device over a file on ext4: read 1.00x, written 1.02x of the requested bytes, 812 I/Os per second, 98 % busy`.
fn line(node: &NodeView) -> String {
    let ratio = |word: &str, figure: Option<f64>| figure.map(|f| format!("{word} {f:.2}x"));
    let moved: Vec<String> = [ratio("read", node.read_per_asked), ratio("wrote", node.write_per_asked)]
        .into_iter()
        .flatten()
        .collect();
    let figures = [
        (!moved.is_empty()).then(|| format!("{} of the requested bytes", moved.join(" and "))),
        node.iops.map(|iops| format!("{} I/Os per second", expected(iops, "iops"))),
        node.busy_share.map(|share| format!("{} busy", percent(share))),
    ];
    let figures: Vec<String> = figures.into_iter().flatten().collect();
    let figures = if figures.is_empty() { "not counted".to_owned() } else { figures.join(", ") };
    format!("{} ({}): {figures}", node.name, node.kind)
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use record::judged::NodeView;
    use record::workload::Rw;

    fn node(name: &str, depth: u32, read: Option<f64>) -> NodeView {
        NodeView {
            name: name.to_owned(),
            kind: "disk".to_owned(),
            depth,
            read_per_asked: read,
            write_per_asked: None,
            iops: read.map(|r| r * 812.0),
            busy_share: read.map(|_| 0.98),
        }
    }

    #[test]
    fn a_few_devices_are_a_tree_and_many_are_left_to_json() {
        let mut cell = testing::cell("c", "ext4", "randread", Rw::Randread, 4096);
        testing::side(&mut cell, "read", (900.0, Some(5.0)), 400.0);
        cell.leaves = vec![node("loop0", 0, Some(1.0)), node("vda", 1, None)];
        let mut view = testing::run("r", "?", vec![cell]);
        let text = testing::page(&view, 100);
        let wanted = "    loop0 (disk): read 1.00x of the requested bytes, 812 I/Os per second, 98 % busy\n      vda (disk): not counted\n";
        assert!(text.contains(wanted), "{text}");
        let list = testing::list(&view);
        assert!(
            list.contains("## Devices\n\n* ext4\n  * loop0 (disk): read 1.00x of the requested bytes"),
            "{list}"
        );
        assert!(list.contains("\n    * vda (disk): not counted\n"), "{list}");
        view.cells[0].leaves = vec![node("loop0", 0, Some(1.0)); 12];
        assert!(!testing::page(&view, 100).contains("Devices"));
    }
}
