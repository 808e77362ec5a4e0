//! Permission from a registry: none needed, a password (RFC 7617), or a token that another server gives (the registry's
//! `WWW-Authenticate: Bearer`, as docker's token specification describes it).

use super::credentials::{Credentials, Secret};
use super::options::Options;
use crate::base64;
use crate::error::ShareError;
use host::http::{Body, HttpUrl, Reply, Request, percent_encoded, send_until};
use serde::Deserialize;
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The name of this program for token servers.
const CLIENT: &str = "diskproof";

/// What the registry is told with each request.
#[derive(Clone)]
pub(crate) struct Authority {
    base: HttpUrl,
    repository: String,
    plain_http: bool,
    cancel: Arc<AtomicBool>,
    credentials: Credentials,
    header: RefCell<Option<String>>,
}

#[derive(Deserialize)]
struct Token {
    token: Option<String>,
    access_token: Option<String>,
}

impl Authority {
    pub(crate) fn new(base: HttpUrl, repository: &str, options: &Options) -> Self {
        Self {
            base,
            repository: repository.to_owned(),
            plain_http: options.plain_http,
            cancel: Arc::clone(&options.cancel),
            credentials: options.credentials.clone(),
            header: RefCell::new(None),
        }
    }

    /// Adds the credentials, if some were asked for and the request goes to the registry itself.
    pub(crate) fn sign(&self, request: Request) -> Request {
        match &*self.header.borrow() {
            Some(header) if request.url().origin() == self.base.origin() => {
                request.secret_header("Authorization", header.clone())
            }
            _ => request,
        }
    }

    /// Answers a 401 of the registry itself. False: there is nothing to answer with, or another server asks, which a redirection led
    /// to.
    pub(crate) fn answer(&self, reply: &Reply) -> Result<bool, ShareError> {
        if reply.url.origin() != self.base.origin() {
            return Ok(false);
        }
        let challenges =
            reply.headers.iter().filter(|(name, _)| name == "www-authenticate").map(|(_, value)| value);
        for challenge in challenges {
            let (scheme, rest) = challenge.split_once(' ').unwrap_or((challenge, ""));
            let header = match scheme.to_ascii_lowercase().as_str() {
                "bearer" => Some(format!("Bearer {}", self.token(&parameters(rest))?)),
                "basic" => match self.secret()? {
                    Some(Secret::Password { user, password }) => Some(basic(&user, &password)),
                    Some(Secret::Refresh { .. }) | None => None,
                },
                _ => None,
            };
            if header.is_some() {
                *self.header.borrow_mut() = header;
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn secret(&self) -> Result<Option<Secret>, ShareError> {
        self.credentials.of(self.base.authority(), &self.repository)
    }

    fn token(&self, parameters: &[(String, String)]) -> Result<String, ShareError> {
        let of =
            |name: &str| parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str());
        let realm = HttpUrl::parse(of("realm").unwrap_or_default())?;
        if !realm.is_tls() && !realm.is_loopback() && !self.plain_http {
            let why = format!("{realm} would get them without encryption; --plain-http allows that");
            return Err(ShareError::Credentials { why });
        }
        let secret = self.secret()?;
        let request = match &secret {
            Some(Secret::Refresh { token }) => {
                let fields = [
                    ("grant_type", "refresh_token"),
                    ("client_id", CLIENT),
                    ("service", of("service").unwrap_or_default()),
                    ("scope", of("scope").unwrap_or_default()),
                    ("refresh_token", token),
                ];
                let fields = fields.map(|(name, value)| format!("{name}={}", percent_encoded(value, "")));
                Request::new("POST", realm.clone())
                    .header("Content-Type", "application/x-www-form-urlencoded")
                    .body(Body::Bytes(fields.join("&").into_bytes()))
            }
            _ => {
                let query = |url: HttpUrl, name| match of(name) {
                    Some(value) => url.with_query(name, value),
                    None => url,
                };
                let url = query(query(realm.clone(), "service"), "scope");
                match &secret {
                    Some(Secret::Password { user, password }) => {
                        Request::new("GET", url.with_query("account", user))
                            .secret_header("Authorization", basic(user, password))
                    }
                    _ => Request::new("GET", url),
                }
            }
        };
        let reply = send_until(&request.at_most(1 << 20), &self.cancel)?;
        let denied = |said: String| ShareError::Denied {
            at: realm.to_string(),
            said,
            remedy: "`docker login` or `podman login` on this machine stores credentials that diskproof uses",
        };
        if !reply.is_success() {
            return Err(denied(format!("status {}", reply.status)));
        }
        let token: Option<Token> = serde_json::from_slice(&reply.body).ok();
        token
            .and_then(|token| token.token.or(token.access_token))
            .ok_or_else(|| denied("it gives no token".to_owned()))
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64::encode(format!("{user}:{password}").as_bytes()))
}

/// The parameters of a challenge: `name="value"` or `name=value`, with commas between them.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while let Some((name, after)) = rest.split_once('=') {
        let name = name.trim_matches([' ', ',']).to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.push((name, value.trim().to_owned()));
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{basic, parameters};

    #[test]
    fn challenges_are_read_with_commas_in_their_scope() {
        let found = parameters(
            r#"realm="https://auth.example/token",service=r.example, Scope="repository:a/b:pull,push""#,
        );
        let expected = [
            ("realm", "https://auth.example/token"),
            ("service", "r.example"),
            ("scope", "repository:a/b:pull,push"),
        ];
        assert_eq!(found, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    /// RFC 7617, section 2.
    #[test]
    fn a_password_is_coded_as_the_rfc_says() {
        assert_eq!(basic("Aladdin", "open sesame"), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
    }
}
