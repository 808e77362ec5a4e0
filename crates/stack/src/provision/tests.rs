//! Scripts that really run; they touch only files in a folder of the test.

use super::{ProvisionError, Provisioning, memory::Memory, provision};
use crate::machine::{Machine, NoHooks};
use device::Roots;
use host::{CommandFailure, Invocation, LocalRunner, Output, Program, Runner};
use record::id::RunId;
use record::provision::{ProvisionStep, Provisioned, Provisioner};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Counts its runs, and reports a change in the first one.
const GOOD: &str = "#!/bin/sh
echo run >> $1/runs
[ -e $1/tuned ] && { echo changed=0; exit; }
touch $1/tuned
echo changed=1
";

struct Bench {
    dir: tempfile::TempDir,
    cancel: AtomicBool,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), cancel: AtomicBool::new(false) }
    }

    fn path(&self) -> &Path {
        self.dir.path()
    }

    fn step(&self, text: &str) -> ProvisionStep {
        ProvisionStep {
            by: Provisioner::Shell,
            path: "scripts/tune.sh".to_owned(),
            text: text.to_owned(),
            args: vec![self.path().to_string_lossy().into_owned()],
            vars: BTreeMap::new(),
            target: None,
            digest: text.to_owned(),
        }
    }

    fn with(&self, wanted: Provisioning<'_>) -> (Vec<Provisioned>, Result<(), ProvisionError>) {
        let (roots, state) = (Roots::default(), self.path().join("state"));
        let machine = Machine::local(&LocalRunner, &roots, &state, &NoHooks);
        provision(&machine, wanted, &self.cancel, &mut |_| {})
    }

    fn provision(&self, steps: &[ProvisionStep]) -> (Vec<Provisioned>, Result<(), ProvisionError>) {
        self.with(Provisioning { steps, boot_id: Some("boot"), anew: false })
    }

    fn done(&self, steps: &[ProvisionStep]) -> Vec<Provisioned> {
        let (done, outcome) = self.provision(steps);
        outcome.unwrap();
        done
    }

    /// The number of times that scripts ran.
    fn runs(&self) -> usize {
        std::fs::read_to_string(self.path().join("runs")).map_or(0, |text| text.lines().count())
    }
}

fn changes(step: &Provisioned) -> Vec<Option<u64>> {
    step.runs.iter().map(|run| run.changed).collect()
}

#[test]
fn a_step_is_run_twice_and_then_skipped_until_something_changes() {
    let bench = Bench::new();
    let steps = [bench.step(GOOD)];
    let first = bench.done(&steps);
    assert_eq!((changes(&first[0]), first[0].skipped), (vec![Some(1), Some(0)], false));
    assert_eq!((first[0].is_idempotent(), bench.runs()), (Some(true), 2));
    assert!(!bench.path().join("state/provision").exists(), "its files are gone");

    let again = bench.done(&steps);
    assert_eq!(again, [Provisioned { skipped: true, ..first[0].clone() }]);
    assert_eq!(bench.runs(), 2);

    let skipped = |steps: &[ProvisionStep], boot_id, anew| {
        let (done, outcome) = bench.with(Provisioning { steps, boot_id, anew });
        outcome.unwrap();
        done[0].skipped
    };
    assert!(!skipped(&steps, Some("boot"), true), "asked for");
    assert!(!skipped(&steps, Some("another boot"), false), "settings of the kernel are gone");
    assert!(skipped(&steps, Some("another boot"), false));
    assert!(!skipped(&steps, None, false), "who knows");
    let changed = [bench.step(&format!("{GOOD}# another comment\n"))];
    assert!(!skipped(&changed, Some("boot"), false));
    assert!(!skipped(&steps, Some("boot"), false), "what came between may have changed its work");
    let more = [steps[0].clone(), changed[0].clone()];
    assert!(!skipped(&more, Some("boot"), false));
    assert!(!skipped(&steps, Some("boot"), false), "the second step came after the first");
}

#[test]
fn a_step_that_goes_on_changing_things_is_no_failure_and_remembered_as_what_it_is() {
    let bench = Bench::new();
    let steps = [bench.step("#!/bin/sh\necho run >> $1/runs\necho changed=2\n"), bench.step("#!/bin/sh\n")];
    for skipped in [false, true] {
        let done = bench.done(&steps);
        assert_eq!(done[0].is_idempotent(), Some(false));
        assert_eq!(done[1].is_idempotent(), None, "it doesn't tell");
        assert_eq!(done.iter().map(|step| step.skipped).collect::<Vec<_>>(), [skipped; 2]);
    }
    assert_eq!(bench.runs(), 2);
}

#[test]
fn a_failure_names_its_step_keeps_its_output_and_is_not_remembered() {
    let bench = Bench::new();
    let bad = bench.step("#!/bin/sh\necho run >> $1/runs\necho so far\necho no such disk >&2\nexit 3\n");
    for _ in 0..2 {
        let (done, outcome) = bench.provision(&[bench.step(GOOD), bad.clone(), bench.step(GOOD)]);
        let error = outcome.unwrap_err().to_string();
        let expected = "step 2 of 3, `shell scripts/tune.sh`, first run: ended with status 3; stderr ends with:\n  no such disk; \
                        stdout ends with:\n  so far";
        assert_eq!(error, expected);
        assert_eq!(done.len(), 2, "the third was not begun");
        let run = &done[1].runs[0];
        assert_eq!((run.status, run.stdout.as_str(), run.stderr.as_str()), (3, "so far\n", "no such disk\n"));
        assert_eq!(done[1].error.as_deref(), Some(expected));
    }
    assert_eq!(bench.runs(), 6);

    let once = bench.step("#!/bin/sh\nmkdir $1/made\n");
    let error = bench.provision(&[once]).1.unwrap_err().to_string();
    assert!(error.contains("second run: ended with status 1"), "{error}");
}

/// A machine without any programs.
struct Bare;

impl Runner for Bare {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let Program::Tool(tool) = cmd.program else { panic!("{cmd:?}") };
        let (program, package) = (tool.name().to_owned(), Some(tool.package()));
        Err(CommandFailure::NotFound { program, package, looked_in: Vec::new() })
    }
}

#[test]
fn a_missing_program_names_its_package() {
    let bench = Bench::new();
    let (roots, state) = (Roots::default(), bench.path().join("state"));
    let machine = Machine::local(&Bare, &roots, &state, &NoHooks);
    for (by, package) in [(Provisioner::Ansible, "ansible-core"), (Provisioner::Puppet, "puppet-agent")] {
        let steps = [ProvisionStep { by, ..bench.step("") }];
        let wanted = Provisioning { steps: &steps, boot_id: Some("boot"), anew: false };
        let error = provision(&machine, wanted, &bench.cancel, &mut |_| {}).1.unwrap_err().to_string();
        assert!(error.contains(&format!("apt-get install {package}")), "{error}");
    }
}

#[test]
fn long_output_keeps_its_end() {
    let bench = Bench::new();
    let done = bench.done(&[bench.step("#!/bin/sh\nhead -c 200000 /dev/zero | tr '\\0' x\necho end\n")]);
    let run = &done[0].runs[0];
    assert_eq!((run.stdout.len(), run.cut_bytes), (64 << 10, 200_004 - (64 << 10)));
    assert!(run.stdout.ends_with("xend\n"));
}

#[test]
fn who_asks_to_stop_need_not_wait_for_a_script() {
    let bench = Bench::new();
    let slow = [bench.step("#!/bin/sh\necho run >> $1/runs\nsleep 100\n")];
    let begun = Instant::now();
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| bench.provision(&slow).1.unwrap_err());
        while bench.runs() == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        bench.cancel.store(true, Ordering::Relaxed);
        assert!(matches!(asked.join().unwrap(), ProvisionError::Cancelled));
    });
    assert!(begun.elapsed() < Duration::from_secs(60), "the script was ended");
}

#[test]
fn what_was_killed_in_between_begins_anew() {
    let bench = Bench::new();
    let steps = [bench.step(GOOD)];
    bench.done(&steps);
    Memory::lock(&bench.path().join("state")).unwrap().begin().unwrap();
    assert!(!bench.done(&steps)[0].skipped);
    assert_eq!(bench.runs(), 4);
}

#[test]
fn no_two_provision_and_nobody_provisions_under_a_run() {
    let bench = Bench::new();
    let (state, steps) = (bench.path().join("state"), [bench.step(GOOD)]);
    let other = Memory::lock(&state).unwrap();
    assert!(matches!(bench.provision(&steps).1, Err(ProvisionError::Busy { .. })));
    drop(other);
    let roots = Roots::default();
    let machine = Machine::local(&LocalRunner, &roots, &state, &NoHooks);
    let run = RunId("20261122-100000-0001".to_owned());
    let journal = crate::journal::Journal::open(&machine, &run).unwrap();
    let error = bench.provision(&steps).1.unwrap_err().to_string();
    assert!(error.contains("20261122-100000-0001 is under way"), "{error}");
    assert_eq!(bench.runs(), 0);
    drop(journal);
    assert!(!bench.done(&steps)[0].skipped);
}
