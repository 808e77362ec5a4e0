//! `diskproof pull ADDRESS`: fetches a run from a registry or a bucket.

use super::judged::unreadable;
use super::share::{failure, folder, options_of, size};
use crate::args::Pull;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use share::{Address, Digest, Place, Pulled, Puller, Reference, RegistryOptions, ShareError};
use std::path::Path;
use store::Store;

/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.pull/1.0";

pub(crate) fn pull(args: &Pull, settings: &Settings) -> Result<Exit, Failure> {
    let address = Place::parse(&args.from).map_err(failure)?;
    if let Some(name) = args.name.as_deref().filter(|name| !share::is_run_name(name)) {
        return Err(Failure::input(format!(
            "--as {}: a run's name has letters, digits and . _ -, begins with none of . -, has at most 64 characters, and isn't `latest`",
            name.shown()
        )));
    }
    let options = options_of(&args.place, settings)?;
    let remote = address.open(&options.registry, &options.bucket).map_err(failure)?;
    let store = Store::open(&settings.store.value).map_err(unreadable)?;
    let puller = Puller { store: &store, folder: &folder(settings), name: args.name.as_deref() };
    let signers = signers(args, settings);
    let check =
        signers.map(|file| move |config: &[u8], signature: &[u8]| share::verify(config, signature, file));
    let pulled = puller.pull(&*remote, check.as_ref().map(|check| check as share::Verify<'_>));
    let pulled = pulled.map_err(|error| match error {
        ShareError::Signature(why) => Failure::machine(format!("{why}; {}", checked_by(args, settings))),
        error => failure(error),
    })?;
    let images = images(&address, &pulled, &options.registry)?;
    if args.json {
        output::json(&document(&address, &pulled, &images)?)?;
    } else {
        output::answer(&told(&address, &pulled, &images))?;
    }
    Ok(Exit::Fine)
}

/// The file of those whose signatures count: the flag's, else that of the setting. `--allowed-signers none` checks nothing.
fn signers<'a>(args: &'a Pull, settings: &'a Settings) -> Option<&'a Path> {
    let named = args.allowed_signers.as_deref().or(settings.allowed_signers.value.as_deref());
    named.filter(|file| *file != Path::new("none"))
}

/// What asks for the check.
fn checked_by(args: &Pull, settings: &Settings) -> String {
    match args.allowed_signers {
        Some(_) => "--allowed-signers asks for the check".to_owned(),
        None => format!(
            "allowed_signers ({}) asks for the check; `diskproof pull --help` says how to pull without it",
            settings.allowed_signers.origin
        ),
    }
}

/// An image that the run was made on.
struct OnImage {
    digest: Digest,
    /// Where it can be fetched, if the run's own repository has it.
    at: Option<Address>,
}

/// Looks in the run's repository for the images that its guests were made on.
fn images(place: &Place, pulled: &Pulled, options: &RegistryOptions) -> Result<Vec<OnImage>, Failure> {
    let fact = pulled.info.facts.get("image").map_or("", String::as_str);
    let mut images = Vec::new();
    for digest in fact.split("; ").filter_map(Digest::parse) {
        // A bucket holds runs alone.
        let Place::Registry(address) = place else {
            images.push(OnImage { digest, at: None });
            continue;
        };
        let tag = Reference::Tag(share::image_tag(&digest));
        let at = Address { reference: Some(tag), ..address.clone() };
        let there = share::open(&at, options).and_then(|remote| remote.get_manifest()).map_err(failure)?;
        images.push(OnImage { digest, at: there.map(|_| at) });
    }
    Ok(images)
}

fn told(address: &Place, pulled: &Pulled, images: &[OnImage]) -> String {
    let Pulled { run, info, received_bytes, was_here, .. } = pulled;
    let mut text = if *was_here {
        format!("run {run} is this run already; nothing was stored\n")
    } else {
        let experiment = info.experiment.shown();
        let trials = if info.trials == 1 { "1 trial".to_owned() } else { format!("{} trials", info.trials) };
        format!("run {run}, experiment {experiment}: {trials}, {} from {address}\n", size(*received_bytes))
    };
    if !info.replaced.is_empty() {
        let kinds: Vec<String> = info.replaced.iter().map(|kind| kind.shown().to_string()).collect();
        text.push_str(&format!("  pseudonyms stand for: {}\n", kinds.join(", ")));
    }
    text.push_str(&format!("  {}\n", signed(pulled)));
    for OnImage { digest, at } in images {
        text.push_str(&match at {
            Some(at) => format!("  made on image {digest}; `diskproof images import {at}` fetches it\n"),
            None => format!("  made on image {digest}, which isn't there\n"),
        });
    }
    if *was_here && pulled.signer.is_some() {
        text.push_str("  the results file keeps what was known of the signature when the run was stored\n");
    }
    text.push_str(&format!("`diskproof show {run}` judges and shows it\n"));
    text
}

/// What is known of the sender.
fn signed(pulled: &Pulled) -> String {
    match (&pulled.signer, pulled.is_signed) {
        (Some(signer), _) => format!("signed by {}", signer.shown()),
        (None, true) => {
            "signed, but not checked: --allowed-signers FILE or the setting allowed_signers checks it"
                .to_owned()
        }
        (None, false) => "not signed: anybody who may write to that place may have made it".to_owned(),
    }
}

fn document(address: &Place, pulled: &Pulled, images: &[OnImage]) -> Result<String, Failure> {
    let image = |image: &OnImage| serde_json::json!({ "digest": image.digest, "address": image.at.as_ref().map(ToString::to_string) });
    let document = serde_json::json!({
        "format": FORMAT,
        "run": pulled.run,
        "name_there": pulled.info.run,
        "experiment": pulled.info.experiment,
        "address": address.to_string(),
        "trials": pulled.info.trials,
        "received_bytes": pulled.received_bytes,
        "was_here": pulled.was_here,
        "signed": pulled.is_signed,
        "signer": pulled.signer,
        "measured_by": pulled.info.measured_by,
        "replaced_kinds": pulled.info.replaced,
        "images": images.iter().map(image).collect::<Vec<_>>(),
    });
    serde_json::to_string_pretty(&document).map_err(Failure::ours)
}
