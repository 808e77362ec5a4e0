//! `diskproof images list` and `remove`.

use crate::args::{From, ImagesList, ImagesRemove};
use crate::commands::hosts::{machines, options};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use fleet::At;
use fleet::images::{self, Image, ImageError};
use record::printable::chain;
use record::quantity::Bytes;
use serde::Serialize;

/// One line of `--json`.
#[derive(Serialize)]
struct Line<'a> {
    machine: &'a str,
    uuid: String,
    #[serde(flatten)]
    image: &'a Image,
}

pub(super) fn list(args: &ImagesList, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = machines(&args.machines.on, from, settings)?;
    let options = options(settings);
    let asked = fleet::on_each(machines, usize::from(from.fanout), &|machine| {
        let found: Result<Vec<Image>, ImageError> =
            At::open(&machine, &options).map_err(ImageError::from).and_then(|at| images::list(&at));
        (machine.name, found)
    });
    let title = ["machine", "image", "disk", "file", "sha256", "uuid"].map(str::to_owned);
    let (mut rows, mut exit) = (vec![title], Exit::Fine);
    for (machine, found) in &asked {
        match found {
            Ok(found) if args.json => {
                for image in found {
                    let line = Line { machine, uuid: image.uuid(), image };
                    output::json(&serde_json::to_string(&line).map_err(Failure::ours)?)?;
                }
            }
            Ok(found) => rows.extend(found.iter().map(|image| row(machine, image))),
            Err(error) => {
                exit = Exit::Machine;
                output::aside(&format!("diskproof: {}", chain(error)));
            }
        }
    }
    if !args.json {
        match rows.len() {
            1 => output::answer("no images")?,
            _ => output::answer(&output::columns(&rows))?,
        }
    }
    Ok(exit)
}

fn row(machine: &str, image: &Image) -> [String; 6] {
    [
        machine.to_owned(),
        image.name.clone(),
        Bytes(image.virtual_bytes).to_string(),
        Bytes(image.file_bytes).to_string(),
        image.digest.chars().take(12).collect(),
        image.uuid(),
    ]
}

pub(super) fn remove(args: &ImagesRemove, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = machines(&args.machines.on, from, settings)?;
    let options = options(settings);
    let asked = fleet::on_each(machines, usize::from(from.fanout), &|machine| {
        let removed = At::open(&machine, &options)
            .map_err(ImageError::from)
            .and_then(|at| images::remove(&at, &args.image));
        (machine.name, removed)
    });
    let mut exit = Exit::Fine;
    for (machine, removed) in asked {
        match removed {
            Ok(image) => {
                output::answer(&format!("{machine}: removed {} ({})", image.name, &image.digest[..12]))?
            }
            Err(error) => {
                exit = Exit::from(error.fault());
                output::aside(&format!("diskproof: {}", chain(&error)));
            }
        }
    }
    Ok(exit)
}
