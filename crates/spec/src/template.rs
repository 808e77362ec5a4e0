//! Templates: a stack or workload that is declared once and stands for one instance per combination of its factors' levels.

use crate::factor::{self, Factor};
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::{Level, Scope};
use crate::tree::{Key, Node};
use crate::vocabulary::Table;

/// One stack or workload of the file, with its factors.
pub(crate) struct Template<'n> {
    pub(crate) key: &'n Key,
    pub(crate) factors: Vec<Factor>,
    pub(crate) fields: Fields<'n>,
    /// What it declares: a stack or a workload.
    what: &'static str,
}

/// One stack or workload with its levels.
pub(crate) struct Instance<T> {
    pub(crate) levels: Vec<(String, Level)>,
    pub(crate) thing: T,
}

impl<'n> Template<'n> {
    /// Reads the frame of a stack or workload, `what`; `table` has its keys.
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

    /// Returns the name of one combination.
    pub(crate) fn name(&self, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
        factor::fill_name(self.key, &self.factors, scope, self.what, problems)
    }
}
