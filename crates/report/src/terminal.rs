//! The result as text for the terminal.

use crate::caveats::caveats;
use crate::footer;
use crate::index::Index;
use crate::leaves::leaves;
use crate::paint::{Paint, Tone};
use crate::table::{in_common, table};
use crate::wrap::fill;
use record::judged::{ExpectationView, RunView, Status};
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The smallest layout width, in columns; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 60;
/// The most expectations in words; the others are counted.
const WORDED: usize = 20;

/// Formats a run as text: the question, the table, the answer, the caveats, and how it was measured.
#[must_use]
pub fn terminal(view: &RunView, width: usize, colour: bool) -> String {
    let width = width.max(NARROWEST);
    let paint = Paint { colour };
    let index = Index::of(view);
    let mut out = paint.text(Tone::Heading, &view.experiment);
    out.push('\n');
    if let Some(question) = &view.question {
        out.push_str(&fill("", question, width));
    }
    if !view.parameters.is_empty() {
        let list: Vec<String> = view.parameters.iter().map(|(k, v)| format!("{k} = {v}")).collect();
        out.push_str(&fill("with ", &list.join(", "), width));
    }
    let common = in_common(&index);
    if !common.is_empty() {
        out.push_str(&fill("", &common, width));
    }
    out.push('\n');
    let (cells, shown) = table(&index, width, colour);
    out.push_str(&cells);
    let parts = [
        answers(view, width, paint),
        reached(view, width, paint),
        expectations(&index, &shown, width, paint),
        caveats(&index, width, paint),
        leaves(&index, width, paint),
    ];
    for part in parts.iter().filter(|p| !p.is_empty()) {
        out.push('\n');
        out.push_str(part);
    }
    out.push('\n');
    for line in footer::lines(view) {
        for wrapped in fill("", &line, width).lines() {
            let _ = writeln!(out, "{}", paint.text(Tone::Faint, wrapped));
        }
    }
    out
}

fn answers(view: &RunView, width: usize, paint: Paint) -> String {
    let answers = view.answers.iter().map(|answer| format!("{}: {}.", answer.workload, answer.text));
    let contrasts = view.contrasts.iter().map(|c| format!("{}, {}: {}.", c.name, c.metric, c.text));
    let sweeps = view.sweeps.iter().map(|s| format!("{}: {}.", s.name, s.text));
    let said: Vec<String> = answers.chain(contrasts).chain(sweeps).collect();
    if said.is_empty() {
        return String::new();
    }
    let mut out = paint.text(Tone::Heading, "Answer");
    out.push('\n');
    for sentence in &said {
        out.push_str(&fill("  ", sentence, width));
    }
    out
}

/// Whether the intervals are as narrow as the experiment asks.
fn reached(view: &RunView, width: usize, paint: Paint) -> String {
    let Some(reached) = &view.reached else { return String::new() };
    let (mark, tone) = if reached.all { ("as asked", Tone::Good) } else { ("not as asked", Tone::Warn) };
    let head = format!("{} {}", paint.text(Tone::Heading, "Precision:"), paint.text(tone, mark));
    format!("{head}\n{}", fill("  ", &format!("{}.", reached.text), width))
}

/// The number of met expectations, and a sentence for each that is missed, open or not in the table.
fn expectations(index: &Index<'_>, shown: &[&ExpectationView], width: usize, paint: Paint) -> String {
    let view = index.view;
    if view.expectations.is_empty() {
        return String::new();
    }
    let count = |status: Status| view.expectations.iter().filter(|e| e.status == status).count();
    let (met, missed, open) = (count(Status::Met), count(Status::Missed), count(Status::Undecided));
    let all = view.expectations.len();
    let mut words = vec![format!("{met} of {all} met")];
    if missed > 0 {
        words.push(format!("{missed} missed"));
    }
    if open > 0 {
        words.push(format!("{open} open"));
    }
    let tone = if missed > 0 {
        Tone::Bad
    } else if open > 0 {
        Tone::Warn
    } else {
        Tone::Good
    };
    let mut out =
        format!("{} {}\n", paint.text(Tone::Heading, "Expectations:"), paint.text(tone, &words.join(", ")));
    let in_table: BTreeSet<*const ExpectationView> = shown.iter().map(|e| std::ptr::from_ref(*e)).collect();
    let mut worded: Vec<&ExpectationView> = view
        .expectations
        .iter()
        .filter(|e| e.status != Status::Met || !in_table.contains(&std::ptr::from_ref(*e)))
        .collect();
    worded.sort_by_key(|e| match e.status {
        Status::Missed => 0,
        Status::Undecided => 1,
        Status::Met => 2,
    });
    for e in worded.iter().take(WORDED) {
        let mark = match e.status {
            Status::Met => "met",
            Status::Missed => "MISSED",
            Status::Undecided => "open",
        };
        out.push_str(&fill("  ", &format!("{mark}: {}: {}.", index.name(&e.cell), e.text), width));
    }
    if worded.len() > WORDED {
        let _ = writeln!(out, "  and {} more", worded.len() - WORDED);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::terminal;
    use crate::testing;
    use record::emulated::Guest;
    use record::finding::{Claim, Severity};
    use record::judged::{
        Checked, ContrastView, LimitKind, ModelSource, ModelView, RatioView, Reached, Relation, RunView,
    };
    use record::workload::Rw;

    fn page(view: &RunView, width: usize) -> String {
        let text = terminal(view, width, false);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    #[test]
    fn a_stripe_at_80_and_120() {
        insta::assert_snapshot!("striped_80", page(&testing::striped(), 80));
        insta::assert_snapshot!("striped_120", page(&testing::striped(), 120));
    }

    #[test]
    fn ratios_that_were_asked_for_are_in_the_answer() {
        let mut view = testing::trap();
        view.contrasts = vec![ContrastView {
            name: "odd-over-even".to_owned(),
            metric: "iops".to_owned(),
            a: vec![],
            b: vec![],
            ratio: None,
            relation: Relation::NotApart,
            text: "a and b can't be told apart".to_owned(),
        }];
        let said = "odd-over-even, iops: a and b can't be told apart.";
        assert!(page(&view, 80).contains(&format!("Answer\n  {said}")), "{}", page(&view, 80));
        let list = crate::markdown(&view);
        assert!(list.contains("* **odd-over-even**, iops: a and b can't be told apart."), "{list}");
    }

    #[test]
    fn a_trap_at_80_and_120() {
        insta::assert_snapshot!("trap_80", page(&testing::trap(), 80));
        insta::assert_snapshot!("trap_120", page(&testing::trap(), 120));
    }

    #[test]
    fn results_of_a_lab_guest_are_marked_with_what_they_may_claim() {
        let mut view = testing::guest();
        insta::assert_snapshot!("guest_120", page(&view, 120));
        let list = crate::markdown(&view);
        assert!(
            list.contains("Emulated disks of lab guest vm: figures are credible for up to 2000 requests"),
            "{list}"
        );
        view.emulated.push(Guest { target: "other".to_owned(), ..view.emulated[0].clone() });
        assert!(page(&view, 80).contains("Emulated disks of lab guests vm, other: figures are credible for"));
        view.emulated[0].software = None;
        assert!(!page(&view, 80).contains("disks of lab guests"), "they differ");
    }

    #[test]
    fn what_all_trials_were_too_fast_for_is_one_line() {
        let mut view = testing::striped();
        let cell = &mut view.cells[0];
        let seeks = cell.metrics["read_iops"].clone();
        cell.metrics = [("seeks".to_owned(), seeks)].into();
        cell.too_fast = [("seq_stat".to_owned(), 3), ("seq_delete".to_owned(), 2)].into();
        let shown = page(&view, 120);
        let line = |label: &str| shown.lines().find(|line| line.contains(label)).expect(label).to_owned();
        assert!(line("seq stat").contains("too fast"), "{shown}");
        assert!(line("seq delete").contains("too fast in 2 of 3"), "{shown}");
        view.cells[0].too_fast =
            ["seq_create", "seq_stat", "seq_delete"].map(|name| (name.to_owned(), 3)).into();
        let shown = page(&view, 120);
        assert_eq!(shown.matches("too fast").count(), 1, "{shown}");
        assert!(shown.lines().any(|l| l.contains("3 others") && l.contains("too fast")), "{shown}");
        assert!(crate::markdown(&view).contains("| 3 others | too fast |"), "{}", crate::markdown(&view));
    }

    #[test]
    fn a_climb_is_not_averaged() {
        let mut view = testing::striped();
        let warming = &mut view.cells[0];
        warming.metrics.get_mut("read_iops").unwrap().values = vec![50.84, 190.0, 308.4];
        let id = warming.id.0.clone();
        let row = |view: &RunView| {
            let text = page(view, 120);
            let said = text.contains("a → b are the first and the last round");
            (text.lines().find(|l| l.contains("btrfs-raid0-1")).unwrap().to_owned(), said)
        };
        let (before, said) = row(&view);
        assert!(before.contains("80.2 ± 0.5") && !said, "{before}");
        for claim in [Claim::Trend, Claim::CacheWarming] {
            view.findings = vec![testing::finding(&id, claim, Severity::Caveat, "It climbs.", "Wait.")];
            let (after, said) = row(&view);
            assert!(after.contains("50.8 → 308") && !after.contains('±') && said, "{after}");
            let list = crate::markdown(&view);
            assert!(list.contains("| 50.8 → 308 IOPS |"), "{list}");
        }
        assert!(page(&view, 120).contains("160.3 ± 0.9"), "the other cells have a mean");
    }

    #[test]
    fn a_number_that_is_no_storage_figure_is_struck_out_at_any_width() {
        for width in [20, 60, 80, 120, 200] {
            let text = terminal(&testing::trap(), width, false);
            let row = text.lines().find(|l| l.contains("570,")).unwrap();
            assert!(row.contains("~570,800"), "{width}: {row}");
            assert!(text.contains("NOT STORAGE"), "{width}");
        }
    }

    #[test]
    fn what_was_asked_of_the_intervals_is_said_to_be_reached_or_not() {
        let mut view = testing::striped();
        assert!(!page(&view, 80).contains("Precision:"));
        let text = "the budget of 12 rounds was spent: 2 of 9 cells are not known to ±5 % yet";
        view.reached = Some(Reached {
            all: false,
            more_rounds: Some(7),
            more_seconds: Some(840.0),
            open: Vec::new(),
            text: text.to_owned(),
        });
        let open = page(&view, 100);
        assert!(open.contains(&format!("Precision: not as asked\n  {text}.\n")), "{open}");
    }

    #[test]
    fn trims_are_a_line_of_their_own_without_a_source() {
        let mut cell = testing::cell("c", "ext4", "trimwrite", Rw::Trimwrite, 65536);
        testing::side(&mut cell, "write", (900.0, Some(5.0)), 400.0);
        testing::side(&mut cell, "trim", (901.0, Some(5.0)), 300.0);
        let text = page(&testing::run("trims", "?", vec![cell]), 100);
        let row = text.lines().find(|l| l.contains("901")).unwrap();
        assert!(row.split_whitespace().any(|w| w == "trim") && row.trim_end().ends_with('-'), "{text}");
    }

    #[test]
    fn wrong_content_is_not_called_something_milder() {
        let mut cell = testing::cell("c", "ext4", "randwrite", Rw::Randwrite, 4096);
        testing::side(&mut cell, "write", (900.0, Some(5.0)), 400.0);
        (cell.void, cell.verified) = (true, Some(Checked { trials: 3, bytes: 1 << 30, wrong_blocks: 2 }));
        let mut view = testing::run("verified", "?", vec![cell]);
        let text = "2 blocks did not hold what was written, in round 1, of 1 GiB checked: 2 lost.";
        view.findings = vec![testing::finding("c", Claim::WrongContent, Severity::Void, text, "Check it.")];
        let text = page(&view, 100);
        assert!(!text.contains("NOT STORAGE"), "{text}");
        assert_eq!(text.matches("WRONG CONTENT").count(), 2, "in the table and above the words: {text}");
        assert!(text.contains("~900"), "{text}");
    }

    #[test]
    fn the_model_stands_where_the_user_expects_nothing() {
        let mut mix = testing::cell("m", "raid0-3", "randrw", Rw::Randrw, 16384);
        testing::side(&mut mix, "read", (122.0, Some(3.0)), 400.0);
        testing::side(&mut mix, "write", (119.0, Some(3.0)), 400.0);
        let model = |expected, at_least, ratio| ModelView {
            of: "iops".to_owned(),
            expected,
            at_least,
            at_most: 240.0,
            from: ModelSource::Provisioned,
            device_ios_per_request: Some(1.0),
            ratio: Some(RatioView { ratio, low: None, high: None, confidence: 0.95, n: 1 }),
            steps: vec![],
            reason: None,
        };
        mix.model = Some(model(237.0, 236.0, 1.017));
        let mut read = testing::cell("r", "raid1", "randread", Rw::Randread, 4096);
        testing::side(&mut read, "read", (100.0, Some(3.0)), 400.0);
        read.model = Some(model(240.0, 80.0, 0.417));
        let text = page(&testing::run("models", "?", vec![mix, read]), 100);
        let row = text.lines().find(|l| l.contains("both")).unwrap();
        assert!(row.contains("model 237 (1.02x)"), "{text}");
        assert!(text.contains("model ≤ 240 (0.42x)"), "{text}");
        let mut rate = testing::cell("r", "raid1", "randread", Rw::Randread, 4096);
        testing::side(&mut rate, "read", (240.0, Some(1.0)), 400.0);
        rate.model = Some(model(240.0, 0.0, 1.0));
        rate.limited_by = testing::limit(LimitKind::AskedRate, true);
        let text = page(&testing::run("models", "?", vec![rate]), 100);
        assert!(text.contains("model 240 (1.00x)"), "what is asked for is no bound: {text}");
    }

    #[test]
    fn colour_changes_nothing_but_colour() {
        let coloured = terminal(&testing::trap(), 100, true);
        assert!(coloured.contains("\u{1b}["));
        let mut plain = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find('\u{1b}') {
            plain.push_str(&rest[..at]);
            rest = &rest[at..];
            rest = &rest[rest.find('m').unwrap() + 1..];
        }
        plain.push_str(rest);
        let squeezed = |t: &str| t.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(squeezed(&plain), squeezed(&terminal(&testing::trap(), 100, false)));
    }

    #[test]
    fn a_run_without_cells_is_a_page_too() {
        let text = page(&testing::run("empty", "?", vec![]), 80);
        assert!(text.contains("no cells"));
    }
}
