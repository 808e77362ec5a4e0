//! A bucket below a prefix, and how it is spoken to.

use super::address::S3Address;
use super::credentials::Keys;
use super::endpoint::Endpoint;
use super::settings::Settings;
use crate::error::ShareError;
use crate::patience::Patience;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// How S3 is spoken to.
#[derive(Clone, Default)]
pub struct Options {
    /// Where keys, region and endpoint are looked up.
    pub settings: Settings,
    /// Speak `http` with an endpoint on another machine as well. With one on this machine, `http` is spoken in any case.
    pub plain_http: bool,
    /// How often a request is tried again.
    pub patience: Patience,
    /// Ends what is under way when it is set.
    pub cancel: Arc<AtomicBool>,
}

/// A bucket, below the prefix of an address. All keys are relative to that prefix.
pub struct Bucket {
    pub(crate) address: S3Address,
    pub(crate) endpoint: Endpoint,
    pub(crate) settings: Settings,
    pub(crate) patience: Patience,
    pub(crate) cancel: Arc<AtomicBool>,
    /// `None`: not looked up yet. `Some(None)`: there are none.
    pub(crate) keys: Mutex<Option<Option<Keys>>>,
}

impl Bucket {
    /// Opens a bucket. Nothing is asked yet.
    ///
    /// # Errors
    /// The settings of AWS can't be read, or lead to a place without encryption.
    pub fn open(address: &S3Address, options: &Options) -> Result<Self, ShareError> {
        let files = options.settings.files()?;
        let endpoint = Endpoint::find(address, &options.settings, &files)?;
        if !(endpoint.origin.is_tls() || endpoint.origin.is_loopback() || options.plain_http) {
            return Err(ShareError::Plain { at: address.to_string(), url: endpoint.origin.origin() });
        }
        Ok(Self {
            address: address.clone(),
            endpoint,
            settings: options.settings.clone(),
            patience: options.patience,
            cancel: Arc::clone(&options.cancel),
            keys: Mutex::new(None),
        })
    }

    /// Returns its address.
    #[must_use]
    pub fn address(&self) -> &S3Address {
        &self.address
    }

    pub(crate) fn unreadable(&self, why: String) -> ShareError {
        ShareError::Unreadable { from: self.address.to_string(), why }
    }
}
