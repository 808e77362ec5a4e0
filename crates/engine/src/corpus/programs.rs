//! Copy programs, for comparison: cpio, cp, rsync, tar. They start without a shell; a pipe of ours joins two `tar`.

use super::order;
use super::task::{Failure, Report, Source, Task, Word, WriterTask};
use super::tree::{Kind, Tree};
use crate::native::clock::{monotonic_ns, seconds};
use record::copy::{CopiedBy, Copier, CopyOrder, Preserve};
use record::printable::Shown as _;
use rustix::process::Signal;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The program of a copier; `None` for native.
pub(crate) fn tool(copier: Copier) -> Option<host::Tool> {
    match copier {
        Copier::Native => None,
        Copier::Cpio => Some(host::Tool::Cpio),
        Copier::Cp => Some(host::Tool::Cp),
        Copier::Rsync => Some(host::Tool::Rsync),
        Copier::Tar => Some(host::Tool::Tar),
    }
}

/// The commands of one writer.
pub(crate) fn argv(
    copier: Copier,
    program: &Path,
    source: &Path,
    copy: &Path,
    list: &Path,
    keep: Preserve,
) -> Vec<Vec<Word>> {
    let words = |words: &[&dyn AsRef<Path>]| -> Vec<Word> {
        let first = program.to_owned();
        std::iter::once(first).chain(words.iter().map(|word| Word::from(word.as_ref()))).collect()
    };
    match copier {
        Copier::Native => Vec::new(),
        Copier::Cp => vec![words(&[&"-a", &"--no-target-directory", &source, &copy])],
        Copier::Cpio => {
            // cpio reads names relative to its working directory: the worker starts it in the source.
            let options: [&dyn AsRef<Path>; 6] = [
                &"--null",
                &"--pass-through",
                &"--preserve-modification-time",
                &"--make-directories",
                &"--quiet",
                &copy,
            ];
            vec![words(&options)]
        }
        Copier::Rsync => {
            let from = source.join("");
            let mut all = words(&[&"-a", &"--from0"]);
            all.extend(["--files-from".into(), list.to_owned()]);
            if keep.xattrs {
                all.push("-X".into());
            }
            all.extend([from, copy.join("")]);
            vec![all]
        }
        Copier::Tar => {
            let mut out =
                words(&[&"--create", &"--file=-", &"--numeric-owner", &"--null", &"--no-recursion"]);
            let mut into = words(&[&"--extract", &"--file=-", &"--preserve-permissions", &"--numeric-owner"]);
            if keep.xattrs {
                out.extend(["--xattrs".into(), "--xattrs-include=*".into()]);
                into.extend(["--xattrs".into(), "--xattrs-include=*".into()]);
            }
            let at = |place: &Path| [Word::from("--directory"), place.to_owned()];
            out.extend(at(source));
            out.extend([Word::from("--files-from"), list.to_owned()]);
            into.extend(at(copy));
            vec![out, into]
        }
    }
}

/// Writes the names that a writer copies, each ended by a zero byte: every directory before its contents.
pub(crate) fn write_list(
    tree: &Tree,
    order: CopyOrder,
    part: (u32, u32),
    seed: u64,
    path: &Path,
) -> io::Result<()> {
    let mut out = Vec::new();
    let directories = tree.entries.iter().filter(|entry| entry.kind == Kind::Directory);
    let files = order::places(tree, order, part, seed);
    for entry in directories.chain(files.iter().map(|place| &tree.entries[*place])) {
        out.extend_from_slice(entry.path.as_os_str().as_bytes());
        out.push(0);
    }
    File::create(path)?.write_all(&out)
}

fn source(task: &Task) -> Result<&Path, Failure> {
    match &task.source {
        Source::Pack { tree: Some(path), .. } | Source::Directory(path) => Ok(path),
        Source::Pack { path, .. } => {
            Err(Failure { errno: "ENOENT".into(), place: format!("no files of {}", path.shown()) })
        }
    }
}

/// Prepares what the programs need before the clock starts: the source in the page cache, and their lists of names.
pub(crate) fn prepare(task: &Task, tree: &Tree) -> Result<(), Failure> {
    warm(tree, source(task)?)?;
    for writer in &task.writers {
        let Some(list) = &writer.list else { continue };
        write_list(tree, writer.order, writer.part, task.seed, list)
            .map_err(|error| Failure::of_io("write", list, &error))?;
    }
    Ok(())
}

/// Runs the commands of all writers at once and waits for them.
pub(crate) fn copy(task: &Task, tree: &Tree, report: &mut Report) -> Result<(), Failure> {
    let source = source(task)?;
    report.start_ns = monotonic_ns();
    let mut running = Vec::new();
    for (number, writer) in task.writers.iter().enumerate() {
        running.push(start(writer, source, &task.scratch.join(format!("copier.{number}")))?);
    }
    let mut first = None;
    for (writer, children) in task.writers.iter().zip(running) {
        let failures: Vec<Failure> =
            children.into_iter().filter_map(|child| wait(child, &mut report.messages)).collect();
        let files = order::places(tree, writer.order, writer.part, task.seed);
        let bytes = files.iter().map(|place| tree.content(&tree.entries[*place]).len() as u64).sum();
        let count =
            files.iter().filter(|place| matches!(tree.entries[**place].kind, Kind::File { .. })).count();
        report.writers.push(CopiedBy {
            files: count as u64,
            bytes,
            seconds: seconds(report.start_ns, monotonic_ns()),
        });
        for failure in failures {
            match first {
                None => first = Some(failure),
                Some(_) => report.failures.push(failure),
            }
        }
    }
    first.map_or(Ok(()), Err)
}

/// Reads the whole source into the page cache, so that only the copy is measured.
fn warm(tree: &Tree, source: &Path) -> Result<(), Failure> {
    let mut buffer = vec![0; 1 << 20];
    for entry in &tree.entries {
        let path = source.join(&entry.path);
        let Kind::File { .. } = entry.kind else { continue };
        let read = || -> io::Result<()> {
            let mut file = File::open(&path)?;
            while io::Read::read(&mut file, &mut buffer)? > 0 {}
            Ok(())
        };
        let mut read = read;
        read().map_err(|error| Failure::of_io("read", &path, &error))?;
    }
    Ok(())
}

/// A running command, and the file for its standard error: a pipe could fill up while nobody reads it.
struct Running {
    name: String,
    child: Child,
    said: PathBuf,
}

fn start(writer: &WriterTask, source: &Path, said: &Path) -> Result<Vec<Running>, Failure> {
    let mut children = Vec::new();
    let mut input: Option<Stdio> = match writer.list.as_ref().filter(|_| writer.list_as_input) {
        Some(list) => Some(File::open(list).map_err(|error| Failure::of_io("open", list, &error))?.into()),
        None => None,
    };
    let last = writer.argv.len().saturating_sub(1);
    for (number, argv) in writer.argv.iter().enumerate() {
        let Some((program, rest)) = argv.split_first() else { continue };
        let mut command = Command::new(program);
        command
            .args(rest)
            .env_clear()
            .env("LC_ALL", "C")
            .current_dir(source)
            .stdin(input.take().unwrap_or_else(Stdio::null));
        let said = said.with_extension(format!("{number}.stderr"));
        let complaints = File::create(&said).map_err(|error| Failure::of_io("create", &said, &error))?;
        command.stdout(if number < last { Stdio::piped() } else { Stdio::null() }).stderr(complaints);
        die_with_us(&mut command);
        let mut child = command.spawn().map_err(|error| Failure::of_io("run", program, &error))?;
        input = child.stdout.take().map(Stdio::from);
        let name = program.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
        children.push(Running { name, child, said });
    }
    Ok(children)
}

/// Makes the kernel end a copier when the worker is killed.
#[expect(unsafe_code, reason = "must be set between fork and exec; only pre_exec runs there")]
fn die_with_us(command: &mut Command) {
    // SAFETY: after the fork it makes one system call, and allocates or locks nothing.
    unsafe {
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
}

/// Waits for a command, and returns its error.
fn wait(mut running: Running, messages: &mut Vec<String>) -> Option<Failure> {
    let status = match running.child.wait() {
        Ok(status) => status,
        Err(error) => return Some(Failure::of_io("wait for", Path::new(&running.name), &error)),
    };
    let said = first_of(&running.said);
    messages.extend(said.lines().take(20).map(|line| format!("{}: {line}", running.name)));
    if status.success() {
        return None;
    }
    let full = said.contains("No space left on device");
    let errno = if full { "ENOSPC".to_owned() } else { status.to_string() };
    Some(Failure { errno, place: running.name })
}

/// The beginning of its output.
fn first_of(path: &Path) -> String {
    let mut bytes = Vec::new();
    if let Ok(file) = File::open(path) {
        let _ = io::Read::read_to_end(&mut io::Read::take(file, 64 << 10), &mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
