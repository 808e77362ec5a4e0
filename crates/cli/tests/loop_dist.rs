//! What `make dist` packs, installed in a clean Debian. Needs root and mmdebstrap.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic, also in its helpers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testkit::{exclusive, fresh_dir, is_root, stripped};

/// The repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn output(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let [out, err] = [stdout, stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    out
}

/// The packages of this build, in a directory: the tarball and the Debian package.
fn packed(dir: &Path) -> [PathBuf; 2] {
    let program = stripped(env!("CARGO_BIN_EXE_diskproof"), dir);
    let dist = dir.join("dist");
    output(Command::new(root().join("scripts/dist.sh")).arg(&program).arg(&dist));
    output(Command::new("sha256sum").args(["--check", "--strict", "SHA256SUMS"]).current_dir(&dist));
    let mut all: Vec<PathBuf> =
        std::fs::read_dir(&dist).unwrap().map(|entry| entry.unwrap().path()).collect();
    all.sort();
    let of = |end: &str| all.iter().find(|path| path.to_string_lossy().ends_with(end)).unwrap().clone();
    [of(".tar.gz"), of(".deb")]
}

#[test]
fn loop_packages_install_in_a_clean_debian_and_go_without_a_trace() {
    if !is_root() {
        eprintln!("skipped: needs root");
        return;
    }
    let _alone = exclusive();
    let dir = fresh_dir("dist");
    let [tarball, package] = packed(&dir);
    let debian = dir.join("debian");
    output(
        Command::new("mmdebstrap").args(["--quiet", "--variant=apt", "--mode=root", "bookworm"]).arg(&debian),
    );
    let inside = |line: &str| output(Command::new("chroot").arg(&debian).args(["sh", "-ec", line]));
    let before = inside("find /usr -xdev -name '*diskproof*'");
    assert_eq!(before, "");
    for packed in [&tarball, &package] {
        std::fs::copy(packed, debian.join("root").join(packed.file_name().unwrap())).unwrap();
    }
    let [tarball, package] =
        [tarball, package].map(|path| path.file_name().unwrap().to_str().unwrap().to_owned());

    inside(&format!("cd /root && apt-get install -y --no-install-recommends ./{package}"));
    let version = inside("diskproof --version");
    assert!(version.starts_with("diskproof ") && version.contains(env!("CARGO_PKG_VERSION")), "{version}");
    inside(
        "cd /tmp && diskproof new my.yaml && diskproof plan my.yaml && test -s /usr/share/man/man1/diskproof-run.1.gz",
    );
    inside("test -s /usr/share/bash-completion/completions/diskproof && dpkg --verify diskproof");
    inside("apt-get purge -y diskproof");
    assert_eq!(inside("find /usr -xdev -name '*diskproof*'"), "");

    inside(&format!("cd /root && tar xzf {tarball} && ./diskproof-*/bin/diskproof --version"));
    std::fs::remove_dir_all(&dir).unwrap();
}
