//! ZFS's cache in memory: /proc/spl/kstat/zfs/arcstats.

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::zfs::ArcCounters;
use std::path::Path;

/// Lines of name, type and value, below two of head. Names that this build doesn't know are left out; a value that is no
/// number is an error.
pub(crate) fn parse(path: &Path, text: &[u8]) -> Result<ArcCounters, ReadError> {
    let mut arc = ArcCounters::default();
    for (line_number, line) in lines(text).skip(2) {
        let mut fields = fields(line);
        let place = match fields.next() {
            Some(b"hits") => &mut arc.hits,
            Some(b"misses") => &mut arc.misses,
            Some(b"demand_data_hits") => &mut arc.demand_data_hits,
            Some(b"demand_data_misses") => &mut arc.demand_data_misses,
            Some(b"prefetch_data_hits") => &mut arc.prefetch_data_hits,
            Some(b"prefetch_data_misses") => &mut arc.prefetch_data_misses,
            Some(b"mru_hits") => &mut arc.mru_hits,
            Some(b"mfu_hits") => &mut arc.mfu_hits,
            Some(b"mru_ghost_hits") => &mut arc.mru_ghost_hits,
            Some(b"mfu_ghost_hits") => &mut arc.mfu_ghost_hits,
            Some(b"l2_hits") => &mut arc.l2_hits,
            Some(b"l2_misses") => &mut arc.l2_misses,
            Some(b"l2_read_bytes") => &mut arc.l2_read_bytes,
            Some(b"size") => &mut arc.size_bytes,
            Some(b"c") => &mut arc.target_bytes,
            Some(b"c_max") => &mut arc.max_bytes,
            Some(b"data_size") => &mut arc.data_bytes,
            Some(b"anon_size") => &mut arc.anon_bytes,
            _ => continue,
        };
        let value = fields.nth(1).and_then(number);
        *place = Some(value.ok_or_else(|| ReadError::parse(path, line_number, line, "`name type number`"))?);
    }
    Ok(arc)
}

#[cfg(test)]
mod tests {
    use super::parse;
    use record::zfs::ArcCounters;
    use std::path::Path;

    const HEAD: &str =
        "13 1 0x01 123 33456 2471069312 1084166013530\nname                            type data\n";

    #[test]
    fn counters_and_gauges_are_read_by_name() {
        let text = format!(
            "{HEAD}hits                            4    4711\nmisses                          4    12\n\
             demand_data_hits                4    400\nprefetch_data_misses            4    9\n\
             mru_ghost_hits                  4    3\nc                               4    100\n\
             c_max                           4    200\nsize                            4    99\n\
             something_new                   4    1\n"
        );
        let expected = ArcCounters {
            hits: Some(4711),
            misses: Some(12),
            demand_data_hits: Some(400),
            prefetch_data_misses: Some(9),
            mru_ghost_hits: Some(3),
            target_bytes: Some(100),
            max_bytes: Some(200),
            size_bytes: Some(99),
            ..ArcCounters::default()
        };
        assert_eq!(parse(Path::new("arcstats"), text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn garbage_is_named_with_its_line() {
        let text = format!("{HEAD}hits 4 many\n");
        let said = parse(Path::new("/p/arcstats"), text.as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with("/p/arcstats:3: expected `name type number`"), "{said}");
    }
}
