//! elbencho's CSV (`--csvfile`): one row per phase. Phases that read or write data are trials.
//!
//! elbencho gives each figure twice: when the first and when the last of its threads was done. The figures here are those of the last,
//! since only then all data are read or written.

use crate::error::ReadError;
use crate::measured::{Found, Measured};
use crate::source::Source;
use record::latency::LatencyHistogram;
use record::trial::{EngineOutput, Outcome, Totals, Window};
use record::workload::{Ask, EngineKind, Options, Rw};
use std::collections::BTreeMap;

/// The format's name.
pub(crate) const FORMAT: &str = "elbencho CSV";

const MIB: f64 = 1024.0 * 1024.0;

/// Whether a file has elbencho's header.
pub(crate) fn is(source: &Source) -> bool {
    source
        .text
        .lines()
        .next()
        .is_some_and(|line| line.starts_with("ISO date,") && line.contains(",operation,"))
}

/// Reads the rows that move data.
pub(crate) fn read(source: &Source) -> Result<Found, ReadError> {
    let mut lines = source.text.lines().enumerate();
    let header: Vec<&str> =
        lines.next().map(|(_, line)| line.split(',').map(str::trim).collect()).unwrap_or_default();
    for column in
        ["operation", "threads", "block size", "time ms [last]", "IOPS [last]", "MiB/s [last]", "MiB [last]"]
    {
        if !header.contains(&column) {
            return Err(ReadError::NoColumn { column });
        }
    }
    let rows = lines.filter(|(_, line)| !line.trim().is_empty()).map(|(number, line)| Row {
        number: number + 1,
        line,
        // the command comes last, and holds commas
        fields: header.iter().copied().zip(line.splitn(header.len(), ',').map(str::trim)).collect(),
    });
    let trials: Vec<Measured> =
        rows.filter_map(|row| row.trial(source).transpose()).collect::<Result<_, _>>()?;
    if trials.is_empty() { Err(ReadError::NothingDone) } else { Ok(Found::Trials(trials)) }
}

struct Row<'a> {
    /// Its line, from 1.
    number: usize,
    line: &'a str,
    fields: BTreeMap<&'a str, &'a str>,
}

/// The columns of one direction.
struct Columns {
    iops: &'static str,
    rate: &'static str,
    moved: &'static str,
    latency: &'static str,
}

const MAIN: Columns =
    Columns { iops: "IOPS [last]", rate: "MiB/s [last]", moved: "MiB [last]", latency: "IO lat us [avg]" };
/// Reads that threads of a writing phase did meanwhile.
const MIXED: Columns = Columns {
    iops: "rwmix read IOPS [last]",
    rate: "rwmix read MiB/s [last]",
    moved: "rwmix read MiB [last]",
    latency: "rwmix read IO lat us [avg]",
};

impl Row<'_> {
    fn text(&self, column: &str) -> Option<&str> {
        self.fields.get(column).copied().filter(|field| !field.is_empty())
    }

    /// The number in a column; `None` if the column is empty or missing.
    fn number(&self, column: &str) -> Result<Option<f64>, ReadError> {
        let Some(found) = self.text(column) else { return Ok(None) };
        let value = found.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let no_number =
            || ReadError::NoNumber { line: self.number, column: column.to_owned(), found: found.to_owned() };
        value.map(Some).ok_or_else(no_number)
    }

    fn count(&self, column: &str) -> Result<u64, ReadError> {
        Ok(self.number(column)?.map_or(0, whole))
    }

    /// The trial; `None` for a phase that moves no data (directories, deletion, sync).
    fn trial(&self, source: &Source) -> Result<Option<Measured>, ReadError> {
        let operation = self.text("operation").unwrap_or_default();
        let reads = match operation {
            "READ" => true,
            "WRITE" => false,
            _ => return Ok(None),
        };
        let seconds = self.number("time ms [last]")?.unwrap_or(0.0) / 1e3;
        let Some(main) = self.totals(&MAIN, seconds)? else { return Ok(None) };
        let mixed = self.totals(&MIXED, seconds)?;
        let options = self.options(reads, mixed.as_ref().map(|mixed| (mixed, &main)))?;
        let version = self
            .text("version")
            .map_or_else(|| "elbencho".to_owned(), |version| format!("elbencho-{version}"));
        let window = Window { start_ns: 0, end_ns: whole(seconds * 1e9) };
        let (read, write) = if reads { (Some(main), None) } else { (mixed, Some(main)) };
        Ok(Some(Measured {
            file: source.path.clone(),
            format: FORMAT,
            folders: source.folders.clone(),
            place: None,
            job: self.text("label").unwrap_or("elbencho").to_owned(),
            engine: EngineKind::Fio,
            options: self.levels(&options)?,
            ask: Ask::Options(options),
            started_unix_ms: source.modified_unix_ms,
            outcome: Outcome::Measured,
            notes: Vec::new(),
            output: EngineOutput {
                input: self.text("command").unwrap_or_default().to_owned(),
                raw: self.line.to_owned(),
                read,
                write,
                shared_files: self.count("threads")? > 1
                    && self.is_on("shared paths")
                    && self.count("files")? <= 1,
                ..EngineOutput::new(version, window)
            },
        }))
    }

    fn is_on(&self, column: &str) -> bool {
        self.text(column).is_some_and(|value| value != "0")
    }

    fn totals(&self, columns: &Columns, seconds: f64) -> Result<Option<Totals>, ReadError> {
        let (iops, rate) = (self.number(columns.iops)?, self.number(columns.rate)?);
        let (Some(iops), Some(rate)) = (iops.filter(|n| *n > 0.0), rate) else { return Ok(None) };
        let moved = self.number(columns.moved)?.unwrap_or(rate * seconds) * MIB;
        Ok(Some(Totals {
            ios: whole(iops * seconds),
            bytes: whole(moved),
            seconds,
            iops,
            bytes_per_second: rate * MIB,
            latency: LatencyHistogram::default(),
            latency_mean_ns: self.number(columns.latency)?.map(|us| us * 1e3),
        }))
    }

    /// The options in fio's terms: elbencho's synchronous I/O at a depth of 1, else libaio.
    fn options(&self, reads: bool, mixed: Option<(&Totals, &Totals)>) -> Result<Options, ReadError> {
        let rw = match (reads, mixed.is_some(), self.is_on("random")) {
            (_, true, false) => Rw::Rw,
            (_, true, true) => Rw::Randrw,
            (true, _, false) => Rw::Read,
            (true, _, true) => Rw::Randread,
            (false, _, false) => Rw::Write,
            (false, _, true) => Rw::Randwrite,
        };
        let small = |n: u64| u32::try_from(n.max(1)).unwrap_or(u32::MAX);
        let depth = small(self.count("IO depth")?);
        let files = self.count("files")?.max(1).saturating_mul(self.count("dirs")?.max(1));
        let share = mixed.map_or(50.0, |(read, write)| 100.0 * read.iops / (read.iops + write.iops));
        Ok(Options {
            rwmixread: u8::try_from(whole(share)).unwrap_or(100),
            iodepth: depth,
            numjobs: small(self.count("threads")?.saturating_mul(self.count("hosts")?.max(1))),
            direct: self.is_on("direct IO"),
            ioengine: if depth > 1 { "libaio" } else { "psync" }.to_owned(),
            nrfiles: small(files),
            time_based: false,
            ..Options::new(rw, self.count("block size")?, self.count("file size")?.saturating_mul(files))
        })
    }

    /// The options as text.
    fn levels(&self, options: &Options) -> Result<BTreeMap<String, String>, ReadError> {
        let mut levels = crate::fio::options::texts(options);
        levels.insert("hosts".to_owned(), self.count("hosts")?.max(1).to_string());
        levels.insert("threads".to_owned(), self.count("threads")?.to_string());
        levels.remove("numjobs");
        Ok(levels)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "negative numbers are refused, and large ones are cut"
)]
fn whole(value: f64) -> u64 {
    value.max(0.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::{is, read};
    use crate::error::ReadError;
    use crate::measured::Found;
    use crate::source::Source;
    use record::workload::{Ask, Rw};

    const HEADER: &str = "ISO date,label,path type,paths,hosts,threads,dirs,files,file size,block size,direct IO,random,random aligned,IO depth,shared paths,truncate,operation,time ms [first],time ms [last],IOPS [first],IOPS [last],MiB/s [first],MiB/s [last],MiB [first],MiB [last],IO lat us [min],IO lat us [avg],IO lat us [max],version,command";
    const MKDIRS: &str = "2026-01-01T00:00:00+0000,nas,dir,1,2,4,1,1,1073741824,1048576,1,0,,8,1,0,MKDIRS,0,0,,,,,,,,,,3.0-1,\"elbencho\" \"-d\"";
    const WRITE: &str = "2026-01-01T00:00:01+0000,nas,dir,1,2,4,1,1,1073741824,1048576,1,0,,8,1,0,WRITE,9000,10000,900,800,900,800,7900,8000,402,588,4958,3.0-1,\"elbencho\" \"-w\" \"a,b\"";

    fn source(rows: &[&str]) -> Source {
        Source {
            path: "e.csv".to_owned(),
            text: format!("{HEADER}\n{}\n", rows.join("\n")),
            ..Source::default()
        }
    }

    #[test]
    fn phases_that_move_data_are_trials() {
        let file = source(&[MKDIRS, WRITE]);
        assert!(is(&file));
        let Ok(Found::Trials(trials)) = read(&file) else { panic!("no trials") };
        let [trial] = trials.as_slice() else { panic!("{trials:?}") };
        let write = trial.output.write.as_ref().unwrap();
        assert_eq!((write.ios, write.bytes, write.iops), (8000, 8000 << 20, 800.0), "as of the last thread");
        assert_eq!(write.latency_mean_ns, Some(588_000.0));
        assert_eq!(write.bytes_per_second, 800.0 * 1_048_576.0);
        let Ask::Options(options) = &trial.ask else { panic!("no options") };
        assert_eq!((options.rw, options.numjobs, options.iodepth, options.direct), (Rw::Write, 8, 8, true));
        assert_eq!((trial.job.as_str(), trial.output.engine.as_str()), ("nas", "elbencho-3.0-1"));
        assert!(trial.output.input.contains("a,b"), "the command is whole: {}", trial.output.input);
    }

    #[test]
    fn what_is_missing_or_no_number_is_named() {
        assert_eq!(read(&source(&[MKDIRS])), Err(ReadError::NothingDone));
        let broken = read(&source(&[&WRITE.replace(",900,800,900,800,", ",900,x,900,800,")])).unwrap_err();
        assert_eq!(broken.to_string(), "line 2: \"IOPS [last]\" is \"x\", which is not a number");
        let file = Source { text: HEADER.replace("IOPS [last]", "other"), ..source(&[]) };
        assert_eq!(read(&file), Err(ReadError::NoColumn { column: "IOPS [last]" }));
    }
}
