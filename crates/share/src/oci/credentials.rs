//! Credentials as docker and podman store them. diskproof stores and prints none.

use crate::base64;
use crate::error::ShareError;
use host::{CommandFailure, Invocation, LocalRunner, Runner as _};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Duration;

/// The name under which docker keeps the credentials of its own registry.
const DOCKER_HUB: (&str, &str) = ("registry-1.docker.io", "https://index.docker.io/v1/");
/// The user name that says that the secret is a refresh token.
const TOKEN_USER: &str = "<token>";
/// A helper may ask a person to unlock a keyring.
const HELPER_LIMIT: Duration = Duration::from_secs(60);

/// Where credentials are looked up: files as `docker login` writes them, the first that knows the registry wins.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    /// The files. One that isn't there is passed over.
    pub files: Vec<PathBuf>,
}

/// Credentials for a registry.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Secret {
    Password { user: String, password: String },
    Refresh { token: String },
}

/// `docker login`'s file, as far as it is needed.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DockerConfig {
    auths: BTreeMap<String, Auth>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    username: String,
    secret: String,
}

impl Credentials {
    /// The usual places: `$DOCKER_CONFIG/config.json` or `~/.docker/config.json`, then podman's file of this session.
    #[must_use]
    pub fn usual() -> Self {
        let docker = env::var_os("DOCKER_CONFIG").map(PathBuf::from);
        let docker = docker.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".docker")));
        let podman =
            env::var_os("XDG_RUNTIME_DIR").map(|dir| PathBuf::from(dir).join("containers/auth.json"));
        let podman = env::var_os("REGISTRY_AUTH_FILE").map(PathBuf::from).or(podman);
        Self { files: docker.map(|dir| dir.join("config.json")).into_iter().chain(podman).collect() }
    }

    /// Returns the credentials for a repository of a registry, if there are some.
    pub(crate) fn of(&self, registry: &str, repository: &str) -> Result<Option<Secret>, ShareError> {
        let names = names(registry, repository);
        let registry = if registry == DOCKER_HUB.0 { DOCKER_HUB.1 } else { registry };
        for path in &self.files {
            let bytes = match fs::read(path) {
                Ok(bytes) => bytes,
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(source) => return Err(ShareError::file("read", path)(source)),
            };
            // serde's message could quote a secret
            let config: DockerConfig = serde_json::from_slice(&bytes).map_err(|error| {
                let place = format!("line {} column {}", error.line(), error.column());
                let path = record::printable::Shown::shown(path).to_string();
                ShareError::Credentials { why: format!("{path} isn't what `docker login` writes ({place})") }
            })?;
            if let Some(secret) = config.of(registry, &names)? {
                return Ok(Some(secret));
            }
        }
        Ok(None)
    }
}

/// The names under which credentials may stand: podman knows parts of a registry (`quay.io/me`). The longest counts.
fn names(registry: &str, repository: &str) -> Vec<String> {
    let whole = format!("{registry}/{repository}");
    let ends = whole.match_indices('/').map(|(at, _)| at).chain([whole.len()]);
    let mut names: Vec<String> = ends.map(|end| whole[..end].to_owned()).collect();
    names.reverse();
    names
}

/// The name of an entry: docker writes URLs of a whole registry, podman writes `HOST` or `HOST/PATH`.
fn entry(name: &str) -> &str {
    match name.strip_prefix("https://").or_else(|| name.strip_prefix("http://")) {
        Some(url) => url.split('/').next().unwrap_or_default(),
        None => name.trim_end_matches('/'),
    }
}

impl DockerConfig {
    fn of(&self, registry: &str, names: &[String]) -> Result<Option<Secret>, ShareError> {
        if let Some(helper) = self.cred_helpers.get(registry).or(self.creds_store.as_ref())
            && let Some(secret) = helped(helper, registry)?
        {
            return Ok(Some(secret));
        }
        let named =
            |wanted: &String| self.auths.iter().find(|(name, _)| entry(name) == wanted).map(|(_, auth)| auth);
        let found = names.iter().find_map(named).or_else(|| self.auths.get(registry));
        found.map(|auth| auth.secret(registry)).transpose().map(Option::flatten)
    }
}

impl Auth {
    fn secret(&self, registry: &str) -> Result<Option<Secret>, ShareError> {
        if let Some(token) = self.identitytoken.clone().filter(|token| !token.is_empty()) {
            return Ok(Some(Secret::Refresh { token }));
        }
        if let (Some(user), Some(password)) = (&self.username, &self.password) {
            return Ok(Some(Secret::Password { user: user.clone(), password: password.clone() }));
        }
        let Some(coded) = self.auth.as_ref().filter(|coded| !coded.is_empty()) else { return Ok(None) };
        let plain = base64::decode(coded).and_then(|bytes| String::from_utf8(bytes).ok());
        match plain.as_deref().and_then(|plain| plain.split_once(':')) {
            Some((user, password)) => {
                let password = password.trim_end_matches('\0').to_owned();
                Ok(Some(Secret::Password { user: user.to_owned(), password }))
            }
            None => Err(ShareError::Credentials {
                why: format!("the entry for {registry} isn't user and password"),
            }),
        }
    }
}

/// Asks `docker-credential-NAME`.
fn helped(helper: &str, registry: &str) -> Result<Option<Secret>, ShareError> {
    if !helper.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b)) {
        return Err(ShareError::Credentials {
            why: "the name of the credential helper isn't one".to_owned(),
        });
    }
    let program = format!("docker-credential-{helper}");
    let call = Invocation::program(&program).arg("get").stdin(registry.as_bytes()).timeout(HELPER_LIMIT);
    let output = match LocalRunner.run(&call) {
        Ok(output) => output,
        // The protocol has no other way to say it: the message on standard output.
        Err(CommandFailure::Failed { stdout, .. }) if stdout.contains("credentials not found") => {
            return Ok(None);
        }
        // What a helper prints may be a secret.
        Err(CommandFailure::Failed { status, .. }) => {
            return Err(ShareError::Credentials { why: format!("{program} ended with status {status}") });
        }
        Err(error) => return Err(ShareError::Credentials { why: error.to_string() }),
    };
    let helped: Helped = serde_json::from_str(&output.stdout)
        .map_err(|_| ShareError::Credentials { why: format!("{program} doesn't answer as helpers do") })?;
    Ok(Some(if helped.username == TOKEN_USER {
        Secret::Refresh { token: helped.secret }
    } else {
        Secret::Password { user: helped.username, password: helped.secret }
    }))
}

#[cfg(test)]
mod tests {
    use super::{DockerConfig, Secret, names};

    #[test]
    fn the_longest_name_of_a_repository_counts() {
        let config = r#"{"auths": {
            "quay.io": {"username": "all", "password": "x"},
            "quay.io/me": {"username": "me", "password": "x"},
            "https://r.example/v2/": {"username": "docker", "password": "x"}}}"#;
        let config: DockerConfig = serde_json::from_str(config).unwrap();
        let user = |registry: &str, repository: &str| match config
            .of(registry, &names(registry, repository))
            .unwrap()
        {
            Some(Secret::Password { user, .. }) => Some(user),
            _ => None,
        };
        assert_eq!(user("quay.io", "me/results").as_deref(), Some("me"));
        assert_eq!(user("quay.io", "mean/results").as_deref(), Some("all"));
        assert_eq!(user("r.example", "a/b").as_deref(), Some("docker"));
        assert_eq!(user("other.example", "me"), None);
    }
}
