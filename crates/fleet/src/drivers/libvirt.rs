//! The driver `libvirt`: guests of libvirt as machines, with files of their hosts as volumes. A guest carries its claim in libvirt's metadata
//! from the moment at which libvirt knows it, and a file carries the claim's id in its name. docs/how-to/driver-libvirt.md shows it.

mod capabilities;
mod create;
mod destroy;
mod existing;
mod make;
mod names;
mod note;
mod place;
mod pools;
mod reach;
mod settings;
mod validate;

use crate::at::AtOptions;
use crate::libvirt::GuestError;
use driver::protocol::{Answer, Blame, Failure, Task};
use driver::serve::{Driver, Teller};
use run::fault::Fault;

/// The driver.
#[derive(Debug, Clone)]
pub struct Libvirt {
    options: AtOptions,
}

impl Libvirt {
    /// Returns the driver, which connects to hosts in this way.
    #[must_use]
    pub fn new(options: AtOptions) -> Self {
        Self { options }
    }
}

impl Driver for Libvirt {
    fn perform(&self, task: Task, tell: &Teller<'_>) -> Result<Answer, Failure> {
        match task {
            Task::Capabilities => Ok(Answer::Capabilities(capabilities::capabilities())),
            Task::Validate { machines } => Ok(Answer::Valid(validate::validate(&self.options, &machines))),
            Task::Create { claim, machines, ssh_public_key } => {
                create::create(&self.options, &claim, &machines, &ssh_public_key, tell)
            }
            Task::Status { claim, settings } => existing::status(&self.options, &claim, &settings, tell),
            Task::Destroy { claim, settings } => destroy::destroy(&self.options, &claim, &settings, tell),
            Task::List { settings } => existing::list(&self.options, &settings, tell),
        }
    }
}

/// A failed command on a guest or a host.
fn failure(error: &GuestError) -> Failure {
    let blame = match error.fault() {
        Fault::User => Blame::User,
        Fault::Machine => Blame::Provider,
        _ => Blame::Driver,
    };
    Failure { blame, text: record::printable::chain(error), help: None }
}

/// A request that can't be carried out as it is.
fn refused(text: impl Into<String>, help: &str) -> Failure {
    let help = (!help.is_empty()).then(|| help.to_owned());
    Failure { blame: Blame::User, text: text.into(), help }
}
