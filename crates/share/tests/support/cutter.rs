//! A proxy that cuts connections after a random number of bytes.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

/// The proxy. It lets everything through once it has made all its cuts.
pub(crate) struct Cutter {
    pub(crate) address: String,
    left: Arc<AtomicI64>,
}

impl Cutter {
    /// Forwards to `upstream`. Each of the first `cuts` connections that carries enough bytes ends after at most `longest` bytes of
    /// both directions together.
    pub(crate) fn new(upstream: &str, cuts: i64, longest: u64, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let left = Arc::new(AtomicI64::new(cuts));
        let (upstream, counter) = (upstream.to_owned(), Arc::clone(&left));
        thread::spawn(move || {
            let mut random = seed;
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(&upstream) else { return };
                // splitmix64
                random = random.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = random;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                let budget = Arc::new(AtomicU64::new((z ^ (z >> 31)) % longest));
                for (from, to) in [(&client, &server), (&server, &client)] {
                    let (from, to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                    let (budget, left) = (Arc::clone(&budget), Arc::clone(&counter));
                    thread::spawn(move || pass(from, to, &budget, &left));
                }
            }
        });
        Self { address, left }
    }

    /// How many cuts are still to come.
    pub(crate) fn left(&self) -> i64 {
        self.left.load(Ordering::SeqCst).max(0)
    }
}

fn pass(mut from: TcpStream, mut to: TcpStream, budget: &AtomicU64, left: &AtomicI64) {
    let mut buffer = [0_u8; 4096];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        let had = budget
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |had| Some(had.saturating_sub(read as u64)));
        let had = had.unwrap_or(0);
        if had < read as u64 && left.load(Ordering::SeqCst) > 0 {
            let _ = to.write_all(&buffer[..usize::try_from(had).unwrap()]);
            // Both directions see the end, but it is one cut.
            if to.peer_addr().is_ok() && from.shutdown(Shutdown::Both).is_ok() {
                left.fetch_sub(1, Ordering::SeqCst);
            }
            let _ = to.shutdown(Shutdown::Both);
            return;
        }
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}
