//! Errors of queued runs.

use record::printable::Shown as _;
use run::fault::Fault;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// A block can't be made, read, done or delivered.
#[derive(Debug, Error)]
pub enum QueueError {
    /// The text is no descriptor.
    #[error("this is no block: {0}; `diskproof job make` prints blocks, one a line")]
    NotADescriptor(#[source] serde_json::Error),
    /// Another version of diskproof made the descriptor.
    #[error(
        "the block has format {found}, this diskproof reads {ours}: use the same version on both machines"
    )]
    OtherFormat {
        /// Format of the descriptor.
        found: String,
        /// Format that this diskproof reads.
        ours: &'static str,
    },
    /// The plan doesn't fit into a descriptor, and nobody has it.
    #[error(
        "the experiment takes {bytes} bytes, and a block has room for {room}: give `--to DEST`, your own machine as the workers' ssh reaches \
         it, so that they get the experiment from there"
    )]
    TooLarge {
        /// Bytes of the packed plan.
        bytes: usize,
        /// Bytes that are left for it.
        room: usize,
    },
    /// The experiment can't be cut into blocks.
    #[error("the experiment can't be cut into blocks: {}", .0.join("; "))]
    Unfit(Vec<String>),
    /// A plan can't be packed.
    #[error("the plan can't be packed")]
    Pack(#[source] io::Error),
    /// A packed plan is damaged.
    #[error("the block's plan is damaged: {what}")]
    DamagedPlan {
        /// What is wrong.
        what: String,
    },
    /// The plan is another one.
    #[error("the plan has the digest {found}, the block is of {wanted}")]
    OtherPlan {
        /// The block's digest.
        wanted: String,
        /// The digest of the plan.
        found: String,
    },
    /// Neither the block nor the submitter has the plan.
    #[error(
        "the block has no plan in it, and its results go to a file: do it where its results go to the submitter"
    )]
    NoPlan,
    /// The plan has no such block.
    #[error(
        "run {run} has no block {block}: it has {rounds} rounds and no cell on `{target}`, or fewer rounds"
    )]
    NoSuchBlock {
        /// The run.
        run: String,
        /// The block.
        block: String,
        /// Rounds of the plan.
        rounds: u32,
        /// The block's target.
        target: String,
    },
    /// The connection to the submitter can't be made, or broke too often.
    #[error("the results of block {block} can't be delivered to {to}: {said}")]
    NotDelivered {
        /// The block.
        block: String,
        /// The submitter.
        to: String,
        /// Why.
        said: String,
    },
    /// The submitter refuses the results.
    #[error("{to} refuses the results of block {block}: {reason}")]
    Refused {
        /// The block.
        block: String,
        /// The submitter.
        to: String,
        /// Its reason.
        reason: String,
        /// Whether the submitter refuses the block itself, and so every worker.
        everywhere: bool,
    },
    /// A file of results can't be written.
    #[error("cannot write the results to {}", path.shown())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The Gearman server can't be reached, or the connection broke.
    #[error("the Gearman server {server}: {doing} failed")]
    Gearman {
        /// The server.
        server: String,
        /// What was to be done.
        doing: &'static str,
        /// The error.
        source: io::Error,
    },
    /// The Gearman server reports an error.
    #[error("the Gearman server {server} refuses: {said}")]
    GearmanRefuses {
        /// The server.
        server: String,
        /// Its error.
        said: String,
    },
    /// A program of Slurm fails.
    #[error("Slurm takes no job")]
    Slurm(#[source] host::CommandFailure),
}

impl QueueError {
    /// Whether the block is wrong, and not the worker: every other worker would fail in the same way, so the queue may drop it.
    #[must_use]
    pub fn is_wrong_everywhere(&self) -> bool {
        matches!(
            self,
            Self::NotADescriptor(_)
                | Self::OtherPlan { .. }
                | Self::NoSuchBlock { .. }
                | Self::Unfit(_)
                | Self::Refused { everywhere: true, .. }
        )
    }

    /// Whose fault it is.
    #[must_use]
    pub fn fault(&self) -> Fault {
        match self {
            Self::NotADescriptor(_)
            | Self::OtherFormat { .. }
            | Self::TooLarge { .. }
            | Self::Unfit(_)
            | Self::DamagedPlan { .. }
            | Self::OtherPlan { .. }
            | Self::NoPlan
            | Self::NoSuchBlock { .. }
            | Self::Refused { .. } => Fault::User,
            Self::NotDelivered { .. }
            | Self::Write { .. }
            | Self::Gearman { .. }
            | Self::GearmanRefuses { .. }
            | Self::Slurm(_) => Fault::Machine,
            Self::Pack(_) => Fault::Ours,
        }
    }
}
