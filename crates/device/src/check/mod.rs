//! The guard's checks. One that can't be made counts as failed.

pub(crate) mod backing;
pub(crate) mod claim;
pub(crate) mod copies;
pub(crate) mod exclusive;
pub(crate) mod exports;
pub(crate) mod generic;
pub(crate) mod magic;
pub(crate) mod maps;
pub(crate) mod mark;
pub(crate) mod openers;
pub(crate) mod plain;
pub(crate) mod probe;
pub(crate) mod processes;
pub(crate) mod root;
pub(crate) mod signature;
pub(crate) mod swap;
pub(crate) mod users;
