//! `diskproof job work`: takes blocks from a Gearman server, one after the other.

use super::block::{Ended, Task, host_name};
use crate::args::JobWork;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::queue::gearman::{Connection, Job};
use fleet::queue::{Descriptor, QueueError};
use record::block::Queue;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often to look for signals while there is nothing to do.
const LOOK: Duration = Duration::from_millis(200);
/// How long to wait for the server's word before asking it again: a server that vanished sends none, and doesn't answer either.
const ASK: Duration = Duration::from_secs(60);
/// How long to wait before the next attempt to reach the server.
const AGAIN: Duration = Duration::from_secs(5);

pub(super) fn work(args: &JobWork, settings: &Settings) -> Result<Exit, Failure> {
    let cant = |e: std::io::Error| Failure::machine(format!("can't catch signals: {e}"));
    let (wish, term) = Wish::listen_except_term().map_err(cant)?;
    wish.answer_with(output::aside).map_err(cant)?;
    let mut worker = Worker { args, settings, wish: &wish, term, done: 0, failed: 0 };
    // A server that isn't there when the work begins is a mistake; later it may come back.
    let mut server = worker.connect()?;
    loop {
        match worker.serve(&mut server) {
            Ok(()) => return worker.ended(),
            Err(Trouble::Block(failure)) => return Err(failure),
            Err(Trouble::Server(failure)) => {
                output::aside(&format!("{failure}; trying again every {} s", AGAIN.as_secs()));
                let Some(again) = worker.connect_again() else { return worker.ended() };
                server = again;
            }
        }
    }
}

/// Why the work can't go on as it is.
enum Trouble {
    /// The server is gone.
    Server(Failure),
    /// A block can't be done on this machine.
    Block(Failure),
}

/// Whether the block is why it failed, and not this worker.
fn is_wrong_everywhere(failure: &Failure) -> bool {
    let first: &(dyn std::error::Error + 'static) = failure.error.as_ref();
    std::iter::successors(Some(first), |error| error.source())
        .any(|error| error.downcast_ref::<QueueError>().is_some_and(QueueError::is_wrong_everywhere))
}

struct Worker<'a> {
    args: &'a JobWork,
    settings: &'a Settings,
    wish: &'a Wish,
    /// SIGTERM came: end after the block.
    term: Arc<AtomicBool>,
    done: u64,
    failed: u64,
}

impl Worker<'_> {
    fn connect(&self) -> Result<Connection, Failure> {
        let mut server = Connection::open(&self.args.gearman)?;
        server.offer(&format!("diskproof-{}-{}", host_name(), std::process::id()))?;
        Ok(server)
    }

    /// `None` when a signal came.
    fn connect_again(&self) -> Option<Connection> {
        while !self.is_over() {
            if let Ok(server) = self.connect() {
                return Some(server);
            }
            let mut waited = Duration::ZERO;
            while waited < AGAIN && !self.is_over() {
                std::thread::sleep(LOOK);
                waited += LOOK;
            }
        }
        None
    }

    /// Does blocks until a signal comes, or none is left and the user wants no more.
    fn serve(&mut self, server: &mut Connection) -> Result<(), Trouble> {
        let gone = |error: QueueError| Trouble::Server(error.into());
        while !self.is_over() {
            if let Some(job) = server.grab().map_err(gone)? {
                if !self.perform(server, &job)? {
                    return Ok(());
                }
                continue;
            }
            if self.args.until_empty {
                return Ok(());
            }
            server.doze().map_err(gone)?;
            let dozing = Instant::now();
            while !self.is_over() && dozing.elapsed() < ASK && !server.is_woken(LOOK).map_err(gone)? {}
        }
        Ok(())
    }

    /// Does one block; `false` when the user interrupted it. Then, and when this machine can't do it, the server learns it by the end of the
    /// connection, and gives the block to another worker.
    fn perform(&mut self, server: &mut Connection, job: &Job) -> Result<bool, Trouble> {
        let reported =
            |reported: Result<(), QueueError>| reported.map_err(|error| Trouble::Server(error.into()));
        match self.block(job) {
            Ok(Ended::Done) => {
                self.done += 1;
                reported(server.complete(job)).map(|()| true)
            }
            Ok(Ended::Interrupted) => Ok(false),
            // Only a block that no worker can do is taken out of the queue; what this worker lacks, another one may have.
            Err(failure) if is_wrong_everywhere(&failure) => {
                self.failed += 1;
                output::complain(&failure);
                reported(server.fail(job)).map(|()| true)
            }
            Err(failure) => Err(Trouble::Block(failure)),
        }
    }

    fn block(&self, job: &Job) -> Result<Ended, Failure> {
        let block = Descriptor::read(&String::from_utf8_lossy(&job.data))?;
        let task = Task {
            block: &block,
            queue: Some(Queue::Gearman { job: job.handle.clone() }),
            results: self.args.results.as_deref(),
            settings: self.settings,
            wish: self.wish,
        };
        task.perform()
    }

    fn is_over(&self) -> bool {
        self.term.load(Ordering::Relaxed) || self.wish.cancel.load(Ordering::Relaxed)
    }

    fn ended(&self) -> Result<Exit, Failure> {
        let failed = if self.failed > 0 { format!(", {} refused", self.failed) } else { String::new() };
        output::aside(&format!("{} blocks done{failed}", self.done));
        if let Some(signal) = self.wish.signal().and_then(|signal| u8::try_from(signal).ok()) {
            output::aside(
                "interrupted; all that was built is undone, and the server gives the block to another worker",
            );
            return Ok(Exit::Signal(signal));
        }
        if self.term.load(Ordering::Relaxed) {
            output::aside("SIGTERM came: the work ends after the block");
        }
        Ok(if self.failed > 0 { Exit::Input } else { Exit::Fine })
    }
}
