//! Plans by model and price. The figures are computed by hand from the declared limits.

use super::prospect;
use crate::testing::{Truth, btrfs, filesystem, measure};
use record::choice::{Does, Want};
use record::id::CellId;
use record::plan::{Bound, Cell, Plan};
use record::prospect::{Prospect, ProspectCell};
use record::stack::{BtrfsProfile, FsKind};
use record::target::{Ceiling, Target, TargetKind};
use record::volume::{Limits, Volume, VolumeKind};
use record::workload::{Ask, Rw};

/// Random reads of 4 KiB with 64 in flight on a stripe of this many volumes of 80 IOPS each; `limited`: they declare that.
fn cell(name: &str, volumes: usize, limited: bool) -> Cell {
    let mut cell = Truth::new(Rw::Randread, 4096, true, filesystem(FsKind::Ext4), 1).cell;
    cell.id = CellId(name.to_owned());
    name.clone_into(&mut cell.stack.name);
    if let Ask::Options(options) = &mut cell.workload.ask {
        options.iodepth = 64;
    }
    let limits = Limits { read_iops: limited.then_some(80), ..Limits::default() };
    cell.stack.volumes = (0..volumes)
        .map(|n| Volume {
            name: format!("{name}[{n}]"),
            kind: VolumeKind::Emulate { size_bytes: 1 << 30, limits },
        })
        .collect();
    let data = if volumes > 1 { BtrfsProfile::Raid0 } else { BtrfsProfile::Single };
    cell.stack.layers = vec![btrfs(data)];
    cell
}

/// Every volume costs 2 EUR a month, but those of `free`.
fn told(cells: Vec<Cell>, free: &str, wants: &[(&str, Bound, f64)]) -> Prospect {
    let mut plan = Plan { seed: 1, ..Plan::new("test".to_owned(), cells, measure(3)) };
    plan.prices.currency = Some("EUR".to_owned());
    let volumes =
        plan.cells.iter().filter(|cell| cell.stack.name != free).flat_map(|cell| &cell.stack.volumes);
    plan.prices.per_hour = volumes.map(|volume| (volume.name.clone(), 2.0 / 730.0)).collect();
    let want = |(of, bound, value): &(&str, Bound, f64)| Want {
        of: (*of).to_owned(),
        bound: *bound,
        value: *value,
        written: String::new(),
    };
    let wants: Vec<Want> = wants.iter().map(want).collect();
    prospect(&plan, &wants)
}

fn of<'p>(prospect: &'p Prospect, stack: &str) -> &'p ProspectCell {
    prospect.workloads[0].cells.iter().find(|cell| cell.cell.stack == stack).unwrap()
}

#[test]
fn cells_are_ranked_by_price_with_what_the_model_says() {
    let cells =
        vec![cell("four", 4, true), cell("one", 1, true), cell("free", 4, true), cell("two", 2, true)];
    let prospect = told(cells, "free", &[("iops", Bound::AtLeast, 150.0)]);
    let order: Vec<&str> = prospect.workloads[0].cells.iter().map(|cell| cell.cell.stack.as_str()).collect();
    assert_eq!(order, ["one", "two", "four", "free"]);
    let one = &of(&prospect, "one").figures[0];
    assert_eq!((one.expected, one.does), (Some(80.0), Does::No));
    assert_eq!(of(&prospect, "free").per_month, None);
    assert!((of(&prospect, "four").per_month.unwrap() - 8.0).abs() < 1e-9);
    let two = &of(&prospect, "two").figures[0];
    assert_eq!(two.at_most, Some(160.0));
    let text = &prospect.workloads[0].text;
    assert!(text.starts_with("by the model the cheapest that "), "{text}");
    assert!(
        text.contains(" is two (4.00 EUR a month): iops 15")
            || text.contains(" is two (4.00 EUR a month): iops 16"),
        "{text}"
    );
    assert!(text.ends_with("; 1 cheaper one can't"), "{text}");
}

/// Little's law: 64 in flight at 80 a second take 0.8 s each. Nothing follows for a percentile.
#[test]
fn a_mean_latency_follows_from_the_rate_and_a_percentile_does_not() {
    let wants = [("read_lat_mean", Bound::AtMost, 700_000.0), ("read_lat_p99", Bound::AtMost, 900_000.0)];
    let prospect = told(vec![cell("one", 1, true)], "", &wants);
    let [mean, p99] = &of(&prospect, "one").figures[..] else { panic!("two limits") };
    assert!((mean.expected.unwrap() - 800_000.0).abs() < 1e-6);
    assert_eq!((mean.does, p99.does, p99.expected), (Does::No, Does::Open, None));
    assert!(p99.why_not.as_deref().unwrap().contains("no percentiles"));
    assert_eq!(of(&prospect, "one").does, Does::No, "one broken limit is enough");
}

#[test]
fn what_the_model_cannot_say_stays_open() {
    let prospect = told(vec![cell("any", 1, false)], "", &[("iops", Bound::AtLeast, 10.0)]);
    let any = of(&prospect, "any");
    assert_eq!(
        (any.does, any.figures[0].why_not.as_deref()),
        (Does::Open, Some("its volumes declare no limits"))
    );
    let text = &prospect.workloads[0].text;
    assert_eq!(text, "by the model no stack is known to meet the limits; it leaves open: any");
    let none = told(vec![cell("one", 1, true)], "", &[("write_iops", Bound::AtLeast, 10.0)]);
    assert_eq!(of(&none, "one").figures[0].why_not.as_deref(), Some("the workload has no such I/O"));
}

/// 4 volumes of 80 IOPS give 320; the machine passes on 200, and of 4 KiB blocks 409,600 bytes a second are 100.
#[test]
fn the_machine_s_own_ceiling_lowers_the_model() {
    let expected = |iops, bytes_per_second| {
        let mut plan =
            Plan { seed: 1, ..Plan::new("test".to_owned(), vec![cell("four", 4, true)], measure(3)) };
        let target = plan.cells[0].target.clone();
        let ceiling = Some(Ceiling { iops, bytes_per_second });
        plan.targets = vec![Target {
            name: target,
            kind: TargetKind::Local,
            address: None,
            ceiling,
            shares: Vec::new(),
            hosted_by: None,
        }];
        let want =
            Want { of: "iops".to_owned(), bound: Bound::AtLeast, value: 150.0, written: String::new() };
        let figure = prospect(&plan, &[want]).workloads[0].cells[0].figures[0].clone();
        (figure.at_most, figure.does, figure.steps.last().cloned().unwrap_or_default())
    };
    let (most, does, step) = expected(Some(200), None);
    assert_eq!((most, does), (Some(200.0), Does::Yes), "{step}");
    assert!(step.ends_with("passes on iops 200, and a request needs 1 of it: 200 requests/s"), "{step}");
    assert_eq!(expected(Some(200), Some(409_600)).0, Some(100.0));
    assert_eq!(expected(Some(200), Some(409_600)).1, Does::No);
    assert!(expected(Some(5000), None).0.unwrap() > 300.0);
}
