//! Repetitions and tables.

use std::path::Path;

/// Returns `base` repetitions, times the factor in the environment.
pub(crate) fn repetitions(base: u32) -> u32 {
    let factor = std::env::var("DISKPROOF_SIMULATION").ok().and_then(|f| f.parse().ok());
    base * factor.unwrap_or(1).max(1)
}

/// Returns four standard errors of a share near `p` over `n` repetitions: a correct simulation exceeds it once in thirty thousand times.
pub(crate) fn slack(p: f64, n: u32) -> f64 {
    4.0 * (p * (1.0 - p) / f64::from(n)).sqrt()
}

pub(crate) fn share(hits: u32, n: u32) -> f64 {
    f64::from(hits) / f64::from(n)
}

/// Formats a percentage with one digit.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A table in Markdown, written to the directory that the environment names, if it names one.
pub(crate) struct Table {
    name: &'static str,
    lines: Vec<String>,
}

impl Table {
    pub(crate) fn new(name: &'static str, title: &str, columns: &[&str]) -> Self {
        let rule = vec!["---"; columns.len()].join(" | ");
        let lines =
            vec![format!("\n## {title}\n"), format!("| {} |", columns.join(" | ")), format!("| {rule} |")];
        Self { name, lines }
    }

    pub(crate) fn row(&mut self, cells: &[String]) {
        self.lines.push(format!("| {} |", cells.join(" | ")));
    }

    pub(crate) fn write(mut self) {
        let Ok(directory) = std::env::var("DISKPROOF_SIMULATION_TABLES") else { return };
        self.lines.push(String::new());
        std::fs::write(Path::new(&directory).join(self.name), self.lines.join("\n")).unwrap();
    }
}
