//! A gate's result as JUnit XML, for CI systems: one test case per cell and metric.

use crate::number;
use record::comparison::{Absence, CellName, Comparison, ComparisonLine, LeftOut, Passage};
use record::printable::one_line;
use record::quantity::ratios;
use std::fmt::Write as _;

/// How a test case ended.
enum Outcome {
    Passed,
    /// Not decided, or nothing that is judged.
    Skipped(String),
    Failed(String),
    /// Missing from the run.
    Error(String),
}

/// Formats a gated comparison as JUnit XML: a regression is a failure, an undecided figure is skipped, and a cell or figure that is missing from
/// the run is an error (skipped, if the gate passed all the same).
#[must_use]
pub fn junit(view: &Comparison) -> String {
    let mut cases: Vec<(String, String, Outcome)> =
        view.lines.iter().map(|line| of_line(view, line)).collect();
    cases.extend(view.left_out.iter().filter_map(|left| of_left_out(view, left)));
    let count = |is: fn(&Outcome) -> bool| cases.iter().filter(|(_, _, outcome)| is(outcome)).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"",
        cases.len(),
        count(|o| matches!(o, Outcome::Failed(_))),
        count(|o| matches!(o, Outcome::Error(_))),
        count(|o| matches!(o, Outcome::Skipped(_))),
    );
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(xml, "<testsuites name=\"diskproof gate\" {counts}>");
    let _ = writeln!(xml, "  <testsuite name=\"{}\" {counts}>", escaped(&view.run.experiment));
    xml.push_str("    <properties>\n");
    for (name, value) in properties(view) {
        let _ = writeln!(xml, "      <property name=\"{name}\" value=\"{}\"/>", escaped(&value));
    }
    xml.push_str("    </properties>\n");
    for (class, name, outcome) in &cases {
        case(&mut xml, class, name, outcome);
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn properties(view: &Comparison) -> Vec<(&'static str, String)> {
    let mut all = vec![("run", view.run.run.to_string())];
    all.extend(view.baseline.iter().map(|baseline| ("baseline", baseline.run.to_string())));
    all.extend(view.gate.iter().map(|gate| ("result", gate.text.clone())));
    all.push(("judged_by", view.judged_by.clone()));
    all
}

fn case(xml: &mut String, class: &str, name: &str, outcome: &Outcome) {
    let (element, text) = match outcome {
        Outcome::Passed => {
            let _ =
                writeln!(xml, "    <testcase classname=\"{}\" name=\"{}\"/>", escaped(class), escaped(name));
            return;
        }
        Outcome::Skipped(text) => ("skipped", text),
        Outcome::Failed(text) => ("failure", text),
        Outcome::Error(text) => ("error", text),
    };
    let _ = writeln!(xml, "    <testcase classname=\"{}\" name=\"{}\">", escaped(class), escaped(name));
    let _ = writeln!(xml, "      <{element} message=\"{}\"/>", escaped(text));
    xml.push_str("    </testcase>\n");
}

fn of_line(view: &Comparison, line: &ComparisonLine) -> (String, String, Outcome) {
    let outcome = match line.gate {
        Some(Passage::Regression) => Outcome::Failed(told(line)),
        Some(Passage::Undecided) => Outcome::Skipped(format!("undecided: {}", told(line))),
        Some(Passage::Pass) | None => Outcome::Passed,
    };
    (class(view, &line.a), line.metric.clone(), outcome)
}

fn of_left_out(view: &Comparison, left: &LeftOut) -> Option<(String, String, Outcome)> {
    if left.why == Absence::Alone && !left.is_missing {
        return None;
    }
    let passed = view.gate.as_ref().is_some_and(|gate| gate.passage == Passage::Pass);
    let text = format!("not compared: {}", left.text);
    let outcome = if left.is_missing && !passed { Outcome::Error(text) } else { Outcome::Skipped(text) };
    Some((class(view, &left.cell), "not compared".to_owned(), outcome))
}

/// The ratio with its interval and the margin.
fn told(line: &ComparisonLine) -> String {
    let times = match line.ratio.map(|r| (r.ratio, r.low, r.high)) {
        Some((ratio, Some(low), Some(high))) => {
            let [ratio, low, high] = ratios([ratio, low, high]);
            format!("{ratio} times the baseline ({low} to {high})")
        }
        Some((ratio, _, _)) => format!("{} times the baseline, by one round", ratios([ratio]).concat()),
        None => "nothing to compare".to_owned(),
    };
    let margin = line.margin.map(|m| format!("; the margin is {}", number::margin(m)));
    let more = line.more_rounds.map(|n| format!("; about {n} more rounds in each run would decide"));
    format!("{times}{}{}", margin.unwrap_or_default(), more.unwrap_or_default())
}

/// The experiment, workload and stack; the machine too, if it isn't this one.
fn class(view: &Comparison, cell: &CellName) -> String {
    let on = if cell.target == "local" { String::new() } else { format!(".{}", cell.target) };
    format!("{}.{}.{}{on}", view.run.experiment, cell.workload, cell.stack)
}

/// A text for an attribute. XML has no way to write most control characters, so they are made printable.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in one_line(text).chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            // No control character is left, but XML forbids these two as well.
            '\u{fffe}' | '\u{ffff}' => out.push('?'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{escaped, junit};
    use crate::comparison::tests::gated;

    #[test]
    fn one_case_per_cell_and_metric() {
        let mut view = gated();
        view.left_out[0].is_missing = true;
        view.lines[0].margin = Some(0.05);
        insta::assert_snapshot!("junit", junit(&view));
        view.gate.as_mut().unwrap().passage = record::comparison::Passage::Pass;
        let passed = junit(&view);
        assert!(
            passed.contains("errors=\"0\" skipped=\"2\""),
            "what is allowed to be missing is no error: {passed}"
        );
        view.left_out[0].is_missing = false;
        assert!(!junit(&view).contains("zfs"), "a new cell is no test case");
    }

    #[test]
    fn texts_of_strangers_stay_texts() {
        assert_eq!(escaped("a\"<b>&'\u{1b}[2J\n\u{ffff}"), "a&quot;&lt;b&gt;&amp;&apos;\\x1b[2J\\n?");
        let mut view = gated();
        view.run.experiment = "\"/><x>".to_owned();
        view.lines[0].a.stack = "]]>".to_owned();
        let xml = junit(&view);
        assert!(!xml.contains("<x>") && !xml.contains("]]>"), "{xml}");
    }
}
