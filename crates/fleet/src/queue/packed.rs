//! A plan as text for a descriptor: its JSON, compressed, in Base64; and its digest.

use super::base64;
use super::error::QueueError;
use record::plan::Plan;

/// Small enough in a fraction of a second.
const LEVEL: i32 = 19;
/// Most bytes of a plan; a hostile text must not fill the memory.
const MOST: usize = 64 << 20;

/// A plan, packed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packed {
    /// SHA-256 of the plan's JSON, in hexadecimal.
    pub digest: String,
    /// The JSON, compressed by zstd, in Base64.
    pub text: String,
}

impl Packed {
    /// Packs a plan.
    ///
    /// # Errors
    /// The plan can't be written as JSON, or not be compressed.
    pub fn of(plan: &Plan) -> Result<Self, QueueError> {
        let json = serde_json::to_vec(plan).map_err(|source| QueueError::Pack(source.into()))?;
        let small = zstd::bulk::compress(&json, LEVEL).map_err(QueueError::Pack)?;
        Ok(Self { digest: digest(&json)?, text: base64::encode(&small) })
    }

    /// Unpacks a plan.
    ///
    /// # Errors
    /// The text is damaged, or has another digest.
    pub fn unpack(&self) -> Result<Plan, QueueError> {
        let damaged = |what: String| QueueError::DamagedPlan { what };
        let small = base64::decode(&self.text).ok_or_else(|| damaged("it is no Base64".to_owned()))?;
        let json = zstd::bulk::decompress(&small, MOST).map_err(|error| damaged(error.to_string()))?;
        let found = digest(&json)?;
        if found != self.digest {
            return Err(QueueError::OtherPlan { wanted: self.digest.clone(), found });
        }
        serde_json::from_slice(&json).map_err(|error| damaged(error.to_string()))
    }
}

fn digest(json: &[u8]) -> Result<String, QueueError> {
    Ok(host::sha256(json, u64::MAX).map_err(QueueError::Pack)?.0)
}
