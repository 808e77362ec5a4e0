//! `diskproof job receive`: stores results that come on standard input, and answers each line.

use super::taker::Taker;
use crate::commands::show;
use crate::exit::{Exit, Failure};
use crate::settings::Settings;
use fleet::queue::{Answer, Line};
use std::io::{BufRead, Read as _, Write as _};

/// Most bytes of a line: a trial of a day has tens of MB. A line without an end must not fill the memory.
const MOST: u64 = 1 << 30;

pub(super) fn receive(settings: &Settings) -> Result<Exit, Failure> {
    let store = show::open_existing(settings)?;
    let mut taker = Taker::new(&store);
    let (mut input, mut out) = (std::io::stdin().lock(), std::io::stdout().lock());
    while let Some(line) =
        next(&mut input).map_err(|error| Failure::machine(format!("standard input: {error}")))?
    {
        let answer = match serde_json::from_slice::<Line>(&line) {
            Ok(line) => taker.take(line),
            Err(error) => {
                Answer::Refused { reason: format!("the line can't be read: {error}"), everywhere: false }
            }
        };
        let mut answer = serde_json::to_vec(&answer).map_err(Failure::ours)?;
        answer.push(b'\n');
        if out.write_all(&answer).and_then(|()| out.flush()).is_err() {
            // The sender is gone. What is stored is stored; it asks for that when it comes again.
            break;
        }
    }
    Ok(Exit::Fine)
}

/// The next line with its end; `None` at the end of the input.
pub(super) fn next(input: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    input.take(MOST).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then_some(line))
}
