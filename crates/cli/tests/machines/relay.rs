//! A port that leads to another one of this machine, and counts what goes there.

#![allow(dead_code, reason = "each test file uses a part")]

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// Relays connections until the process ends.
pub(crate) struct Relay {
    pub(crate) port: u16,
    sent: Arc<AtomicU64>,
}

impl Relay {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let sent = Arc::new(AtomicU64::new(0));
        let count = sent.clone();
        thread::spawn(move || {
            for here in listener.incoming().flatten() {
                let there = TcpStream::connect(("127.0.0.1", port)).unwrap();
                let (back, out) = (there.try_clone().unwrap(), here.try_clone().unwrap());
                let count = count.clone();
                thread::spawn(move || pass(here, there, &count));
                thread::spawn(move || pass(back, out, &AtomicU64::new(0)));
            }
        });
        Self { port: own, sent }
    }

    /// The bytes that went to the other port since the last call.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.swap(0, Ordering::SeqCst)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, count: &AtomicU64) {
    let mut buffer = vec![0; 1 << 16];
    while let Ok(bytes) = from.read(&mut buffer)
        && bytes > 0
        && to.write_all(&buffer[..bytes]).is_ok()
    {
        count.fetch_add(bytes as u64, Ordering::SeqCst);
    }
    let _ = to.shutdown(Shutdown::Write);
}
