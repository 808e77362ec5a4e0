//! A bench for the guard: a loop device that stands for a disk with a name, and a check that nothing was written to it.
#![allow(dead_code, unused_imports, unreachable_pub, reason = "every test binary uses a part of it")]

mod bench;
mod child;
mod mirror;
mod tools;

pub use bench::{Bench, MIB, NAME, start, whatever};
pub use child::Child;
pub use tools::{Mounted, Partition, map_and_stay, mkfs, run, write_at};
