//! A bucket of S3 as a destination.

use super::objects::{Found, OBJECT_BYTES, Objects};
use crate::error::ShareError;
use crate::s3::{Bucket, Condition, Content, Put, Source};

impl Objects for Bucket {
    fn put(&self, key: &str, bytes: &[u8], condition: &Condition) -> Result<Put, ShareError> {
        Self::put(self, key, Source::Bytes(bytes), condition)
    }

    fn get(&self, key: &str) -> Result<Option<Found>, ShareError> {
        let found = Self::get(self, key, OBJECT_BYTES)?;
        Ok(found.map(|Content { bytes, etag }| Found { bytes, etag }))
    }

    fn keys(&self, beginning: &str) -> Result<Vec<String>, ShareError> {
        Ok(self.list(beginning)?.into_iter().map(|object| object.key).collect())
    }

    fn folders(&self) -> Result<Vec<String>, ShareError> {
        Self::folders(self)
    }

    fn keeps_conditions(&self) -> Result<bool, ShareError> {
        Self::keeps_conditions(self)
    }
}
