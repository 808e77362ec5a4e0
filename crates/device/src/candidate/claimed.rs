//! A block device that we may write to.

use super::{Candidate, Cleared, Scope};
use crate::advice;
use crate::check::{backing, claim, exclusive};
use crate::claims::{BookError, Claim, ClaimBook};
use crate::devno::DevNo;
use crate::identity::Identity;
use crate::refusal::{Check, Dissent, Refusal};
use host::Runner;
use record::roots::Roots;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// A block device that we may write to: it is cleared, and its owner has claimed it or we created it.
///
/// While this exists, the device node is locked against every other diskproof. Until [`Claimed::hand_over`] it is also held open,
/// so that the kernel refuses other mounts and exclusive opens. Drop it before detaching a loop device.
#[derive(Debug)]
pub struct Claimed {
    candidate: Candidate,
    owner: Owner,
    min_size_bytes: u64,
    lock: File,
    hold: Mutex<Option<File>>,
}

/// Why a device may be overwritten.
#[derive(Debug, Clone)]
pub(crate) enum Owner {
    /// The owner of a real disk has claimed it.
    Claim {
        /// The path of the claims file.
        book: PathBuf,
        /// The claim.
        claim: Claim,
    },
    /// We created it: a loop device over a file of ours.
    OurLoop {
        /// The backing file.
        backing: PathBuf,
    },
}

impl Cleared {
    pub(crate) fn claimed(self, owner: Owner) -> Claimed {
        Claimed {
            candidate: self.candidate,
            owner,
            min_size_bytes: self.min_size_bytes,
            lock: self.lock,
            hold: Mutex::new(Some(self.hold)),
        }
    }
}

impl Claimed {
    /// The path of its device node.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.candidate.node
    }

    /// Its major and minor number.
    #[must_use]
    pub fn devno(&self) -> (u32, u32) {
        self.candidate.devno()
    }

    pub(crate) fn number(&self) -> DevNo {
        self.candidate.block.devno
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size_bytes(&self) -> u64 {
        self.candidate.size_bytes()
    }

    /// Its requested name below by-id; `None` for our own loop devices and disks without one.
    #[must_use]
    pub fn by_id(&self) -> Option<&str> {
        self.candidate.asked_by()
    }

    /// Model, serial number and WWN as text; `None` for our own loop devices.
    #[must_use]
    pub fn identity(&self) -> Option<String> {
        match self.owner {
            Owner::Claim { .. } => Some(self.candidate.identity.to_string()),
            Owner::OurLoop { .. } => None,
        }
    }

    /// Its identity, by which it can be found again; `None` for our own loop devices.
    #[must_use]
    pub fn disk(&self) -> Option<&Identity> {
        match self.owner {
            Owner::Claim { .. } => Some(&self.candidate.identity),
            Owner::OurLoop { .. } => None,
        }
    }

    /// The backing file of one of our own loop devices.
    #[must_use]
    pub fn backing(&self) -> Option<&Path> {
        match &self.owner {
            Owner::OurLoop { backing } => Some(backing),
            Owner::Claim { .. } => None,
        }
    }

    /// Runs all checks again, for the moment of use. If the exclusive open was handed over, it is taken back.
    ///
    /// # Errors
    /// All checks that fail now.
    pub fn recheck(&self, roots: &Roots, runner: &dyn Runner) -> Result<(), Refusal> {
        let mut dissent = Vec::new();
        match self.candidate.again(roots) {
            Ok(now) => {
                dissent.extend(self.candidate.same_as(&now).err());
                dissent.extend(self.owner.recheck(roots, &now).err());
            }
            Err(gone) => dissent.push(gone),
        }
        dissent.extend(self.retake(roots).err());
        let (foreign, vouched) = match &self.owner {
            Owner::Claim { claim, .. } => (true, claim.word.unseen_processes),
            Owner::OurLoop { .. } => (false, false),
        };
        let scope = Scope { min_size_bytes: self.min_size_bytes, foreign, vouched, copies: false };
        dissent.extend(self.candidate.hear(roots, runner, scope, self.is_held()));
        if dissent.is_empty() {
            return Ok(());
        }
        Err(Refusal::of(self.candidate.to_string(), advice::fit(dissent)))
    }

    /// Closes the exclusive open, so that mkfs, mount or wipefs can open the device exclusively. The lock stays.
    pub fn hand_over(&self) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Turns our exclusive lock into a shared one, so that udev can probe the device: a program that makes partitions waits until
    /// udev knows them. Every other diskproof stays locked out.
    ///
    /// # Errors
    /// When another process took the lock at that moment, or locks don't work.
    pub fn share(&self, roots: &Roots) -> Result<(), Refusal> {
        let shared = exclusive::share(roots, &self.lock, &self.candidate.node);
        shared.map_err(|dissent| Refusal::of(self.candidate.to_string(), vec![dissent]))
    }

    /// Makes the lock exclusive again, once udev has released it.
    ///
    /// # Errors
    /// When another process has it.
    pub fn unshare(&self, roots: &Roots) -> Result<(), Refusal> {
        let locked = exclusive::lock_file(roots, &self.lock, &self.candidate.node);
        locked.map_err(|dissent| Refusal::of(self.candidate.to_string(), vec![dissent]))
    }

    /// Opens the device exclusively again.
    ///
    /// # Errors
    /// When another process uses the device.
    pub fn hold(&self, roots: &Roots) -> Result<(), Refusal> {
        self.retake(roots).map_err(|d| Refusal::of(self.candidate.to_string(), vec![d]))
    }

    /// Whether the device is held open exclusively now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.hold.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn retake(&self, roots: &Roots) -> Result<(), Dissent> {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        if hold.is_none() {
            *hold = Some(exclusive::hold(roots, &self.candidate.block, &self.candidate.node)?);
        }
        Ok(())
    }
}

impl Owner {
    fn recheck(&self, roots: &Roots, disk: &Candidate) -> Result<(), Dissent> {
        match self {
            Self::Claim { book, claim: then } => {
                let book = ClaimBook::read(book.clone()).map_err(|error| unreadable(&error))?;
                let now = claim::testify(disk, &book)?;
                if now.identity == then.identity {
                    return Ok(());
                }
                let saw = format!("the claim was on {} and is now on {}", then.identity, now.identity);
                Err(Dissent::new(Check::Claim, saw, "start again"))
            }
            Self::OurLoop { backing } => backing::testify(roots, disk.block(), backing),
        }
    }
}

fn unreadable(error: &BookError) -> Dissent {
    Dissent::unheard(Check::Claim, record::printable::chain(error), "correct the file of claims")
}
