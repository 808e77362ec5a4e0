//! Settings that only some commands take on their command line.

use super::Verb;

/// Settings that only some commands take on their command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Typed {
    /// `--json`: events as JSON.
    pub(crate) json: bool,
    /// `--copy-to`.
    pub(crate) copy_to: Option<String>,
}

impl Verb {
    /// The settings that only this command takes.
    pub(crate) fn settings(&self) -> Typed {
        let copy_to = match self {
            Self::Run(run) => run.copy_to.clone(),
            Self::Resume(resume) => resume.copy_to.clone(),
            _ => None,
        };
        Typed { json: self.json_events(), copy_to }
    }

    /// Whether a run prints its events as JSON.
    fn json_events(&self) -> bool {
        match self {
            Self::Quick(quick) => quick.events.json,
            Self::Run(run) => run.events.json,
            Self::Resume(resume) => resume.events.json,
            Self::Verify(args) => args.events.json,
            Self::Test(args) => args.events.json,
            _ => false,
        }
    }
}
