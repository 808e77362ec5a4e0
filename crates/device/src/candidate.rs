//! The states of a block device in the guard: a [`Candidate`] exists, a [`Cleared`] one passed every check but the owner's claim,
//! a [`Claimed`](claimed::Claimed) one may be used. There is no other way to get from one to the next.

pub(crate) mod claimed;

use crate::advice;
use crate::block::Block;
use crate::check::users::Sight;
use crate::check::{exclusive, exports, openers, plain, root, signature, swap, users};
use crate::identity::{Identity, ids_of};
use crate::node::block_at;
use crate::refusal::{Check, Dissent, Refusal};
use host::Runner;
use record::printable::Shown as _;
use record::roots::Roots;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

const EXCHANGED: &str = "run it again; the disk under this name was exchanged meanwhile";

/// A block device that exists.
#[derive(Debug, Clone)]
pub struct Candidate {
    block: Block,
    node: PathBuf,
    /// The name in the request: a link below by-id, or a path.
    link: PathBuf,
    by_id: Option<String>,
    identity: Identity,
    ids: Vec<String>,
    sequence: Option<u64>,
}

/// A block device that passed every check but the owner's claim. It is locked and held open.
#[derive(Debug)]
pub struct Cleared {
    candidate: Candidate,
    min_size_bytes: u64,
    lock: File,
    hold: File,
}

impl Candidate {
    /// Finds the disk behind a link in `/dev/disk/by-id`, or, when `id` begins with `/`, behind a device node.
    ///
    /// # Errors
    /// When there is none.
    pub fn by_id(roots: &Roots, id: &str) -> Result<Self, Refusal> {
        if id.starts_with('/') {
            return Self::at(roots, roots.in_dev(Path::new(id)), None);
        }
        if id.is_empty() || id.contains('/') || id == "." || id == ".." {
            let saw = format!("{id:?} is not a name in /dev/disk/by-id");
            let remedy = "diskproof devices lists the names";
            return Err(Refusal::of(id, vec![Dissent::new(Check::Identity, saw, remedy)]));
        }
        Self::at(roots, roots.dev.join("disk/by-id").join(id), Some(id.to_owned()))
    }

    /// Finds a loop device by its path.
    ///
    /// # Errors
    /// When there is none.
    pub fn loop_device(roots: &Roots, path: &Path) -> Result<Self, Refusal> {
        Self::at(roots, roots.in_dev(path), None)
    }

    fn at(roots: &Roots, link: PathBuf, by_id: Option<String>) -> Result<Self, Refusal> {
        let shown = by_id.clone().unwrap_or_else(|| link.shown().to_string());
        let refuse = |error: std::io::Error| {
            let saw = format!("{}: {error}", link.shown());
            let remedy = "check that the disk is plugged in; diskproof devices lists what is there";
            Refusal::of(shown.clone(), vec![Dissent::new(Check::Identity, saw, remedy)])
        };
        let devno = block_at(roots, &link).map_err(refuse)?;
        let block = Block::by_devno(roots, devno).map_err(refuse)?;
        // From here on we use the kernel's own node, whatever alias was given.
        let node = block.node(roots);
        if block_at(roots, &node).map_err(refuse)? != devno {
            let saw = format!("{} is not {}", node.shown(), block.label());
            let dissent = Dissent::new(Check::Identity, saw, "find out what changed the device nodes");
            return Err(Refusal::of(shown, vec![dissent]));
        }
        let identity = Identity::of(roots, &block);
        let ids = ids_of(roots, &block);
        let sequence = block.sequence();
        Ok(Self { block, node, link, by_id, identity, ids, sequence })
    }

    pub(crate) fn of_block(roots: &Roots, block: &Block) -> Result<Self, Refusal> {
        Self::at(roots, block.node(roots), None)
    }

    /// The path of its device node.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.node
    }

    /// Its major and minor number.
    #[must_use]
    pub fn devno(&self) -> (u32, u32) {
        (self.block.devno.major, self.block.devno.minor)
    }

    /// Its identity, as it reports it.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// All its names in `/dev/disk/by-id`.
    #[must_use]
    pub fn ids(&self) -> &[String] {
        &self.ids
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.identity.size_bytes
    }

    pub(crate) fn block(&self) -> &Block {
        &self.block
    }

    /// The name in the request, if it was a name.
    pub(crate) fn asked_by(&self) -> Option<&str> {
        self.by_id.as_deref()
    }

    /// A short name to type.
    pub(crate) fn short(&self) -> String {
        let name = self.by_id.as_ref().or_else(|| self.ids.first());
        name.cloned().unwrap_or_else(|| self.node.shown().to_string())
    }

    /// Runs every check but the owner's claim. All run, even if the first one fails.
    ///
    /// # Errors
    /// All checks that failed, and all that could not be made.
    pub fn cleared(
        self,
        roots: &Roots,
        runner: &dyn Runner,
        min_size_bytes: u64,
    ) -> Result<Cleared, Refusal> {
        let scope = Scope { min_size_bytes, foreign: true, vouched: false, copies: true };
        self.cleared_within(roots, runner, scope)
    }

    pub(crate) fn cleared_within(
        self,
        roots: &Roots,
        runner: &dyn Runner,
        scope: Scope,
    ) -> Result<Cleared, Refusal> {
        let mut dissent = Vec::new();
        // The device is locked and held before the checks, so that their results can't change before its use.
        let lock = exclusive::lock(roots, &self.node).map_err(|d| dissent.push(d)).ok();
        let hold = exclusive::hold(roots, &self.block, &self.node).map_err(|d| dissent.push(d)).ok();
        dissent.extend(self.hear(roots, runner, scope, hold.is_some()));
        match (lock, hold) {
            (Some(lock), Some(hold)) if dissent.is_empty() => {
                Ok(Cleared { candidate: self, min_size_bytes: scope.min_size_bytes, lock, hold })
            }
            _ => Err(Refusal::of(self.to_string(), advice::fit(dissent))),
        }
    }

    /// Everything on it, on its partitions and on what is stacked on them that is mounted, each with the remedy. Empty also if the mounts
    /// can't be told; the guard refuses the disk then when it is to be used.
    #[must_use]
    pub fn mounted(&self, roots: &Roots) -> Vec<Dissent> {
        let Ok(sight) = Sight::of(roots, &self.block) else { return Vec::new() };
        let mut found = users::mounts(roots, &sight);
        found.extend(root::testify(roots, &self.block));
        found.retain(|dissent| dissent.heard);
        advice::fit(found)
    }

    /// Runs the checks that need no lock or exclusive open. `held`: the device is held open exclusively, which covers mount
    /// namespaces that can't be seen.
    pub(crate) fn hear(&self, roots: &Roots, runner: &dyn Runner, scope: Scope, held: bool) -> Vec<Dissent> {
        let mut dissent = Vec::new();
        match Sight::of(roots, &self.block) {
            Ok(sight) => {
                dissent.extend(users::mounts(roots, &sight));
                dissent.extend(users::hidden(&sight.tables).filter(|_| !held));
                dissent.extend(users::holders(&sight));
                dissent.extend(exports::testify(roots, &sight));
                dissent.extend(swap::testify(roots, &sight));
                if scope.foreign {
                    let openers = openers::testify(roots, &sight);
                    dissent.extend(openers.into_iter().filter(|d| d.heard || !scope.vouched));
                }
            }
            Err(unheard) => dissent.extend(unheard),
        }
        dissent.extend(root::testify(roots, &self.block));
        dissent.extend(plain::partitions(&self.block));
        dissent.extend(plain::read_only(&self.block));
        dissent.extend(plain::size(&self.block, scope.min_size_bytes));
        if scope.foreign {
            dissent.extend(plain::identity(roots, &self.block, &self.identity));
            dissent.extend(signature::testify(runner, &self.block, &self.node, scope.copies));
        }
        dissent
    }

    /// The device behind the name now.
    fn again(&self, roots: &Roots) -> Result<Self, Dissent> {
        Self::at(roots, self.link.clone(), self.by_id.clone()).map_err(|refusal| {
            let saw = refusal.dissent.into_iter().next().map_or_else(String::new, |d| d.saw);
            Dissent::new(Check::Identity, format!("it is gone: {saw}"), "plug it in again")
        })
    }

    /// Checks that the name still leads to the same disk.
    fn same_as(&self, now: &Self) -> Result<(), Dissent> {
        let same_disk = now.block.devno == self.block.devno && now.identity == self.identity;
        if same_disk && now.sequence == self.sequence {
            return Ok(());
        }
        if same_disk {
            let saw = format!("the kernel found another disk under the same name, {}", self.node.shown());
            return Err(Dissent::new(Check::Identity, saw, EXCHANGED));
        }
        let saw = format!(
            "{} was {} ({}) and is now {} ({})",
            self.link.shown(),
            self.block.label(),
            self.identity,
            now.block.label(),
            now.identity
        );
        Err(Dissent::new(Check::Identity, saw, EXCHANGED))
    }
}

/// Which checks to make.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) min_size_bytes: u64,
    /// The device isn't ours: its identity and contents matter too.
    pub(crate) foreign: bool,
    /// Its owner vouches for processes that can't be seen.
    pub(crate) vouched: bool,
    /// Also search for copies of superblocks, in hundreds of places. Once is enough: what is written while we hold the disk is
    /// ours, or has a first superblock as well.
    pub(crate) copies: bool,
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.by_id {
            Some(id) => write!(f, "{id} ({})", self.node.shown()),
            None if self.link == self.node => write!(f, "{}", self.node.shown()),
            None => write!(f, "{} ({})", self.link.shown(), self.node.shown()),
        }
    }
}
