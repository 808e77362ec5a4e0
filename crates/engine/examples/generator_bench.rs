//! The speed at which the native engine generates and checks data, on one core, by CPU time.
//!
//! Prints one line of JSON for blocks of 4k, for bench/native; with `--table` more block sizes and compressibilities, in GB/s.
//! `cargo run --release --package diskproof-engine --example generator_bench -- --table`; see docs/engine-native.md.

use diskproof_engine::native::{MakingError, making};

/// Seconds of CPU time for each figure.
const SECONDS: f64 = 0.3;

fn main() -> Result<(), MakingError> {
    if std::env::args().any(|argument| argument == "--table") { table() } else { line() }
}

fn line() -> Result<(), MakingError> {
    let (incompressible, compressible) = (making(0, 4096, SECONDS)?, making(50, 4096, SECONDS)?);
    println!(
        "{{\"incompressible_bytes_per_second\": {:.0}, \"compressible_bytes_per_second\": {:.0}, \
         \"verify_stamp_bytes_per_second\": {:.0}, \"verify_check_bytes_per_second\": {:.0}}}",
        incompressible.generated, compressible.generated, incompressible.stamped, incompressible.checked
    );
    Ok(())
}

fn table() -> Result<(), MakingError> {
    println!("compress%  block  generated    stamped    checked");
    for percent in [0, 33, 50, 75] {
        for block in [4 << 10, 64 << 10, 512 << 10] {
            let found = making(percent, block, SECONDS)?;
            let [generated, stamped, checked] =
                [found.generated, found.stamped, found.checked].map(|rate| rate / 1e9);
            println!("{percent:9} {:5}k {generated:10.1} {stamped:10.1} {checked:10.1}", block >> 10);
        }
    }
    Ok(())
}
