//! What Bonnie++ is asked to do, in words.

use record::bonnie::BonnieAsk;
use record::quantity::Bytes;

pub(super) fn in_words(bonnie: &BonnieAsk) -> Vec<String> {
    let mut words = vec!["Bonnie++".to_owned()];
    if bonnie.size_bytes > 0 {
        words.push(format!("{} of data", Bytes(bonnie.size_bytes)));
    }
    if bonnie.files > 0 {
        words.push(format!("{} files", bonnie.files));
    }
    if bonnie.concurrency > 1 {
        words.push(format!("{} at once", bonnie.concurrency));
    }
    words
}
