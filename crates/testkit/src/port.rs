//! Ports for servers that a test starts.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first of the ports, and how many there are. The kernel gives none of them to those who ask for any port: its own begin at 32768
/// (ip_local_port_range). So nobody takes one before its server listens.
const FIRST: u16 = 20000;
const COUNT: u16 = 12000;

/// Returns a port on which nothing listens. Calls of one process return different ones, and those of processes that run at the same time
/// begin apart.
///
/// # Panics
/// If something listens on all of them.
#[must_use]
pub fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    for _ in 0..COUNT {
        let nth = u32::from(NEXT.fetch_add(1, Ordering::Relaxed));
        let offset = (std::process::id().wrapping_mul(61).wrapping_add(nth)) % u32::from(COUNT);
        let port = u16::try_from(offset).map_or(FIRST, |offset| FIRST + offset);
        if TcpListener::bind(("0.0.0.0", port)).is_ok() {
            return port;
        }
    }
    panic!("no free port");
}
