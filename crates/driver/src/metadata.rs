//! What a cloud's metadata service tells the machine that diskproof runs on. It is asked only for settings whose value is the word
//! `metadata`.

use host::http::{HttpUrl, Reply, Request, send};
use record::printable::printable;
use std::time::Duration;

/// The value of a setting that the metadata service is to tell.
pub const WORD: &str = "metadata";
/// How long it may take to reach the service, which is on the same machine or beside it.
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
/// How long the service may take for an answer.
const LIMIT: Duration = Duration::from_secs(5);
/// How long EC2's token is for, in seconds.
const TOKEN_SECONDS: &str = "60";
/// The longest answer that can be a setting, in bytes.
const LONGEST: usize = 256;

/// Asks for a fact: the service, `ec2` or `gce`, and its path, e.g. `ec2:placement/region` or `gce:instance/zone`. GCE answers with the path
/// of a resource; its last part is the fact. `variable` returns an environment variable: `AWS_EC2_METADATA_SERVICE_ENDPOINT`,
/// `AWS_EC2_METADATA_DISABLED` and `GCE_METADATA_HOST` mean what they mean to the providers' own tools.
///
/// # Errors
/// The service doesn't answer in time, or tells no such fact. The text says which and what to do.
pub fn ask(fact: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, String> {
    let (service, path) = fact.split_once(':').unwrap_or((fact, ""));
    let reply = match service {
        "ec2" => ec2(path, variable)?,
        "gce" => gce(path, variable)?,
        other => return Err(format!("there is no metadata service `{}`", printable(other))),
    };
    let text = String::from_utf8_lossy(&reply.body).trim().to_owned();
    let text = if service == "gce" { text.rsplit('/').next().unwrap_or_default().to_owned() } else { text };
    if text.is_empty() || text.len() > LONGEST || text.chars().any(|c| c.is_control() || c.is_whitespace()) {
        return Err(format!("the metadata service tells no {path}"));
    }
    Ok(text)
}

/// EC2's service, version 2: a token first. Version 1 is never asked.
fn ec2(path: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Reply, String> {
    if variable("AWS_EC2_METADATA_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        return Err("AWS_EC2_METADATA_DISABLED forbids to ask EC2's metadata service".to_owned());
    }
    let server = variable("AWS_EC2_METADATA_SERVICE_ENDPOINT").filter(|value| !value.is_empty());
    let server = server.unwrap_or_else(|| "http://169.254.169.254".to_owned());
    let server = server.trim_end_matches('/');
    let token = request("PUT", &format!("{server}/latest/api/token"))?
        .header("X-aws-ec2-metadata-token-ttl-seconds", TOKEN_SECONDS);
    let token = String::from_utf8_lossy(&sent("EC2", &token)?.body).trim().to_owned();
    let wanted = request("GET", &format!("{server}/latest/meta-data/{path}"))?;
    sent("EC2", &wanted.secret_header("X-aws-ec2-metadata-token", token))
}

fn gce(path: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Reply, String> {
    let host = variable("GCE_METADATA_HOST").filter(|value| !value.is_empty());
    let host = host.unwrap_or_else(|| "metadata.google.internal".to_owned());
    let wanted = request("GET", &format!("http://{host}/computeMetadata/v1/{path}"))?;
    let reply = sent("GCE", &wanted.header("Metadata-Flavor", "Google"))?;
    // Another server that happens to be at this address doesn't say so.
    match reply.header("metadata-flavor") {
        Some("Google") => Ok(reply),
        _ => Err("what answers is not GCE's metadata service".to_owned()),
    }
}

fn request(method: &str, url: &str) -> Result<Request, String> {
    let url = HttpUrl::parse(url).map_err(|error| error.to_string())?;
    Ok(Request::new(method, url).connect_limit(CONNECT_LIMIT).time_limit(LIMIT))
}

fn sent(service: &str, request: &Request) -> Result<Reply, String> {
    match send(request) {
        Ok(reply) if reply.is_success() => Ok(reply),
        Ok(reply) => Err(format!(
            "{service}'s metadata service answers {} for {}",
            reply.status,
            printable(request.url().target())
        )),
        Err(_) => Err(format!(
            "{service}'s metadata service doesn't answer; it does on machines of {service} only: write the value in place of `{WORD}`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::ask;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::net::TcpListener;
    use std::sync::mpsc::{Receiver, channel};

    /// A server that gives these answers, one for each connection. Returns its address and the requests.
    fn server(answers: Vec<&'static str>) -> (String, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap().to_string();
        let (send, heard) = channel();
        std::thread::spawn(move || {
            for answer in answers {
                let (mut stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                let head: Vec<String> =
                    lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
                send.send(head.join("\n").to_lowercase()).unwrap();
                stream.write_all(answer.as_bytes()).unwrap();
            }
        });
        (at, heard)
    }

    const TOKEN: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nt0ken";
    const REGION: &str = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\neu-west-1";
    const ZONE: &str = "HTTP/1.1 200 OK\r\nMetadata-Flavor: Google\r\nContent-Length: 31\r\nConnection: close\r\n\r\nprojects/1/zones/europe-west1-b";
    const OTHER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
    const NONE: &str = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

    fn by(name: &'static str, value: String) -> impl Fn(&str) -> Option<String> {
        move |asked| (asked == name).then(|| value.clone())
    }

    #[test]
    fn ec2_is_asked_with_a_token() {
        let (at, heard) = server(vec![TOKEN, REGION]);
        let endpoint = by("AWS_EC2_METADATA_SERVICE_ENDPOINT", format!("http://{at}/"));
        assert_eq!(ask("ec2:placement/region", &endpoint).unwrap(), "eu-west-1");
        let (first, second) = (heard.recv().unwrap(), heard.recv().unwrap());
        assert!(first.starts_with("put /latest/api/token ") && first.contains("ttl-seconds: 60"), "{first}");
        assert!(second.starts_with("get /latest/meta-data/placement/region "), "{second}");
        assert!(second.contains("x-aws-ec2-metadata-token: t0ken"), "{second}");
    }

    #[test]
    fn gce_is_asked_by_its_header_and_must_answer_with_it() {
        let (at, heard) = server(vec![ZONE, OTHER]);
        let host = by("GCE_METADATA_HOST", at);
        assert_eq!(ask("gce:instance/zone", &host).unwrap(), "europe-west1-b");
        let head = heard.recv().unwrap();
        assert!(
            head.starts_with("get /computemetadata/v1/instance/zone ")
                && head.contains("metadata-flavor: google"),
            "{head}"
        );
        assert!(ask("gce:instance/zone", &host).unwrap_err().contains("not GCE's"));
    }

    #[test]
    fn what_is_not_told_is_an_error_with_the_way_out() {
        let (at, _heard) = server(vec![TOKEN, NONE]);
        let endpoint = by("AWS_EC2_METADATA_SERVICE_ENDPOINT", format!("http://{at}"));
        let said = ask("ec2:placement/region", &endpoint).unwrap_err();
        assert!(said.contains("answers 404 for /latest/meta-data/placement/region"), "{said}");
        // Nobody listens at a port that was just given back.
        let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
        let said = ask("gce:instance/zone", &by("GCE_METADATA_HOST", gone)).unwrap_err();
        assert!(said.contains("write the value in place of `metadata`"), "{said}");
        let off = by("AWS_EC2_METADATA_DISABLED", "true".to_owned());
        assert!(ask("ec2:placement/region", &off).unwrap_err().contains("AWS_EC2_METADATA_DISABLED"));
    }
}
