//! Signatures by ssh keys (`ssh-keygen -Y`): diskproof manages no keys of its own. What is signed is the description of a bundle, which
//! holds the digests of everything else.

use crate::bundle::Signature;
use crate::error::ShareError;
use host::{CommandFailure, Invocation, LocalRunner, Runner as _, Tool};
use record::printable::{Shown as _, printable};
use std::env;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Signatures of other programs' data must not count for a run (ssh-keygen(1), "namespace").
const NAMESPACE: &str = "diskproof";
/// A key may be on a token that a person touches.
const LIMIT: Duration = Duration::from_secs(60);

/// Signs the description of a packed run.
///
/// # Errors
/// The key can't be used without asking for its passphrase, or isn't one.
pub fn sign(config: &[u8], key: &Path) -> Result<Signature, ShareError> {
    let path = whole(key)?;
    let mut call = Invocation::new(Tool::SshKeygen)
        .args(["-Y", "sign", "-n", NAMESPACE, "-f"])
        .arg(&path)
        .stdin(config)
        .timeout(LIMIT)
        // There is no terminal to ask at; without these, it would wait for one.
        .env("SSH_ASKPASS", "/bin/false")
        .env("SSH_ASKPASS_REQUIRE", "force");
    for name in ["SSH_AUTH_SOCK", "HOME"] {
        if let Some(value) = env::var_os(name) {
            call = call.env(name, value);
        }
    }
    let output = LocalRunner.run(&call).map_err(|failure| {
        ShareError::Signature(format!(
            "the key {} can't sign: {}; a key with a passphrase must be in the agent (`ssh-add`)",
            key.shown(),
            why(&failure)
        ))
    })?;
    if output.stdout.starts_with("-----BEGIN SSH SIGNATURE-----") {
        Ok(Signature(output.stdout.into_bytes()))
    } else {
        Err(ShareError::Signature(format!("ssh-keygen gave no signature by {}", key.shown())))
    }
}

/// Checks the signature of a description against a file of allowed signers (ssh-keygen(1), "ALLOWED SIGNERS"), and returns whose it is.
///
/// # Errors
/// Nobody in the file made it, or it is of other bytes.
pub fn verify(config: &[u8], signature: &[u8], allowed: &Path) -> Result<String, ShareError> {
    let allowed_signers = whole(allowed)?;
    let unwritten = ShareError::file("write", env::temp_dir());
    let file = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(signature).map(|()| file));
    let file = file.map_err(unwritten)?;
    let with = |what: &str| {
        Invocation::new(Tool::SshKeygen)
            .args(["-Y", what, "-f"])
            .arg(&allowed_signers)
            .arg("-s")
            .arg(file.path())
            .timeout(LIMIT)
    };
    let found = LocalRunner.run(&with("find-principals")).map_err(|failure| {
        ShareError::Signature(format!("nobody in {} signed this run: {}", allowed.shown(), why(&failure)))
    })?;
    let signer = found.stdout.lines().next().unwrap_or_default().to_owned();
    let check = with("verify").args(["-n", NAMESPACE, "-I", &signer]).stdin(config);
    match LocalRunner.run(&check) {
        Ok(_) => Ok(signer),
        Err(failure) => Err(ShareError::Signature(format!(
            "the signature by {} is wrong: the run was changed after it was signed, or the signature is of something else ({}); nothing \
             was stored",
            printable(&signer),
            why(&failure)
        ))),
    }
}

/// Programs run in `/`.
fn whole(path: &Path) -> Result<PathBuf, ShareError> {
    fs::canonicalize(path).map_err(ShareError::file("read", path))
}

fn why(failure: &CommandFailure) -> String {
    match failure {
        CommandFailure::Failed { stderr, stdout, .. } => {
            let said = if stderr.trim().is_empty() { stdout } else { stderr };
            printable(said.trim().lines().last().unwrap_or("no reason given")).into_owned()
        }
        other => other.to_string(),
    }
}
