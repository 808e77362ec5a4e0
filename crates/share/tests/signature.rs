//! Runs signed by ssh keys.
#![allow(clippy::unwrap_used, reason = "tests may")]

#[path = "support/registry.rs"]
#[allow(dead_code, reason = "shared with other tests")]
mod registry;
#[path = "support/runs.rs"]
mod runs;

use diskproof_share::{Address, Puller, ShareError, Signature, open, push, sign, verify};
use runs::{options, pack, store_with};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use store::Store;

/// Makes a key; returns its path and its line for a file of allowed signers.
fn key(folder: &Path, name: &str, passphrase: &str) -> (PathBuf, String) {
    let path = folder.join(name);
    let made = Command::new("ssh-keygen")
        .args(["-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f"])
        .arg(&path)
        .status();
    assert!(made.unwrap().success());
    let public = fs::read_to_string(path.with_extension("pub")).unwrap();
    (path, format!("{name}@example.org namespaces=\"diskproof\" {public}"))
}

#[test]
fn a_signature_is_checked_and_a_wrong_one_stores_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (alice, alices) = key(folder.path(), "alice", "");
    let (_, bobs) = key(folder.path(), "bob", "");
    let allowed = folder.path().join("allowed");
    let others = folder.path().join("others");
    fs::write(&allowed, &alices).unwrap();
    fs::write(&others, &bobs).unwrap();
    let server = registry::docker(folder.path(), None);
    let place = |tag: &str| {
        open(&Address::parse(&format!("oci://{}/r:{tag}", server.address)).unwrap(), &options()).unwrap()
    };
    let (store, run) = store_with(folder.path(), 2, 0);
    let mut packed = pack(&store, &run, folder.path());
    push(&packed, &*place("unsigned"), false).unwrap();
    let signature = sign(&packed.config, &alice).unwrap();
    packed.signature = Some(signature.clone());
    push(&packed, &*place("signed"), false).unwrap();
    let foreign =
        Signature(String::from_utf8(sign(b"something else", &alice).unwrap().0).unwrap().into_bytes());
    packed.signature = Some(foreign);
    push(&packed, &*place("foreign"), false).unwrap();
    packed.signature = Some(Signature(b"-----BEGIN SSH SIGNATURE-----\nnone\n".to_vec()));
    push(&packed, &*place("garbage"), false).unwrap();

    let to = Store::open(&folder.path().join("to.db")).unwrap();
    let pull = |tag: &str, signers: &Path| {
        let check = |config: &[u8], signature: &[u8]| verify(config, signature, signers);
        let puller = Puller { store: &to, folder: folder.path(), name: None };
        puller.pull(&*place(tag), Some(&check))
    };
    for (tag, signers) in
        [("unsigned", &allowed), ("foreign", &allowed), ("garbage", &allowed), ("signed", &others)]
    {
        let refused = pull(tag, signers);
        assert!(matches!(refused, Err(ShareError::Signature(_))), "{tag}: {refused:?}");
        assert!(to.runs().unwrap().is_empty(), "{tag}");
    }
    assert_eq!(pull("signed", &allowed).unwrap().signer.as_deref(), Some("alice@example.org"));
    assert_eq!(to.origin(&run).unwrap().unwrap().signer.as_deref(), Some("alice@example.org"));
    let changed = [packed.config.as_slice(), b" "].concat();
    assert!(verify(&changed, &signature.0, &allowed).is_err(), "one byte more");
}

#[test]
fn a_key_with_a_passphrase_fails_at_once_and_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let (locked, _) = key(folder.path(), "locked", "secret-7");
    let refused = sign(b"x", &locked).unwrap_err().to_string();
    assert!(refused.contains("ssh-add"), "{refused}");
}
