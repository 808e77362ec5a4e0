//! Kubernetes: a manifest to start from. Nothing in the tests runs it.

use super::block::Descriptor;
use super::error::QueueError;
use super::slurm::Nodes;
use record::id::RunId;

/// An indexed Job with a block per pod, and the blocks as a ConfigMap. It says what it lacks.
///
/// # Errors
/// A block can't be written.
pub fn manifest(run: &RunId, blocks: &[Descriptor], nodes: Nodes<'_>) -> Result<String, QueueError> {
    let lines = blocks.iter().map(Descriptor::line).collect::<Result<Vec<String>, _>>()?;
    let program = serde_json::to_string(nodes.program).map_err(|error| QueueError::Pack(error.into()))?;
    let folder = serde_json::to_string(nodes.results.unwrap_or("/results"))
        .map_err(|error| QueueError::Pack(error.into()))?;
    let n = blocks.len();
    let data: String = lines.iter().map(|line| format!("    {line}\n")).collect();
    Ok(format!(
        "# UNTESTED: diskproof's tests have no Kubernetes. Read it before you apply it. What it lacks:\n\
         #  * an image with diskproof in it (`image:`)\n\
         #  * the storage under test: a persistent volume claim, or a device of the node\n\
         #  * privileges: layers, loop devices and limits need root and `privileged: true`; an existing directory needs neither\n\
         #  * a node per pod: the rule below keeps pods of this Job apart, but not the pods of others\n\
         #  * a volume at {folder} that outlives the pods, for `diskproof job collect`\n\
         apiVersion: v1\n\
         kind: ConfigMap\n\
         metadata: {{ name: diskproof-{run} }}\n\
         data:\n\
         \x20 blocks.ndjson: |\n\
         {data}\
         ---\n\
         apiVersion: batch/v1\n\
         kind: Job\n\
         metadata: {{ name: diskproof-{run} }}\n\
         spec:\n\
         \x20 completionMode: Indexed\n\
         \x20 completions: {n}\n\
         \x20 parallelism: {n}\n\
         \x20 template:\n\
         \x20   metadata: {{ labels: {{ run: diskproof-{run} }} }}\n\
         \x20   spec:\n\
         \x20     restartPolicy: OnFailure\n\
         \x20     affinity:\n\
         \x20       podAntiAffinity:\n\
         \x20         requiredDuringSchedulingIgnoredDuringExecution:\n\
         \x20           - labelSelector: {{ matchLabels: {{ run: diskproof-{run} }} }}\n\
         \x20             topologyKey: kubernetes.io/hostname\n\
         \x20     containers:\n\
         \x20       - name: block\n\
         \x20         image: YOUR-IMAGE\n\
         \x20         command: [{program}, job, run, --nth, $(JOB_COMPLETION_INDEX), --results, {folder}, /blocks/blocks.ndjson]\n\
         \x20         volumeMounts:\n\
         \x20           - {{ name: blocks, mountPath: /blocks }}\n\
         \x20           - {{ name: results, mountPath: {folder} }}\n\
         \x20     volumes:\n\
         \x20       - {{ name: blocks, configMap: {{ name: diskproof-{run} }} }}\n\
         \x20       - {{ name: results, persistentVolumeClaim: {{ claimName: YOUR-CLAIM }} }}\n"
    ))
}

#[cfg(test)]
mod tests {
    use super::{Nodes, manifest};
    use crate::queue::block::Descriptor;
    use record::id::RunId;

    #[test]
    fn the_manifest_says_that_it_is_untested_and_what_it_lacks() {
        let block: Descriptor = serde_json::from_str(
            r#"{"format":"diskproof.block/1.0","run":"r","block":"r.0.0","round":0,"target":"local","seed":1,"plan_digest":"d"}"#,
        )
        .unwrap();
        let nodes = Nodes { program: "/usr/bin/diskproof", results: None };
        let text = manifest(&RunId("r".to_owned()), &[block], nodes).unwrap();
        assert!(text.starts_with("# UNTESTED") && text.contains("privileges"), "{text}");
        assert!(text.contains("\n  completions: 1\n") && text.contains("\n    {\"format\":"), "{text}");
    }
}
