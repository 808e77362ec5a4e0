//! The images of a machine: one folder per digest, with the disk and `image.json`, which is written last.

use super::error::ImageError;
use super::manifest::{FILE, INITRD, Image, KERNEL};
use crate::at::At;
use std::path::PathBuf;

/// Prints the descriptions of all images, a line each.
const LIST: &str = r#"for f in "$0"/*/"$1"; do if [ -f "$f" ]; then tr '\n' ' ' <"$f"; echo; fi; done"#;

/// The folder of all images, below the state directory.
const FOLDER: &str = "images";

/// The folder of all images of a machine.
pub(super) fn folder(at: &At) -> String {
    at.state(FOLDER)
}

/// The folder of an image.
pub(super) fn place(at: &At, digest: &str) -> String {
    format!("{}/{digest}", folder(at))
}

/// Returns the images of a machine, by name, the newest first. What has another form is left out.
///
/// # Errors
/// The machine can't be reached.
pub fn list(at: &At) -> Result<Vec<Image>, ImageError> {
    let said = at.run("list its images", &["sh", "-c", LIST, &folder(at), FILE])?;
    let mut images: Vec<Image> =
        said.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Image::is_sound).collect();
    images.sort_by(|a, b| a.name.cmp(&b.name).then(b.imported.cmp(&a.imported)));
    Ok(images)
}

/// Returns the image of a name (the newest one), of a digest or the beginning of one (at least 6 digits), or of a UUID.
///
/// # Errors
/// The machine has no such image, or several.
pub fn find(at: &At, name: &str) -> Result<Image, ImageError> {
    choose(list(at)?, name, at.name())
}

pub(super) fn choose(images: Vec<Image>, name: &str, machine: &str) -> Result<Image, ImageError> {
    if let Some(image) = images.iter().find(|image| image.name == name || image.uuid() == name) {
        return Ok(image.clone());
    }
    let digest = name.strip_prefix("sha256:").unwrap_or(name);
    let mut fits = images.iter().filter(|image| digest.len() >= 6 && image.digest.starts_with(digest));
    match (fits.next(), fits.next()) {
        (Some(image), None) => Ok(image.clone()),
        (Some(_), Some(_)) => Err(ImageError::Several { machine: machine.to_owned(), name: name.to_owned() }),
        (None, _) => {
            let mut names: Vec<&str> = images.iter().map(|image| image.name.as_str()).collect();
            names.dedup();
            let known = match names.is_empty() {
                true => "`diskproof images avail` lists what can be had".to_owned(),
                false => format!("it has {}", names.join(", ")),
            };
            Err(ImageError::Unknown { machine: machine.to_owned(), name: name.to_owned(), known })
        }
    }
}

impl Image {
    /// The path of its disk on a machine.
    pub(crate) fn disk(&self, at: &At) -> String {
        format!("{}/disk.{}", place(at, &self.digest), self.disk_format.name())
    }

    /// The paths of its files on a machine: its disk, then its kernel and initrd if it has them.
    #[must_use]
    pub fn files(&self, at: &At) -> Vec<PathBuf> {
        let boot = self.kernel(at).into_iter().flat_map(|(kernel, initrd)| [kernel, initrd]);
        std::iter::once(self.disk(at)).chain(boot).map(PathBuf::from).collect()
    }

    /// The paths of its kernel and initrd on a machine.
    pub(crate) fn kernel(&self, at: &At) -> Option<(String, String)> {
        let place = place(at, &self.digest);
        self.has_kernel.then(|| (format!("{place}/{KERNEL}"), format!("{place}/{INITRD}")))
    }
}

#[cfg(test)]
mod tests {
    use super::choose;
    use crate::images::manifest::{DiskFormat, FORMAT, Image};

    fn image(name: &str, digit: &str, imported: u64) -> Image {
        Image {
            format: FORMAT,
            digest: format!("abcdef{}", digit.repeat(58)),
            name: name.to_owned(),
            disk_format: DiskFormat::Raw,
            virtual_bytes: 1,
            file_bytes: 1,
            has_kernel: false,
            source: String::new(),
            imported,
        }
    }

    #[test]
    fn an_image_is_found_by_name_digest_and_uuid() {
        let all = || vec![image("a", "2", 2), image("a", "1", 1), image("b", "3", 1)];
        let found = |name: &str| choose(all(), name, "ham0").map(|image| image.digest[6..7].to_owned());
        assert_eq!(found("a").unwrap(), "2", "the newest of the name, which comes first");
        assert_eq!(found("abcdef1").unwrap(), "1");
        assert_eq!(found(&format!("sha256:{}", image("b", "3", 1).digest)).unwrap(), "3");
        assert_eq!(found(&image("a", "1", 1).uuid()).unwrap(), "1");
        assert!(found("abcdef").unwrap_err().to_string().contains("several"));
        let wrong = found("c\u{1b}").unwrap_err().to_string();
        assert_eq!(wrong, "ham0 has no image c\\x1b; it has a, b");
        assert!(choose(Vec::new(), "c", "ham0").unwrap_err().to_string().contains("images avail"));
    }
}
