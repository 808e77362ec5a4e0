//! The types of diskproof's records: what was requested, what was counted, what was found.
//!
//! Plain serde types, no I/O. Units are in the field names. A counter that is absent is `None`, never 0.

pub mod agreement;
pub mod allowed;
pub mod bonnie;
pub mod choice;
pub mod comparison;
pub mod copy;
pub mod cost;
pub mod counter;
pub mod effective;
pub mod emulated;
pub mod environment;
pub mod event;
pub mod extents;
pub mod find;
pub mod finding;
pub mod fio_option;
pub mod history;
pub mod id;
pub mod job_file;
pub mod judged;
pub mod knobs;
pub mod latency;
pub mod lvm;
pub mod lvm_cache;
pub mod md;
pub mod metric;
pub mod mountinfo;
pub mod nfs;
pub mod pilot;
pub mod plan;
pub mod printable;
pub mod provision;
pub mod quantity;
pub mod roots;
pub mod stack;
pub mod target;
pub mod throttle;
pub mod topology;
pub mod trial;
pub mod tried;
pub mod version;
pub mod volume;
pub mod workload;
pub mod zfs;
