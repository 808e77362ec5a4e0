//! Calls of EC2's API by the `aws` program.

use super::error::AwsError;
use super::pace::Pace;
use host::{CommandFailure, Invocation, Runner, Tool};
use rustix::fs::{MemfdFlags, memfd_create};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::time::{Duration, Instant};

/// The environment variables that are for `aws` alone: credentials, and the way to the service.
pub(super) const VARIABLES: [&str; 16] = [
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_PROFILE",
    "AWS_CONFIG_FILE",
    "AWS_SHARED_CREDENTIALS_FILE",
    "AWS_ROLE_ARN",
    "AWS_ROLE_SESSION_NAME",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
    "AWS_EC2_METADATA_DISABLED",
    "AWS_CA_BUNDLE",
    "AWS_USE_FIPS_ENDPOINT",
    "AWS_USE_DUALSTACK_ENDPOINT",
];

/// What every driver gets, and `aws` too.
const OF_ALL: [&str; 7] =
    ["HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];

/// Longest wait between two tries of a call.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// After this time a call counts as one without an answer.
const TIME_LIMIT: Duration = Duration::from_secs(150);

/// EC2 in one region.
pub(super) struct Aws<'a> {
    runner: &'a dyn Runner,
    region: String,
    endpoint: Option<String>,
    pace: Pace,
}

impl<'a> Aws<'a> {
    pub(super) fn new(runner: &'a dyn Runner, region: &str, endpoint: Option<&str>, pace: Pace) -> Self {
        Self { runner, region: region.to_owned(), endpoint: endpoint.map(str::to_owned), pace }
    }

    /// How patient the driver is.
    pub(super) fn pace(&self) -> Pace {
        self.pace
    }

    /// Calls an operation, e.g. `run-instances`, and returns its reply. A call that EC2 throttles, or that gets no answer, is made again,
    /// so it must be one that may be done twice.
    pub(super) fn call(&self, operation: &str, input: &Value) -> Result<Value, AwsError> {
        let begin = Instant::now();
        let mut wait = self.pace.first_wait;
        loop {
            match self.once(operation, input) {
                Err(error) if error.is_transient() && begin.elapsed() + wait < self.pace.patience => {
                    std::thread::sleep(spread(wait));
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
                outcome => return outcome,
            }
        }
    }

    fn once(&self, operation: &str, input: &Value) -> Result<Value, AwsError> {
        let program = |source| AwsError::Program { operation: operation.to_owned(), source };
        let input = input_file(input).map_err(|source| {
            program(CommandFailure::Spawn { argv: vec![Tool::Aws.name().to_owned()], source })
        })?;
        let invocation = self.invocation(operation, &input).map_err(program)?;
        let output = match self.runner.run(&invocation) {
            Ok(output) => output,
            Err(CommandFailure::Failed { argv, status, stdout, stderr }) => {
                return Err(refusal(operation, &stderr)
                    .unwrap_or_else(|| program(CommandFailure::Failed { argv, status, stdout, stderr })));
            }
            Err(other) => return Err(program(other)),
        };
        // Operations that return nothing print nothing.
        if output.stdout.trim().is_empty() {
            return Ok(Value::Null);
        }
        serde_json::from_str(&output.stdout)
            .map_err(|_| AwsError::Reply { operation: operation.to_owned(), what: "JSON" })
    }

    /// `aws` dies with the driver: a call that it begins later, or repeats, would outlive a `destroy`. It makes one try; [`Self::call`] does
    /// the rest, so that there is one rule for tries.
    fn invocation(&self, operation: &str, input: &File) -> Result<Invocation, CommandFailure> {
        let path = format!("file:///proc/{}/fd/{}", std::process::id(), input.as_raw_fd());
        let mut invocation = Invocation::new(Tool::Setpriv)
            .args(["--pdeathsig", "KILL"])
            .arg(host::resolve(Tool::Aws)?)
            .args(["ec2", operation, "--region", &self.region, "--output", "json"])
            .args(["--cli-connect-timeout", "10", "--cli-read-timeout", "60"])
            .args(["--cli-input-json", &path])
            .timeout(TIME_LIMIT)
            .env("AWS_MAX_ATTEMPTS", "1")
            .env("AWS_PAGER", "");
        if let Some(endpoint) = &self.endpoint {
            invocation = invocation.args(["--endpoint-url", endpoint]);
        }
        for name in VARIABLES.into_iter().chain(OF_ALL) {
            if let Some(value) = std::env::var_os(name) {
                invocation = invocation.env(name, value);
            }
        }
        Ok(invocation)
    }
}

/// A file in memory. `aws` reads its input more than once, so a pipe doesn't do.
fn input_file(input: &Value) -> io::Result<File> {
    let mut file = File::from(memfd_create("input", MemfdFlags::CLOEXEC)?);
    file.write_all(input.to_string().as_bytes())?;
    Ok(file)
}

/// Reads the message of `aws`; `None`: it isn't about the call but about `aws` itself.
fn refusal(operation: &str, stderr: &str) -> Option<AwsError> {
    let operation = operation.to_owned();
    if let Some((code, rest)) =
        stderr.split_once("An error occurred (").and_then(|(_, rest)| rest.split_once(')'))
    {
        // `when calling the X operation`, sometimes the number of tries in parentheses, then the message.
        let message = rest.split_once(" operation").map_or(rest, |(_, rest)| rest);
        let after_tries = message.strip_prefix(" (").and_then(|rest| rest.split_once("): "));
        let message = after_tries.map_or(message.trim_start_matches(": "), |(_, message)| message).trim();
        return Some(AwsError::Refused { operation, code: code.to_owned(), message: message.to_owned() });
    }
    let lost = [
        "Could not connect to the endpoint",
        "Read timeout on endpoint",
        "Connect timeout on endpoint",
        "Connection was closed",
    ];
    let text = stderr.lines().find(|line| lost.iter().any(|words| line.contains(words)))?;
    Some(AwsError::NoAnswer { operation, text: text.trim().to_owned() })
}

/// Half of the wait to all of it, so that many callers don't ask at the same moment again.
fn spread(wait: Duration) -> Duration {
    use std::hash::{BuildHasher as _, RandomState};
    let random = RandomState::new().hash_one(()) % 1024;
    wait / 2 + wait / 2 * u32::try_from(random).unwrap_or(0) / 1024
}

#[cfg(test)]
mod tests {
    use super::refusal;
    use crate::ec2::error::AwsError;

    #[test]
    fn the_message_of_aws_tells_what_may_be_tried_again() {
        let throttled = "\nAn error occurred (RequestLimitExceeded) when calling the RunInstances operation (reached max retries: 0): Request limit exceeded.\n";
        let error = refusal("run-instances", throttled).unwrap();
        assert!(error.is_transient());
        assert_eq!(
            error.to_string(),
            "EC2 refused run-instances: Request limit exceeded. (RequestLimitExceeded)"
        );
        let denied = "An error occurred (UnauthorizedOperation) when calling the RunInstances operation: You are not authorized.";
        let error = refusal("run-instances", denied).unwrap();
        assert!(!error.is_transient());
        assert!(error.to_string().contains(": You are not authorized. ("), "{error}");
        let closed =
            "Connection was closed before we received a valid response from endpoint URL: \"http://x/\".";
        assert!(matches!(refusal("x", closed), Some(AwsError::NoAnswer { .. })));
        assert!(
            refusal(
                "x",
                "Unable to locate credentials. You can configure credentials by running \"aws configure\"."
            )
            .is_none()
        );
    }
}
