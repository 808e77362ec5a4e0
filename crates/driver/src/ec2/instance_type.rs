//! What EC2 tells about instance types.

use super::aws::Aws;
use super::error::AwsError;
use crate::protocol::Rates;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// An instance type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct InstanceType {
    /// `x86_64`, `arm64`.
    pub(super) architectures: Vec<String>,
    /// What it passes on to all its EBS volumes together, at all times.
    pub(super) ceiling: Rates,
    /// Sizes of the NVMe disks that it brings along, in bytes. The machine can't name others: they have no serial numbers.
    pub(super) disks: Vec<u64>,
}

/// Asks for the types of that name, with one call.
pub(super) fn find(
    aws: &Aws<'_>,
    names: &BTreeSet<&str>,
) -> Result<BTreeMap<String, InstanceType>, AwsError> {
    // As a filter, a name that doesn't exist is no error: the caller names the machine that asks for it.
    let names: Vec<_> = names.iter().collect();
    let reply = aws
        .call("describe-instance-types", &json!({"Filters": [{"Name": "instance-type", "Values": names}]}))?;
    let types = reply["InstanceTypes"].as_array();
    let types = types
        .ok_or(AwsError::Reply { operation: "describe-instance-types".into(), what: "InstanceTypes" })?;
    Ok(types.iter().filter_map(|of| Some((of["InstanceType"].as_str()?.to_owned(), read(of)))).collect())
}

fn read(of: &Value) -> InstanceType {
    let architectures = of["ProcessorInfo"]["SupportedArchitectures"].as_array().into_iter().flatten();
    let ebs = &of["EbsInfo"]["EbsOptimizedInfo"];
    // Decimal megabytes, as EC2 says.
    let bytes = ebs["BaselineThroughputInMBps"].as_f64().filter(|mb| *mb > 0.0);
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive, and far below 2^53"
    )]
    let ceiling = Rates {
        iops: ebs["BaselineIops"].as_u64(),
        bytes_per_second: bytes.map(|mb| (mb * 1e6).round() as u64),
    };
    InstanceType {
        architectures: architectures.filter_map(Value::as_str).map(str::to_owned).collect(),
        ceiling,
        disks: disks(&of["InstanceStorageInfo"]),
    }
}

fn disks(storage: &Value) -> Vec<u64> {
    let mut disks = Vec::new();
    if storage["NvmeSupport"] == "unsupported" {
        return disks;
    }
    for row in storage["Disks"].as_array().into_iter().flatten() {
        let (Some(count), Some(gb)) = (row["Count"].as_u64(), row["SizeInGB"].as_u64()) else { continue };
        disks.extend((0..count).map(|_| gb * 1_000_000_000));
    }
    disks
}

#[cfg(test)]
mod tests {
    use super::read;
    use serde_json::json;

    #[test]
    fn baselines_are_the_ceiling_and_absent_ones_stay_unknown() {
        let of = json!({
            "ProcessorInfo": {"SupportedArchitectures": ["x86_64"]},
            "EbsInfo": {"EbsOptimizedInfo": {"BaselineIops": 3600, "BaselineThroughputInMBps": 81.25, "MaximumIops": 20000}},
            "InstanceStorageInfo": {"Disks": [{"SizeInGB": 75, "Count": 2, "Type": "ssd"}]},
        });
        let read_type = read(&of);
        assert_eq!(
            (read_type.ceiling.iops, read_type.ceiling.bytes_per_second),
            (Some(3600), Some(81_250_000))
        );
        assert_eq!(read_type.disks, [75_000_000_000, 75_000_000_000]);
        let mut old = of;
        old["InstanceStorageInfo"]["NvmeSupport"] = json!("unsupported");
        assert_eq!(read(&old).disks, [] as [u64; 0]);
        assert_eq!(read(&json!({})).ceiling.bytes_per_second, None);
    }
}
