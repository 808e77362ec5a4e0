//! libblkid's low-level probe: no cache, directly from the disk (blkid(8)).

use host::{CommandFailure, Invocation, Runner, Tool};
use std::path::Path;
use std::time::Duration;

/// The timeout. A disk that answers no read for this long isn't fit for a measurement.
const PATIENCE: Duration = Duration::from_secs(60);
/// blkid's exit statuses.
const FOUND: i32 = 0;
const NOTHING: i32 = 2;
const AMBIVALENT: i32 = 8;

/// The result of blkid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Probed {
    /// No signature.
    Nothing,
    /// One signature, as text.
    Signature(String),
    /// Several signatures that contradict each other.
    Several,
    /// It could not be run: the reason, and the remedy.
    Unheard(String, String),
}

pub(crate) fn probe(runner: &dyn Runner, node: &Path) -> Probed {
    let ask = Invocation::new(Tool::Blkid)
        .args(["-p", "-o", "export"])
        .arg(node)
        .accept([FOUND, NOTHING, AMBIVALENT])
        .timeout(PATIENCE);
    let output = match runner.run(&ask) {
        Ok(output) => output,
        Err(failure @ CommandFailure::NotFound { .. }) => {
            return Probed::Unheard(failure.to_string(), "install it".to_owned());
        }
        Err(failure) => {
            return Probed::Unheard(failure.to_string(), "check that the disk can be read at all".to_owned());
        }
    };
    match output.status {
        AMBIVALENT => Probed::Several,
        // The same status means "nothing found" and "could not read"; only the latter prints something.
        NOTHING if output.stdout.trim().is_empty() && output.stderr.trim().is_empty() => Probed::Nothing,
        FOUND => Probed::Signature(describe(&output.stdout)),
        _ => Probed::Unheard(
            format!("blkid ended with status {}: {}", output.status, output.stderr.trim()),
            "ask again as root".to_owned(),
        ),
    }
}

/// The signature's most useful tags.
fn describe(export: &str) -> String {
    let value = |key: &str| {
        let mut lines = export.lines().filter_map(|l| l.split_once('='));
        lines.find(|(k, _)| *k == key).map(|(_, v)| v.to_owned())
    };
    let kind = value("TYPE").or_else(|| value("PTTYPE").map(|t| format!("a partition table ({t})")));
    let mut text = kind.unwrap_or_else(|| format!("something it describes as: {}", export.trim()));
    if let Some(label) = value("LABEL") {
        text.push_str(&format!(" labelled {label}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{Probed, probe};
    use host::{CommandFailure, Invocation, Output, Runner};
    use std::path::Path;

    struct Says(i32, &'static str, &'static str);

    impl Runner for Says {
        fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
            Ok(Output { stdout: self.1.into(), stderr: self.2.into(), argv: cmd.argv(), status: self.0 })
        }
    }

    struct Missing;

    impl Runner for Missing {
        fn run(&self, _: &Invocation) -> Result<Output, CommandFailure> {
            Err(CommandFailure::NotFound {
                program: "blkid".into(),
                package: Some("util-linux"),
                looked_in: vec![],
            })
        }
    }

    fn ask(runner: &dyn Runner) -> Probed {
        probe(runner, Path::new("/dev/x"))
    }

    #[test]
    fn silence_with_status_2_is_the_only_pass() {
        assert_eq!(ask(&Says(2, "", "")), Probed::Nothing);
        assert!(matches!(ask(&Says(2, "", "error: /dev/x: Permission denied")), Probed::Unheard(..)));
        assert!(matches!(ask(&Says(0, "", "")), Probed::Signature(_)), "found, but won't say what");
        assert_eq!(ask(&Says(8, "", "")), Probed::Several);
        assert!(matches!(ask(&Missing), Probed::Unheard(..)));
    }

    #[test]
    fn what_was_found_is_named() {
        let text = "DEVNAME=/dev/x\nLABEL=my data\nTYPE=ext4\nUSAGE=filesystem\n";
        assert_eq!(ask(&Says(0, text, "")), Probed::Signature("ext4 labelled my data".into()));
        let text = "DEVNAME=/dev/x\nPTTYPE=gpt\n";
        assert_eq!(ask(&Says(0, text, "")), Probed::Signature("a partition table (gpt)".into()));
    }
}
