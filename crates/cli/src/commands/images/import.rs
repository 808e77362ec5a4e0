//! `diskproof images import` and `build`.

use crate::args::{From, ImagesBuild, ImagesImport};
use crate::commands::hosts::{machines, options};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::settings::keys::Progress;
use fleet::At;
use fleet::images::{self, ImageError, ImageSource, Imported};
use host::LocalRunner;
use lab::StepEvent;
use record::machine::Machine;
use record::printable::chain;
use record::quantity::{Bytes, Seconds};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

pub(super) fn import(args: &ImagesImport, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = machines(&args.machines.on, from, settings)?;
    let source = ImageSource::parse(&args.source);
    take(machines, &source, args.name.as_deref(), args.sha256.as_deref(), from, settings)
}

pub(super) fn build(args: &ImagesBuild, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let machines = machines(&args.machines.on, from, settings)?;
    let known = lab::DEBIANS.into_iter().find(|debian| debian.name == args.image);
    let debian = known.ok_or_else(|| {
        let names: Vec<&str> = lab::DEBIANS.iter().map(|debian| debian.name).collect();
        Failure::input(format!("`{}` can't be built; known: {}", args.image, names.join(", ")))
    })?;
    let quiet = settings.progress.value == Progress::None;
    let ear = |told: &StepEvent| {
        if !quiet {
            output::aside(&told.to_string());
        }
    };
    let made = lab::debian(&settings.state.value, debian, args.mirror.as_deref(), &LocalRunner, &ear)
        .map_err(Failure::machine)?;
    let source = ImageSource::Here(made.folder().to_owned());
    let taken = take(machines, &source, Some(debian.name), None, from, settings);
    if let Err(error) = made.remove() {
        output::aside(&format!("diskproof: {}", chain(&error)));
    }
    taken
}

/// Takes an image to machines, at the same time.
pub(super) fn take(
    machines: Vec<Machine>,
    source: &ImageSource,
    name: Option<&str>,
    digest: Option<&str>,
    from: &From,
    settings: &Settings,
) -> Result<Exit, Failure> {
    let options = options(settings);
    let quiet = settings.progress.value == Progress::None;
    let results = fleet::on_each(machines, usize::from(from.fanout), &|machine| {
        let began = Instant::now();
        let told = AtomicU64::new(0);
        let progress = |bytes: u64| {
            // A line for each 64 MiB is enough to see that it goes on.
            if !quiet && bytes >> 26 > told.swap(bytes >> 26, Ordering::Relaxed) {
                output::aside(&format!("{}: {} have arrived", machine.name, Bytes(bytes)));
            }
        };
        let imported = At::open(&machine, &options)
            .map_err(ImageError::from)
            .and_then(|at| images::import(&at, source, name, digest, &progress));
        (machine.name.clone(), imported, began.elapsed())
    });
    let mut exit = Exit::Fine;
    for (machine, imported, took) in results {
        match imported {
            Ok(imported) => {
                let took = Seconds(took.as_secs_f64());
                output::answer(&format!("{machine}: {} ({took})", describe(&imported)))?;
            }
            Err(error) => {
                exit = Exit::from(error.fault());
                output::aside(&format!("diskproof: {machine}: {}", chain(&error)));
            }
        }
    }
    Ok(exit)
}

fn describe(imported: &Imported) -> String {
    let image = &imported.image;
    let short: String = image.digest.chars().take(12).collect();
    match imported.was_there {
        true => format!("has it already, as {} ({short})", image.name),
        false => format!(
            "imported {} ({short}), a disk of {}; {} were copied",
            image.name,
            Bytes(image.virtual_bytes),
            Bytes(imported.moved_bytes)
        ),
    }
}
