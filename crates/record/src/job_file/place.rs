//! The files that a job file names, and how much of them each job uses.

use super::sections::{InForce, Section, value};
use super::size::Size;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Shares of a volume are whole MiB.
const SHARE_BYTES: u64 = 1 << 20;
/// The most clones of a job, fio's `numjobs`.
const MAX_CLONES: u64 = 4096;

/// The data of one job: which files it names, and which sizes it gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// Name of its section.
    pub section: String,
    /// The files that it names, each with its folder; empty: every clone has files of its own.
    pub files: Vec<String>,
    /// The number of clones, fio's `numjobs`.
    pub clones: u64,
    /// The number of files of a clone that names none.
    pub nrfiles: u64,
    size: Option<Size>,
    filesize: Option<Size>,
    offset: Size,
    increment: Size,
}

/// The part of its files that a job uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes of one clone, over all its files.
    pub size_bytes: u64,
    /// Bytes that are skipped at the begin of each file.
    pub offset_bytes: u64,
    /// Bytes between the begins of two clones.
    pub increment_bytes: u64,
    /// Bytes that each of its files must have.
    pub file_bytes: u64,
}

/// An option about the place or size of a job that can't be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Misplaced {
    /// It is no size.
    Size {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        text: String,
    },
    /// It is no number in its range.
    Count {
        /// Name of the option.
        option: &'static str,
        /// Its value.
        text: String,
        /// The largest number.
        most: u64,
    },
    /// Clones of a job would use several folders in turn.
    Folders,
}

impl Misplaced {
    /// Name of the option.
    #[must_use]
    pub fn option(&self) -> &'static str {
        match self {
            Self::Size { option, .. } | Self::Count { option, .. } => option,
            Self::Folders => "directory",
        }
    }
}

impl fmt::Display for Misplaced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Size { option, text } => {
                write!(f, "{option}={text} is not a size that diskproof can lay out")
            }
            Self::Count { option, text, most } => {
                write!(f, "{option}={text} isn't a number from 1 to {most}")
            }
            Self::Folders => {
                f.write_str("clones of a job use several folders in turn: write a section for each folder")
            }
        }
    }
}

impl std::error::Error for Misplaced {}

/// Why the files of a job file have no sizes; each with a section that leaves its size to the file or device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoRoom {
    /// Nothing is known about the room.
    Unknown {
        /// The section.
        section: String,
    },
    /// The room is too small.
    Spent {
        /// The section.
        section: String,
        /// Bytes that other files leave.
        left_bytes: u64,
        /// The number of files without a size.
        files: u64,
    },
}

impl fmt::Display for NoRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Unknown { section } | Self::Spent { section, .. }) = self;
        write!(f, "[{section}] takes its size from the file or device")?;
        match self {
            Self::Unknown { .. } => Ok(()),
            Self::Spent { left_bytes, files, .. } => {
                write!(f, ", and {left_bytes} bytes are left for {files} files")
            }
        }
    }
}

impl std::error::Error for NoRoom {}

impl Placed {
    /// Reads the places and sizes of a job.
    ///
    /// # Errors
    /// The option that can't be read.
    pub fn of(section: &Section, options: &InForce<'_>) -> Result<Self, Misplaced> {
        let zone = value(options, "zonesize").and_then(|text| Size::parse(text, None));
        let zone_bytes = match zone {
            Some(Size::Bytes(bytes)) => Some(bytes),
            _ => None,
        };
        let size = |name: &'static str| match value(options, name) {
            None => Ok(None),
            // A range of file sizes: each file may have the largest.
            Some(text) => Size::parse(text.rsplit(['-', ':']).next().unwrap_or(text), zone_bytes)
                .map(Some)
                .ok_or_else(|| Misplaced::Size { option: name, text: text.to_owned() }),
        };
        let count = |name: &'static str, most: u64| match value(options, name) {
            None => Ok(1),
            Some(text) => text
                .parse::<u64>()
                .ok()
                .filter(|n| (1..=most).contains(n))
                .ok_or_else(|| Misplaced::Count { option: name, text: text.to_owned(), most }),
        };
        let whole = |size: Option<Size>| size.filter(|size| *size != Size::Bytes(0));
        Ok(Self {
            section: section.name.clone(),
            files: named(options)?,
            clones: count("numjobs", MAX_CLONES)?,
            nrfiles: count("nrfiles", 1 << 20)?,
            size: whole(size("size")?),
            filesize: whole(size("filesize")?),
            offset: size("offset")?.unwrap_or(Size::Bytes(0)),
            increment: size("offset_increment")?.unwrap_or(Size::Bytes(0)),
        })
    }

    /// Whether its file or device decides how much it uses.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        let percent = |size: Size| matches!(size, Size::Percent(_));
        let said = self.size.or(self.filesize);
        said.is_none_or(percent) || percent(self.offset) || percent(self.increment)
    }

    /// The number of files of one clone.
    fn count(&self) -> u64 {
        if self.files.is_empty() { self.nrfiles } else { self.files.len() as u64 }
    }

    /// The number of files of its own, over all clones.
    fn own(&self) -> u64 {
        if self.files.is_empty() { self.clones.saturating_mul(self.nrfiles) } else { 0 }
    }

    /// The part that it uses of files of `whole` bytes each.
    fn room(&self, whole: u64) -> Room {
        let offset_bytes = self.offset.of(whole);
        let increment_bytes = self.increment.of(whole);
        let skipped = increment_bytes.saturating_mul(self.clones - 1).saturating_add(offset_bytes);
        let files = self.count();
        let rest = whole.saturating_sub(skipped);
        let all = whole.saturating_mul(files);
        let size_bytes = match (self.size, self.filesize) {
            (Some(size), _) => size.of(all),
            (None, Some(each)) => each.of(whole).saturating_mul(files),
            (None, None) => rest.saturating_mul(files),
        };
        let each = self.filesize.map_or(size_bytes.div_ceil(files), |each| each.of(whole));
        Room { size_bytes, offset_bytes, increment_bytes, file_bytes: skipped.saturating_add(each) }
    }
}

/// Returns the files that a job names, each with its folder.
fn named(options: &InForce<'_>) -> Result<Vec<String>, Misplaced> {
    let listed = value(options, "filename").map(files).unwrap_or_default();
    let folders = value(options, "directory").map(files).unwrap_or_default();
    let clones = value(options, "numjobs").is_some_and(|clones| clones != "1");
    if folders.len() > 1 && clones && !listed.is_empty() {
        return Err(Misplaced::Folders);
    }
    let folder =
        folders.first().map(|folder| format!("{}/", folder.trim_end_matches('/'))).unwrap_or_default();
    Ok(listed.into_iter().map(|file| tidy(&format!("{folder}{file}"))).collect())
}

/// Returns a path without `.` and doubled slashes, so that one file has one name.
fn tidy(path: &str) -> String {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// Returns the names in a list of files: they are separated by `:`, except `\:`.
#[must_use]
pub fn files(listed: &str) -> Vec<String> {
    let mut files = vec![String::new()];
    let mut chars = listed.chars();
    while let Some(c) = chars.next() {
        match (c, files.last_mut()) {
            ('\\', Some(last)) => last.extend(chars.next()),
            (':', _) => files.push(String::new()),
            (c, Some(last)) => last.push(c),
            (_, None) => {}
        }
    }
    files.retain(|file| !file.is_empty());
    files
}

/// Returns what each job uses, and the bytes of all files together. Files of which no job gives the size share what is left of `room`
/// bytes evenly; `None`: nothing is known about the room.
///
/// # Errors
/// A section whose size depends on the room, which is unknown or too small.
pub fn resolve(jobs: &[Placed], room: Option<u64>) -> Result<(Vec<Room>, u64), NoRoom> {
    let mut known: BTreeMap<&str, u64> = BTreeMap::new();
    let mut open: BTreeSet<&str> = BTreeSet::new();
    let (mut total, mut shares) = (0_u64, 0_u64);
    for job in jobs {
        let plain = (!job.is_relative()).then(|| job.room(0).file_bytes);
        for file in &job.files {
            open.insert(file);
            if let Some(bytes) = plain {
                let needs = known.entry(file).or_default();
                *needs = bytes.max(*needs);
            }
        }
        match plain {
            Some(bytes) => total = total.saturating_add(bytes.saturating_mul(job.own())),
            None => shares = shares.saturating_add(job.own()),
        }
    }
    open.retain(|file| !known.contains_key(file));
    total = known.values().fold(total, |sum, bytes| sum.saturating_add(*bytes));
    shares = shares.saturating_add(open.len() as u64);
    let share = share(jobs, room, total, shares)?;
    total = total.saturating_add(share.saturating_mul(shares));
    let whole = |job: &Placed| job.files.iter().map(|file| *known.get(file.as_str()).unwrap_or(&share)).min();
    Ok((jobs.iter().map(|job| job.room(whole(job).unwrap_or(share))).collect(), total))
}

/// Returns the bytes of each file without a size.
fn share(jobs: &[Placed], room: Option<u64>, taken: u64, shares: u64) -> Result<u64, NoRoom> {
    if shares == 0 {
        return Ok(0);
    }
    let section = jobs.iter().find(|job| job.is_relative()).map_or("", |job| job.section.as_str());
    let section = section.to_owned();
    let Some(room) = room else { return Err(NoRoom::Unknown { section }) };
    let share = room.saturating_sub(taken) / shares / SHARE_BYTES * SHARE_BYTES;
    if share == 0 {
        return Err(NoRoom::Spent { section, left_bytes: room.saturating_sub(taken), files: shares });
    }
    Ok(share)
}

/// Names inside the volume for the files of a job file: one name for each file, without any folder.
#[derive(Debug, Default)]
pub struct Names {
    given: BTreeMap<String, String>,
}

impl Names {
    /// Returns the name inside the volume of a file: letters, digits, `.`, `-` and `_`.
    pub fn of(&mut self, theirs: &str) -> String {
        if let Some(ours) = self.given.get(theirs) {
            return ours.clone();
        }
        let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
        let base: String = theirs.trim_start_matches('/').chars().map(kept).take(100).collect();
        let mut ours = base.clone();
        let mut count = 1;
        while self.given.values().any(|taken| *taken == ours) {
            count += 1;
            ours = format!("{base}-{count}");
        }
        self.given.insert(theirs.to_owned(), ours.clone());
        ours
    }

    /// Returns every file with its name inside the volume.
    #[must_use]
    pub fn all(&self) -> &BTreeMap<String, String> {
        &self.given
    }
}

#[cfg(test)]
mod tests {
    use super::super::sections::{effective, read};
    use super::{Names, Placed, Room, files, resolve};

    fn placed(text: &str) -> Vec<Placed> {
        let sections = read(text).sections;
        effective(&sections).map(|(section, options)| Placed::of(section, &options).unwrap()).collect()
    }

    fn sizes(text: &str, room: u64) -> (Vec<(u64, u64)>, u64) {
        let (rooms, total) = resolve(&placed(text), Some(room << 20)).unwrap();
        (rooms.iter().map(|room| (room.offset_bytes >> 20, room.size_bytes >> 20)).collect(), total >> 20)
    }

    #[test]
    fn a_file_has_one_name_whatever_its_path_looks_like() {
        let of = |text: &str| placed(text)[0].files.clone();
        assert_eq!(of("[a]\nfilename=/dev/sda:x\\:y\n"), ["/dev/sda", "x:y"]);
        assert_eq!(of("[a]\ndirectory=/d/\nfilename=./f\n"), ["/d/f"]);
        assert_eq!(of("[a]\ndirectory=/d//\nfilename=f\n"), of("[a]\nfilename=/d/f\n"));
        assert_eq!(of("[a]\nfilename=\n"), Vec::<String>::new());
        assert_eq!(files("a:b\\:c:"), ["a", "b:c"]);
        assert_eq!(files("\\"), Vec::<String>::new());
        let mut names = Names::default();
        let ours: Vec<String> = ["/dev/sda", "a/b", "a_b", "../../etc/passwd", "/dev/sda"]
            .iter()
            .map(|name| names.of(name))
            .collect();
        assert_eq!(ours, ["dev_sda", "a_b", "a_b-2", ".._.._etc_passwd", "dev_sda"]);
    }

    #[test]
    fn plain_sizes_need_no_room_and_a_shared_file_counts_once() {
        let of = |text: &str| resolve(&placed(text), None).unwrap().1 >> 20;
        assert_eq!(of("[a]\nsize=64m\nnumjobs=2\n"), 128);
        assert_eq!(of("[global]\nfilename=f\n[a]\nsize=64m\noffset=8m\nnumjobs=4\n[b]\nsize=80m\n"), 80);
        assert_eq!(of("[a]\nfilesize=10m\nnrfiles=20\n"), 200);
        assert_eq!(of("[a]\nfilename=x:y\nsize=64m\n"), 64);
        assert_eq!(of("[a]\nfilename=f\nsize=8m\noffset_increment=8m\nnumjobs=4\n"), 32);
        assert_eq!(of("[a]\nsize=2z\nzonesize=16m\n"), 32);
    }

    #[test]
    fn what_the_device_would_decide_shares_the_room() {
        assert_eq!(sizes("[a]\nfilename=/dev/sda\n", 100), (vec![(0, 100)], 100));
        assert_eq!(
            sizes("[a]\nfilename=/dev/sda\n[b]\nfilename=/dev/sdb\noffset=50%\n", 100),
            (vec![(0, 50), (25, 25)], 100)
        );
        assert_eq!(
            sizes("[global]\nfilename=d\nsize=20%\n[a]\n[b]\noffset=20%\n", 100),
            (vec![(0, 20), (20, 20)], 100)
        );
        assert_eq!(sizes("[a]\nnumjobs=4\nsize=50%\n", 100), (vec![(0, 12)], 100));
        assert_eq!(sizes("[w]\nfilename=f\nsize=10m\n[r]\nfilename=f\n", 100), (vec![(0, 10), (0, 10)], 10));
        let why = resolve(&placed("[a]\nsize=99m\n[b]\n"), Some(99 << 20)).unwrap_err();
        assert!(
            why.to_string().starts_with("[b] takes its size from the file or device, and 0 bytes"),
            "{why}"
        );
        assert_eq!(
            resolve(&placed("[a]\n"), None).unwrap_err().to_string(),
            "[a] takes its size from the file or device"
        );
    }

    #[test]
    fn what_is_no_size_is_told_with_its_option() {
        for (line, option) in [
            ("size=lots", "size"),
            ("offset=8z", "offset"),
            ("numjobs=0", "numjobs"),
            ("numjobs=9999", "numjobs"),
        ] {
            let sections = read(&format!("[a]\n{line}\n")).sections;
            let (section, options) = effective(&sections).next().unwrap();
            assert_eq!(Placed::of(section, &options).unwrap_err().option(), option);
        }
        let huge = placed("[a]\nsize=16000p\nnumjobs=4096\noffset=16000p\n");
        let Room { size_bytes, .. } = resolve(&huge, None).unwrap().0[0];
        assert_eq!((size_bytes, resolve(&huge, None).unwrap().1), (16_000 << 50, u64::MAX), "no wrap-around");
    }
}
