//! Scenarios that show only over several rounds.

use crate::truth::injection::Injection;
use crate::truth::scenario::{CLEAN, Source, truth};
use crate::truth::session::{Pair, Session};
use record::finding::{Claim, Severity};
use record::judged::{LimitKind, Relation};

const ASKED: &str = "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1, runtime: 2s";

pub(super) fn session() -> Session {
    Session {
        name: "rounds",
        volumes: "  \
  a: { count: 2, emulate: { size: 32m, iops: 400 } }
  b: { emulate: { size: 32m, iops: 420 } }
  step: { emulate: { size: 64m, iops: 500 } }
",
        stacks: "  \
  a-1: { on: \"a[0]\" }
  a-2: { on: \"a[1]\" }
  b: { on: b }
  step: { on: step }
  step-ext4: { on: step, layers: [ext4] }
",
        places: Vec::new(),
        measure: "trial: 1s, ramp: 250ms, rounds: 6, interval: 8%, sample_hz: 50",
        expect: "  - { of: iops, is: 400, within: 10%, for: { workload: as-expected } }\n  \
                 - { of: iops, is: 600, within: 10%, for: { workload: below-expected } }\n",
        scenarios: vec![
            truth(CLEAN, "as-expected", "a-1", "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1")
                .made("400 IOPS are expected of a volume of 400")
                .limited_by(&[LimitKind::Throttle])
                .served(Source::Device, 1.0, 0.02),
            truth(
                "expectation missed",
                "below-expected",
                "a-2",
                "rw: randwrite, bs: 4k, iodepth: 16, size: 16m, direct: 1",
            )
            .made("600 IOPS are expected of a volume of 400")
            .claim(Claim::ExpectationMissed, Severity::Caveat)
            .limited_by(&[LimitKind::Throttle]),
            truth("trend", "warming", "step-ext4", "rw: randread, bs: 4k, size: 16m, direct: 0, cache: keep")
                .made("the page cache keeps 0, 25, 37 ... 75 % of the file, more in each round")
                // just below whole MiB: the kernel keeps or drops a folio of the page cache as a whole
                .injection(Injection::Cached { percent: &[0, 25, 37, 50, 62, 75] })
                .claim(Claim::Trend, Severity::Caveat)
                .claim(Claim::ServedFromPageCache, Severity::Caveat)
                .claim(Claim::SmallerThanMemory, Severity::Caveat)
                .may(&[Claim::AboveModel])
                .needs_cpu()
                .needs_disk(),
            truth(
                "interval too wide",
                "swinging",
                "step",
                "rw: randread, bs: 4k, iodepth: 16, size: 16m, direct: 1",
            )
            .made("the limit is 500 or 300 IOPS, round by round; ±8 % is asked")
            .injection(Injection::LimitOfRound { volume: "step", limits: &[500, 300, 300, 500, 300, 500] })
            .claim(Claim::IntervalTooWide, Severity::Note)
            .may(&[Claim::Bimodal, Claim::BelowModel, Claim::UndeclaredLimit]),
        ],
        pairs: vec![
            Pair {
                name: "identical",
                made: "two volumes of 400 IOPS",
                workload: ASKED,
                stacks: ["a-1", "a-2"],
                relation: Relation::NotApart,
            },
            Pair {
                name: "five-percent-apart",
                made: "volumes of 400 and 420 IOPS",
                workload: ASKED,
                stacks: ["a-1", "b"],
                relation: Relation::Apart,
            },
        ],
    }
}
