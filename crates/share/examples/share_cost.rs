//! Does what bench/share times: `share_cost make|push|fetch|pull FOLDER [REGISTRY]`. `push` packs before and says how long that took; `fetch`
//! leaves files, as crane does; `pull` stores the run. Each says its peak memory.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/runs.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod runs;

use diskproof_share::{Address, Blob, Digest, Puller, Remote, open, push};
use record::id::RunId;
use std::path::Path;
use std::time::Instant;
use store::Store;

const TRIALS: u32 = 1000;
/// Raw output of each trial in bytes: what fio writes by json+ for a job or two. It doesn't compress.
const RAW_BYTES: usize = 40_000;

/// Fetches manifest and blobs to a folder, and checks the digests.
fn fetch(remote: &dyn Remote, folder: &Path) {
    std::fs::create_dir(folder).unwrap();
    let bytes = remote.get_manifest().unwrap().unwrap();
    std::fs::write(folder.join("manifest.json"), &bytes).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    // As `pull` does it: the description first, then the archives together.
    for some in [std::slice::from_ref(&manifest["config"]), manifest["layers"].as_array().unwrap()] {
        let of = |blob: &serde_json::Value| {
            let digest = Digest::parse(blob["digest"].as_str().unwrap()).unwrap();
            (folder.join(digest.hex()), digest, blob["size"].as_u64().unwrap())
        };
        let some: Vec<_> = some.iter().map(of).collect();
        let blobs: Vec<_> =
            some.iter().map(|(path, digest, bytes)| Blob { digest, path, bytes: *bytes }).collect();
        for (found, blob) in remote.get_blobs(&blobs).unwrap().into_iter().zip(&blobs) {
            assert_eq!(found.as_ref(), Some(blob.digest));
        }
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let folder = Path::new(&args[1]);
    let place = |registry: &str| {
        let address = Address::parse(&format!("oci://{registry}/bench:ours")).unwrap();
        open(&address, &runs::options()).unwrap()
    };
    match args[0].as_str() {
        "make" => drop(runs::store_with(folder, TRIALS, RAW_BYTES)),
        "push" => {
            let store = Store::open(&folder.join("from.db")).unwrap();
            let began = Instant::now();
            let packed = runs::pack(&store, &RunId(runs::RUN.to_owned()), folder);
            println!("pack {:.6} s", began.elapsed().as_secs_f64());
            push(&packed, &*place(&args[2]), true).unwrap();
        }
        "fetch" => fetch(&*place(&args[2]), &folder.join("fetched")),
        _ => {
            let store = Store::open(&folder.join("to.db")).unwrap();
            Puller { store: &store, folder, name: None }.pull(&*place(&args[2]), None).unwrap();
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("{} {}", args[0], peak.split_whitespace().collect::<Vec<_>>().join(" "));
}
