//! The network between a machine and its storage, as the limit.

use super::figures::Figures;
use crate::detected::evidence;
use crate::figures::{percent, with_unit};
use crate::usage::network::busiest;
use record::judged::{Limit, LimitKind};

/// A link is full from this share of its speed on. Preambles and gaps between frames, which no interface counts, take 1 to 3 % with
/// frames of 1500 bytes; the rest allows for retransmissions.
const FULL: f64 = 0.9;
/// If less than this share of the link's bytes is the trial's own I/O, the link was full of other traffic.
const OURS: f64 = 0.5;

pub(super) fn limit(figures: &Figures<'_>) -> Option<Limit> {
    let line = busiest(figures.facts).filter(|line| line.share >= FULL)?;
    let asked = (figures.facts.read.asked + figures.facts.write.asked) / figures.facts.span.seconds();
    let ours = asked / line.bytes_per_second;
    (ours >= OURS).then(|| Limit {
        by: LimitKind::Network,
        shown: true,
        evidence: evidence([
            ("network_share", Some(line.share)),
            ("network_bytes_per_second", Some(line.bytes_per_second)),
            ("asked_of_network_bytes_share", Some(ours)),
        ]),
        against: figures.pick(&["nearest_limit_share", "busiest_thread_cores"]),
        text: format!(
            "The network was the limit: {} moved {}, {} of its speed.",
            line.name,
            with_unit(line.bytes_per_second, "B/s"),
            percent(line.share)
        ),
    })
}
