//! Converts values to bytes and back: JSON, compressed if it is large.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::error::Error;

type Cause = Box<dyn Error + Send + Sync>;

/// zstd's own default; higher levels cost time between trials and gain little on counters.
const LEVEL: i32 = 3;

pub(crate) fn compress(bytes: &[u8]) -> Result<Vec<u8>, Cause> {
    // Its tables are as large as the bytes need; a stream's are as large as its level allows, which takes longer than small records.
    Ok(zstd::bulk::compress(bytes, LEVEL)?)
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
