//! Phases of a job file: jobs that run one after the other because some wait for others.

use super::sections::{InForce, Section, is_on, value};

/// Returns the phase of each job, counted from 0. `stonewall` waits for all jobs before it, `wait_for` for the jobs of one section.
/// Jobs of one phase run at the same time.
#[must_use]
pub fn phases(jobs: &[(&Section, InForce<'_>)]) -> Vec<usize> {
    let mut phases: Vec<usize> = Vec::with_capacity(jobs.len());
    // The first phase in which a job may run now.
    let mut base = 0;
    for (index, (_, options)) in jobs.iter().enumerate() {
        if index > 0 && is_on(options, "stonewall") {
            base = phases.iter().max().map_or(0, |latest| latest + 1);
        }
        let waits_for = value(options, "wait_for").and_then(|name| {
            let earlier = jobs.iter().zip(&phases).filter(|((section, _), _)| section.name == name);
            earlier.map(|(_, phase)| phase + 1).max()
        });
        phases.push(waits_for.unwrap_or(0).max(base));
    }
    phases
}

#[cfg(test)]
mod tests {
    use super::super::sections::{effective, read};
    use super::phases;

    fn of(text: &str) -> Vec<usize> {
        let sections = read(text).sections;
        phases(&effective(&sections).collect::<Vec<_>>())
    }

    #[test]
    fn a_stonewall_waits_for_all_before_it() {
        assert_eq!(of("[a]\n[b]\n"), [0, 0]);
        assert_eq!(
            of("[a]\nstonewall\n[b]\nstonewall\n[c]\n[d]\nstonewall=0\n[e]\nwait_for_previous\n"),
            [0, 1, 1, 1, 2]
        );
        assert_eq!(of("[global]\nstonewall\n[a]\n[b]\n[c]\n"), [0, 1, 2]);
        assert_eq!(
            of("[a]\n[b]\nnew_group\n[c]\nstartdelay=5\n"),
            [0, 0, 0],
            "neither a group nor a delay waits"
        );
    }

    #[test]
    fn wait_for_waits_for_one_section() {
        assert_eq!(of("[w]\n[r]\nwait_for=w\n[w2]\nwait_for=r\n[x]\n[y]\nstonewall\n"), [0, 1, 2, 0, 3]);
        assert_eq!(of("[a]\nwait_for=nobody\n"), [0]);
    }
}
