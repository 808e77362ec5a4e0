//! Several requests by one curl, which sends one after the other over the same connection. Starting a program and opening a connection
//! take longer than a small request.

use super::config::{Given, config};
use super::error::HttpError;
use super::exchange::{Curl, Taker, body_error, can_be_sent_to, conclude, nameless, path_of};
use super::request::{Body, Reply, Request};
use memchr::memmem;
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::AtomicBool;

/// Sends requests in their order, and returns their replies in the same order. `None`: no whole reply came. Then nobody knows whether the
/// server got the request, and curl sent no later one. No redirection is followed. A body is a whole file or bytes in memory. A file
/// that takes a reply begins anew.
///
/// # Errors
/// curl is missing, a request can't be sent this way, a reply is larger than its limit or can't be kept, or the user cancelled.
pub fn send_batch(requests: &[Request], cancel: &AtomicBool) -> Result<Vec<Option<Reply>>, HttpError> {
    let Some(first) = requests.first() else { return Ok(Vec::new()) };
    let mark = mark().map_err(body_error(first))?;
    let mut text = String::new();
    // curl opens them by this process's descriptors
    let mut bodies = Vec::new();
    for request in requests {
        let given = match body(request).map_err(body_error(request))? {
            Some(file) => {
                can_be_sent_to(request)?;
                let path = path_of(&file);
                bodies.push(file);
                Given::Upload(path)
            }
            None => Given::Nothing,
        };
        if !text.is_empty() {
            text.push_str("next\n");
        }
        text.push_str(&config(request, &given, None)?);
        text.push_str(&format!("fail-early\nwrite-out = \"\\\\n{mark} %{{exitcode}}\\\\n\"\n"));
    }
    let mut replies = Replies::new(requests, &mark);
    Curl::start(&text, None)?.converse(first, cancel, &mut |bytes| replies.take(bytes))?;
    drop(bodies);
    Ok(replies.finish())
}

/// Text that no server can guess, so that no reply holds it.
fn mark() -> io::Result<String> {
    let mut random = [0_u8; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn body(request: &Request) -> io::Result<Option<File>> {
    match &request.body {
        Body::None => Ok(None),
        Body::Bytes(bytes) => nameless(&bytes[..]).map(Some),
        Body::File { path, offset, bytes } => {
            let file = File::open(path)?;
            if *offset != 0 || *bytes != file.metadata()?.len() {
                return Err(io::Error::other("a batch sends whole files only"));
            }
            Ok(Some(file))
        }
    }
}

/// Cuts what curl prints at its marks.
struct Replies<'a> {
    mark: Vec<u8>,
    /// The end of what arrived: it may be the beginning of a mark.
    pending: Vec<u8>,
    coming: std::slice::Iter<'a, Request>,
    /// The reply that arrives now. `None`: there are no more, or it is none that HTTP knows.
    current: Option<(&'a Request, Taker<'a>)>,
    whole: Vec<Option<Reply>>,
    count: usize,
}

impl<'a> Replies<'a> {
    fn new(requests: &'a [Request], mark: &str) -> Self {
        let (mark, count) = (format!("\n{mark} ").into_bytes(), requests.len());
        let (coming, whole) = (requests.iter(), Vec::with_capacity(count));
        let mut all = Self { mark, pending: Vec::new(), coming, current: None, whole, count };
        all.begin();
        all
    }

    fn begin(&mut self) {
        self.current = self.coming.next().map(|request| (request, Taker::new(request, None)));
    }

    fn take(&mut self, bytes: &[u8]) -> Result<(), HttpError> {
        self.pending.extend_from_slice(bytes);
        loop {
            let found = memmem::find(&self.pending, &self.mark);
            let until = found.unwrap_or_else(|| self.pending.len().saturating_sub(self.mark.len() - 1));
            self.pass(until)?;
            if found.is_none() {
                return Ok(());
            }
            let status = &self.pending[self.mark.len()..];
            let Some(length) = status.iter().position(|byte| *byte == b'\n') else { return Ok(()) };
            let is_whole = &status[..length] == b"0";
            self.pending.drain(..=self.mark.len() + length);
            let reply = self.current.take().filter(|_| is_whole);
            let reply = reply.map(|(request, taker)| conclude(request, taker, (0, String::new())));
            self.whole.push(reply.and_then(Result::ok));
            self.begin();
        }
    }

    /// Gives the first bytes to the reply that arrives now.
    fn pass(&mut self, until: usize) -> Result<(), HttpError> {
        if let Some((_, taker)) = &mut self.current {
            match taker.take(&self.pending[..until]) {
                // Only this reply is of no use.
                Err(HttpError::Odd { .. }) => self.current = None,
                taken => taken?,
            }
        }
        self.pending.drain(..until);
        Ok(())
    }

    fn finish(mut self) -> Vec<Option<Reply>> {
        self.whole.truncate(self.count);
        self.whole.resize(self.count, None);
        self.whole
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::{Reply, Request};
    use super::super::url::HttpUrl;
    use super::Replies;

    /// The replies, when what curl prints arrives in pieces of this size.
    fn replies(printed: &[u8], size: usize) -> Vec<Option<Reply>> {
        let requests = [1, 2, 3].map(|_| Request::new("GET", HttpUrl::parse("http://h/").unwrap()));
        let mut replies = Replies::new(&requests, "m");
        for piece in printed.chunks(size) {
            replies.take(piece).unwrap();
        }
        replies.finish()
    }

    #[test]
    fn what_curl_prints_is_cut_at_its_marks() {
        let printed =
            b"HTTP/1.1 200 OK\r\n\r\nbody\nmark 9\n\nm 0\nHTTP/1.1 404 No\r\nA: b\r\n\r\n\nm 0\n\nm 7\n";
        for size in 1..=printed.len() {
            let found = replies(printed, size);
            let first = found[0].as_ref().unwrap();
            assert_eq!((first.status, &first.body[..]), (200, &b"body\nmark 9\n"[..]));
            let second = found[1].as_ref().unwrap();
            assert_eq!((second.status, second.header("a"), second.body.len()), (404, Some("b"), 0));
            assert!(found[2].is_none(), "curl says that it failed");
        }
        assert_eq!(replies(b"HTTP/1.1 200 OK\r\n\r\nbo", 5), [None, None, None]);
    }

    #[test]
    fn a_reply_that_http_does_not_know_is_none_and_the_next_one_counts() {
        let found = replies(b"SSH-2.0\r\n\r\nx\nm 0\nHTTP/1.1 204 OK\r\n\r\n\nm 0\n", 3);
        assert_eq!(
            found.iter().map(|reply| reply.as_ref().map(|reply| reply.status)).collect::<Vec<_>>(),
            [None, Some(204), None]
        );
    }
}
