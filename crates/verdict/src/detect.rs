//! Detectors: each examines one trial and makes a claim or none.

mod amplified;
mod bonnie;
mod cache_device;
mod content;
mod cpu;
mod departed;
mod emulated;
mod generator;
mod ground;
mod imported;
mod limited;
mod load;
mod nfs;
mod outcome;
mod setting;
pub(crate) mod source;
mod stalled;
mod thin_pool;
mod throttle_changed;
mod unknown;

use crate::detected::Detected;
use crate::scene::Scene;

pub(crate) use content::{checked, wrong_content};
pub use outcome::REFUSED_TRIALS;
pub(crate) use outcome::{cut_off, failed, skipped, too_wide};

/// The number of detectors that look at one machine.
pub(crate) const COUNT: usize = 47;

/// All detections in one trial, each with the number of its detector. The same thing has the same number in several trials,
/// while two different things may share a claim.
pub(crate) fn in_trial(scene: &Scene<'_>) -> Vec<(usize, Detected)> {
    let detectors: [fn(&Scene<'_>) -> Option<Detected>; COUNT] = [
        source::holes,
        source::page_cache,
        source::arc,
        source::compressed,
        source::not_durable,
        unknown::share,
        unknown::backing,
        ground::memory_backed,
        ground::host_cache,
        ground::double_caching,
        setting::smaller_than_memory,
        setting::shared_file,
        departed::not_as_asked,
        cpu::engine_cpu_bound,
        load::interference,
        cpu::others_used_the_cpu,
        load::io_errors,
        limited::undeclared_limit,
        throttle_changed::throttle_changed,
        limited::cpu_quota,
        limited::network_bound,
        limited::journal_bound,
        limited::serialized,
        bonnie::compressing_stack,
        bonnie::memory_rule,
        bonnie::too_fast,
        cache_device::served,
        cache_device::missed,
        cache_device::write_cache,
        cache_device::owed,
        nfs::server_cache,
        nfs::asynchronous,
        emulated::disks,
        emulated::processor,
        stalled::engine,
        stalled::agent,
        stalled::frozen,
        stalled::by_quota,
        stalled::by_steal,
        stalled::suspended,
        stalled::storage,
        amplified::writes,
        ground::holes_below,
        thin_pool::allocated,
        imported::bonnie,
        imported::buffered,
        imported::options,
    ];
    detectors.iter().enumerate().filter_map(|(number, detect)| Some((number, detect(scene)?))).collect()
}
