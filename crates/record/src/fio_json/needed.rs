//! The part of a document that is read. Most of fio's JSON is not needed, and to keep it takes longer than to read the rest.

use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Number, Value};
use std::borrow::Cow;
use std::fmt;

/// A JSON value; of an object the keys that the reader needs. Of equal keys the last one counts.
pub(super) struct Needed(pub(super) Value);

impl<'de> Deserialize<'de> for Needed {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Part { is_whole: false }.deserialize(from).map(Self)
    }
}

/// The maps of which all keys are needed.
fn is_whole(key: &str) -> bool {
    matches!(key, "global options" | "job options" | "percentile" | "bins")
}

/// The other keys that are needed, at any depth.
fn is_needed(key: &str) -> bool {
    let of_document = matches!(key, "fio version" | "timestamp" | "timestamp_ms" | "jobs" | "client_stats");
    let of_job = matches!(
        key,
        "jobname" | "groupid" | "error" | "total_err" | "first_error" | "usr_cpu" | "sys_cpu" | "hostname"
    );
    let of_side = matches!(
        key,
        "read"
            | "write"
            | "trim"
            | "sync"
            | "total_ios"
            | "io_bytes"
            | "io_kbytes"
            | "runtime"
            | "iops"
            | "bw"
            | "bw_bytes"
    );
    let of_latency = matches!(key, "clat_ns" | "clat" | "lat_ns" | "lat" | "N" | "mean" | "max");
    is_whole(key) || of_document || of_job || of_side || of_latency
}

/// A value on the way; `is_whole`: with all keys.
#[derive(Clone, Copy)]
struct Part {
    is_whole: bool,
}

impl<'de> DeserializeSeed<'de> for Part {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Part {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(Key(key)) = object.next_key()? {
            if self.is_whole || is_needed(&key) {
                let part = Self { is_whole: self.is_whole || is_whole(&key) };
                values.insert(key.into_owned(), object.next_value_seed(part)?);
            } else {
                object.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Value::Object(values))
    }
}

/// A key, borrowed from the text where it has no escapes.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_borrowed_str<E: Error>(self, key: &'de str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(key)))
            }

            fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(key.to_owned())))
            }
        }
        from.deserialize_str(Keys)
    }
}
