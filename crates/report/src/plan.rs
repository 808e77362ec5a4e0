//! The document of a plan: the matrix, the order of the first round, the forecast.

use crate::document::{Block, Column, Document, Paragraph, Table, Words};
use record::quantity::{Bytes, Seconds, money};

/// The most cells in the list; their number is always printed.
const MOST_CELLS: usize = 60;

const NOT_UNDONE: &str = "each runs twice; they are skipped if they were the last provisioning since the machine booted; undo does \
                          not revert their changes";

/// One cell of a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanCell {
    /// Name of the stack.
    pub stack: String,
    /// Name of the workload.
    pub workload: String,
    /// The workload's options, in words.
    pub asks: String,
}

/// The time, data and money that a number of rounds takes.
#[derive(Debug, Clone, PartialEq)]
pub struct Takes {
    /// The number of rounds.
    pub rounds: u32,
    /// The number of trials.
    pub trials: u64,
    /// The time, in seconds, with that for providing the volumes.
    pub seconds: f64,
    /// The bytes written, with those for providing the volumes and laying out the files.
    pub bytes_written: u64,
    /// The price of all volumes for that time, if any has a price.
    pub cost: Option<f64>,
}

/// The forecast of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The least that the run takes, if it may end before its last round.
    pub least: Option<Takes>,
    /// What the run takes with all its rounds.
    pub most: Takes,
    /// What the bytes written rest on besides limits that the plan states, behind an `if`.
    pub written_if: Option<String>,
    /// The rule by which the run ends before its last round, in a sentence.
    pub until: Option<String>,
    /// Which machines work at the same time, in a sentence.
    pub machines: Option<String>,
    /// The budget that ends the run earlier, in a sentence.
    pub spent: Option<String>,
    /// The currency's name.
    pub currency: Option<String>,
    /// The most space in use at once, in bytes.
    pub space_bytes: u64,
    /// Whether the agent process needs root.
    pub needs_root: bool,
}

/// A plan's content, in words.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanView {
    /// The experiment's name.
    pub experiment: String,
    /// Its question.
    pub question: Option<String>,
    /// The volumes, one sentence each.
    pub volumes: Vec<String>,
    /// The stacks with their layers from the bottom up, one sentence each.
    pub stacks: Vec<String>,
    /// The provisioning steps on the machines before anything is built, one sentence each.
    pub provision: Vec<String>,
    /// What diskproof leaves out or waits for while it builds some stacks, one sentence each.
    pub building: Vec<String>,
    /// The cells, in the order of the file.
    pub cells: Vec<PlanCell>,
    /// Whether this machine has all that it needs, one sentence each.
    pub here: Vec<String>,
    /// The first round: indices into `cells`, in the order of measurement.
    pub first_round: Vec<usize>,
    /// The seed of the order.
    pub seed: u64,
    /// The forecast.
    pub forecast: Forecast,
}

/// The document of a plan.
#[must_use]
pub fn plan(view: &PlanView) -> Document {
    let question = view.question.as_deref().map(Paragraph::from);
    let mut document = Document::new(view.experiment.as_str(), question.into_iter().collect());
    let words = |sentences: &[String]| sentences.iter().map(|s| Words::from(s.as_str())).collect::<Vec<_>>();
    document.section("Volumes", words(&view.volumes));
    document.section("Stacks, from the bottom up", words(&view.stacks));
    let mut provision = words(&view.provision);
    if !provision.is_empty() {
        provision.push(NOT_UNDONE.into());
    }
    document.section("Provisioning, before anything is built", provision);
    document.section("Building", words(&view.building));
    let cells = view.cells.len();
    let heading = format!("Cells: {cells}, measured once per round, in a new random order each round");
    document.blocks.extend([Block::heading(heading), Block::Table(table(view))]);
    let order: Vec<String> = view.first_round.iter().take(MOST_CELLS).map(|i| (i + 1).to_string()).collect();
    let more = if view.first_round.len() > MOST_CELLS { " ..." } else { "" };
    let mut lines = vec![format!("round 1 (seed {}): {}{more}", view.seed, order.join(" "))];
    lines.extend(forecast(&view.forecast, cells));
    document.section("Forecast", words(&lines));
    document.section("This machine", words(&view.here));
    document
}

/// Whether whole rounds measure only some of the cells; the last round may be cut short by a budget.
fn is_of_some_cells(takes: &Takes, cells: usize) -> bool {
    takes.trials < u64::from(takes.rounds.saturating_sub(1)) * cells as u64
}

/// The forecast, one sentence per line.
fn forecast(forecast: &Forecast, cells: usize) -> Vec<String> {
    let range = |show: &dyn Fn(&Takes) -> String| {
        let most = show(&forecast.most);
        let least = forecast.least.as_ref().map(show).filter(|least| *least != most);
        least.map_or(most.clone(), |least| format!("{least} to {most}"))
    };
    let rounds = range(&|takes| takes.rounds.to_string());
    let plural = if rounds == "1" { "" } else { "s" };
    let trials = range(&|takes| takes.trials.to_string());
    let cost = forecast.most.cost.map(|_| {
        let cost = range(&|takes| money(takes.cost.unwrap_or_default(), None));
        format!("about {cost} {} for the volumes", forecast.currency.as_deref().unwrap_or("of money"))
    });
    let written_if = forecast.written_if.as_ref().map(|told| format!(", if {told}")).unwrap_or_default();
    let root = if forecast.needs_root { "root, or sudo" } else { "no root" };
    [
        forecast.until.clone(),
        Some(match forecast.least.as_ref().is_some_and(|least| is_of_some_cells(least, cells)) {
            true => format!("{trials} trials: at most {cells} cells in each of {rounds} round{plural}"),
            false => format!("{trials} trials: {cells} cells x {rounds} round{plural}"),
        }),
        Some(format!("about {}", range(&|takes| Seconds(takes.seconds).to_string()))),
        forecast.machines.clone(),
        forecast.spent.clone(),
        Some(format!("about {} written{written_if}", range(&|takes| Bytes(takes.bytes_written).to_string()))),
        cost,
        Some(format!("{} of space", Bytes(forecast.space_bytes))),
        Some(format!("needs {root}")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn table(view: &PlanView) -> Table {
    let columns = [
        Column::numbers("cell").evident(),
        Column::words("stack"),
        Column::words("workload"),
        Column::words("asks"),
    ];
    let mut table = Table::new(columns.to_vec());
    for (index, cell) in view.cells.iter().take(MOST_CELLS).enumerate() {
        let number = (index + 1).to_string();
        table.add(true, [&number, &cell.stack, &cell.workload, &cell.asks].map(|text| text.into()).to_vec());
    }
    if view.cells.len() > MOST_CELLS {
        let more = format!("and {} more (--json lists all)", view.cells.len() - MOST_CELLS);
        table.left_out = Some(more.into());
    }
    table
}

#[cfg(test)]
mod tests {
    use super::{Forecast, PlanCell, PlanView, Takes, forecast, plan};
    use crate::document::{Block, Document};
    use crate::terminal;

    #[test]
    fn a_plan_at_80() {
        let cell = |n: u32, workload: &str, asks: &str| PlanCell {
            stack: format!("btrfs-raid0-{n}"),
            workload: workload.to_owned(),
            asks: asks.to_owned(),
        };
        let view = PlanView {
            experiment: "striped-volumes".to_owned(),
            question: Some("How many IOPS does a stripe of N provisioned volumes deliver?".to_owned()),
            volumes: vec!["vol[0] to vol[3]: emulated, 1 GiB, 80 read IOPS, 80 write IOPS".to_owned()],
            stacks: vec!["zfs: zfs (recordsize 16 KiB)".to_owned()],
            provision: vec!["shell tune.sh 64 (sha256 0a1b2c3d4e5f)".to_owned()],
            building: vec!["btrfs-raid0-2: initial resync of md raid1 left out".to_owned()],
            cells: vec![
                cell(1, "randread-16k", "randread, 16 KiB, depth 64, direct"),
                cell(2, "randread-16k", "randread, 16 KiB, depth 64, direct"),
                cell(1, "randrw-16k", "randrw 50/50, 16 KiB, depth 64, direct"),
            ],
            here: vec!["missing here: zfs (apt-get install zfsutils-linux)".to_owned()],
            first_round: vec![2, 0, 1],
            seed: 7,
            forecast: Forecast {
                least: None,
                most: takes(3, 254.0, None),
                written_if: Some("a durable write takes 0.2 ms".to_owned()),
                until: None,
                machines: None,
                spent: None,
                currency: None,
                space_bytes: 4 << 30,
                needs_root: true,
            },
        };
        insta::assert_snapshot!(terminal(&plan(&view), 80, false));
    }

    fn takes(rounds: u32, seconds: f64, cost: Option<f64>) -> Takes {
        Takes {
            rounds,
            trials: u64::from(rounds) * 3,
            seconds,
            bytes_written: (4 << 30) + u64::from(rounds) * (1 << 30),
            cost,
        }
    }

    #[test]
    fn a_run_that_may_end_by_itself_has_ranges() {
        let until = "until every cell's interval of iops is within ±5 % (95 % confidence); looked at after 6 rounds and after \
                     each one more";
        let view = Forecast {
            least: Some(takes(6, 720.0, Some(0.0158))),
            most: takes(30, 3720.0, Some(0.113)),
            written_if: None,
            until: Some(until.to_owned()),
            machines: None,
            spent: Some("at most 1 h 0 min by the budget: enough for about 29 rounds".to_owned()),
            currency: Some("EUR".to_owned()),
            space_bytes: 4 << 30,
            needs_root: true,
        };
        let lines = forecast(&view, 3).into_iter().map(Into::into).collect();
        let document = Document { blocks: vec![Block::list(lines)] };
        insta::assert_snapshot!(terminal(&document, 80, false));
    }
}
