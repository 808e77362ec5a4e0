//! Remedies that fit the whole picture: what is right for a forgotten disk must not be said about the one the machine runs from.

use crate::refusal::{Dissent, Witness};

const RUNS_FROM_IT: &str = "choose another disk: this machine runs from this one";
const IN_USE: [Witness; 5] =
    [Witness::Mounts, Witness::Holders, Witness::Swap, Witness::Exclusive, Witness::Openers];

/// Sorts objections by witness, and fits each one's remedy to what the others saw.
pub(crate) fn fit(mut dissent: Vec<Dissent>) -> Vec<Dissent> {
    dissent.sort_by_key(|d| d.witness);
    let heard = |witness: Witness| dissent.iter().any(|d| d.witness == witness && d.heard);
    let (root, used) = (heard(Witness::Root), IN_USE.into_iter().any(heard));
    for one in &mut dissent {
        let erases = matches!(one.witness, Witness::Signature | Witness::Partitions) && one.heard;
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
    use crate::refusal::{Dissent, Witness};

    #[test]
    fn nobody_is_told_to_unmount_or_wipe_what_the_machine_runs_from() {
        let all = fit(vec![
            Dissent::new(Witness::Signature, "ext4", "wipefs -a"),
            Dissent::new(Witness::Root, "root", "choose another"),
            Dissent::new(Witness::Mounts, "mounted at /", "umount /"),
        ]);
        assert!(all.iter().all(|d| d.remedy == RUNS_FROM_IT), "{all:?}");
        assert_eq!(all[0].witness, Witness::Mounts, "sorted");
    }

    #[test]
    fn a_disk_in_use_is_not_wiped_first() {
        let all = fit(vec![
            Dissent::new(Witness::Signature, "ext4", "wipefs -a"),
            Dissent::new(Witness::Mounts, "mounted at /mnt", "umount /mnt"),
        ]);
        assert_eq!(all[0].remedy, "umount /mnt");
        assert_eq!(all[1].remedy, "end its use first; then, wipefs -a");
        let alone = fit(vec![Dissent::new(Witness::Signature, "ext4", "wipefs -a")]);
        assert_eq!(alone[0].remedy, "wipefs -a");
    }
}
