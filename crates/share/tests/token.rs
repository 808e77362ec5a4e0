//! Registries that want a token from another server, as the large public ones do.
#![allow(clippy::unwrap_used, reason = "tests may")]

use diskproof_share::{Address, Credentials, Patience, RegistryOptions, open};
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

/// A registry and its token server in one. It has nothing; it says so only to those who bring the token.
fn server() -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (sender, seen) = channel();
    let own = address.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let asked = asked(&mut stream);
            let (status, header, body) = answer(&own, &asked);
            // before the reply, so that whoever has the reply finds it
            if sender.send(asked).is_err() {
                return;
            }
            let length = body.len();
            let reply = format!(
                "HTTP/1.1 {status}\r\n{header}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            let _ = stream.write_all(reply.as_bytes());
        }
    });
    (address, seen)
}

fn answer(own: &str, asked: &str) -> (&'static str, String, &'static str) {
    if asked.contains(" /token") {
        let known = asked.contains("Authorization: Basic YWxpY2U6c2VjcmV0LTc=")
            || asked.contains("refresh_token=long-lived");
        return if known {
            ("200 OK", String::new(), r#"{"token": "tok-1"}"#)
        } else {
            ("401 Unauthorized", String::new(), "")
        };
    }
    if asked.contains("Authorization: Bearer tok-1") {
        return ("404 Not Found", String::new(), "");
    }
    let challenge =
        format!(r#"Bearer realm="http://{own}/token",service="reg",scope="repository:r:pull,push""#);
    ("401 Unauthorized", format!("WWW-Authenticate: {challenge}\r\n"), "")
}

fn asked(stream: &mut TcpStream) -> String {
    let mut reader = BufReader::new(stream);
    let mut text = String::new();
    while !text.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut text).unwrap() > 0);
    }
    let length = text.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.trim().parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    reader.read_exact(&mut body).unwrap();
    text + &String::from_utf8(body).unwrap()
}

fn with(address: &str, auth: &str) -> Result<Option<Vec<u8>>, diskproof_share::ShareError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.json");
    std::fs::write(&file, format!(r#"{{"auths": {{"http://{address}/v2/": {auth}}}}}"#)).unwrap();
    let patience = Patience { tries: 2, pause: Duration::from_millis(1) };
    let credentials = Credentials { files: vec![file] };
    let options = RegistryOptions { patience, credentials, ..RegistryOptions::default() };
    open(&Address::parse(&format!("oci://{address}/r:t")).unwrap(), &options).unwrap().get_manifest()
}

#[test]
fn a_password_buys_a_token_for_what_the_registry_names() {
    let (address, seen) = server();
    assert_eq!(with(&address, r#"{"auth": "YWxpY2U6c2VjcmV0LTc="}"#).unwrap(), None);
    let seen: Vec<String> = seen.try_iter().collect();
    assert_eq!(seen.len(), 3, "{seen:#?}");
    assert!(!seen[0].contains("Authorization"), "nobody asked for it yet");
    assert!(
        seen[1].starts_with("GET /token?service=reg&scope=repository%3Ar%3Apull%2Cpush&account=alice "),
        "{}",
        seen[1]
    );
    assert!(!seen[2].contains("YWxpY2U6"), "the registry gets the token alone");
}

#[test]
fn a_stored_refresh_token_buys_one_too() {
    let (address, seen) = server();
    assert_eq!(with(&address, r#"{"identitytoken": "long-lived"}"#).unwrap(), None);
    let asked = seen.try_iter().find(|text| text.contains("/token")).unwrap();
    assert!(asked.starts_with("POST /token ") && asked.contains("grant_type=refresh_token"), "{asked}");
}

#[test]
fn without_credentials_the_refusal_says_where_they_come_from() {
    let (address, _seen) = server();
    let refused = with(&address, "{}").unwrap_err().to_string();
    assert!(refused.contains("docker login"), "{refused}");
    let wrong = with(&address, r#"{"auth": "YWxpY2U6d3Jvbmc="}"#).unwrap_err().to_string();
    assert!(wrong.contains("401") && !wrong.contains("wrong"), "{wrong}");
}
