//! Lines of Bonnie++ 1.00 to 1.03. They have no version and no latencies: machine, size, six rates with their CPU, number of files, six rates with
//! their CPU. What they lack becomes empty fields of the newer form.

/// The number of fields.
const OLD_FIELDS: usize = 27;
/// The place of the size, and that of the number of files.
const SIZE: usize = 1;
const FILES: usize = 14;
/// What stands for the version, which the line doesn't tell.
pub const VERSION: &str = "1.0x";

/// Whether a line has the form of Bonnie++ 1.00 to 1.03: its number of fields, a size in MiB or GiB, and a number of files.
#[must_use]
pub fn is_before_1_9(line: &str) -> bool {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    fields.len() == OLD_FIELDS && is_size(fields[SIZE]) && is_files(fields[FILES])
}

/// `3G`, `500M`, `1G:32k`; empty without the tests of large files.
fn is_size(field: &str) -> bool {
    let (size, chunk) = field.split_once(':').unwrap_or((field, "8k"));
    let number = |text: &str, units: &[char]| {
        let digits = text.strip_suffix(units).unwrap_or(text);
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    field.is_empty()
        || (size.ends_with(['M', 'G']) && number(size, &['M', 'G']) && number(chunk, &['k', 'M']))
}

/// `16`, `16:100000:16`, `16:100000:16/64`; empty without the tests of many files.
fn is_files(field: &str) -> bool {
    let mut numbers = field.split([':', '/']);
    field.is_empty() || numbers.all(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The fields of a line in the order of the newer form, which has `width` of them.
pub(super) fn as_newer(line: &str, width: usize) -> Vec<&str> {
    let old: Vec<&str> = line.split(',').map(str::trim).collect();
    let (size, chunk) = old[SIZE].split_once(':').unwrap_or((old[SIZE], ""));
    let mut files = old[FILES].split([':', '/']);
    let mut count = || files.next().unwrap_or_default();
    let mut fields = vec!["", VERSION, old[0], "1", "", size, chunk, "", ""];
    fields.extend(&old[SIZE + 1..FILES]);
    fields.extend([count(), count(), count(), count(), ""]);
    fields.extend(&old[FILES + 1..]);
    fields.resize(width, "");
    fields
}
