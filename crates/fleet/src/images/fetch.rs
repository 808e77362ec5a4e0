//! Brings a file to a machine: from here, or from a URL. What broke off goes on where it was.

use super::error::ImageError;
use super::store::folder;
use crate::at::At;
use crate::transfer;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often the size of what has arrived is looked at.
const LOOK: Duration = Duration::from_secs(1);
/// Time limit of a download or of a copy on the same machine.
const PATIENCE: Duration = Duration::from_secs(24 * 3600);
/// Where files arrive, below the user's home: the user that ssh connects as may be another than root.
const ARRIVALS: &str = ".cache/diskproof/images";
/// Copies a file on this machine without its holes.
const COPY: &str = r#"mkdir -p -m 755 -- "$2" && cp --sparse=always --reflink=auto -- "$0" "$2/$1""#;
/// Downloads; the part of an earlier try is continued. `$0` is the URL, `$1` the folder, `$2` the name.
const DOWNLOAD: &str = r#"mkdir -p -m 755 -- "$1" && cd "$1" && rm -f "$2.whole" &&
if command -v curl >/dev/null; then curl -fsSL --proto =http,https --retry 3 -C - -o "$2" -- "$0"
else wget -q -c -O "$2" -- "$0"; fi && mv -f "$2" "$2.whole""#;
/// Prints digest and size.
const MEASURE: &str = r#"sha256sum <"$0" | cut -d" " -f1; stat -c %s -- "$0""#;

/// A file that has arrived on a machine.
#[derive(Debug)]
pub(super) struct Arrived {
    /// Where it is there.
    pub(super) path: String,
    /// Its SHA-256, of what is there.
    pub(super) digest: String,
    /// Its size.
    pub(super) bytes: u64,
    /// Bytes that were moved now.
    pub(super) moved_bytes: u64,
}

/// Brings a file of this machine.
pub(super) fn copied(
    at: &At,
    file: &Path,
    digest: &str,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Arrived, ImageError> {
    let Some(ssh) = at.ssh() else {
        let place = format!("{}/arriving", folder(at));
        let from = std::path::absolute(file)
            .map_err(|source| ImageError::Here { path: file.to_owned(), source })?
            .to_string_lossy()
            .into_owned();
        let path = format!("{place}/{digest}");
        watched(at, &path, progress, || {
            at.run_long("copy the image", &["sh", "-c", COPY, &from, digest, &place], PATIENCE)
        })?;
        return measured(at, &path, 0).map(|arrived| Arrived { moved_bytes: arrived.bytes, ..arrived });
    };
    // As the user that ssh connects as: the file is put there as that user.
    ssh.run(&host::LocalRunner, "make a folder there", &["mkdir", "-p", ARRIVALS], None)
        .map_err(|error| transfer::CopyError::There(record::printable::chain(&error)))?;
    let path = format!("{ARRIVALS}/{digest}");
    let mut result = None;
    let cancel = AtomicBool::new(false);
    watched(at, &format!("{path}.diskproof-part"), progress, || {
        let mut tell = |_, copied| result = Some(copied);
        transfer::put(
            std::slice::from_ref(at.machine()),
            file,
            &path,
            &at.options().reach,
            1,
            &mut tell,
            &cancel,
        )
    })?;
    let copied =
        result.unwrap_or_else(|| Err(transfer::CopyError::There("nothing was copied".to_owned())))?;
    Ok(Arrived { path, digest: copied.digest, bytes: copied.bytes, moved_bytes: copied.sent_bytes })
}

/// Has a machine download a file.
pub(super) fn downloaded(at: &At, url: &str, progress: &(dyn Fn(u64) + Sync)) -> Result<Arrived, ImageError> {
    if !at.has("curl") && !at.has("wget") {
        return Err(ImageError::NoDownloader { machine: at.name().to_owned() });
    }
    let place = format!("{}/arriving", folder(at));
    let here = |source| ImageError::Here { path: url.into(), source };
    let (name, _) = host::sha256(url.as_bytes(), u64::MAX).map_err(here)?;
    let name = &name[..16];
    let path = format!("{place}/{name}");
    let before = size(at, &path).unwrap_or(0);
    watched(at, &path, progress, || {
        at.run_long("download the image", &["sh", "-c", DOWNLOAD, url, &place, name], PATIENCE)
    })?;
    measured(at, &format!("{path}.whole"), before)
}

fn measured(at: &At, path: &str, before: u64) -> Result<Arrived, ImageError> {
    let said = at.run_long("compute its digest", &["sh", "-c", MEASURE, path], PATIENCE)?;
    let mut words = said.split_whitespace();
    let (Some(digest), Some(Ok(bytes))) = (words.next(), words.next().map(str::parse::<u64>)) else {
        return Err(at.garbled(&said).into());
    };
    let moved_bytes = bytes.saturating_sub(before);
    Ok(Arrived { path: path.to_owned(), digest: digest.to_owned(), bytes, moved_bytes })
}

fn size(at: &At, path: &str) -> Option<u64> {
    at.run("look at the copy", &["stat", "-c", "%s", "--", path]).ok()?.trim().parse().ok()
}

/// Does something, and tells the size of a file meanwhile.
fn watched<R: Send>(at: &At, path: &str, progress: &(dyn Fn(u64) + Sync), act: impl FnOnce() -> R) -> R {
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut waited = Duration::ZERO;
            while !done.load(Ordering::Relaxed) {
                std::thread::sleep(LOOK / 10);
                waited += LOOK / 10;
                if waited >= LOOK {
                    waited = Duration::ZERO;
                    size(at, path).into_iter().for_each(progress);
                }
            }
        });
        let result = act();
        done.store(true, Ordering::Relaxed);
        result
    })
}
