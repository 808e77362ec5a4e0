//! Copies of a file to or from many machines at once: what is the same in both directions.

use super::copied::{Copied, CopyError, Said};
use crate::drive::{Done, Drive, Errand, Fanout, Task};
use crate::link::Reach;
use host::{Ssh, Stream};
use record::machine::Machine;
use std::io;
use std::sync::atomic::AtomicBool;

/// What follows a command of a copy.
pub(super) enum Next {
    /// Another command.
    Task(Task),
    /// Nothing: the copy is whole, and in place.
    Whole(Copied),
}

/// The copy of one machine.
pub(super) trait OneCopy {
    /// The first command.
    fn begin(&mut self, ssh: &Ssh) -> Result<Task, CopyError>;

    /// What follows a command that succeeded. `answer` is what it printed, without what [`OneCopy::takes`].
    fn next(&mut self, ssh: &Ssh, answer: &str) -> Result<Next, CopyError>;

    /// Takes what a command prints, if it is content of the file.
    fn takes(&mut self, bytes: &[u8]) -> bool;
}

/// Tells what became of a machine's copy, by the machine's place in the list.
pub(super) type Tell<'a> = &'a mut dyn FnMut(usize, Result<Copied, CopyError>);

/// Makes one copy per machine. Returns whether all were tried; `false` when it was cancelled.
///
/// # Errors
/// The directory of the sockets can't be made, or the kernel refuses to wait.
pub(super) fn copy_all<C: OneCopy>(
    machines: &[Machine],
    copies: Vec<C>,
    reach: &Reach,
    fanout: usize,
    tell: Tell<'_>,
    cancel: &AtomicBool,
) -> io::Result<bool> {
    let far = copies.into_iter().map(|copy| (copy, Said::default())).collect();
    let fanout = Fanout { most: fanout, skips_silent: false };
    Drive::shared(machines, reach)?.errand(0..machines.len(), fanout, &mut Copying { far, tell }, cancel)
}

struct Copying<'a, C> {
    far: Vec<(C, Said)>,
    tell: Tell<'a>,
}

impl<C: OneCopy> Errand for Copying<'_, C> {
    fn next(&mut self, machine: usize, ssh: &Ssh, before: Option<Done>) -> Option<Task> {
        let (copy, said) = self.far.get_mut(machine)?;
        let next = match before {
            None => copy.begin(ssh).map(Next::Task),
            Some(done) => std::mem::take(said).answer(&done).and_then(|answer| copy.next(ssh, &answer)),
        };
        match next {
            Ok(Next::Task(task)) => return Some(task),
            Ok(Next::Whole(copied)) => (self.tell)(machine, Ok(copied)),
            Err(error) => (self.tell)(machine, Err(error)),
        }
        None
    }

    fn hears(&mut self, machine: usize, stream: Stream, bytes: &[u8]) {
        let Some((copy, said)) = self.far.get_mut(machine) else { return };
        if stream == Stream::Err || !copy.takes(bytes) {
            said.hears(stream, bytes);
        }
    }
}
