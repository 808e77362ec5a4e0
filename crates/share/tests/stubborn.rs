//! Registries that mean ill: nobody waits for them forever, and nobody gets the registry's password.
#![allow(clippy::unwrap_used, reason = "tests may")]

use diskproof_share::search::list;
use diskproof_share::{
    Address, Credentials, Digest, Patience, Place, RegistryOptions, Remote, ShareError, open,
};
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A server that answers each request, of which it sees the head, by these bytes; the requests come out again.
fn server(answer: impl Fn(&str) -> String + Send + 'static) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, seen) = channel();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut reader = BufReader::new(&mut stream);
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && reader.read_line(&mut head).unwrap_or(0) > 0 {}
            let length =
                head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.trim().parse().ok());
            let _ = reader.read_exact(&mut vec![0; length.unwrap_or(0)]);
            let reply = answer(&head);
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

fn options(credentials: Credentials) -> RegistryOptions {
    let patience = Patience { tries: 4, pause: Duration::from_millis(1) };
    RegistryOptions { patience, credentials, ..RegistryOptions::default() }
}

fn at(address: &str, options: &RegistryOptions) -> Box<dyn Remote> {
    open(&Address::parse(&format!("oci://{address}/r:t")).unwrap(), options).unwrap()
}

/// `docker login` at this registry, by `alice` with `secret-7`.
fn logged_in(address: &str, folder: &Path) -> Credentials {
    let file = folder.join("config.json");
    let text = format!(r#"{{"auths": {{"{address}": {{"auth": "YWxpY2U6c2VjcmV0LTc="}}}}}}"#);
    fs::write(&file, text).unwrap();
    Credentials { files: vec![file] }
}

#[test]
fn a_server_that_a_redirection_leads_to_gets_no_password() {
    for scheme in ["Basic realm=\"x\"", "Bearer realm=\"http://THERE/token\""] {
        let (there, heads) = {
            let scheme = scheme.to_owned();
            server(move |head| {
                let host = head.lines().find_map(|line| line.strip_prefix("Host: ")).unwrap_or("");
                let header = format!("WWW-Authenticate: {}\r\n", scheme.replace("THERE", host));
                reply("401 Unauthorized", &header, "")
            })
        };
        let elsewhere = there.clone();
        let (registry, _heads) = server(move |_| {
            reply("307 Temporary Redirect", &format!("Location: http://{elsewhere}/blob\r\n"), "")
        });
        let folder = tempfile::tempdir().unwrap();
        let remote = at(&registry, &options(logged_in(&registry, folder.path())));
        let got = remote.get_blob(&Digest::of(b"x"), &folder.path().join("blob"), 1);
        assert!(matches!(got, Err(ShareError::Denied { .. })), "{got:?}");
        let heads: Vec<String> = heads.try_iter().collect();
        assert_eq!(heads.len(), 1, "{heads:#?}");
        assert!(!heads[0].contains("Authorization"), "{heads:#?}");
    }
}

#[test]
fn an_upload_that_gets_nowhere_ends() {
    for range in ["0-0", "0-9999999", "0-18446744073709551614"] {
        let (registry, seen) = server(move |head| match head.split(' ').next() {
            Some("POST") => reply("202 Accepted", "Location: /v2/r/blobs/uploads/1\r\n", ""),
            Some("PATCH") => {
                let headers = format!("Location: /v2/r/blobs/uploads/1\r\nRange: {range}\r\n");
                reply("202 Accepted", &headers, "")
            }
            Some("GET") => reply("204 No Content", "Range: 0-0\r\n", ""),
            Some("PUT") => String::new(),
            _ => reply("404 Not Found", "", ""),
        });
        let folder = tempfile::tempdir().unwrap();
        let blob = folder.path().join("blob");
        fs::write(&blob, vec![7; 200_000]).unwrap();
        let remote = at(&registry, &options(Credentials::default()));
        let sent = remote.put_blob(&Digest::of(&[7; 200_000]), &blob, 200_000);
        assert!(matches!(sent, Err(ShareError::Answer { status: 202, .. })), "{range}: {sent:?}");
        assert!(seen.try_iter().count() < 30, "{range}");
    }
}

#[test]
fn a_download_that_gets_nowhere_ends() {
    // It sends a beginning, then refuses to go on from there, again and again.
    let (registry, seen) = server(|head| {
        if head.contains("Range: ") {
            reply("416 Range Not Satisfiable", "", "")
        } else {
            "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\nConnection: close\r\n\r\nbeginning".to_owned()
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let remote = at(&registry, &options(Credentials::default()));
    remote.get_blob(&Digest::of(b"x"), &folder.path().join("blob"), 1000).unwrap_err();
    assert!(seen.try_iter().count() < 10);
}

#[test]
fn a_list_of_tags_without_end_ends() {
    let (registry, seen) =
        server(|_| reply("200 OK", "Link: </v2/r/tags/list>; rel=\"next\"\r\n", r#"{"tags": []}"#));
    let place = Place::parse(&format!("oci://{registry}/r")).unwrap();
    let listed = list(&place, &options(Credentials::default()), &diskproof_share::s3::Options::default());
    assert!(matches!(listed, Err(ShareError::Unreadable { .. })), "{listed:?}");
    assert!(seen.try_iter().count() <= 201);
}
