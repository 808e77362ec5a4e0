//! What a call began.

use record::printable::printable;
use serde::Deserialize;

/// An operation: what a call began.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Operation {
    pub(super) name: String,
    pub(super) operation_type: String,
    pub(super) status: String,
    /// URLs of the zone or region it is in; neither: it is global.
    zone: Option<String>,
    region: Option<String>,
    pub(super) target_link: String,
    error: Option<OperationErrors>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct OperationErrors {
    #[serde(default)]
    errors: Vec<OperationError>,
}

/// Why an operation failed.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct OperationError {
    #[serde(default)]
    pub(super) code: String,
    #[serde(default)]
    message: String,
}

impl OperationError {
    /// The error as a sentence reads it.
    pub(super) fn text(&self) -> String {
        format!("{} ({})", printable(&self.message), printable(&self.code))
    }
}

impl Operation {
    pub(super) fn is_done(&self) -> bool {
        self.status == "DONE"
    }

    /// The same operation at its end.
    pub(super) fn ended(self) -> Self {
        Self { status: "DONE".to_owned(), ..self }
    }

    /// The first error, if it failed.
    pub(super) fn error(&self) -> Option<&OperationError> {
        self.error.as_ref()?.errors.first()
    }

    /// Its path below the project.
    pub(super) fn path(&self) -> String {
        match (&self.zone, &self.region) {
            (Some(zone), _) => format!("zones/{}/operations/{}", last(zone), self.name),
            (None, Some(region)) => format!("regions/{}/operations/{}", last(region), self.name),
            (None, None) => format!("global/operations/{}", self.name),
        }
    }
}

/// The last part of a URL.
pub(super) fn last(url: &str) -> &str {
    url.rsplit('/').next().unwrap_or_default()
}
