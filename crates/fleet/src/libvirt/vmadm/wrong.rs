//! What is wrong in a description.

use std::fmt;

/// Something wrong in a description.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Where, e.g. `nics[0].vlan_id`; empty: the whole.
    pub at: String,
    /// What, and the way out.
    pub why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = record::printable::printable(&self.at);
        let why = record::printable::printable(&self.why);
        if at.is_empty() { write!(f, "{why}") } else { write!(f, "{at}: {why}") }
    }
}
