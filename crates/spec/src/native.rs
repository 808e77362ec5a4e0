//! What the native engine performs of fio's options. The engine checks again at the moment of use.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::tree::Node;
use record::workload::Options;

/// Entries of `fio_options` that it knows.
const KNOWN: &[&str] =
    &["continue_on_error", "fixedbufs", "hipri", "rate_process", "registerfiles", "sqthread_poll"];

/// How it issues I/O.
const IOENGINES: &[&str] = &["io_uring", "psync"];

/// Distributions that it draws.
const DISTRIBUTIONS: &[&str] = &["random", "zipf", "pareto", "normal"];

/// A user's job file is for fio.
pub(crate) fn refuse_job_file(node: &Node, problems: &mut Problems<'_>) {
    problems
        .add(node.span, "the native engine does not read job files")
        .help("use `engine: fio`, or write the options here");
}

/// Refuses by name what the engine lacks.
pub(crate) fn check(options: &Options, fields: &Fields<'_>, problems: &mut Problems<'_>) -> Option<()> {
    let mut sound = true;
    let mut refuse = |name: &str, what: String| {
        let span = fields.key(name).map(|key| key.span).unwrap_or_default();
        problems.add(span, format!("the native engine does not know {what}")).help("use `engine: fio`");
        sound = false;
    };
    for name in options.other.keys().filter(|name| !KNOWN.contains(&name.as_str())) {
        refuse("fio_options", format!("fio option `{}`", printable(name, 40)));
    }
    if !IOENGINES.contains(&options.ioengine.as_str()) {
        refuse("ioengine", format!("`ioengine: {}`, only io_uring, and psync in threads", options.ioengine));
    }
    let kind = options.random_distribution.split(':').next().unwrap_or_default();
    if !DISTRIBUTIONS.contains(&kind) {
        refuse("random_distribution", format!("the distribution `{kind}`"));
    }
    if options.rate_iops.is_some() && options.rw.reads() && options.rw.writes() {
        refuse("rate_iops", "`rate_iops` with a mix of reads and writes".to_owned());
    }
    sound.then_some(())
}
