//! The cells of a workload by the levels of one factor: a course for each kind of stack.

use record::judged::CellView;
use std::collections::BTreeSet;

/// The cells of one kind of stack.
pub(super) struct Course<'a> {
    /// The stack, with `{factor}` in place of its level; empty if there is one course only and it needs no name.
    pub(super) name: String,
    /// Every level of the picture, in order, with its cell; `None`: this kind of stack has no cell there.
    pub(super) cells: Vec<(String, Option<&'a CellView>)>,
}

/// The courses of a workload, and what they go along.
pub(super) struct Along<'a> {
    /// The name of the factor; empty if the cells have no order.
    pub(super) factor: String,
    pub(super) courses: Vec<Course<'a>>,
}

/// A cell with its kind of stack and its level.
struct Placed<'a> {
    kind: String,
    level: String,
    cell: &'a CellView,
}

/// The courses along the factor with numbers as levels and the most of them; else, as of imported results, along the numbers in the
/// names of the stacks. Without either, each cell is a level of one course.
pub(super) fn courses<'a>(cells: &[&'a CellView]) -> Along<'a> {
    let by_factor = factor(cells).and_then(|factor| Some((factor.to_owned(), by_factor(cells, factor)?)));
    let by_name = || by_name(cells).map(|placed| ("number in the name".to_owned(), placed));
    match by_factor.or_else(by_name) {
        Some((factor, placed)) => Along { factor, courses: of_kinds(&placed) },
        None => {
            let cells = cells.iter().map(|cell| (named(cell, cells), Some(*cell))).collect();
            Along { factor: String::new(), courses: vec![Course { name: String::new(), cells }] }
        }
    }
}

/// The cells by their level of a factor. Their kind is the stack's name without the level, the levels of the other factors, and the machine.
fn by_factor<'a>(cells: &[&'a CellView], factor: &str) -> Option<Vec<Placed<'a>>> {
    let placed = |cell: &&'a CellView| {
        let level = cell.levels.get(factor)?;
        let stack = without(&named(cell, cells), factor, level);
        let others =
            cell.levels.iter().filter(|(name, level)| *name != factor && !stack.contains(level.as_str()));
        let others: String = others.map(|(name, level)| format!(", {name} {level}")).collect();
        Some(Placed { kind: stack + &others, level: level.clone(), cell })
    };
    cells.iter().map(placed).collect()
}

/// The cells by the last number in the names of their stacks, if each kind of stack has several.
fn by_name<'a>(cells: &[&'a CellView]) -> Option<Vec<Placed<'a>>> {
    let placed = |cell: &&'a CellView| {
        let name = named(cell, cells);
        let digits = |c: char| c.is_ascii_digit();
        let end = name.rfind(digits)? + 1;
        let from = name[..end].trim_end_matches(digits).len();
        let kind = format!("{}{{n}}{}", &name[..from], &name[end..]);
        Some(Placed { kind, level: name[from..end].to_owned(), cell })
    };
    let all: Vec<Placed<'a>> = cells.iter().map(placed).collect::<Option<_>>()?;
    let several = |kind: &str| all.iter().filter(|placed| placed.kind == kind).count() > 1;
    all.iter().all(|placed| several(&placed.kind)).then_some(all)
}

fn of_kinds<'a>(placed: &[Placed<'a>]) -> Vec<Course<'a>> {
    let mut levels: Vec<&String> = placed.iter().map(|placed| &placed.level).collect();
    levels.sort_by(|a, b| number(a).unwrap_or(0.0).total_cmp(&number(b).unwrap_or(0.0)));
    levels.dedup();
    let mut kinds: Vec<&String> = Vec::new();
    for placed in placed {
        if !kinds.contains(&&placed.kind) {
            kinds.push(&placed.kind);
        }
    }
    let course = |kind: &String| {
        let of = |level: &&String| placed.iter().find(|one| one.kind == *kind && one.level == **level);
        let cells =
            levels.iter().map(|level| ((*level).clone(), of(level).map(|placed| placed.cell))).collect();
        Course { name: kind.clone(), cells }
    };
    kinds.into_iter().map(course).collect()
}

/// A stack's name, with the machine if there are several.
fn named(cell: &CellView, all: &[&CellView]) -> String {
    match all.iter().any(|other| other.target != cell.target) {
        true => format!("{} on {}", cell.stack, cell.target),
        false => cell.stack.clone(),
    }
}

fn number(level: &str) -> Option<f64> {
    level.parse().ok().filter(|value: &f64| value.is_finite())
}

/// `None` if no factor of all cells has two numbers as levels.
fn factor<'a>(cells: &[&'a CellView]) -> Option<&'a str> {
    let of = |name: &str| -> BTreeSet<&str> {
        cells.iter().filter_map(|cell| cell.levels.get(name)).map(String::as_str).collect()
    };
    let is_number = |name: &&String| {
        cells.iter().all(|cell| cell.levels.get(*name).is_some_and(|level| number(level).is_some()))
    };
    let known = cells.first()?.levels.keys().filter(is_number);
    let best = known.max_by_key(|name| of(name).len())?;
    (of(best).len() > 1).then_some(best)
}

/// A stack's name with `{factor}` in place of its level, where the level stands for itself and is no part of a longer number.
fn without(stack: &str, factor: &str, level: &str) -> String {
    let is_alone = |at: usize| {
        let before = stack[..at].chars().next_back();
        let after = stack[at + level.len()..].chars().next();
        ![before, after].iter().flatten().any(char::is_ascii_digit)
    };
    match stack.match_indices(level).map(|(at, _)| at).filter(|at| is_alone(*at)).last() {
        Some(at) => format!("{}{{{factor}}}{}", &stack[..at], &stack[at + level.len()..]),
        None => stack.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Along, courses, without};
    use crate::testing::made;
    use record::judged::CellView;

    fn cell(stack: &str, levels: &[(&str, &str)]) -> CellView {
        let mut cell = made("x").view.cells.remove(0);
        cell.stack = stack.to_owned();
        cell.levels = levels.iter().map(|(name, level)| ((*name).to_owned(), (*level).to_owned())).collect();
        cell
    }

    #[test]
    fn a_level_is_taken_out_of_a_name_where_it_stands_alone() {
        let of = |stack, level| without(stack, "n", level);
        assert_eq!(of("md-3", "3"), "md-{n}");
        assert_eq!(of("lvm2-16-64k", "16"), "lvm2-{n}-64k");
        assert_eq!([of("raid10-1", "1"), of("md", "3")], ["raid10-{n}", "md"]);
    }

    #[test]
    fn each_kind_of_stack_has_a_course_along_the_factor_with_numbers() {
        let cells = [
            cell("md-2", &[("n", "2"), ("fs", "ext4")]),
            cell("md-10", &[("n", "10"), ("fs", "ext4")]),
            cell("lvm-2", &[("n", "2"), ("fs", "ext4")]),
            cell("md-1", &[("n", "1"), ("fs", "ext4")]),
        ];
        let Along { factor, courses } = courses(&cells.iter().collect::<Vec<_>>());
        assert_eq!(factor, "n");
        let names: Vec<&str> = courses.iter().map(|course| course.name.as_str()).collect();
        assert_eq!(names, ["md-{n}, fs ext4", "lvm-{n}, fs ext4"]);
        let levels: Vec<(&str, bool)> =
            courses[1].cells.iter().map(|(level, cell)| (level.as_str(), cell.is_some())).collect();
        assert_eq!(levels, [("1", false), ("2", true), ("10", false)], "in the order of numbers");
    }

    #[test]
    fn without_a_number_each_cell_is_a_level() {
        let cells = [cell("nas", &[]), cell("ssd", &[])];
        let Along { factor, courses } = courses(&cells.iter().collect::<Vec<_>>());
        assert_eq!((factor.as_str(), courses.len()), ("", 1));
        assert_eq!(
            courses[0].cells.iter().map(|(level, _)| level.as_str()).collect::<Vec<_>>(),
            ["nas", "ssd"]
        );
    }

    #[test]
    fn results_of_others_are_ordered_by_the_numbers_in_their_names() {
        let cells = ["md-10", "md-2", "lvm2-2", "lvm2-10"].map(|stack| cell(stack, &[]));
        let Along { factor, courses } = courses(&cells.iter().collect::<Vec<_>>());
        assert_eq!(factor, "number in the name");
        let stacks = |at: usize| -> Vec<(&str, &str)> {
            courses[at]
                .cells
                .iter()
                .map(|(level, cell)| (level.as_str(), cell.unwrap().stack.as_str()))
                .collect()
        };
        assert_eq!(
            courses.iter().map(|course| course.name.as_str()).collect::<Vec<_>>(),
            ["md-{n}", "lvm2-{n}"]
        );
        assert_eq!(stacks(0), [("2", "md-2"), ("10", "md-10")]);
        assert_eq!(stacks(1), [("2", "lvm2-2"), ("10", "lvm2-10")]);
        let single = ["nas1", "ssd2"].map(|stack| cell(stack, &[]));
        let cells: Vec<&CellView> = single.iter().collect();
        assert_eq!(super::courses(&cells).factor, "", "two names with a number each are no course");
    }
}
