//! EC2 for tests: tests/cloud/ec2_server.py and Debian's `aws`.

mod relay;
mod service;

pub(crate) use relay::Relay;
pub(crate) use service::{Service, claim, driver_by, events_of};
