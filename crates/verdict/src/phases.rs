//! The figures of each phase of a job file.

use crate::facts::Facts;
use crate::metrics::over_trials;
use crate::sequential::Means;
use record::judged::PhaseView;
use record::trial::Phase;

/// Returns the phases that all trials of a cell have alike; empty if there are none.
pub(crate) fn of_cell(facts: &[Facts<'_>], means: &Means) -> Vec<PhaseView> {
    of_trials(&facts.iter().map(|facts| facts.engine.phases.as_slice()).collect::<Vec<_>>(), means)
}

fn of_trials(trials: &[&[Phase]], means: &Means) -> Vec<PhaseView> {
    let phase = |(index, phase): (usize, &Phase)| {
        let same =
            |trial: &&[Phase]| trial.get(index).filter(|other| other.jobs == phase.jobs).map(Phase::metrics);
        let values: Vec<_> = trials.iter().map(same).collect::<Option<_>>()?;
        Some(PhaseView { sections: phase.jobs.clone(), metrics: over_trials(&values, means) })
    };
    trials.first().into_iter().flat_map(|first| first.iter().enumerate()).filter_map(phase).collect()
}

#[cfg(test)]
mod tests {
    use super::of_trials;
    use crate::sequential::Means;
    use crate::testing;
    use record::trial::{Phase, Totals};

    fn phase(name: &str, iops: f64) -> Phase {
        let read = Totals { iops, ..testing::totals(1000, 4096) };
        Phase { jobs: vec![name.to_owned()], seconds: 10.0, read: Some(read), ..Phase::default() }
    }

    #[test]
    fn each_phase_has_its_own_mean_over_the_rounds() {
        let trials =
            [(200.0, 400.0), (220.0, 380.0)].map(|(slow, fast)| [phase("slow", slow), phase("fast", fast)]);
        let means = Means::plain(&testing::measure(2));
        let phases = of_trials(&trials.each_ref().map(|trial| trial.as_slice()), &means);
        let told: Vec<(&str, f64)> = phases
            .iter()
            .map(|phase| (phase.sections[0].as_str(), phase.metrics["read_iops"].estimate))
            .collect();
        assert_eq!(told, [("slow", 210.0), ("fast", 390.0)]);
        assert!(of_trials(&[], &means).is_empty());
        assert!(of_trials(&[&trials[0], &[]], &means).is_empty(), "a trial without the phase");
    }
}
