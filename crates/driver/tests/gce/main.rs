//! The driver for GCE against a server that takes only what Google's own description of the API allows (server.py).

mod cases;
mod faults;
mod rig;
mod rules;
