//! Takes an image into a machine's store: from a file or directory here, or from a URL, which the machine downloads itself.

use super::error::ImageError;
use super::fetch::{Arrived, copied, downloaded};
use super::manifest::{DiskFormat, FILE, FORMAT, INITRD, Image, KERNEL, is_digest, is_name};
use super::store::{list, place};
use crate::at::At;
use record::printable::Shown as _;
use serde_json::Value;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Names of the disk in a directory, the first ones first.
const DISKS: [&str; 4] = ["disk.qcow2", "disk.raw", "disk.img", "root.img"];
/// Time limit for looking at a disk and moving it, which may be to another file system.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Prints the first bytes in hexadecimal.
const BEGINNING: &str = r#"head -c 6 -- "$0" | od -An -v -tx1 | tr -d ' \n'"#;
/// Puts a file in its place, where the user of QEMU may read it.
const MOVE: &str = r#"mkdir -p -m 755 -- "$1" && chmod 644 -- "$0" && mv -f -- "$0" "$1/$2""#;
/// Writes the description, whole or not at all.
const DESCRIBE: &str =
    r#"chmod 755 "$0" && cat >"$0/$1.tmp" && chmod 644 "$0/$1.tmp" && mv -f "$0/$1.tmp" "$0/$1""#;

/// Where an image comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSource {
    /// A file or directory of this machine.
    Here(PathBuf),
    /// A URL that the machine downloads.
    Url(String),
}

impl ImageSource {
    /// Reads a path, or a URL that begins with `http://` or `https://`.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        match text.starts_with("http://") || text.starts_with("https://") {
            true => Self::Url(text.to_owned()),
            false => Self::Here(text.into()),
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Here(path) => path.shown().to_string(),
            Self::Url(url) => url.shown().to_string(),
        }
    }

    /// The name of an image that has none: that of its file, without its ending.
    fn usual_name(&self) -> String {
        let path = match self {
            Self::Here(path) => path.clone(),
            Self::Url(url) => PathBuf::from(url.split(['?', '#']).next().unwrap_or(url)),
        };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let ended = [".qcow2", ".img", ".raw"].into_iter().find_map(|end| name.strip_suffix(end));
        ended.unwrap_or(&name).to_owned()
    }
}

/// An imported image.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The image.
    pub image: Image,
    /// Whether the machine had it already, under this name or another.
    pub was_there: bool,
    /// Bytes that were copied or downloaded now.
    pub moved_bytes: u64,
}

/// Takes an image into a machine's store. `name`: `None`: the file's. `digest` is the SHA-256 that its disk must have. `progress` gets the
/// number of bytes of the disk that have arrived.
///
/// # Errors
/// The source can't be read, has another digest, or is no image that a guest may have.
pub fn import(
    at: &At,
    source: &ImageSource,
    name: Option<&str>,
    digest: Option<&str>,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Imported, ImageError> {
    at.needs("qemu-img", "qemu-utils")?;
    let name = name.map_or_else(|| source.usual_name(), str::to_owned);
    if !is_name(&name) {
        return Err(ImageError::Name { name });
    }
    let expected = digest.map(|digest| digest.trim_start_matches("sha256:").to_ascii_lowercase());
    if let Some(expected) = expected.as_ref().filter(|expected| !is_digest(expected)) {
        return Err(refused(source, format!("`{}` is no SHA-256", expected.shown())));
    }
    match source {
        ImageSource::Url(url) => {
            let arrived = downloaded(at, url, expected.is_some(), progress)?;
            take(at, source, &name, expected.as_deref(), &arrived, None)
        }
        ImageSource::Here(path) => {
            let parts = Parts::of(path)?;
            let here = |source| ImageError::Here { path: parts.disk.clone(), source };
            let (found, _) =
                File::open(&parts.disk).and_then(|file| host::sha256(file, u64::MAX)).map_err(here)?;
            check(source, &found, expected.as_deref())?;
            if let Some(image) = list(at)?.into_iter().find(|image| image.digest == found) {
                return Ok(Imported { image, was_there: true, moved_bytes: 0 });
            }
            let arrived = copied(at, &parts.disk, &found, progress)?;
            take(at, source, &name, expected.as_deref(), &arrived, parts.boot.as_ref())
        }
    }
}

/// The files of an image here.
struct Parts {
    disk: PathBuf,
    /// Kernel and initrd.
    boot: Option<[PathBuf; 2]>,
}

impl Parts {
    fn of(path: &Path) -> Result<Self, ImageError> {
        let about =
            std::fs::metadata(path).map_err(|source| ImageError::Here { path: path.to_owned(), source })?;
        if !about.is_dir() {
            return Ok(Self { disk: path.to_owned(), boot: None });
        }
        let wrong = |why| ImageError::Directory { path: path.to_owned(), why };
        let mut disks = DISKS.into_iter().map(|name| path.join(name)).filter(|disk| disk.is_file());
        let disk = match (disks.next(), disks.next()) {
            (Some(disk), None) => disk,
            (None, _) => return Err(wrong("it has none of disk.qcow2, disk.raw, disk.img and root.img")),
            (Some(_), Some(_)) => return Err(wrong("it has several disks")),
        };
        let boot = [path.join(KERNEL), path.join(INITRD)];
        match boot.each_ref().map(|file| file.is_file()) {
            [true, true] => Ok(Self { disk, boot: Some(boot) }),
            [false, false] => Ok(Self { disk, boot: None }),
            _ => Err(wrong("it has one of vmlinuz and initrd, which belong together")),
        }
    }
}

fn take(
    at: &At,
    source: &ImageSource,
    name: &str,
    expected: Option<&str>,
    arrived: &Arrived,
    boot: Option<&[PathBuf; 2]>,
) -> Result<Imported, ImageError> {
    let taken = checked(at, source, expected, arrived);
    let (disk_format, virtual_bytes) = match taken {
        Ok(taken) => taken,
        Err(error) => {
            // It is no image: nothing of it is of use.
            let _ = at.run("remove what was refused", &["rm", "-f", "--", &arrived.path]);
            return Err(error);
        }
    };
    let mut image = Image {
        format: FORMAT,
        digest: arrived.digest.clone(),
        name: name.to_owned(),
        disk_format,
        virtual_bytes,
        file_bytes: arrived.bytes,
        has_kernel: boot.is_some(),
        source: source.shown(),
        imported: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map(|since| since.as_secs())
            .unwrap_or_default(),
    };
    if let Some(there) = list(at)?.into_iter().find(|there| there.digest == image.digest) {
        let _ = at.run("remove the second copy", &["rm", "-f", "--", &arrived.path]);
        return Ok(Imported { image: there, was_there: true, moved_bytes: arrived.moved_bytes });
    }
    let folder = place(at, &image.digest);
    let put = |from: &str, to: &str| {
        at.run_long("put the image in its place", &["sh", "-c", MOVE, from, &folder, to], PATIENCE)
    };
    for (file, to) in boot.into_iter().flatten().zip([KERNEL, INITRD]) {
        let here = |source| ImageError::Here { path: file.clone(), source };
        let (digest, _) = File::open(file).and_then(|file| host::sha256(file, u64::MAX)).map_err(here)?;
        put(&copied(at, file, &digest, &|_| ())?.path, to)?;
    }
    put(&arrived.path, &format!("disk.{}", disk_format.name()))?;
    image.source = record::printable::printable(&image.source).into_owned();
    let text = serde_json::to_vec(&image).unwrap_or_default();
    at.feed("describe the image", &["sh", "-c", DESCRIBE, &folder, FILE], text)?;
    Ok(Imported { image, was_there: false, moved_bytes: arrived.moved_bytes })
}

/// Checks that what arrived is a disk that a guest may have. Returns its form and size.
fn checked(
    at: &At,
    source: &ImageSource,
    expected: Option<&str>,
    arrived: &Arrived,
) -> Result<(DiskFormat, u64), ImageError> {
    check(source, &arrived.digest, expected)?;
    let beginning = at.run("look at the image", &["sh", "-c", BEGINNING, &arrived.path])?;
    if let Some((program, _)) = packed(beginning.trim()) {
        return Err(refused(source, format!("it is packed by {program}: unpack it, and import the result")));
    }
    let words = ["qemu-img", "info", "--output=json", "--", &arrived.path];
    let said = at.run_long("look at the image", &words, PATIENCE)?;
    read(&said).map_err(|why| refused(source, why))
}

fn refused(source: &ImageSource, why: String) -> ImageError {
    ImageError::Refused { source_name: source.shown(), why }
}

fn check(source: &ImageSource, found: &str, expected: Option<&str>) -> Result<(), ImageError> {
    match expected.filter(|expected| *expected != found) {
        None => Ok(()),
        Some(expected) => Err(ImageError::Digest {
            source_name: source.shown(),
            found: found.to_owned(),
            expected: expected.to_owned(),
        }),
    }
}

/// The program that packed a file, by the file's first bytes in hexadecimal.
fn packed(beginning: &str) -> Option<(&'static str, &'static str)> {
    const PACKERS: [(&str, &str); 5] = [
        ("gzip", "1f8b"),
        ("xz", "fd377a585a00"),
        ("zstd", "28b52ffd"),
        ("bzip2", "425a68"),
        ("zip", "504b0304"),
    ];
    PACKERS.into_iter().find(|(_, magic)| beginning.starts_with(magic))
}

/// Reads what `qemu-img info` says. An image that names other files would give a guest these files of its machine.
fn read(said: &str) -> Result<(DiskFormat, u64), String> {
    let info: Value =
        serde_json::from_str(said).map_err(|error| format!("qemu-img says something else: {error}"))?;
    let text = |value: &Value| value.as_str().map(|text| record::printable::printable(text).into_owned());
    let named = info.get("backing-filename").or_else(|| info.pointer("/format-specific/data/data-file"));
    if let Some(file) = named.and_then(text) {
        return Err(format!("it is a layer over another file ({file}); make it whole by qemu-img convert"));
    }
    let format = info.get("format").and_then(text).unwrap_or_default();
    let bytes = info.get("virtual-size").and_then(Value::as_u64).ok_or("qemu-img names no size")?;
    match DiskFormat::of(&format) {
        Some(_) if bytes == 0 => Err("it is empty".to_owned()),
        Some(format) => Ok((format, bytes)),
        None => Err(format!(
            "it is of the form {format}; `qemu-img convert -O qcow2` makes one that guests start from"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::{ImageSource, Parts, packed, read};
    use crate::images::manifest::DiskFormat;

    #[test]
    fn only_whole_disks_are_taken() {
        assert_eq!(read(r#"{"virtual-size": 512, "format": "qcow2"}"#), Ok((DiskFormat::Qcow2, 512)));
        assert_eq!(read(r#"{"virtual-size": 512, "format": "raw"}"#), Ok((DiskFormat::Raw, 512)));
        for (said, why) in [
            (
                r#"{"virtual-size": 1, "format": "qcow2", "backing-filename": "/etc/shadow\u001b"}"#,
                "/etc/shadow\\x1b",
            ),
            (
                r#"{"virtual-size": 1, "format": "qcow2", "format-specific": {"data": {"data-file": "/dev/sda"}}}"#,
                "/dev/sda",
            ),
            (r#"{"virtual-size": 1, "format": "vmdk"}"#, "convert"),
            (r#"{"virtual-size": 0, "format": "raw"}"#, "empty"),
            ("x", "something else"),
        ] {
            let error = read(said).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        assert_eq!(packed("fd377a585a00").map(|(program, _)| program), Some("xz"));
        assert_eq!(packed("514649fb0000"), None);
    }

    #[test]
    fn a_name_comes_from_the_file() {
        for (source, name) in [
            ("/srv/debian-12-genericcloud-amd64.qcow2", "debian-12-genericcloud-amd64"),
            ("https://x.example/a/b.img?x=1", "b"),
            ("dir/", "dir"),
        ] {
            assert_eq!(ImageSource::parse(source).usual_name(), name);
        }
    }

    #[test]
    fn a_directory_has_one_disk_and_its_kernel_is_whole() {
        let dir = tempfile::tempdir().unwrap();
        let why =
            |path: &std::path::Path| Parts::of(path).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(why(dir.path()).contains("none of"));
        std::fs::write(dir.path().join("disk.qcow2"), "").unwrap();
        assert!(Parts::of(dir.path()).unwrap().boot.is_none());
        std::fs::write(dir.path().join("vmlinuz"), "").unwrap();
        assert!(why(dir.path()).contains("belong together"));
        std::fs::write(dir.path().join("initrd"), "").unwrap();
        assert!(Parts::of(dir.path()).unwrap().boot.is_some());
        std::fs::write(dir.path().join("root.img"), "").unwrap();
        assert!(why(dir.path()).contains("several"));
    }
}
