//! Findings about trials of queued runs, whose blocks other machines than one may have done.

use crate::detected::{Detected, evidence};
use crate::figures::counted;
use crate::span::number;
use record::block::{Block, BlockMachine, Queue, SlurmJob};
use record::finding::{Claim, Finding, Severity};
use record::plan::Cell;
use record::trial::TrialRecord;

/// What the blocks of a cell's measured trials say.
pub(crate) fn findings(cell: &Cell, measured: &[&TrialRecord]) -> Vec<Finding> {
    [shared(cell, measured), machines(cell, measured)].into_iter().flatten().collect()
}

/// Trials on a node of a Slurm cluster that the job didn't have to itself.
fn shared(cell: &Cell, measured: &[&TrialRecord]) -> Option<Finding> {
    let job = |trial: &TrialRecord| match &trial.block {
        Some(Block { queue: Some(Queue::Slurm(job)), .. }) if job.exclusive == Some(false) => {
            Some(job.clone())
        }
        _ => None,
    };
    let seen: Vec<(u32, SlurmJob)> = measured.iter().filter_map(|t| Some((t.id.round, job(t)?))).collect();
    let (round, job) = seen.iter().max_by_key(|(_, job)| job.others)?;
    let node = job.node.as_deref().unwrap_or("unknown");
    let others = match job.others {
        Some(0) | None => "had only some of its CPUs".to_owned(),
        Some(n) => format!("had {} beside it", counted(u64::from(n), "other job")),
    };
    let detected = Detected {
        claim: Claim::SharedNode,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: evidence([
            ("other_jobs", job.others.map(f64::from)),
            ("cpus_of_job", job.cpus.map(f64::from)),
        ]),
        text: format!("the Slurm node {node} was not exclusive: job {} {others}", job.job),
        remedy: "Submit with `--exclusive`, as `diskproof job submit --slurm` does, to a partition that doesn't share CPUs."
            .to_owned(),
    };
    let rounds: Vec<u32> = seen.iter().map(|(round, _)| *round).collect();
    Some(detected.of_round(*round, number(rounds.len()), measured.len()).in_rounds(cell, rounds))
}

/// Rounds on machines that differ in CPUs, memory or kernel.
fn machines(cell: &Cell, measured: &[&TrialRecord]) -> Option<Finding> {
    let mut kinds: Vec<&BlockMachine> = Vec::new();
    for machine in measured.iter().filter_map(|trial| Some(&trial.block.as_ref()?.machine)) {
        if !kinds.iter().any(|kind| kind.is_like(machine)) {
            kinds.push(machine);
        }
    }
    let [first, second, ..] = kinds.as_slice() else { return None };
    let name = |machine: &BlockMachine| machine.name.clone().unwrap_or_else(|| "unknown".to_owned());
    let detected = Detected {
        claim: Claim::MachinesDiffer,
        severity: Severity::Caveat,
        strength: 1.0,
        evidence: evidence([("kinds_of_machines", Some(f64::from(number(kinds.len()))))]),
        text: format!(
            "the rounds were measured on {} kinds of machines, e.g. {} and {}, which differ in CPUs, memory or kernel: the figure is \
             the mean over both kinds, and its interval has their difference in it; a ratio is taken within a round on one machine, so it \
             hasn't",
            kinds.len(),
            name(first),
            name(second)
        ),
        remedy: "Give the queue to machines of one kind.".to_owned(),
    };
    Some(detected.finding(cell, number(measured.len())))
}

#[cfg(test)]
mod tests {
    use super::findings;
    use crate::run_tests::cell;
    use record::block::{Block, BlockMachine, Queue, SlurmJob};
    use record::finding::{Claim, Severity};
    use record::trial::TrialRecord;

    fn trials(blocks: &[Option<Block>]) -> Vec<TrialRecord> {
        let id = |round: usize| record::id::TrialId {
            cell: record::id::CellId("a".to_owned()),
            round: u32::try_from(round).unwrap(),
        };
        let trial = |(round, block): (usize, &Option<Block>)| TrialRecord {
            block: block.clone(),
            ..TrialRecord::new(id(round), 1, 1, record::trial::Outcome::Measured)
        };
        blocks.iter().enumerate().map(trial).collect()
    }

    fn block(cpus: u32, exclusive: Option<bool>) -> Option<Block> {
        let others = exclusive.map(|exclusive| u32::from(!exclusive));
        let job = SlurmJob {
            job: "17".to_owned(),
            node: Some("n1".to_owned()),
            others,
            exclusive,
            ..SlurmJob::default()
        };
        let machine =
            BlockMachine { name: Some(format!("m{cpus}")), cpus: Some(cpus), ..BlockMachine::default() };
        Some(Block { id: "r.0.0".to_owned(), machine, queue: Some(Queue::Slurm(job)) })
    }

    fn found(blocks: &[Option<Block>]) -> Vec<(Claim, Severity, Vec<u32>, String)> {
        let trials = trials(blocks);
        let measured: Vec<&TrialRecord> = trials.iter().collect();
        let cell = cell("a", &[]).0;
        findings(&cell, &measured).into_iter().map(|f| (f.claim, f.severity, f.rounds, f.text)).collect()
    }

    #[test]
    fn a_node_that_others_shared_is_a_caveat_of_those_rounds() {
        let all = found(&[block(8, Some(true)), block(8, Some(false)), block(8, None)]);
        let [(claim, severity, rounds, text)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!((*claim, *severity, rounds.as_slice()), (Claim::SharedNode, Severity::Caveat, &[1][..]));
        assert!(text.contains("n1 was not exclusive: job 17 had 1 other job beside it"), "{text}");
        assert!(found(&[block(8, Some(true)), None]).is_empty());
    }

    #[test]
    fn machines_of_several_kinds_are_a_caveat_and_machines_of_one_kind_are_none() {
        let all = found(&[block(8, None), block(4, None), block(8, None)]);
        let [(claim, _, _, text)] = all.as_slice() else { panic!("{all:?}") };
        assert_eq!(*claim, Claim::MachinesDiffer);
        assert!(text.contains("2 kinds of machines, e.g. m8 and m4"), "{text}");
        assert!(text.ends_with("a ratio is taken within a round on one machine, so it hasn't"), "{text}");
        assert!(found(&[block(8, None), block(8, None)]).is_empty());
    }
}
