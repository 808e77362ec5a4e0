//! What goes wrong in a call, and who can mend it.

use crate::protocol::{Blame, Failure};
use record::printable::printable;
use serde::Deserialize;
use thiserror::Error;

/// A call that failed for good.
#[derive(Debug, Clone, Error)]
pub(super) enum CallError {
    /// The API answered with an error.
    #[error("{what}: {message} (HTTP {status}{})", reason.as_ref().map(|reason| format!(", {reason}")).unwrap_or_default())]
    Refused { what: String, status: u16, reason: Option<String>, message: String },
    /// No answer, or none that says whether it was done, after all attempts.
    #[error("{what}: {why} ({attempts} attempts)")]
    Unanswered { what: String, why: String, attempts: u32 },
    /// The answer is not what the API's description promises.
    #[error("{what}: the answer is not valid: {why}")]
    Unreadable { what: String, why: String },
    /// There is no token.
    #[error("{0}")]
    Credentials(String),
}

impl CallError {
    /// The HTTP status of a refusal.
    pub(super) fn status(&self) -> Option<u16> {
        match self {
            Self::Refused { status, .. } => Some(*status),
            _ => None,
        }
    }

    /// The failure of the request.
    pub(super) fn failure(self) -> Failure {
        let (blame, help) = match &self {
            Self::Refused { status: 401, .. } => (Blame::User, Some("log in anew, e.g. gcloud auth login")),
            Self::Refused { status: 403, .. } => {
                (Blame::User, Some("docs/drivers.md lists the roles that the account needs"))
            }
            Self::Refused { status: 400..=499, .. } => (Blame::User, None),
            Self::Refused { .. } | Self::Unanswered { .. } => {
                (Blame::Provider, Some("repeat the command; what was made so far is found again"))
            }
            Self::Unreadable { .. } => (Blame::Driver, None),
            Self::Credentials(_) => (
                Blame::User,
                Some("set GOOGLE_OAUTH_ACCESS_TOKEN, or install gcloud and run gcloud auth login"),
            ),
        };
        Failure { blame, text: self.to_string(), help: help.map(str::to_owned) }
    }
}

/// A failure that the user can mend.
pub(super) fn users(text: impl Into<String>, help: impl Into<String>) -> Failure {
    Failure { blame: Blame::User, text: text.into(), help: Some(help.into()) }
}

/// A failure of the provider or of a machine.
pub(super) fn providers(text: impl Into<String>) -> Failure {
    Failure { blame: Blame::Provider, text: text.into(), help: None }
}

/// The body of an error.
#[derive(Debug, Default, Deserialize)]
struct ErrorBody {
    #[serde(default)]
    error: ErrorText,
}

#[derive(Debug, Default, Deserialize)]
struct ErrorText {
    #[serde(default)]
    message: String,
    #[serde(default)]
    errors: Vec<ErrorReason>,
}

#[derive(Debug, Default, Deserialize)]
struct ErrorReason {
    #[serde(default)]
    reason: String,
}

/// Reads the body of an error: its reason and its text.
pub(super) fn read_error(body: &[u8]) -> (Option<String>, String) {
    let error = serde_json::from_slice::<ErrorBody>(body).unwrap_or_default().error;
    let reason = error.errors.into_iter().map(|error| error.reason).find(|reason| !reason.is_empty());
    (
        reason,
        match error.message.is_empty() {
            true => "no explanation".to_owned(),
            false => printable(&error.message).into_owned(),
        },
    )
}

/// Whether a refusal ends by waiting: too many calls, or an error of the server.
pub(super) fn passes(status: u16, reason: Option<&str>) -> bool {
    matches!(status, 408 | 429 | 500..=599)
        || status == 403 && matches!(reason, Some("rateLimitExceeded" | "userRateLimitExceeded"))
}

/// A failure of the driver itself, or of the program that calls it.
pub(super) fn drivers(text: impl Into<String>) -> Failure {
    Failure { blame: Blame::Driver, text: text.into(), help: None }
}
