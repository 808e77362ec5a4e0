//! Answers of S3 that no test server gives: lost replies, expired keys, wrong clocks, errors behind a 200.
#![allow(clippy::unwrap_used, reason = "tests may")]

use diskproof_share::s3::{Bucket, Condition, Options, Put, S3Address, Settings, Source};
use diskproof_share::{Patience, ShareError};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A server that answers request number N (from 0), of which it sees head and body. An empty answer ends the connection.
fn server(answer: impl Fn(usize, &str) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, seen) = channel();
    thread::spawn(move || {
        for (number, mut stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let mut reader = BufReader::new(&mut stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let length =
                head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.trim().parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            let _ = reader.read_exact(&mut body);
            head.push_str(&String::from_utf8_lossy(&body));
            let reply = answer(number, &head);
            if sender.send(head).is_err() {
                return;
            }
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    (address, seen)
}

fn reply(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn refusal(status: &str, code: &str, more: &str) -> String {
    reply(status, "", &format!("<Error><Code>{code}</Code><Message>m</Message>{more}</Error>"))
}

fn options(address: &str, home: Option<PathBuf>) -> Options {
    let mut variables = BTreeMap::from([("AWS_ENDPOINT_URL".to_owned(), format!("http://{address}"))]);
    if home.is_none() {
        variables.insert("AWS_ACCESS_KEY_ID".to_owned(), "AKID".to_owned());
        variables.insert("AWS_SECRET_ACCESS_KEY".to_owned(), "secret-7".to_owned());
    }
    let patience = Patience { tries: 4, pause: Duration::from_millis(1) };
    Options { settings: Settings { variables, home }, patience, ..Options::default() }
}

fn bucket(address: &str) -> Bucket {
    Bucket::open(&S3Address::parse("s3://results/p").unwrap(), &options(address, None)).unwrap()
}

fn put(bucket: &Bucket) -> Result<Put, ShareError> {
    bucket.put("k", Source::Bytes(b"content"), &Condition::IfAbsent)
}

#[test]
fn a_busy_server_is_asked_again_and_a_request_holds_no_secret() {
    let (address, seen) = server(|number, _| match number {
        0 => refusal("503 Slow Down", "SlowDown", ""),
        1 => refusal("400 Bad Request", "RequestTimeout", ""),
        2 => String::new(),
        _ => reply("200 OK", "ETag: \"e\"\r\n", ""),
    });
    assert_eq!(
        bucket(&address).put("k", Source::Bytes(b"content"), &Condition::None).unwrap(),
        Put::Done { etag: "\"e\"".to_owned() }
    );
    let seen: Vec<String> = seen.try_iter().collect();
    assert_eq!(seen.len(), 4);
    // printf content | sha256sum
    let content = "ed7002b439e9ac845f22357d822bac1444730fbdb6016d3ec9432297b9ec9f73";
    for request in seen {
        assert!(
            request.starts_with("PUT /results/p/k HTTP/1.1\r\n") && !request.contains("secret-7"),
            "{request}"
        );
        assert!(request.contains(&format!("x-amz-content-sha256: {content}\r\n")), "{request}");
        assert!(request.contains("Authorization: AWS4-HMAC-SHA256 Credential=AKID/"), "{request}");
    }
}

#[test]
fn a_large_write_without_an_answer_is_recognized_when_its_parts_are_refused() {
    let (name, named) = channel::<String>();
    let (address, seen) = server(move |number, request| {
        let line = request.lines().next().unwrap();
        match line {
            // It is written whole, but the reply is lost: the parts come too late.
            _ if number == 0 => {
                let own =
                    request.lines().find(|line| line.starts_with("x-amz-meta-diskproof-write: ")).unwrap();
                name.send(own.to_owned()).unwrap();
                String::new()
            }
            _ if line.contains("?uploads=") => reply(
                "200 OK",
                "",
                "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
            ),
            _ if line.contains("partNumber=") => reply("200 OK", "ETag: \"part\"\r\n", ""),
            _ if line.starts_with("POST ") => refusal("412 Precondition Failed", "PreconditionFailed", ""),
            _ => {
                assert!(line.starts_with("HEAD "), "{line}");
                let own = named.recv_timeout(Duration::from_secs(30)).unwrap();
                format!(
                    "HTTP/1.1 200 OK\r\n{own}\r\nETag: \"e\"\r\nContent-Length: 9\r\nConnection: close\r\n\r\n"
                )
            }
        }
    });
    let bytes = vec![b'a'; 9 << 20];
    let put = bucket(&address).put("k", Source::Bytes(&bytes), &Condition::IfAbsent).unwrap();
    assert_eq!(put, Put::Done { etag: "\"e\"".to_owned() });
    let lines: Vec<String> = seen.try_iter().map(|one| one.lines().next().unwrap().to_owned()).collect();
    assert_eq!(lines.len(), 6, "one whole, one beginning, two parts, one end, one look: {lines:?}");
}

#[test]
fn a_write_without_an_answer_is_recognized_by_its_name_and_no_other() {
    for is_own in [true, false] {
        let (name, named) = channel::<String>();
        let (address, _seen) = server(move |number, request| match number {
            // It is written, but the reply is lost.
            0 => {
                let line =
                    request.lines().find(|line| line.starts_with("x-amz-meta-diskproof-write: ")).unwrap();
                name.send(if is_own { line.to_owned() } else { line.replace(": ", ": other") }).unwrap();
                String::new()
            }
            1 => refusal("412 Precondition Failed", "PreconditionFailed", ""),
            _ => {
                assert!(request.starts_with("HEAD "), "{request}");
                let name = named.recv_timeout(Duration::from_secs(30)).unwrap();
                format!(
                    "HTTP/1.1 200 OK\r\nContent-Length: 7\r\nETag: \"e\"\r\n{name}\r\nConnection: close\r\n\r\n"
                )
            }
        });
        let put = put(&bucket(&address)).unwrap();
        assert_eq!(put, if is_own { Put::Done { etag: "\"e\"".to_owned() } } else { Put::Refused });
    }
    let (address, seen) = server(|_, _| refusal("412 Precondition Failed", "PreconditionFailed", ""));
    assert_eq!(put(&bucket(&address)).unwrap(), Put::Refused);
    assert_eq!(seen.try_iter().count(), 1, "nothing was lost, so nothing is looked up");
}

#[test]
fn errors_name_their_remedy() {
    let said = |answer: String| {
        let (address, _seen) = server(move |_, _| answer.clone());
        put(&bucket(&address)).unwrap_err().to_string()
    };
    let time = "<ServerTime>2013-05-24T00:00:00Z</ServerTime>";
    let clock = said(refusal("403 Forbidden", "RequestTimeTooSkewed", time));
    assert!(
        clock.contains("2013-05-24T00:00:00Z on the server") && clock.contains("set the clock"),
        "{clock}"
    );
    let region =
        said(refusal("400 Bad Request", "AuthorizationHeaderMalformed", "<Region>eu-west-1</Region>"));
    assert!(region.contains("set AWS_REGION=eu-west-1"), "{region}");
    let denied = said(refusal("403 Forbidden", "AccessDenied", ""));
    assert!(denied.contains("AccessDenied m") && denied.contains("s3:PutObject"), "{denied}");
    let unable = said(refusal("501 Not Implemented", "NotImplemented", ""));
    assert!(unable.contains("If-None-Match"), "{unable}");
    assert!(said(refusal("404 Not Found", "NoSuchBucket", "")).contains("no bucket for s3://results/p"));
    let (address, seen) = server(|_, _| refusal("503 Slow Down", "SlowDown", ""));
    put(&bucket(&address)).unwrap_err();
    assert_eq!(seen.try_iter().count(), 4, "the patience ends");
}

#[test]
fn keys_that_expire_are_fetched_anew_once() {
    let home = tempfile::tempdir().unwrap();
    let (program, count) = (home.path().join("keys"), home.path().join("count"));
    let script = format!(
        "#!/bin/sh\nprintf x >> {0}\nprintf '{{\"Version\": 1, \"AccessKeyId\": \"K%s\", \"SecretAccessKey\": \"secret-7\", \"SessionToken\": \"t\"}}' \"$(cat {0})\"\n",
        count.to_str().unwrap()
    );
    testkit::script(&program, &script);
    fs::create_dir(home.path().join(".aws")).unwrap();
    fs::write(
        home.path().join(".aws/config"),
        format!("[default]\ncredential_process = {}\n", program.to_str().unwrap()),
    )
    .unwrap();
    let (address, seen) = server(|_, request| {
        if request.contains("Credential=Kxx/") {
            reply("200 OK", "ETag: \"e\"\r\n", "")
        } else {
            refusal("400 Bad Request", "ExpiredToken", "")
        }
    });
    let bucket = Bucket::open(
        &S3Address::parse("s3://results").unwrap(),
        &options(&address, Some(home.path().to_path_buf())),
    )
    .unwrap();
    assert!(matches!(put(&bucket).unwrap(), Put::Done { .. }));
    let seen: Vec<String> = seen.try_iter().collect();
    assert!(
        seen.len() == 2 && seen[0].contains("Credential=Kx/") && seen[1].contains("x-amz-security-token: t"),
        "{seen:#?}"
    );
}

#[test]
fn all_pages_of_a_list_are_read_and_a_key_outside_the_prefix_is_refused() {
    let page = |keys: &str, token: &str| {
        let more = if token.is_empty() { "false" } else { "true" };
        let body = format!(
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><IsTruncated>{more}</IsTruncated>{keys}<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>"
        );
        reply("200 OK", "", &body)
    };
    let key = |name: &str| {
        format!("<Contents><Key>p/{name}</Key><Size>3</Size><ETag>&quot;e&quot;</ETag></Contents>")
    };
    let (address, seen) =
        server(move |number, _| if number == 0 { page(&key("b&lt;"), "a/+ b") } else { page(&key("a"), "") });
    let listed = bucket(&address).list("").unwrap();
    assert_eq!(listed.iter().map(|object| object.key.as_str()).collect::<Vec<_>>(), ["a", "b<"]);
    assert_eq!(listed[0].etag, "\"e\"");
    let seen: Vec<String> = seen.try_iter().collect();
    assert!(seen[0].starts_with("GET /results?list-type=2&prefix=p%2F HTTP"), "{}", seen[0]);
    assert!(
        seen[1].starts_with("GET /results?continuation-token=a%2F%2B%20b&list-type=2&prefix=p%2F HTTP"),
        "{}",
        seen[1]
    );
    let (address, _seen) =
        server(move |_, _| page("<Contents><Key>elsewhere</Key><Size>1</Size></Contents>", ""));
    assert!(
        matches!(bucket(&address).list(""), Err(ShareError::Unreadable { .. })),
        "a key outside the prefix"
    );
}

#[test]
fn without_keys_requests_go_unsigned_and_a_refusal_says_so() {
    let home = tempfile::tempdir().unwrap();
    let (address, seen) = server(|_, _| refusal("403 Forbidden", "AccessDenied", ""));
    let mut options = options(&address, Some(home.path().to_path_buf()));
    options.settings.variables.insert("AWS_EC2_METADATA_DISABLED".to_owned(), "true".to_owned());
    let bucket = Bucket::open(&S3Address::parse("s3://results").unwrap(), &options).unwrap();
    let said = bucket.get("k", 10).unwrap_err().to_string();
    assert!(said.contains("no keys were found"), "{said}");
    assert!(!seen.try_iter().any(|request| request.contains("Authorization")));
}
