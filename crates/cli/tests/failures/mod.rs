//! What the test of failures in the middle of trials is made of.

pub(crate) mod fault;
pub(crate) mod relay;
pub(crate) mod site;
