use super::{ThinPool, verify_volume};
use crate::error::ActError;
use crate::layer::lvm::thin_step;
use crate::machine::{Machine, NoHooks};
use host::{CommandFailure, Invocation, Output, Runner};
use record::lvm::{Discards, Thin};
use std::path::Path;
use std::sync::Mutex;

const MIB: u64 = 1 << 20;
const TABLE: &str = "0 57344 thin-pool 253:0 253:1 128 0 0 \n";
const STATUS: &str = "0 57344 thin-pool 0 10/1024 0/448 - rw no_discard_passdown queue_if_no_space - 1024 \n";

fn asked() -> Thin {
    Thin {
        chunk_bytes: None,
        zero: true,
        discards: Discards::Passdown,
        metadata_bytes: None,
        virtual_bytes: None,
    }
}

/// What dmsetup says, in order; `None`: it fails.
struct Dmsetup {
    says: Vec<Option<&'static str>>,
    ran: Mutex<Vec<String>>,
}

impl Runner for Dmsetup {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let (argv, mut ran) = (cmd.argv(), self.ran.lock().unwrap());
        let said = self.says.get(ran.len()).unwrap_or_else(|| panic!("{argv:?}"));
        ran.push(argv.join(" "));
        match said {
            Some(said) => Ok(Output { stdout: (*said).to_owned(), stderr: String::new(), argv, status: 0 }),
            None => {
                Err(CommandFailure::Failed { argv, status: 1, stdout: String::new(), stderr: String::new() })
            }
        }
    }
}

/// What is made of these answers, and the commands that were asked.
fn with<T>(
    says: &[Option<&'static str>],
    look: impl FnOnce(&Machine<'_>) -> Result<T, ActError>,
) -> (Result<T, ActError>, Vec<String>) {
    let dmsetup = Dmsetup { says: says.to_vec(), ran: Mutex::new(Vec::new()) };
    let roots = device::Roots::default();
    let found = look(&Machine::local(&dmsetup, &roots, Path::new("/no/state"), &NoHooks));
    (found, dmsetup.ran.into_inner().unwrap())
}

fn made(says: &[Option<&'static str>], asked: &Thin) -> (Result<ThinPool, ActError>, Vec<String>) {
    with(says, |machine| ThinPool::made(machine, "diskproof-r-3", asked))
}

fn pool(status: &'static str) -> ThinPool {
    made(&[Some(TABLE), Some(status)], &asked()).0.unwrap()
}

#[test]
fn a_new_pool_is_looked_at_with_or_without_lvms_layer() {
    let (found, ran) = made(&[Some(TABLE), Some(STATUS)], &asked());
    let found = found.unwrap();
    assert_eq!((found.bytes, found.chunk_bytes, found.metadata_bytes), (28 * MIB, 64 << 10, 4 * MIB));
    assert_eq!(ran, ["dmsetup table diskproof--r--3-pool", "dmsetup status diskproof--r--3-pool"]);
    let (found, ran) = made(&[Some("0 57344 linear 253:2 0\n"), Some(TABLE), Some(STATUS)], &asked());
    assert_eq!(found.unwrap().bytes, 28 * MIB);
    assert_eq!(
        ran[1..],
        ["table", "status"].map(|word| format!("dmsetup {word} diskproof--r--3-pool-tpool"))
    );
}

#[test]
fn a_pool_that_is_not_as_asked_is_an_error() {
    const NO_ZERO: &str = "0 57344 thin-pool 253:0 253:1 1024 0 1 skip_block_zeroing \n";
    const IGNORES: &str = "0 57344 thin-pool 253:0 253:1 128 0 2 ignore_discard error_if_no_space \n";
    const KEEPS: &str = "0 57344 thin-pool 253:0 253:1 128 0 1 no_discard_passdown \n";
    let all = Thin {
        chunk_bytes: Some(512 << 10),
        zero: false,
        discards: Discards::Passdown,
        metadata_bytes: Some(3 * MIB),
        virtual_bytes: None,
    };
    assert!(made(&[Some(NO_ZERO), Some(STATUS)], &all).0.is_ok(), "3 MiB became an extent of 4 MiB");
    for (table, discards) in [(IGNORES, Discards::Ignore), (KEEPS, Discards::Nopassdown)] {
        assert!(made(&[Some(table), Some(STATUS)], &Thin { discards, ..asked() }).0.is_ok(), "{table}");
    }
    let differing = [
        (TABLE, Thin { chunk_bytes: Some(128 << 10), ..asked() }, "chunks of 64 KiB"),
        (TABLE, Thin { zero: false, ..asked() }, ", filled with zeros"),
        (NO_ZERO, asked(), "not filled with zeros"),
        (TABLE, Thin { metadata_bytes: Some(5 * MIB), ..asked() }, "4 MiB of metadata"),
        (TABLE, Thin { discards: Discards::Ignore, ..asked() }, "discards passdown"),
        (KEEPS, asked(), "discards nopassdown"),
    ];
    for (table, asked, named) in differing {
        match made(&[Some(table), Some(STATUS)], &asked).0 {
            Err(ActError::Unverified { expected, saw, .. }) => {
                assert!(saw.contains(named) && expected != saw, "{expected}, {saw}");
            }
            other => panic!("{named}: {other:?}"),
        }
    }
}

#[test]
fn what_is_no_working_pool_and_what_fails_is_an_error() {
    for status in ["0 57344 thin-pool Fail\n", "0 57344 thin-pool Error\n", "", "0 57344 linear 253:1 0\n"] {
        let found = made(&[Some(TABLE), Some(status)], &asked()).0;
        assert!(matches!(found, Err(ActError::Unverified { .. })), "{status:?}: {found:?}");
    }
    let linear = Some("0 57344 linear 253:2 0\n");
    for says in [vec![None], vec![Some(TABLE), None], vec![linear, None], vec![linear, Some(TABLE), None]] {
        let (found, ran) = made(&says, &asked());
        assert!(matches!(found, Err(ActError::Tool { .. })), "{says:?}: {found:?}");
        assert_eq!(ran.len(), says.len(), "nothing is asked after a failure");
    }
}

#[test]
fn a_volume_that_could_fill_its_pool_is_refused() {
    let of = |virtual_bytes| pool(STATUS).volume_bytes(&Thin { virtual_bytes, ..asked() });
    assert_eq!(of(None), Ok(28 * MIB));
    assert_eq!(of(Some(8 * MIB)), Ok(8 * MIB));
    assert_eq!(of(Some(28 * MIB)), Ok(28 * MIB));
    let refused = of(Some(28 * MIB + 512)).unwrap_err();
    assert!(refused.contains("its pool of 28 MiB") && refused.contains("virtual_size"), "{refused}");
    // 16 blocks of metadata, 64 KiB: enough for 1024 chunks
    let small = "0 57344 thin-pool 0 10/16 0/1025 - rw discard_passdown queue_if_no_space - 1024\n";
    let small = pool(small);
    assert_eq!(small.volume_bytes(&Thin { virtual_bytes: Some(64 * MIB), ..asked() }), Ok(64 * MIB));
    let refused = small.volume_bytes(&asked()).unwrap_err();
    assert!(refused.contains("metadata of 64 KiB could get full"), "{refused}");
}

#[test]
fn the_volume_is_made_in_the_pool_and_is_thin() {
    let step = thin_step("diskproof-r-3", 28 * MIB);
    assert_eq!(
        format!("{} {}", step.command.name(), step.args.join(" ")),
        "lvcreate --name data --type thin --virtualsize 29360128b --thinpool pool diskproof-r-3"
    );
    let verified = |says| with(&[Some(says)], |machine| verify_volume(machine, "g-data")).0;
    assert!(verified("0 57344 thin 253:2 1\n").is_ok());
    for other in ["0 57344 linear 7:0 2048\n", ""] {
        assert!(matches!(verified(other), Err(ActError::Unverified { .. })), "{other:?}");
    }
}
