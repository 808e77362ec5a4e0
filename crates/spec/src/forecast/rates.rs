//! Assumed rates and times, of no machine in particular.

/// Assumed rate of writing backing files and data sets, in bytes per second. The limits of emulated volumes apply only while measuring.
pub const LAYOUT_RATE: f64 = 300e6;
/// Assumed rate of an unlimited volume while measuring, in bytes per second.
pub const UNLIMITED_RATE: f64 = 500e6;
/// Assumed seconds until a write is durable, where it waits for its own sync.
pub const DURABLE_SECONDS: f64 = 0.2e-3;
/// Seconds to verify one limit of an emulated volume.
pub const VERIFY_SECONDS: f64 = 3.0;
/// Seconds to attach one volume and check it with the guard.
pub const VOLUME_SECONDS: f64 = 0.2;
/// Seconds to build one layer and take it down again.
pub const LAYER_SECONDS: f64 = 0.8;
/// Seconds per trial for everything else: starting the engine, dropping caches, reading extents, storing.
pub const TRIAL_SECONDS: f64 = 1.0;

/// Factor by which a lab guest with software emulation is slower in all this (docs/lab.md).
pub const GUEST_SLOWNESS: f64 = 4.0;
/// Size of a request that lays out data, in bytes.
pub(crate) const LAYOUT_BLOCK: f64 = 1_048_576.0;

/// What a forecast assumes of writes: each field says whether the bytes written would be others without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Assumed {
    /// A volume without limits writes [`UNLIMITED_RATE`].
    pub rate: bool,
    /// A durable write takes [`DURABLE_SECONDS`].
    pub durable: bool,
}
