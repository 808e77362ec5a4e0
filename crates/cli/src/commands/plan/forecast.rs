//! A forecast in words and as JSON.

use record::plan::{Goal, Measure, Plan, Until};
use record::quantity::{Bytes, Seconds};
use report::{money, single};
use serde_json::{Value, json};
use spec::FEWEST_TRIALS;
use spec::forecast::{Assumed, Budget, DURABLE_SECONDS, FIRST_LOOK, Spent, Takes, UNLIMITED_RATE};

/// The forecast as JSON.
pub(super) fn document(forecast: &spec::Forecast) -> Value {
    json!({
        "trials": forecast.trials,
        "seconds": forecast.seconds,
        "bytes_written": forecast.bytes_written,
        "assumed": {
            "write_bytes_per_second": forecast.assumed.rate.then_some(UNLIMITED_RATE),
            "durable_write_seconds": forecast.assumed.durable.then_some(DURABLE_SECONDS),
        },
        "least": forecast.least.as_ref().map(takes_document),
        "most": takes_document(&forecast.most),
        "spent": forecast.spent.map(|spent| json!({ "budget": name(spent.budget), "rounds": spent.rounds })),
        "space_bytes": forecast.space_bytes,
        "needs_root": forecast.needs_root,
        "needs_tools": forecast.needs_tools,
    })
}

fn takes_document(takes: &Takes) -> Value {
    json!({
        "rounds": takes.rounds,
        "trials": takes.trials,
        "seconds": takes.seconds,
        "bytes_written": takes.bytes_written,
        "cost": takes.cost,
    })
}

fn name(budget: Budget) -> &'static str {
    match budget {
        Budget::Time => "time",
        Budget::Written => "written",
        Budget::Cost => "cost",
    }
}

/// The forecast for the report.
pub(super) fn view(plan: &Plan) -> report::Forecast {
    let forecast = spec::forecast(plan);
    report::Forecast {
        least: forecast.least.as_ref().map(takes),
        most: takes(&forecast.most),
        written_if: written_if(forecast.assumed),
        until: until(plan),
        machines: machines(plan),
        spent: forecast.spent.map(|spent| spent_in_words(spent, plan)),
        currency: plan.prices.currency.clone(),
        space_bytes: forecast.space_bytes,
        needs_root: forecast.needs_root,
    }
}

/// What is assumed of volumes whose limits nobody states.
fn written_if(assumed: Assumed) -> Option<String> {
    let rate = || format!("storage without limits writes {}", single(UNLIMITED_RATE, "B/s"));
    let durable = || format!("a durable write takes {}", single(DURABLE_SECONDS * 1e6, "us"));
    let both: Vec<String> =
        [assumed.rate.then(rate), assumed.durable.then(durable)].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join(" and "))
}

/// Which machines work at the same time; `None` for a single one.
fn machines(plan: &Plan) -> Option<String> {
    let lanes = spec::lanes(plan, &spec::Kernels::default());
    let all: usize = lanes.targets.iter().map(Vec::len).sum();
    if all < 2 {
        return None;
    }
    let turns = lanes.targets.iter().filter(|lane| lane.len() > 1).map(|lane| lane.join(", "));
    let turns: Vec<String> = turns.map(|names| format!("{names} take turns")).collect();
    let at_once = match lanes.at_once.min(lanes.targets.len()) {
        1 => "one machine at a time".to_owned(),
        some => format!("{some} machines at the same time: the time is that of the slowest"),
    };
    Some([vec![at_once], turns].concat().join("; "))
}

/// The rules by which the run ends before its last round.
fn until(plan: &Plan) -> Option<String> {
    let searches = plan.cells.iter().any(|cell| cell.find().is_some()).then(|| {
        format!(
            "until every search is as exact as asked ({} % confidence); a search usually takes {FEWEST_TRIALS} to 20 trials",
            percent(plan.measure.confidence)
        )
    });
    let goal = plan.measure.until.as_ref().map(|until| until_in_words(until, &plan.measure));
    let both: Vec<String> = [goal, searches].into_iter().flatten().collect();
    (!both.is_empty()).then(|| both.join("; and "))
}

fn takes(takes: &Takes) -> report::Takes {
    report::Takes {
        rounds: takes.rounds,
        trials: takes.trials,
        seconds: takes.seconds,
        bytes_written: takes.bytes_written,
        cost: takes.cost,
    }
}

fn until_in_words(until: &Until, measure: &Measure) -> String {
    let of = until.of.as_deref().unwrap_or("iops (bw from blocks of 128 KiB on)");
    if let Some(wants) = until.cheapest_with() {
        let wants: Vec<&str> = wants.iter().map(|want| want.written.as_str()).collect();
        return format!(
            "until one stack of each workload is shown to be the cheapest with {}, or none to keep that ({} % confidence); looked at after \
             each round, the cheapest cells first",
            wants.join(", "),
            percent(measure.confidence)
        );
    }
    let goal = match until.goal {
        // Said above.
        Goal::Cheapest => String::new(),
        Goal::Interval(x) => format!("every cell's interval of {of} is within ±{} %", percent(x)),
        Goal::Ratios(x) => {
            format!("every ratio of {of} between cells of a workload is within ±{} %", percent(x))
        }
        Goal::Told(x) => {
            format!("all cells of a workload are told apart in {of}, or differ by less than {} %", percent(x))
        }
    };
    let when = if measure.rounds < FIRST_LOOK {
        "never looked at: too few rounds".to_owned()
    } else {
        format!("looked at after {FIRST_LOOK} rounds and after each one more")
    };
    format!("until {goal} ({} % confidence); {when}", percent(measure.confidence))
}

/// A share in percent, with two decimals at most.
fn percent(share: f64) -> f64 {
    (share * 1e4).round() / 100.0
}

fn spent_in_words(spent: Spent, plan: &Plan) -> String {
    let measure = &plan.measure;
    let most = match spent.budget {
        Budget::Time => measure.max_seconds.map(|most| Seconds(most).to_string()),
        Budget::Written => measure.max_written_bytes.map(|most| format!("{} written by trials", Bytes(most))),
        Budget::Cost => measure.max_cost.map(|most| money(most, plan.prices.currency.as_deref())),
    };
    let whole = spent.rounds.floor();
    let enough = if whole < 1.0 {
        "not even enough for one round".to_owned()
    } else {
        format!("enough for about {whole} round{}", if whole < 2.0 { "" } else { "s" })
    };
    let unlooked = measure.until.is_some() && whole < f64::from(FIRST_LOOK.min(measure.rounds));
    let early = if unlooked { ", spent before the first look" } else { "" };
    format!("at most {} by the budget: {enough}{early}", most.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::view;
    use record::plan::Plan;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn plan(measure: &str) -> Plan {
        let text = format!(
            "experiment: demo\ncurrency: EUR\nvolumes: {{ d: {{ directory: /tmp, price: 0.36/hour }} }}\n\
             stacks: {{ d: {{}} }}\nworkloads: {{ r: {{ rw: randread, size: 3m }} }}\nmeasure: {measure}\n"
        );
        let loaded = spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new());
        loaded.unwrap_or_else(|error| panic!("{error}")).plan
    }

    #[test]
    fn the_first_look_is_the_stop_rules() {
        assert_eq!(spec::forecast::FIRST_LOOK, stats::StopRule::MIN_ROUNDS);
    }

    #[test]
    fn a_budget_that_is_spent_first_is_said() {
        // A trial takes 10 s of load, 2 s of ramp and 1 s of overhead.
        let said = |measure: &str| view(&plan(measure)).spent.unwrap_or_default();
        assert_eq!(said("{ rounds: 5 }"), "");
        assert_eq!(
            said("{ rounds: 5, budget: { time: 40s } }"),
            "at most 40 s by the budget: enough for about 3 rounds"
        );
        assert_eq!(
            said("{ rounds: 5, budget: { written: 4m } }"),
            "at most 4 MiB written by trials by the budget: enough for about 1 round"
        );
        assert_eq!(
            said("{ rounds: 5, budget: { time: 5s } }"),
            "at most 5.0 s by the budget: not even enough for one round"
        );
        assert_eq!(
            said("{ until: { interval: 5% }, budget: { rounds: 9, time: 1h, money: 0.0055 } }"),
            "at most 0.0055 EUR by the budget: enough for about 4 rounds, spent before the first look"
        );
    }

    #[test]
    fn what_the_bytes_written_rest_on_is_said() {
        let said = |options: &str| {
            let text = format!(
                "experiment: demo\nvolumes: {{ d: {{ directory: /tmp }} }}\nstacks: {{ d: {{}} }}\n\
                 workloads: {{ a: {{ rw: randwrite, size: 3m, {options} }}, r: {{ rw: read, size: 3m }} }}\n"
            );
            let loaded = spec::parse(&text, "demo.yaml", Path::new("/"), &BTreeMap::new()).unwrap();
            view(&loaded.plan).written_if
        };
        assert_eq!(said("fsync: 1").as_deref(), Some("a durable write takes 200 us"));
        assert_eq!(said("iodepth: 4").as_deref(), Some("storage without limits writes 500 MB/s"));
        assert_eq!(said("rate_iops: 100"), None);
    }

    #[test]
    fn the_goal_is_said_with_its_confidence() {
        let said = |measure: &str| view(&plan(measure)).until.unwrap_or_default();
        assert_eq!(said("{ rounds: 5 }"), "");
        assert_eq!(
            said("{ until: { interval: 2.5%, of: read_bw, confidence: 99% } }"),
            "until every cell's interval of read_bw is within ±2.5 % (99 % confidence); looked at after 6 rounds and after each one more"
        );
        assert_eq!(
            said("{ rounds: 4, until: { interval: 5% } }"),
            "until every cell's interval of iops (bw from blocks of 128 KiB on) is within ±5 % (95 % confidence); never looked at: too \
             few rounds"
        );
    }
}
