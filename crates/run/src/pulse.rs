//! Says regularly that the node is there, and tells when its work hangs in the kernel: then no final reply may ever come.

use crate::emitter::Emitter;
use crate::protocol::{ALIVE_EVERY, HUNG_AFTER, Reply};
use device::Roots;
use observe::{HangWatch, threads_below};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Instant;

/// A thread that speaks while another one works. It ends when this is dropped.
pub(crate) struct Pulse {
    _ender: Sender<()>,
}

impl Pulse {
    /// Begins for the thread that calls it. While `loading` is set, processes don't hang: how long a load may take is known to its
    /// engine, and a disk that stalls is a result.
    pub(crate) fn begin<W: AsFd + Send + Sync + 'static>(
        out: Arc<Emitter<W>>,
        loading: Arc<AtomicBool>,
    ) -> Self {
        let (ender, ended) = channel();
        let worker = rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs();
        std::thread::spawn(move || {
            let roots = Roots::default();
            let mut watch = HangWatch::new(roots.clone(), HUNG_AFTER);
            let mut then = Instant::now();
            let mut is_told = false;
            loop {
                out.send_if_free(&Reply::Alive);
                if ended.recv_timeout(ALIVE_EVERY) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
                let mut threads = vec![worker];
                if !loading.load(Ordering::Relaxed) {
                    threads.extend(threads_below(&roots, std::process::id()));
                }
                let now = Instant::now();
                if let Some(hang) = watch.look(&threads, now - then).filter(|_| !is_told) {
                    is_told = out.send_if_free(&Reply::Hung { what: hang.to_string() });
                }
                then = now;
            }
        });
        Self { _ender: ender }
    }
}
