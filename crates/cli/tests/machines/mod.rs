//! What the tests of `diskproof machines` share.

pub(crate) mod relay;
pub(crate) mod site;
