//! Built-in drivers that need more than a provider's interface.

mod lab;

pub use lab::LabDriver;
