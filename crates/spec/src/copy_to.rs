//! `store`: where a run's results go besides the results file.

use crate::diagnostic::printable;
use crate::fields::Fields;
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::STORE;

const EXPECTED: &str = "an address: `s3://BUCKET/PREFIX` or `file:///FOLDER`";

/// Reads the address to which each finished trial is copied; `None`: there is none. Whether the place exists is seen when the run begins.
pub(crate) fn read(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<String> {
    let fields = Fields::open(node, &STORE, problems)?;
    let node = fields.get("copy_to")?;
    let text = value::text(node, EXPECTED, scope, problems)?;
    let begins = |scheme: &str| text.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty());
    if begins("s3://") || begins("file:///") {
        return Some(text);
    }
    let shown = printable(&text, 80);
    problems
        .add(node.span, format!("`{shown}` is no address that results can be copied to"))
        .expected(EXPECTED);
    None
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    fn copied(store: &str) -> Result<Option<String>, String> {
        let text = format!(
            "experiment: demo\nparameters: {{ bucket: {{ default: lab }} }}\nvolumes: {{ v: {{ directory: /srv }} }}\n\
             stacks: {{ s: {{ on: v }} }}\nworkloads: {{ w: {{ rw: read, size: 8m }} }}\n{store}"
        );
        match crate::parse(&text, "demo.yaml", Path::new("/"), &Default::default()) {
            Ok(loaded) => Ok(loaded.plan.copy_to),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn a_place_for_copies_is_an_address() {
        assert_eq!(copied(""), Ok(None));
        let found = copied("store: { copy_to: s3://results/nvme }");
        assert_eq!(found, Ok(Some("s3://results/nvme".to_owned())));
        assert_eq!(copied("store: { copy_to: file:///srv/copies }").unwrap().unwrap(), "file:///srv/copies");
        assert_eq!(copied("store: { copy_to: 's3://{bucket}/x' }").unwrap().unwrap(), "s3://lab/x");
        for wrong in ["copy_to: /srv/copies", "copy_to: 'file://srv'", "copy_to: 's3://'", "copyto: s3://a/b"]
        {
            let error = copied(&format!("store: {{ {wrong} }}")).unwrap_err();
            assert!(error.contains("demo.yaml:6"), "{error}");
        }
    }
}
