//! What is known of an image: the file `image.json` beside its disk.

use serde::{Deserialize, Serialize};

/// The version of the file's form.
pub(super) const FORMAT: u32 = 1;
/// The name of the file.
pub(super) const FILE: &str = "image.json";
/// The kernel and the initrd of an image without a boot loader.
pub(super) const KERNEL: &str = "vmlinuz";
pub(super) const INITRD: &str = "initrd";
/// The command line of such a kernel. The first disk is the root file system, and the serial port is the console.
pub(crate) const CMDLINE: &str = "root=/dev/vda rw console=tty0 console=ttyS0";

/// An image on a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The version of this form.
    pub(super) format: u32,
    /// SHA-256 of its disk, in hexadecimal.
    pub digest: String,
    /// Its name.
    pub name: String,
    /// The form of its disk.
    pub disk_format: DiskFormat,
    /// The size of the disk that a guest sees, in bytes.
    pub virtual_bytes: u64,
    /// The size of the disk's file, in bytes.
    pub file_bytes: u64,
    /// Whether a kernel and an initrd lie beside the disk, which QEMU starts itself; else the disk has a boot loader.
    pub has_kernel: bool,
    /// Where it came from.
    pub source: String,
    /// When it was imported, in seconds since 1970.
    pub imported: u64,
}

/// The form of a disk's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskFormat {
    /// The bytes of the disk.
    Raw,
    /// QEMU's own form.
    Qcow2,
}

impl DiskFormat {
    /// Its name for QEMU.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        [Self::Raw, Self::Qcow2].into_iter().find(|format| format.name() == name)
    }
}

impl Image {
    /// Its identity in the form of a UUID (version 8), as SmartOS names images: from the digest, so that it is the same everywhere.
    #[must_use]
    pub fn uuid(&self) -> String {
        let mut digits: Vec<char> = self.digest.chars().chain(std::iter::repeat('0')).take(32).collect();
        digits[12] = '8';
        digits[16] = 'a';
        let text = |range: std::ops::Range<usize>| digits[range].iter().collect::<String>();
        format!("{}-{}-{}-{}-{}", text(0..8), text(8..12), text(12..16), text(16..20), text(20..32))
    }

    /// Whether this is a form that this version knows, with a digest that is one.
    pub(super) fn is_sound(&self) -> bool {
        self.format == FORMAT && is_digest(&self.digest) && is_name(&self.name)
    }
}

/// Whether a text is a SHA-256 in hexadecimal.
pub(crate) fn is_digest(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// Whether a text may be the name of an image.
pub(super) fn is_name(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '.' | '_');
    (1..=63).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::{DiskFormat, FORMAT, Image, is_digest, is_name};

    #[test]
    fn an_image_has_one_identity() {
        let image = Image {
            format: FORMAT,
            digest: "0123456789abcdef".repeat(4),
            name: "debian-12".to_owned(),
            disk_format: DiskFormat::Qcow2,
            virtual_bytes: 1,
            file_bytes: 1,
            has_kernel: true,
            source: "x".to_owned(),
            imported: 0,
        };
        assert_eq!(image.uuid(), "01234567-89ab-8def-a123-456789abcdef");
        assert!(image.is_sound() && !Image { digest: "../x".to_owned(), ..image }.is_sound());
    }

    #[test]
    fn names_and_digests_are_plain() {
        assert!(is_digest(&"a".repeat(64)) && !is_digest(&"A".repeat(64)) && !is_digest(&"g".repeat(64)));
        for bad in ["", ".x", "-x", "a/b", "a b", &"a".repeat(64)] {
            assert!(!is_name(bad), "{bad}");
        }
        assert!(is_name("debian-12.5_x"));
    }
}
