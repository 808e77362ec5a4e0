//! EC2 for tests: tests/cloud/ec2_server.py and Debian's `aws`.

#![allow(dead_code, unused_imports, reason = "each test program uses a part of it")]

mod relay;
mod service;

pub(crate) use relay::Relay;
pub(crate) use service::{Service, claim, driver_by, driver_of_aws, events_of};
