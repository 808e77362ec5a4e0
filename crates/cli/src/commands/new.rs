//! `diskproof new [FILE]`: a commented experiment to start from.

use super::job_file::{self, Place};
use crate::args::{Kind, New};
use crate::exit::{Exit, Failure};
use crate::output;
use record::printable::Shown as _;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::Path;

const EMULATED: &str = include_str!("../../templates/emulated.yaml");
const DIRECTORY: &str = include_str!("../../templates/directory.yaml");
const DISKS: &str = include_str!("../../templates/disks.yaml");

pub(crate) fn new(args: &New) -> Result<Exit, Failure> {
    let (text, set) = match &args.from {
        Some(from) => {
            let set = format!(" --set dir=DIR{}", job_file::variables_to_set(from)?);
            (around(from, args.file.as_deref())?, set)
        }
        None => (template(args.kind).to_owned(), String::new()),
    };
    match &args.file {
        None => output::own(&text)?,
        Some(path) => {
            write_new(path, &text)?;
            output::aside(&format!("{}: written. Next: diskproof plan {}{set}", path.shown(), path.shown()));
        }
    }
    Ok(Exit::Fine)
}

/// An experiment around a job file. It names the job file relative to its own folder if both lie in the same one.
fn around(from: &Path, file: Option<&Path>) -> Result<String, Failure> {
    let real = from.canonicalize().map_err(|e| Failure::input(format!("{}: {e}", from.shown())))?;
    let folder = job_file::folder(file.unwrap_or(Path::new("my.yaml")));
    let named = match (real.parent() == folder.canonicalize().ok().as_deref(), real.file_name()) {
        (true, Some(name)) => Path::new(name).to_owned(),
        _ => real.clone(),
    };
    let fio =
        named.to_str().ok_or_else(|| Failure::input(format!("{}: this path is not UTF-8", named.shown())))?;
    let text = job_file::yaml(from, fio, &Place::Asked, None)?;
    match job_file::needs_size(&text, &folder, from)? {
        true => job_file::yaml(from, fio, &Place::Asked, Some("1g")),
        false => Ok(text),
    }
}

fn template(kind: Kind) -> &'static str {
    match kind {
        Kind::Emulated => EMULATED,
        Kind::Directory => DIRECTORY,
        Kind::Disks => DISKS,
    }
}

/// Writes a file that must not exist yet.
fn write_new(path: &Path, text: &str) -> Result<(), Failure> {
    let opened = OpenOptions::new().write(true).create_new(true).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::input(format!("{} is there already; it is not overwritten", path.shown()))
        }
        _ => Failure::machine(format!("can't write {}: {error}", path.shown())),
    })
}

#[cfg(test)]
mod tests {
    use super::template;
    use crate::args::Kind;
    use std::collections::BTreeMap;
    use std::path::Path;

    #[test]
    fn every_template_is_a_valid_experiment() {
        let cases = [
            (Kind::Emulated, vec![], 12),
            (Kind::Directory, vec![("dir", "/tmp")], 4),
            (Kind::Disks, vec![("disks", "nvme-a,nvme-b")], 16),
        ];
        for (kind, set, cells) in cases {
            let set: BTreeMap<_, _> = set.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
            match spec::parse(template(kind), "template.yaml", Path::new("/"), &set) {
                Ok(loaded) => assert_eq!(loaded.plan.cells.len(), cells, "{kind:?}"),
                Err(error) => panic!("{kind:?}: {error}"),
            }
        }
    }

    #[test]
    fn the_emulated_template_expects_what_its_comment_says() {
        let loaded =
            spec::parse(template(Kind::Emulated), "template.yaml", Path::new("/"), &BTreeMap::new()).unwrap();
        let reads = loaded.plan.cells.iter().filter(|c| c.workload.name.starts_with("randread")).count();
        assert_eq!(loaded.plan.expectations[0].values.len(), reads.min(loaded.plan.cells.len()));
        assert!(reads > 0);
    }
}
