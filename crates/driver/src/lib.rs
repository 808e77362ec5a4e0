//! Drivers: programs that create and destroy machines and volumes. A driver reads one [`protocol::Request`] as JSON from stdin, and writes
//! [`protocol::Event`]s to stdout, one per line. The last one is its result. docs/driver-protocol.md describes the protocol.

mod call;
pub mod conformance;
pub mod ec2;
pub mod gce;
pub mod journal;
pub mod metadata;
mod name;
mod program;
pub mod protocol;
pub mod serve;
pub mod settings;

pub use call::{CallError, Heard, How, call, converse};
pub use name::plain as plain_name;
pub use program::{PREFIX, Places, Program, ProgramError, own};

/// The JSON Schema of a request.
#[must_use]
pub fn request_schema() -> serde_json::Value {
    schemars::schema_for!(protocol::Request).to_value()
}

/// The JSON Schema of an event: one line of a driver's output.
#[must_use]
pub fn event_schema() -> serde_json::Value {
    schemars::schema_for!(protocol::Event).to_value()
}
