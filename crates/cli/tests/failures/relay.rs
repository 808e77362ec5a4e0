//! A port that leads to another one of this machine, over a network that can be made slow, silent or broken.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const GOOD: u8 = 0;
const SILENT: u8 = 1;

/// Relays connections until the process ends.
pub(crate) struct Relay {
    pub(crate) port: u16,
    network: Arc<Network>,
}

#[derive(Default)]
struct Network {
    mode: AtomicU8,
    /// Milliseconds that each byte takes.
    delay_ms: AtomicU64,
    open: Mutex<Vec<TcpStream>>,
}

impl Relay {
    pub(crate) fn to(port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = listener.local_addr().unwrap().port();
        let network = Arc::new(Network::default());
        let of_relay = network.clone();
        thread::spawn(move || {
            for here in listener.incoming().flatten() {
                let Ok(there) = TcpStream::connect(("127.0.0.1", port)) else { continue };
                let ends = [here.try_clone(), there.try_clone()].map(Result::unwrap);
                of_relay.open.lock().unwrap().extend(ends);
                let (back, out) = (there.try_clone().unwrap(), here.try_clone().unwrap());
                for (from, to) in [(here, there), (back, out)] {
                    let network = of_relay.clone();
                    thread::spawn(move || network.pass(from, to));
                }
            }
        });
        Self { port: own, network }
    }

    /// Breaks all connections; new ones are good.
    pub(crate) fn cut(&self) {
        for end in self.network.open.lock().unwrap().drain(..) {
            let _ = end.shutdown(Shutdown::Both);
        }
    }

    /// Drops all bytes from now on, and keeps the connections open.
    pub(crate) fn silence(&self) {
        self.network.mode.store(SILENT, Ordering::SeqCst);
    }

    /// Each byte takes so long.
    pub(crate) fn delay(&self, time: Duration) {
        let ms = u64::try_from(time.as_millis()).unwrap();
        self.network.delay_ms.store(ms, Ordering::SeqCst);
    }

    /// A good network again; connections that were silent are broken.
    pub(crate) fn mend(&self) {
        self.delay(Duration::ZERO);
        if self.network.mode.swap(GOOD, Ordering::SeqCst) == SILENT {
            self.cut();
        }
    }
}

impl Network {
    fn pass(&self, mut from: TcpStream, mut to: TcpStream) {
        let mut buffer = vec![0; 1 << 16];
        let (sender, receiver) = std::sync::mpsc::channel::<(Instant, Vec<u8>)>();
        // Bytes on their way don't hold up those behind them.
        let writer = thread::spawn(move || {
            for (due, bytes) in receiver {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                if to.write_all(&bytes).is_err() {
                    break;
                }
            }
            let _ = to.shutdown(Shutdown::Write);
        });
        while let Ok(bytes) = from.read(&mut buffer)
            && bytes > 0
        {
            if self.mode.load(Ordering::SeqCst) == SILENT {
                continue;
            }
            let due = Instant::now() + Duration::from_millis(self.delay_ms.load(Ordering::SeqCst));
            if sender.send((due, buffer[..bytes].to_vec())).is_err() {
                break;
            }
        }
        drop(sender);
        let _ = writer.join();
    }
}
