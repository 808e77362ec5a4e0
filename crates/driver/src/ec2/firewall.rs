//! The security group of a claim: ssh from one network, and nothing else.

use super::aws::Aws;
use super::error::{AwsError, Ec2Error};
use super::reading::Wanted;
use super::{address, found, tags};
use crate::protocol::Claim;
use crate::serve::Teller;
use serde_json::{Value, json};

/// Returns the id of the claim's own group in the VPC of a subnet (`None`: the default VPC). It makes the group and its rule unless an
/// earlier, interrupted call did.
pub(super) fn own_group(
    aws: &Aws<'_>,
    claim: &Claim,
    wanted: &Wanted,
    tell: &Teller<'_>,
) -> Result<String, Ec2Error> {
    let from = wanted.ssh_from.clone().map_or_else(address::own, Ok)?;
    let vpc = wanted.subnet.as_deref().map(|subnet| vpc_of(aws, subnet)).transpose()?;
    let name = format!("diskproof-{}", claim.id);
    let mut input = json!({
        "GroupName": name,
        "Description": "ssh to the machines of one diskproof run",
        "TagSpecifications": [{"ResourceType": "security-group", "Tags": tags::of_claim(claim)}],
    });
    if let Some(vpc) = &vpc {
        input["VpcId"] = json!(vpc);
    }
    let id = match aws.call("create-security-group", &input) {
        Ok(reply) => text(&reply["GroupId"], "create-security-group", "GroupId")?,
        // A reply that was lost: the group has a name that only this claim gives.
        Err(error) if error.code() == Some("InvalidGroup.Duplicate") => {
            existing(aws, claim, &name, vpc.as_deref())?
        }
        Err(error) => return Err(error.into()),
    };
    if let Some(resource) = found::group(&json!({"GroupId": id, "GroupName": name})) {
        tell.made(resource);
    }
    allow_ssh(aws, claim, &id, &from, wanted.ssh_port)?;
    Ok(id)
}

fn vpc_of(aws: &Aws<'_>, subnet: &str) -> Result<String, AwsError> {
    let reply = aws.call("describe-subnets", &json!({"SubnetIds": [subnet]}))?;
    text(&reply["Subnets"][0]["VpcId"], "describe-subnets", "VpcId")
}

fn existing(aws: &Aws<'_>, claim: &Claim, name: &str, vpc: Option<&str>) -> Result<String, Ec2Error> {
    let begin = std::time::Instant::now();
    loop {
        let reply = aws.call(
            "describe-security-groups",
            &json!({"Filters": [{"Name": "group-name", "Values": [name]}]}),
        )?;
        let groups = reply["SecurityGroups"].as_array().map(Vec::as_slice).unwrap_or_default();
        let groups: Vec<_> =
            groups.iter().filter(|group| vpc.is_none_or(|vpc| group["VpcId"] == vpc)).collect();
        if let Some(ours) = groups.iter().find(|group| tags::is_of(group, &claim.id)) {
            return Ok(text(&ours["GroupId"], "describe-security-groups", "GroupId")?);
        }
        // EC2 knows that the name is taken before it shows by whom.
        if !groups.is_empty() || begin.elapsed() > aws.pace().patience {
            return Err(Ec2Error::NotOurs { name: name.to_owned() });
        }
        std::thread::sleep(aws.pace().poll);
    }
}

fn allow_ssh(aws: &Aws<'_>, claim: &Claim, group: &str, from: &str, port: u16) -> Result<(), AwsError> {
    let range = json!({"CidrIp": from, "Description": "where diskproof runs"});
    let input = json!({
        "GroupId": group,
        "IpPermissions": [{"IpProtocol": "tcp", "FromPort": port, "ToPort": port, "IpRanges": [range]}],
        "TagSpecifications": [{"ResourceType": "security-group-rule", "Tags": tags::of_claim(claim)}],
    });
    let begin = std::time::Instant::now();
    loop {
        match aws.call("authorize-security-group-ingress", &input) {
            Err(error) if error.code() == Some("InvalidPermission.Duplicate") => return Ok(()),
            // Its id is not known everywhere yet.
            Err(error)
                if error.code() == Some("InvalidGroup.NotFound") && begin.elapsed() < aws.pace().patience =>
            {
                std::thread::sleep(aws.pace().poll);
            }
            outcome => return outcome.map(|_| ()),
        }
    }
}

fn text(value: &Value, operation: &str, what: &'static str) -> Result<String, AwsError> {
    value.as_str().map(str::to_owned).ok_or_else(|| AwsError::Reply { operation: operation.to_owned(), what })
}
