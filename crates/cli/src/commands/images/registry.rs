//! `diskproof images import oci://...`: this machine fetches the image, and takes it to the machines.

use super::import::take;
use crate::args::{From, ImagesImport};
use crate::commands::hosts::machines;
use crate::commands::share::{failure, options, size};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::images::ImageSource;
use share::Address;

/// Whether a source is the address of a registry, and not a path or a URL.
pub(super) fn is_address(source: &str) -> bool {
    source.starts_with("oci://")
}

pub(super) fn import(args: &ImagesImport, from: &From, settings: &Settings) -> Result<Exit, Failure> {
    let address = Address::parse(&args.source).map_err(failure)?;
    let machines = machines(&args.machines.on, from, settings)?;
    let options = options(&args.place, settings)?;
    let remote = share::open(&address, &options).map_err(failure)?;
    let wish = Wish::listen_by(options.cancel).map_err(Failure::machine)?;
    let pulled = share::pull_image(&*remote, &settings.state.value.join("images-pulled"));
    if let (Err(_), Some(signal)) = (&pulled, wish.signal().and_then(|signal| u8::try_from(signal).ok())) {
        output::aside("stopped: the same command goes on with what has arrived");
        return Ok(Exit::Signal(signal));
    }
    let pulled = pulled.map_err(failure)?;
    output::aside(&format!(
        "image {} from {address}: {} are here",
        pulled.info.name,
        size(pulled.total_bytes)
    ));
    // The registry's digest was checked; this one is the user's own, or the same once more for each machine.
    let digest = args.sha256.clone().unwrap_or_else(|| pulled.info.disk_digest().to_string());
    let name = args.name.as_deref().unwrap_or(&pulled.info.name);
    let source = ImageSource::Here(pulled.folder().to_path_buf());
    let taken = take(machines, &source, Some(name), Some(&digest), from, settings)?;
    if matches!(taken, Exit::Fine) {
        pulled.remove();
    }
    Ok(taken)
}
