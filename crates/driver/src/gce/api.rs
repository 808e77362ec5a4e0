//! Calls of the API: repeated where that may help, with a token that is renewed.

use super::credentials::Credentials;
use super::failure::{CallError, passes, read_error};
use super::inventory::Operation;
use super::pace::Pace;
use crate::protocol::Failure;
use host::http::{Body, HttpUrl, Request, send};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::time::{Duration, Instant};

/// Where Google's API is.
pub(super) const ENDPOINT: &str = "https://compute.googleapis.com";
/// How long a call waits for a byte: longer than the two minutes that the API holds a `wait`.
const PATIENCE: Duration = Duration::from_secs(150);

/// The API of one project.
pub(super) struct Api<'a> {
    pub(super) endpoint: String,
    pub(super) project: String,
    pub(super) credentials: &'a Credentials,
    pub(super) pace: Pace,
}

/// Parameters of a query.
pub(super) type Query<'q> = &'q [(&'q str, &'q str)];

impl Api<'_> {
    /// Reads a resource; `path` is below the project.
    pub(super) fn get<T: DeserializeOwned>(&self, path: &str, query: Query<'_>) -> Result<T, CallError> {
        self.call("GET", path, query, None)
    }

    /// Reads all pages of a list.
    pub(super) fn pages<T: DeserializeOwned>(
        &self,
        path: &str,
        filter: &str,
        mut page_of: impl FnMut(T) -> Option<String>,
    ) -> Result<(), CallError> {
        let mut token = None::<String>;
        loop {
            let mut query = vec![("filter", filter), ("maxResults", "500")];
            if let Some(token) = &token {
                query.push(("pageToken", token));
            }
            match page_of(self.get(path, &query)?) {
                Some(next) if !next.is_empty() => token = Some(next),
                _ => return Ok(()),
            }
        }
    }

    /// Begins an operation that a repeated call with the same request id doesn't begin again.
    pub(super) fn post(&self, path: &str, request_id: &str, body: &Value) -> Result<Operation, CallError> {
        self.call("POST", path, &[("requestId", request_id)], Some(body))
    }

    /// Calls a method that sets something to the same value again when it is repeated.
    pub(super) fn set(&self, path: &str, query: Query<'_>) -> Result<Operation, CallError> {
        self.call("POST", path, query, None)
    }

    /// Begins to delete a resource.
    pub(super) fn delete(&self, path: &str) -> Result<Operation, CallError> {
        self.call("DELETE", path, &[], None)
    }

    /// Waits for the end of an operation. An operation that the API no longer knows has ended.
    pub(super) fn wait(&self, mut operation: Operation) -> Result<Operation, CallError> {
        let begun = Instant::now();
        let mut waits = 0;
        while !operation.is_done() {
            if begun.elapsed() > self.pace.patience {
                let what = format!("waiting for operation {}", operation.name);
                return Err(CallError::Unanswered {
                    what,
                    why: "it doesn't end".to_owned(),
                    attempts: waits,
                });
            }
            // The API may answer at once when it is busy.
            if waits > 0 {
                std::thread::sleep(self.pace.pause(waits));
            }
            waits += 1;
            operation = match self.call("POST", &format!("{}/wait", operation.path()), &[], None) {
                Err(error) if error.status() == Some(404) => operation.ended(),
                told => told?,
            };
        }
        Ok(operation)
    }

    /// Makes a call until it is answered.
    fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        query: Query<'_>,
        body: Option<&Value>,
    ) -> Result<T, CallError> {
        let what = format!("{method} {path}");
        let mut made = 0;
        let mut has_renewed = false;
        loop {
            made += 1;
            let request = self.request(method, path, query, body)?;
            let (error, may_pass) = match once(&request, &what, made) {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            if error.status() == Some(401) && !has_renewed && self.credentials.renew() {
                has_renewed = true;
                continue;
            }
            if !may_pass || made >= self.pace.attempts {
                return Err(error);
            }
            std::thread::sleep(self.pace.pause(made));
        }
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        query: Query<'_>,
        body: Option<&Value>,
    ) -> Result<Request, CallError> {
        let url = format!("{}/compute/v1/projects/{}/{path}", self.endpoint, self.project);
        let mut url = HttpUrl::parse(&url)
            .map_err(|error| CallError::Unreadable { what: url.clone(), why: error.to_string() })?;
        for (name, value) in query {
            url = url.with_query(name, value);
        }
        let token = self.credentials.token().map_err(CallError::Credentials)?;
        let request = Request::new(method, url)
            .idle_limit(PATIENCE)
            .secret_header("Authorization", format!("Bearer {token}"));
        Ok(match body {
            Some(body) => request
                .header("Content-Type", "application/json")
                .body(Body::Bytes(body.to_string().into_bytes())),
            None => request,
        })
    }
}

/// Sends a request once. An error comes with whether a repetition may help.
fn once<T: DeserializeOwned>(request: &Request, what: &str, made: u32) -> Result<T, (CallError, bool)> {
    let what = what.to_owned();
    match send(request) {
        Ok(reply) if reply.is_success() => serde_json::from_slice(&reply.body)
            .map_err(|error| (CallError::Unreadable { what, why: error.to_string() }, false)),
        Ok(reply) => {
            let (reason, message) = read_error(&reply.body);
            let may_pass = passes(reply.status, reason.as_deref());
            Err((CallError::Refused { what, status: reply.status, reason, message }, may_pass))
        }
        Err(error) => {
            let may_pass = error.may_pass();
            Err((CallError::Unanswered { what, why: error.to_string(), attempts: made }, may_pass))
        }
    }
}

/// An error of a call as the failure of the request.
impl From<CallError> for Failure {
    fn from(error: CallError) -> Self {
        error.failure()
    }
}
