//! Images of guests, elsewhere: an artifact of its own kind, whose layers are the files of the image as they are. The digest of the disk is
//! the name of the image, which the runs made on it record.

use crate::bundle::{Descriptor, MANIFEST, Manifest};
use crate::digest::Digest;
use crate::error::ShareError;
use crate::pull::{Folder, fetch, fetch_small};
use crate::push::{Pushed, send};
use crate::remote::{Blob, Remote};
use record::printable::Shown as _;
use record::target::ImageFormat;
use record::version::FormatVersion;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Type of the artifact, and media type of its description.
pub(crate) const IMAGE: &str = "application/vnd.diskproof.image.v1+json";
/// The version of the description that this build writes.
const FORMAT: FormatVersion = FormatVersion { major: 1, minor: 0 };
/// Digits of the digest in the tag of an image.
const TAG_DIGITS: usize = 16;

/// A file of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImagePart {
    /// The disk.
    Disk,
    /// The kernel, of an image without a boot loader.
    Kernel,
    /// The initrd that belongs to the kernel.
    Initrd,
}

impl ImagePart {
    fn media_type(self, format: ImageFormat) -> &'static str {
        match (self, format) {
            (Self::Disk, ImageFormat::Raw) => "application/vnd.diskproof.disk.v1.raw",
            (Self::Disk, ImageFormat::Qcow2) => "application/vnd.diskproof.disk.v1.qcow2",
            (Self::Kernel, _) => "application/vnd.diskproof.kernel.v1",
            (Self::Initrd, _) => "application/vnd.diskproof.initrd.v1",
        }
    }

    /// Its name in the folder of an image.
    fn file(self, format: ImageFormat) -> String {
        match self {
            Self::Disk => format!("disk.{}", format.name()),
            Self::Kernel => "vmlinuz".to_owned(),
            Self::Initrd => "initrd".to_owned(),
        }
    }
}

/// An image that is to be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutgoingImage {
    /// Its name.
    pub name: String,
    /// The form of its disk.
    pub disk_format: ImageFormat,
    /// The size of the disk that a guest sees, in bytes.
    pub virtual_bytes: u64,
    /// Its files: the disk, then kernel and initrd if it has them.
    pub files: Vec<(ImagePart, PathBuf)>,
    /// The diskproof that sends it.
    pub program: String,
}

/// The description of an image: the artifact's configuration, in a registry's words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageInfo {
    /// Version of the description.
    pub format: FormatVersion,
    /// The image's name where it was sent.
    pub name: String,
    /// The form of its disk.
    pub disk_format: ImageFormat,
    /// The size of the disk that a guest sees, in bytes.
    pub virtual_bytes: u64,
    /// The diskproof that sent it.
    pub packed_by: String,
    /// Its files; the disk is the first.
    pub files: Vec<ImageFile>,
}

/// A file of an image as it travels.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageFile {
    /// What it is.
    pub part: ImagePart,
    /// Its digest.
    pub digest: Digest,
    /// Its size in bytes.
    pub size_bytes: u64,
}

/// An image that has arrived.
#[derive(Debug)]
pub struct PulledImage {
    /// What it is.
    pub info: ImageInfo,
    /// Bytes of its files.
    pub total_bytes: u64,
    place: Folder,
    files: PathBuf,
}

impl PulledImage {
    /// The folder with its disk, and with `vmlinuz` and `initrd` if it has them.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.files
    }

    /// Removes what has arrived. Without it, the next pull finds everything there.
    pub fn remove(self) {
        self.place.remove();
    }
}

impl ImageInfo {
    /// The digest of the disk.
    ///
    /// # Panics
    /// Never: a description without a disk isn't read.
    #[must_use]
    pub fn disk_digest(&self) -> &Digest {
        &self.files[0].digest
    }

    /// Refuses what names other files, or none.
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let info: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("its description can't be read ({error})"))?;
        if info.format.major != FORMAT.major {
            return Err(format!("its format is {}, and this diskproof reads {FORMAT}", info.format));
        }
        let parts: Vec<ImagePart> = info.files.iter().map(|file| file.part).collect();
        let whole = [ImagePart::Disk, ImagePart::Kernel, ImagePart::Initrd];
        if parts != whole[..1] && parts != whole {
            return Err("it has neither a disk alone nor a disk with kernel and initrd".to_owned());
        }
        if !is_name(&info.name) {
            return Err(format!("its name is `{}`", info.name.shown()));
        }
        Ok(info)
    }

    fn layers(&self) -> Vec<Descriptor> {
        let layer = |file: &ImageFile| Descriptor {
            media_type: file.part.media_type(self.disk_format).to_owned(),
            digest: file.digest.clone(),
            size: file.size_bytes,
        };
        self.files.iter().map(layer).collect()
    }
}

/// Whether a text may be the name of an image; it becomes part of paths.
fn is_name(text: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"._-".contains(&b);
    (1..=63).contains(&text.len()) && text.bytes().all(plain) && !text.starts_with(['.', '-', '_'])
}

/// The tag under which an image is sent unless another one is asked for: `image-` and the beginning of its disk's digest.
#[must_use]
pub fn image_tag(digest: &Digest) -> String {
    format!("image-{}", &digest.hex()[..TAG_DIGITS])
}

/// Sends an image: first its files, last the manifest.
///
/// # Errors
/// A file can't be read, the place can't be reached or refuses, or the tag names something else.
pub fn push_image(image: &OutgoingImage, remote: &dyn Remote, replace: bool) -> Result<Pushed, ShareError> {
    let mut files = Vec::new();
    for (part, path) in &image.files {
        let file = File::open(path).map_err(ShareError::file("read", path))?;
        let (hex, size_bytes) = host::sha256(file, u64::MAX).map_err(ShareError::file("read", path))?;
        let digest = Digest::try_from(format!("sha256:{hex}"));
        let digest = digest.map_err(|why| ShareError::file("read", path)(std::io::Error::other(why)))?;
        files.push(ImageFile { part: *part, digest, size_bytes });
    }
    let info = ImageInfo {
        format: FORMAT,
        name: image.name.clone(),
        disk_format: image.disk_format,
        virtual_bytes: image.virtual_bytes,
        packed_by: image.program.clone(),
        files,
    };
    let packed =
        |source: serde_json::Error| ShareError::Pack { what: "the image".to_owned(), source: source.into() };
    let config = serde_json::to_vec(&info).map_err(packed)?;
    let config_digest = Digest::of(&config);
    let manifest = Manifest {
        schema_version: 2,
        media_type: MANIFEST.to_owned(),
        artifact_type: Some(IMAGE.to_owned()),
        config: Descriptor {
            media_type: IMAGE.to_owned(),
            digest: config_digest.clone(),
            size: config.len() as u64,
        },
        layers: info.layers(),
        subject: None,
        annotations: BTreeMap::from([("org.opencontainers.image.title".to_owned(), info.name.clone())]),
    };
    let unwritten = ShareError::file("write", std::env::temp_dir());
    let file = tempfile::NamedTempFile::new().and_then(|mut file| file.write_all(&config).map(|()| file));
    let file = file.map_err(unwritten)?;
    let mut blobs: Vec<Blob<'_>> = info
        .files
        .iter()
        .zip(&image.files)
        .map(|(file, (_, path))| Blob { digest: &file.digest, path, bytes: file.size_bytes })
        .collect();
    blobs.push(Blob { digest: &config_digest, path: file.path(), bytes: config.len() as u64 });
    send(remote, &manifest, &blobs, replace)
}

/// Fetches an image to a folder below `parent`. A pull that was interrupted goes on with what is there.
///
/// # Errors
/// There is no image, it isn't what its digests say, or the disk lacks the room.
pub fn pull_image(remote: &dyn Remote, parent: &Path) -> Result<PulledImage, ShareError> {
    let from = remote.address();
    let unreadable = |why: String| ShareError::Unreadable { from: from.clone(), why };
    let bytes = remote.get_manifest()?.ok_or_else(|| ShareError::Missing { at: from.clone() })?;
    let manifest = Manifest::read(&bytes, IMAGE).map_err(unreadable)?;
    let place = Folder::lock(parent, &manifest.config.digest)?;
    let config = fetch_small(remote, &[&manifest.config], &place)?;
    let info = ImageInfo::read(&config[0]).map_err(unreadable)?;
    if manifest.layers != info.layers() {
        return Err(unreadable("its manifest lists other files than its description".to_owned()));
    }
    let total_bytes = info.files.iter().fold(0_u64, |sum, file| sum.saturating_add(file.size_bytes));
    place.has_room(total_bytes)?;
    let files = place.path.join("image");
    fs::create_dir_all(&files).map_err(ShareError::file("make the folder", &files))?;
    let blobs: Vec<_> = info.files.iter().map(|file| (&file.digest, file.size_bytes)).collect();
    for (file, arrived) in info.files.iter().zip(fetch(remote, &blobs, &place)?) {
        let path = files.join(file.part.file(info.disk_format));
        // A second name, so that a pull which is interrupted here finds the file under its digest.
        let linked = fs::remove_file(&path).or_else(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        linked.and_then(|()| fs::hard_link(&arrived, &path)).map_err(ShareError::file("write", &path))?;
    }
    Ok(PulledImage { info, total_bytes, place, files })
}

#[cfg(test)]
mod tests {
    use super::{FORMAT, ImageFile, ImageInfo, ImagePart, image_tag};
    use crate::digest::Digest;
    use record::target::ImageFormat;

    #[test]
    fn only_descriptions_of_whole_images_are_read() {
        let with = |parts: &[ImagePart], name: &str| {
            let file = |part: &ImagePart| ImageFile { part: *part, digest: Digest::of(b"x"), size_bytes: 1 };
            let info = ImageInfo {
                format: FORMAT,
                name: name.to_owned(),
                disk_format: ImageFormat::Qcow2,
                virtual_bytes: 1,
                packed_by: "0.1.0".to_owned(),
                files: parts.iter().map(file).collect(),
            };
            ImageInfo::read(&serde_json::to_vec(&info).unwrap())
        };
        let all = [ImagePart::Disk, ImagePart::Kernel, ImagePart::Initrd];
        with(&all, "debian-12").unwrap();
        with(&all[..1], "debian-12").unwrap();
        for parts in [&all[..0], &all[..2], &all[1..], &[ImagePart::Disk, ImagePart::Disk]] {
            with(parts, "debian-12").unwrap_err();
        }
        with(&all, "../x").unwrap_err();
    }

    #[test]
    fn an_image_has_the_tag_of_its_digest() {
        assert_eq!(image_tag(&Digest::of(b"abc")), "image-ba7816bf8f01cfea");
    }
}
