//! The configuration that curl reads. The body is its standard input.

use super::error::HttpError;
use super::request::{Header, Request};
use std::fmt::Write as _;
use std::time::Duration;

/// Standard input by a name: so curl asks for its length, and needn't send it in chunks.
pub(crate) const INPUT: &str = "/proc/self/fd/0";

/// The body as curl is told it.
pub(crate) enum Given {
    Nothing,
    /// Small: curl reads it to memory.
    Data,
    /// Of any size: curl streams the file of this path.
    Upload(String),
}

/// Returns the configuration of a request. `resume_from`: how many bytes of the reply are there already.
pub(crate) fn config(
    request: &Request,
    given: &Given,
    resume_from: Option<u64>,
) -> Result<String, HttpError> {
    let mut text = String::from(
        "silent\nshow-error\ninclude\nhttp1.1\ngloboff\npath-as-is\nsuppress-connect-headers\nproto = \"=http,https\"\n",
    );
    let mut option = |name: &str, value: &str| {
        let _ = writeln!(text, "{name} = {}", quoted(value));
    };
    option("url", &request.url.whole());
    option("connect-timeout", &seconds(request.connect_limit));
    option("speed-limit", "1");
    option("speed-time", &request.idle_limit.as_secs().max(1).to_string());
    if let Some(limit) = request.limit {
        option("max-time", &seconds(limit));
    }
    if request.url.is_loopback() {
        option("noproxy", request.url.host());
    }
    match given {
        Given::Data => option("data-binary", &format!("@{INPUT}")),
        Given::Upload(path) => option("upload-file", path),
        // makes curl send Content-Length: 0, which some servers insist on
        Given::Nothing if matches!(request.method.as_str(), "POST" | "PUT" | "PATCH") => {
            option("data-binary", "")
        }
        Given::Nothing => {}
    }
    let mut headers: Vec<String> = request.headers.iter().map(line).collect::<Result<_, _>>()?;
    let has = |name: &str| request.headers.iter().any(|header| header.name.eq_ignore_ascii_case(name));
    // Left to itself, curl calls every body a form, and waits a second for a server that doesn't know `Expect`.
    headers
        .extend(["Content-Type", "Expect"].iter().filter(|name| !has(name)).map(|name| format!("{name}:")));
    if let Some(from) = resume_from {
        headers.push(format!("Range: bytes={from}-"));
    }
    for header in &headers {
        option("header", header);
    }
    if request.method == "HEAD" {
        text.push_str("head\n");
    } else {
        option("request", &request.method);
    }
    Ok(text)
}

/// An empty value needs a semicolon: with a colon, curl leaves the header out.
fn line(header: &Header) -> Result<String, HttpError> {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let name_is_one = !header.name.is_empty() && header.name.bytes().all(token);
    if !name_is_one || header.value.chars().any(char::is_control) {
        return Err(HttpError::Header { name: header.name.clone() });
    }
    let Header { name, value, .. } = header;
    Ok(if value.is_empty() { format!("{name};") } else { format!("{name}: {value}") })
}

fn seconds(limit: Duration) -> String {
    format!("{:.3}", limit.as_secs_f64().max(0.001))
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::super::request::Request;
    use super::super::url::HttpUrl;
    use super::{Given, config};

    fn of(request: &Request) -> String {
        config(request, &Given::Nothing, None).unwrap()
    }

    #[test]
    fn values_can_not_become_options() {
        let url = HttpUrl::parse(r#"http://h/a"b\c"#).unwrap();
        let text = of(&Request::new("GET", url.clone()).header("X-A", r#"q"\"#));
        assert!(text.contains("url = \"http://h/a\\\"b\\\\c\"\n"), "{text}");
        assert!(text.contains("header = \"X-A: q\\\"\\\\\"\n"), "{text}");
        for (name, value) in
            [("X\nurl", "v"), ("X", "v\r\nY: z"), ("", "v"), ("@/etc/passwd", "v"), ("X", "a\0b")]
        {
            let request = Request::new("GET", url.clone()).header(name, value);
            assert!(config(&request, &Given::Nothing, None).is_err(), "{name:?} {value:?}");
        }
    }

    #[test]
    fn loopback_uses_no_proxy_and_others_use_the_machines() {
        let text = |url: &str| of(&Request::new("GET", HttpUrl::parse(url).unwrap()));
        assert!(text("http://127.0.0.1:9/").contains("noproxy = \"127.0.0.1\""));
        assert!(!text("http://example.org/").contains("noproxy"));
    }
}
