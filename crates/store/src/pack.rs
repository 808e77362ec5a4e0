//! Converts values to bytes and back: JSON, compressed if it is large.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::cell::RefCell;
use std::error::Error;
use zstd::bulk::Compressor;

type Cause = Box<dyn Error + Send + Sync>;

/// zstd's own default; higher levels cost time between trials and gain little on counters.
const LEVEL: i32 = 3;

thread_local! {
    /// Kept from one record to the next: to make its tables takes longer than to compress a small record.
    static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
}

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, Cause> {
    COMPRESSOR.with_borrow_mut(|kept| {
        let mut compressor = match kept.take() {
            Some(compressor) => compressor,
            None => Compressor::new(LEVEL)?,
        };
        let compressed = compressor.compress(bytes)?;
        // After an error a new one begins from scratch.
        *kept = Some(compressor);
        Ok(compressed)
    })
}

pub(crate) fn decompress(bytes: &[u8]) -> Result<Vec<u8>, Cause> {
    Ok(zstd::decode_all(bytes)?)
}

/// Returns JSON that is known to be readable: a NaN would become null and be lost.
pub(crate) fn json<T: Serialize + DeserializeOwned>(value: &T) -> Result<String, Cause> {
    let text = serde_json::to_string(value)?;
    let _: T = serde_json::from_str(&text)?;
    Ok(text)
}

pub(crate) fn pack<T: Serialize + DeserializeOwned>(value: &T) -> Result<Vec<u8>, Cause> {
    compress(json(value)?.as_bytes())
}

pub(crate) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Cause> {
    Ok(serde_json::from_slice(&decompress(bytes)?)?)
}
