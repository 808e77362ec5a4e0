//! The ratios between groups of cells that the experiment defines, paired within rounds and corrected for all of them.

use crate::answer::doubts;
use crate::answer::words::{AT_THIS_BUDGET, list};
use crate::pairing::{Level, Rivals, family, most_trials};
use record::finding::Finding;
use record::id::CellId;
use record::judged::{CellView, ContrastView};
use record::plan::{Contrast, Plan};

/// One view per contrast of the plan, in its order.
pub(crate) fn of(plan: &Plan, cells: &[CellView], findings: &[Finding]) -> Vec<ContrastView> {
    let level = Level::of([(&plan.measure, most_trials(cells))]);
    let sides: Vec<[Side<'_>; 2]> = plan
        .contrasts
        .iter()
        .map(|contrast| [&contrast.a, &contrast.b].map(|ids| Side::of(ids, cells, &contrast.of)))
        .collect();
    let rivals: Vec<Rivals> = sides
        .iter()
        .zip(&plan.contrasts)
        .map(|([a, b], contrast)| {
            Rivals::groups(&a.cells, &b.cells, &contrast.of, plan.measure.trial_seconds)
        })
        .collect();
    let several = Several::among(cells);
    family(&rivals, &level)
        .into_iter()
        .zip(&sides)
        .zip(&plan.contrasts)
        .map(|((told, [a, b]), contrast)| ContrastView {
            name: contrast.name.clone(),
            metric: contrast.of.clone(),
            a: a.ids(),
            b: b.ids(),
            ratio: told.view(),
            relation: told.relation,
            text: text(contrast, a, b, several, findings, |a, b| told.text(a, b, AT_THIS_BUDGET)),
        })
        .collect()
}

/// One side of a ratio.
struct Side<'a> {
    cells: Vec<&'a CellView>,
    /// The cells without a storage figure.
    void: Vec<&'a CellView>,
}

impl<'a> Side<'a> {
    fn of(ids: &[CellId], cells: &'a [CellView], metric: &str) -> Self {
        let named = cells.iter().filter(|cell| ids.contains(&cell.id));
        let measured = named.filter(|cell| cell.metrics.contains_key(metric));
        let (void, cells) = measured.partition(|cell| cell.void);
        Self { cells, void }
    }

    fn ids(&self) -> Vec<CellId> {
        self.cells.iter().map(|cell| cell.id.clone()).collect()
    }
}

/// The parts of a cell's name that are needed to distinguish it.
#[derive(Clone, Copy)]
struct Several {
    targets: bool,
    workloads: bool,
}

impl Several {
    fn among(cells: &[CellView]) -> Self {
        let differ = |of: fn(&CellView) -> &String| cells.windows(2).any(|two| of(&two[0]) != of(&two[1]));
        Self { targets: differ(|cell| &cell.target), workloads: differ(|cell| &cell.workload) }
    }

    fn names(self, cells: &[&CellView]) -> Vec<String> {
        let name = |cell: &&CellView| {
            let workload = if self.workloads { format!(" {}", cell.workload) } else { String::new() };
            let target = if self.targets { format!(" on {}", cell.target) } else { String::new() };
            format!("{}{workload}{target}", cell.stack)
        };
        cells.iter().map(name).collect()
    }
}

fn text(
    contrast: &Contrast,
    a: &Side<'_>,
    b: &Side<'_>,
    several: Several,
    findings: &[Finding],
    told: impl Fn(&str, &str) -> String,
) -> String {
    let side = |side: &Side<'_>| match several.names(&side.cells).as_slice() {
        [one] => one.clone(),
        many => format!("the mean of {}", list(many)),
    };
    let void: Vec<&CellView> = a.void.iter().chain(&b.void).copied().collect();
    let left_out = if void.is_empty() {
        String::new()
    } else {
        format!(" (left out, since it is no storage figure: {})", list(&several.names(&void)))
    };
    let said = if a.cells.is_empty() || b.cells.is_empty() {
        format!("there is no {} to compare", contrast.of)
    } else {
        told(&side(a), &side(b))
    };
    let named: Vec<&CellView> = a.cells.iter().chain(&b.cells).copied().collect();
    let names = several.names(&named);
    let named: Vec<(&CellId, &str)> =
        named.iter().zip(&names).map(|(cell, name)| (&cell.id, name.as_str())).collect();
    said + &doubts::of(findings, &named) + &left_out
}

#[cfg(test)]
mod tests {
    use crate::run_tests::{cell, run_with};
    use record::judged::Relation;
    use record::plan::Contrast;

    fn contrast(name: &str, a: &[&str], b: &[&str]) -> Contrast {
        let ids = |names: &[&str]| names.iter().map(|name| record::id::CellId((*name).to_owned())).collect();
        Contrast { name: name.to_owned(), of: "iops".to_owned(), a: ids(a), b: ids(b) }
    }

    #[test]
    fn groups_are_compared_by_their_means_within_rounds() {
        let cells = [
            cell("one", &[10000, 11000, 12100, 11000]),
            cell("two", &[20000, 22000, 24200, 22000]),
            cell("three", &[40040, 44000, 48400, 43960]),
        ];
        let view = run_with(&cells, |plan| {
            plan.contrasts =
                vec![contrast("outer", &["one", "three"], &["two"]), contrast("first", &["three"], &["one"])];
        });
        let [outer, first] = view.contrasts.as_slice() else { panic!("{:?}", view.contrasts) };
        assert_eq!((outer.relation, first.relation), (Relation::NotApart, Relation::Apart));
        // The rounds vary by a fifth, all cells alike; the ratio doesn't contain that.
        assert!(
            outer.text.starts_with("the mean of one and three and two can't be told apart at this budget;"),
            "{}",
            outer.text
        );
        assert!((outer.ratio.as_ref().unwrap().ratio - 1.0).abs() < 1e-3);
        assert!(first.text.starts_with("three is 4.00x one ("), "{}", first.text);
    }

    #[test]
    fn a_round_that_lacks_a_cell_of_a_group_is_no_pair() {
        let cells = [cell("one", &[1000, 1100, 1000]), cell("two", &[2000]), cell("three", &[500; 3])];
        let view = run_with(&cells, |plan| plan.contrasts = vec![contrast("c", &["one", "two"], &["three"])]);
        let found = &view.contrasts[0];
        assert_eq!((found.ratio.as_ref().unwrap().n, found.relation), (1, Relation::NotApart));
        assert!(
            found.text.ends_with("by one round, which sets no bound on the difference"),
            "{}",
            found.text
        );
    }

    #[test]
    fn what_is_no_storage_figure_is_left_out_and_named() {
        let (mut holes, trials) = cell("holes", &[90000; 3]);
        holes.workload.layout = record::workload::Layout::Hole;
        let cells = [(holes, trials), cell("disk", &[1000; 3])];
        let mut view = run_with(&cells, |plan| plan.contrasts = vec![contrast("c", &["holes"], &["disk"])]);
        view.cells[0].void = true;
        let plan_contrast = contrast("c", &["holes"], &["disk"]);
        let [a, b] =
            [&plan_contrast.a, &plan_contrast.b].map(|ids| super::Side::of(ids, &view.cells, "iops"));
        let text = super::text(&plan_contrast, &a, &b, super::Several::among(&view.cells), &[], |_, _| {
            String::new()
        });
        assert_eq!(text, "there is no iops to compare (left out, since it is no storage figure: holes)");
    }
}
