//! The node's way to the controller.

use crate::protocol::Reply;
use record::event::Event;
use std::cell::RefCell;
use std::io::Write;

/// Writes replies. Write errors are ignored: the node notices a lost controller by the end of its input.
pub(crate) struct Emitter<W: Write>(RefCell<W>);

impl<W: Write> Emitter<W> {
    pub(crate) fn to(output: W) -> Self {
        Self(RefCell::new(output))
    }

    pub(crate) fn send(&self, reply: &Reply) {
        if let Ok(mut line) = serde_json::to_vec(reply) {
            line.push(b'\n');
            let mut out = self.0.borrow_mut();
            let _ = out.write_all(&line).and_then(|()| out.flush());
        }
    }

    pub(crate) fn event(&self, event: Event) {
        self.send(&Reply::Event { event });
    }
}
