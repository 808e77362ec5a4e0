//! Performs the tasks of the driver protocol.

use super::aws::Aws;
use super::create::Creation;
use super::destroy::Destruction;
use super::error::Ec2Error;
use super::pace::Pace;
use super::reading::{Account, account_of, request};
use super::settings::capabilities;
use super::status;
use super::survey::Survey;
use crate::protocol::{Answer, Blame, Failure, MachineRequest, Settings, Task, Valid};
use crate::serve::{Driver, Teller};
use host::{LocalRunner, Runner};

/// The driver `ec2`.
pub struct Ec2 {
    runner: Box<dyn Runner>,
    pace: Pace,
}

impl Default for Ec2 {
    fn default() -> Self {
        Self::new(Box::new(LocalRunner), Pace::default())
    }
}

impl Ec2 {
    /// Makes a driver that runs `aws` by this runner.
    #[must_use]
    pub fn new(runner: Box<dyn Runner>, pace: Pace) -> Self {
        Self { runner, pace }
    }

    fn aws(&self, account: &Account) -> Aws<'_> {
        Aws::new(&*self.runner, &account.region, account.endpoint.as_deref(), self.pace)
    }

    fn validate(&self, machines: &[MachineRequest]) -> Result<Answer, Ec2Error> {
        let request = match request(machines) {
            Ok(request) => request,
            Err(problems) => return Ok(Answer::Valid(Valid { problems, offers: Vec::new() })),
        };
        let survey = Survey::take(&self.aws(&request.account), &request.machines)?;
        let problems = survey.problems(&request.machines);
        let offers = request.machines.iter().map(|machine| survey.offer(&machine.wanted));
        let offers = if problems.is_empty() { offers.collect() } else { Vec::new() };
        Ok(Answer::Valid(Valid { problems, offers }))
    }
}

impl Driver for Ec2 {
    fn perform(&self, task: Task, tell: &Teller<'_>) -> Result<Answer, Failure> {
        match task {
            Task::Capabilities => Ok(Answer::Capabilities(capabilities())),
            Task::Validate { machines } => Ok(self.validate(&machines)?),
            Task::Create { claim, machines, ssh_public_key } => {
                let request = request(&machines).map_err(Ec2Error::Settings)?;
                let aws = self.aws(&request.account);
                let creation = Creation {
                    aws: &aws,
                    claim: &claim,
                    request: &request,
                    public_key: &ssh_public_key,
                    tell,
                };
                Ok(Answer::Created { machines: creation.perform()? })
            }
            Task::Status { claim, settings } => {
                Ok(status::status(&self.aws(&account(&settings)?), &claim.id).map_err(Ec2Error::from)?)
            }
            Task::Destroy { claim, settings } => {
                let account = account(&settings)?;
                Ok(Destruction::new(&self.aws(&account), &claim.id, tell).perform(account.wait)?)
            }
            Task::List { settings } => {
                Ok(status::list(&self.aws(&account(&settings)?)).map_err(Ec2Error::from)?)
            }
        }
    }
}

fn account(settings: &Settings) -> Result<Account, Failure> {
    account_of(settings).ok_or_else(|| Failure {
        blame: Blame::User,
        text: "region is missing".to_owned(),
        help: Some("set it in the experiment, or AWS_REGION".to_owned()),
    })
}
