//! Stacks with an encrypted device, which need a kernel with dm-crypt.

use super::managed::{lvm, md};
use super::scenario::{Scenario, emulated, simple};
use device::Place;
use diskproof_stack::{Built, Machine};
use record::lvm::LvmLayout;
use record::md::MdLevel;
use record::stack::{FsKind, Layer, Luks};
use record::volume::Limits;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::process::Command;

/// Every byte of a page of ours.
const PLAIN: u8 = 0xC7;

pub(crate) fn luks(sector_bytes: u32, no_workqueues: bool) -> Luks {
    Luks {
        cipher: Luks::CIPHER.to_owned(),
        key_bits: 512,
        sector_bytes,
        no_read_workqueue: no_workqueues,
        no_write_workqueue: no_workqueues,
    }
}

/// One of every kind, and what they compose to.
pub(crate) fn encrypted() -> Vec<Scenario> {
    let ext4 = || simple(FsKind::Ext4);
    let plain = || Layer::Luks(luks(512, false));
    let tuned = || Layer::Luks(luks(4096, true));
    let volume = || Layer::Lvm(lvm(LvmLayout::Linear));
    let cbc = Luks { cipher: "aes-cbc-essiv:sha256".to_owned(), key_bits: 256, ..luks(1024, false) };
    let reads = Luks { no_read_workqueue: true, ..luks(2048, false) };
    let of = |name, count, layers| Scenario {
        name,
        volumes: emulated(count, 48, Limits::default()),
        beside: Vec::new(),
        layers,
    };
    let limits = Limits { read_iops: Some(4000), write_iops: Some(4000), ..Limits::default() };
    vec![
        of("luks-ext4", 1, vec![plain(), ext4()]),
        Scenario { volumes: emulated(1, 48, limits), ..of("luks-limited", 1, vec![plain(), ext4()]) },
        of("luks-raw", 1, vec![tuned()]),
        of("luks-cbc", 1, vec![Layer::Luks(cbc), ext4()]),
        of("luks-reads", 1, vec![Layer::Luks(reads)]),
        of("md-luks-ext4", 2, vec![Layer::Md(md(MdLevel::Raid1)), tuned(), ext4()]),
        of("lvm-luks-ext4", 2, vec![volume(), plain(), ext4()]),
        of("luks-lvm-ext4", 1, vec![tuned(), volume(), ext4()]),
    ]
}

/// What cryptsetup says of what was built, against what was asked; and what is written does not lie below as it is.
pub(crate) fn is_encrypted_as_asked(scenario: &Scenario, _: &Machine<'_>, built: &Built) {
    let asked = scenario.layers.iter().find_map(|layer| match layer {
        Layer::Luks(luks) => Some(luks),
        _ => None,
    });
    let asked = asked.unwrap();
    let of = |action: &str| built.argv.iter().find(|argv| argv.get(1).is_some_and(|word| word == action));
    let [device, name] = of("open").unwrap().last_chunk::<2>().unwrap();
    let status = says(&["status", name]);
    let mut lines = vec![
        "type: LUKS2".to_owned(),
        format!("cipher: {}", asked.cipher),
        format!("keysize: {} bits", asked.key_bits),
        format!("sector size: {}", asked.sector_bytes),
    ];
    let flags =
        [(asked.no_read_workqueue, "no_read_workqueue"), (asked.no_write_workqueue, "no_write_workqueue")];
    let set: Vec<&str> = flags.iter().filter(|(set, _)| *set).map(|(_, name)| *name).collect();
    if !set.is_empty() {
        lines.push(format!("flags: {}", set.join(" ")));
    }
    for line in &lines {
        assert!(status.contains(line), "{}: no {line:?} in {status:#?}", scenario.name);
    }
    assert!(!status.iter().any(|line| line.contains("discards")), "{status:#?}");
    let dump = says(&["luksDump", device]);
    assert!(dump.contains(&"PBKDF: pbkdf2".to_owned()), "{dump:#?}");
    assert!(dump.contains(&"Iterations: 1000".to_owned()), "{dump:#?}");
    assert!(!built.argv.iter().flatten().any(|arg| arg.contains("key-file=")), "{:?}", built.argv);
    lies_encrypted(scenario.name, built, device);
}

/// What cryptsetup says, with single blanks.
fn says(args: &[&str]) -> Vec<String> {
    let output = Command::new("cryptsetup").args(args).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{args:?}: {text}");
    text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// Writes pages of one byte on top, and looks for one below.
fn lies_encrypted(scenario: &str, built: &Built, device: &str) {
    let (path, create) = match built.ground.place() {
        Place::Block(path) => (path.clone(), false),
        Place::Directory(dir) => (dir.join("plain"), true),
    };
    let page = vec![PLAIN; 4096];
    let mut file = std::fs::File::options().write(true).create(create).truncate(create).open(&path).unwrap();
    (0..64).for_each(|_| file.write_all(&page).unwrap());
    file.sync_all().unwrap();
    drop(file);
    let direct = i32::try_from(rustix::fs::OFlags::DIRECT.bits()).unwrap();
    let below = std::fs::File::options().read(true).custom_flags(direct).open(device).unwrap();
    let mut room = vec![0_u8; (1 << 20) + 4096];
    let begin = room.as_ptr().align_offset(4096);
    let buffer = &mut room[begin..begin + (1 << 20)];
    let (mut at, mut read) = (0_u64, 0_u64);
    loop {
        let count = std::os::unix::fs::FileExt::read_at(&below, buffer, at).unwrap();
        if count == 0 {
            break;
        }
        let found = buffer[..count].chunks(512).any(|sector| sector.iter().all(|byte| *byte == PLAIN));
        assert!(!found, "{scenario}: what was written lies on {device} as it is");
        at += count as u64;
        read += count as u64;
    }
    assert!(read >= 32 << 20, "{scenario}: only {read} bytes of {device} were looked at");
}
