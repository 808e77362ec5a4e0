//! What the API tells about instances, disks and operations.

use super::api::Api;
use super::failure::CallError;
use super::name::CLAIM;
use super::operation::{Operation, last};
use crate::protocol::{Claim, Resource, ResourceKind};
use record::printable::printable;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A machine.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Instance {
    pub(super) name: String,
    zone: String,
    pub(super) status: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) description: String,
    pub(super) creation_timestamp: String,
    pub(super) disks: Vec<Attached>,
    network_interfaces: Vec<Interface>,
}

/// A disk as a machine has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Attached {
    pub(super) device_name: String,
    #[serde(rename = "type")]
    kind: String,
    source: String,
    pub(super) auto_delete: bool,
    /// An int64, which the API writes as a text.
    disk_size_gb: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Interface {
    #[serde(rename = "networkIP")]
    network_ip: String,
    access_configs: Vec<Access>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Access {
    #[serde(rename = "natIP")]
    nat_ip: String,
}

/// A persistent disk.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Disk {
    pub(super) name: String,
    zone: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) description: String,
    pub(super) creation_timestamp: String,
    pub(super) users: Vec<String>,
}

impl Attached {
    /// Whether it is a disk of the host machine, without a resource of its own.
    pub(super) fn is_local(&self) -> bool {
        self.kind == "SCRATCH"
    }

    /// The path of its disk below the project.
    pub(super) fn path(&self) -> String {
        below_project(&self.source)
    }

    /// Its size in bytes; `None`: not told.
    pub(super) fn size_bytes(&self) -> Option<u64> {
        self.disk_size_gb.parse::<u64>().ok().map(|gib| gib << 30)
    }
}

impl Instance {
    /// Its path below the project.
    pub(super) fn path(&self) -> String {
        format!("zones/{}/instances/{}", last(&self.zone), self.name)
    }

    /// Its public address, or the one in its network.
    pub(super) fn address(&self, is_private: bool) -> Option<String> {
        let interface = self.network_interfaces.first()?;
        let address = match is_private {
            true => &interface.network_ip,
            false => &interface.access_configs.first()?.nat_ip,
        };
        Some(address.clone()).filter(|address| !address.is_empty())
    }

    /// The disks of its host: they have no resource at GCE, and go with the machine.
    pub(super) fn local_disks(&self) -> impl Iterator<Item = Resource> {
        self.disks.iter().filter(|disk| disk.is_local()).enumerate().map(|(index, _)| Resource {
            kind: ResourceKind::Volume,
            id: format!("{}/local-ssd-{index}", self.path()),
            name: format!("{} local-ssd-{index}", self.name),
        })
    }

    /// The resource as the protocol tells it.
    pub(super) fn resource(&self) -> Resource {
        Resource { kind: ResourceKind::Machine, id: self.path(), name: self.name.clone() }
    }
}

impl Disk {
    /// Its zone.
    pub(super) fn zone(&self) -> &str {
        last(&self.zone)
    }

    /// Whether it has the label of this claim.
    pub(super) fn is_of(&self, claim: &Claim) -> bool {
        is_of(&self.labels, Some(&claim.id))
    }

    /// Its path below the project.
    pub(super) fn path(&self) -> String {
        format!("zones/{}/disks/{}", last(&self.zone), self.name)
    }

    /// The resource as the protocol tells it.
    pub(super) fn resource(&self) -> Resource {
        Resource { kind: ResourceKind::Volume, id: self.path(), name: self.name.clone() }
    }
}

/// A page of a list over all zones and regions.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Page {
    items: BTreeMap<String, Scope>,
    next_page_token: Option<String>,
    unreachables: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Scope {
    instances: Vec<Instance>,
    disks: Vec<Disk>,
    operations: Vec<Operation>,
    warning: Option<Warning>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Warning {
    code: String,
}

impl Api<'_> {
    /// The machines of a claim; `None`: of all claims. The filter of the API selects, and the labels decide.
    pub(super) fn instances(&self, claim: Option<&str>) -> Result<Vec<Instance>, CallError> {
        let found = self.all("aggregated/instances", &filter(claim), |scope| scope.instances)?;
        Ok(found.into_iter().filter(|instance| is_of(&instance.labels, claim)).collect())
    }

    /// The disks of a claim; as of [`Self::instances`].
    pub(super) fn disks(&self, claim: Option<&str>) -> Result<Vec<Disk>, CallError> {
        let found = self.all("aggregated/disks", &filter(claim), |scope| scope.disks)?;
        Ok(found.into_iter().filter(|disk| is_of(&disk.labels, claim)).collect())
    }

    /// All disks, also of others, whose names begin like this; it has only letters, digits and hyphens.
    pub(super) fn disks_named(&self, prefix: &str) -> Result<Vec<Disk>, CallError> {
        self.all("aggregated/disks", &format!("name eq \"{prefix}.*\""), |scope| scope.disks)
    }

    /// The operations of the project that haven't ended.
    pub(super) fn pending(&self) -> Result<Vec<Operation>, CallError> {
        let found = self.all("aggregated/operations", "status != \"DONE\"", |scope| scope.operations)?;
        Ok(found.into_iter().filter(|operation| !operation.is_done()).collect())
    }

    fn all<T>(&self, path: &str, filter: &str, of: impl Fn(Scope) -> Vec<T>) -> Result<Vec<T>, CallError> {
        let (mut found, mut silent) = (Vec::new(), Vec::new());
        self.pages(path, filter, |page: Page| {
            silent.extend(page.unreachables);
            for (scope, content) in page.items {
                if content.warning.as_ref().is_some_and(|warning| warning.code == "UNREACHABLE") {
                    silent.push(scope);
                }
                found.extend(of(content));
            }
            page.next_page_token
        })?;
        match silent.first() {
            None => Ok(found),
            // A list without a zone would make "nothing is left" a guess.
            Some(scope) => Err(CallError::Unanswered {
                what: format!("GET {path}"),
                why: format!("the API doesn't reach {}", printable(scope)),
                attempts: 1,
            }),
        }
    }
}

fn filter(claim: Option<&str>) -> String {
    match claim {
        Some(id) => format!("labels.{CLAIM} = \"{id}\""),
        None => format!("labels.{CLAIM}:*"),
    }
}

fn is_of(labels: &BTreeMap<String, String>, claim: Option<&str>) -> bool {
    labels.get(CLAIM).is_some_and(|id| claim.is_none_or(|claim| claim == id))
}

/// The part of a resource's URL after its project.
fn below_project(url: &str) -> String {
    let mut parts = url.split('/').skip_while(|part| *part != "projects").skip(2).peekable();
    match parts.peek() {
        Some(_) => parts.collect::<Vec<_>>().join("/"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_the_project() {
        let url = "https://www.googleapis.com/compute/v1/projects/p/zones/z-1/disks/d";
        assert_eq!(below_project(url), "zones/z-1/disks/d");
        let disk = Disk {
            name: "d".to_owned(),
            zone: "https://x/projects/p/zones/z-1".to_owned(),
            ..Disk::default()
        };
        assert_eq!(disk.path(), below_project(url));
    }

    #[test]
    fn only_the_exact_label_makes_a_resource_ours() {
        let labelled = |value: &str| BTreeMap::from([(CLAIM.to_owned(), value.to_owned())]);
        assert!(is_of(&labelled("ab"), Some("ab")));
        assert!(!is_of(&labelled("abc"), Some("ab")) && !is_of(&labelled("a"), Some("ab")));
        assert!(!is_of(&BTreeMap::from([("owner".to_owned(), "ab".to_owned())]), Some("ab")));
    }
}
