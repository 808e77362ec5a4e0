//! Brings a file to a machine: from here, or from a URL. What broke off goes on where it was, unless nothing would tell that the file behind
//! a URL has changed meanwhile.

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
/// Downloads, and prints the name of the file. `$0` is the URL, `$1` the folder, `$2` the name; if `$3` is `resume`, the part of an earlier
/// try is continued. The descriptor of the lock is also curl's, so the lock lasts as long as anybody writes. The file gets a name of its own
/// at the end, which no other download uses; what a killed import left of such is removed after a day.
const DOWNLOAD: &str = r#"mkdir -p -m 755 -- "$1" && cd "$1" && exec 9>"$2.lock" || exit 1
flock -n 9 || { echo "another download of this URL is under way on this machine: wait until it ends" >&2; exit 1; }
find . -maxdepth 1 -name "$2.*.whole" -mtime +0 -exec rm -f -- {} +
[ "$3" = resume ] || rm -f -- "$2"
if command -v curl >/dev/null; then
if [ -e "$2" ]; then curl -fsSL --proto =http,https --retry 3 -C - -o "$2" -- "$0"; else curl -fsSL --proto =http,https --retry 3 -o "$2" -- "$0"; fi
else wget -q -c -O "$2" -- "$0"; fi >&2 && mv -f -- "$2" "$2.$$.whole" && echo "$2.$$.whole""#;
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

/// Has a machine download a file. `resumes`: the part of an earlier download of the URL is continued; the caller then checks the digest, which
/// tells whether both parts are of one file.
pub(super) fn downloaded(
    at: &At,
    url: &str,
    resumes: bool,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Arrived, ImageError> {
    if !at.has("curl") && !at.has("wget") {
        return Err(ImageError::NoDownloader { machine: at.name().to_owned() });
    }
    let place = format!("{}/arriving", folder(at));
    let here = |source| ImageError::Here { path: url.into(), source };
    let (name, _) = host::sha256(url.as_bytes(), u64::MAX).map_err(here)?;
    let name = &name[..16];
    let path = format!("{place}/{name}");
    let before = if resumes { size(at, &path).unwrap_or(0) } else { 0 };
    let how = if resumes { "resume" } else { "anew" };
    let said = watched(at, &path, progress, || {
        at.run_long("download the image", &["sh", "-c", DOWNLOAD, url, &place, name, how], PATIENCE)
    })?;
    let whole = said.trim();
    if !whole.starts_with(name) || whole.contains('/') {
        return Err(at.garbled(&said).into());
    }
    measured(at, &format!("{place}/{whole}"), before)
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

#[cfg(test)]
mod tests {
    use super::{downloaded, folder};
    use crate::at::{At, AtOptions, here};
    use crate::link::Reach;
    use std::io::{Read as _, Write as _};
    use std::net::TcpListener;

    /// Answers one request, with the whole file.
    fn server(body: &'static str) -> (String, std::thread::JoinHandle<()>) {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/disk.qcow2", socket.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = socket.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]).unwrap();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes())).unwrap();
        });
        (url, thread)
    }

    #[test]
    fn without_a_digest_no_part_is_continued_and_a_url_is_downloaded_once_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let reach = Reach { ssh_config: None, connect_seconds: 3 };
        let options = AtOptions { reach, state_dir: dir.path().to_owned(), sudo: false };
        let at = At::open(&here(), &options).unwrap();
        if !at.has("curl") && !at.has("wget") {
            return;
        }
        let (url, thread) = server("new version");
        let place = format!("{}/arriving", folder(&at));
        let name = host::sha256(url.as_bytes(), u64::MAX).unwrap().0[..16].to_owned();
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(format!("{place}/{name}"), "old ver").unwrap();
        let lock = std::fs::File::create(format!("{place}/{name}.lock")).unwrap();
        lock.lock().unwrap();
        let refused = downloaded(&at, &url, false, &|_| ()).unwrap_err().to_string();
        assert!(refused.contains("another download of this URL"), "{refused}");
        drop(lock);
        let arrived = downloaded(&at, &url, false, &|_| ()).unwrap();
        assert_eq!(std::fs::read_to_string(&arrived.path).unwrap(), "new version");
        assert_eq!((arrived.bytes, arrived.moved_bytes), (11, 11));
        thread.join().unwrap();
    }
}
