//! Servers of S3 on this machine, each as a process of the test.

use super::registry::{Server, start};
use std::path::{Path, PathBuf};
use std::process::Command;
use testkit::free_port;

pub(crate) const BUCKET: &str = "results";
pub(crate) const KEY: &str = "AKIDEXAMPLE";
pub(crate) const SECRET: &str = "secret-7/and+more";

/// moto, which knows conditions and checks no signature.
pub(crate) fn moto() -> Server {
    let modules = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/cloud");
    assert!(modules.join("moto").exists(), "moto isn't installed: run scripts/setup.sh cloud");
    let port = free_port();
    let mut command = Command::new("/usr/bin/python3");
    // Debian's awscrt is too old for the checksums of uploads in parts; without one, moto computes them itself.
    let code = "import sys; sys.modules['awscrt'] = None; from moto.server import main; main(sys.argv[1:])";
    command.args(["-B", "-c", code, "-H", "127.0.0.1", "-p", &port.to_string()]);
    command.env("PYTHONPATH", modules).env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    let server = start(command, format!("127.0.0.1:{port}"));
    make_bucket(&server.address);
    server
}

/// s3s-fs, which checks signatures; `None` where it isn't installed.
pub(crate) fn s3s_fs(folder: &Path) -> Option<Server> {
    let path = std::env::var_os("PATH")?;
    let program: PathBuf =
        std::env::split_paths(&path).map(|dir| dir.join("s3s-fs")).find(|program| program.is_file())?;
    let root = folder.join("s3s");
    std::fs::create_dir_all(root.join(BUCKET)).unwrap();
    let port = free_port();
    let mut command = Command::new(program);
    command.args(["--host", "127.0.0.1", "--port", &port.to_string()]);
    command.args(["--access-key", KEY, "--secret-key", SECRET]).arg(root);
    Some(start(command, format!("127.0.0.1:{port}")))
}

fn make_bucket(address: &str) {
    use host::http::{HttpUrl, Request, send};
    let url = HttpUrl::parse(&format!("http://{address}/{BUCKET}")).unwrap();
    assert_eq!(send(&Request::new("PUT", url)).unwrap().status, 200);
}
