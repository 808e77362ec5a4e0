//! The jobs of a workload, each with its options and its files.

use crate::contract::Job;
use crate::error::EngineError;
use crate::regions::{Region, Spans, of_options};
use record::workload::{Ask, NamedJob, Options};

/// A job; clones of it (fio's `numjobs`) are separate jobs.
pub(crate) struct Member<'a> {
    pub(crate) name: String,
    pub(crate) options: &'a Options,
    pub(crate) regions: Vec<Region>,
}

/// All jobs, in order.
///
/// # Errors
/// When there are none that native supports, or they don't fit the device or file system under test.
pub(crate) fn members<'a>(job: &Job<'a>) -> Result<Vec<Member<'a>>, EngineError> {
    match &job.workload.ask {
        Ask::Options(options) => {
            let regions = of_options(job.ground.place(), options).map_err(|why| job.refused(&why))?;
            let member = |(number, regions)| Member { name: format!("job{number}"), options, regions };
            Ok((0_u32..).zip(regions).map(member).collect())
        }
        Ask::JobFile { path, jobs, .. } if jobs.is_empty() => Err(job.refused(&format!(
            "the native engine doesn't know all that the job file {path} asks for; use engine: fio"
        ))),
        Ask::JobFile { jobs, .. } => of_sections(job, jobs),
        Ask::Copy(_) | Ask::Bonnie(_) => Err(job.refused(&"the native engine performs I/O by options")),
    }
}

fn of_sections<'a>(job: &Job<'a>, sections: &'a [NamedJob]) -> Result<Vec<Member<'a>>, EngineError> {
    let mut spans = Spans::new(job.ground.place());
    let mut members: Vec<Member<'a>> = Vec::new();
    for NamedJob { name, options } in sections {
        for clone in 0..options.numjobs.max(1) {
            // The number comes first, so that no two names are equal, whatever the sections' names are.
            let file = format!("{}.{}", members.len(), plain(name));
            let regions =
                spans.job(&file, options).map_err(|why| job.refused(&format!("[{name}]: {why}")))?;
            let name = if options.numjobs > 1 { format!("{name}.{clone}") } else { name.clone() };
            members.push(Member { name, options, regions });
        }
    }
    Ok(members)
}

/// A section's name as a part of a file name.
fn plain(name: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '_' };
    name.chars().take(64).map(kept).collect()
}

/// Every file or span once, with the options of the first job that uses it. Its index here is its number.
pub(crate) fn files<'a>(members: &[Member<'a>]) -> Vec<(Region, &'a Options)> {
    let mut all: Vec<(Region, &'a Options)> = Vec::new();
    for member in members {
        for region in &member.regions {
            if number(&all, region).is_none() {
                all.push((region.clone(), member.options));
            }
        }
    }
    all
}

/// A region's number among all.
pub(crate) fn number(files: &[(Region, &Options)], region: &Region) -> Option<u32> {
    let same = |(known, _): &(Region, &Options)| {
        known.path == region.path && known.offset_bytes == region.offset_bytes
    };
    files.iter().position(same).and_then(|n| u32::try_from(n).ok())
}

/// Whether several jobs use the same file or span.
pub(crate) fn share(members: &[Member<'_>]) -> bool {
    files(members).len() < members.iter().map(|m| m.regions.len()).sum()
}
