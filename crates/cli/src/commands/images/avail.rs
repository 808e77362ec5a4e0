//! `diskproof images avail`.

use crate::args::ImagesAvail;
use crate::exit::{Exit, Failure};
use crate::output;
use serde_json::json;

pub(super) fn avail(args: &ImagesAvail) -> Result<Exit, Failure> {
    if args.json {
        for debian in lab::DEBIANS {
            output::json(
                &json!({ "name": debian.name, "suite": debian.suite, "from": "build" }).to_string(),
            )?;
        }
        return Ok(Exit::Fine);
    }
    let title = ["image", "what", "how"].map(str::to_owned);
    let rows = lab::DEBIANS.iter().map(|debian| {
        [
            debian.name.to_owned(),
            format!("Debian {}, from its packages", debian.suite),
            format!("diskproof images build {}", debian.name),
        ]
    });
    let rows: Vec<[String; 3]> = std::iter::once(title).chain(rows).collect();
    output::answer(&output::columns(&rows))?;
    output::aside("any image with cloud-init can be imported: diskproof images import FILE|DIRECTORY|URL");
    Ok(Exit::Fine)
}
