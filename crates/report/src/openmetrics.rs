//! The figures of a run as OpenMetrics, for the textfile collector of Prometheus' node exporter.
//!
//! No timestamps: the collector reads the file again and again, and a sample is of the moment of reading. No run in the labels of figures,
//! so that a nightly run goes on with the series of the run before it; `diskproof_last_run` names the run. Only gauges: the collector
//! knows the types of Prometheus' text format, and a gauge is written alike in both.

use record::finding::{Finding, Severity};
use record::judged::{CellView, RunView};
use std::fmt::Write as _;

/// A family of samples: its name, its help.
const FAMILIES: [(&str, &str); 6] = [
    (
        "diskproof_estimate",
        "Mean over trials of a metric, in its unit. Absent for figures that are no storage figures.",
    ),
    ("diskproof_interval_low", "Lower end of the interval of the mean. Absent with one trial."),
    ("diskproof_interval_high", "Upper end of the interval of the mean. Absent with one trial."),
    ("diskproof_trials", "Trials that were measured."),
    ("diskproof_void", "1: the figures of the cell are no storage figures. 0: they are."),
    ("diskproof_findings", "Findings by severity: note, caveat, void."),
];

/// Writes a run's figures as OpenMetrics text.
#[must_use]
pub fn openmetrics(view: &RunView) -> String {
    let mut out = String::new();
    for (family, (name, help)) in FAMILIES.iter().enumerate() {
        let _ = writeln!(out, "# TYPE {name} gauge\n# HELP {name} {help}");
        for cell in &view.cells {
            samples(&mut out, family, name, view, cell);
        }
    }
    let run = [
        ("experiment", view.experiment.as_str()),
        ("run", view.run.0.as_str()),
        ("judged_by", view.judged_by.as_str()),
    ];
    let _ = writeln!(
        out,
        "# TYPE diskproof_last_run gauge\n# HELP diskproof_last_run The run that the figures are of.\ndiskproof_last_run{} 1\n# EOF",
        labels(&run)
    );
    out
}

fn samples(out: &mut String, family: usize, name: &str, view: &RunView, cell: &CellView) {
    let levels: Vec<(String, &str)> =
        cell.levels.iter().map(|(factor, level)| (label_name(factor), level.as_str())).collect();
    let mut of_cell = vec![
        ("experiment", view.experiment.as_str()),
        ("target", cell.target.as_str()),
        ("stack", cell.stack.as_str()),
        ("workload", cell.workload.as_str()),
    ];
    of_cell.extend(levels.iter().map(|(factor, level)| (factor.as_str(), *level)));
    let mut put = |more: &[(&str, &str)], value: f64| {
        let _ = writeln!(out, "{name}{} {value}", labels(&[of_cell.as_slice(), more].concat()));
    };
    match family {
        0..=2 => {
            for (metric, of) in cell.metrics.iter().filter(|_| !cell.void) {
                let value = [Some(of.estimate), of.low, of.high][family];
                if let Some(value) = value {
                    put(&[("metric", metric.as_str()), ("unit", of.unit.as_str())], value);
                }
            }
        }
        3 => put(&[], f64::from(cell.trials.done)),
        4 => put(&[], f64::from(u8::from(cell.void))),
        _ => {
            for (severity, word) in
                [(Severity::Note, "note"), (Severity::Caveat, "caveat"), (Severity::Void, "void")]
            {
                let own = |finding: &&Finding| finding.cell == cell.id && finding.severity == severity;
                let count = u32::try_from(view.findings.iter().filter(own).count()).unwrap_or(u32::MAX);
                put(&[("severity", word)], f64::from(count));
            }
        }
    }
}

/// A factor as the name of a label: letters, digits and `_`.
fn label_name(factor: &str) -> String {
    let safe: String = factor.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("level_{safe}")
}

fn labels(all: &[(&str, &str)]) -> String {
    let one = |(name, value): &(&str, &str)| format!("{name}=\"{}\"", escaped(value));
    format!("{{{}}}", all.iter().map(one).collect::<Vec<_>>().join(","))
}

/// A label's value: backslash, quotation mark and line feed are escaped (OpenMetrics 1.0, "Escaping").
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::openmetrics;
    use crate::testing;

    #[test]
    fn every_line_is_a_sample_with_labels_and_a_number() {
        let text = openmetrics(&testing::striped());
        assert!(text.ends_with("# EOF\n"));
        let samples: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(samples.len() > 10);
        for sample in samples {
            let (labels, value) = sample.rsplit_once(' ').unwrap();
            assert!(labels.starts_with("diskproof_") && labels.ends_with("\"}"), "{sample}");
            assert!(value.parse::<f64>().unwrap().is_finite(), "{sample}");
        }
        let families = text.lines().filter(|line| line.starts_with("# TYPE ")).count();
        assert_eq!(families, 7);
        assert!(text.contains("diskproof_last_run{experiment="));
    }

    #[test]
    fn void_figures_have_no_estimate() {
        let mut view = testing::striped();
        view.cells.truncate(1);
        assert!(openmetrics(&view).contains("diskproof_estimate{"));
        view.cells[0].void = true;
        let text = openmetrics(&view);
        assert!(!text.contains("diskproof_estimate{") && !text.contains("diskproof_interval_low{"), "{text}");
        assert!(
            text.lines().any(|line| line.starts_with("diskproof_void{") && line.ends_with("} 1")),
            "{text}"
        );
    }

    #[test]
    fn foreign_texts_stay_inside_their_label() {
        let mut view = testing::striped();
        "a\"} 1\ndiskproof_estimate{x=\"\\".clone_into(&mut view.cells[0].stack);
        let text = openmetrics(&view);
        assert!(text.contains(r#"stack="a\"} 1\ndiskproof_estimate{x=\"\\""#), "{text}");
        assert!(!text.lines().any(|line| line.starts_with("diskproof_estimate{x=")));
    }
}
