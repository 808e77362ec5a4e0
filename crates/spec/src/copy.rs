//! Workloads of the `corpus` engine: what is copied, by which program, in which order.

use crate::diagnostic::printable;
use crate::fields::{Fields, list};
use crate::problems::Problems;
use crate::scope::Scope;
use crate::tree::Node;
use crate::value;
use crate::vocabulary::{COPIERS, COPIES, COPY_SYNC, ORDERS, PRESERVE};
use record::copy::{Copier, Copies, CopyAsk, CopyOrder, CopySync, Corpus, CorpusKind, Preserve};
use std::fmt;
use std::path::PathBuf;

/// Keys that only a copy has.
pub(crate) const OWN: &[&str] =
    &["corpus", "files", "scale", "writers", "copies", "order", "copier", "preserve", "seed"];
/// Keys that other workloads have too, with a different meaning in a copy.
const SHARED: &[&str] = &["with", "engine", "sync", "verify"];
/// The most files of a generated corpus.
const MOST_FILES: u64 = 100_000_000;
/// The most writers.
const MOST_WRITERS: u64 = 256;

/// A request that a copier can't fulfil.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopierLack {
    /// The key of the request.
    pub key: &'static str,
    copier: Copier,
    why: &'static str,
}

impl fmt::Display for CopierLack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`copier: {}` {}; use copier: native", self.copier.name(), self.why)
    }
}

/// Returns what the requested copier can't do. The engine calls the same function just before the copy.
#[must_use]
pub fn copier_lacks(ask: &CopyAsk) -> Option<CopierLack> {
    let copier = ask.copier;
    let lack = |key, why| Some(CopierLack { key, copier, why });
    let whole = Preserve { xattrs: ask.preserve.xattrs, ..Preserve::default() };
    let only = |order| ask.order.iter().all(|asked| *asked == order);
    match copier {
        Copier::Native if ask.order.contains(&CopyOrder::Listed) => Some(CopierLack {
            key: "order",
            copier: Copier::Native,
            why: "has the source in memory, sorted by name: `order: listed` is that of a program",
        }),
        Copier::Native => None,
        _ if ask.sync == CopySync::File => lack("sync", "can't flush file by file (`sync: file`)"),
        _ if ask.preserve != whole => lack("preserve", "always keeps mode, owner and mtime"),
        Copier::Cp if !only(CopyOrder::Listed) => {
            lack("order", "goes as directories list their files: leave `order` out")
        }
        Copier::Cp if ask.copies == Copies::One && ask.writers > 1 => {
            lack("copies", "always copies all of it, so several can't divide one copy (`copies: one`)")
        }
        Copier::Rsync if !only(CopyOrder::Ascending) => {
            lack("order", "sorts names by itself: only `order: ascending`")
        }
        Copier::Cpio if ask.preserve.xattrs => lack("preserve", "doesn't keep extended attributes"),
        Copier::Cpio | Copier::Tar if ask.order.contains(&CopyOrder::Listed) => {
            lack("order", "gets its names from diskproof: `order: listed` is the order of `cp`")
        }
        _ => None,
    }
}

/// Reads the options of one combination.
pub(crate) fn read(
    fields: &Fields<'_>,
    place: crate::source::Span,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<CopyAsk> {
    let mut sound = true;
    for (key, _) in fields.entries() {
        let name = key.text.as_str();
        if !OWN.contains(&name) && !SHARED.contains(&name) {
            problems
                .add(key.span, format!("the corpus engine does not know `{}`", printable(name, 40)))
                .expected(format!("beside `engine: corpus` any of {}, sync, verify", OWN.join(", ")))
                .help("a copy ends when all is copied: it has neither a depth nor a length of time");
            sound = false;
        }
    }
    let corpus = corpus(fields, place, scope, problems);
    let word = |name, words: &'static [&'static str], problems: &mut Problems<'_>| match fields.get(name) {
        Some(node) => value::choice(node, words, scope, problems),
        None => words.first().copied(),
    };
    let copier = word("copier", COPIERS, problems).map(|word| match word {
        "cpio" => Copier::Cpio,
        "cp" => Copier::Cp,
        "rsync" => Copier::Rsync,
        "tar" => Copier::Tar,
        _ => Copier::Native,
    });
    let copies =
        word("copies", COPIES, problems).map(|word| if word == "one" { Copies::One } else { Copies::Each });
    let sync = word("sync", COPY_SYNC, problems).map(|word| match word {
        "file" => CopySync::File,
        "none" => CopySync::None,
        _ => CopySync::End,
    });
    let writers = match fields.get("writers") {
        Some(node) => {
            value::integer(node, 1..=MOST_WRITERS, scope, problems).and_then(|n| u32::try_from(n).ok())
        }
        None => Some(1),
    };
    let verify = match fields.get("verify") {
        Some(node) => value::switch(node, scope, problems),
        None => Some(true),
    };
    let default = if copier == Some(Copier::Cp) { CopyOrder::Listed } else { CopyOrder::Ascending };
    let order = match fields.get("order") {
        Some(node) => list(node).iter().map(|node| order(node, scope, problems)).collect::<Option<Vec<_>>>(),
        None => Some(vec![default]),
    };
    let preserve = preserve(fields.get("preserve"), scope, problems);
    let ask = CopyAsk {
        corpus: corpus?,
        copier: copier?,
        writers: writers?,
        copies: copies?,
        order: order.filter(|order| !order.is_empty())?,
        sync: sync?,
        preserve: preserve?,
        verify: verify?,
    };
    if let Some(lack) = copier_lacks(&ask) {
        let key = fields.key(lack.key).or_else(|| fields.key("copier"));
        let message = format!("`copier: {}` {}", lack.copier.name(), lack.why);
        problems.add(key.map_or(place, |key| key.span), message).help("use `copier: native`");
        return None;
    }
    sound.then_some(ask)
}

/// Reads the corpus.
fn corpus(
    fields: &Fields<'_>,
    place: crate::source::Span,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Corpus> {
    const EXPECTED: &str = "mail, source-tree, photos, or the absolute path of a directory";
    let Some(node) = fields.get("corpus") else {
        problems.add_missing(place, "a workload of `engine: corpus` needs `corpus`").expected(EXPECTED);
        return None;
    };
    let text = value::text(node, EXPECTED, scope, problems)?;
    let kind = match text.as_str() {
        "mail" => CorpusKind::Mail,
        "source-tree" => CorpusKind::SourceTree,
        "photos" => CorpusKind::Photos,
        path if path.starts_with('/') => {
            for name in ["files", "scale", "seed"] {
                if let Some(key) = fields.key(name) {
                    problems
                        .add(key.span, format!("`{name}` of a directory: all of it is copied"))
                        .help("leave it out, or let a corpus be generated: `corpus: mail`");
                    return None;
                }
            }
            return Some(Corpus::Directory { path: PathBuf::from(path) });
        }
        _ => {
            problems
                .add(node.span, format!("`{}` is not a corpus", printable(&text, 40)))
                .expected(EXPECTED)
                .suggest(&text, ["mail", "source-tree", "photos"]);
            return None;
        }
    };
    let files = match (fields.get("files"), fields.get("scale")) {
        (Some(_), Some(_)) => {
            let span = fields.key("scale").map_or(place, |key| key.span);
            problems.add(span, "`files` and `scale` cannot both be given").help("keep one of them");
            return None;
        }
        (Some(node), None) => value::integer(node, 1..=MOST_FILES, scope, problems)?,
        (None, Some(node)) => scaled(node, kind, scope, problems)?,
        (None, None) => kind.full_scale(),
    };
    let seed = match fields.get("seed") {
        Some(node) => value::integer(node, 0..=u64::from(u32::MAX), scope, problems)?,
        None => 1,
    };
    Some(Corpus::Generated { kind, files, seed, size_bytes: files.saturating_mul(kind.mean_bytes()) })
}

/// Returns the number of files in a part of the whole corpus.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "files are counted in millions at most"
)]
fn scaled(node: &Node, kind: CorpusKind, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<u64> {
    let ratio = value::ratio(node, scope, problems)?;
    let files = (ratio * kind.full_scale() as f64).round() as u64;
    if (1..=MOST_FILES).contains(&files) {
        return Some(files);
    }
    problems
        .add(node.span, format!("{} is out of range", node.kind()))
        .expected(format!("a share of {} files, e.g. `10%`", kind.full_scale()));
    None
}

fn order(node: &Node, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<CopyOrder> {
    Some(match value::choice(node, ORDERS, scope, problems)? {
        "descending" => CopyOrder::Descending,
        "interleaved" => CopyOrder::Interleaved,
        "random" => CopyOrder::Random,
        "listed" => CopyOrder::Listed,
        _ => CopyOrder::Ascending,
    })
}

fn preserve(node: Option<&Node>, scope: &Scope<'_>, problems: &mut Problems<'_>) -> Option<Preserve> {
    let Some(node) = node else { return Some(Preserve::default()) };
    let mut preserve = Preserve { mode: false, owner: false, mtime: false, xattrs: false };
    for node in list(node) {
        match value::choice(node, PRESERVE, scope, problems)? {
            "mode" => preserve.mode = true,
            "owner" => preserve.owner = true,
            "mtime" => preserve.mtime = true,
            "xattrs" => preserve.xattrs = true,
            _ => {}
        }
    }
    Some(preserve)
}

/// Refuses keys of a copy in another workload.
pub(crate) fn refuse(fields: &Fields<'_>, engine: &str, problems: &mut Problems<'_>) -> Option<()> {
    let foreign: Vec<_> =
        fields.entries().iter().filter(|(key, _)| OWN.contains(&key.text.as_str())).collect();
    for (key, _) in &foreign {
        problems
            .add(
                key.span,
                format!("`{}` belongs to `engine: corpus`, and this workload is {engine}'s", key.text),
            )
            .help("write `engine: corpus` to copy a tree of files, or leave it out");
    }
    let bonnie = fields.key("bonnie").filter(|_| engine != "Bonnie++");
    if let Some(key) = bonnie {
        problems
            .add(key.span, format!("`bonnie` belongs to `engine: bonnie`, and this workload is {engine}'s"))
            .help("write `engine: bonnie`, or leave it out");
    }
    (foreign.is_empty() && bonnie.is_none()).then_some(())
}
