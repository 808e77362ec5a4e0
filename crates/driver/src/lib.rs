//! Drivers: programs that create and destroy machines and volumes. A driver reads one [`protocol::Request`] as JSON from stdin, and writes
//! [`protocol::Event`]s to stdout, one per line. The last one is its result. docs/driver-protocol.md describes the protocol.

pub mod gce;
pub mod protocol;
pub mod serve;
