//! Creates machines.

use super::aws::Aws;
use super::ebs::VolumeType;
use super::error::{AwsError, Ec2Error};
use super::found;
use super::launch::{self, Launch};
use super::reading::{Machine, Request};
use super::survey::Survey;
use super::{account, firewall, tags, user_data, wait};
use crate::protocol::{
    Claim, Created, CreatedOffer, CreatedVolume, DeviceName, Offer, Resource, ResourceKind,
};
use crate::serve::Teller;
use serde_json::Value;
use std::collections::BTreeMap;
use std::thread;

/// A request that is carried out.
pub(super) struct Creation<'a, 't> {
    pub(super) aws: &'a Aws<'a>,
    pub(super) claim: &'a Claim,
    pub(super) request: &'a Request,
    pub(super) public_key: &'a str,
    pub(super) tell: &'a Teller<'t>,
}

impl Creation<'_, '_> {
    /// Creates what isn't there yet, and waits until each machine can be reached.
    pub(super) fn perform(&self) -> Result<Vec<Created>, Ec2Error> {
        let machines = &self.request.machines;
        self.tell.step(None, "asking EC2 what the claim has, and for types and images");
        let (survey, existing, account) = thread::scope(|scope| {
            let account = scope.spawn(|| account::number(self.aws));
            let existing = scope.spawn(|| found::instances(self.aws, &tags::filter(&self.claim.id)));
            let survey = Survey::take(self.aws, machines);
            let existing = existing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (survey, existing, account.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        });
        let (survey, existing) = (survey?, existing?);
        if let Some(account) = account? {
            self.tell.account(account);
        }
        let problems = survey.problems(machines);
        if !problems.is_empty() {
            return Err(Ec2Error::Settings(problems));
        }
        let launches = self.launches(&existing);
        let groups = self.groups(&launches)?;
        self.launch_all(&launches, &groups, &survey)?;
        self.tell.step(None, "waiting until the machines run");
        let running = wait::until_running(self.aws, self.claim, machines, self.request.account.wait)?;
        self.finish(&running, &survey)
    }

    /// What is to be launched: machines that no living instance was launched for.
    fn launches(&self, existing: &[Value]) -> Vec<Launch<'_>> {
        let ours = existing.iter().filter(|instance| tags::is_of(instance, &self.claim.id));
        let (alive, ended): (Vec<_>, Vec<_>) =
            ours.partition(|instance| found::machine_state(instance).is_some());
        let launched: Vec<_> = alive.into_iter().flat_map(tags::launched_with).collect();
        let missing =
            self.request.machines.iter().filter(|machine| !launched.contains(&machine.name.as_str()));
        let mut launches = launch::group(missing);
        for launch in &mut launches {
            let names = launch.names();
            let of_these =
                ended.iter().filter(|of| tags::machine_name(of).is_some_and(|name| names.contains(&name)));
            let mut ids: Vec<_> =
                of_these.filter_map(|of| of["InstanceId"].as_str()).map(str::to_owned).collect();
            ids.sort();
            launch.ended = ids;
        }
        launches
    }

    /// The security group of each launch.
    fn groups(&self, launches: &[Launch<'_>]) -> Result<Vec<String>, Ec2Error> {
        let mut own: BTreeMap<Option<&str>, String> = BTreeMap::new();
        let mut groups = Vec::new();
        for wanted in launches.iter().filter_map(Launch::wanted) {
            let group = match &wanted.security_group {
                Some(group) => group.clone(),
                None => match own.get(&wanted.subnet.as_deref()) {
                    Some(group) => group.clone(),
                    None => {
                        self.tell.step(None, "making a security group");
                        let group = firewall::own_group(self.aws, self.claim, wanted, self.tell)?;
                        own.insert(wanted.subnet.as_deref(), group.clone());
                        group
                    }
                },
            };
            groups.push(group);
        }
        Ok(groups)
    }

    fn launch_all(
        &self,
        launches: &[Launch<'_>],
        groups: &[String],
        survey: &Survey,
    ) -> Result<(), Ec2Error> {
        thread::scope(|scope| {
            let pairs = launches.iter().zip(groups);
            let handles: Vec<_> = pairs
                .map(|(launch, group)| scope.spawn(move || self.launch(launch, group, survey)))
                .collect();
            let join = |handle: thread::ScopedJoinHandle<'_, _>| {
                handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            // All are awaited before the first failure is told.
            let outcomes: Vec<Result<(), Ec2Error>> = handles.into_iter().map(join).collect();
            outcomes.into_iter().collect()
        })
    }

    fn launch(&self, launch: &Launch<'_>, group: &str, survey: &Survey) -> Result<(), Ec2Error> {
        let Some(wanted) = launch.wanted() else { return Ok(()) };
        let Some(image) = survey.image(wanted) else { return Ok(()) };
        self.tell.step(None, format!("launching {}", launch.names().join(", ")));
        let input = launch.input(wanted, self.claim, self.public_key, image, group)?;
        let reply = self.run_instances(&input)?;
        for instance in reply["Instances"].as_array().into_iter().flatten() {
            if let Some(resource) = found::machine(instance) {
                self.tell.made(resource);
            }
        }
        Ok(())
    }

    /// A group that was made a moment ago may not be known to a launch yet.
    fn run_instances(&self, input: &Value) -> Result<Value, AwsError> {
        let begin = std::time::Instant::now();
        loop {
            match self.aws.call("run-instances", input) {
                Err(error)
                    if error.code() == Some("InvalidGroup.NotFound")
                        && begin.elapsed() < self.aws.pace().patience =>
                {
                    thread::sleep(self.aws.pace().poll);
                }
                outcome => return outcome,
            }
        }
    }

    /// Waits for each machine's sshd, all at the same time.
    fn finish(&self, running: &BTreeMap<String, Value>, survey: &Survey) -> Result<Vec<Created>, Ec2Error> {
        self.tell.step(None, "waiting until the machines answer by ssh");
        thread::scope(|scope| {
            let machines = self
                .request
                .machines
                .iter()
                .filter_map(|machine| Some((machine, running.get(&machine.name)?)));
            let handles: Vec<_> = machines
                .map(|(machine, instance)| scope.spawn(move || self.reach(machine, instance, survey)))
                .collect();
            handles
                .into_iter()
                .map(|handle| handle.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn reach(&self, machine: &Machine, instance: &Value, survey: &Survey) -> Result<Created, Ec2Error> {
        let wanted = &machine.wanted;
        let id = instance["InstanceId"].as_str().unwrap_or_default();
        let address = found::address(instance, wanted.private_address).unwrap_or_default();
        let limit = self.request.account.wait;
        wait::until_answers(self.aws.pace(), &machine.name, id, (address, wanted.ssh_port), limit)?;
        let host_keys = self.host_keys(&machine.name, id);
        let offer = survey.offer(wanted);
        let volumes = self.volumes(machine, instance, survey, &offer);
        Ok(Created {
            name: machine.name.clone(),
            id: id.to_owned(),
            address: address.to_owned(),
            port: (wanted.ssh_port != 22).then_some(wanted.ssh_port),
            through: None,
            user: wanted.user.clone(),
            host_keys,
            offer: CreatedOffer { price: offer.price, ceiling: offer.ceiling },
            volumes,
        })
    }

    /// The keys of a machine's sshd, or a warning that says why there are none.
    fn host_keys(&self, machine: &str, id: &str) -> Vec<String> {
        let why = match wait::host_keys(self.aws, id) {
            Ok(keys) if !keys.is_empty() => return keys,
            Ok(_) => "does not show the keys of its sshd on its console".to_owned(),
            Err(error) => format!("can't be asked for the keys of its sshd: {error}"),
        };
        self.tell.warn(format!("machine {machine} ({id}) {why}; the first connection is trusted"));
        Vec::new()
    }

    fn volumes(
        &self,
        machine: &Machine,
        instance: &Value,
        survey: &Survey,
        offer: &Offer,
    ) -> Vec<CreatedVolume> {
        let instance_id = instance["InstanceId"].as_str().unwrap_or_default();
        let mut ephemeral = 0;
        let mut created = Vec::new();
        let wanted = machine.wanted.volumes.iter().zip(&machine.volume_names).zip(&offer.volumes).enumerate();
        for (index, ((volume, name), offer)) in wanted {
            let (id, device, size_bytes) = if volume.kind == VolumeType::Ephemeral {
                let link = DeviceName::Link(user_data::ephemeral_link(ephemeral));
                let bytes = survey.disk_bytes(&machine.wanted, ephemeral);
                ephemeral += 1;
                (format!("{instance_id}/ephemeral{}", ephemeral - 1), link, bytes)
            } else {
                let id = wait::volume_id(instance, index).unwrap_or_default();
                let name = format!("{}/{name}", machine.name);
                self.tell.made(Resource { kind: ResourceKind::Volume, id: id.to_owned(), name });
                // The serial number of an EBS volume is its id without the hyphen.
                (id.to_owned(), DeviceName::Serial(id.replace('-', "")), volume.bytes())
            };
            let (price, rates) = (offer.price.clone(), offer.rates);
            created.push(CreatedVolume {
                name: name.clone(),
                id,
                device,
                size_bytes: size_bytes.unwrap_or_default(),
                price,
                rates,
                backing: None,
            });
        }
        created
    }
}
