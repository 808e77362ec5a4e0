//! The driver for GCE against a server that takes only what Google's own description of the API allows (server.py).

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

mod cases;
mod faults;
mod rig;
mod rules;
