//! For tests: fake build programs that leave the same files as the real ones; one of them fails halfway.

use crate::recipe::SUITE;
use host::{CommandFailure, Invocation, Output, Runner};
use record::printable::Shown as _;
use std::fs;
use std::path::Path;
use std::sync::Mutex;

pub(crate) const KERNEL: &str = "6.1.0-1-cloud-amd64";

/// Counts the programs that run; the one with a given number fails halfway.
#[derive(Default)]
pub(crate) struct Workshop {
    fails_at: Option<usize>,
    ran: Mutex<usize>,
}

impl Workshop {
    pub(crate) fn failing_at(number: usize) -> Self {
        Self { fails_at: Some(number), ..Self::default() }
    }

    /// The number of programs that ran.
    pub(crate) fn ran(&self) -> usize {
        *self.ran.lock().unwrap()
    }
}

impl Runner for Workshop {
    fn run(&self, cmd: &Invocation) -> Result<Output, CommandFailure> {
        let argv = cmd.argv();
        let mut ran = self.ran.lock().unwrap();
        *ran += 1;
        let fails = Some(*ran - 1) == self.fails_at;
        match argv[0].as_str() {
            "ssh-keygen" => {
                let key = argv.last().unwrap();
                for file in [key, &format!("{key}.pub")].into_iter().take(if fails { 1 } else { 2 }) {
                    assert!(!Path::new(file).exists(), "ssh-keygen would ask whether to overwrite {file}");
                    fs::write(file, "key\n").unwrap();
                }
            }
            "setpriv" => {
                let behind = argv.iter().position(|arg| arg == SUITE).unwrap() + 1;
                make_tree(Path::new(&argv[behind]), fails);
            }
            "mkfs.ext4" => {
                let [tree, image] = &argv[argv.len() - 2..] else { panic!("{argv:?}") };
                assert!(Path::new(tree).join("boot").exists() && Path::new(image).exists());
            }
            other => panic!("{other} is none of a build's programs"),
        }
        if fails {
            let (stdout, stderr) = (String::new(), "no".to_owned());
            return Err(CommandFailure::Failed { argv, status: 1, stdout, stderr });
        }
        Ok(Output { argv, ..Output::default() })
    }
}

/// Makes a tree like mmdebstrap, which accepts an empty folder or none.
fn make_tree(tree: &Path, half: bool) {
    assert!(!tree.exists(), "{} is there", tree.shown());
    let modules = tree.join("lib/modules").join(KERNEL).join("updates/dkms");
    fs::create_dir_all(&modules).unwrap();
    fs::create_dir_all(tree.join("boot")).unwrap();
    let kernel = ["vmlinuz", "initrd.img"].map(|name| tree.join("boot").join(format!("{name}-{KERNEL}")));
    let files = kernel.into_iter().chain(["spl.ko", "zfs.ko"].map(|name| modules.join(name)));
    for file in files.take(if half { 1 } else { 4 }) {
        fs::write(file, "").unwrap();
    }
}

/// The names in a folder that only an unfinished step leaves.
pub(crate) fn leftovers(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with("tmp") || name == "tree").collect()
}
