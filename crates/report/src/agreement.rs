//! The document of a comparison of two engines.

use crate::document::{Block, Cell, Column, Document, Level, Paragraph, Style, Table, Tone, Words};
use crate::number;
use record::agreement::{Agreement, AgreementStatus, Conduct, Definition, Evidence, MetricAgreement};
use record::quantity::Bytes;
use std::collections::BTreeSet;

/// The document of an agreement: the table, the verdict, the differences with their causes, and how it was measured.
#[must_use]
pub fn agreement(view: &Agreement) -> Document {
    let native = view.native.as_deref().unwrap_or("native");
    let fio = view.fio.as_deref().unwrap_or("fio");
    let mut document = Document::new(format!("{native} against {fio}"), Vec::new());
    document.blocks.push(Block::Table(table(view)));
    document.paragraphs(vec![verdict(view).into()]);
    document.section("What else differs", differences(view));
    let missing = view.missing.iter().map(|text| Paragraph::labelled("not compared:", text.as_str()));
    document.paragraphs(missing.collect());
    document.blocks.push(Block::Notes(footer(view)));
    document
}

fn table(view: &Agreement) -> Table {
    let mut table = Table::new(vec![
        Column::words("workload").once(Level::Group),
        Column::words("metric"),
        Column::numbers("native"),
        Column::numbers("fio"),
        Column::words("native - fio"),
        Column::numbers("n"),
        Column::words("conclusion").evident(),
    ]);
    let mut last = None;
    for line in &view.lines {
        table.add(last != Some(&line.workload), row(line));
        last = Some(&line.workload);
    }
    table
}

fn row(line: &MetricAgreement) -> Vec<Cell> {
    let (conclusion, tone) = standing(line);
    vec![
        line.workload.as_str().into(),
        line.metric.replace('_', " ").into(),
        number::expected(line.native, &line.unit).into(),
        number::expected(line.fio, &line.unit).into(),
        difference(line).into(),
        line.rounds.to_string().into(),
        Cell::toned(tone, conclusion),
    ]
}

/// A difference with its interval, as in `+0.31 % (-0.2 to +0.8)`.
fn difference(line: &MetricAgreement) -> String {
    let ends = match (line.low, line.high) {
        (Some(low), Some(high)) => format!("{} to {}", signed(low), signed(high)),
        _ => "?".to_owned(),
    };
    format!("{} % ({ends})", signed(line.ratio))
}

/// A ratio as a signed difference in percent, with one decimal below 10 % and none from there on.
fn signed(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let places = if percent.abs() < 0.95 { 2 } else { usize::from(percent.abs() < 9.95) };
    format!("{percent:+.places$}")
}

fn standing(line: &MetricAgreement) -> (String, Tone) {
    match line.standing {
        AgreementStatus::Agree => ("agree".to_owned(), Tone::Good),
        AgreementStatus::Within => ("differ within the margin".to_owned(), Tone::Good),
        AgreementStatus::Beyond => ("DIFFER".to_owned(), Tone::Bad),
        AgreementStatus::Undecided => {
            let what = if line.differ { "undecided (they differ)" } else { "undecided" };
            let more = match line.rounds_needed {
                Some(rounds) => format!("{what}, about {rounds} rounds"),
                None if line.rounds < 2 => format!("{what}, one round"),
                None => format!("{what}, too near the margin"),
            };
            (more, Tone::Warn)
        }
    }
}

fn verdict(view: &Agreement) -> Words {
    let count = |s| view.count(s);
    let (beyond, open) = (count(AgreementStatus::Beyond), count(AgreementStatus::Undecided));
    let (agree, within) = (count(AgreementStatus::Agree), count(AgreementStatus::Within));
    if view.lines.is_empty() {
        return Words::styled(Style::Toned(Tone::Warn), "Nothing could be compared.");
    }
    let mut words = vec![format!("{agree} of {} comparisons agree", view.lines.len())];
    let more = [
        (within, "differ within the margin"),
        (open, "undecided"),
        (beyond, "differ by more than the margin"),
    ];
    words.extend(more.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")));
    let (answer, tone) = if beyond > 0 {
        ("They don't agree:", Tone::Bad)
    } else if open > 0 {
        ("No disagreement shown, and no agreement in all:", Tone::Warn)
    } else {
        ("They agree:", Tone::Good)
    };
    Words::styled(Style::Toned(tone), answer).then(format!(" {}.", words.join(", ")))
}

fn differences(view: &Agreement) -> Vec<Words> {
    let explained = view.explanations.iter().map(|explanation| {
        let metrics = explanation.metrics.join(", ").replace('_', " ");
        Words::from(format!("{}, {metrics}: {}.", explanation.workload, explanation.text))
    });
    let named: BTreeSet<&str> = view.explanations.iter().map(|e| e.workload.as_str()).collect();
    let of_named = view.evidence.iter().filter(|e| named.contains(e.workload.as_str()));
    let counted = of_named.map(|e| Words::from(format!("{}: {}.", e.workload, counters(e))));
    explained.chain(counted).collect()
}

/// A function that puts one of an engine's counters into words; `None` if it wasn't counted.
type Counter = fn(&Conduct) -> Option<String>;

/// The counters that both engines have, in words.
fn counters(evidence: &Evidence) -> String {
    let show: [(&str, Counter); 6] = [
        ("device I/Os per I/O", |c| Some(format!("{:.3}", c.device_ios_per_io?))),
        ("size on the device", |c| Some(size(c.device_io_bytes?))),
        ("in flight on the device", |c| Some(format!("{:.2}", c.device_depth?))),
        ("in flight at the engine", |c| Some(format!("{:.2}", c.engine_depth?))),
        ("CPU per I/O", |c| Some(format!("{:.1} us", c.cpu_ns_per_io? / 1e3))),
        ("from the page cache", |c| Some(number::percent(c.page_cache?))),
    ];
    let both: Vec<String> = show
        .iter()
        .filter_map(|(name, of)| Some(format!("{name} {} and {}", of(&evidence.native)?, of(&evidence.fio)?)))
        .collect();
    if both.is_empty() {
        "no counter was read for both engines".to_owned()
    } else {
        format!("native's and fio's {}", both.join(", "))
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "never negative; saturates")]
fn size(bytes: f64) -> String {
    Bytes(bytes.max(0.0).round() as u64).to_string()
}

fn footer(view: &Agreement) -> Vec<String> {
    let confidence = view.confidence * 100.0;
    vec![
        format!(
            "Differences are paired by round; in brackets the {confidence:.0} % interval (Student's t on log ratios, the \
             resolution of the histograms' bins included). Margins: {} % for IOPS and bandwidth, {} % for latencies. Agree: \
             the interval lies inside the margin. Differ: shown at {confidence:.0} % for all comparisons together (Holm). {}",
            view.margins.rate * 100.0,
            view.margins.latency * 100.0,
            match view.fio_latency {
                Definition::Total => "Latencies count from before the call that submits (fio's lat).",
                Definition::AfterSubmission =>
                    "fio's latencies count from after the call that submits (clat), native's from before it.",
            }
        ),
        format!(
            "Run {run}; the figures alone: diskproof show {run}; this again: diskproof calibrate --run {run}.",
            run = view.run
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::agreement;
    use crate::terminal;
    use record::agreement::{
        AGREEMENT_FORMAT, Agreement, AgreementStatus, Cause, Conduct, Definition, Evidence, Explanation,
        Margins, MetricAgreement,
    };
    use record::id::RunId;

    fn line(
        workload: &str,
        metric: &str,
        native: f64,
        fio: f64,
        standing: AgreementStatus,
    ) -> MetricAgreement {
        let ratio = native / fio;
        MetricAgreement {
            workload: workload.to_owned(),
            metric: metric.to_owned(),
            unit: record::metric::info(metric).unwrap().unit.to_owned(),
            rounds: 5,
            native,
            fio,
            ratio,
            low: Some(ratio * 0.997),
            high: Some(ratio * 1.003),
            resolution: 0.0,
            margin: 0.01,
            p_differ: 0.5,
            p_beyond: 0.9,
            standing,
            differ: matches!(standing, AgreementStatus::Beyond | AgreementStatus::Within),
            rounds_needed: (standing == AgreementStatus::Undecided).then_some(17),
        }
    }

    fn view(lines: Vec<MetricAgreement>) -> Agreement {
        Agreement {
            format: AGREEMENT_FORMAT.to_owned(),
            run: RunId("20261121-201455-3f9a".to_owned()),
            native: Some("native-0.1.0".to_owned()),
            fio: Some("fio-3.33".to_owned()),
            fio_latency: Definition::Total,
            confidence: 0.95,
            margins: Margins { rate: 0.01, latency: 0.02 },
            lines,
            evidence: vec![],
            explanations: vec![],
            missing: vec![],
        }
    }

    fn mixed() -> Agreement {
        let mut view = view(vec![
            line("randread-4k-d16", "read_iops", 500.2, 499.9, AgreementStatus::Agree),
            line("randread-4k-d16", "read_lat_p50", 31_982.0, 31_457.0, AgreementStatus::Undecided),
            line("randread-4k-d16", "read_lat_p99", 33_000.0, 36_100.0, AgreementStatus::Beyond),
            line("read-128k-d4", "read_iops", 502.0, 500.0, AgreementStatus::Within),
        ]);
        let conduct = |depth| Conduct {
            device_ios_per_io: Some(1.0),
            device_io_bytes: Some(4096.0),
            engine_depth: Some(depth),
            cpu_ns_per_io: Some(21_400.0),
            page_cache: Some(0.0),
            ..Conduct::default()
        };
        view.evidence.push(Evidence {
            workload: "randread-4k-d16".to_owned(),
            native: conduct(16.0),
            fio: conduct(15.1),
        });
        view.explanations.push(Explanation {
            workload: "randread-4k-d16".to_owned(),
            metrics: vec!["read_lat_p99".to_owned()],
            cause: Some(Cause::Depth),
            text: "they kept different numbers of I/Os in flight".to_owned(),
        });
        view.missing.push("randwrite-4k-d16: there is no round in which both engines measured".to_owned());
        view
    }

    #[test]
    fn a_page_of_every_kind() {
        let page = terminal(&agreement(&mixed()), 120, false);
        assert!(page.lines().all(|l| l.chars().count() <= 120 && l == l.trim_end()), "{page}");
        insta::assert_snapshot!("agreement_120", page);
    }

    #[test]
    fn it_fits_80_columns_and_colour_changes_nothing_else() {
        let page = terminal(&agreement(&mixed()), 80, false);
        assert!(page.lines().all(|l| l.chars().count() <= 80), "{page}");
        assert!(terminal(&agreement(&mixed()), 80, true).contains("\u{1b}[1;31mThey don't agree:\u{1b}[0m"));
    }

    #[test]
    fn the_answer_is_as_good_as_the_worst_line() {
        let of = |standings: &[AgreementStatus]| {
            let lines = standings.iter().map(|s| line("w", "read_iops", 1.0, 1.0, *s)).collect();
            terminal(&agreement(&view(lines)), 100, false)
        };
        assert!(of(&[AgreementStatus::Agree, AgreementStatus::Within]).contains("They agree: 1 of 2"));
        assert!(of(&[AgreementStatus::Agree, AgreementStatus::Undecided]).contains("No disagreement shown"));
        assert!(of(&[AgreementStatus::Undecided, AgreementStatus::Beyond]).contains("They don't agree:"));
        assert!(of(&[]).contains("Nothing could be compared."));
    }
}
