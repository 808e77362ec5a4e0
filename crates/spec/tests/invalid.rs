//! Every file in tests/experiments/invalid is refused with exactly the message beside it. After a change of wording, `UPDATE=1
//! cargo test -p diskproof-spec --test invalid` writes new messages: read each as a user would.
#![expect(clippy::unwrap_used, reason = "a test")]

use diskproof_spec::{LoadError, parse_bytes};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/experiments/invalid")
}

/// Reads `# --set name=value` in a file's first line as that argument.
fn settings(bytes: &[u8]) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(bytes);
    let first = text.lines().next().unwrap_or_default();
    let pair = first.strip_prefix("# --set ").and_then(|pair| pair.split_once('='));
    pair.map(|(name, value)| (name.to_owned(), value.to_owned())).into_iter().collect()
}

fn message(path: &Path) -> String {
    let bytes = fs::read(path).unwrap();
    let name = path.file_name().unwrap().to_string_lossy();
    match parse_bytes(&bytes, &name, &folder(), &settings(&bytes)) {
        Err(LoadError::Diagnostics(diagnostics)) => {
            let folder = folder().to_string_lossy().into_owned();
            format!("{diagnostics}\n").replace(&format!("{folder}/"), "")
        }
        Err(other) => panic!("{name}: refused, but without a place: {other}"),
        Ok(_) => panic!("{name}: accepted"),
    }
}

#[test]
fn every_invalid_file_is_refused_with_its_message() {
    let update = std::env::var_os("UPDATE").is_some();
    let mut files: Vec<PathBuf> =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "yaml"));
    files.sort();
    assert!(files.len() >= 100, "only {} files", files.len());
    let mut differing = Vec::new();
    for file in files {
        let got = message(&file);
        let beside = file.with_extension("expected");
        if update {
            fs::write(&beside, &got).unwrap();
        } else if fs::read_to_string(&beside).unwrap_or_default() != got {
            differing.push(format!("{}\n{got}", beside.to_string_lossy()));
        }
    }
    assert!(differing.is_empty(), "messages differ from what is expected:\n{}", differing.join("\n"));
}
