//! How registries are spoken to.

use super::credentials::Credentials;
use crate::patience::Patience;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// How registries are spoken to.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Speak `http` with a registry on another machine as well. With one on this machine, `http` is spoken in any case.
    pub plain_http: bool,
    /// How often a request is tried again.
    pub patience: Patience,
    /// Where credentials are looked up.
    pub credentials: Credentials,
    /// Ends what is under way when it is set.
    pub cancel: Arc<AtomicBool>,
}
