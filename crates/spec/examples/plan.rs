//! Prints a file's plan as JSON, or what is wrong with it: `cargo run -p diskproof-spec --example plan FILE [name=value]...`

use std::collections::BTreeMap;
use std::path::Path;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let file = arguments.next().unwrap_or_default();
    let set: BTreeMap<String, String> = arguments
        .filter_map(|pair| pair.split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned())))
        .collect();
    match diskproof_spec::load(Path::new(&file), &set) {
        Ok(loaded) => {
            println!("{}", serde_json::to_string_pretty(&loaded.plan).unwrap_or_default());
            println!("{:#?}\n{:#?}", loaded.notes, diskproof_spec::forecast(&loaded.plan));
        }
        Err(error) => println!("{error}"),
    }
}
