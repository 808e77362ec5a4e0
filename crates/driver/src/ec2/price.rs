//! Prices by the user's own list.

use super::ebs::{Volume, VolumeType};
use super::reading::Wanted;
use crate::protocol::Price;
use std::collections::BTreeMap;

/// AWS's month, in hours.
const MONTH_HOURS: f64 = 730.0;

/// Returns the price of a machine with the volume that it boots from, without the others; `None`: the list lacks something that counts, or
/// EC2 doesn't tell the volume.
pub(super) fn of_machine(wanted: &Wanted, boot: Option<&Volume>) -> Option<Price> {
    let per_hour = entry(&wanted.prices, &wanted.machine_type)?;
    let mut boot = boot?.clone();
    boot.gib = wanted.boot_gib.or(boot.gib);
    Some(price(per_hour + per_month(&boot, &wanted.prices)? / MONTH_HOURS, wanted))
}

/// Returns the price of a volume; `None`: the list lacks something that counts.
pub(super) fn of_volume(volume: &Volume, wanted: &Wanted) -> Option<Price> {
    let per_month = per_month(volume, &wanted.prices)?;
    Some(price(per_month / MONTH_HOURS, wanted))
}

/// EC2 bills Linux machines, and EBS, by the second, and at least a minute (Amazon EC2 pricing, "per second billing").
fn price(per_hour: f64, wanted: &Wanted) -> Price {
    Price { per_hour, currency: wanted.currency.clone(), unit_seconds: 1, least_seconds: 60 }
}

fn per_month(volume: &Volume, prices: &BTreeMap<String, String>) -> Option<f64> {
    let name = volume.kind.name();
    let per = |what: &str, amount: u64| {
        if amount == 0 { Some(0.0) } else { Some(entry(prices, &format!("{name}_{what}"))? * count(amount)) }
    };
    let iops = volume.iops.unwrap_or(0);
    let more = match volume.kind {
        VolumeType::Ephemeral => return Some(0.0),
        VolumeType::Gp3 => {
            per("iops", iops.saturating_sub(3000))?
                + per("mibps", volume.throughput.unwrap_or(0).saturating_sub(125))?
        }
        VolumeType::Io1 => per("iops", iops)?,
        // Three steps: up to 32000, up to 64000, and beyond.
        VolumeType::Io2 => {
            per("iops", iops.min(32000))?
                + per("iops_over_32000", iops.clamp(32000, 64000) - 32000)?
                + per("iops_over_64000", iops.max(64000) - 64000)?
        }
        VolumeType::Gp2 | VolumeType::St1 | VolumeType::Sc1 => 0.0,
    };
    Some(per("gib", volume.gib?)? + more)
}

fn entry(prices: &BTreeMap<String, String>, key: &str) -> Option<f64> {
    prices.get(key)?.parse().ok()
}

#[allow(clippy::cast_precision_loss, reason = "sizes and rates stay far below 2^53")]
fn count(amount: u64) -> f64 {
    amount as f64
}

#[cfg(test)]
mod tests {
    use super::per_month;
    use crate::ec2::ebs::{Volume, VolumeType};
    use std::collections::BTreeMap;

    fn prices(rows: &[(&str, &str)]) -> BTreeMap<String, String> {
        rows.iter().map(|(key, price)| ((*key).to_owned(), (*price).to_owned())).collect()
    }

    #[test]
    fn each_part_of_a_volume_counts_and_a_missing_price_makes_none() {
        let list = prices(&[
            ("gp3_gib", "0.08"),
            ("gp3_iops", "0.005"),
            ("io2_gib", "0.125"),
            ("io2_iops", "0.065"),
            ("io2_iops_over_32000", "0.046"),
        ]);
        let gp3 = |iops, throughput| Volume { kind: VolumeType::Gp3, gib: Some(100), iops, throughput };
        assert_eq!(per_month(&gp3(None, None), &list), Some(8.0));
        assert_eq!(per_month(&gp3(Some(4000), None), &list), Some(13.0));
        assert_eq!(per_month(&gp3(None, Some(250)), &list), None, "the list has no price of throughput");
        let io2 = |iops| Volume { kind: VolumeType::Io2, gib: Some(100), iops: Some(iops), throughput: None };
        let month = per_month(&io2(40000), &list).unwrap();
        assert!((month - (12.5 + 32000.0 * 0.065 + 8000.0 * 0.046)).abs() < 1e-6, "{month}");
        assert_eq!(per_month(&io2(70000), &list), None);
    }
}
