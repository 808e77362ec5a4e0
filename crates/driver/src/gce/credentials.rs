//! The token of the API: from the environment, from gcloud, or from the metadata server. It is never shown, and never written down.

use host::http::{HttpUrl, Request, send};
use host::{Invocation, LocalRunner, Runner as _, Tool};
use serde::Deserialize;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The variable with a token.
pub(super) const VARIABLE: &str = "GOOGLE_OAUTH_ACCESS_TOKEN";
/// Where the metadata server is.
pub(super) const METADATA: &str = "http://metadata.google.internal";
/// How long the metadata server may take; it is on the same machine.
const METADATA_LIMIT: Duration = Duration::from_secs(1);
/// How long gcloud may take: it may ask Google for a new token.
const GCLOUD_LIMIT: Duration = Duration::from_secs(60);

/// Gives tokens.
pub(super) struct Credentials {
    /// The metadata server, if the user allows to ask it.
    metadata: Option<String>,
    token: Mutex<Option<String>>,
}

impl Credentials {
    /// Creates it; `metadata` is the address of the metadata server, if the user allows to ask it.
    pub(super) fn new(metadata: Option<String>) -> Self {
        Self { metadata, token: Mutex::new(None) }
    }

    /// Returns the token, from the first source that has one. The error says what is missing.
    pub(super) fn token(&self) -> Result<String, String> {
        let mut kept = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(token) = &*kept {
            return Ok(token.clone());
        }
        let token = self.fetch()?;
        *kept = Some(token.clone());
        Ok(token)
    }

    /// Forgets the token, so that the next one is new. Returns false if the next one would be the same.
    pub(super) fn renew(&self) -> bool {
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = None;
        !Self::is_fixed()
    }

    /// Whether the token is the environment's: it lasts an hour, and nothing renews it.
    pub(super) fn is_fixed() -> bool {
        from_environment().is_some()
    }

    fn fetch(&self) -> Result<String, String> {
        if let Some(token) = from_environment() {
            return Ok(token);
        }
        let gcloud = match from_gcloud() {
            Ok(token) => return Ok(token),
            Err(why) => why,
        };
        match &self.metadata {
            None => Err(format!("there is no token for Google's API: {VARIABLE} is not set, and {gcloud}")),
            Some(metadata) => from_metadata(metadata).map_err(|why| {
                format!("there is no token for Google's API: {VARIABLE} is not set, {gcloud}, and {why}")
            }),
        }
    }
}

fn from_environment() -> Option<String> {
    std::env::var(VARIABLE).ok().map(|token| token.trim().to_owned()).filter(|token| !token.is_empty())
}

fn from_gcloud() -> Result<String, String> {
    let mut command =
        Invocation::new(Tool::Gcloud).args(["auth", "print-access-token", "--quiet"]).timeout(GCLOUD_LIMIT);
    for name in ["HOME", "CLOUDSDK_CONFIG", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"] {
        if let Some(value) = std::env::var_os(name) {
            command = command.env(name, value);
        }
    }
    let output = LocalRunner.run(&command).map_err(|error| match error {
        host::CommandFailure::NotFound { .. } => "gcloud is not installed".to_owned(),
        _ => "gcloud auth print-access-token fails".to_owned(),
    })?;
    match output.stdout.trim() {
        "" => Err("gcloud prints no token".to_owned()),
        token => Ok(token.to_owned()),
    }
}

#[derive(Deserialize)]
struct MetadataToken {
    access_token: String,
}

fn from_metadata(server: &str) -> Result<String, String> {
    let text = ask_metadata(server, "instance/service-accounts/default/token")?;
    let token = serde_json::from_str::<MetadataToken>(&text);
    token.map(|token| token.access_token).map_err(|_| "the metadata server tells no token".to_owned())
}

/// Asks GCE's metadata server about this machine.
pub(super) fn ask_metadata(server: &str, path: &str) -> Result<String, String> {
    let url =
        HttpUrl::parse(&format!("{server}/computeMetadata/v1/{path}")).map_err(|error| error.to_string())?;
    let request = Request::new("GET", url)
        .header("Metadata-Flavor", "Google")
        .connect_limit(METADATA_LIMIT)
        .time_limit(METADATA_LIMIT);
    match send(&request) {
        Ok(reply) if reply.is_success() => Ok(String::from_utf8_lossy(&reply.body).into_owned()),
        Ok(reply) => Err(format!("the metadata server answers {} for {path}", reply.status)),
        Err(_) => Err("the metadata server doesn't answer".to_owned()),
    }
}
