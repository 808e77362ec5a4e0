//! The number of the account that the credentials belong to.

use super::aws::Aws;
use super::error::AwsError;
use serde_json::json;

/// Asks who owns the default security groups. Each VPC has one, and it can't be shared with other accounts. `None`: there is no VPC.
pub(super) fn number(aws: &Aws<'_>) -> Result<Option<String>, AwsError> {
    let filter = json!([{"Name": "group-name", "Values": ["default"]}]);
    let reply = aws.call("describe-security-groups", &json!({"Filters": filter}))?;
    Ok(reply["SecurityGroups"][0]["OwnerId"].as_str().map(str::to_owned))
}
