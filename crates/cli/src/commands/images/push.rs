//! `diskproof images push`: sends an image of this machine to a registry.

use crate::args::ImagesPush;
use crate::commands::hosts::open;
use crate::commands::share::{agreed, failure, options, size};
use crate::exit::{Exit, Failure};
use crate::output;
use crate::settings::Settings;
use crate::signals::Wish;
use fleet::At;
use fleet::images::{self, DiskFormat, Image};
use record::target::ImageFormat;
use share::{Address, Digest, ImagePart, OutgoingImage, Pushed, Reference, image_tag};

/// Format of the JSON document; docs/formats.md.
const FORMAT: &str = "diskproof.image-push/1.0";

pub(super) fn push(args: &ImagesPush, settings: &Settings) -> Result<Exit, Failure> {
    let mut address = Address::parse(&args.to).map_err(failure)?;
    let at = open(&fleet::here(), settings)?;
    let image = images::find(&at, &args.image).map_err(Failure::input)?;
    let digest = Digest::parse(&format!("sha256:{}", image.digest));
    let digest =
        digest.ok_or_else(|| Failure::machine("the image has no digest; remove it and import it anew"))?;
    address.reference.get_or_insert_with(|| Reference::Tag(image_tag(&digest)));
    let options = options(&args.place, settings)?;
    let remote = share::open(&address, &options).map_err(failure)?;
    output::aside(&format!(
        "image {} ({}) to {address}\n  sent as it is, with all that its disk holds, passwords and keys included: {}",
        image.name,
        &image.digest[..12],
        size(image.file_bytes)
    ));
    if !args.yes && !agreed()? {
        return Err(Failure::input("nothing was sent"));
    }
    let wish = Wish::listen_by(options.cancel).map_err(Failure::machine)?;
    let pushed = share::push_image(&outgoing(&at, &image), &*remote, args.replace);
    if let (Err(_), Some(signal)) = (&pushed, wish.signal().and_then(|signal| u8::try_from(signal).ok())) {
        output::aside(&format!("stopped: the image isn't at {address}; the same command goes on"));
        return Ok(Exit::Signal(signal));
    }
    let pushed = pushed.map_err(failure)?;
    if args.json {
        output::json(&document(&address, &image, &pushed)?)?;
    } else {
        output::answer(&told(&address, &image, &pushed))?;
    }
    Ok(Exit::Fine)
}

fn outgoing(at: &At, image: &Image) -> OutgoingImage {
    let parts = [ImagePart::Disk, ImagePart::Kernel, ImagePart::Initrd];
    OutgoingImage {
        name: image.name.clone(),
        disk_format: match image.disk_format {
            DiskFormat::Raw => ImageFormat::Raw,
            DiskFormat::Qcow2 => ImageFormat::Qcow2,
        },
        virtual_bytes: image.virtual_bytes,
        files: parts.into_iter().zip(image.files(at)).collect(),
        program: env!("CARGO_PKG_VERSION").to_owned(),
    }
}

fn told(address: &Address, image: &Image, pushed: &Pushed) -> String {
    let Pushed { manifest, sent_bytes, was_there, .. } = pushed;
    let name = &image.name;
    let said = match was_there {
        true => format!("{address} has image {name} already; nothing was sent"),
        false => format!("{address} has image {name}: {} were sent", size(*sent_bytes)),
    };
    format!("{said}\n  {manifest}\n`diskproof images import {address}` fetches it\n")
}

fn document(address: &Address, image: &Image, pushed: &Pushed) -> Result<String, Failure> {
    let document = serde_json::json!({
        "format": FORMAT,
        "image": image.name,
        "digest": format!("sha256:{}", image.digest),
        "address": address.to_string(),
        "manifest": pushed.manifest.to_string(),
        "sent_bytes": pushed.sent_bytes,
        "total_bytes": pushed.total_bytes,
        "was_there": pushed.was_there,
    });
    serde_json::to_string_pretty(&document).map_err(Failure::ours)
}
