//! The node's way to the controller.

use crate::heard::Heard;
use crate::protocol::Reply;
use record::event::Event;
use std::cell::RefCell;
use std::io::Write;
use std::sync::Arc;

/// Writes replies. Write errors are ignored: the node notices a lost controller by the end of its input. Nothing is written to a lost
/// controller, because nobody reads it and the write would block.
pub(crate) struct Emitter<W: Write> {
    to: RefCell<W>,
    heard: Arc<Heard>,
}

impl<W: Write> Emitter<W> {
    pub(crate) fn to(output: W, heard: Arc<Heard>) -> Self {
        Self { to: RefCell::new(output), heard }
    }

    pub(crate) fn send(&self, reply: &Reply) {
        if self.heard.is_lost() {
            return;
        }
        if let Ok(mut line) = serde_json::to_vec(reply) {
            line.push(b'\n');
            let mut out = self.to.borrow_mut();
            let _ = out.write_all(&line).and_then(|()| out.flush());
        }
    }

    pub(crate) fn event(&self, event: Event) {
        self.send(&Reply::Event { event });
    }
}
