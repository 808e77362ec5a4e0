//! Times and memory of `push` and `pull`, for bench/share. `share_cost make|push|fetch|pull FOLDER [REGISTRY]`. `fetch` leaves files, as crane
//! does; `pull` stores the run.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

#[path = "../tests/support/runs.rs"]
#[allow(dead_code, reason = "shared with the tests")]
mod runs;

use diskproof_share::{Address, Digest, Puller, Remote, open, push};
use record::id::RunId;
use std::path::Path;
use std::time::Instant;
use store::Store;

const TRIALS: u32 = 1000;
/// Raw output of each trial in bytes: what fio writes by json+ for a job or two. It doesn't compress.
const RAW_BYTES: usize = 40_000;

/// Fetches manifest and blobs to a folder, and checks the digests.
fn fetch(remote: &dyn Remote, folder: &Path) -> u64 {
    std::fs::create_dir(folder).unwrap();
    let bytes = remote.get_manifest().unwrap().unwrap();
    std::fs::write(folder.join("manifest.json"), &bytes).unwrap();
    let manifest: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    let mut total = 0;
    for blob in std::iter::once(&manifest["config"]).chain(manifest["layers"].as_array().unwrap()) {
        let digest = Digest::parse(blob["digest"].as_str().unwrap()).unwrap();
        let size = blob["size"].as_u64().unwrap();
        let path = folder.join(digest.hex());
        remote.get_blob(&digest, &path, size).unwrap();
        let file = std::fs::File::open(&path).unwrap();
        assert_eq!(host::sha256(file, u64::MAX).unwrap(), (digest.hex().to_owned(), size));
        total += size;
    }
    total
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
            let packing = began.elapsed();
            let began = Instant::now();
            let pushed = push(&packed, &*place(&args[2]), true).unwrap();
            println!("pack {:.3} s", packing.as_secs_f64());
            println!("push {:.3} s, {} bytes", began.elapsed().as_secs_f64(), pushed.total_bytes);
        }
        "fetch" => {
            let began = Instant::now();
            let bytes = fetch(&*place(&args[2]), &folder.join("fetched"));
            println!("pull to files {:.3} s, {bytes} bytes", began.elapsed().as_secs_f64());
        }
        _ => {
            let store = Store::open(&folder.join("to.db")).unwrap();
            let began = Instant::now();
            let pulled = Puller { store: &store, folder, name: None }.pull(&*place(&args[2]), None).unwrap();
            println!(
                "pull and store {:.3} s, {} bytes",
                began.elapsed().as_secs_f64(),
                pulled.received_bytes
            );
        }
    }
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap();
    println!("{} {}", args[0], peak.split_whitespace().collect::<Vec<_>>().join(" "));
}
