//! The requests that a node reads.

use crate::heard::Heard;
use crate::protocol::Request;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

/// How often an idle node looks whether its controller is lost.
const LOOK: Duration = Duration::from_millis(200);

/// The requests, until the end of input or until the controller is lost.
pub(crate) struct Requests {
    receiver: Receiver<Request>,
    heard: Arc<Heard>,
}

impl Requests {
    pub(crate) fn new(receiver: Receiver<Request>, heard: Arc<Heard>) -> Self {
        Self { receiver, heard }
    }

    /// The next request; `None`: there are no more.
    pub(crate) fn next(&self) -> Option<Request> {
        loop {
            match self.within(LOOK) {
                Ok(request) => return Some(request),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }

    /// The next request, if it comes within a time.
    pub(crate) fn within(&self, time: Duration) -> Result<Request, RecvTimeoutError> {
        match self.receiver.recv_timeout(time) {
            Err(RecvTimeoutError::Timeout) if self.heard.is_lost() => Err(RecvTimeoutError::Disconnected),
            other => other,
        }
    }
}
