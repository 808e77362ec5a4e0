//! Every layer builds, its ground works, and its undo leaves the machine as it was.

mod support;

use support::{Bench, Hook, scenarios};
use testkit::{MachineState, exclusive, is_root};

#[test]
fn loop_every_layer_works_and_goes() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("layers");
    let hooks = Hook::count();
    let state_dir = bench.state_dir();
    let machine = bench.machine(&state_dir, &hooks);
    diskproof_stack::Journal::open(&machine, &bench.run).unwrap().undo_all(&machine).unwrap();
    let before = MachineState::capture(&bench.watch());
    for scenario in scenarios(&bench.dir.join("lent")) {
        let began = std::time::Instant::now();
        let result = scenario.whole(&bench, &hooks);
        result.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
        assert_eq!(before.diff(&MachineState::capture(&bench.watch())), "", "{}", scenario.name);
        eprintln!("{}: {:?}", scenario.name, began.elapsed());
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
