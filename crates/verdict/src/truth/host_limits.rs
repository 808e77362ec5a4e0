//! Limits that the host of a guest sets on the guest's disk.

use super::limit::{limit_of, load};
use crate::facts::Facts;
use crate::leaves;
use crate::testing::{GIB, Truth};
use record::counter::Sample;
use record::finding::Claim;
use record::judged::LimitKind;
use record::volume::{HostBurst, HostLimits, LimitName, Limits, VolumeFacts, VolumeKind};
use record::workload::Rw;
use std::collections::BTreeMap;

fn total(iops: u64) -> Limits {
    Limits { total_iops: Some(iops), ..Limits::default() }
}

/// 200 reads per second of a volume that a host limits. `looks`: the limits before and after the trial.
fn guest(host: HostLimits, looks: [Limits; 2]) -> Truth {
    let mut t = load(Rw::Randread, 64);
    t.device_iops = 200.0;
    t.emulated(1);
    t.cell.stack.volumes[0].kind = VolumeKind::Disk { id: "virtio-dp1".to_owned() };
    t.volumes = vec![VolumeFacts {
        name: "vol[0]".to_owned(),
        target: "local".to_owned(),
        device: Some("/dev/loop0".into()),
        size_bytes: GIB,
        identity: None,
        verified: Vec::new(),
        burst: None,
        backing_fs: None,
        loop_direct_io: None,
        host_limits: Some(host),
    }];
    let look = |limits| Sample {
        throttles: Some(BTreeMap::from([("loop0".to_owned(), limits)])),
        ..Sample::default()
    };
    t.trial.evidence.host = looks.map(look).to_vec();
    t
}

fn found(t: &Truth, claim: Claim) -> Option<String> {
    let (_, all) = super::judged(t);
    all.into_iter().find(|d| d.claim == claim).map(|d| format!("{} {}", d.text, d.remedy))
}

#[test]
fn a_load_at_the_hosts_limit_is_limited_by_it() {
    let asked = HostLimits { limits: total(200), asked: total(200), ..HostLimits::default() };
    let t = guest(asked.clone(), [total(200); 2]);
    let limit = limit_of(&t);
    assert_eq!((limit.by, limit.shown), (LimitKind::Throttle, true), "{}", limit.text);
    assert!(limit.text.contains("total_iops), which the guest's host sets."), "{}", limit.text);
    assert!(found(&t, Claim::UndeclaredLimit).is_none() && found(&t, Claim::ThrottleChanged).is_none());
    let record = t.record();
    let kind = leaves::of_cell(&[Facts::of(&record, &t.cell).unwrap()])[0].kind.clone();
    assert!(kind.ends_with(", limited there to total_iops 200"), "{kind}");

    // The experiment didn't ask for it: the figure is that of the limit.
    let t = guest(HostLimits { asked: Limits::default(), ..asked.clone() }, [total(200); 2]);
    let told = found(&t, Claim::UndeclaredLimit).unwrap();
    assert!(
        told.contains("sets and the experiment doesn't ask for") && told.contains("blkdeviotune"),
        "{told}"
    );
    // It asked for more.
    let t = guest(HostLimits { asked: total(400), ..asked.clone() }, [total(200); 2]);
    let told = found(&t, Claim::UndeclaredLimit).unwrap();
    assert!(told.contains("asks its host for 400"), "{told}");
    // The host doesn't tell during the trial: what it told before holds.
    let mut t = guest(asked.clone(), [total(200); 2]);
    t.trial.evidence.host.clear();
    assert_eq!(limit_of(&t).by, LimitKind::Throttle);
    // A limit that isn't met.
    let far = HostLimits { limits: total(900), ..asked };
    assert_ne!(limit_of(&guest(far, [total(900); 2])).by, LimitKind::Throttle);
}

#[test]
fn a_limit_that_is_not_firm_limits_nothing_for_certain() {
    let plain = HostLimits { limits: total(200), ..HostLimits::default() };
    let burst = HostBurst { limit: LimitName::TotalIops, rate: 800, seconds: 9 };
    for loose in [
        HostLimits { bursts: vec![burst], ..plain.clone() },
        HostLimits { io_bytes: Some(4096), ..plain.clone() },
    ] {
        assert_ne!(limit_of(&guest(loose, [total(200); 2])).by, LimitKind::Throttle);
    }
}

#[test]
fn limits_that_the_host_changes_are_told() {
    let host = HostLimits { limits: total(200), asked: total(200), ..HostLimits::default() };
    let told = found(&guest(host.clone(), [total(200), total(100)]), Claim::ThrottleChanged).unwrap();
    assert!(told.contains("while it was measured: total_iops from 200 to 100"), "{told}");
    let told = found(&guest(host, [total(100); 2]), Claim::ThrottleChanged).unwrap();
    assert!(
        told.contains("not for those at the beginning of the run") && told.contains("blkdeviotune"),
        "{told}"
    );
}
