//! The bench of the guard's tests.

use super::mirror::Mirror;
use diskproof_device::{Candidate, Check, ClaimBook, Claimed, Dissent, Refusal, Roots, Word, disk};
use host::LocalRunner;
use sha2::{Digest as _, Sha256};
use std::cell::RefCell;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use testkit::{Exclusive, LoopDevice, exclusive, fresh_dir, is_root};

pub const MIB: u64 = 1 << 20;
/// The disk's name below by-id.
pub const NAME: &str = "test-DISK_A1";
const SERIAL: &str = "A1";

/// A claimed disk on which no check fails, until a test does something to it.
pub struct Bench {
    pub disk: LoopDevice,
    pub dir: PathBuf,
    pub book: ClaimBook,
    mirror: Mirror,
    serials: RefCell<Vec<(String, String)>>,
    ids: RefCell<Vec<(String, String)>>,
    // Dropped last: it cleans up.
    _exclusive: Exclusive,
}

/// A bench with a disk of `mib` MiB; `None`, with a message, when we are not root.
pub fn start(mib: u64) -> Option<Bench> {
    if !is_root() {
        println!("skipped: needs root and loop devices");
        return None;
    }
    let exclusive = exclusive();
    let dir = fresh_dir("guard");
    let disk = LoopDevice::new(mib * MIB, "guard-disk");
    let bench = Bench {
        mirror: Mirror::new(dir.join("mirror")),
        serials: RefCell::new(vec![(disk.name(), SERIAL.into())]),
        ids: RefCell::new(vec![(NAME.into(), disk.name())]),
        book: ClaimBook::open(&dir.join("state")).unwrap(),
        disk,
        dir,
        _exclusive: exclusive,
    };
    Some(bench.claimed())
}

impl Bench {
    /// Claims the disk, and checks that the guard accepts it: a later refusal is then caused by the test.
    fn claimed(mut self) -> Self {
        self.claim(false);
        // Where root can't examine every process, the claim must say that those don't matter.
        let unseen =
            |d: &Dissent| d.witness == Check::Openers && !d.heard && d.saw.starts_with("open files of");
        if self.ask().is_err_and(|refusal| refusal.dissent.iter().all(unseen)) {
            self.claim(true);
        }
        self.accepted();
        self
    }

    /// Claims the disk again, and vouches for processes that can't be seen, or doesn't.
    pub fn claim(&mut self, unseen_processes: bool) {
        let candidate = Candidate::by_id(&self.roots(), NAME).unwrap();
        self.book.claim(&candidate, Word { unseen_processes, ..whatever() }).unwrap();
    }

    /// The owner's statements in the claim, for use in another one.
    pub fn word(&self) -> Word {
        self.book.named(NAME).map_or_else(whatever, |claim| claim.word.clone())
    }

    pub fn roots(&self) -> Roots {
        self.mirror.refresh(&self.serials.borrow(), &self.ids.borrow())
    }

    /// Gives a device a serial number; an empty one removes it.
    pub fn set_serial(&self, device: &str, serial: &str) {
        let mut serials = self.serials.borrow_mut();
        serials.retain(|(name, _)| name != device);
        serials.push((device.into(), serial.into()));
    }

    /// Points a name below by-id at a device.
    pub fn set_id(&self, id: &str, device: &str) {
        let mut ids = self.ids.borrow_mut();
        ids.retain(|(name, _)| name != id);
        ids.push((id.into(), device.into()));
    }

    pub fn path(&self) -> &str {
        self.disk.path().to_str().unwrap()
    }

    pub fn ask(&self) -> Result<Claimed, Refusal> {
        self.ask_for(NAME, 0)
    }

    pub fn ask_for(&self, id: &str, min_bytes: u64) -> Result<Claimed, Refusal> {
        disk(&self.roots(), &LocalRunner, &self.book, id, min_bytes)
    }

    pub fn accepted(&self) -> Claimed {
        self.ask().unwrap_or_else(|refusal| panic!("{refusal}"))
    }

    /// Checks that the guard refuses the disk and changes nothing on it, and that this check fails with these words and has a
    /// remedy.
    pub fn refused(&self, witness: Check, words: &[&str]) -> Refusal {
        self.unchanged(|| self.ask().map(drop).unwrap_err(), witness, words)
    }

    /// The same for any request.
    pub fn unchanged(&self, ask: impl FnOnce() -> Refusal, witness: Check, words: &[&str]) -> Refusal {
        let before = self.checksum();
        let refusal = ask();
        assert_eq!(before, self.checksum(), "the disk was written to");
        let text = refusal.to_string();
        println!("{text}\n");
        let mine: Vec<_> = refusal.dissent.iter().filter(|d| d.witness == witness).collect();
        assert!(!mine.is_empty(), "{witness} does not object:\n{text}");
        for word in words {
            let said = mine.iter().any(|d| d.saw.contains(word) || d.remedy.contains(word));
            assert!(said, "{witness} does not say {word:?}:\n{text}");
        }
        for dissent in &refusal.dissent {
            assert!(!dissent.remedy.is_empty(), "{} knows no remedy:\n{text}", dissent.witness);
            assert!(text.contains(&dissent.witness.to_string()) && text.contains(&dissent.remedy));
        }
        refusal
    }

    fn checksum(&self) -> String {
        checksum(self.disk.path())
    }
}

/// The statements of an owner who doesn't care about the contents of the disk.
pub fn whatever() -> Word {
    Word { overwrite_data: true, ..Word::default() }
}

/// SHA-256 of a whole device. It writes the page cache out first, so that a later write-back doesn't count as a change; twice,
/// since a file system may react to the first with more writes.
pub fn checksum(device: &Path) -> String {
    super::run("sync", &[]);
    super::run("sync", &[]);
    let mut file = File::open(device).unwrap();
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = file.read(&mut buffer).unwrap();
        if n == 0 {
            break;
        }
        hash.update(&buffer[..n]);
    }
    hash.finalize().iter().map(|b| format!("{b:02x}")).collect()
}
