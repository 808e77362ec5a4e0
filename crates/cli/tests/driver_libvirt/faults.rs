//! Kills and failures in the middle of `create` and `destroy`. Afterwards `destroy` leaves nothing of the claim, and the neighbours are as
//! they were.

use crate::guests::Site;
use crate::hosts::{
    CLAIM, about, create, destroyed, import_blank, machine, neighbours, on, picture, started,
};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

const HOST: &str = "ham0";
/// Counts the calls of virsh; at one of them it does what `kind` says. Whoever wrote `kill` removes it after the driver is dead.
const WRAPPER: &str = r#"#!/bin/sh
d=/root/fault
n=$(flock $d/lock sh -c 'n=$(($(cat $0/count) + 1)); echo $n >$0/count; echo $n' $d)
dead() { : >$d/kill; i=0; while [ -e $d/kill ] && [ $i -lt 1000 ]; do sleep 0.01; i=$((i + 1)); done; }
if [ "$n" = "$(cat $d/at)" ]; then
    case $(cat $d/kind) in
        fail) echo "error: internal error: injected" >&2; exit 1 ;;
        unheard) /run/virsh "$@" >/dev/null 2>&1; echo "error: Disconnected from qemu:///system: injected" >&2; exit 1 ;;
        before) dead ;;
        after) /run/virsh "$@"; s=$?; dead; exit $s ;;
    esac
fi
exec /run/virsh "$@"
"#;

/// The way of a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// virsh fails, and does nothing.
    Fail,
    /// virsh does it, and its answer is lost.
    Unheard,
    /// The driver is killed before virsh does it.
    Before,
    /// The driver is killed after virsh did it.
    After,
    /// The driver is killed at any moment.
    Moment,
}

const KINDS: [Kind; 5] = [Kind::Moment, Kind::Before, Kind::After, Kind::Fail, Kind::Unheard];

/// Numbers that look random (xorshift64).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// What came of the faults.
#[derive(Debug, Default)]
struct Counts {
    killed: u64,
    failed: u64,
    /// The fault came too late: the driver had ended by itself.
    unhurt: u64,
    /// `destroy` had something to remove afterwards.
    removed: u64,
}

/// Injects faults, one after the other.
pub(crate) fn run(site: &Site, count: u64, seed: u64) {
    import_blank(site, HOST);
    neighbours(site, HOST);
    let faults = Faults { site, folder: site.machines.path(HOST, "/root/fault") };
    faults.install();
    let before = picture(site, HOST);
    let mut numbers = Numbers(seed.max(1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut counts = Counts::default();
    for number in 0..count {
        let kind = KINDS[usize::try_from(number).unwrap() % KINDS.len()];
        let is_destroy = numbers.below(2) == 1;
        let at = 1 + numbers.below(if is_destroy { 14 } else { 22 });
        let moment = Duration::from_millis(numbers.below(if is_destroy { 1500 } else { 3000 }));
        let asked = create(site, CLAIM, &[machine("big", HOST)]);
        let request = if is_destroy { about("destroy", CLAIM, HOST) } else { asked.clone() };
        if is_destroy {
            faults.undisturbed(&asked);
        }
        let ended = faults.disturbed(&request, kind, at, moment);
        match ended {
            Ended::Killed => counts.killed += 1,
            Ended::Failed => counts.failed += 1,
            Ended::Unhurt => counts.unhurt += 1,
        }
        // Every third interrupted create is repeated, as a person would.
        if !is_destroy && number % 3 == 0 {
            let said = faults.undisturbed(&asked);
            let text = said["failed"]["text"].as_str().unwrap_or_default().to_owned();
            assert!(text.contains("no address after 1 s"), "fault {number}: a create is repeated: {said}");
        }
        let removed = destroyed(site, CLAIM, HOST);
        counts.removed += u64::from(!removed.is_empty());
        let after = picture(site, HOST);
        assert_eq!(after, before, "fault {number} ({kind:?}, destroy: {is_destroy}, call {at}, {moment:?})");
        eprintln!(
            "fault {number}: {kind:?} in {}, call {at}, {moment:?}: {ended:?}, then removed {removed:?}",
            if is_destroy { "destroy" } else { "create" }
        );
    }
    assert!(counts.killed + counts.failed > count / 2, "most faults hit: {counts:?}");
    assert!(counts.removed > 0, "some faults leave something to remove: {counts:?}");
    eprintln!("{count} faults, seed {seed}: {counts:?}");
}

/// How the driver ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ended {
    Killed,
    Failed,
    Unhurt,
}

struct Faults<'a> {
    site: &'a Site,
    /// The wrapper's folder, as this computer sees it.
    folder: PathBuf,
}

impl Faults<'_> {
    /// Puts the wrapper in the place of virsh, in the host's mount namespace only.
    fn install(&self) {
        fs::create_dir_all(&self.folder).unwrap();
        self.set("none", 0);
        fs::write(self.folder.join("virsh"), WRAPPER).unwrap();
        let place = "chmod 755 /root/fault/virsh; cp /usr/bin/virsh /run/virsh; mount --bind /root/fault/virsh /usr/bin/virsh";
        on(self.site, HOST, &["sh", "-s"], place);
    }

    fn set(&self, kind: &str, at: u64) {
        for (name, text) in [("kind", kind.to_owned()), ("at", at.to_string()), ("count", "0".to_owned())] {
            fs::write(self.folder.join(name), text).unwrap();
        }
    }

    /// Performs a request without a fault; returns its result.
    fn undisturbed(&self, request: &Value) -> Value {
        self.set("none", 0);
        crate::hosts::events(self.site, request).pop().unwrap()
    }

    /// Performs a request with a fault.
    fn disturbed(&self, request: &Value, kind: Kind, at: u64, moment: Duration) -> Ended {
        let word = match kind {
            Kind::Fail => "fail",
            Kind::Unheard => "unheard",
            Kind::Before => "before",
            Kind::After => "after",
            Kind::Moment => "none",
        };
        self.set(word, at);
        let mut driver = started(self.site, request);
        let began = Instant::now();
        let kill = self.folder.join("kill");
        let ended = loop {
            if let Some(status) = driver.try_wait().unwrap() {
                let hit = self.calls() >= at && matches!(kind, Kind::Fail | Kind::Unheard);
                break if hit && !status.success() { Ended::Failed } else { Ended::Unhurt };
            }
            if kill.exists() || (kind == Kind::Moment && began.elapsed() >= moment) {
                end(&mut driver);
                let _ = fs::remove_file(&kill);
                break Ended::Killed;
            }
            assert!(began.elapsed() < Duration::from_secs(120), "the driver hangs");
            std::thread::sleep(Duration::from_millis(2));
        };
        self.set("none", 0);
        ended
    }

    fn calls(&self) -> u64 {
        fs::read_to_string(self.folder.join("count"))
            .ok()
            .and_then(|text| text.trim().parse().ok())
            .unwrap_or(0)
    }
}

fn end(driver: &mut Child) {
    driver.kill().unwrap();
    driver.wait().unwrap();
}
