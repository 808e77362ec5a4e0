//! What can go wrong, and who can mend it.

use crate::protocol::{Blame, Failure, Problem};
use host::CommandFailure;
use thiserror::Error;

/// A call of EC2 that was not done, or whose reply did not arrive.
#[derive(Debug, Error)]
pub(super) enum AwsError {
    /// EC2 refused it.
    #[error("EC2 refused {operation}: {message} ({code})")]
    Refused { operation: String, code: String, message: String },
    /// No reply arrived: it may have been done.
    #[error("no answer from EC2 to {operation}: {text}")]
    NoAnswer { operation: String, text: String },
    /// `aws` could not be run, or does not know what to do.
    #[error("aws can't do {operation}")]
    Program {
        operation: String,
        #[source]
        source: CommandFailure,
    },
    /// `aws` printed something else than was asked.
    #[error("the reply to {operation} has no {what}")]
    Reply { operation: String, what: &'static str },
}

/// Codes that mean: ask again later.
const TRANSIENT: [&str; 12] = [
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "RequestThrottled",
    "TooManyRequestsException",
    "BandwidthLimitExceeded",
    "InternalError",
    "InternalFailure",
    "InternalServerError",
    "ServiceUnavailable",
    "Unavailable",
    "RequestTimeout",
];

impl AwsError {
    /// EC2's code of the refusal.
    pub(super) fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    /// Whether the same call may succeed later.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            // A code that is a number is the status of a reply without a body, e.g. 503.
            Self::Refused { code, .. } => TRANSIENT.contains(&code.as_str()) || code.starts_with('5'),
            Self::NoAnswer { .. } => true,
            Self::Program { source, .. } => matches!(source, CommandFailure::TimedOut { .. }),
            Self::Reply { .. } => false,
        }
    }

    fn blame(&self) -> Blame {
        match self {
            Self::NoAnswer { .. } | Self::Reply { .. } => Blame::Provider,
            Self::Program { .. } => Blame::User,
            Self::Refused { code, .. } => {
                let of_provider = self.is_transient()
                    || code.starts_with("Insufficient")
                    || code.ends_with("LimitExceeded");
                if of_provider { Blame::Provider } else { Blame::User }
            }
        }
    }

    fn help(&self) -> Option<String> {
        let text = match self {
            Self::NoAnswer { .. } => {
                "check the connection, and ask again: a repeated create finds what it made"
            }
            Self::Program { .. } => {
                "run `aws sts get-caller-identity` to see whether aws finds its credentials"
            }
            Self::Reply { .. } => return None,
            Self::Refused { code, .. } => match code.as_str() {
                "UnauthorizedOperation" | "AuthFailure" | "AccessDenied" => {
                    "docs/drivers.md lists the permissions that the driver needs"
                }
                "IdempotentParameterMismatch" => {
                    "the claim has machines of these names with other settings; destroy them first"
                }
                "InsufficientInstanceCapacity" => "choose another zone or machine_type, or ask later",
                code if code.ends_with("LimitExceeded") => {
                    "ask AWS for a higher quota (`aws service-quotas`), or use fewer or smaller machines"
                }
                _ => return None,
            },
        };
        Some(text.to_owned())
    }
}

/// A task that was not done.
#[derive(Debug, Error)]
pub(super) enum Ec2Error {
    /// A call failed.
    #[error(transparent)]
    Aws(#[from] AwsError),
    /// Settings are wrong.
    #[error("{}", .0.iter().map(told).collect::<Vec<_>>().join("; "))]
    Settings(Vec<Problem>),
    /// A machine ended by itself.
    #[error("machine {machine} ({id}) ended while it was created: {why}")]
    Ended { machine: String, id: String, why: String },
    /// A machine did not come up.
    #[error("machine {machine} ({id}) {what} within {seconds} s")]
    Late { machine: String, id: String, what: &'static str, seconds: u64 },
    /// Something that isn't the claim's has a name that the driver needs.
    #[error("the security group {name} exists and does not carry the tag of this claim")]
    NotOurs { name: String },
    /// Nobody told from where the machines are reached.
    #[error("can't find out the address that this machine has on the internet: {0}")]
    OwnAddress(String),
}

fn told(problem: &Problem) -> String {
    let volume = problem.volume.as_ref().map(|v| format!(", volume {v}")).unwrap_or_default();
    let key = problem.key.as_ref().map(|k| format!(", {k}")).unwrap_or_default();
    let help = problem.help.as_ref().map(|h| format!(" ({h})")).unwrap_or_default();
    format!("machine {}{volume}{key}: {}{help}", problem.machine, problem.text)
}

impl From<Ec2Error> for Failure {
    fn from(error: Ec2Error) -> Self {
        let (blame, help) = match &error {
            Ec2Error::Aws(aws) => (aws.blame(), aws.help()),
            Ec2Error::Settings(_) => (Blame::User, None),
            Ec2Error::Ended { .. } => (Blame::Provider, Some("destroy, then create anew".to_owned())),
            Ec2Error::Late { .. } => (
                Blame::Provider,
                Some("check the image and the rules of the network, or raise wait_seconds".to_owned()),
            ),
            Ec2Error::NotOurs { .. } => (Blame::User, Some("set security_group".to_owned())),
            Ec2Error::OwnAddress(_) => (Blame::User, Some("set ssh_from, e.g. 192.0.2.7/32".to_owned())),
        };
        let mut text = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        Self { blame, text, help }
    }
}
