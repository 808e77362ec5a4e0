//! Counters of ZFS's cache in memory (ARC): /proc/spl/kstat/zfs/arcstats.

use crate::error::ReadError;
use crate::text::{fields, lines, number};
use record::zfs::ArcCounters;
use std::path::Path;

/// Parses lines of name, type and value, after two header lines. Names that this build doesn't know are skipped; a value that is
/// not a number is an error.
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

    /// A part of OpenZFS's lines, in its order; each number is different.
    #[test]
    fn counters_and_gauges_are_read_by_name() {
        let names = [
            "hits",
            "misses",
            "demand_data_hits",
            "demand_data_misses",
            "demand_metadata_hits",
            "demand_metadata_misses",
            "prefetch_data_hits",
            "prefetch_data_misses",
            "prefetch_metadata_hits",
            "mru_hits",
            "mru_ghost_hits",
            "mfu_hits",
            "mfu_ghost_hits",
            "deleted",
            "c",
            "c_min",
            "c_max",
            "size",
            "compressed_size",
            "data_size",
            "metadata_size",
            "anon_size",
            "anon_evictable_data",
            "mru_size",
            "l2_hits",
            "l2_misses",
            "l2_feeds",
            "l2_read_bytes",
            "l2_write_bytes",
            "l2_size",
        ];
        let of = |name: &str| names.iter().position(|known| *known == name).map(|at| 1000 + at as u64);
        let rows = names.map(|name| format!("{name:<31} 4    {}\n", of(name).unwrap()));
        let expected = ArcCounters {
            hits: of("hits"),
            misses: of("misses"),
            demand_data_hits: of("demand_data_hits"),
            demand_data_misses: of("demand_data_misses"),
            prefetch_data_hits: of("prefetch_data_hits"),
            prefetch_data_misses: of("prefetch_data_misses"),
            mru_hits: of("mru_hits"),
            mfu_hits: of("mfu_hits"),
            mru_ghost_hits: of("mru_ghost_hits"),
            mfu_ghost_hits: of("mfu_ghost_hits"),
            l2_hits: of("l2_hits"),
            l2_misses: of("l2_misses"),
            l2_read_bytes: of("l2_read_bytes"),
            size_bytes: of("size"),
            target_bytes: of("c"),
            max_bytes: of("c_max"),
            data_bytes: of("data_size"),
            anon_bytes: of("anon_size"),
        };
        let text = format!("{HEAD}{}", rows.concat());
        assert_eq!(parse(Path::new("arcstats"), text.as_bytes()).unwrap(), expected);
        let first = format!("{HEAD}{}", rows[0]);
        let only = ArcCounters { hits: expected.hits, ..ArcCounters::default() };
        assert_eq!(parse(Path::new("arcstats"), first.as_bytes()).unwrap(), only, "what isn't told is None");
    }

    #[test]
    fn garbage_is_named_with_its_line() {
        let text = format!("{HEAD}hits 4 many\n");
        let said = parse(Path::new("/p/arcstats"), text.as_bytes()).unwrap_err().to_string();
        assert!(said.starts_with("/p/arcstats:3: expected `name type number`"), "{said}");
    }
}
