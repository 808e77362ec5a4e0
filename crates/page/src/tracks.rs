//! The tracks below the rounds of a cell: what each line shows of the course of a trial.

use crate::trials::{Course, Round, Track};

/// What a line of a track shows of a trial.
pub(crate) type Line = fn(&Course) -> &Track;

/// A track: its title, its unit and its lines with their names in tables, the first one drawn solid.
pub(crate) struct Drawn {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) lines: &'static [(&'static str, Line)],
}

/// All tracks, from top to bottom. Percentiles of reads and of writes can't be merged, so each have a track.
static TRACKS: [Drawn; 7] = [
    Drawn {
        title: "I/Os per second of the load",
        unit: "1/s",
        lines: &[("I/Os per second", |course| &course.iops)],
    },
    Drawn {
        title: "latency of reads: p50 (solid), p99 (dashed)",
        unit: "us",
        lines: &[
            ("p50 of reads (us)", |course| &course.reads.p50),
            ("p99 of reads (us)", |course| &course.reads.p99),
        ],
    },
    Drawn {
        title: "latency of writes: p50 (solid), p99 (dashed)",
        unit: "us",
        lines: &[
            ("p50 of writes (us)", |course| &course.writes.p50),
            ("p99 of writes (us)", |course| &course.writes.p99),
        ],
    },
    Drawn {
        title: "mean time of an I/O at the devices directly below the load",
        unit: "us",
        lines: &[("mean time of an I/O at the devices (us)", |course| &course.wait)],
    },
    Drawn {
        title: "bytes per second: asked by the load (filled), at the devices directly below it (outlined)",
        unit: "B/s",
        lines: &[
            ("bytes per second asked", |course| &course.asked),
            ("bytes per second at the devices", |course| &course.device),
        ],
    },
    Drawn {
        title: "bytes per second beyond the load's at devices that others may use: others, journals, read-ahead",
        unit: "B/s",
        lines: &[("bytes per second beyond the load's", |course| &course.beyond)],
    },
    Drawn {
        title: "busy share of the machine's CPUs",
        unit: "1",
        lines: &[("busy share of the CPUs", |course| &course.cpu)],
    },
];

/// The times at both ends of the courses of rounds, in seconds.
pub(crate) fn time(rounds: &[Round]) -> (f64, f64) {
    let begin = rounds.iter().map(|round| round.course.begin()).fold(0.0, f64::min);
    let end = rounds.iter().map(|round| round.course.seconds).fold(0.0, f64::max);
    if end > begin { (begin, end) } else { (0.0, 1.0) }
}

/// Whether a round has latencies over time.
pub(crate) fn have_latencies(rounds: &[Round]) -> bool {
    rounds.iter().any(|round| !round.course.reads.p50.is_empty() || !round.course.writes.p50.is_empty())
}

/// The tracks of which something is known in these rounds. Some devices count no time: theirs is 0 throughout and isn't known.
pub(crate) fn known(rounds: &[Round]) -> Vec<&'static Drawn> {
    let is_known = |track: &&Drawn| {
        let counts = |rate: f64| track.unit != "us" || rate > 0.0;
        let line = |course: &Course| {
            let pieces = track.lines.iter().flat_map(|(_, line)| line(course));
            pieces.filter_map(|piece| piece.rate).any(counts)
        };
        rounds.iter().any(|round| line(&round.course))
    };
    TRACKS.iter().filter(is_known).collect()
}
