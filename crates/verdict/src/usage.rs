//! How much of each resource a trial used: the CPU, the devices' queues, the network, and what limits grant.

pub(crate) mod cpu;
pub(crate) mod generator;
pub(crate) mod network;
pub(crate) mod queue;
pub(crate) mod quota;
pub(crate) mod rate;
pub(crate) mod throttle;
