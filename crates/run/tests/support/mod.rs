//! The agent process as these tests speak to it.

use diskproof_run::node::serve;
use diskproof_run::protocol::{Reply, Request};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;

/// Sends the requests one by one, each after the answer to the one before.
pub(crate) fn talk(state: &Path, requests: &[Request]) -> Vec<Reply> {
    let (input, mut ask) = std::io::pipe().unwrap();
    let (hear, output) = std::io::pipe().unwrap();
    let state = state.to_path_buf();
    let node = std::thread::spawn(move || serve(BufReader::new(input), output, &state));
    let mut heard = BufReader::new(hear).lines();
    let mut answers = Vec::new();
    for request in requests {
        writeln!(ask, "{}", serde_json::to_string(request).unwrap()).unwrap();
        let replies = heard.by_ref().map(|reply| serde_json::from_str(&reply.unwrap()).unwrap());
        answers.extend(replies.filter(|reply| !matches!(reply, Reply::Event { .. })).take(1));
    }
    drop(ask);
    node.join().unwrap().unwrap();
    answers
}
