//! Images by name.

use super::aws::Aws;
use super::ebs::{Volume, VolumeType};
use super::error::AwsError;
use serde_json::{Value, json};

/// Our names, the account that publishes the image, and the image's name there. Accounts: wiki.debian.org/Cloud/AmazonEC2Image,
/// documentation.ubuntu.com/aws, docs.aws.amazon.com/linux/al2023.
const NAMED: [(&str, &str, &str); 5] = [
    ("debian-12", "136693071363", "debian-12-{arch}-*"),
    ("debian-13", "136693071363", "debian-13-{arch}-*"),
    ("ubuntu-22.04", "099720109477", "ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-{arch}-server-*"),
    ("ubuntu-24.04", "099720109477", "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{arch}-server-*"),
    ("amazon-linux-2023", "137112412989", "al2023-ami-2023.*-{arch}"),
];

/// An image to boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) id: String,
    /// `x86_64` or `arm64`.
    pub(super) architecture: String,
    /// The name of the device that it boots from.
    pub(super) root_device: Option<String>,
    /// The volume that EC2 makes for that device; `None`: not told, or of a type that the driver doesn't know.
    pub(super) boot: Option<Volume>,
    made: String,
}

/// Returns the images that a setting may mean, the newest of each architecture, with one call.
pub(super) fn find(aws: &Aws<'_>, setting: &str) -> Result<Vec<Image>, AwsError> {
    let reply = aws.call("describe-images", &question(setting))?;
    let images = reply["Images"]
        .as_array()
        .ok_or(AwsError::Reply { operation: "describe-images".into(), what: "Images" })?;
    let mut images: Vec<_> = images.iter().filter_map(read).collect();
    images.sort_by(|a, b| b.made.cmp(&a.made).then_with(|| a.id.cmp(&b.id)));
    let mut newest: Vec<Image> = Vec::new();
    for image in images {
        if newest.iter().all(|other| other.architecture != image.architecture) {
            newest.push(image);
        }
    }
    Ok(newest)
}

fn question(setting: &str) -> Value {
    if setting.starts_with("ami-") {
        return json!({"ImageIds": [setting]});
    }
    let named = NAMED.iter().find(|(name, _, _)| *name == setting).map(|(_, owner, name)| (*owner, *name));
    let (owner, name) = named.or_else(|| setting.split_once('/')).unwrap_or(("self", setting));
    let mut names: Vec<_> =
        ["amd64", "x86_64", "arm64"].iter().map(|arch| name.replace("{arch}", arch)).collect();
    names.dedup();
    json!({
        "Owners": [owner],
        "Filters": [{"Name": "name", "Values": names}, {"Name": "state", "Values": ["available"]}],
    })
}

fn read(image: &Value) -> Option<Image> {
    Some(Image {
        id: image["ImageId"].as_str()?.to_owned(),
        architecture: image["Architecture"].as_str()?.to_owned(),
        root_device: image["RootDeviceName"].as_str().map(str::to_owned),
        boot: boot(image),
        made: image["CreationDate"].as_str().unwrap_or_default().to_owned(),
    })
}

fn boot(image: &Value) -> Option<Volume> {
    let device = image["RootDeviceName"].as_str()?;
    let mappings = image["BlockDeviceMappings"].as_array()?;
    let ebs = &mappings.iter().find(|mapping| mapping["DeviceName"] == device)?["Ebs"];
    let name = ebs["VolumeType"].as_str()?;
    Some(Volume {
        kind: VolumeType::ALL.into_iter().find(|kind| kind.name() == name)?,
        gib: ebs["VolumeSize"].as_u64(),
        iops: ebs["Iops"].as_u64(),
        throughput: ebs["Throughput"].as_u64(),
    })
}

#[cfg(test)]
mod tests {
    use super::{boot, question};
    use crate::ec2::ebs::VolumeType;
    use serde_json::json;

    #[test]
    fn the_volume_to_boot_from_is_the_one_of_the_root_device() {
        let mapping = |device: &str, kind: &str, gib: u64| json!({"DeviceName": device, "Ebs": {"VolumeType": kind, "VolumeSize": gib}});
        let image = |kind: &str| json!({"RootDeviceName": "/dev/xvda", "BlockDeviceMappings": [mapping("/dev/sdb", "gp2", 1), mapping("/dev/xvda", kind, 8)]});
        let found = boot(&image("gp3")).unwrap();
        assert_eq!((found.kind, found.gib, found.iops), (VolumeType::Gp3, Some(8), None));
        assert_eq!(boot(&image("standard")), None, "its I/Os have a price, too");
        assert_eq!(boot(&json!({"RootDeviceName": "/dev/xvda"})), None);
    }

    #[test]
    fn a_name_is_looked_for_at_its_publisher_only() {
        let debian = question("debian-12");
        assert_eq!(debian["Owners"], json!(["136693071363"]));
        assert_eq!(
            debian["Filters"][0]["Values"],
            json!(["debian-12-amd64-*", "debian-12-x86_64-*", "debian-12-arm64-*"])
        );
        assert_eq!(question("ami-1"), json!({"ImageIds": ["ami-1"]}));
        let other = question("123456789012/mine-*");
        assert_eq!(
            (&other["Owners"], &other["Filters"][0]["Values"]),
            (&json!(["123456789012"]), &json!(["mine-*"]))
        );
        assert_eq!(question("mine")["Owners"], json!(["self"]));
    }
}
