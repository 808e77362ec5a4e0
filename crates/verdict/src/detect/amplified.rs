//! A claim about write amplification.

use crate::amplified::{Amplified, NAMED, declared};
use crate::detected::{Detected, evidence};
use crate::figures::{bytes, rate};
use crate::scene::Scene;
use record::finding::{Claim, Severity};

/// The least amplification for a claim.
const FROM: f64 = 1.5;

/// Each write became several on its way down: worth knowing, since all of them count against a limit of the volume.
pub(super) fn writes(scene: &Scene<'_>) -> Option<Detected> {
    let facts = scene.facts;
    let found = Amplified::of(facts).filter(|a| a.most() >= FROM)?;
    let copies = declared(facts);
    let beside = if copies > 1.0 {
        format!(", in addition to the {} copies that the stack keeps", rate(copies))
    } else {
        String::new()
    };
    let ios = found
        .ios
        .filter(|n| *n >= NAMED)
        .map_or(String::new(), |n| format!(" and each write {} writes", rate(n)));
    Some(Detected {
        claim: Claim::WriteAmplified,
        severity: Severity::Note,
        strength: found.most(),
        evidence: evidence([
            ("written_per_asked_byte", Some(found.all_bytes())),
            ("written_on_ground_per_asked_byte", Some(found.bytes)),
            ("written_below_per_byte_on_array", Some(found.below)),
            ("device_writes_per_write", found.ios),
            ("journal_commits_per_write", found.commits),
            ("declared_copies", Some(copies)),
            ("write_asked_bytes", Some(facts.write.asked)),
        ]),
        text: format!(
            "Each byte written became {} bytes on the devices{ios}{beside}: {} were asked for. The others are {}.",
            rate(found.all_bytes()),
            bytes(facts.write.asked),
            found.by.join(", and "),
        ),
        remedy: "This is the cost of the stack, and all of these writes count against limits of the volumes. For the devices' own \
                 rate, measure them without the file system; to reduce the cost, use larger blocks, or a file system that writes \
                 in place."
            .to_owned(),
    })
}
