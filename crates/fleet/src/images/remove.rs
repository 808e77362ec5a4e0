//! Removes an image that no guest needs.

use super::error::ImageError;
use super::manifest::{FILE, INITRD, Image, KERNEL};
use super::store::{find, place};
use crate::at::At;

/// Prints the names of the guests whose note names a digest: those of people in `$0`, and those of the driver libvirt in `$2`.
const USERS: &str = r#"for f in "$0"/*/guest.json; do if [ -f "$f" ] && grep -qF -- "$1" "$f"; then d=${f%/guest.json}; echo "${d##*/}"; fi; done
for f in "$2"/*/*.json; do if [ -f "$f" ] && grep -qF -- "$1" "$f"; then n=${f##*/}; echo "${n%.json}"; fi; done"#;
/// Removes the description first: without it, the rest isn't an image any more.
const REMOVE: &str = r#"cd "$0" && rm -f -- "$@" && cd / && rmdir -- "$0""#;

/// Removes an image, by name, digest or UUID. Returns it.
///
/// # Errors
/// There is no such image, or a guest's disk is a layer over it.
pub fn remove(at: &At, name: &str) -> Result<Image, ImageError> {
    let image = find(at, name)?;
    let said = at.run(
        "look who uses it",
        &["sh", "-c", USERS, &at.state("guests"), &image.digest, &at.state("driver")],
    )?;
    let guests: Vec<&str> = said.lines().collect();
    if !guests.is_empty() {
        return Err(ImageError::InUse {
            machine: at.name().to_owned(),
            name: image.name,
            guests: record::printable::printable(&guests.join(", ")).into_owned(),
        });
    }
    let disk = format!("disk.{}", image.disk_format.name());
    at.run(
        "remove the image",
        &["sh", "-c", REMOVE, &place(at, &image.digest), FILE, &disk, KERNEL, INITRD],
    )?;
    Ok(image)
}
