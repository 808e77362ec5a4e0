//! Volumes in storage pools of libvirt, e.g. logical volumes. They carry the claim's id in their names, as files do.

use super::place::Place;
use crate::at::{At, AtError};

/// Removes a volume, `$1`, from a pool, `$0`, if it is there; the other arguments run virsh.
const REPLACE: &str = r#"p=$0; v=$1; shift; if "$@" vol-info --pool "$p" "$v" >/dev/null 2>&1; then "$@" vol-delete --pool "$p" "$v"; fi"#;

/// Whether virsh takes a word for the name of a pool and for nothing else.
pub(super) fn is_name(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !word.is_empty() && !word.starts_with(['-', '.']) && word.chars().all(is_plain)
}

/// Checks that a pool is active.
pub(super) fn check(at: &At, pool: &str) -> Result<bool, AtError> {
    match at.virsh("look at the pool", &["pool-info", "--pool", pool]) {
        Ok(said) => Ok(said.lines().any(|line| line.starts_with("State:") && line.ends_with("running"))),
        Err(AtError::Failed { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes a volume; one that an interrupted `create` left goes first. The pool decides on its form, and gives it all its blocks.
pub(super) fn make(place: &Place<'_>, pool: &str, name: &str, size_bytes: u64) -> Result<(), AtError> {
    let replace = [&["sh", "-c", REPLACE, pool, name], place.at.virsh_words(&[]).as_slice()].concat();
    place.run("remove what is left of the volume", &replace)?;
    let size = size_bytes.to_string();
    let words = ["vol-create-as", "--pool", pool, "--name", name, "--capacity", &size];
    place.run("make the volume", &place.at.virsh_words(&words))?;
    Ok(())
}

/// The path of a volume on the host: of a file or of a block device.
pub(super) fn path(at: &At, pool: &str, name: &str) -> Result<String, AtError> {
    Ok(at.virsh("find the volume", &["vol-path", "--pool", pool, name])?.trim().to_owned())
}

/// Removes a volume.
pub(super) fn remove(at: &At, pool: &str, name: &str) -> Result<(), AtError> {
    at.virsh("remove the volume", &["vol-delete", "--pool", pool, name])?;
    Ok(())
}

/// The names of a claim's volumes in a pool.
pub(super) fn volumes(at: &At, pool: &str, claim: &str) -> Result<Vec<String>, AtError> {
    let said = at.virsh("list the pool's volumes", &["vol-list", "--pool", pool])?;
    let prefix = format!("diskproof-{claim}-");
    let names = said.lines().filter_map(|line| line.split_whitespace().next());
    Ok(names.filter(|name| name.starts_with(&prefix)).map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::is_name;

    #[test]
    fn names_of_pools_are_plain_words() {
        assert!(["default", "vg0", "nvme_1.fast"].into_iter().all(is_name));
        assert!(["", "-all", "a b", "a'b", "../x", "a/b"].into_iter().all(|word| !is_name(word)));
    }
}
