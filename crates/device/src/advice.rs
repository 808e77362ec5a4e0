//! Adapts remedies to the other checks' results: the advice for a forgotten disk is wrong for the disk that the machine runs
//! from.

use crate::refusal::{Check, Dissent};

const RUNS_FROM_IT: &str = "choose another disk: this machine runs from this one";
const IN_USE: [Check; 5] = [Check::Mounts, Check::Holders, Check::Swap, Check::Exclusive, Check::Openers];

/// Sorts the objections by check, and adapts each remedy to what the other checks found.
pub(crate) fn fit(mut dissent: Vec<Dissent>) -> Vec<Dissent> {
    dissent.sort_by_key(|d| d.witness);
    let heard = |witness: Check| dissent.iter().any(|d| d.witness == witness && d.heard);
    let (root, used) = (heard(Check::Root), IN_USE.into_iter().any(heard));
    for one in &mut dissent {
        let erases = matches!(one.witness, Check::Signature | Check::Partitions) && one.heard;
        if root {
            RUNS_FROM_IT.clone_into(&mut one.remedy);
        } else if used && erases {
            one.remedy = format!("end its use first; then, {}", one.remedy);
        }
    }
    dissent
}

#[cfg(test)]
mod tests {
    use super::{RUNS_FROM_IT, fit};
    use crate::refusal::{Check, Dissent};

    #[test]
    fn nobody_is_told_to_unmount_or_wipe_what_the_machine_runs_from() {
        let all = fit(vec![
            Dissent::new(Check::Signature, "ext4", "wipefs -a"),
            Dissent::new(Check::Root, "root", "choose another"),
            Dissent::new(Check::Mounts, "mounted at /", "umount /"),
        ]);
        assert!(all.iter().all(|d| d.remedy == RUNS_FROM_IT), "{all:?}");
        assert_eq!(all[0].witness, Check::Mounts, "sorted");
    }

    #[test]
    fn a_disk_in_use_is_not_wiped_first() {
        let all = fit(vec![
            Dissent::new(Check::Signature, "ext4", "wipefs -a"),
            Dissent::new(Check::Mounts, "mounted at /mnt", "umount /mnt"),
        ]);
        assert_eq!(all[0].remedy, "umount /mnt");
        assert_eq!(all[1].remedy, "end its use first; then, wipefs -a");
        let alone = fit(vec![Dissent::new(Check::Signature, "ext4", "wipefs -a")]);
        assert_eq!(alone[0].remedy, "wipefs -a");
    }
}
