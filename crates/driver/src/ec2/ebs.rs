//! EBS volume types: what may be asked of them, and what they promise. Figures: Amazon EBS User Guide, "Amazon EBS volume types",
//! as of 2025-11.

use crate::protocol::Rates;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// The type of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VolumeType {
    Gp2,
    Gp3,
    Io1,
    Io2,
    St1,
    Sc1,
    /// A disk of the machine itself, an instance store volume.
    Ephemeral,
}

/// A volume that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Volume {
    pub(super) kind: VolumeType,
    /// Its size in GiB; `None` for an ephemeral disk.
    pub(super) gib: Option<u64>,
    /// I/Os per second as asked.
    pub(super) iops: Option<u64>,
    /// MiB per second as asked.
    pub(super) throughput: Option<u64>,
}

/// A figure that the type doesn't allow: the setting's key and what is wrong.
pub(super) type Wrong = (&'static str, String);

impl VolumeType {
    pub(super) const ALL: [Self; 7] =
        [Self::Gp2, Self::Gp3, Self::Io1, Self::Io2, Self::St1, Self::Sc1, Self::Ephemeral];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gp2 => "gp2",
            Self::Gp3 => "gp3",
            Self::Io1 => "io1",
            Self::Io2 => "io2",
            Self::St1 => "st1",
            Self::Sc1 => "sc1",
            Self::Ephemeral => "ephemeral",
        }
    }

    /// Least and greatest size in GiB.
    fn sizes(self) -> Option<(u64, u64)> {
        match self {
            Self::Gp2 => Some((1, 16384)),
            Self::Gp3 => Some((1, 65536)),
            Self::Io1 => Some((4, 16384)),
            Self::Io2 => Some((4, 65536)),
            Self::St1 | Self::Sc1 => Some((125, 16384)),
            Self::Ephemeral => None,
        }
    }

    /// Least and greatest I/Os per second that may be asked, and the most per GiB; `None`: they can't be asked.
    fn iops(self) -> Option<(u64, u64, u64)> {
        match self {
            Self::Gp3 => Some((3000, 80000, 500)),
            Self::Io1 => Some((100, 64000, 50)),
            Self::Io2 => Some((100, 256_000, 1000)),
            _ => None,
        }
    }
}

impl Volume {
    /// Returns what the type doesn't allow.
    pub(super) fn wrong(&self) -> Vec<Wrong> {
        [self.wrong_size(), self.wrong_iops(), self.wrong_throughput()].into_iter().flatten().collect()
    }

    fn wrong_size(&self) -> Option<Wrong> {
        let text = match (self.kind.sizes(), self.gib) {
            (None, None) => return None,
            (None, Some(_)) => "an ephemeral disk has the size that its machine gives it".to_owned(),
            (Some(_), None) => "it has no size".to_owned(),
            (Some((least, most)), Some(gib)) if gib < least || gib > most => {
                format!("{} takes {least} to {most} GiB, not {gib}", self.kind.name())
            }
            _ => return None,
        };
        Some(("size", text))
    }

    fn wrong_iops(&self) -> Option<Wrong> {
        let name = self.kind.name();
        let text = match (self.kind.iops(), self.iops) {
            (None, None) => return None,
            (None, Some(_)) => format!("{name} takes no iops"),
            (Some(_), None) if self.kind == VolumeType::Gp3 => return None,
            (Some(_), None) => format!("{name} needs iops"),
            (Some((least, most, _)), Some(iops)) if iops < least || iops > most => {
                format!("{name} takes {least} to {most} iops, not {iops}")
            }
            (Some((_, _, per_gib)), Some(iops))
                if iops > self.free_iops() && iops > per_gib * self.gib.unwrap_or(u64::MAX / per_gib) =>
            {
                format!("{name} takes at most {per_gib} iops per GiB")
            }
            _ => return None,
        };
        Some(("iops", text))
    }

    /// I/Os per second that are part of every size.
    fn free_iops(&self) -> u64 {
        if self.kind == VolumeType::Gp3 { 3000 } else { 0 }
    }

    fn wrong_throughput(&self) -> Option<Wrong> {
        let throughput = self.throughput?;
        if self.kind != VolumeType::Gp3 {
            return Some(("throughput", format!("{} takes no throughput", self.kind.name())));
        }
        let iops = self.iops.unwrap_or(3000);
        let text = if !(125..=2000).contains(&throughput) {
            format!("gp3 takes 125 to 2000 MiB/s, not {throughput}")
        } else if throughput * 4 > iops {
            format!(
                "gp3 takes at most 0.25 MiB/s per I/O per second, so {throughput} MiB/s need {} iops",
                throughput * 4
            )
        } else {
            return None;
        };
        Some(("throughput", text))
    }

    /// Size in bytes; `None` for an ephemeral disk.
    pub(super) fn bytes(&self) -> Option<u64> {
        self.gib.map(|gib| gib * GIB)
    }

    /// What the volume promises at all times: its baseline, without bursts.
    pub(super) fn rates(&self) -> Rates {
        let gib = self.gib.unwrap_or(0);
        let (iops, mib) = match self.kind {
            // 256 KiB per I/O of the baseline, up to the size's limit; below 334 GiB more comes from burst credits only.
            VolumeType::Gp2 => {
                let iops = (gib * 3).clamp(100, 16000);
                (Some(iops), Some((iops / 4).min(if gib >= 334 { 250 } else { 128 })))
            }
            VolumeType::Gp3 => (Some(self.iops.unwrap_or(3000)), Some(self.throughput.unwrap_or(125))),
            // 256 KiB per I/O up to 500 MiB/s; from 32000 on 16 KiB per I/O, up to 1000.
            VolumeType::Io1 => {
                (self.iops, self.iops.map(|iops| (iops / 4).min(500).max((iops / 64).min(1000))))
            }
            VolumeType::Io2 => (self.iops, self.iops.map(|iops| (iops / 4).min(4000))),
            // MiB/s per TiB.
            VolumeType::St1 => return throughput_only((gib * 40 * MIB / 1024).min(500 * MIB)),
            VolumeType::Sc1 => return throughput_only((gib * 12 * MIB / 1024).min(192 * MIB)),
            VolumeType::Ephemeral => (None, None),
        };
        Rates { iops, bytes_per_second: mib.map(|mib| mib * MIB) }
    }
}

fn throughput_only(bytes_per_second: u64) -> Rates {
    Rates { iops: None, bytes_per_second: Some(bytes_per_second) }
}

#[cfg(test)]
mod tests {
    use super::{Volume, VolumeType};

    fn volume(kind: VolumeType, gib: u64, iops: Option<u64>, throughput: Option<u64>) -> Volume {
        Volume { kind, gib: Some(gib), iops, throughput }
    }

    #[test]
    fn gp3_gives_3000_and_125_to_every_size_and_more_by_rule() {
        let plain = volume(VolumeType::Gp3, 1, None, None);
        assert_eq!(plain.wrong(), []);
        assert_eq!((plain.rates().iops, plain.rates().bytes_per_second), (Some(3000), Some(125 << 20)));
        assert_eq!(volume(VolumeType::Gp3, 20, Some(10000), Some(1000)).wrong(), []);
        assert_eq!(volume(VolumeType::Gp3, 10, Some(5001), None).wrong().len(), 1, "500 per GiB");
        assert_eq!(
            volume(VolumeType::Gp3, 100, Some(3000), Some(751)).wrong().len(),
            1,
            "0.25 MiB/s per I/O"
        );
        assert_eq!(volume(VolumeType::Gp3, 100, Some(2999), Some(124)).wrong().len(), 2);
    }

    #[test]
    fn promises_need_no_burst_credits() {
        let bytes = |kind, gib| volume(kind, gib, None, None).rates().bytes_per_second;
        assert_eq!(bytes(VolumeType::Gp2, 20), Some(25 << 20), "100 I/Os of 256 KiB");
        assert_eq!(bytes(VolumeType::Gp2, 100), Some(75 << 20));
        assert_eq!(bytes(VolumeType::Gp2, 333), Some(128 << 20));
        assert_eq!(bytes(VolumeType::Gp2, 334), Some(250 << 20));
        assert_eq!(bytes(VolumeType::St1, 125), Some(125 * 40 * 1024), "4.88 MiB/s, not 4");
        assert_eq!(bytes(VolumeType::Sc1, 125), Some(125 * 12 * 1024));
        assert_eq!(bytes(VolumeType::St1, 16384), Some(500 << 20));
    }

    #[test]
    fn each_type_takes_what_it_has() {
        assert_eq!(volume(VolumeType::Gp2, 100, Some(3000), Some(125)).wrong().len(), 2);
        assert_eq!(volume(VolumeType::Io2, 3, None, None).wrong().len(), 2);
        assert_eq!(volume(VolumeType::St1, 124, None, None).wrong().len(), 1);
        assert_eq!(volume(VolumeType::Gp2, 1000, None, None).rates().iops, Some(3000));
        assert_eq!(
            volume(VolumeType::Io1, 2000, Some(64000), None).rates().bytes_per_second,
            Some(1000 << 20)
        );
        assert_eq!(
            volume(VolumeType::Io1, 20, Some(1001), None).wrong().len(),
            1,
            "50 per GiB, also below 3000"
        );
        assert_eq!(volume(VolumeType::Io1, 20, Some(1000), None).wrong(), []);
        let own = Volume { kind: VolumeType::Ephemeral, gib: None, iops: None, throughput: None };
        assert_eq!((own.wrong().len(), own.rates().iops), (0, None));
    }
}
