//! `diskproof pull ADDRESS`: fetches a run from a registry or a bucket.

use super::judged::unreadable;
use super::share::{failure, folder, options_of, size};
use crate::args::Pull;
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use record::printable::Shown as _;
use share::{Place, Pulled, Puller};
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
    let options = options_of(&args.place)?;
    let remote = address.open(&options.registry, &options.bucket).map_err(failure)?;
    let store = Store::open(&settings.store.value).map_err(unreadable)?;
    let puller = Puller { store: &store, folder: &folder(settings), name: args.name.as_deref() };
    let signers = args.allowed_signers.as_deref();
    let check =
        signers.map(|file| move |config: &[u8], signature: &[u8]| share::verify(config, signature, file));
    let pulled =
        puller.pull(&*remote, check.as_ref().map(|check| check as share::Verify<'_>)).map_err(failure)?;
    if args.json {
        output::json(&document(&address, &pulled)?)?;
    } else {
        output::answer(&told(&address, &pulled))?;
    }
    Ok(Exit::Fine)
}

fn told(address: &Place, pulled: &Pulled) -> String {
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
        (None, true) => "signed, but not checked: --allowed-signers FILE checks it".to_owned(),
        (None, false) => "not signed: anybody who may write to that place may have made it".to_owned(),
    }
}

fn document(address: &Place, pulled: &Pulled) -> Result<String, Failure> {
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
    });
    serde_json::to_string_pretty(&document).map_err(Failure::ours)
}
