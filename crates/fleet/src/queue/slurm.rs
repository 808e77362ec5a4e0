//! Slurm: an array job with a block per task, and what a task knows of its job.

use super::block::Descriptor;
use super::error::QueueError;
use host::{Invocation, Runner, STARTED_BY, Tool};
use record::block::SlurmJob;
use record::id::RunId;
use std::path::Path;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(30);
/// The end of the blocks in a script.
const END: &str = "END_OF_BLOCKS";

/// What the nodes need to know.
#[derive(Debug, Clone, Copy)]
pub struct Nodes<'a> {
    /// Path of diskproof on the nodes.
    pub program: &'a str,
    /// The folder that gets the results, as the nodes see it; `None`: they go where the blocks say.
    pub results: Option<&'a str>,
}

/// The script of an array job: each task does the block of its number, on a node of its own, and does it again if Slurm starts it again.
///
/// # Errors
/// A block can't be written.
pub fn script(run: &RunId, blocks: &[Descriptor], nodes: Nodes<'_>) -> Result<String, QueueError> {
    let lines = blocks.iter().map(Descriptor::line).collect::<Result<Vec<String>, _>>()?;
    let results = nodes.results.map(|folder| format!(" --results {}", quoted(folder))).unwrap_or_default();
    Ok(format!(
        "#!/bin/sh\n\
         # Blocks of the diskproof run {run}, one a task.\n\
         #SBATCH --job-name=diskproof-{run}\n\
         #SBATCH --array=0-{last}\n\
         #SBATCH --nodes=1\n\
         #SBATCH --exclusive\n\
         #SBATCH --requeue\n\
         #SBATCH --open-mode=append\n\
         exec {program} job run --nth \"$SLURM_ARRAY_TASK_ID\"{results} - <<'{END}'\n\
         {lines}\n\
         {END}\n",
        last = blocks.len().saturating_sub(1),
        program = quoted(nodes.program),
        lines = lines.join("\n"),
    ))
}

/// Gives a script to `sbatch`; returns what it says. The job's output goes to `folder`.
///
/// # Errors
/// It isn't there, or Slurm refuses the job.
pub fn submit(runner: &dyn Runner, script: &str, folder: &Path) -> Result<String, QueueError> {
    // The job gets this process's environment, but it isn't started by this process.
    let call = Invocation::new(Tool::Sbatch).stdin(script).directory(folder).env(STARTED_BY, "");
    let call = call.timeout(PATIENCE);
    let output = runner.run(&call).map_err(QueueError::Slurm)?;
    Ok(output.stdout.trim().to_owned())
}

/// The job that this process is part of, by Slurm's variables; `None`: there is none.
#[must_use]
pub fn job_here(variable: impl Fn(&str) -> Option<String>) -> Option<SlurmJob> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    Some(SlurmJob {
        job: variable("SLURM_JOB_ID")?,
        array: variable("SLURM_ARRAY_JOB_ID"),
        task: number("SLURM_ARRAY_TASK_ID"),
        node: variable("SLURMD_NODENAME"),
        restarts: number("SLURM_RESTART_COUNT").unwrap_or(0),
        cpus: number("SLURM_CPUS_ON_NODE"),
        others: None,
        exclusive: None,
    })
}

/// How many other jobs run on the job's node, as `squeue` says; `None`: it doesn't say.
#[must_use]
pub fn others_on(runner: &dyn Runner, job: &SlurmJob) -> Option<u32> {
    let node = job.node.as_ref()?;
    let call = Invocation::new(Tool::Squeue)
        .args(["--noheader", "--states=RUNNING", "--format=%A", "--nodelist"])
        .arg(node)
        .timeout(PATIENCE);
    let output = runner.run(&call).ok()?;
    let others = output.stdout.lines().map(str::trim).filter(|id| !id.is_empty() && *id != job.job).count();
    u32::try_from(others).ok()
}

/// Quotes a word for a POSIX shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-');
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::{Nodes, job_here, quoted, script};
    use crate::queue::block::Descriptor;
    use record::id::RunId;

    #[test]
    fn the_script_is_an_exclusive_array_that_is_requeued() {
        let block = |round: u32| -> Descriptor {
            serde_json::from_str(&format!(
                r#"{{"format":"diskproof.block/1.0","run":"r","block":"r.0.{round}","round":{round},"target":"local","seed":1,"plan_digest":"d"}}"#
            ))
            .unwrap()
        };
        let nodes = Nodes { program: "/opt/disk proof", results: Some("/share/it's") };
        let script = script(&RunId("r".to_owned()), &[block(0), block(1)], nodes).unwrap();
        for line in ["#SBATCH --array=0-1", "#SBATCH --exclusive", "#SBATCH --requeue"] {
            assert!(script.lines().any(|found| found == line), "{script}");
        }
        let lines: Vec<&str> = script.lines().collect();
        let at = lines.iter().position(|line| line.starts_with("exec ")).unwrap();
        assert_eq!(
            lines[at],
            r#"exec '/opt/disk proof' job run --nth "$SLURM_ARRAY_TASK_ID" --results '/share/it'\''s' - <<'END_OF_BLOCKS'"#
        );
        assert_eq!(Descriptor::read(lines[at + 2]).unwrap(), block(1));
        assert_eq!(lines[at + 3], "END_OF_BLOCKS");
        assert_eq!(quoted("/usr/bin/diskproof"), "/usr/bin/diskproof");
    }

    #[test]
    fn a_job_is_read_from_slurms_variables() {
        let of = |pairs: &'static [(&str, &str)]| {
            move |name: &str| {
                pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            }
        };
        assert_eq!(job_here(of(&[("SLURMD_NODENAME", "n1")])), None);
        let job = job_here(of(&[
            ("SLURM_JOB_ID", "17"),
            ("SLURM_ARRAY_JOB_ID", "12"),
            ("SLURM_ARRAY_TASK_ID", "4"),
            ("SLURMD_NODENAME", "n1"),
            ("SLURM_RESTART_COUNT", "2"),
            ("SLURM_CPUS_ON_NODE", "8"),
        ]))
        .unwrap();
        assert_eq!((job.job.as_str(), job.task, job.restarts, job.cpus), ("17", Some(4), 2, Some(8)));
        assert_eq!((job.exclusive, job.node.as_deref()), (None, Some("n1")));
    }
}
