//! The Debian mirror that this machine uses, so that none is compiled into the program.

use crate::error::LabError;
use host::{Invocation, Runner, Tool};

/// One line per index: URI, release, component and origin.
const FORMAT: &str = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)";

/// The mirror to build from: the requested one, else apt's.
pub(crate) fn mirror(runner: &dyn Runner, asked: Option<&str>) -> Result<String, LabError> {
    if let Some(asked) = asked {
        return Ok(asked.to_owned());
    }
    let question =
        Invocation::new(Tool::AptGet).args(["indextargets", "--format", FORMAT, "Created-By: Packages"]);
    let told = runner.run(&question).map_err(LabError::command("asking apt for its mirrors"))?;
    pick(&told.stdout).ok_or(LabError::NoMirror)
}

/// The first mirror of Debian itself: component `main` of a release, recognised by its origin or by the path that all Debian mirrors have.
fn pick(lines: &str) -> Option<String> {
    let main = lines.lines().filter_map(|line| {
        let mut fields = line.split('|');
        let (uri, release, component) = (fields.next()?, fields.next()?, fields.next()?);
        let origin = fields.next().unwrap_or_default();
        let is_debian = origin == "Debian" || uri.trim_end_matches('/').ends_with("/debian");
        let is_plain =
            !release.contains("security") && !release.ends_with("-updates") && !release.contains("backports");
        (component == "main" && is_debian && is_plain).then(|| uri.trim_end_matches('/').to_owned())
    });
    main.into_iter().next()
}

/// Passes the proxy variables to apt; diskproof runs programs without its environment otherwise.
pub(crate) fn with_proxies(mut invocation: Invocation) -> Invocation {
    for name in ["http_proxy", "https_proxy", "ftp_proxy", "all_proxy", "no_proxy"] {
        for name in [name.to_owned(), name.to_uppercase()] {
            if let Some(value) = std::env::var_os(&name) {
                invocation = invocation.env(name, value);
            }
        }
    }
    invocation
}

#[cfg(test)]
mod tests {
    use super::pick;

    #[test]
    fn debian_s_own_release_is_taken() {
        let told = "https://packages.example.org/apt/|sdk|main|Somebody\n\
                    http://mirror.example.org/debian-security/|bookworm-security|main|Debian\n\
                    http://mirror.example.org/debian/|bookworm-updates|main|Debian\n\
                    http://mirror.example.org/debian/|bookworm|contrib|Debian\n\
                    http://mirror.example.org/debian/|bookworm|main|Debian\n";
        assert_eq!(pick(told).as_deref(), Some("http://mirror.example.org/debian"));
    }

    #[test]
    fn before_the_first_update_the_path_tells() {
        assert_eq!(pick("http://m/debian/|trixie|main|\n").as_deref(), Some("http://m/debian"));
        assert_eq!(pick("http://m/ubuntu/|noble|main|Ubuntu\n"), None);
        assert_eq!(pick(""), None);
    }
}
