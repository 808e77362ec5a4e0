//! Requests to a server of the test's own, which answers as scripted.

#![allow(clippy::unwrap_used, reason = "tests may")]

use diskproof_host::http::{Body, HttpError, HttpUrl, Request, send, send_batch, send_until};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// Names the server to the process that is killed.
const ORIGIN: &str = "DISKPROOF_TEST_ORIGIN";

/// What a request looked like at the server.
struct Seen {
    head: String,
    body: Vec<u8>,
}

/// Answers one connection after the other with these bytes; returns the address and what was asked.
fn server(answers: Vec<Vec<u8>>) -> (String, Receiver<Seen>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = channel();
    thread::spawn(move || {
        for answer in answers {
            let (mut stream, _) = listener.accept().unwrap();
            sender.send(asked(&mut stream)).unwrap();
            let _ = stream.write_all(&answer);
        }
    });
    (origin, seen)
}

fn asked(stream: &mut TcpStream) -> Seen {
    let mut reader = BufReader::new(stream);
    let mut head = String::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&line);
    }
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    Seen { head, body }
}

fn reply(status: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let mut bytes =
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n{headers}Connection: close\r\n\r\n", body.len())
            .into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn to(origin: &str, target: &str, method: &str) -> Request {
    Request::new(method, HttpUrl::parse(&format!("{origin}{target}")).unwrap())
}

#[test]
fn status_headers_and_any_bytes_come_back() {
    let all: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let (origin, seen) =
        server(vec![reply("404 Not Found", "X-Why: a, b\r\n", &all[..70_000]), reply("200 OK", "", &all)]);
    let refused =
        send(&to(&origin, "/v2/?a=[b]{c}&d=%20", "GET").secret_header("Authorization", "Bearer t")).unwrap();
    assert_eq!((refused.status, refused.header("x-why")), (404, Some("a, b")));
    assert_eq!(
        (refused.body.len(), refused.received_bytes),
        (64 << 10, 70_000),
        "of an error, the beginning is kept"
    );
    let got = send(&to(&origin, "/", "GET")).unwrap();
    assert!(got.is_success() && got.body == all);
    let head = seen.recv().unwrap().head;
    assert!(head.starts_with("GET /v2/?a=[b]{c}&d=%20 HTTP/1.1\r\n"), "{head}");
    assert!(head.contains("Authorization: Bearer t\r\n"), "{head}");
}

#[test]
fn bodies_arrive_whole_or_as_the_part_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<u8> = (0..=255).rev().cycle().take(3_000_000).collect();
    let file = folder.path().join("a file\nwith 'odd' name");
    fs::write(&file, &all).unwrap();
    let (origin, seen) = server(vec![reply("201 Created", "", b""); 4]);
    let part = |offset, bytes| Body::File { path: file.clone(), offset, bytes };
    for body in [Body::Bytes(all.clone()), part(0, 3_000_000), part(1_234_567, 1_000_001), Body::None] {
        assert_eq!(send(&to(&origin, "/b", "PUT").body(body)).unwrap().status, 201);
    }
    let bodies: Vec<Seen> = seen.iter().collect();
    assert!(bodies[0].body == all && bodies[1].body == all && bodies[2].body == all[1_234_567..2_234_568]);
    assert!(
        bodies[3].body.is_empty() && bodies[3].head.contains("Content-Length: 0\r\n"),
        "{}",
        bodies[3].head
    );
    for seen in &bodies {
        assert!(seen.head.starts_with("PUT /b HTTP/1.1"), "{}", seen.head);
        assert!(!seen.head.contains("Content-Type") && !seen.head.contains("Expect"), "{}", seen.head);
    }
    let beyond = send(&to(&origin, "/b", "PUT").body(part(2_999_999, 2))).unwrap_err();
    assert!(matches!(beyond, HttpError::Body { .. }), "{beyond}");
    assert!(matches!(send(&to(&origin, "/b/", "PUT").body(part(0, 3_000_000))), Err(HttpError::Url { .. })));
}

#[test]
fn a_cut_download_goes_on_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blob");
    let whole = b"0123456789";
    let mut cut = reply("200 OK", "", whole);
    cut.truncate(cut.len() - 6);
    let rest = reply("206 Partial Content", "Content-Range: bytes 4-9/10\r\n", &whole[4..]);
    let other = reply("206 Partial Content", "Content-Range: bytes 0-9/10\r\n", whole);
    let refused = reply("503 Busy", "", b"later");
    let (origin, seen) = server(vec![cut, refused, rest, other, reply("200 OK", "", b"anew")]);
    let ask = |resume| send(&to(&origin, "/b", "GET").into_file(&file, 10, resume));
    let error = ask(true).unwrap_err();
    assert!(matches!(error, HttpError::Cut { received_bytes: 4, .. }) && error.may_pass(), "{error}");
    let busy = ask(true).unwrap();
    assert_eq!(
        (busy.status, busy.body.as_slice()),
        (503, b"later".as_slice()),
        "an error's body isn't the file's"
    );
    assert_eq!(fs::read(&file).unwrap(), b"0123");
    assert_eq!(ask(true).unwrap().status, 206);
    assert_eq!(fs::read(&file).unwrap(), whole);
    assert!(matches!(ask(true), Err(HttpError::Odd { .. })), "a range that nobody asked for");
    assert_eq!(fs::read(&file).unwrap(), whole);
    ask(true).unwrap();
    assert_eq!(fs::read(&file).unwrap(), b"anew", "a server without ranges sends everything");
    let heads: Vec<String> = seen.iter().map(|seen| seen.head).collect();
    assert!(!heads[0].contains("Range:") && heads[2].contains("Range: bytes=4-\r\n"));
}

/// Answers the requests of one connection after the other; returns the address, and the number of connections with what was asked.
fn persistent(answers: Vec<Vec<u8>>) -> (String, Receiver<(usize, Seen)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let (sender, seen) = channel();
    thread::spawn(move || {
        let mut answers = answers.into_iter();
        for number in 0.. {
            let (mut stream, _) = listener.accept().unwrap();
            while stream.peek(&mut [0]).is_ok_and(|there| there > 0) {
                let asked = asked(&mut stream);
                let Some(answer) = answers.next() else { return };
                let _ = sender.send((number, asked));
                let _ = stream.write_all(&answer);
                if !answer.windows(10).any(|window| window == b"keep-alive") {
                    break;
                }
            }
        }
    });
    (origin, seen)
}

/// A reply after which the connection stays.
fn kept(status: &str, body: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(reply(status, "", b"")).unwrap();
    let head = text.replace("Content-Length: 0", &format!("Content-Length: {}", body.len()));
    [head.replace("Connection: close", "Connection: keep-alive").as_bytes(), body].concat()
}

#[test]
fn a_batch_is_one_connection_and_ends_at_the_first_request_without_a_reply() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("blob");
    let all: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    fs::write(&file, &all).unwrap();
    let mut cut = kept("200 OK", b"0123456789");
    cut.truncate(cut.len() - 4);
    let cut = String::from_utf8(cut).unwrap().replace("keep-alive", "close").into_bytes();
    let (origin, seen) = persistent(vec![
        kept("404 Not Found", b"no\nno"),
        kept("201 Created", b""),
        kept("200 OK", b"{}"),
        cut,
    ]);
    let requests = [
        to(&origin, "/a", "GET").secret_header("Authorization", "Bearer t"),
        to(&origin, "/b", "PUT").body(Body::File { path: file.clone(), offset: 0, bytes: 300_000 }),
        to(&origin, "/c", "PUT").body(Body::Bytes(b"small".to_vec())),
        to(&origin, "/d", "GET"),
        to(&origin, "/e", "GET"),
    ];
    let replies = send_batch(&requests, &AtomicBool::new(false)).unwrap();
    let found: Vec<_> = replies.iter().map(|reply| reply.as_ref().map(|reply| reply.status)).collect();
    assert_eq!(found, [Some(404), Some(201), Some(200), None, None]);
    assert_eq!(replies[0].as_ref().unwrap().body, b"no\nno");
    let seen: Vec<(usize, Seen)> = seen.try_iter().collect();
    assert_eq!(seen.len(), 4, "nothing is sent after the failure");
    assert!(seen.iter().all(|(number, _)| *number == 0), "one connection");
    assert!(seen[1].1.body == all && seen[2].1.body == b"small");
    assert!(
        seen[0].1.head.contains("Authorization: Bearer t\r\n") && !seen[1].1.head.contains("Authorization")
    );

    let part = Body::File { path: file, offset: 1, bytes: 2 };
    let refused = send_batch(&[to(&origin, "/f", "PUT").body(part)], &AtomicBool::new(false));
    assert!(matches!(refused, Err(HttpError::Body { .. })), "{refused:?}");
    let (origin, _seen) = server(vec![reply("200 OK", "", &[7; 1_000_000])]);
    let large = send_batch(&[to(&origin, "/", "GET").at_most(9)], &AtomicBool::new(false));
    assert!(matches!(large, Err(HttpError::TooLarge { .. })), "{large:?}");
}

#[test]
fn a_batch_fills_files_and_says_their_digests() {
    let folder = tempfile::tempdir().unwrap();
    let all: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut cut = kept("200 OK", &all);
    cut.truncate(cut.len() - 100_000);
    let (origin, _seen) =
        persistent(vec![kept("200 OK", &all), kept("404 Not Found", b"none"), kept("200 OK", b"ab")]);
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), "old").unwrap();
    let requests = ["a", "b", "c"].map(|name| to(&origin, "/", "GET").into_file(path(name), 300_000, false));
    let replies = send_batch(&requests, &AtomicBool::new(false)).unwrap();
    let replies: Vec<_> = replies.into_iter().map(Option::unwrap).collect();
    assert!(fs::read(path("a")).unwrap() == all && replies[0].body.is_empty());
    let digest = diskproof_host::sha256(&all[..], u64::MAX).unwrap().0;
    assert_eq!((replies[0].received_bytes, &replies[0].sha256), (300_000, &Some(digest)));
    assert_eq!((replies[1].status, &replies[1].body[..], &replies[1].sha256), (404, &b"none"[..], &None));
    assert!(!path("b").exists(), "an error is no content");
    assert_eq!(fs::read(path("c")).unwrap(), b"ab");

    let (origin, _seen) = server(vec![cut]);
    let cut = to(&origin, "/", "GET").into_file(path("d"), 300_000, false);
    assert_eq!(send_batch(&[cut], &AtomicBool::new(false)).unwrap(), [None]);
    assert_eq!(fs::read(path("d")).unwrap(), all[..200_000], "the next try goes on here");
}

#[test]
fn a_reply_has_a_limit_wherever_it_goes() {
    let folder = tempfile::tempdir().unwrap();
    let large = reply("200 OK", "", &[7; 1_000_000]);
    let (origin, _seen) = server(vec![large.clone(), large]);
    let error = send(&to(&origin, "/", "GET").at_most(999_999)).unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { limit_bytes: 999_999, .. }), "{error}");
    let file = folder.path().join("f");
    let error = send(&to(&origin, "/", "GET").into_file(&file, 999_999, false)).unwrap_err();
    assert!(matches!(error, HttpError::TooLarge { .. }), "{error}");
    assert!(fs::metadata(&file).unwrap().len() <= 999_999);
}

#[test]
fn redirections_are_the_callers_choice_and_carry_no_secret_elsewhere() {
    let (elsewhere, there) = server(vec![reply("200 OK", "", b"blob")]);
    let away = || reply("307 Temporary Redirect", &format!("Location: {elsewhere}/x?sig=1\r\n"), b"");
    let (origin, here) = server(vec![away(), reply("302 Found", "Location: /next\r\n", b""), away()]);
    let stays = send(&to(&origin, "/", "GET")).unwrap();
    assert_eq!((stays.status, stays.location().unwrap().to_string()), (307, format!("{elsewhere}/x")));
    let request =
        to(&origin, "/", "GET").secret_header("Authorization", "Bearer t").header("Accept", "a/b").follow(2);
    let got = send(&request).unwrap();
    assert_eq!((got.status, got.body.as_slice()), (200, b"blob".as_slice()));
    assert!(here.iter().nth(2).unwrap().head.contains("Bearer t"), "the same host may see it");
    let head = there.recv().unwrap().head;
    assert!(head.contains("Accept: a/b") && !head.contains("Bearer"), "{head}");
}

#[test]
fn no_argument_and_no_message_holds_a_secret() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let request =
        to(&origin, "/p?X-Amz-Signature=query-secret", "PUT").body(Body::Bytes(b"body-secret".to_vec()));
    let request = request.secret_header("Authorization", "header-secret");
    assert!(!format!("{request:?}").contains("secret"));
    let sent = thread::spawn(move || send(&request));
    let (mut stream, _) = listener.accept().unwrap();
    let seen = asked(&mut stream);
    assert!(
        seen.head.contains("header-secret")
            && seen.head.contains("query-secret")
            && seen.body == b"body-secret"
    );
    let lines: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read(entry.ok()?.path().join("cmdline")).ok())
        .map(|line| String::from_utf8_lossy(&line).into_owned())
        .collect();
    let curl = lines.iter().filter(|line| line.contains("curl\0--disable\0--config\0/proc/")).count();
    assert!(curl >= 1, "curl runs");
    assert!(!lines.iter().any(|line| line.contains("-secret")), "arguments are seen by every user");
    drop(stream);
    let error = sent.join().unwrap().unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
}

/// The process that the next test kills.
#[test]
fn a_process_that_sends_until_it_is_killed() {
    if let Ok(origin) = std::env::var(ORIGIN) {
        let _ = send(&to(&origin, "/", "PUT").body(Body::Bytes(b"body".to_vec())));
    }
}

#[test]
fn a_request_ends_with_the_process_that_sends_it() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_process_that_sends_until_it_is_killed"])
        .env(ORIGIN, format!("http://{}", listener.local_addr().unwrap()))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    assert_eq!(asked(&mut stream).body, b"body");
    child.kill().unwrap();
    child.wait().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert_eq!(stream.read(&mut [0; 1]).unwrap(), 0, "curl goes on waiting for the reply");
}

#[test]
fn a_server_that_is_silent_or_away_is_named_and_may_pass() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let slow = to(&origin, "/", "GET").time_limit(Duration::from_millis(300));
    let error = send(&slow).unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { status: 28, .. }) && error.may_pass(), "{error}");
    drop(listener);
    let error = send(&slow).unwrap_err();
    assert!(matches!(error, HttpError::Unreachable { status: 7, .. }) && error.may_pass(), "{error}");
    assert!(error.to_string().contains(&origin), "{error}");
}

/// Not a test: what [`curl_dies_with_the_process_that_sends`] kills.
#[test]
fn sender() {
    if let Ok(origin) = std::env::var("DISKPROOF_TEST_SENDER") {
        let _ = send(&to(&origin, "/", "GET"));
    }
}

#[test]
fn curl_dies_with_the_process_that_sends() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let mut sender = Command::new(std::env::current_exe().unwrap())
        .args(["sender", "--exact"])
        .env("DISKPROOF_TEST_SENDER", &origin)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let (mut stream, _) = listener.accept().unwrap();
    asked(&mut stream);
    sender.kill().unwrap();
    sender.wait().unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut rest = Vec::new();
    assert_eq!(stream.read_to_end(&mut rest).expect("curl closes its connection"), 0);
}

#[test]
fn a_request_ends_when_the_user_asks() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let cancel = AtomicBool::new(false);
    thread::scope(|scope| {
        let sent = scope.spawn(|| send_until(&to(&origin, "/", "GET"), &cancel));
        let (mut stream, _) = listener.accept().unwrap();
        asked(&mut stream);
        cancel.store(true, Ordering::Relaxed);
        assert!(matches!(sent.join().unwrap(), Err(HttpError::Cancelled { .. })));
        let mut rest = Vec::new();
        stream.read_to_end(&mut rest).unwrap();
        assert!(rest.is_empty(), "curl is gone");
    });
}
