//! The controller's connection to one agent process (node).

use crate::error::{RunError, Sink};
use crate::fault::Fault;
use crate::guest_disks::HostedDisk;
use crate::link::{Heard, Link, LinkError};
use crate::protocol::{PROTOCOL, Reply, Request};
use record::environment::Environment;
use record::event::Event;
use record::id::LOCAL;
use record::printable::printable;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A node and the command that starts it.
#[derive(Debug, Clone)]
pub struct NodeAt {
    /// The name of the target on which it runs.
    pub target: String,
    /// The command to run on this machine; for another machine it begins with the way there, e.g. ssh.
    pub argv: Vec<OsString>,
    /// Whether a network lies between. Such a node ends its work when it hears nothing of the controller for some seconds.
    pub remote: bool,
    /// Disks of the target that are files on this machine, because the target is a guest.
    pub hosted: Vec<HostedDisk>,
}

/// A started node, and whether it knows that the user wants to stop.
pub(crate) struct AgentLink {
    pub(crate) target: String,
    pub(crate) link: Link,
    pub(crate) told: bool,
    remote: bool,
    pub(crate) hosted: Vec<HostedDisk>,
    /// The name by which an NFSv4 server tells the machine from other clients, once it has said hello.
    pub(crate) nfs_name: Option<String>,
}

impl AgentLink {
    pub(crate) fn to(node: &NodeAt) -> Result<Self, RunError> {
        let target = node.target.clone();
        match Link::start(&node.argv) {
            Ok(link) => {
                let (remote, hosted) = (node.remote, node.hosted.clone());
                Ok(Self { target, link, told: false, remote, hosted, nfs_name: None })
            }
            Err(error) => Err(on(&target, error.into())),
        }
    }

    pub(crate) fn hello(
        &mut self,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<Box<Environment>, RunError> {
        match self.ask(&Request::Hello { protocol: PROTOCOL }, cancel, sink)? {
            Reply::Hello { protocol, environment, nfs_name } if protocol == PROTOCOL => {
                self.nfs_name = nfs_name;
                if self.remote {
                    self.link.keep_alive().map_err(|error| on(&self.target, error.into()))?;
                }
                Ok(environment)
            }
            Reply::Hello { protocol, .. } => Err(on(
                &self.target,
                RunError::Protocol { theirs: protocol.to_string(), ours: PROTOCOL.to_string() },
            )),
            other => Err(on(&self.target, out_of_turn(&other))),
        }
    }

    /// Sends a request and returns the reply that ends it. Meanwhile it passes events to `sink`, and a cancel to the node.
    pub(crate) fn ask(
        &mut self,
        request: &Request,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, RunError> {
        self.converse(request, cancel, sink).map_err(|error| on(&self.target, error))
    }

    /// Sends the cancel to the node, once.
    pub(crate) fn tell_if(&mut self, cancel: bool) -> Result<(), LinkError> {
        if !self.told && cancel {
            self.told = true;
            self.link.send(&Request::Cancel)?;
        }
        Ok(())
    }

    fn converse(
        &mut self,
        request: &Request,
        cancel: &AtomicBool,
        sink: &mut Sink<'_>,
    ) -> Result<Reply, RunError> {
        self.link.send(request)?;
        loop {
            self.tell_if(cancel.load(Ordering::Relaxed))?;
            match self.link.wait(Duration::from_millis(50))? {
                Heard::Silence => {}
                Heard::Said(line) => sink(said(&self.target, &line)).map_err(RunError::Sink)?,
                Heard::Reply(Reply::Event { event }) => {
                    sink(event.of_target(&self.target)).map_err(RunError::Sink)?;
                }
                Heard::Reply(Reply::Failed { blame, error }) => return Err(RunError::Node { blame, error }),
                Heard::Reply(reply) => return Ok(reply),
            }
        }
    }
}

/// Adds the machine's name to an error, unless it is this machine or the event sink failed.
pub(crate) fn on(target: &str, error: RunError) -> RunError {
    match error {
        RunError::Sink(_) => error,
        _ if target == LOCAL => error,
        _ => RunError::On { target: target.to_owned(), source: Box::new(error) },
    }
}

/// A line of a node's standard error, as an event.
pub(crate) fn said(target: &str, line: &str) -> Event {
    let text = if target == LOCAL { line.to_owned() } else { format!("target {target} says: {line}") };
    Event::Warning { text }
}

pub(crate) fn out_of_turn(reply: &Reply) -> RunError {
    let mut text = format!("{reply:?}");
    text.truncate(text.char_indices().nth(200).map_or(text.len(), |(i, _)| i));
    RunError::OutOfTurn(printable(&text).into_owned())
}

/// Whether the user asked to stop. A signal to both ends at once, as from systemd or Slurm, may reach the other one first.
pub(crate) fn is_asked(stop: &AtomicBool) -> bool {
    (0..10).any(|_| {
        let is_set = stop.load(Ordering::Relaxed);
        if !is_set {
            std::thread::sleep(Duration::from_millis(50));
        }
        is_set
    })
}

/// An agent process that ended a trial although nobody here asked for it.
pub(crate) fn stopped_there(target: &str) -> RunError {
    let error = "its agent process was told to end there".to_owned();
    on(target, RunError::Node { blame: Fault::Machine, error })
}

#[cfg(test)]
mod tests {
    use super::{AgentLink, NodeAt};
    use crate::protocol::Request;
    use record::printable::chain;
    use std::sync::atomic::AtomicBool;

    /// Without the report, the controller would wait for the node's answer to the cancel.
    #[test]
    fn a_node_that_hangs_holds_nobody_up_who_asked_to_stop() {
        let script = r#"read close; read cancel; case $cancel in *cancel*) ;; *) exit 1 ;; esac
            echo '{"reply":"hung","what":"process umount hangs"}'
            while sleep 0.1; do echo '{"reply":"alive"}' || exit; done"#;
        let argv = ["sh", "-c", script].map(Into::into).to_vec();
        let at = NodeAt { target: "m1".to_owned(), argv, remote: true, hosted: Vec::new() };
        let mut line = AgentLink::to(&at).unwrap();
        let error = line.ask(&Request::Close, &AtomicBool::new(true), &mut |_| Ok(())).unwrap_err();
        let said = chain(&error);
        assert!(said.starts_with("target m1: ") && said.contains("process umount hangs; when"), "{said}");
        drop(line);
    }
}
