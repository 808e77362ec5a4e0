//! Settings that only some commands take on their command line.

/// Settings that only some commands take on their command line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Typed {
    /// `--json`: events as JSON.
    pub(crate) json: bool,
    /// `--copy-to`.
    pub(crate) copy_to: Option<String>,
    /// `--plain-http`.
    pub(crate) plain_http: bool,
}
