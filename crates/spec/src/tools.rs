//! Names of the programs that a plan needs.

use record::copy::Copier;
use record::plan::{Cell, Plan};
use record::provision::{ProvisionStep, Provisioner};
use record::stack::{Layer, Stack};
use record::volume::VolumeKind;
use record::workload::{Ask, EngineKind, Workload};
use std::collections::BTreeSet;

/// Programs that mount from an NFS server.
const CLIENT: [&str; 3] = ["mount.nfs", "mount", "umount"];

/// Returns the programs for all machines together.
pub(crate) fn of(plan: &Plan) -> Vec<String> {
    let mut tools = Tools::default();
    tools.provision(plan.provision.iter());
    for cell in &plan.cells {
        tools.stack(&cell.stack);
        tools.workload(&cell.workload);
        tools.add(if cell.stack.nfs().is_some() { &CLIENT } else { &[] });
    }
    tools.0.into_iter().collect()
}

/// Returns the programs on one machine: to build its cells' stacks, to generate the load there, and to mount from another machine.
#[must_use]
pub fn tools_on(plan: &Plan, target: &str) -> Vec<String> {
    let mut tools = Tools::default();
    tools.provision(plan.provision_of(target));
    let loaded = |cell: &&Cell| cell.loading().contains(&target);
    for cell in plan.cells.iter().filter(|cell| cell.is_built_on(target)) {
        tools.stack(&cell.stack);
        tools.add(if cell.stack.nfs().is_some() && !cell.is_mounted_elsewhere() { &CLIENT } else { &[] });
    }
    for cell in plan.cells.iter().filter(loaded) {
        tools.workload(&cell.workload);
        tools.add(if cell.is_built_on(target) { &[] } else { &CLIENT });
    }
    tools.0.into_iter().collect()
}

#[derive(Default)]
struct Tools(BTreeSet<String>);

impl Tools {
    fn add(&mut self, names: &[&str]) {
        self.0.extend(names.iter().map(|name| (*name).to_owned()));
    }

    fn provision<'a>(&mut self, steps: impl Iterator<Item = &'a ProvisionStep>) {
        for step in steps {
            match step.by {
                Provisioner::Shell => {}
                Provisioner::Ansible => self.add(&["ansible-playbook"]),
                Provisioner::Puppet => self.add(&["puppet"]),
            }
        }
    }

    fn workload(&mut self, workload: &Workload) {
        if workload.engine == EngineKind::Fio {
            self.add(&["fio"]);
        }
        match &workload.ask {
            Ask::Copy(copy) if copy.copier != Copier::Native => self.add(&[copy.copier.name()]),
            Ask::Bonnie(_) => self.add(&["bonnie++"]),
            _ => {}
        }
    }

    fn stack(&mut self, stack: &Stack) {
        if stack.all_volumes().any(|volume| !matches!(volume.kind, VolumeKind::Directory { .. })) {
            self.add(&["losetup", "mount", "umount", "blkid"]);
        }
        for layer in &stack.layers {
            match layer {
                Layer::Filesystem(filesystem) => self.add(&[&format!("mkfs.{}", filesystem.kind.name())]),
                Layer::Btrfs(_) => self.add(&["mkfs.btrfs", "btrfs"]),
                Layer::Lvm(lvm) => {
                    self.add(&["lvm", "dmsetup"]);
                    self.add(if lvm.thin.is_some() { &["thin_check"] } else { &[] });
                }
                Layer::Md(_) => self.add(&["mdadm"]),
                Layer::Luks(_) => self.add(&["cryptsetup", "dmsetup"]),
                Layer::Bcache(_) => self.add(&["make-bcache", "wipefs"]),
                Layer::Command(command) => {
                    let programs = command.up.iter().chain(&command.down).filter_map(|argv| argv.first());
                    self.0.extend(programs.cloned());
                }
                Layer::Zfs(_) => self.add(&["zpool", "zfs", "wipefs"]),
                Layer::Nfs(_) => self.add(&["exportfs"]),
                Layer::Knobs(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{of, tools_on};
    use record::plan::Plan;

    fn plan(client: &str) -> Plan {
        let text = format!(
            "experiment: demo\n\
             targets: {{ a: {{ ssh: a }}, b: {{ ssh: b }} }}\n\
             volumes: {{ d: {{ target: a, disks: [x] }} }}\n\
             stacks: {{ s: {{ layers: [ xfs, {{ nfs: {{ {client} }} }} ] }} }}\n\
             workloads: {{ w: {{ engine: fio, rw: randread, size: 1m }} }}\n"
        );
        let loaded = crate::parse(&text, "demo.yaml", std::path::Path::new("/"), &Default::default());
        loaded.unwrap_or_else(|error| panic!("{error}")).plan
    }

    #[test]
    fn each_end_needs_what_it_does() {
        let apart = plan("client: b");
        let (server, client) = (tools_on(&apart, "a"), tools_on(&apart, "b"));
        assert_eq!(server, ["blkid", "exportfs", "losetup", "mkfs.xfs", "mount", "umount"]);
        assert_eq!(client, ["fio", "mount", "mount.nfs", "umount"]);
        let mut both: Vec<String> = server.into_iter().chain(client).collect();
        both.sort();
        both.dedup();
        assert_eq!(of(&apart), both);
        let one = plan("version: 4.2");
        assert_eq!(tools_on(&one, "a"), both);
        assert!(tools_on(&one, "b").is_empty());
    }
}
