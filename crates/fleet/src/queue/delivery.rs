//! Delivery of a block's results, trial by trial: one JSON document a line, to the submitter over ssh, or into a file.
//!
//! Over ssh the submitter answers each line with one of its own. After [`Answer::Kept`] the trial is on its stable storage. When the
//! connection breaks, it is made again, and what was not answered is sent again: the submitter refuses what it has already.

use super::block::{Descriptor, Submitter};
use super::error::QueueError;
use host::Ssh;
use record::environment::Environment;
use record::id::{CellId, RunId};
use record::trial::TrialRecord;
use record::volume::VolumeFacts;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Write};
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

/// The format of the lines.
const FORMAT: &str = "diskproof.results/1.0";
/// Seconds to wait before each further attempt to reach the submitter.
const WAITS: [u64; 5] = [1, 2, 5, 15, 30];

/// A line of results.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub enum Line {
    /// The block that the lines after it belong to.
    Begin(Begin),
    /// The machine.
    Machine {
        /// As found before the block.
        environment: Box<Environment>,
    },
    /// The volumes.
    Volumes {
        /// As found before the block.
        volumes: Vec<VolumeFacts>,
    },
    /// A finished trial.
    Trial {
        /// Its record.
        record: Box<TrialRecord>,
    },
}

/// The begin of a block.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// `diskproof.results/1.0`.
    pub format: String,
    /// The run.
    pub run: RunId,
    /// The block's id.
    pub block: String,
    /// The round, from 0.
    pub round: u32,
    /// The target.
    pub target: String,
    /// SHA-256 of the plan's JSON.
    pub plan_digest: String,
    /// Whether the sender needs the plan.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wants_plan: bool,
}

impl Begin {
    /// The begin of a block's results.
    #[must_use]
    pub fn of(block: &Descriptor) -> Self {
        Self {
            format: FORMAT.to_owned(),
            run: block.run.clone(),
            block: block.block.clone(),
            round: block.round,
            target: block.target.clone(),
            plan_digest: block.plan_digest.clone(),
            wants_plan: block.plan.is_none(),
        }
    }

    /// Whether this version reads its lines.
    #[must_use]
    pub fn is_readable(&self) -> bool {
        self.format == FORMAT
    }
}

/// The submitter's answer to a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// To [`Line::Begin`].
    Accepted(Accepted),
    /// It is stored.
    Kept,
    /// The trial is stored already, from an earlier attempt; this one is not.
    Duplicate,
    /// The line is not stored.
    Refused {
        /// Why.
        reason: String,
        /// Whether the block is wrong, so that every sender is refused.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        everywhere: bool,
    },
}

/// What the submitter has of a block.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Accepted {
    /// The cells that it has a trial of.
    #[serde(default)]
    pub done: BTreeSet<CellId>,
    /// The packed plan, if the sender wanted it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<String>,
}

/// Where results go.
pub trait Delivery {
    /// Begins a block.
    ///
    /// # Errors
    /// They can't be delivered, or the submitter refuses them.
    fn begin(&mut self, begin: &Begin) -> Result<Accepted, QueueError>;

    /// Delivers a line; `false` if the submitter has the trial already.
    ///
    /// # Errors
    /// As [`Self::begin`].
    fn send(&mut self, line: &Line) -> Result<bool, QueueError>;
}

/// Lines in a file, or on standard output.
#[derive(Debug)]
pub struct Lines {
    out: File,
    name: PathBuf,
    /// Whether each trial is to be on stable storage before the next begins.
    durable: bool,
}

impl Lines {
    /// Makes a new file for a block in a folder, which may be shared: no other process writes to it.
    ///
    /// # Errors
    /// It can't be made.
    pub fn in_folder(folder: &std::path::Path, block: &Descriptor, host: &str) -> Result<Self, QueueError> {
        let base = folder.join(format!("{}.{host}.{}", block.block, std::process::id()));
        let mut n = 0;
        loop {
            let path = PathBuf::from(format!("{}.{n}.ndjson", base.to_string_lossy()));
            let made = std::fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
            match made {
                Ok(out) => return Ok(Self { out, name: path, durable: true }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && n < 1000 => n += 1,
                Err(source) => return Err(QueueError::Write { path, source }),
            }
        }
    }

    /// Writes to an open file, e.g. a copy of standard output.
    #[must_use]
    pub fn to(out: File) -> Self {
        Self { out, name: PathBuf::from("standard output"), durable: false }
    }

    fn write(&mut self, line: &Line) -> Result<(), QueueError> {
        let written = text(line).and_then(|text| self.out.write_all(&text));
        let kept = written.and_then(|()| if self.durable { self.out.sync_data() } else { Ok(()) });
        kept.map_err(|source| QueueError::Write { path: self.name.clone(), source })
    }
}

impl Delivery for Lines {
    fn begin(&mut self, begin: &Begin) -> Result<Accepted, QueueError> {
        self.write(&Line::Begin(begin.clone()))?;
        Ok(Accepted::default())
    }

    fn send(&mut self, line: &Line) -> Result<bool, QueueError> {
        self.write(line).map(|()| true)
    }
}

/// The submitter's store, over ssh.
#[derive(Debug)]
pub struct Remote {
    argv: Vec<OsString>,
    name: String,
    begin: Option<Begin>,
    pipe: Option<Pipe>,
    waits: &'static [u64],
}

impl Remote {
    /// The way to a submitter. Connects when the first line is sent.
    #[must_use]
    pub fn to(submitter: &Submitter, ssh: &Ssh) -> Self {
        let program = [submitter.program.as_str(), "--store", &submitter.store, "job", "receive"];
        Self::over(ssh.argv(&program), &submitter.ssh)
    }

    fn over(argv: Vec<OsString>, name: &str) -> Self {
        Self { argv, name: name.to_owned(), begin: None, pipe: None, waits: &WAITS }
    }

    /// Sends a line until it is answered, over a new connection where one breaks.
    fn ask(&mut self, line: &Line) -> Result<Answer, QueueError> {
        let mut waits = self.waits.iter();
        loop {
            let asked = self.connected().and_then(|()| match &mut self.pipe {
                Some(pipe) => pipe.ask(line),
                None => Err(io::ErrorKind::NotConnected.into()),
            });
            let error = match asked {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            let said = self.pipe.take().map(Pipe::end).filter(|said| !said.is_empty());
            let Some(seconds) = waits.next() else {
                let block = self.begin.as_ref().map(|begin| begin.block.clone()).unwrap_or_default();
                let said = said.unwrap_or_else(|| error.to_string());
                return Err(QueueError::NotDelivered { block, to: self.name.clone(), said });
            };
            std::thread::sleep(Duration::from_secs(*seconds));
        }
    }

    /// Connects if there is no connection, and says again which block the next lines belong to.
    fn connected(&mut self) -> io::Result<()> {
        if self.pipe.is_some() {
            return Ok(());
        }
        let mut pipe = Pipe::open(&self.argv)?;
        if let Some(begin) = &self.begin {
            pipe.ask(&Line::Begin(begin.clone()))?;
        }
        self.pipe = Some(pipe);
        Ok(())
    }

    fn refused(&self, reason: String, everywhere: bool) -> QueueError {
        let block = self.begin.as_ref().map(|begin| begin.block.clone()).unwrap_or_default();
        let reason = record::printable::printable(&reason).into_owned();
        QueueError::Refused { block, to: self.name.clone(), reason, everywhere }
    }
}

impl Delivery for Remote {
    fn begin(&mut self, begin: &Begin) -> Result<Accepted, QueueError> {
        self.begin = None;
        let answer = self.ask(&Line::Begin(begin.clone()));
        self.begin = Some(begin.clone());
        match answer? {
            Answer::Accepted(accepted) => Ok(accepted),
            Answer::Refused { reason, everywhere } => Err(self.refused(reason, everywhere)),
            Answer::Kept | Answer::Duplicate => {
                Err(self.refused("it gave no proper answer".to_owned(), false))
            }
        }
    }

    fn send(&mut self, line: &Line) -> Result<bool, QueueError> {
        match self.ask(line)? {
            Answer::Refused { reason, everywhere } => Err(self.refused(reason, everywhere)),
            answer => Ok(answer != Answer::Duplicate),
        }
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        if let Some(pipe) = self.pipe.take() {
            let _ = pipe.end();
        }
    }
}

/// A process that takes lines and answers them.
#[derive(Debug)]
struct Pipe {
    child: Child,
    input: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Pipe {
    fn open(argv: &[OsString]) -> io::Result<Self> {
        let Some((program, args)) = argv.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut child = Command::new(program)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // Ctrl-C ends the trial; what is finished must still be delivered.
            .process_group(0)
            .spawn()?;
        match (child.stdin.take(), child.stdout.take()) {
            (Some(input), Some(answers)) => Ok(Self { child, input, answers: BufReader::new(answers) }),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn ask(&mut self, line: &Line) -> io::Result<Answer> {
        self.input.write_all(&text(line)?)?;
        self.input.flush()?;
        let mut answer = String::new();
        if self.answers.read_line(&mut answer)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&answer).map_err(|_| {
            let answer: String = answer.trim().chars().take(200).collect();
            io::Error::other(format!("it answers `{}`", record::printable::printable(&answer)))
        })
    }

    /// Ends it and returns its last words.
    fn end(self) -> String {
        let Self { mut child, input, answers } = self;
        drop((input, answers));
        let mut said = String::new();
        if let Some(errors) = child.stderr.take() {
            let _ = io::Read::read_to_string(&mut io::Read::take(errors, 64 << 10), &mut said);
        }
        let _ = child.wait();
        if said.trim().is_empty() { String::new() } else { host::last_words(&said) }
    }
}

fn text(line: &Line) -> io::Result<Vec<u8>> {
    let mut text = serde_json::to_vec(line)?;
    text.push(b'\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Accepted, Begin, Delivery as _, Line, Lines, Remote};
    use crate::queue::block::Descriptor;
    use crate::queue::error::QueueError;
    use record::id::{CellId, RunId, TrialId};
    use record::trial::{Outcome, TrialRecord};
    use std::collections::BTreeSet;

    fn begin() -> Begin {
        Begin {
            format: super::FORMAT.to_owned(),
            run: RunId("r".to_owned()),
            block: "r.0.1".to_owned(),
            round: 1,
            target: "local".to_owned(),
            plan_digest: "d".to_owned(),
            wants_plan: false,
        }
    }

    fn trial() -> Line {
        let id = TrialId { cell: CellId("c".to_owned()), round: 1 };
        Line::Trial { record: Box::new(TrialRecord::new(id, 7, 1, Outcome::Measured)) }
    }

    fn remote(script: &str) -> Remote {
        let argv = ["sh", "-c", script].map(Into::into).to_vec();
        let mut remote = Remote::over(argv, "here");
        remote.waits = &[0, 0];
        remote
    }

    #[test]
    fn every_line_is_answered() {
        let mut remote = remote(
            r#"read a; echo '{"answer":"accepted","done":["x"]}'; read b; echo '{"answer":"kept"}'; read c; echo '{"answer":"duplicate"}'
               read d; echo '{"answer":"refused","reason":"no"}'"#,
        );
        let done = BTreeSet::from([CellId("x".to_owned())]);
        assert_eq!(remote.begin(&begin()).unwrap(), Accepted { done, plan: None });
        assert!(remote.send(&trial()).unwrap());
        assert!(!remote.send(&trial()).unwrap());
        let refused = remote.send(&trial()).unwrap_err();
        assert_eq!(refused.to_string(), "here refuses the results of block r.0.1: no");
    }

    #[test]
    fn a_connection_that_breaks_is_made_again_and_the_line_is_sent_again() {
        let dir = tempfile::tempdir().unwrap();
        let (seen, broke) = (dir.path().join("seen"), dir.path().join("broke"));
        // The first connection takes the trial and breaks before it answers.
        let script = format!(
            r#"read a; echo '{{"answer":"accepted"}}'; read b; echo "$b" >> {seen}
               [ -e {broke} ] || {{ touch {broke}; exit 1; }}; echo '{{"answer":"kept"}}'"#,
            seen = seen.to_str().unwrap(),
            broke = broke.to_str().unwrap()
        );
        let mut remote = remote(&script);
        remote.begin(&begin()).unwrap();
        assert!(remote.send(&trial()).unwrap());
        let seen = std::fs::read_to_string(seen).unwrap();
        let lines: Vec<Line> = seen.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, [trial(), trial()]);
    }

    #[test]
    fn who_can_not_be_reached_is_named_with_the_last_words() {
        let failed = remote("echo ssh: no route to host >&2; exit 255").begin(&begin()).unwrap_err();
        assert!(matches!(&failed, QueueError::NotDelivered { .. }));
        assert!(failed.to_string().ends_with("to here: no route to host"), "{failed}");
    }

    #[test]
    fn a_folder_has_a_file_of_its_own_for_every_attempt() {
        let dir = tempfile::tempdir().unwrap();
        let block: Descriptor = serde_json::from_str(
            r#"{"format":"diskproof.block/1.0","run":"r","block":"r.0.1","round":1,"target":"local","seed":1,"plan_digest":"d"}"#,
        )
        .unwrap();
        for _ in 0..2 {
            let mut lines = Lines::in_folder(&dir.path().join("new"), &block, "n1").unwrap();
            lines.begin(&Begin::of(&block)).unwrap();
            lines.send(&trial()).unwrap();
        }
        let files: Vec<_> =
            std::fs::read_dir(dir.path().join("new")).unwrap().map(|f| f.unwrap().path()).collect();
        assert_eq!(files.len(), 2);
        for file in files {
            let text = std::fs::read_to_string(file).unwrap();
            let lines: Vec<Line> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines[1..], [trial()]);
        }
    }
}
