//! Ports for servers that a test starts.

use std::net::TcpListener;
use std::sync::atomic::{AtomicU16, Ordering};

/// The first of the ports, and their number. They are below the kernel's own range (ip_local_port_range, from 32768), so the kernel gives
/// none of them to a program that asks for any port before the test's server listens.
const FIRST: u16 = 20000;
const COUNT: u16 = 12000;

/// Returns a port on which nothing listens. Each call of a process returns another port, and processes nearly always begin at
/// different ones.
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
