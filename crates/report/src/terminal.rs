//! A document as text for the terminal.

mod grid;
mod line;

use crate::document::{Block, Branch, Caveat, Document, Heading, List, Paragraph, Style, Tone, Words};
use crate::paint::Paint;
use crate::wrap::fill;
use crate::{chart, plot, sparkline};
use grid::grid;
use line::painted;
use record::printable::one_line;

/// The smallest layout width, in columns; a narrower terminal wraps the lines itself.
const NARROWEST: usize = 60;

/// Formats a document as text of at most `width` columns. Blank lines separate its blocks.
#[must_use]
pub fn terminal(document: &Document, width: usize, colour: bool) -> String {
    let page = Page { width: width.max(NARROWEST), drawing: width, paint: Paint { colour } };
    let mut out = String::new();
    let mut follows_heading = false;
    for block in &document.blocks {
        let text = page.block(block);
        if text.is_empty() {
            continue;
        }
        // A heading may say all there is to say.
        let is_apart = !follows_heading || matches!(block, Block::Heading(_) | Block::Notes(_));
        if is_apart && !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&text);
        follows_heading = matches!(block, Block::Heading(_));
    }
    out
}

/// The medium: its width in columns and its colours.
#[derive(Debug, Clone, Copy)]
struct Page {
    width: usize,
    /// The width of drawings, which nothing can wrap.
    drawing: usize,
    paint: Paint,
}

impl Page {
    fn block(self, block: &Block) -> String {
        match block {
            Block::Title(title, under) => {
                format!("{}\n{}", self.paint.heading(&one_line(title)), self.paragraphs(under))
            }
            Block::Answer(items) => format!("{}\n{}", self.paint.heading("Answer"), self.items(items)),
            Block::Heading(heading) => self.heading(heading),
            Block::Paragraphs(paragraphs) => self.paragraphs(paragraphs),
            Block::List(list) => self.list(list),
            Block::Tree(branches) => branches.iter().map(|branch| self.branch(branch)).collect(),
            Block::Table(table) => grid(table, self.width, self.paint),
            Block::DotPlot(dots) if dots.in_text => drawing(plot::dots(dots, self.drawing), ""),
            Block::DotPlot(_) => String::new(),
            Block::Ratios(ratios) => drawing(plot::ratios(ratios, self.drawing), ""),
            Block::Scatter(scatter) => drawing(chart::drawn(scatter, self.width - 2), "  "),
            Block::Caveats(caveats) => caveats.iter().map(|caveat| self.caveat(caveat)).collect(),
            Block::Notes(notes) => {
                let faint = |note: &String| Words::styled(Style::Toned(Tone::Faint), note);
                notes.iter().map(|note| self.words("", &faint(note))).collect()
            }
        }
    }

    fn words(self, first: &str, words: &Words) -> String {
        painted(first, words, self.width, self.paint)
    }

    fn text(self, first: &str, text: &str) -> String {
        fill(first, &one_line(text), self.width)
    }

    fn heading(self, heading: &Heading) -> String {
        let text = one_line(&heading.text);
        match &heading.result {
            None => format!("{}\n", self.paint.heading(&text)),
            Some((tone, result)) => {
                let result = self.paint.text(Style::Toned(*tone), &one_line(result));
                format!("{} {result}\n", self.paint.heading(&format!("{text}:")))
            }
        }
    }

    fn paragraphs(self, paragraphs: &[Paragraph]) -> String {
        let first = |label: &str| format!("{label} ");
        let line = |p: &Paragraph| self.words(&p.label.map(first).unwrap_or_default(), &p.words);
        paragraphs.iter().map(line).collect()
    }

    fn items(self, items: &[Words]) -> String {
        items.iter().map(|item| self.words("  ", item)).collect()
    }

    fn list(self, list: &List) -> String {
        let (shown, more) = list.items.split_at(list.items.len().min(list.most));
        let more = if more.is_empty() { String::new() } else { format!("  and {} more\n", more.len()) };
        self.items(shown) + &more
    }

    fn branch(self, branch: &Branch) -> String {
        self.text(&"  ".repeat(1 + branch.depth), &branch.text)
    }

    fn caveat(self, caveat: &Caveat) -> String {
        let title =
            Words::styled(Style::Toned(caveat.tone), caveat.label).then(format!(": {}", caveat.title));
        let example = caveat.example.as_ref().map(|cell| format!("{cell}: ")).unwrap_or_default();
        let courses: String =
            sparkline::all(&caveat.courses).iter().map(|course| self.text("    ", course)).collect();
        [
            Some(self.words("  ", &title)),
            Some(self.text("    ", &format!("{example}{}", caveat.text))),
            Some(courses),
            caveat.cells.as_ref().map(|cells| self.text("    in ", cells)),
            Some(self.text("    > ", &caveat.remedy)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// The lines of a drawing; nothing if there was no room for it.
fn drawing(lines: Option<Vec<String>>, indent: &str) -> String {
    lines.unwrap_or_default().iter().map(|line| format!("{indent}{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::terminal;
    use crate::testing::{self, list};
    use record::emulated::Guest;
    use record::finding::{Claim, Severity};
    use record::judged::{
        Checked, ContrastView, LimitKind, ModelSource, ModelView, RatioView, Reached, Relation, RunView,
        Status,
    };
    use record::workload::Rw;

    fn page(view: &RunView, width: usize) -> String {
        let text = testing::page(view, width);
        for line in text.lines() {
            assert!(line.chars().count() <= width, "wider than {width}: {line}");
            assert_eq!(line, line.trim_end());
        }
        text
    }

    #[test]
    fn what_a_commit_waits_for_is_a_line_of_its_own() {
        insta::assert_snapshot!("durable_80", page(&testing::durable(), 80));
        insta::assert_snapshot!("durable_120", page(&testing::durable(), 120));
        let without_syncs = page(&testing::striped(), 120);
        assert!(!without_syncs.contains("durable") && !without_syncs.contains("sync"));
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
        let list = list(&view);
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
        let list = list(&view);
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
        assert!(list(&view).contains("| 3 others | too fast |"), "{}", list(&view));
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
            let row = text.lines().find(|l| l.contains("btrfs-raid0-1") && l.contains("throttle"));
            (row.unwrap().to_owned(), said)
        };
        let (before, said) = row(&view);
        assert!(before.contains("80.2 ± 0.5") && !said, "{before}");
        for claim in [Claim::Trend, Claim::CacheWarming] {
            view.findings = vec![testing::finding(&id, claim, Severity::Caveat, "It climbs.", "Wait.")];
            let (after, said) = row(&view);
            assert!(after.contains("50.8 → 308") && !after.contains('±') && said, "{after}");
            let list = list(&view);
            assert!(list.contains("| 50.8 → 308 IOPS |"), "{list}");
        }
        assert!(page(&view, 120).contains("160.3 ± 0.9"), "the other cells have a mean");
    }

    #[test]
    fn each_cell_that_climbs_has_its_rounds_drawn() {
        let mut view = testing::striped();
        for (place, values) in [(0, [50.0, 190.0, 308.0]), (2, [300.0, 250.0, 90.0])] {
            view.cells[place].metrics.get_mut("iops").unwrap().values = values.to_vec();
            let id = view.cells[place].id.0.clone();
            view.findings.push(testing::finding(
                &id,
                Claim::Trend,
                Severity::Caveat,
                "It climbs by 3.",
                "Wait.",
            ));
        }
        for text in [page(&view, 120), list(&view)] {
            assert!(text.contains("btrfs-raid0-1/randread-16k: rounds ▁▅█ 50 to 308 IOPS"), "{text}");
            assert!(text.contains("btrfs-raid0-3/randread-16k: rounds █▆▁ 90 to 300 IOPS"), "{text}");
        }
        view.findings.truncate(1);
        let one = page(&view, 120);
        assert!(one.contains("    rounds ▁▅█ 50 to 308 IOPS"), "one cell needs no name: {one}");
    }

    #[test]
    fn a_number_that_is_no_storage_figure_is_struck_out_at_any_width() {
        for width in [20, 60, 80, 120, 200] {
            let text = testing::page(&testing::trap(), width);
            let row = text.lines().find(|l| l.contains("570,")).unwrap();
            assert!(row.contains("~570,800"), "{width}: {row}");
            assert!(text.contains("NOT STORAGE"), "{width}");
        }
    }

    #[test]
    fn a_heading_that_says_all_stands_apart_from_what_follows() {
        let mut view = testing::striped();
        view.expectations.retain(|e| e.status == Status::Met);
        let text = page(&view, 100);
        assert!(text.contains("\n\nExpectations: 11 of 11 met\n\n± is the half-width"), "{text}");
        assert!(text.starts_with("striped-volumes\n"), "{text}");
    }

    #[test]
    fn the_plot_stands_above_its_table_and_every_trial_and_the_tie_are_in_it() {
        let mut view = testing::striped();
        view.answers[0].tied = vec![view.cells[2].id.clone()];
        for width in [40, 60, 80, 120, 140] {
            let text = testing::page(&view, width);
            let (plot, table) =
                (text.find("read iops of randread-16k").unwrap(), text.find("device").unwrap());
            assert!(plot < table, "{text}");
            let rows: Vec<&str> = text[plot..].lines().filter(|line| line.contains('◈')).skip(1).collect();
            assert!(rows.iter().all(|row| row.chars().count() <= width), "{width}: {text}");
            assert!(rows.iter().any(|row| row.ends_with("tied")), "{width}: {text}");
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
        let coloured = terminal(&crate::result(&testing::trap()), 100, true);
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
        assert_eq!(squeezed(&plain), squeezed(&testing::page(&testing::trap(), 100)));
    }

    #[test]
    fn a_run_without_cells_is_a_page_too() {
        let text = page(&testing::run("empty", "?", vec![]), 80);
        assert!(text.contains("no cells"));
    }
}
