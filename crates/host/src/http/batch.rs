//! Several requests by one curl, which sends one after the other over the same connection. Starting a program and opening a connection
//! take longer than a small request.

use super::config::{Given, config};
use super::error::HttpError;
use super::exchange::{Curl, body_error, can_be_sent_to, nameless, path_of};
use super::head::HeadReader;
use super::request::{Body, Reply, Request, Sink};
use std::fs::File;
use std::io::{self, Read as _};
use std::sync::atomic::AtomicBool;

/// Bytes for the heads of a reply and for curl's words about it.
const HEAD_BYTES: u64 = 256 << 10;

/// Sends requests in their order, and returns their replies in the same order. `None`: no whole reply came. Then nobody knows whether the
/// server got the request, and curl sent no later one. No redirection is followed. A body is a whole file or bytes in memory; every
/// reply goes to memory.
///
/// # Errors
/// curl is missing, a request can't be sent this way, the replies are larger than all limits together, or the user cancelled.
pub fn send_batch(requests: &[Request], cancel: &AtomicBool) -> Result<Vec<Option<Reply>>, HttpError> {
    let Some(first) = requests.first() else { return Ok(Vec::new()) };
    let mark = mark().map_err(body_error(first))?;
    let mut text = String::new();
    let mut limit_bytes = 0_u64;
    // curl opens them by this process's descriptors
    let mut bodies = Vec::new();
    for request in requests {
        let Sink::Memory { limit_bytes: limit } = request.sink else {
            let said = "a batch keeps its replies in memory".to_owned();
            return Err(body_error(request)(io::Error::other(said)));
        };
        limit_bytes = limit_bytes.saturating_add(limit).saturating_add(HEAD_BYTES);
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
    let mut curl = Curl::start(&text, None)?;
    let mut printed = Vec::new();
    let mut take = |bytes: &[u8]| {
        printed.extend_from_slice(bytes);
        if printed.len() as u64 > limit_bytes {
            let (method, url) = (first.method.clone(), first.url.to_string());
            return Err(HttpError::TooLarge { method, url, limit_bytes });
        }
        Ok(())
    };
    curl.converse(first, cancel, &mut take)?;
    drop(bodies);
    Ok(replies(requests, &printed, &mark))
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

/// Cuts what curl printed at its marks.
fn replies(requests: &[Request], printed: &[u8], mark: &str) -> Vec<Option<Reply>> {
    let mark = format!("\n{mark} ").into_bytes();
    let mut rest = Some(printed);
    let mut next = |request: &Request| -> Option<Reply> {
        let text = rest.take()?;
        let at = text.windows(mark.len()).position(|window| window == mark)?;
        let behind = &text[at + mark.len()..];
        let end = behind.iter().position(|byte| *byte == b'\n')?;
        rest = Some(&behind[end + 1..]);
        if &behind[..end] == b"0" { reply(request, &text[..at]) } else { None }
    };
    requests.iter().map(&mut next).collect()
}

fn reply(request: &Request, bytes: &[u8]) -> Option<Reply> {
    let (head, body) = HeadReader::default().take(bytes).ok()??;
    // curl would print a trailer behind the body.
    if head.header("trailer").is_some() {
        return None;
    }
    let (received_bytes, url) = (body.len() as u64, request.url.clone());
    Some(Reply { status: head.status, headers: head.headers, body, received_bytes, url })
}

#[cfg(test)]
mod tests {
    use super::super::request::Request;
    use super::super::url::HttpUrl;
    use super::replies;

    #[test]
    fn what_curl_prints_is_cut_at_its_marks() {
        let requests = [1, 2, 3].map(|_| Request::new("GET", HttpUrl::parse("http://h/").unwrap()));
        let printed =
            b"HTTP/1.1 200 OK\r\n\r\nbody\nmark 9\n\nm 0\nHTTP/1.1 404 No\r\nA: b\r\n\r\n\nm 0\n\nm 7\n";
        let found = replies(&requests, printed, "m");
        let first = found[0].as_ref().unwrap();
        assert_eq!((first.status, &first.body[..]), (200, &b"body\nmark 9\n"[..]));
        let second = found[1].as_ref().unwrap();
        assert_eq!((second.status, second.header("a"), second.body.len()), (404, Some("b"), 0));
        assert!(found[2].is_none(), "curl says that it failed");
        assert_eq!(replies(&requests, b"HTTP/1.1 200 OK\r\n\r\nbo", "m"), [None, None, None]);
    }
}
