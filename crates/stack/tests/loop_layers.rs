//! Every layer builds, its device or file system can be loaded, and its undo leaves the machine as before.

mod support;

use support::{Bench, Hook, chain, scenarios};
use testkit::{exclusive, is_root};

#[test]
fn loop_every_layer_works_and_goes() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let bench = Bench::new("layers");
    let before = bench.state();
    for scenario in scenarios(&bench.dir.join("lent")) {
        let began = std::time::Instant::now();
        let result = scenario.whole(&bench, &Hook::count());
        result.unwrap_or_else(|error| panic!("{}: {}", scenario.name, chain(&*error)));
        assert_eq!(before.diff(&bench.state()), "", "{}", scenario.name);
        eprintln!("{}: {:?}", scenario.name, began.elapsed());
    }
}
