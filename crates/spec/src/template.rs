//! What is declared once and stands for one thing per combination of its factors' levels: a stack or a workload.

use crate::factor::{self, Factor};
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::tree::{Key, Node};
use crate::vocabulary::Table;

/// One stack or workload of the file, its factors read.
pub(crate) struct Template<'n> {
    pub(crate) key: &'n Key,
    pub(crate) factors: Vec<Factor>,
    pub(crate) fields: Fields<'n>,
    /// What it stands for.
    what: &'static str,
}

/// One stack or workload with its levels.
pub(crate) struct Instance<T> {
    pub(crate) levels: Vec<(String, Level)>,
    pub(crate) thing: T,
}

impl<'n> Template<'n> {
    /// Reads the frame of a stack or workload, `what`, which may have the keys of `table`.
    pub(crate) fn read(
        (key, node): &'n (Key, Node),
        what: &'static str,
        table: &'static Table,
        parameters: &Scope<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let named = crate::name::check_template(key, &format!("a {what}"), problems);
        let fields = Fields::open(node, table, problems)?;
        let factors = factor::read(fields.get("with"), parameters, problems)?;
        named.map(|()| Self { key, factors, fields, what })
    }

    /// The name of one combination.
    pub(crate) fn name(&self, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
        factor::fill_name(self.key, &self.factors, scope, self.what, problems)
    }
}
