//! Synthetic trials with known truth: a clean one must have no finding, and each trap must have its finding.

mod amplified;
mod arc;
mod below;
mod bonnie;
mod cache_device;
mod clean;
mod cpu;
mod departed;
mod emulated;
mod foreign;
mod generator;
mod host_cache;
mod host_limits;
mod imported;
mod jobfile;
mod limit;
mod load;
mod nfs;
mod source;
mod stacked;
mod stalled;
mod thin_pool;
mod trim;

use crate::attribute::{Attribution, attribute};
use crate::detect::in_trial;
use crate::detected::Detected;
use crate::facts::Facts;
use crate::testing::Truth;
use record::finding::{Claim, Served};
use record::stack::BtrfsProfile;
use record::volume::VolumeFacts;

fn judged(truth: &Truth) -> (Attribution, Vec<Detected>) {
    let record = truth.record();
    let facts = Facts::of(&record, &truth.cell).unwrap();
    let shares = attribute(&facts);
    let volumes: Vec<&VolumeFacts> = truth.volumes.iter().collect();
    let scene = truth.scene(&facts, &shares, &volumes);
    let found = in_trial(&scene);
    let found: Vec<Detected> = found.into_iter().map(|(_, detected)| detected).collect();
    for f in &found {
        assert!(!f.text.is_empty() && !f.remedy.is_empty() && !f.evidence.is_empty(), "{f:?}");
        assert!(f.evidence.values().all(|v| v.is_finite()), "{f:?}");
    }
    (shares, found)
}

pub(super) fn claims(truth: &Truth) -> Vec<Claim> {
    judged(truth).1.iter().map(|d| d.claim).collect()
}

pub(super) fn close(actual: f64, wanted: f64) -> bool {
    (actual - wanted).abs() < 0.015
}

pub(super) fn assert_served(served: Served, wanted: Served) {
    let pairs = [
        (served.device, wanted.device),
        (served.page_cache, wanted.page_cache),
        (served.hole, wanted.hole),
        (served.other, wanted.other),
        (served.unknown, wanted.unknown),
        (served.other_cache, wanted.other_cache),
    ];
    assert!(pairs.iter().all(|(a, w)| close(*a, *w)), "{served:?}, not {wanted:?}");
}

pub(super) fn only(f: impl FnOnce(&mut Served)) -> Served {
    let mut served = Served::default();
    f(&mut served);
    served
}

const RAID0: BtrfsProfile = BtrfsProfile::Raid0;
const SINGLE: BtrfsProfile = BtrfsProfile::Single;
