//! Results that diskproof recognizes and doesn't read, each with the way out.

use crate::error::{JOB_FILE, ReadError};

/// A tool, or a form of its results.
struct Foreign {
    what: &'static str,
    /// Each of these texts stands in the head of its files.
    marks: &'static [&'static str],
    way_out: &'static str,
}

const SAME_LOAD: &str = "measure the same load with a fio job, or with diskproof itself (`diskproof new`)";

const FOREIGN: &[Foreign] = &[
    Foreign { what: "a report of vdbench", marks: &["vdbench distribution"], way_out: SAME_LOAD },
    Foreign {
        what: "a report of IOR",
        marks: &["ior-", "mpi coordinated test of parallel i/o"],
        way_out: "measure one client with a fio job; diskproof doesn't run MPI",
    },
    Foreign {
        what: "a report of sysbench",
        marks: &["sysbench ", "latency (ms):"],
        way_out: "its fileio test is a fio job with sync=none and fsync=100; it reports no histogram and no direct I/O",
    },
    Foreign {
        what: "benchmark data of warp",
        marks: &["idx\tthread\top"],
        way_out: "warp measures object stores, diskproof block devices and file systems",
    },
    Foreign {
        what: "a report of warp",
        marks: &["warp: benchmark data"],
        way_out: "warp measures object stores, diskproof block devices and file systems",
    },
    Foreign {
        what: "elbencho's live CSV",
        marks: &["label,phase,runtimems,rank"],
        way_out: "it contains no options; import the file that elbencho writes with --csvfile",
    },
    Foreign {
        what: "fio's terse output",
        marks: &[";fio-", ";0;0;"],
        way_out: "run fio with --output-format=json+ (several formats at once: --output-format=terse,json+)",
    },
    Foreign {
        what: "fio's output for people",
        marks: &["(g=0): rw="],
        way_out: "its figures are rounded; run fio with --output-format=json+ (both at once: --output-format=normal,json+)",
    },
    Foreign {
        what: JOB_FILE,
        marks: &["[global]\n"],
        way_out: "it is not a result; `diskproof run FILE --on DIR` runs it",
    },
];

/// Bytes of the head in which the marks stand.
const HEAD: usize = 16 << 10;

/// The refusal of a text, if it is one of these results.
pub(crate) fn refusal(text: &str) -> Option<ReadError> {
    let end = (0..=HEAD.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let head = text[..end].to_ascii_lowercase();
    let found = FOREIGN.iter().find(|foreign| foreign.marks.iter().all(|mark| head.contains(mark)))?;
    Some(ReadError::Refused { what: found.what, way_out: found.way_out })
}

#[cfg(test)]
mod tests {
    use super::refusal;

    #[test]
    fn other_tools_are_named_with_the_way_out() {
        for (text, what, way_out) in [
            ("Copyright (c) 2000, 2018, Oracle\nVdbench distribution: vdbench50407\n", "vdbench", "fio job"),
            ("IOR-3.3.0: MPI Coordinated Test of Parallel I/O\nBegan: ...\n", "IOR", "MPI"),
            (
                "sysbench 1.0.20 (using system LuaJIT)\n\nFile operations:\nLatency (ms):\n",
                "sysbench",
                "fsync=100",
            ),
            ("idx\tthread\top\tclient_id\tn_objects\n0\t1\tGET\n", "warp", "object stores"),
            ("warp: Benchmark data written to \"x.csv.zst\"\n", "warp", "object stores"),
            ("Label,Phase,RuntimeMS,Rank,MixType\n,WRITE,5002,Total,\n", "elbencho", "--csvfile"),
            ("3;fio-3.33;job;0;0;1234;5\n", "terse", "json+"),
            ("job: (g=0): rw=randread, bs=(R) 4096B\nfio-3.33\n", "for people", "json+"),
            ("[global]\nrw=read\n[a]\n", "job file", "--on DIR"),
        ] {
            let said = refusal(text).unwrap().to_string();
            assert!(said.contains(what) && said.contains(way_out), "{said}");
        }
        assert_eq!(refusal("anything else"), None);
    }
}
