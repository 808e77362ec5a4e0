//! Checks settings: first by themselves, then against what the hosts have.

use super::settings::{Wanted, read};
use super::{pools, reach};
use crate::at::{AtError, AtOptions, on_each};
use crate::images;
use crate::libvirt::{GuestError, check_network};
use driver::protocol::{MachineRequest, Offer, Problem, Rates, Valid, VolumeOffer};

/// Most hosts that are asked at the same time.
pub(super) const FANOUT: usize = 32;

/// Checks machines.
pub(super) fn validate(options: &AtOptions, machines: &[MachineRequest]) -> Valid {
    let wanted = match read(machines) {
        Ok(wanted) => wanted,
        Err(problems) => return Valid { problems, offers: Vec::new() },
    };
    let asked = on_each(wanted.iter().collect(), FANOUT, &|wanted: &Wanted| there(options, wanted));
    let problems: Vec<Problem> = asked.into_iter().flatten().collect();
    let offers = match problems.is_empty() {
        true => wanted.iter().map(offer).collect(),
        false => Vec::new(),
    };
    Valid { problems, offers }
}

/// What a host lacks for a machine.
fn there(options: &AtOptions, wanted: &Wanted) -> Vec<Problem> {
    let wrong = |key: &str, text: String| Problem {
        machine: wanted.name.clone(),
        volume: None,
        key: Some(key.to_owned()),
        text,
        help: None,
    };
    let problem = |key: &str, error: &dyn std::error::Error| wrong(key, record::printable::chain(error));
    let opened = reach::open(options, &wanted.host, wanted.ssh_config.clone()).and_then(|at| {
        at.needs("virsh", "libvirt-clients")?;
        at.needs("qemu-img", "qemu-utils")?;
        Ok(at)
    });
    let at = match opened {
        Ok(at) => at,
        Err(error) => return vec![problem("host", &error)],
    };
    let mut problems = Vec::new();
    match images::find(&at, &wanted.image) {
        Ok(image) => {
            if let Some(asked) = wanted.disk_size.filter(|asked| *asked < image.virtual_bytes) {
                let (image, needed) = (image.name, image.virtual_bytes);
                let text = format!("is {asked} bytes, smaller than the image {image}, which has {needed}");
                problems.push(wrong("disk_size", text));
            }
        }
        Err(error) => problems.push(problem("image", &error)),
    }
    match check_network(&at, &wanted.network) {
        Ok(()) => {}
        Err(GuestError::Network { machine, network }) => problems.push(wrong(
            "network",
            format!("{machine} has no active network {network}; `virsh net-start {network}`, or bridge:NAME for a bridge"),
        )),
        Err(error) => problems.push(problem("network", &error)),
    }
    for volume in &wanted.volumes {
        let Some(pool) = &volume.pool else { continue };
        let of = |problem: Problem| Problem { volume: Some(volume.name.clone()), ..problem };
        match pools::check(&at, pool) {
            Ok(true) => {}
            Ok(false) => problems.push(of(wrong(
                "pool",
                format!("{} has no active storage pool {pool}; `virsh pool-start {pool}`", at.name()),
            ))),
            Err(error) => problems.push(of(problem("pool", &error))),
        }
    }
    if let Some(folder) = &wanted.folder {
        let there: Result<String, AtError> =
            at.run("find the folder", &["ls", "-d", "--", &format!("{folder}/.")]);
        if let Err(error) = there {
            problems.push(problem("folder", &error));
        }
    }
    problems
}

/// The driver knows no prices. What a volume promises is what libvirt holds it to.
pub(super) fn offer(wanted: &Wanted) -> Offer {
    let volume = |tuning: &crate::libvirt::Tuning| VolumeOffer { price: None, rates: rates(tuning) };
    Offer {
        price: None,
        ceiling: Rates::default(),
        volumes: wanted.volumes.iter().map(|one| volume(&one.tuning)).collect(),
    }
}

/// The rates that libvirt enforces.
pub(super) fn rates(tuning: &crate::libvirt::Tuning) -> Rates {
    Rates { iops: tuning.iops, bytes_per_second: tuning.bytes_per_second }
}
