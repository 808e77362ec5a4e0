//! A small ISO 9660 image with a few files: the disk from which cloud-init reads its settings. The plain names are for the standard's sake;
//! the Joliet names (UCS-2, in a second tree) are the ones that Linux and Windows show. Layout after ECMA-119 and the Joliet Specification 1.0.

/// Bytes of a sector.
const SECTOR: usize = 2048;
/// The sector of the first descriptor.
const FIRST: usize = 16;

/// Which of the two trees.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tree {
    Plain,
    Joliet,
}

impl Tree {
    /// A file's name in its directory.
    fn name(self, name: &str) -> Vec<u8> {
        match self {
            Self::Plain => {
                let dot = if name.contains('.') { "" } else { "." };
                format!("{}{dot};1", name.to_ascii_uppercase()).into_bytes()
            }
            Self::Joliet => ucs2(&format!("{name};1")),
        }
    }

    /// A text of a descriptor, padded with spaces to a number of bytes.
    fn text(self, text: &str, bytes: usize) -> Vec<u8> {
        let (mut padded, space) = match self {
            Self::Plain => (text.as_bytes().to_vec(), vec![b' ']),
            Self::Joliet => (ucs2(text), vec![0, b' ']),
        };
        padded.truncate(bytes);
        while padded.len() + space.len() <= bytes {
            padded.extend(&space);
        }
        padded.resize(bytes, 0);
        padded
    }
}

fn ucs2(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

/// A file in the image.
struct File<'f> {
    name: &'f str,
    bytes: &'f [u8],
    sector: usize,
}

/// Returns an image with this volume label and these files. Names have at most 30 characters, ASCII; a label at most 16.
pub(super) fn image(label: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut sorted: Vec<(&str, &[u8])> = files.to_vec();
    sorted.sort_by_key(|(name, _)| name.to_ascii_uppercase());
    // Three descriptors, then per tree two path tables and a directory, then the files.
    let tables = FIRST + 3;
    let mut next = tables + 6;
    let placed: Vec<File<'_>> = sorted
        .into_iter()
        .map(|(name, bytes)| {
            let sector = next;
            next += bytes.len().div_ceil(SECTOR).max(1);
            File { name, bytes, sector }
        })
        .collect();
    let mut image = vec![0; next * SECTOR];
    for (at, tree) in [Tree::Plain, Tree::Joliet].into_iter().enumerate() {
        let table = tables + 3 * at;
        let directory = table + 2;
        put(&mut image, FIRST + at, &descriptor(tree, label, next, table, directory));
        put(&mut image, table, &path_table(directory, u32::to_le_bytes, u16::to_le_bytes));
        put(&mut image, table + 1, &path_table(directory, u32::to_be_bytes, u16::to_be_bytes));
        put(&mut image, directory, &root(tree, directory, &placed));
    }
    put(&mut image, FIRST + 2, b"\xffCD001\x01");
    for file in &placed {
        put(&mut image, file.sector, file.bytes);
    }
    image
}

fn put(image: &mut [u8], sector: usize, bytes: &[u8]) {
    let from = sector * SECTOR;
    if let Some(place) = image.get_mut(from..from + bytes.len()) {
        place.copy_from_slice(bytes);
    }
}

#[allow(clippy::cast_possible_truncation, reason = "an image of some KiB has few sectors")]
fn number(value: usize) -> u32 {
    value as u32
}

/// A number in both byte orders.
fn both(value: usize) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number(value).to_le_bytes());
    bytes[4..].copy_from_slice(&number(value).to_be_bytes());
    bytes
}

fn both_short(value: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (value.to_le_bytes(), value.to_be_bytes());
    [a, b, c, d]
}

/// A record of a directory. The date is 2000-01-01: equal settings make equal images.
fn entry(name: &[u8], sector: usize, bytes: usize, is_directory: bool) -> Vec<u8> {
    let length = (33 + name.len()).next_multiple_of(2);
    let mut entry = vec![u8::try_from(length).unwrap_or(u8::MAX), 0];
    entry.extend(both(sector));
    entry.extend(both(bytes));
    entry.extend([100, 1, 1, 0, 0, 0, 0, if is_directory { 2 } else { 0 }, 0, 0]);
    entry.extend(both_short(1));
    entry.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    entry.extend(name);
    entry.resize(length, 0);
    entry
}

fn root(tree: Tree, directory: usize, files: &[File<'_>]) -> Vec<u8> {
    let mut bytes = entry(&[0], directory, SECTOR, true);
    bytes.extend(entry(&[1], directory, SECTOR, true));
    for file in files {
        bytes.extend(entry(&tree.name(file.name), file.sector, file.bytes.len(), false));
    }
    bytes
}

fn path_table(directory: usize, long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Vec<u8> {
    let mut table = vec![1, 0];
    table.extend(long(number(directory)));
    table.extend(short(1));
    table.extend([0, 0]);
    table
}

fn descriptor(tree: Tree, label: &str, sectors: usize, table: usize, directory: usize) -> Vec<u8> {
    let mut d = vec![if tree == Tree::Plain { 1 } else { 2 }];
    d.extend(b"CD001\x01\x00");
    d.extend(tree.text("", 32));
    d.extend(tree.text(label, 32));
    d.extend([0; 8]);
    d.extend(both(sectors));
    // Joliet's mark: UCS-2, level 3.
    let mut escapes = [0; 32];
    if tree == Tree::Joliet {
        escapes[..3].copy_from_slice(b"%/E");
    }
    d.extend(escapes);
    for _ in 0..2 {
        d.extend(both_short(1));
    }
    d.extend(both_short(2048));
    d.extend(both(10));
    d.extend(number(table).to_le_bytes());
    d.extend([0; 4]);
    d.extend(number(table + 1).to_be_bytes());
    d.extend([0; 4]);
    d.extend(entry(&[0], directory, SECTOR, true));
    for _ in 0..4 {
        d.extend(tree.text("", 128));
    }
    d.extend(tree.text("", 37));
    d.extend(tree.text("", 37));
    d.extend(tree.text("", 37));
    for _ in 0..4 {
        d.extend(b"0000000000000000");
        d.push(0);
    }
    d.extend([1, 0]);
    d
}

#[cfg(test)]
mod tests {
    use super::{SECTOR, image};

    #[test]
    fn the_label_and_the_files_are_where_the_standard_puts_them() {
        let long = vec![b'x'; 5000];
        let iso = image("CIDATA", &[("user-data", &long), ("meta-data", b"a: b\n"), ("empty", b"")]);
        assert_eq!(iso.len() % SECTOR, 0);
        let primary = &iso[16 * SECTOR..17 * SECTOR];
        assert_eq!((&primary[..7], primary[7]), (&b"\x01CD001\x01"[..], 0));
        assert_eq!(&primary[40..48], b"CIDATA  ");
        let sectors = u32::from_le_bytes(primary[80..84].try_into().unwrap());
        assert_eq!(sectors as usize * SECTOR, iso.len());
        let directory = u32::from_le_bytes(primary[158..162].try_into().unwrap()) as usize;
        let mut at = directory * SECTOR;
        let mut found = Vec::new();
        while iso[at] != 0 {
            let record = &iso[at..at + usize::from(iso[at])];
            let begin = u32::from_le_bytes(record[2..6].try_into().unwrap()) as usize * SECTOR;
            let bytes = u32::from_be_bytes(record[14..18].try_into().unwrap()) as usize;
            let name = String::from_utf8_lossy(&record[33..33 + usize::from(record[32])]).into_owned();
            if record[25] == 0 {
                found.push((name, iso[begin..begin + bytes].to_vec()));
            }
            at += usize::from(iso[at]);
        }
        let expected =
            [("EMPTY.;1", Vec::new()), ("META-DATA.;1", b"a: b\n".to_vec()), ("USER-DATA.;1", long)];
        assert_eq!(found, expected.map(|(name, bytes)| (name.to_owned(), bytes)));
        let joliet = &iso[17 * SECTOR..18 * SECTOR];
        assert_eq!((joliet[0], &joliet[88..91]), (2, &b"%/E"[..]));
        assert_eq!(iso[18 * SECTOR], 255);
    }
}
