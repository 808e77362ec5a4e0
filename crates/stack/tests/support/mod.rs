//! Shared parts of the loop tests.
#![allow(dead_code, unused_imports, reason = "each test binary uses its part of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that can't go on panics")]

mod bcache;
mod bench;
mod faults;
mod luks;
mod managed;
mod nfs;
mod rate;
mod scenario;
mod thin;

pub(crate) use bcache::{bcache, bcache_dir, cached_by_bcache, is_cached_as_asked};
pub(crate) use bench::{Bench, Hook, chain, name};
pub(crate) use faults::{Fault, Matrix, asked_for_all, of_today, stands_and_falls};
pub(crate) use luks::{encrypted, is_encrypted_as_asked, luks};
pub(crate) use managed::{cached, is_as_asked, keeping, lvm, managed, md, on_ssd, ssd, striped};
pub(crate) use nfs::{Server, apart, served};
pub(crate) use rate::{KEPT, limits, rate};
pub(crate) use scenario::{Scenario, emulated, has_zfs, knobs, scenarios, simple, works, zfs};
pub(crate) use thin::{in_pool, is_thin_as_asked, thin, thin_pools};
