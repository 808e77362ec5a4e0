//! Blocks of queued runs: every cell of one machine once, done by whoever takes it from a queue.

use serde::{Deserialize, Serialize};

/// The block in which a trial was measured, and the machine and queue that did it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Block {
    /// The block's id, e.g. `20261126-131500-3f9a.0.7`.
    pub id: String,
    /// The machine.
    pub machine: BlockMachine,
    /// The queue that gave the block out; `None`: started by hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<Queue>,
}

/// The machine that did a block. Every value that isn't known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockMachine {
    /// Its host name.
    pub name: Option<String>,
    /// `uname -r`.
    pub kernel: Option<String>,
    /// CPU model name.
    pub cpu_model: Option<String>,
    /// Online CPUs.
    pub cpus: Option<u32>,
    /// Total memory, in bytes.
    pub memory_bytes: Option<u64>,
    /// Boot id: changes with every boot.
    pub boot_id: Option<String>,
}

impl BlockMachine {
    /// Whether the other is this machine: the same boot, or, where a boot isn't known, a like machine of the same name. A machine that
    /// has booted in between counts as another one.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (&self.boot_id, &other.boot_id) {
            (Some(a), Some(b)) => a == b,
            _ => self.name == other.name && self.is_like(other),
        }
    }

    /// Whether the other machine has the same CPUs, memory and kernel, so that both may measure the same.
    #[must_use]
    pub fn is_like(&self, other: &Self) -> bool {
        // The kernel keeps a varying part of the memory for itself.
        let same_memory = match (self.memory_bytes, other.memory_bytes) {
            (Some(a), Some(b)) => a.abs_diff(b) <= a.max(b) / 50,
            (a, b) => a == b,
        };
        (&self.kernel, &self.cpu_model, self.cpus) == (&other.kernel, &other.cpu_model, other.cpus)
            && same_memory
    }
}

/// The queue that gave a block out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Queue {
    /// Gearman.
    Gearman {
        /// The server's name of the job, e.g. `H:ham0:17`.
        job: String,
    },
    /// Slurm.
    Slurm(SlurmJob),
}

/// A Slurm job, by its environment. Every value that isn't known is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmJob {
    /// `SLURM_JOB_ID`.
    pub job: String,
    /// `SLURM_ARRAY_JOB_ID`.
    pub array: Option<String>,
    /// `SLURM_ARRAY_TASK_ID`.
    pub task: Option<u32>,
    /// `SLURMD_NODENAME`.
    pub node: Option<String>,
    /// How many times Slurm had started it before: `SLURM_RESTART_COUNT`; 0 if Slurm doesn't set it.
    pub restarts: u32,
    /// CPUs of the node that the job has: `SLURM_CPUS_ON_NODE`.
    pub cpus: Option<u32>,
    /// Other jobs that `squeue` listed on the node after the trial.
    pub others: Option<u32>,
    /// Whether the job had the node to itself; `None`: not known.
    pub exclusive: Option<bool>,
}

impl SlurmJob {
    /// Sets [`Self::exclusive`] by the number of the node's CPUs and by the jobs beside it.
    #[must_use]
    pub fn judged(self, node_cpus: Option<u32>) -> Self {
        let has_all_cpus = self.cpus.zip(node_cpus).map(|(has, all)| has >= all);
        let is_alone = self.others.map(|others| others == 0);
        let exclusive = match (has_all_cpus, is_alone) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) => Some(true),
            // Nobody is there now, but somebody else may have come and gone.
            (None, _) => None,
        };
        Self { exclusive, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::{BlockMachine, SlurmJob};

    #[test]
    fn a_node_is_exclusive_if_the_job_has_all_cpus_and_nobody_else_is_there() {
        let of = |cpus, others, all| SlurmJob { cpus, others, ..SlurmJob::default() }.judged(all).exclusive;
        assert_eq!(of(Some(8), Some(0), Some(8)), Some(true));
        assert_eq!(of(Some(8), None, Some(8)), Some(true));
        assert_eq!(of(Some(4), Some(0), Some(8)), Some(false), "half of the node is for others");
        assert_eq!(of(Some(8), Some(1), Some(8)), Some(false), "a partition that shares CPUs");
        assert_eq!(of(None, Some(2), None), Some(false));
        assert_eq!(of(None, Some(0), Some(8)), None);
        assert_eq!(of(None, None, None), None);
    }

    #[test]
    fn machines_are_alike_by_what_changes_a_measurement() {
        let one = BlockMachine {
            name: Some("a".to_owned()),
            kernel: Some("6.1.0".to_owned()),
            cpus: Some(8),
            memory_bytes: Some(16 << 30),
            ..BlockMachine::default()
        };
        let renamed = BlockMachine {
            name: Some("b".to_owned()),
            boot_id: Some("x".to_owned()),
            memory_bytes: Some((16 << 30) - (64 << 20)),
            ..one.clone()
        };
        assert!(one.is_like(&renamed));
        assert!(!one.is_same(&renamed));
        let booted = |boot_id: &str| BlockMachine { boot_id: Some(boot_id.to_owned()), ..one.clone() };
        assert!(one.is_same(&booted("x")) && booted("x").is_same(&renamed));
        assert!(!booted("x").is_same(&booted("y")));
        assert!(!one.is_like(&BlockMachine { cpus: Some(4), ..one.clone() }));
        assert!(!one.is_like(&BlockMachine { memory_bytes: Some(8 << 30), ..one.clone() }));
        assert!(!one.is_like(&BlockMachine { kernel: None, ..one.clone() }));
    }
}
